//! What becomes of lost segments.

use std::time::Duration;

use anabranch_netsim::{CLIENT, Verdict};
use anabranch_sansio::Time;
use anabranch_tcp::{Config, FastRecovery, Stats};

use crate::harness::{Duo, link, pattern};

const MSS: usize = 1_460;

/// Sends so many segments at once, of which those with the given numbers are lost as often as
/// given. Returns what was counted, and when the last byte was there.
fn lose(config: Config, segments: usize, lost: &[(u32, u32)]) -> (Stats, Time) {
    let config = Config { initial_window: 20, ..config };
    let mut duo = Duo::new(1, link(100, 100, 0.0), config.clone(), config);
    duo.connect();
    let started = duo.pair.now();
    let mut left: Vec<u32> = lost.iter().flat_map(|(n, times)| vec![*n; *times as usize]).collect();
    let mut first = None;
    duo.pair.sim.set_filter(move |_, host, packet| {
        if host != CLIENT || packet.bytes.len() <= 60 {
            return Verdict::Pass;
        }
        let number = u32::from_be_bytes(packet.bytes[4..8].try_into().expect("an open connection"));
        let first = *first.get_or_insert(number);
        let segment = number.wrapping_sub(first) / MSS as u32;
        match left.iter().position(|n| *n == segment) {
            Some(at) => {
                left.remove(at);
                Verdict::Drop
            }
            None => Verdict::Pass,
        }
    });
    let data = pattern(segments * MSS);
    duo.send(&data).expect("an open connection");
    while duo.received.len() < data.len() {
        duo.run_for(Duration::from_millis(1));
    }
    assert!(duo.received == data);
    let took = Time::ZERO + (duo.pair.now() - started);
    duo.run_for(Duration::from_secs(1));
    (duo.stats(), took)
}

fn without_sack() -> Config {
    Config { sack: false, ..Config::default() }
}

#[test]
fn three_duplicate_acknowledgments_bring_a_segment_back_in_a_round_trip() {
    for config in [Config::default(), without_sack()] {
        let (stats, took) = lose(config, 20, &[(5, 1)]);
        assert_eq!((stats.recoveries, stats.timeouts, stats.segments_retransmitted), (1, 0, 1));
        // Half a round trip for the data, one for the gap to show and the retransmission to come.
        assert!(took < Time::from_millis(160), "{took:?}");
    }
}

#[test]
fn sack_brings_many_segments_back_in_one_round_trip() {
    let lost: Vec<_> = [2, 4, 6, 8, 10].map(|n| (n, 1)).into();
    let (stats, took) = lose(Config::default(), 20, &lost);
    // The five, and the last segment to the rescue when only a part is acknowledged.
    assert_eq!((stats.recoveries, stats.timeouts, stats.segments_retransmitted), (1, 0, 6));
    assert!(took < Time::from_millis(165), "{took:?}");
}

#[test]
fn newreno_brings_one_segment_back_per_round_trip() {
    let lost: Vec<_> = [2, 4, 6, 8, 10].map(|n| (n, 1)).into();
    let (stats, took) = lose(without_sack(), 20, &lost);
    assert_eq!((stats.recoveries, stats.timeouts, stats.segments_retransmitted), (1, 0, 5));
    assert!((Time::from_millis(550)..Time::from_millis(570)).contains(&took), "{took:?}");
}

#[test]
fn reno_leaves_the_second_loss_of_a_window_to_the_timer() {
    let reno = Config { fast_recovery: FastRecovery::Reno, ..without_sack() };
    let (stats, took) = lose(reno.clone(), 20, &[(2, 1), (8, 1)]);
    assert_eq!((stats.recoveries, stats.timeouts, stats.segments_retransmitted), (1, 1, 2));
    assert!(took > Time::from_millis(1_000), "{took:?}");
    let (stats, _) = lose(reno, 20, &[(5, 1)]);
    assert_eq!((stats.recoveries, stats.timeouts), (1, 0));
}

#[test]
fn a_lost_tail_waits_for_the_timer() {
    for config in [Config::default(), without_sack()] {
        let (stats, took) = lose(config, 20, &[(19, 1)]);
        assert_eq!((stats.recoveries, stats.timeouts, stats.segments_retransmitted), (0, 1, 1));
        // RTO is 1 s at least.
        assert!((Time::from_millis(1_050)..Time::from_millis(1_200)).contains(&took), "{took:?}");
    }
}

#[test]
fn a_lost_retransmission_waits_for_the_timer() {
    let (stats, took) = lose(Config::default(), 20, &[(5, 2)]);
    assert_eq!((stats.recoveries, stats.timeouts), (1, 1));
    assert!(took > Time::from_millis(1_000), "{took:?}");
}

#[test]
fn the_timer_backs_off() {
    // 1 + 2 + 4 s
    let (stats, took) = lose(Config::default(), 1, &[(0, 3)]);
    assert_eq!((stats.timeouts, stats.segments_retransmitted), (3, 3));
    assert!((Time::from_millis(7_000)..Time::from_millis(7_200)).contains(&took), "{took:?}");
}

#[test]
fn a_rescue_retransmission_saves_a_tail_that_follows_a_gap() {
    let (stats, took) = lose(Config::default(), 20, &[(5, 1), (6, 1), (19, 1)]);
    assert_eq!(stats.timeouts, 0, "{stats:?}");
    assert!(took < Time::from_millis(300), "{took:?}");
}

#[test]
fn limited_transmit_keeps_short_windows_from_the_timer() {
    let config = Config { initial_window: 3, ..without_sack() };
    let mut duo = Duo::new(1, link(100, 100, 0.0), config.clone(), config);
    duo.connect();
    duo.pair.sim.drop_next(CLIENT, 1);
    duo.send(&pattern(8 * MSS)).unwrap();
    duo.run_for(Duration::from_secs(3));
    let stats = duo.stats();
    assert_eq!((duo.received.len(), stats.recoveries, stats.timeouts), (8 * MSS, 1, 0));
}
