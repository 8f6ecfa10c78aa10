use super::*;
use crate::tfrc::allowed_rate;

const RTT: Duration = Duration::from_millis(100);
const SIZE: usize = 1_000;

/// A sender that always has data, over a path that takes whatever it sends.
struct Run {
    control: RateControl,
    now: Time,
}

fn config() -> RateControlConfig {
    RateControlConfig { packet_size_max: SIZE, ..RateControlConfig::default() }
}

impl Run {
    fn new(config: RateControlConfig) -> Self {
        Self { control: RateControl::new(Time::ZERO, config), now: Time::ZERO }
    }

    /// Sends for a round-trip time as fast as it may; returns how many bytes.
    fn send(&mut self, is_waiting: bool) -> usize {
        let (end, mut sent) = (self.now + RTT, 0);
        while self.control.next_at() < end {
            self.now = self.now.max(self.control.next_at());
            self.control.on_sent(self.now, SIZE, is_waiting);
            sent += SIZE;
        }
        self.now = end;
        sent
    }

    fn report(&mut self, receive_rate: f64, loss_event_rate: f64) {
        let feedback = Feedback {
            rtt: RTT,
            receive_rate,
            loss_event_rate,
            is_new_loss: loss_event_rate > self.control.loss_event_rate(),
            answered: self.now.saturating_sub(RTT / 2),
        };
        self.control.on_feedback(self.now, &feedback);
    }

    fn rounds(&mut self, count: u32, loss_event_rate: f64) {
        for _ in 0..count {
            self.round(loss_event_rate);
        }
    }

    /// A round-trip time of which the receiver reports all.
    fn round(&mut self, loss_event_rate: f64) -> usize {
        let sent = self.send(true);
        self.report(sent as f64 / RTT.as_secs_f64(), loss_event_rate);
        sent
    }
}

fn is_about(rate: f64, expected: f64) -> bool {
    (rate / expected - 1.0).abs() < 0.01
}

#[test]
fn a_sender_begins_with_a_window_in_a_round_trip_or_with_a_packet_a_second() {
    let rates = |first_rate| {
        let mut run = Run::new(RateControlConfig { first_rate, ..config() });
        run.control.on_rtt(Time::ZERO, RTT);
        let packets = |rate: f64| rate / SIZE as f64;
        let by_handshake = packets(run.control.rate());
        run.control.on_sent(run.now, SIZE, true);
        run.now += RTT;
        run.report(SIZE as f64 / RTT.as_secs_f64(), 0.0);
        let answered = packets(run.control.rate()) * RTT.as_secs_f64();
        run.round(0.0);
        [by_handshake, answered, packets(run.control.rate()) * RTT.as_secs_f64()]
    };
    let by_packet = rates(FirstRate::Packet);
    assert!(is_about(by_packet[0], 1.0), "one a second: {by_packet:?}");
    assert!(is_about(by_packet[1], 1.0), "one in a round trip: {by_packet:?}");
    assert!(is_about(by_packet[2], 2.0), "then it doubles: {by_packet:?}");
    let by_window = rates(FirstRate::Window);
    let window = 4_380.0_f64.max(2.0 * SIZE as f64).min(4.0 * SIZE as f64) / SIZE as f64;
    assert!(is_about(by_window[0] * RTT.as_secs_f64(), window), "{by_window:?}");
}

#[test]
fn one_packet_per_second_goes_out_before_the_round_trip_time_is_known() {
    let mut run = Run::new(config());
    run.control.on_sent(run.now, SIZE, true);
    assert_eq!(run.control.next_at(), Time::from_secs(1));
    assert_eq!(run.control.nofeedback_at(), Some(Time::from_secs(2)));
}

/// Whoever woke up for each packet spent most of the time on waking up.
#[test]
fn packets_of_a_high_rate_gather_and_lose_nothing_by_it() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.rounds(16, 0.0);
    run.control.limit(run.now, 25_000_000.0);
    let (begin, mut wakeups, mut packets) = (run.now, 0, 0);
    let rate = run.control.rate();
    assert!(rate > 10_000_000.0, "{rate} bytes a second");
    while run.now < begin + Duration::from_millis(50) {
        wakeups += 1;
        while run.control.next_at() <= run.now {
            run.control.on_sent(run.now, SIZE, true);
            packets += 1;
        }
        run.now = run.control.wakes_at();
    }
    assert!(packets > 2 * wakeups, "{packets} packets in {wakeups} wakeups");
    let sent = (packets * SIZE) as f64 / (run.now - begin).as_secs_f64();
    assert!((0.97..1.03).contains(&(sent / rate)), "{sent} of {rate} bytes a second");
}

#[test]
fn without_any_feedback_the_rate_halves_with_each_timeout() {
    let mut run = Run::new(config());
    run.control.on_sent(run.now, SIZE, true);
    let mut rates = Vec::new();
    for _ in 0..8 {
        run.now = run.control.nofeedback_at().unwrap();
        run.control.handle_timeout(run.now);
        rates.push(SIZE as f64 / run.control.rate());
        run.control.on_sent(run.now, SIZE, true);
    }
    assert_eq!(rates, [2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 64.0, 64.0], "seconds per packet");
}

#[test]
fn the_first_round_trip_time_gives_the_initial_window() {
    for (size, packets) in [(500, 4.0), (1_000, 4.0), (1_460, 3.0), (3_000, 2.0)] {
        let config = RateControlConfig { packet_size_max: size, ..config() };
        let mut control = RateControl::new(Time::ZERO, config);
        control.on_rtt(Time::ZERO, RTT);
        let per_rtt = control.rate() * RTT.as_secs_f64() / size as f64;
        assert!(is_about(per_rtt, packets), "{per_rtt} packets of {size}");
    }
}

#[test]
fn slow_start_doubles_the_rate_each_round_trip() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    let sent: Vec<_> = (0..6).map(|_| run.round(0.0) / SIZE).collect();
    for pair in sent.windows(2) {
        assert!((1.7..2.4).contains(&(pair[1] as f64 / pair[0] as f64)), "{sent:?}");
    }
}

#[test]
fn a_receiver_that_gets_less_limits_the_rate_to_twice_of_that() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.rounds(6, 0.0);
    for _ in 0..4 {
        run.send(true);
        run.report(50_000.0, 0.0);
    }
    assert!(is_about(run.control.rate(), 100_000.0), "{}", run.control.rate());
}

#[test]
fn with_losses_the_equation_decides() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.rounds(8, 0.0);
    for p in [0.01, 0.02, 0.01] {
        run.rounds(12, p);
        let expected = allowed_rate(SIZE as f64, RTT, p);
        assert!(is_about(run.control.rate(), expected), "{} at {p}", run.control.rate());
    }
}

#[test]
fn silence_halves_what_the_receiver_got() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.rounds(20, 0.01);
    let before = run.control.rate();
    run.control.on_sent(run.now, SIZE, true);
    run.now = run.control.nofeedback_at().unwrap();
    run.control.handle_timeout(run.now);
    assert!(is_about(run.control.rate(), before / 2.0), "{} of {before}", run.control.rate());
    for _ in 0..40 {
        run.control.on_sent(run.now, SIZE, true);
        run.now = run.control.nofeedback_at().unwrap();
        run.control.handle_timeout(run.now);
    }
    assert!(is_about(run.control.rate(), SIZE as f64 / 64.0), "one packet in 64 seconds");
}

#[test]
fn idling_does_not_lower_the_rate_below_the_initial_one() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.rounds(8, 0.0);
    for _ in 0..50 {
        run.now = run.control.nofeedback_at().unwrap();
        run.control.handle_timeout(run.now);
    }
    let packets = run.control.rate() * RTT.as_secs_f64() / SIZE as f64;
    assert!((4.0..8.1).contains(&packets), "{packets} packets in a round-trip time");
}

#[test]
fn an_application_that_sends_little_keeps_what_it_was_allowed() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.rounds(20, 0.001);
    let before = run.control.rate();
    for _ in 0..50 {
        run.control.on_sent(run.now, SIZE, false);
        run.now += RTT;
        run.report(SIZE as f64 / RTT.as_secs_f64(), 0.001);
    }
    assert!(is_about(run.control.rate(), before), "{} of {before}", run.control.rate());
}

/// A burst after a pause: the receiver answers its first packet with what came in the whole pause.
fn after_a_pause() -> (Run, Feedback, f64) {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.rounds(20, 0.001);
    let before = run.control.rate();
    run.now += Duration::from_millis(300);
    let first = run.now;
    run.send(true);
    let feedback = Feedback {
        rtt: RTT,
        receive_rate: SIZE as f64 / 0.3,
        loss_event_rate: 0.001,
        is_new_loss: false,
        answered: first,
    };
    (run, feedback, before)
}

#[test]
fn regression_the_report_after_a_pause_was_taken_for_what_the_network_carries() {
    let (mut run, feedback, before) = after_a_pause();
    run.control.on_feedback(run.now, &feedback);
    assert!(is_about(run.control.rate(), before), "{} of {before}", run.control.rate());
}

#[test]
fn regression_a_packet_sent_at_a_low_rate_held_back_the_next_one_for_seconds() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.rounds(20, 0.01);
    run.control.limit(run.now, 1_000.0);
    run.now = run.control.next_at();
    run.control.on_sent(run.now, SIZE, true);
    let planned = run.control.next_at() - run.now;
    assert!(planned > 4 * RTT, "{planned:?}");
    run.now += RTT;
    run.report(100_000.0, 0.01);
    let gap = SIZE as f64 / run.control.rate();
    assert!(run.control.next_at() <= run.now + Duration::from_secs_f64(gap), "{:?}", run.control);
}

#[test]
fn a_longer_round_trip_slows_down_at_once_if_asked_to() {
    let rate_after_queue = |oscillation_reduction| {
        let mut run = Run::new(RateControlConfig { oscillation_reduction, ..config() });
        run.control.on_rtt(run.now, RTT);
        run.rounds(20, 0.01);
        let before = run.control.rate();
        let feedback = Feedback {
            rtt: RTT * 2,
            receive_rate: before,
            loss_event_rate: 0.01,
            is_new_loss: false,
            answered: run.now,
        };
        run.control.on_feedback(run.now, &feedback);
        run.control.rate() / before
    };
    // R is 1.1 times what it was, R_sqmean 1.041 times, and the root of the sample 1.414 times.
    assert!(is_about(rate_after_queue(false), 1.0 / 1.1));
    assert!(is_about(rate_after_queue(true), 1.041 / 1.414 / 1.1));
}

#[test]
fn the_packet_size_decides_how_large_packets_are_spaced() {
    let gaps = |packet_size| {
        let mut run = Run::new(RateControlConfig { packet_size, ..config() });
        run.control.on_rtt(run.now, RTT);
        run.rounds(30, 0.01);
        run.now = run.now.max(run.control.next_at());
        [100, 1_000].map(|len| {
            let before = run.control.next_at();
            run.control.on_sent(before, len, true);
            (run.control.next_at() - before).as_secs_f64()
        })
    };
    // At p = 0.01 the equation gives 11.23 packets in a round-trip time.
    let gap = 0.1 / 11.233;
    let [small, large] = gaps(PacketSize::Mean);
    assert!(is_about(large, gap) || (large / gap - 1.0).abs() < 0.05, "{large}");
    assert!(small < large / 9.0, "{small} {large}");
    for packet_size in [PacketSize::Actual, PacketSize::Maximum] {
        let [small, large] = gaps(packet_size);
        assert!(is_about(small, gap) && is_about(large, gap), "{packet_size:?}: {small} {large}");
    }
}

#[test]
fn unused_time_is_made_up_for_only_a_little() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.rounds(30, 0.000_1);
    run.now += Duration::from_secs(5);
    let mut burst = 0;
    while run.control.next_at() <= run.now {
        run.control.on_sent(run.now, SIZE, true);
        burst += 1;
    }
    let packets_in_credit = run.control.rate() * CREDIT_MAX.as_secs_f64() / SIZE as f64;
    assert!((burst as f64) <= packets_in_credit + 2.0, "{burst} for {packets_in_credit}");
}

#[test]
fn a_slow_receiver_holds_the_rate_for_a_round_trip() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.rounds(6, 0.0);
    run.control.limit(run.now, 60_000.0);
    assert!(is_about(run.control.rate(), 60_000.0));
    run.round(0.0);
    run.round(0.0);
    assert!(run.control.rate() > 90_000.0, "{}", run.control.rate());
}

#[test]
fn after_a_pause_a_faster_restart_is_back_in_half_the_round_trips() {
    let rounds_to_recover = |faster_restart| {
        let mut run = Run::new(RateControlConfig { faster_restart, ..config() });
        run.control.on_rtt(run.now, RTT);
        run.rounds(40, 0.000_1);
        let before = run.control.rate();
        for _ in 0..30 {
            run.now = run.control.nofeedback_at().unwrap();
            run.control.handle_timeout(run.now);
        }
        assert!(run.control.rate() < before / 5.0);
        (1..40).find(|_| {
            run.round(0.000_1);
            run.control.rate() > 0.9 * before
        })
    };
    let plain = rounds_to_recover(None).unwrap();
    let faster = rounds_to_recover(Some(Duration::from_secs(600))).unwrap();
    assert!(2 * faster <= plain + 1, "{faster} and {plain} round trips");
    // After a long time there is nothing to come back to.
    let forgotten = rounds_to_recover(Some(Duration::from_millis(500))).unwrap();
    assert!(forgotten + 1 >= plain, "{forgotten} and {plain} round trips");
}

#[test]
fn regression_small_packets_that_count_as_large_ones_go_as_often_as_those() {
    // Where reports count bytes and the rate counts packets, the one held back the other down to a
    // packet in minutes.
    let packets = |len: usize, loss_event_rate: f64| {
        let config = RateControlConfig { packet_size: PacketSize::Maximum, ..config() };
        let mut run = Run::new(config);
        run.control.on_rtt(run.now, RTT);
        let mut sent = 0_u32;
        for round in 0..40 {
            let end = run.now + RTT;
            sent = 0;
            while run.control.next_at() < end {
                run.now = run.now.max(run.control.next_at());
                run.control.on_sent(run.now, len, true);
                sent += 1;
            }
            run.now = end;
            let bytes = f64::from(sent) * len as f64;
            run.report(bytes / RTT.as_secs_f64(), if round < 4 { 0.0 } else { loss_event_rate });
        }
        let told = run.control.rate() * RTT.as_secs_f64() / len as f64;
        assert!((f64::from(sent) - told).abs() < 3.0, "{sent} packets, and a rate of {told}");
        sent
    };
    for loss_event_rate in [0.01, 0.05] {
        let (large, small) = (packets(SIZE, loss_event_rate), packets(100, loss_event_rate));
        assert!(large.abs_diff(small) <= 2, "{large} of {SIZE} bytes, {small} of 100");
    }
}

#[test]
fn a_receiver_that_claims_everything_gets_four_times_as_much_each_round_trip_at_most() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.rounds(4, 0.0);
    run.rounds(20, 0.02);
    let honest = run.control.rate();
    // RFC 5348 section 10: a receiver may claim "to have received packets that, in fact, were lost
    // due to congestion".
    for round in 1..4 {
        run.send(true);
        for _ in 0..5 {
            run.report(1e12, 1e-9);
        }
        let gained = run.control.rate() / honest;
        let most = 4.0_f64.powi(round);
        assert!(gained <= most * 1.01 && gained > most / 2.5, "{gained} in {round} round trips");
    }
}

#[test]
fn a_receiver_that_claims_everything_gets_little_more_than_the_application_sends() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    let initial = run.control.rate();
    for loss_event_rate in [0.0, 1e-9] {
        for _ in 0..200 {
            // A packet in each round trip.
            run.control.on_sent(run.now, SIZE, false);
            run.now += RTT;
            run.report(1e12, loss_event_rate);
        }
        assert!(run.control.rate() <= 4.0 * initial, "{}", run.control.rate());
    }
}

#[test]
fn no_more_packets_go_out_in_a_round_trip_than_they_are_limited_to() {
    let mut run = Run::new(config());
    run.control.on_rtt(run.now, RTT);
    run.control.limit_packets(50);
    run.rounds(10, 0.0);
    assert!(is_about(run.control.rate(), 1_000_000.0), "twice what the receiver gets");
    assert_eq!(run.round(0.0), 50 * SIZE);
    run.control.limit_packets(500);
    let packets = run.round(0.0) / SIZE;
    assert!((99..=101).contains(&packets), "{packets}, where the rate has 100");
}
