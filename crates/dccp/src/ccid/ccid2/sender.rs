//! [`Ccid2Sender`]: a window of packets, RFC 4341 section 5.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};

use super::NUMDUPACK;
use super::ack_ratio::AckRatio;
use super::timeout::Timeout;
use crate::ccid::{AckRange, HcSender, Report, SentPacket};
use crate::seq::Seq;
use crate::stats::CongestionStats;
use crate::tfrc::Arrival;
use crate::wire::{AckState, DropCode};

/// Packets that are remembered at most; no window is larger.
const SENT_MAX: usize = 1 << 16;

/// The HC-Sender of CCID 2.
#[derive(Debug)]
pub(crate) struct Ccid2Sender {
    cwnd: u64,
    ssthresh: u64,
    initial_window: u64,
    /// Data packets that are thought to be under way.
    pipe: u64,
    /// Packets of any type, from `base` on in order.
    sent: VecDeque<Sent>,
    base: Option<Seq>,
    /// The greatest numbers that were acknowledged, the greatest last.
    acknowledged: Vec<Seq>,
    /// The last packet that was sent when a congestion event was found: those up to it belong to
    /// it.
    event_end: Option<Seq>,
    /// Data packets acknowledged since cwnd last grew.
    grown_by: u64,
    timeout: Timeout,
    timer: Option<Time>,
    /// Packets from here on give the next sample of the round-trip time.
    sample_from: Option<Seq>,
    ack_ratio: AckRatio,
    /// Data packets since an acknowledgement was last sent.
    data_since_acknowledgement: u64,
    /// Whether the peer has sent acknowledgements since.
    is_acknowledged: bool,
    /// The receiver is slow: cwnd does not grow until then.
    slow_until: Time,
    last_data_at: Time,
    congestion_events: u64,
    timeouts: u64,
}

#[derive(Debug, Clone, Copy)]
struct Sent {
    at: Time,
    is_data: bool,
    /// Whether it counts in `pipe`.
    is_in_pipe: bool,
    is_acknowledged: bool,
    is_marked: bool,
    is_dropped: bool,
}

impl Ccid2Sender {
    /// `packet_size`: bytes of data in the largest packet.
    pub(crate) fn new(packet_size: usize) -> Self {
        // RFC 4341 section 5: "The cwnd parameter is initialized to at most four packets for new
        // connections, following the rules from [RFC3390]": min(4*MSS, max(2*MSS, 4380 bytes)).
        let packet_size = packet_size.max(1) as u64;
        let initial_window = (4_380 / packet_size).clamp(2, 4);
        Self {
            cwnd: initial_window,
            ssthresh: u64::MAX,
            initial_window,
            pipe: 0,
            sent: VecDeque::new(),
            base: None,
            acknowledged: Vec::with_capacity(NUMDUPACK + 1),
            event_end: None,
            grown_by: 0,
            timeout: Timeout::new(),
            timer: None,
            sample_from: None,
            ack_ratio: AckRatio::new(),
            data_since_acknowledgement: 0,
            is_acknowledged: false,
            slow_until: Time::ZERO,
            last_data_at: Time::ZERO,
            congestion_events: 0,
            timeouts: 0,
        }
    }

    /// The last packet that was sent.
    fn last(&self) -> Option<Seq> {
        let len = self.sent.len() as u64;
        self.base.filter(|_| len > 0).map(|base| base + (len - 1))
    }

    fn sent_mut(&mut self, seq: Seq) -> Option<&mut Sent> {
        let at = usize::try_from(seq.since(self.base.filter(|base| *base <= seq)?)).ok()?;
        self.sent.get_mut(at)
    }

    /// Takes packets that arrived. Returns how many data packets were not known to have, and
    /// whether a router marked some of them.
    fn take_range(&mut self, range: &AckRange) -> (u64, bool) {
        let (Some(base), Some(last)) = (self.base, self.last()) else { return (0, false) };
        let (mut newly, mut is_congested) = (0, false);
        let mut seq = range.last.min(last);
        while seq >= range.first.max(base) {
            let event_end = self.event_end;
            let Some(sent) = self.sent_mut(seq) else { break };
            if range.state == AckState::EcnMarked && !std::mem::replace(&mut sent.is_marked, true) {
                is_congested |= event_end < Some(seq);
            }
            if !std::mem::replace(&mut sent.is_acknowledged, true) {
                // RFC 4341 section 5: "The sender MUST NOT decrement pipe more than once per data
                // packet."
                let was_in_pipe = std::mem::take(&mut sent.is_in_pipe);
                self.pipe -= u64::from(was_in_pipe);
                newly += u64::from(was_in_pipe && range.state == AckState::Received);
                self.note_acknowledged(seq);
            }
            seq = seq - 1;
        }
        (newly, is_congested)
    }

    fn note_acknowledged(&mut self, seq: Seq) {
        let at = self.acknowledged.partition_point(|other| *other < seq);
        self.acknowledged.insert(at, seq);
        if self.acknowledged.len() > NUMDUPACK {
            self.acknowledged.remove(0);
        }
    }

    /// Forgets what is acknowledged or lost. Whether data were lost of which no congestion event
    /// was told yet.
    ///
    /// RFC 4341 section 5: "A packet P is inferred to be lost, rather than delayed, when at least
    /// NUMDUPACK packets transmitted after P have been acknowledged as received (Ack Vector State 0
    /// or 1) by the receiver."
    fn forget(&mut self) -> bool {
        let enough = self.acknowledged.len() == NUMDUPACK;
        let lost_below = self.acknowledged.first().copied().filter(|_| enough);
        let mut is_congested = false;
        while let (Some(base), Some(front)) = (self.base, self.sent.front()) {
            let is_lost = lost_below.is_some_and(|below| base < below);
            if !front.is_acknowledged && !is_lost {
                break;
            }
            if front.is_in_pipe {
                self.pipe -= 1;
                is_congested |= self.event_end < Some(base);
            }
            self.sent.pop_front();
            self.base = Some(base + 1);
        }
        is_congested
    }

    fn sample(&mut self, now: Time, report: &Report) {
        let seq = report.acknowledgement;
        if self.sample_from.is_some_and(|from| seq < from) {
            return;
        }
        let last = self.last();
        // Acknowledgements are acknowledged when that is convenient.
        let Some(sent) = self.sent_mut(seq).filter(|sent| sent.is_data) else { return };
        let rtt = now - (sent.at + report.elapsed.unwrap_or_default());
        self.timeout.on_sample(rtt);
        // RFC 4341 section 5: "The sender estimates the round-trip time at most once per window of
        // data".
        self.sample_from = last.map(|last| last + 1);
        self.ack_ratio.on_window(self.cwnd);
    }

    /// RFC 4341 section 5: "For each congestion event, either indicated explicitly as an Ack Vector
    /// State 1 (ECN-marked) acknowledgement or inferred via "duplicate acknowledgements", cwnd is
    /// halved, then ssthresh is set to the new cwnd."
    fn halve(&mut self) {
        self.congestion_events += 1;
        self.cwnd = (self.cwnd / 2).max(1);
        self.ssthresh = self.cwnd.max(2);
        self.grown_by = 0;
        self.ack_ratio.limit(self.cwnd);
    }

    fn grow(&mut self, newly: u64) {
        if self.cwnd >= SENT_MAX as u64 {
            return;
        }
        self.grown_by += newly;
        if self.cwnd < self.ssthresh {
            // RFC 4341 section 5: "the congestion window is increased by one packet for every two
            // newly acknowledged data packets with Ack Vector State 0 (not ECN-marked), up to a
            // maximum of Ack Ratio/2 packets per acknowledgement."
            let grown = (self.grown_by / 2).min(self.ack_ratio.ratio().div_ceil(2));
            self.cwnd += grown;
            self.grown_by = (self.grown_by - 2 * grown).min(1);
        } else if self.grown_by >= self.cwnd {
            // "When cwnd >= ssthresh, the congestion window is increased by one packet for every
            // window of data acknowledged without lost or marked packets."
            self.grown_by -= self.cwnd;
            self.cwnd += 1;
        }
    }

    /// RFC 4341 section 5.2. Whether the drops count as a mark.
    fn take_drops(&mut self, report: &Report) -> bool {
        let (mut is_congested, mut any) = (false, false);
        for (seq, code) in &report.dropped {
            let event_end = self.event_end;
            let Some(sent) = self.sent_mut(*seq) else { continue };
            if std::mem::replace(&mut sent.is_dropped, true) {
                continue;
            }
            any = true;
            match *code {
                // RFC 4340 section 11.7.2: "as if they were received".
                DropCode::PROTOCOL_CONSTRAINTS | DropCode::APPLICATION_NOT_LISTENING => {}
                // "The congestion window "cwnd" is reduced by one for each packet newly
                // acknowledged as Drop Code 2, except that it is never reduced below one."
                DropCode::RECEIVE_BUFFER => self.cwnd = (self.cwnd - 1).max(1),
                // RFC 4340 section 11.7.2: "MUST cause the relevant CCID to behave as if the
                // relevant packets were ECN marked".
                _ => is_congested |= event_end < Some(*seq),
            }
        }
        if any || report.is_slow {
            // "The sender MUST exit slow start whenever it receives a relevant Data Dropped or Slow
            // Receiver option."
            self.ssthresh = self.ssthresh.min(self.cwnd.max(2));
        }
        is_congested
    }

    fn restart_timer(&mut self, now: Time) {
        self.timer = (self.pipe > 0).then(|| now + self.timeout.timeout());
    }
}

impl HcSender for Ccid2Sender {
    fn may_send(&self, _now: Time) -> bool {
        // RFC 4341 section 5: "The sender MAY send a data packet when pipe < cwnd but MUST NOT send
        // a data packet when pipe >= cwnd."
        self.pipe < self.cwnd && self.sent.len() < SENT_MAX
    }

    fn may_send_at(&self) -> Option<Time> {
        None
    }

    fn ccval(&mut self, _now: Time) -> u8 {
        0
    }

    fn on_sent(&mut self, now: Time, sent: &SentPacket) {
        let is_data = sent.data.is_some();
        if is_data && self.pipe == 0 && now - self.last_data_at > self.timeout.timeout() {
            // RFC 4341 section 5.1: "For idle periods, [RFC2581] recommends that the TCP sender
            // SHOULD slow-start after an idle period".
            self.cwnd = self.cwnd.min(self.initial_window);
        }
        self.base.get_or_insert(sent.seq);
        self.sent.push_back(Sent {
            at: now,
            is_data,
            is_in_pipe: is_data,
            is_acknowledged: false,
            is_marked: false,
            is_dropped: false,
        });
        if sent.is_acknowledgement {
            self.data_since_acknowledgement = 0;
            self.is_acknowledged = false;
        } else {
            self.data_since_acknowledgement += u64::from(is_data);
        }
        if self.sent.len() > 2 * SENT_MAX {
            // Only packets without data go on like this.
            self.sent.pop_front();
            self.base = self.base.map(|base| base + 1);
        }
        if is_data {
            self.pipe += 1;
            self.last_data_at = now;
            if self.timer.is_none() {
                self.restart_timer(now);
            }
        }
    }

    fn on_report(&mut self, now: Time, report: &Report) {
        let pipe_before = self.pipe;
        self.sample(now, report);
        let own = AckRange {
            first: report.acknowledgement,
            last: report.acknowledgement,
            state: AckState::Received,
        };
        let (mut newly, mut is_congested) = (0, false);
        let ranges = if report.states.is_empty() { &[own][..] } else { &report.states };
        for range in ranges {
            if matches!(range.state, AckState::Received | AckState::EcnMarked) {
                let (some, is_marked) = self.take_range(range);
                newly += some;
                is_congested |= is_marked;
            }
        }
        is_congested |= self.take_drops(report);
        is_congested |= self.forget();
        self.is_acknowledged = true;
        if newly > 0 {
            self.timeout.on_progress();
        }
        if report.is_slow {
            // RFC 4340 section 11.6: "The HC-Sender SHOULD NOT increase its sending rate for
            // approximately one round-trip time after seeing a packet with a Slow Receiver option."
            self.slow_until = now + self.timeout.srtt().unwrap_or_default();
        }
        if is_congested {
            self.halve();
            self.event_end = self.last();
        } else if newly > 0 && pipe_before >= self.cwnd && now >= self.slow_until {
            // What was not filled says nothing about a larger one.
            self.grow(newly);
        }
        if pipe_before != self.pipe {
            self.restart_timer(now);
        }
    }

    fn on_arrival(&mut self, arrival: &Arrival) {
        self.ack_ratio.on_arrival(arrival);
    }

    fn on_rtt(&mut self, _now: Time, rtt: Duration) {
        if self.timeout.srtt().is_none() {
            self.timeout.on_sample(rtt);
        }
    }

    fn rtt(&self) -> Option<Duration> {
        self.timeout.srtt()
    }

    fn ack_ratio(&self) -> Option<u16> {
        Some(u16::try_from(self.ack_ratio.ratio()).unwrap_or(u16::MAX))
    }

    fn wants_acknowledgement(&self) -> bool {
        // RFC 4341 section 6.2: "An active sender SHOULD acknowledge the receiver's
        // acknowledgements at least once per congestion window."
        self.is_acknowledged && self.data_since_acknowledgement + 1 >= self.cwnd
    }

    fn packets_in_flight_max(&self) -> u64 {
        self.cwnd
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.timer.map(|at| Wakeup { at, why: "transmit timeout" })
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.timer.is_none_or(|at| at > now) {
            return;
        }
        self.timer = None;
        self.timeouts += 1;
        // RFC 4341 section 5: "After a timeout, the slow-start threshold is set to cwnd/2, then
        // cwnd is set to one packet", where "ssthresh is never less than two".
        self.ssthresh = (self.cwnd / 2).max(2);
        self.cwnd = 1;
        self.grown_by = 0;
        self.ack_ratio.on_timeout();
        // "When a transmit timeout occurs, the sender sets pipe to zero."
        self.pipe = 0;
        self.sent.iter_mut().for_each(|sent| sent.is_in_pipe = false);
        self.event_end = self.last();
        self.timeout.back_off();
    }

    fn stats(&self) -> CongestionStats {
        CongestionStats {
            ccid: 2,
            rtt: self.timeout.srtt(),
            window: self.cwnd,
            congestion_events: self.congestion_events,
            timeouts: self.timeouts,
            ..CongestionStats::default()
        }
    }
}

#[cfg(test)]
mod tests;
