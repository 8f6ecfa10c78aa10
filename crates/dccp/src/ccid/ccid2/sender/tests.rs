use super::*;
use crate::wire::SequenceNumber;

const RTT: Duration = Duration::from_millis(100);

fn seq(n: u64) -> Seq {
    Seq::first(SequenceNumber::new(n))
}

struct Run {
    sender: Ccid2Sender,
    now: Time,
    next: u64,
}

impl Run {
    /// A sender with this window, out of slow start.
    fn with_window(cwnd: u64) -> Self {
        let mut sender = Ccid2Sender::new(1_460);
        (sender.cwnd, sender.ssthresh) = (cwnd, 2);
        Self { sender, now: Time::ZERO, next: 0 }
    }

    /// Sends data until the window is full.
    fn fill(&mut self) -> u64 {
        let mut sent = 0;
        while self.sender.may_send(self.now) {
            self.send(true);
            sent += 1;
        }
        sent
    }

    fn send(&mut self, is_data: bool) {
        let data = is_data.then_some(1_000);
        let sent = SentPacket {
            seq: seq(self.next),
            data,
            is_waiting: true,
            is_acknowledgement: !is_data,
        };
        self.sender.on_sent(self.now, &sent);
        self.next += 1;
    }

    /// The peer says that these arrived and those between did not.
    fn acknowledge(&mut self, arrived: impl IntoIterator<Item = u64>) {
        let mut states: Vec<_> = arrived
            .into_iter()
            .map(|n| AckRange { first: seq(n), last: seq(n), state: AckState::Received })
            .collect();
        states.reverse();
        let report = Report { states: states.clone(), ..Report::new(states[0].last) };
        self.sender.on_report(self.now, &report);
    }
}

#[test]
fn the_initial_window_is_that_of_rfc_3390() {
    let windows = [500, 1_095, 1_460, 2_190, 9_000].map(|size| Ccid2Sender::new(size).cwnd);
    assert_eq!(windows, [4, 4, 3, 2, 2]);
}

#[test]
fn slow_start_grows_by_one_for_two() {
    let mut run = Run { sender: Ccid2Sender::new(1_000), now: Time::ZERO, next: 0 };
    assert_eq!(run.fill(), 4);
    run.acknowledge([0, 1]);
    assert_eq!((run.sender.cwnd, run.sender.pipe), (5, 2));
    assert_eq!(run.fill(), 3);
    // More than Ack Ratio at once grows no faster.
    run.acknowledge([2, 3, 4, 5, 6]);
    assert_eq!(run.sender.cwnd, 6);
}

#[test]
fn congestion_avoidance_grows_by_one_a_window() {
    let mut run = Run::with_window(10);
    run.fill();
    let mut grown_at = Vec::new();
    for n in 0..46 {
        let before = run.sender.cwnd;
        run.acknowledge([n]);
        run.fill();
        if run.sender.cwnd > before {
            grown_at.push(n + 1);
        }
    }
    // After 10 packets, 11 more, 12 more and 13 more.
    assert_eq!(grown_at, [10, 21, 33, 46]);
}

#[test]
fn three_packets_behind_make_a_loss_and_one_window_of_losses_one_event() {
    let mut run = Run::with_window(20);
    run.fill();
    run.acknowledge([0, 2, 3]);
    assert_eq!((run.sender.cwnd, run.sender.pipe), (20, 17));
    run.acknowledge([4]);
    assert_eq!((run.sender.cwnd, run.sender.pipe, run.sender.ssthresh), (10, 15, 10));
    run.acknowledge([6, 8, 9, 10]);
    assert_eq!((run.sender.cwnd, run.sender.congestion_events), (10, 1));
    // What is sent from now on is of another event.
    run.acknowledge(11..20);
    run.fill();
    run.acknowledge([21, 22, 23]);
    assert_eq!((run.sender.cwnd, run.sender.congestion_events), (5, 2));
}

#[test]
fn repeated_and_late_acknowledgements_change_nothing() {
    let mut run = Run::with_window(20);
    run.fill();
    for _ in 0..3 {
        run.acknowledge([0, 2, 3, 4]);
        assert_eq!(run.sender.pipe, 15);
    }
    // One that was thought lost.
    run.acknowledge([1]);
    assert_eq!(run.sender.pipe, 15);
}

#[test]
fn packets_without_data_are_not_in_the_pipe_but_show_losses() {
    let mut run = Run::with_window(20);
    run.send(true);
    (0..3).for_each(|_| run.send(false));
    assert_eq!(run.sender.pipe, 1);
    run.acknowledge([1, 2, 3]);
    assert_eq!((run.sender.pipe, run.sender.cwnd), (0, 10));
    // And when they are lost, that is no congestion event.
    run.send(false);
    (0..3).for_each(|_| run.send(true));
    run.acknowledge([5, 6, 7]);
    assert_eq!(run.sender.cwnd, 10);
}

#[test]
fn a_mark_is_a_congestion_event() {
    let mut run = Run::with_window(20);
    run.fill();
    let marked = AckRange { first: seq(0), last: seq(3), state: AckState::EcnMarked };
    for _ in 0..2 {
        let report = Report { states: vec![marked], ..Report::new(seq(3)) };
        run.sender.on_report(run.now, &report);
        assert_eq!((run.sender.cwnd, run.sender.pipe), (10, 16));
    }
}

#[test]
fn silence_leaves_one_packet_and_an_empty_pipe() {
    let mut run = Run::with_window(20);
    run.sender.on_rtt(run.now, RTT);
    run.fill();
    let at = run.sender.poll_timeout().unwrap().at;
    assert_eq!(at, Time::from_millis(300));
    run.sender.handle_timeout(at);
    run.now = at;
    assert_eq!((run.sender.cwnd, run.sender.ssthresh, run.sender.pipe), (1, 10, 0));
    assert_eq!(run.fill(), 1);
    assert_eq!(run.sender.poll_timeout().unwrap().at - at, Duration::from_millis(600));
    // What was sent before arrives all the same: the pipe does not fall below zero.
    run.acknowledge(0..20);
    assert_eq!(run.sender.pipe, 1);
}

#[test]
fn data_that_the_receiver_dropped_take_one_packet_each_from_the_window() {
    let mut run = Run::with_window(20);
    run.fill();
    let states = vec![AckRange { first: seq(0), last: seq(5), state: AckState::Received }];
    let dropped = vec![(seq(5), DropCode::RECEIVE_BUFFER), (seq(3), DropCode::RECEIVE_BUFFER)];
    let report = Report { states, dropped, ..Report::new(seq(5)) };
    for _ in 0..2 {
        run.sender.on_report(run.now, &report);
        assert_eq!(run.sender.cwnd, 18);
    }
    let corrupt = Report { dropped: vec![(seq(7), DropCode::CORRUPT)], ..Report::new(seq(7)) };
    run.sender.on_report(run.now, &corrupt);
    assert_eq!(run.sender.cwnd, 9);
}

#[test]
fn a_slow_receiver_stops_growth_for_a_round_trip() {
    let mut run = Run { sender: Ccid2Sender::new(1_000), now: Time::ZERO, next: 0 };
    run.sender.on_rtt(run.now, RTT);
    run.fill();
    let states = vec![AckRange { first: seq(0), last: seq(1), state: AckState::Received }];
    let report = Report { states, is_slow: true, ..Report::new(seq(1)) };
    run.sender.on_report(run.now, &report);
    assert_eq!((run.sender.cwnd, run.sender.ssthresh), (4, 4));
    run.fill();
    run.acknowledge([2, 3]);
    assert_eq!(run.sender.cwnd, 4);
    run.now += RTT;
    run.fill();
    run.acknowledge([4, 5]);
    run.fill();
    run.acknowledge([6, 7]);
    assert_eq!(run.sender.cwnd, 5);
}

#[test]
fn a_window_that_is_not_filled_does_not_grow() {
    let mut run = Run::with_window(10);
    for n in 0..100 {
        run.send(true);
        run.acknowledge([n]);
    }
    assert_eq!(run.sender.cwnd, 10);
}

#[test]
fn idling_leaves_the_initial_window() {
    let mut run = Run::with_window(40);
    run.fill();
    run.acknowledge(0..40);
    run.now += Duration::from_secs(5);
    run.send(true);
    assert_eq!(run.sender.cwnd, 3);
}

#[test]
fn acknowledgements_are_acknowledged_once_a_window() {
    let mut run = Run::with_window(4);
    run.fill();
    assert!(!run.sender.wants_acknowledgement(), "there is nothing to acknowledge");
    run.acknowledge([0, 1]);
    assert!(run.sender.wants_acknowledgement());
    run.send(false);
    assert!(!run.sender.wants_acknowledgement());
}

#[test]
fn data_that_arrive_end_the_backoff_though_an_acknowledgement_was_sent_after_them() {
    let mut run = Run::with_window(4);
    let mut times = Vec::new();
    for _ in 0..3 {
        run.fill();
        times.push(run.sender.timer.unwrap() - run.now);
        run.now = run.sender.timer.unwrap();
        run.sender.handle_timeout(run.now);
    }
    assert_eq!(times, [1, 2, 4].map(Duration::from_secs));
    let first = run.next;
    run.fill();
    run.send(false);
    run.acknowledge(first..=first + 1);
    run.fill();
    assert_eq!(run.sender.timer.unwrap() - run.now, Duration::from_secs(1));
}
