//! [`Ccid3Sender`]: a rate, RFC 4342 section 5.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};

use super::counter::WindowCounter;
use crate::ccid::{HcSender, RTT_DEFAULT, Report, SentPacket};
use crate::seq::Seq;
use crate::stats::CongestionStats;
use crate::tfrc::{
    Arrival, Feedback, INTERVALS, RateControl, RateControlConfig, average_loss_interval,
};
use crate::wire::DropCode;

/// Packets whose time is remembered until they are acknowledged.
const SENT_MAX: usize = 1 << 16;

/// The HC-Sender of CCID 3.
#[derive(Debug)]
pub(crate) struct Ccid3Sender {
    control: RateControl,
    counter: WindowCounter,
    /// CCVal of the next packet.
    ccval: u8,
    /// Packets of any type, from `base` on in order.
    sent: VecDeque<(Time, u8)>,
    base: Option<Seq>,
    /// Where the newest loss interval began that was reported.
    last_interval: Option<Seq>,
    /// The newest packet that was reported as dropped.
    last_drop: Option<Seq>,
    loss_events: u64,
    timeouts: u64,
}

impl Ccid3Sender {
    pub(crate) fn new(now: Time, config: RateControlConfig) -> Self {
        Self {
            control: RateControl::new(now, config),
            counter: WindowCounter::new(),
            ccval: 0,
            sent: VecDeque::new(),
            base: None,
            last_interval: None,
            last_drop: None,
            loss_events: 0,
            timeouts: 0,
        }
    }

    /// When a packet was sent, and its counter. What is older is forgotten.
    fn take_sent(&mut self, seq: Seq) -> Option<(Time, u8)> {
        let base = self.base.filter(|base| *base <= seq)?;
        let at = usize::try_from(seq.since(base)).ok()?;
        let sent = *self.sent.get(at)?;
        self.sent.drain(..at);
        self.base = Some(seq);
        Some(sent)
    }

    /// p, and whether a loss event was reported for the first time.
    ///
    /// RFC 4342 section 6.1: "From Loss Intervals, the sender can easily calculate the loss event
    /// rate p". Who sends a Loss Event Rate instead is believed.
    fn loss_event_rate(&mut self, report: &Report) -> Option<(f64, bool)> {
        let Some((skip, intervals)) = &report.loss_intervals else {
            let rate = match report.loss_event_rate? {
                u32::MAX => 0.0,
                packets => 1.0 / f64::from(packets.max(1)),
            };
            return Some((rate, rate > self.control.loss_event_rate()));
        };
        let newest = intervals.first()?;
        let length = u64::from(*skip) + u64::from(newest.sequence_length());
        let start = report.acknowledgement + 1 - length;
        let has_losses = intervals.len() > 1;
        let is_new = has_losses && self.last_interval < Some(start);
        if has_losses {
            self.last_interval = self.last_interval.max(Some(start));
        }
        let lengths: Vec<_> = intervals
            .iter()
            .take(INTERVALS + 1)
            .map(|interval| f64::from(interval.data_length))
            .collect();
        Some((average_loss_interval(&lengths).map_or(0.0, |mean| 1.0 / mean.max(1.0)), is_new))
    }

    /// RFC 4342 section 5.2: X_drop, "the sending rate upper bound implied by Data Dropped and Slow
    /// Receiver options".
    fn limit(&mut self, report: &Report, receive_rate: f64) -> Option<f64> {
        let last_drop = self.last_drop;
        let drops = report
            .dropped
            .iter()
            .filter(|(seq, code)| *code == DropCode::RECEIVE_BUFFER && last_drop < Some(*seq));
        let drops = drops.count() as f64;
        let newest = report.dropped.iter().map(|(seq, _)| *seq).max();
        self.last_drop = self.last_drop.max(newest);
        if drops > 0.0 {
            // "max(X_inrecv - 3*s/RTT, min(X_inrecv, s/RTT))", for three packets.
            let packet = self.control.segment_size() / self.rtt_or_default().as_secs_f64();
            return Some((receive_rate - drops * packet).max(receive_rate.min(packet)));
        }
        // "then X_drop should be set to X_inrecv."
        report.is_slow.then_some(receive_rate)
    }

    fn rtt_or_default(&self) -> Duration {
        self.control.rtt().unwrap_or(RTT_DEFAULT)
    }
}

impl HcSender for Ccid3Sender {
    fn may_send(&self, now: Time) -> bool {
        self.control.next_at() <= now
    }

    /// RFC 4340 section 7.5.2: "an endpoint MUST NOT persistently send more than its Sequence
    /// Window number of packets per round-trip time". A pause may be followed by as many again as a
    /// round trip has, and a report of what is further behind than the window is not valid: half of
    /// it.
    fn on_sequence_window(&mut self, packets: u64) {
        self.control.limit_packets(u32::try_from(packets / 2).unwrap_or(u32::MAX));
    }

    fn may_send_at(&self) -> Option<Time> {
        Some(self.control.next_at())
    }

    fn wakes_at(&self) -> Option<Time> {
        Some(self.control.wakes_at())
    }

    fn ccval(&mut self, now: Time) -> u8 {
        self.ccval = self.counter.next(now, self.rtt_or_default());
        self.ccval
    }

    fn on_sent(&mut self, now: Time, sent: &SentPacket) {
        self.base.get_or_insert(sent.seq);
        self.sent.push_back((now, self.ccval));
        if self.sent.len() > SENT_MAX {
            self.sent.pop_front();
            self.base = self.base.map(|base| base + 1);
        }
        if let Some(len) = sent.data {
            self.control.on_sent(now, len, sent.is_waiting);
        }
    }

    fn on_report(&mut self, now: Time, report: &Report) {
        let Some((sent_at, counter)) = self.take_sent(report.acknowledgement) else { return };
        self.counter.on_acknowledged(now, counter);
        // RFC 4342 section 5: "feedback packets must contain valid Loss Intervals, Elapsed Time,
        // and Receive Rate options." Linux leaves the Elapsed Time out, because it answers at once.
        let Some(receive_rate) = report.receive_rate else { return };
        let Some((loss_event_rate, is_new_loss)) = self.loss_event_rate(report) else { return };
        self.loss_events += u64::from(is_new_loss);
        let receive_rate = f64::from(receive_rate);
        let feedback = Feedback {
            rtt: round_trip(now - sent_at, report.elapsed.unwrap_or_default()),
            receive_rate,
            loss_event_rate,
            is_new_loss,
            answered: sent_at,
        };
        self.control.on_feedback(now, &feedback);
        if let Some(rate) = self.limit(report, receive_rate) {
            self.control.limit(now, rate);
        }
    }

    fn on_arrival(&mut self, _arrival: &Arrival) {}

    fn on_rtt(&mut self, now: Time, rtt: Duration) {
        self.control.on_rtt(now, rtt);
    }

    fn rtt(&self) -> Option<Duration> {
        self.control.rtt()
    }

    fn ack_ratio(&self) -> Option<u16> {
        None
    }

    fn wants_acknowledgement(&self) -> bool {
        // RFC 4342 section 6.3: "TFRC acknowledgements don't generally need to be reliable, so the
        // sender generally need not acknowledge the receiver's acknowledgements."
        false
    }

    fn packets_in_flight_max(&self) -> u64 {
        let bytes = self.control.rate() * self.rtt_or_default().as_secs_f64();
        (bytes / self.control.segment_size().max(1.0)) as u64 + 1
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let at = self.control.nofeedback_at()?;
        Some(Wakeup { at, why: "nofeedback timer" })
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.control.nofeedback_at().is_some_and(|at| at <= now) {
            self.timeouts += 1;
            self.control.handle_timeout(now);
        }
    }

    fn stats(&self) -> CongestionStats {
        CongestionStats {
            ccid: 3,
            rtt: self.control.rtt(),
            congestion_events: self.loss_events,
            timeouts: self.timeouts,
            loss_event_rate: self.control.loss_event_rate(),
            rate: self.control.rate(),
            segment_size: self.control.segment_size(),
            ..CongestionStats::default()
        }
    }
}

/// The time on the way, of all that passed from a packet to its report, if the receiver waited for
/// `elapsed` of it.
///
/// RFC 4342 section 6: a report comes "roughly once per round-trip time", so that waiting is no
/// more than half of it, unless timers are coarse. Who claims to have waited for all of it could
/// have any rate: it is believed up to seven eighths.
fn round_trip(passed: Duration, elapsed: Duration) -> Duration {
    passed - elapsed.min(passed * 7 / 8)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tfrc::packets_per_round_trip;
    use crate::wire::{LossInterval, SequenceNumber};

    const LEN: usize = 1_000;

    fn seq(n: u64) -> Seq {
        Seq::first(SequenceNumber::new(n))
    }

    /// A sender that has sent packets 0 to 9, the last one at 90 ms.
    fn sender() -> Ccid3Sender {
        let config = RateControlConfig {
            packet_size_max: LEN,
            oscillation_reduction: false,
            ..RateControlConfig::default()
        };
        let mut sender = Ccid3Sender::new(Time::ZERO, config);
        for n in 0..10 {
            let now = Time::from_millis(10 * n);
            sender.ccval(now);
            let (data, is_waiting, is_acknowledgement) = (Some(LEN), true, false);
            let sent = SentPacket { seq: seq(n), data, is_waiting, is_acknowledgement };
            sender.on_sent(now, &sent);
        }
        sender
    }

    fn report() -> Report {
        let interval =
            |data_length| LossInterval { lossless_length: 4, loss_length: 1, data_length };
        Report {
            elapsed: Some(Duration::from_millis(10)),
            receive_rate: Some(1_000_000),
            loss_intervals: Some((1, vec![interval(5), interval(100)])),
            ..Report::new(seq(9))
        }
    }

    /// 90 ms, 100 ms on the way and 10 ms at the receiver.
    const ANSWER_AT: Time = Time::from_millis(200);

    #[test]
    fn feedback_gives_round_trip_time_loss_and_rate() {
        let mut sender = sender();
        sender.on_report(ANSWER_AT, &report());
        let stats = sender.stats();
        assert_eq!(stats.rtt, Some(Duration::from_millis(100)));
        assert!((stats.loss_event_rate - 0.01).abs() < 1e-12);
        let expected = packets_per_round_trip(0.01) * LEN as f64 / 0.1;
        assert!((stats.rate / expected - 1.0).abs() < 1e-9, "{stats:?}");
    }

    #[test]
    fn a_loss_event_rate_will_do_instead_of_intervals() {
        let mut sender = sender();
        let report = Report { loss_intervals: None, loss_event_rate: Some(50), ..report() };
        sender.on_report(ANSWER_AT, &report);
        assert!((sender.stats().loss_event_rate - 0.02).abs() < 1e-12);
        let report = Report { loss_event_rate: Some(u32::MAX), ..report };
        sender.on_report(ANSWER_AT, &report);
        assert!(sender.stats().loss_event_rate.abs() < 1e-12);
    }

    /// As Linux 6.1 sends it: Receive Rate and Loss Event Rate.
    #[test]
    fn feedback_of_linux_counts_though_it_says_nothing_of_elapsed_time() {
        let mut sender = sender();
        let (elapsed, loss_intervals, loss_event_rate) = (None, None, Some(u32::MAX));
        let report = Report { elapsed, loss_intervals, loss_event_rate, ..report() };
        sender.on_report(ANSWER_AT, &report);
        assert_eq!(sender.stats().rtt, Some(Duration::from_millis(110)));
    }

    #[test]
    fn what_lacks_an_option_is_no_feedback() {
        let incomplete = [
            Report { receive_rate: None, ..report() },
            Report { loss_intervals: None, ..report() },
            Report { loss_intervals: Some((0, Vec::new())), ..report() },
            Report { acknowledgement: seq(99), ..report() },
        ];
        for report in incomplete {
            let mut sender = sender();
            sender.on_report(ANSWER_AT, &report);
            assert_eq!(sender.stats().rtt, None, "{report:?}");
        }
    }

    #[test]
    fn who_claims_to_have_waited_all_the_time_is_believed_in_part() {
        let mut sender = sender();
        let report = Report { elapsed: Some(Duration::MAX), ..report() };
        sender.on_report(ANSWER_AT, &report);
        // Of the 110 ms since it was sent.
        assert_eq!(sender.stats().rtt, Some(Duration::from_micros(13_750)));
    }

    #[test]
    fn an_interval_is_new_once() {
        let mut sender = sender();
        assert!(sender.loss_event_rate(&report()).unwrap().1);
        assert!(!sender.loss_event_rate(&report()).unwrap().1);
        let longer = LossInterval { lossless_length: 6, loss_length: 1, data_length: 5 };
        let later = Report { loss_intervals: Some((1, vec![longer; 2])), ..Report::new(seq(11)) };
        assert!(!sender.loss_event_rate(&later).unwrap().1, "the same one goes on");
    }

    #[test]
    fn slow_receivers_and_dropped_data_limit_the_rate() {
        let mut slow = sender();
        let spacious = Report { loss_event_rate: Some(u32::MAX), loss_intervals: None, ..report() };
        let report = Report { receive_rate: Some(38_000), is_slow: true, ..spacious.clone() };
        slow.on_report(ANSWER_AT, &report);
        assert!((slow.stats().rate - 38_000.0).abs() < 1.0, "{:?}", slow.stats());
        let mut full = sender();
        let dropped = [7, 8].map(|n| (seq(n), DropCode::RECEIVE_BUFFER)).to_vec();
        let report = Report { receive_rate: Some(38_000), dropped, ..spacious };
        full.on_report(ANSWER_AT, &report);
        // Two packets of 1,000 bytes less in 100 ms.
        assert!((full.stats().rate - 18_000.0).abs() < 1.0, "{:?}", full.stats());
    }

    #[test]
    fn no_more_goes_out_in_a_round_trip_than_half_of_the_sequence_window() {
        let mut sender = sender();
        let loss_free =
            Report { loss_event_rate: Some(u32::MAX), loss_intervals: None, ..report() };
        let fast = Report { receive_rate: Some(100_000_000), ..loss_free };
        sender.on_report(ANSWER_AT, &fast);
        sender.on_sequence_window(4);
        let mut now = ANSWER_AT + Duration::from_secs(1);
        let end = now + Duration::from_secs(1);
        let mut count = 0;
        while now < end {
            let (data, is_waiting, is_acknowledgement) = (Some(LEN), true, false);
            let seq = seq(10 + count);
            sender.on_sent(now, &SentPacket { seq, data, is_waiting, is_acknowledgement });
            count += 1;
            now = now.max(sender.may_send_at().unwrap());
        }
        assert!((20..=23).contains(&count), "{count} in ten round trips");
    }

    #[test]
    fn silence_is_counted() {
        let mut sender = sender();
        let at = sender.poll_timeout().unwrap().at;
        sender.handle_timeout(at);
        assert_eq!(sender.stats().timeouts, 1);
    }
}
