//! The receiving half: order, the window, and when to acknowledge.

mod pieces;

use std::collections::VecDeque;
use std::ops::Range;

use anabranch_sansio::{Time, Wakeup};
use bytes::Bytes;

use crate::Config;
use crate::segment::SACK_BLOCKS_MAX;
use crate::sequence::NumberSpace;
use pieces::Pieces;

/// RFC 5681 section 4.2: an acknowledgment "MUST be generated within 500 ms of the arrival of the
/// first unacknowledged packet."
const ACK_DELAY_MAX: std::time::Duration = std::time::Duration::from_millis(500);

/// The receiving half of a connection.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) space: NumberSpace,
    config: ReceiverConfig,
    /// RCV.NXT.
    next: u64,
    /// In order, and not read yet.
    ready: VecDeque<Bytes>,
    unread: usize,
    pieces: Pieces,
    /// The position of the peer's FIN.
    fin: Option<u64>,
    /// RCV.NXT + RCV.WND, as the peer knows it.
    edge: u64,
    /// Segments in order that were not acknowledged.
    unacknowledged: u32,
    ack_at: Option<Time>,
    ack_now: bool,
    received: u64,
}

/// What the receiver needs to know.
#[derive(Debug, Clone)]
struct ReceiverConfig {
    buffer: usize,
    segments_per_ack: u32,
    ack_delay: std::time::Duration,
    /// The largest segment that was announced.
    mss: usize,
    /// The shift of the window field.
    shift: u8,
}

impl Receiver {
    pub(crate) fn new(config: &Config, space: NumberSpace, mss: usize, shift: u8) -> Self {
        let config = ReceiverConfig {
            buffer: config.receive_buffer,
            segments_per_ack: config.segments_per_ack.max(1),
            ack_delay: config.ack_delay.min(ACK_DELAY_MAX),
            mss,
            shift,
        };
        let first = crate::send::FIRST;
        Self {
            space,
            edge: first + config.buffer as u64,
            config,
            next: first,
            ready: VecDeque::new(),
            unread: 0,
            pieces: Pieces::default(),
            fin: None,
            unacknowledged: 0,
            ack_at: None,
            ack_now: false,
            received: 0,
        }
    }

    /// The position in this half of a number that the peer sends.
    pub(crate) fn position(&self, number: u32) -> Option<u64> {
        self.space.position(number, self.next)
    }

    /// RCV.NXT, the number that is acknowledged.
    pub(crate) fn next_number(&self) -> u32 {
        self.space.number(self.next)
    }

    /// RFC 9293 section 3.10.7.4, first: whether any of a segment that takes these positions is in
    /// the window.
    pub(crate) fn is_acceptable(&self, range: &Range<u64>) -> bool {
        if range.is_empty() {
            let end = self.edge.max(self.next + 1);
            return (self.next..end).contains(&range.start);
        }
        range.start < self.edge && range.end > self.next
    }

    /// Bytes in order that arrived so far.
    pub(crate) const fn received(&self) -> u64 {
        self.received
    }

    /// Whether the peer's FIN and all before it arrived.
    pub(crate) fn is_finished(&self) -> bool {
        self.fin.is_some_and(|fin| self.next > fin)
    }

    /// Takes an acceptable segment with data or a FIN. Returns whether something can be read.
    pub(crate) fn on_data(&mut self, now: Time, start: u64, data: &[u8], fin: bool) -> bool {
        let end = start + data.len() as u64;
        if fin {
            self.fin.get_or_insert(end);
        }
        let was_next = self.next;
        let had_gap = !self.pieces.is_empty();
        let (data, start) = self.trim(data, start);
        if start > self.next {
            self.pieces.insert(start, data, self.config.buffer);
        } else {
            self.take(data);
            self.take_pieces();
        }
        self.next += u64::from(self.fin == Some(self.next));
        self.decide_ack(now, was_next, had_gap);
        self.next > was_next
    }

    /// What of the data is in the window and new.
    fn trim<'a>(&self, data: &'a [u8], start: u64) -> (&'a [u8], u64) {
        let known = self.next.saturating_sub(start) as usize;
        let room = self.edge.saturating_sub(start) as usize;
        let kept = data.get(known..room.min(data.len())).unwrap_or_default();
        (kept, start.max(self.next))
    }

    fn take(&mut self, data: &[u8]) {
        if !data.is_empty() {
            self.next += data.len() as u64;
            self.received += data.len() as u64;
            self.unread += data.len();
            self.ready.push_back(Bytes::copy_from_slice(data));
        }
    }

    fn take_pieces(&mut self) {
        while let Some(data) = self.pieces.pop_at(self.next) {
            self.next += data.len() as u64;
            self.received += data.len() as u64;
            self.unread += data.len();
            self.ready.push_back(data);
        }
    }

    fn decide_ack(&mut self, now: Time, was_next: u64, had_gap: bool) {
        // RFC 5681 section 4.2: "Out-of-order data segments SHOULD be acknowledged immediately",
        // and "the receiver SHOULD send an immediate ACK when it receives a data segment that fills
        // in all or part of a gap in the sequence space." Repeated data is acknowledged at once,
        // too, and so is a FIN.
        self.unacknowledged += 1;
        let in_order = self.next > was_next && !had_gap && self.pieces.is_empty();
        if !in_order || self.is_finished() {
            self.ack_now = true;
        } else if self.unacknowledged >= self.config.segments_per_ack {
            // "an ACK SHOULD be generated for at least every second full-sized segment"
            self.ack_now = true;
        } else {
            self.ack_at.get_or_insert(now + self.config.ack_delay);
        }
    }

    /// What was read in order.
    pub(crate) fn read(&mut self) -> Option<Bytes> {
        let data = self.ready.pop_front()?;
        self.unread -= data.len();
        // A peer that was held back is told when it may go on; any other hears with the next
        // acknowledgment. RFC 9293 section 3.8.6.2.2: the edge moves by a full segment or half of
        // the buffer at least, lest the window become silly.
        let step = self.config.mss.min(self.config.buffer / 2) as u64;
        let is_narrow = 2 * (self.edge - self.next) < self.config.buffer as u64;
        self.ack_now |= is_narrow && self.open_edge() >= self.edge + step;
        Some(data)
    }

    /// An acknowledgment goes out as soon as it can.
    pub(crate) fn acknowledge_now(&mut self) {
        self.ack_now = true;
    }

    pub(crate) fn must_acknowledge(&self) -> bool {
        self.ack_now
    }

    pub(crate) fn poll_timeout(&self) -> Option<Wakeup> {
        self.ack_at.map(|at| Wakeup { at, why: "delayed acknowledgment" })
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        if self.ack_at.is_some_and(|at| at <= now) {
            self.ack_now = true;
            self.ack_at = None;
        }
    }

    /// What a segment that goes out acknowledges: its window field. Nothing else is then due.
    pub(crate) fn on_acknowledged(&mut self) -> u16 {
        (self.ack_now, self.ack_at, self.unacknowledged) = (false, None, 0);
        let step = self.config.mss.min(self.config.buffer / 2) as u64;
        if self.open_edge() >= self.edge + step {
            self.edge = self.open_edge();
        }
        // What the field cannot tell is not promised, but it is taken if it comes.
        let window = self.edge.saturating_sub(self.next) >> self.config.shift;
        u16::try_from(window).unwrap_or(u16::MAX)
    }

    /// The blocks that a SACK option reports, the newest first.
    pub(crate) fn sack_blocks(&self) -> [Option<(u32, u32)>; SACK_BLOCKS_MAX] {
        let number = |position| self.space.number(position);
        self.pieces.newest_blocks().map(|block| {
            let block = block?;
            Some((number(block.start), number(block.end)))
        })
    }

    /// The edge of the window that the buffer allows.
    fn open_edge(&self) -> u64 {
        self.next + self.config.buffer.saturating_sub(self.unread) as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn receiver(buffer: usize) -> Receiver {
        let config = Config { receive_buffer: buffer, ..Config::default() };
        Receiver::new(&config, NumberSpace::new(100), 1_000, 0)
    }

    fn text(receiver: &mut Receiver) -> String {
        let mut text = Vec::new();
        while let Some(data) = receiver.read() {
            text.extend(data);
        }
        String::from_utf8(text).unwrap()
    }

    #[test]
    fn data_comes_out_in_order_and_once() {
        let mut receiver = receiver(1_000);
        assert!(!receiver.on_data(Time::ZERO, 4, b"def", false));
        assert!(!receiver.on_data(Time::ZERO, 6, b"fgh", true));
        assert!(receiver.on_data(Time::ZERO, 1, b"abcd", false));
        assert_eq!(text(&mut receiver), "abcdefgh");
        assert!(receiver.is_finished());
        assert!(!receiver.on_data(Time::ZERO, 1, b"abc", false), "a repetition");
        assert_eq!((text(&mut receiver), receiver.received()), (String::new(), 8));
    }

    #[test]
    fn every_second_segment_is_acknowledged_at_once_and_a_single_one_later() {
        let mut receiver = receiver(1_000);
        receiver.on_data(Time::ZERO, 1, b"ab", false);
        assert!(!receiver.must_acknowledge());
        assert_eq!(receiver.poll_timeout().map(|wakeup| wakeup.at), Some(Time::from_millis(40)));
        receiver.on_data(Time::from_millis(10), 3, b"cd", false);
        assert!(receiver.must_acknowledge());
        receiver.on_acknowledged();
        assert_eq!((receiver.must_acknowledge(), receiver.poll_timeout()), (false, None));
        receiver.on_data(Time::from_millis(20), 5, b"ef", false);
        receiver.handle_timeout(Time::from_millis(60));
        assert!(receiver.must_acknowledge());
    }

    #[test]
    fn what_makes_or_fills_a_gap_is_acknowledged_at_once() {
        let mut receiver = receiver(1_000);
        for (start, data) in [(5, b"ef"), (9, b"ij"), (1, b"ab"), (3, b"cd"), (1, b"ab")] {
            receiver.on_data(Time::ZERO, start, data, false);
            assert!(receiver.must_acknowledge(), "{start}");
            receiver.on_acknowledged();
        }
    }

    #[test]
    fn the_newest_blocks_are_told_first() {
        let mut receiver = receiver(1_000);
        let blocks = |receiver: &Receiver| receiver.sack_blocks().map(|b| b.map_or(0, |b| b.0));
        for start in [11, 21, 31, 41, 51] {
            receiver.on_data(Time::ZERO, start, b"xx", false);
        }
        assert_eq!(blocks(&receiver), [151, 141, 131, 121]);
        receiver.on_data(Time::ZERO, 23, b"xx", false);
        assert_eq!(receiver.sack_blocks()[0], Some((121, 125)), "it grew");
        assert_eq!(blocks(&receiver), [121, 151, 141, 131]);
    }

    #[test]
    fn the_window_closes_and_opens_by_steps() {
        let mut receiver = receiver(4_000);
        for n in 0..4 {
            receiver.on_data(Time::ZERO, 1 + 1_000 * n, &[0; 1_000], false);
        }
        assert_eq!(receiver.on_acknowledged(), 0);
        assert!(!receiver.is_acceptable(&(4_001..4_002)));
        assert!(receiver.read().is_some());
        assert!(receiver.must_acknowledge(), "the window is open by a segment");
        assert_eq!(receiver.on_acknowledged(), 1_000);
        assert!(receiver.is_acceptable(&(4_001..4_002)));
        receiver.on_data(Time::ZERO, 4_001, &[0; 2_000], false);
        assert_eq!(receiver.received(), 5_000, "what is beyond the edge is cut off");
    }
}
