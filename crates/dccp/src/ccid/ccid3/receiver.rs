//! [`Ccid3Receiver`]: feedback once a round-trip time, RFC 4342 sections 6, 8 and 10.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};

use super::counter::CounterClock;
use crate::ccid::{AckContext, HcReceiver, RTT_DEFAULT};
use crate::seq::Seq;
use crate::tfrc::{Arrival, LossHistory, average_loss_interval, distance, loss_event_rate_for};
use crate::wire::{
    Ccid3Option, ElapsedTime, LossInterval, LossIntervals, OptionsBuf, PacketOption,
};

/// Data packets whose arrival is remembered, for the receive rate.
const ARRIVALS_MAX: usize = 1 << 14;

/// RFC 4342 section 8.6.1: "Skip Length must be less than or equal to NDUPACK = 3."
const SKIP_MAX: u64 = 3;

/// RFC 5348 section 6.3.1: "The TFRC receiver uses 0.5/R packets per second as the minimum value
/// for X_target when initializing the first loss interval."
const PACKETS_PER_ROUND_TRIP_MIN: f64 = 0.5;

/// The HC-Receiver of CCID 3.
#[derive(Debug)]
pub(crate) struct Ccid3Receiver {
    /// None before the first data packet.
    state: Option<State>,
    is_due: bool,
}

#[derive(Debug)]
struct State {
    losses: LossHistory,
    clock: CounterClock,
    /// The greatest number of a data packet, and its counter.
    greatest: (Seq, u8),
    /// The counter when feedback was last sent.
    last_counter: u8,
    /// Data packets of the last round-trip time and a little longer.
    arrivals: VecDeque<(Time, u32)>,
    /// The bytes of all those: to add them up for each packet would cost the more, the faster they
    /// come.
    arrived: u64,
    last_report_at: Option<Time>,
    /// The greatest receive rate so far, in bytes per second.
    receive_rate_max: f64,
    mean_size: f64,
}

impl Ccid3Receiver {
    pub(crate) const fn new() -> Self {
        Self { state: None, is_due: false }
    }
}

impl State {
    fn new(arrival: &Arrival, len: usize) -> Self {
        Self {
            losses: LossHistory::new(arrival),
            clock: CounterClock::new(),
            greatest: (arrival.seq, arrival.counter),
            last_counter: arrival.counter,
            arrivals: VecDeque::new(),
            arrived: 0,
            last_report_at: None,
            receive_rate_max: 0.0,
            mean_size: len.max(1) as f64,
        }
    }

    fn rtt(&self) -> Duration {
        self.clock.rtt().unwrap_or(RTT_DEFAULT)
    }

    fn note_data(&mut self, now: Time, arrival: &Arrival, len: usize) -> bool {
        self.mean_size += (len as f64 - self.mean_size) / 32.0;
        let len = u32::try_from(len).unwrap_or(u32::MAX);
        self.arrivals.push_back((now, len));
        self.arrived += u64::from(len);
        if self.arrivals.len() > ARRIVALS_MAX {
            self.forget_arrival();
        }
        if arrival.seq < self.greatest.0 {
            return false;
        }
        self.greatest = (arrival.seq, arrival.counter);
        self.clock.on_packet(now, arrival.counter);
        // RFC 4342 section 10.3: "If the receiver receives a data packet with a window counter
        // value greater than or equal to last_counter + 4, then the receiver sends a new feedback
        // packet."
        distance(self.last_counter, arrival.counter) >= 4
    }

    /// RFC 4342 section 8.3: "the receiver sets t to the larger of the estimated round-trip time
    /// and the time since the last Receive Rate option was sent. [...] The receive rate then equals
    /// the number of data bytes received in the most recent t seconds, divided by t."
    fn receive_rate(&mut self, now: Time) -> f64 {
        // RFC 5348 section 6.3: "When the first packet is received: [...] Set X_recv = 0."
        let Some(last_report_at) = self.last_report_at else { return 0.0 };
        let span = self.rtt().max(now - last_report_at);
        let start = now.saturating_sub(span);
        while self.arrivals.front().is_some_and(|(at, _)| *at <= start) {
            self.forget_arrival();
        }
        let rate = self.arrived as f64 / span.as_secs_f64();
        self.receive_rate_max = self.receive_rate_max.max(rate);
        rate
    }

    fn forget_arrival(&mut self) {
        self.arrived -= self.arrivals.pop_front().map_or(0, |(_, len)| u64::from(len));
    }

    /// RFC 5348 section 6.3.1: how long the first interval is taken to have been.
    fn first_interval(rtt: Duration, receive_rate_max: f64, mean_size: f64) -> u64 {
        let packets = receive_rate_max * rtt.as_secs_f64() / mean_size;
        (1.0 / loss_event_rate_for(packets.max(PACKETS_PER_ROUND_TRIP_MIN))) as u64
    }

    /// The option, behind so many packets that are in no interval.
    fn intervals(&self) -> (u8, Vec<LossInterval>) {
        let undecided = self.losses.undecided();
        let skip = undecided.min(SKIP_MAX);
        let field = |length: u64| u32::try_from(length).unwrap_or(u32::MAX);
        let mut intervals: Vec<_> = self
            .losses
            .intervals()
            .map(|interval| LossInterval {
                lossless_length: field(interval.lossless_length),
                loss_length: field(interval.loss_length),
                data_length: field(interval.data_length),
            })
            .collect();
        // A wide gap that is not yet a loss does not fit into the Skip Length: for now it counts as
        // it does before anything is known of it.
        if let Some(newest) = intervals.first_mut() {
            let more = newest.lossless_length.saturating_add(field(undecided - skip));
            newest.lossless_length = more;
        }
        (skip as u8, intervals)
    }

    /// RFC 4342 section 8.5: "the inverse of the loss event rate, rounded UP".
    fn inverse_loss_event_rate(&self) -> u32 {
        let lengths: Vec<_> =
            self.losses.intervals().map(|interval| interval.data_length as f64).collect();
        // A cast saturates: before the first loss it is 2^32 - 1.
        average_loss_interval(&lengths).map_or(u32::MAX, |mean| mean.ceil() as u32)
    }
}

impl HcReceiver for Ccid3Receiver {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival, len: usize) {
        let Some(state) = &mut self.state else {
            if arrival.is_data {
                // RFC 5348 section 6.3: "Prepare and send a feedback packet."
                let mut state = State::new(arrival, len);
                state.note_data(now, arrival, len);
                self.state = Some(state);
                self.is_due = true;
            }
            return;
        };
        if arrival.is_data {
            self.is_due |= state.note_data(now, arrival, len);
        }
        // RFC 4342 section 10.3: "the TFRC receiver must send a feedback packet when a newly
        // calculated loss event rate p is greater than its previous value."
        let receive_rate = if state.arrivals.is_empty() { 0.0 } else { state.receive_rate(now) };
        let (rtt, rate) = (state.rtt(), state.receive_rate_max.max(receive_rate));
        let mean_size = state.mean_size;
        let first = || State::first_interval(rtt, rate, mean_size);
        self.is_due |= state.losses.on_packet(arrival, first);
    }

    fn must_acknowledge(&self) -> bool {
        self.is_due
    }

    fn on_ack_ratio(&mut self, _ack_ratio: u64) {}

    fn write(&mut self, now: Time, context: &AckContext, options: &mut OptionsBuf) {
        let Some(state) = &mut self.state else { return };
        let elapsed = ElapsedTime::from_duration(now - context.arrived_at);
        let receive_rate = state.receive_rate(now);
        let (skip, intervals) = state.intervals();
        let (mut bytes, mut buf) = (Vec::new(), Vec::new());
        let intervals = LossIntervals::new(skip, intervals, &mut bytes);
        options.push(&PacketOption::ElapsedTime(elapsed));
        options.push(&Ccid3Option::ReceiveRate(receive_rate as u32).encode(&mut buf));
        options.push(&Ccid3Option::LossIntervals(intervals).encode(&mut buf));
        if context.with_loss_event_rate {
            let rate = Ccid3Option::LossEventRate(state.inverse_loss_event_rate());
            options.push(&rate.encode(&mut buf));
        }
        // RFC 4342 section 10.3: "the receiver sets a local variable last_counter to the greatest
        // received value of the window counter since the last feedback message was sent".
        state.last_counter = state.greatest.1;
        state.last_report_at = Some(now);
        self.is_due = false;
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        None
    }

    fn handle_timeout(&mut self, _now: Time) {}
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfrc::packets_per_round_trip;
    use crate::wire::{OptionType, SequenceNumber};

    const RTT_MS: u64 = 100;
    const LEN: usize = 1_000;

    struct Run {
        receiver: Ccid3Receiver,
        now: Time,
        next: u64,
        reports: u64,
        last: OptionsBuf,
    }

    impl Run {
        fn new() -> Self {
            let (receiver, now) = (Ccid3Receiver::new(), Time::ZERO);
            Self { receiver, now, next: 0, reports: 0, last: OptionsBuf::new() }
        }

        /// Ten packets a round-trip time, but those in `lost`.
        fn packets(&mut self, count: u64, lost: &[u64]) {
            for _ in 0..count {
                let counter = (self.next * 4 / 10 % 16) as u8;
                let seq = Seq::first(SequenceNumber::new(self.next));
                let arrival =
                    Arrival { seq, is_data: true, counter, is_marked: false, non_data_before: 0 };
                if !lost.contains(&self.next) {
                    self.receiver.on_arrival(self.now, &arrival, LEN);
                    self.report();
                }
                self.next += 1;
                self.now += Duration::from_millis(RTT_MS / 10);
            }
        }

        fn report(&mut self) {
            if self.receiver.must_acknowledge() {
                let context = AckContext { arrived_at: self.now, with_loss_event_rate: true };
                self.last = OptionsBuf::new();
                self.receiver.write(self.now, &context, &mut self.last);
                self.reports += 1;
            }
        }

        fn option(&self, ty: OptionType) -> Ccid3Option<'_> {
            let mut entries = self.last.as_options().iter().map(|entry| entry.unwrap());
            let entry = entries.find(|entry| entry.ty == ty).unwrap();
            Ccid3Option::decode(ty, entry.data).unwrap()
        }
    }

    #[test]
    fn feedback_goes_out_with_the_first_packet_and_once_a_round_trip() {
        let mut run = Run::new();
        run.packets(1, &[]);
        assert_eq!(run.reports, 1);
        run.packets(500, &[]);
        assert_eq!(run.reports, 51);
        assert_eq!(run.option(OptionType::LOSS_EVENT_RATE), Ccid3Option::LossEventRate(u32::MAX));
    }

    #[test]
    fn a_sender_of_less_than_a_packet_a_round_trip_hears_of_each() {
        let mut receiver = Ccid3Receiver::new();
        for n in 0..20 {
            let seq = Seq::first(SequenceNumber::new(n));
            let counter = (n * 5 % 16) as u8;
            let arrival =
                Arrival { seq, is_data: true, counter, is_marked: false, non_data_before: 0 };
            let now = Time::from_secs(n);
            receiver.on_arrival(now, &arrival, LEN);
            assert!(receiver.must_acknowledge(), "packet {n}");
            let context = AckContext { arrived_at: now, with_loss_event_rate: false };
            receiver.write(now, &context, &mut OptionsBuf::new());
        }
    }

    #[test]
    fn the_receive_rate_is_that_of_the_last_round_trip() {
        let mut run = Run::new();
        run.packets(1, &[]);
        assert_eq!(run.option(OptionType::RECEIVE_RATE), Ccid3Option::ReceiveRate(0));
        run.packets(200, &[]);
        let Ccid3Option::ReceiveRate(rate) = run.option(OptionType::RECEIVE_RATE) else { panic!() };
        assert!((90_000..110_000).contains(&rate), "{rate} bytes per second");
    }

    #[test]
    fn the_bytes_that_arrived_are_those_of_the_arrivals_remembered() {
        let remembered =
            |state: &State| -> u64 { state.arrivals.iter().map(|(_, len)| u64::from(*len)).sum() };
        let mut run = Run::new();
        run.packets(200, &[]);
        let state = run.receiver.state.as_mut().expect("packets came");
        assert_eq!(state.arrived, remembered(state));
        let seq = Seq::first(SequenceNumber::new(run.next));
        let arrival =
            Arrival { seq, is_data: true, counter: 0, is_marked: false, non_data_before: 0 };
        for len in 0..ARRIVALS_MAX + 10 {
            state.note_data(run.now, &arrival, len);
        }
        assert_eq!(state.arrivals.len(), ARRIVALS_MAX);
        assert_eq!(state.arrived, remembered(state));
    }

    #[test]
    fn the_first_loss_is_told_at_once_with_an_interval_of_the_rate_that_came() {
        let mut run = Run::new();
        run.packets(200, &[]);
        run.packets(3, &[200]);
        let reports = run.reports;
        run.packets(1, &[]);
        assert_eq!(run.reports, reports + 1);
        let Ccid3Option::LossIntervals(intervals) = run.option(OptionType::LOSS_INTERVALS) else {
            panic!()
        };
        let intervals: Vec<_> = intervals.iter().collect();
        assert_eq!((intervals[0].loss_length, intervals[0].lossless_length), (1, 3));
        assert_eq!(intervals[1].lossless_length, 200);
        // 100,000 bytes per second are ten packets of 1,000 in 100 ms.
        let packets = packets_per_round_trip(1.0 / f64::from(intervals[1].data_length));
        assert!((9.0..11.5).contains(&packets), "{packets} packets for {intervals:?}");
    }

    #[test]
    fn losses_of_one_round_trip_are_reported_once() {
        let mut run = Run::new();
        run.packets(100, &[]);
        let reports = run.reports;
        run.packets(9, &[100, 103, 104]);
        assert_eq!(run.reports - reports, 2, "the loss, and the round-trip time");
    }

    #[test]
    fn a_wide_gap_that_is_no_loss_yet_keeps_the_skip_length_in_its_limit() {
        let mut run = Run::new();
        run.packets(100, &[]);
        let seq = Seq::first(SequenceNumber::new(150));
        let arrival =
            Arrival { seq, is_data: true, counter: 9, is_marked: false, non_data_before: 0 };
        run.receiver.on_arrival(run.now, &arrival, LEN);
        run.receiver.is_due = true;
        run.report();
        let Ccid3Option::LossIntervals(intervals) = run.option(OptionType::LOSS_INTERVALS) else {
            panic!()
        };
        let length: u32 = intervals.iter().map(|interval| interval.sequence_length()).sum();
        assert_eq!((intervals.skip(), length), (3, 148));
    }
}
