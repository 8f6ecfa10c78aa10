//! How fast a connection is, alone.

use std::time::Duration;

use anabranch_dccp::tfrc::{PacketSize, allowed_rate, packets_per_round_trip};
use anabranch_dccp::{Ccid, Config};
use anabranch_netsim::{CLIENT, Loss};

use crate::harness::{Duo, link, one_way};

const LEN: usize = 1_000;

fn tfrc() -> Config {
    Config { packet_size: PacketSize::Mean, ..Config::with_ccid(Ccid::Tfrc) }
}

/// Goodput over what the equation says for the loss event rate and round-trip time that the sender
/// measured, as a mean over the run.
fn share_of_equation(loss: f64, rtt_ms: u64) -> f64 {
    let config = tfrc();
    let mut duo = Duo::new(1, one_way(link(1_000.0, rtt_ms, loss)), &config);
    duo.connect(&config);
    duo.saturate(LEN, Duration::from_secs(20));
    let (mut measured, mut expected) = (0.0, 0.0);
    for _ in 0..50 {
        measured += duo.saturate(LEN, Duration::from_secs(2));
        let stats = duo.stats(CLIENT).congestion;
        let rtt = stats.rtt.expect("feedback");
        // Lost packets count as sent.
        let rate = allowed_rate(LEN as f64, rtt, stats.loss_event_rate);
        expected += rate * (1.0 - loss) * 8.0 / 1e6;
    }
    measured / expected
}

#[test]
fn ccid_3_sends_what_the_equation_allows() {
    for loss in [0.001, 0.01, 0.05] {
        for rtt_ms in [20, 100] {
            let share = share_of_equation(loss, rtt_ms);
            assert!((0.9..1.1).contains(&share), "{share} of the equation at {loss}, {rtt_ms} ms");
        }
    }
}

#[test]
fn what_the_receiver_measures_is_what_the_link_does() {
    let config = tfrc();
    let mut duo = Duo::new(1, one_way(link(1_000.0, 50, 0.01)), &config);
    duo.connect(&config);
    duo.saturate(LEN, Duration::from_secs(20));
    let (mut rate, mut rtt) = (0.0, 0.0);
    for _ in 0..100 {
        duo.saturate(LEN, Duration::from_secs(2));
        let stats = duo.stats(CLIENT).congestion;
        rate += stats.loss_event_rate / 100.0;
        rtt += stats.rtt.unwrap().as_secs_f64() / 100.0;
    }
    // Of eleven packets in a round-trip time, two losses are one event now and then.
    assert!((0.008..0.013).contains(&rate), "{rate} loss events per packet");
    assert!((0.05..0.0515).contains(&rtt), "{rtt} s");
}

/// The loss event rate where each packet is lost by this chance, at a round-trip time of `rtt`.
///
/// What is lost in the round-trip time after a loss is of the same event (RFC 5348 section 5.2), an
/// eighth of one more where quarters are counted (RFC 4342 section 10.2): an interval has the
/// packets of that time, and then as many as until a loss.
fn loss_event_rate(loss: f64) -> f64 {
    (0..50).fold(loss, |rate, _| 1.0 / (1.0 / loss + 1.125 * packets_per_round_trip(rate)))
}

/// The rate that a sender is allowed once so many loss events were reported since one packet in
/// fifty is lost instead of one in a hundred, over what the equation says for one in fifty.
fn share_after_a_change(seed: u64, events: u64) -> f64 {
    let config = tfrc();
    let at = |loss| one_way(link(1_000.0, 50, loss));
    let mut duo = Duo::new(seed, at(0.01), &config);
    duo.connect(&config);
    duo.saturate(LEN, Duration::from_secs(30));
    duo.pair.reconfigure(0, at(0.02));
    let until = duo.stats(CLIENT).congestion.congestion_events + events;
    while duo.stats(CLIENT).congestion.congestion_events < until {
        duo.saturate(LEN, Duration::from_millis(5));
    }
    let stats = duo.stats(CLIENT).congestion;
    let rtt = stats.rtt.expect("feedback");
    stats.rate / allowed_rate(LEN as f64, rtt, loss_event_rate(0.02))
}

/// RFC 5348 section 5.4: of eight intervals nothing older counts. A single run's eight are too few
/// to know a loss event rate by: it is the mean of many runs that the equation has to give.
#[test]
fn eight_loss_intervals_after_a_change_of_loss_the_rate_is_the_new_one() {
    const SEEDS: u64 = 100;
    let mean = |events| {
        (1..=SEEDS).map(|seed| share_after_a_change(seed, events)).sum::<f64>() / SEEDS as f64
    };
    // The first event ends an interval of before; the ninth ends the eighth interval of since.
    let (at_first, in_the_end) = (mean(1), mean(9));
    assert!(at_first > 1.2, "the old rate is {at_first} of the new one");
    assert!((0.9..1.1).contains(&in_the_end), "{in_the_end} of the equation");
}

/// Goodput over the law's for a window that grows by one packet a round-trip time and halves:
/// 1.31 / (RTT sqrt p) packets.
#[test]
fn ccid_2_meets_the_law_of_its_window() {
    let config = Config::with_ccid(Ccid::TcpLike);
    for loss in [0.001, 0.01] {
        let mut duo = Duo::new(1, one_way(link(100.0, 50, loss)), &config);
        duo.connect(&config);
        let goodput = duo.saturate(LEN, Duration::from_secs(200));
        let law = 1.31 * LEN as f64 * 8.0 / (0.05 * f64::sqrt(loss)) / 1e6;
        assert!((0.8..1.2).contains(&(goodput / law)), "{} of the law at {loss}", goodput / law);
    }
}

#[test]
fn either_ccid_fills_a_link_with_one_bandwidth_delay_product_of_queue() {
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let config = Config::with_ccid(ccid);
        let mut duo = Duo::new(1, link(20.0, 50, 0.0), &config);
        duo.connect(&config);
        duo.saturate(LEN, Duration::from_secs(10));
        let goodput = duo.saturate(LEN, Duration::from_secs(30));
        let stats = duo.stats(CLIENT);
        // 1,000 of 1,036 bytes are data.
        assert!(goodput > 0.95 * 20.0 * 1_000.0 / 1_036.0, "{goodput} Mbit/s, {stats:?}");
        assert_eq!(stats.congestion.timeouts, 0, "{stats:?}");
    }
}

#[test]
fn a_fast_path_is_filled_though_the_sequence_window_begins_narrow() {
    // 250 packets in a round-trip time; the window begins with 100.
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let config = Config::with_ccid(ccid);
        let mut duo = Duo::new(1, link(100.0, 40, 0.0), &config);
        duo.connect(&config);
        duo.saturate(LEN, Duration::from_secs(20));
        let goodput = duo.saturate(LEN, Duration::from_secs(10));
        assert!(goodput > 85.0, "{goodput} Mbit/s under {ccid:?}: {:?}", duo.stats(CLIENT));
    }
}

#[test]
fn lost_acknowledgements_stop_nobody() {
    // RFC 4341 section 6.1.2: CCID 2 asks for two acknowledgements a window when many are lost, and
    // when both are, it waits for its timer. CCID 3 needs one in four round-trip times.
    for (ccid, least) in [(Ccid::TcpLike, 3.0), (Ccid::Tfrc, 8.0)] {
        let config = Config::with_ccid(ccid);
        let mut links = one_way(link(10.0, 50, 0.0));
        links.backward.loss = Loss::uniform(0.2);
        let mut duo = Duo::new(1, links, &config);
        duo.connect(&config);
        duo.saturate(LEN, Duration::from_secs(10));
        let goodput = duo.saturate(LEN, Duration::from_secs(30));
        assert!(goodput > least, "{goodput} Mbit/s under {ccid:?}: {:?}", duo.stats(CLIENT));
    }
}
