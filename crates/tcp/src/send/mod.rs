//! The sending half: what may go out, and what goes out again.

mod acknowledgment;
mod buffer;
mod rto;
mod scoreboard;

use std::ops::Range;

use anabranch_congestion::{CongestionController, Pacer};
use anabranch_sansio::{Rng, Time, Wakeup};
use bytes::Bytes;

use crate::sequence::NumberSpace;
use crate::{Config, FastRecovery, SendError, Stats};
pub(crate) use acknowledgment::Acknowledgment;
use buffer::SendBuffer;
pub(crate) use rto::Rto;
use scoreboard::Scoreboard;

/// The first byte of data: the SYN is before it.
pub(crate) const FIRST: u64 = 1;

/// The sending half of a connection.
#[derive(Debug)]
pub(crate) struct Sender {
    pub(crate) space: NumberSpace,
    /// SMSS, in bytes.
    smss: usize,
    has_sack: bool,
    has_rack: bool,
    fast_recovery: FastRecovery,
    nagle: bool,
    retries_max: u32,
    buffer: SendBuffer,
    buffer_max: usize,
    /// The position of the FIN, when there is to be one.
    fin: Option<u64>,
    /// SND.UNA.
    una: u64,
    /// SND.NXT.
    next: u64,
    peer_window: PeerWindow,
    board: Scoreboard,
    phase: Phase,
    /// RFC 6582 section 3.2: recover, as the position behind that octet.
    recover: u64,
    dup_acks: u32,
    /// By how much RFC 5681's cwnd is "artificially inflated" while nothing says which segments
    /// arrived.
    inflation: u64,
    /// The first lost segment goes out whatever the window says.
    must_resend: bool,
    controller: Box<dyn CongestionController>,
    pacer: Pacer,
    rto: Rto,
    retransmit_at: Option<Time>,
    probe_at: Option<Time>,
    must_probe: bool,
    /// Timeouts in a row.
    retries: u32,
    last_sent: Time,
    has_been_full: bool,
    stats: Stats,
}

/// What the peer lets in.
#[derive(Debug, Clone, Copy)]
struct PeerWindow {
    /// SND.UNA + SND.WND.
    edge: u64,
    /// The largest SND.WND so far.
    max: u64,
    /// SND.WL1 and SND.WL2.
    updated_by: (u64, u64),
}

/// Where loss recovery stands.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Phase {
    Open,
    FastRecovery {
        /// RFC 6675 section 5: RecoveryPoint, as the position behind that octet.
        point: u64,
        /// RFC 6675 section 5: RescueRxt, likewise.
        rescue: u64,
        /// Whether a partial acknowledgment came.
        partial: bool,
    },
    AfterTimeout {
        point: u64,
    },
}

/// A segment of data to go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Outgoing {
    pub(crate) sequence_number: u32,
    pub(crate) fin: bool,
    /// Whether the application has nothing behind it.
    pub(crate) psh: bool,
}

/// What the handshake found out.
#[derive(Debug, Clone)]
pub(crate) struct SenderStart {
    pub(crate) space: NumberSpace,
    pub(crate) smss: usize,
    pub(crate) has_sack: bool,
    pub(crate) window: u64,
    pub(crate) rto: Rto,
}

impl Sender {
    pub(crate) fn new(config: &Config, start: SenderStart, now: Time, rng: Rng) -> Self {
        let SenderStart { space, smss, has_sack, window, rto } = start;
        Self {
            space,
            smss,
            has_sack,
            has_rack: has_sack && config.rack,
            fast_recovery: config.fast_recovery,
            nagle: config.nagle,
            retries_max: config.retries,
            buffer: SendBuffer::new(FIRST),
            buffer_max: config.send_buffer,
            fin: None,
            una: FIRST,
            next: FIRST,
            peer_window: PeerWindow { edge: FIRST + window, max: window, updated_by: (0, 0) },
            board: Scoreboard::default(),
            phase: Phase::Open,
            recover: 0,
            dup_acks: 0,
            inflation: 0,
            must_resend: false,
            controller: config.controller(smss, rng),
            pacer: Pacer::default(),
            rto,
            retransmit_at: None,
            probe_at: None,
            must_probe: false,
            retries: 0,
            last_sent: now,
            has_been_full: false,
            stats: Stats::default(),
        }
    }

    /// Takes data to be sent.
    pub(crate) fn write(&mut self, bytes: Bytes) -> Result<(), SendError> {
        if self.fin.is_some() {
            return Err(SendError::Closed);
        }
        let free = self.buffer_max.saturating_sub(self.buffer.len());
        if bytes.len() > free {
            self.has_been_full = true;
            return Err(SendError::BufferFull { len: bytes.len(), free });
        }
        self.buffer.push(bytes);
        Ok(())
    }

    /// A FIN follows the data.
    pub(crate) fn finish(&mut self) {
        self.fin.get_or_insert(self.buffer.end());
    }

    pub(crate) const fn has_finished(&self) -> bool {
        self.fin.is_some()
    }

    /// Whether the peer has all, the FIN included.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.una > fin)
    }

    /// Bytes that wait to be sent or acknowledged.
    pub(crate) const fn buffered(&self) -> usize {
        self.buffer.len()
    }

    /// Whether half of a buffer that was full is free again. Says so once.
    pub(crate) fn take_writable(&mut self) -> bool {
        let is_writable = self.has_been_full && self.buffer.len() <= self.buffer_max / 2;
        self.has_been_full &= !is_writable;
        is_writable
    }

    /// The sequence number that the next new segment gets.
    pub(crate) fn next_number(&self) -> u32 {
        self.space.number(self.next)
    }

    /// The position in this half of a number that the peer acknowledges.
    pub(crate) fn position(&self, number: u32) -> Option<u64> {
        self.space.position(number, self.una)
    }

    pub(crate) fn stats(&self) -> Stats {
        let data_acknowledged = self.una.min(self.buffer.end()) - FIRST;
        Stats {
            bytes_acknowledged: data_acknowledged,
            window: self.controller.metrics().window,
            srtt: self.rto.srtt(),
            ..self.stats
        }
    }

    pub(crate) fn poll_timeout(&self) -> Option<Wakeup> {
        let retransmit = self.retransmit_at.map(|at| Wakeup { at, why: "retransmission" });
        let probe = self.probe_at.map(|at| Wakeup { at, why: "window probe" });
        let pace = self.pacer.opens_at().map(|at| Wakeup { at, why: "pacing" });
        retransmit.into_iter().chain(probe).chain(pace).min()
    }

    /// Writes the data of the next segment, if one may go out.
    pub(crate) fn poll(&mut self, now: Time, payload: &mut Vec<u8>) -> Option<Outgoing> {
        let range = self.next_range(now);
        self.arm_probe(now);
        let range = range?;
        self.pace(now, (range.end - range.start) as usize);
        // RFC 6298, 5.1: "Every time a packet containing data is sent (including a retransmission),
        // if the timer is not running, start it running".
        self.retransmit_at.get_or_insert(now + self.rto.rto());
        self.last_sent = now;
        let data_end = range.end.min(self.buffer.end());
        self.buffer.copy(range.start..data_end, payload);
        self.stats.bytes_sent += payload.len() as u64;
        Some(Outgoing {
            sequence_number: self.space.number(range.start),
            fin: self.fin.is_some_and(|fin| range.end > fin),
            psh: data_end == self.buffer.end() && data_end > range.start,
        })
    }

    fn next_range(&mut self, now: Time) -> Option<Range<u64>> {
        if std::mem::take(&mut self.must_resend)
            && let Some(index) = self.board.next_lost()
        {
            return Some(self.resend(now, index));
        }
        // RFC 6675 section 5, C: "If cwnd - pipe >= 1 SMSS, the sender SHOULD transmit one or more
        // segments". After a timeout a window may be smaller than a segment; one goes out still.
        let window = self.controller.window().max(self.smss) as u64;
        let pipe = self.board.pipe().saturating_sub(self.inflation);
        if window.saturating_sub(pipe) < self.smss as u64 || !self.pacer.is_open(now) {
            return None;
        }
        if let Some(index) = self.board.next_lost() {
            return Some(self.resend(now, index));
        }
        if let Some(range) = self.new_range() {
            self.send_new(now, range.clone());
            return Some(range);
        }
        if self.unsent() == 0 {
            self.board.mark_app_limited();
        }
        self.last_resort(now)
    }

    /// Spreads what goes out, where the controller has a rate.
    fn pace(&mut self, now: Time, bytes: usize) {
        if let Some(rate) = self.controller.pacing_rate() {
            self.pacer.on_sent(now, bytes, self.smss, rate);
        }
    }

    /// RFC 6675 section 4, NextSeg, rules 3 and 4.
    fn last_resort(&mut self, now: Time) -> Option<Range<u64>> {
        let Phase::FastRecovery { point, rescue, .. } = &mut self.phase else { return None };
        if !self.has_sack {
            return None;
        }
        if let Some(index) = self.board.next_missing() {
            return Some(self.resend(now, index));
        }
        // "If HighACK is greater than RescueRxt (or RescueRxt is undefined), then one segment of up
        // to SMSS octets that MUST include the highest outstanding unSACKed sequence number SHOULD
        // be returned, and RescueRxt set to RecoveryPoint."
        if self.una <= *rescue {
            return None;
        }
        *rescue = *point;
        let index = self.board.last_missing()?;
        let range = self.board.rescue(now, index);
        Some(self.count_again(now, range))
    }

    fn resend(&mut self, now: Time, index: usize) -> Range<u64> {
        let range = self.board.resend(now, index);
        self.count_again(now, range)
    }

    fn count_again(&mut self, now: Time, range: Range<u64>) -> Range<u64> {
        self.stats.segments_retransmitted += 1;
        self.stats.bytes_retransmitted += range.end - range.start;
        self.tell_sent(now, (range.end - range.start) as usize);
        range
    }

    /// Tells the controller of octets that went out just now.
    fn tell_sent(&mut self, now: Time, bytes: usize) {
        let before = self.flight().saturating_sub(bytes);
        self.controller.on_sent(&self.board.sent_data(now, bytes, before));
    }

    /// New data, if enough of it may go out to make a segment.
    fn new_range(&mut self) -> Option<Range<u64>> {
        let unsent = self.unsent();
        let usable = self.peer_window.edge.saturating_sub(self.next);
        let len = unsent.min(usable).min(self.smss as u64);
        if std::mem::take(&mut self.must_probe) && unsent > 0 {
            return Some(self.next..self.next + len.max(1));
        }
        let is_idle = self.una == self.next;
        // RFC 9293 section 3.8.6.2.1, against silly windows: what is sent is a full segment, all
        // that there is, or half of the largest window.
        let is_full = len == self.smss as u64;
        let is_all = len == unsent && (is_idle || !self.nagle || self.fin.is_some());
        let is_large = is_idle && 2 * len >= self.peer_window.max;
        let suffices = len > 0 && (is_full || is_all || is_large);
        suffices.then(|| self.next..self.next + len)
    }

    fn send_new(&mut self, now: Time, range: Range<u64>) {
        if self.una == self.next {
            // RFC 5681 section 4.1: "a TCP SHOULD set cwnd to no more than RW before beginning
            // transmission if the TCP has not sent data in an interval exceeding the retransmission
            // timeout."
            let idle = (now - self.last_sent).as_nanos() / self.rto.rto().as_nanos().max(1);
            self.controller.on_idle(u32::try_from(idle).unwrap_or(u32::MAX));
        }
        let bytes = (range.end - range.start) as usize;
        self.next = range.end;
        self.board.push(now, range);
        self.tell_sent(now, bytes);
    }

    /// While nothing is in flight, no acknowledgment will tell of a window that opens.
    fn arm_probe(&mut self, now: Time) {
        if self.una == self.next && self.unsent() > 0 {
            self.probe_at.get_or_insert(now + self.rto.rto());
        } else {
            self.probe_at = None;
        }
    }

    fn unsent(&self) -> u64 {
        self.fin.map_or(self.buffer.end(), |fin| fin + 1).saturating_sub(self.next)
    }

    /// What a controller counts as in flight: RFC 5681's FlightSize, "data that has been sent but
    /// not yet cumulatively acknowledged"; where it has a model of the path, what is in the
    /// network.
    fn flight(&self) -> usize {
        match self.controller.pacing_rate() {
            Some(_) => self.board.pipe() as usize,
            None => (self.next - self.una) as usize,
        }
    }
}
