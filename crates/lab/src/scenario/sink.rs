//! [`Sink`]: what arrives, and how late.

use anabranch_sansio::Time;
use bytes::{BufMut, Bytes, BytesMut};

use super::delays::Delays;
use super::end::Received;

/// A message begins with the time when it was ready.
pub(super) const STAMP_LEN: usize = 8;

/// A message of this size that was ready at `ready`.
pub(super) fn message(ready: Time, size: usize) -> Bytes {
    let mut bytes = BytesMut::with_capacity(size);
    bytes.put_u64(ready.as_nanos());
    bytes.resize(size, 0x5a);
    bytes.freeze()
}

/// Counts what arrives at the other end of a flow.
#[derive(Debug)]
pub(super) struct Sink {
    /// Bytes of each message.
    size: usize,
    /// What counts for the goodput arrives by then.
    stop: Time,
    /// Of the message that a stream of bytes is in the midst of.
    stamp: [u8; STAMP_LEN],
    have: usize,
    /// Messages.
    arrived: u64,
    /// Bytes of those that arrived by `stop`.
    bytes_in_time: u64,
    /// When the first one came.
    first: Option<Time>,
    delays: Delays,
}

impl Sink {
    pub(super) fn new(size: usize, stop: Time) -> Self {
        Self {
            size,
            stop,
            stamp: [0; STAMP_LEN],
            have: 0,
            arrived: 0,
            bytes_in_time: 0,
            first: None,
            delays: Delays::new(),
        }
    }

    /// Takes a whole message.
    pub(super) fn message(&mut self, now: Time, bytes: &[u8]) {
        if let Some(stamp) = bytes.first_chunk() {
            self.count(now, *stamp, bytes.len());
        }
    }

    /// Takes the next piece of a stream of bytes, in which message follows message.
    pub(super) fn stream(&mut self, now: Time, mut bytes: &[u8]) {
        while !bytes.is_empty() {
            let (piece, rest) = bytes.split_at(bytes.len().min(self.size - self.have));
            let places = self.stamp.iter_mut().skip(self.have);
            places.zip(piece).for_each(|(place, byte)| *place = *byte);
            self.have += piece.len();
            bytes = rest;
            if self.have == self.size {
                self.have = 0;
                self.count(now, self.stamp, self.size);
            }
        }
    }

    pub(super) const fn received(&self) -> Received<'_> {
        Received {
            arrived: self.arrived,
            bytes_in_time: self.bytes_in_time,
            first: self.first,
            delays: &self.delays,
            seen: None,
            ended: None,
        }
    }

    fn count(&mut self, now: Time, stamp: [u8; STAMP_LEN], len: usize) {
        let ready = Time::from_nanos(u64::from_be_bytes(stamp));
        self.first.get_or_insert(now);
        self.arrived += 1;
        if now <= self.stop {
            self.bytes_in_time += len as u64;
        }
        self.delays.record(now.saturating_since(ready));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_stream_in_pieces_is_the_messages_that_it_was() {
        let mut bytes = message(Time::from_millis(1), 100).to_vec();
        bytes.extend_from_slice(&message(Time::from_millis(3), 100));
        for piece in [1, 7, 99, 100, 200] {
            let mut sink = Sink::new(100, Time::from_millis(10));
            for piece in bytes.chunks(piece) {
                sink.stream(Time::from_millis(8), piece);
            }
            assert_eq!((sink.arrived, sink.bytes_in_time), (2, 200));
            let delays = [0.5, 1.0].map(|share| sink.delays.quantile(share).unwrap().as_micros());
            assert!(delays[0].abs_diff(5_000) <= 5 && delays[1].abs_diff(7_000) <= 7);
        }
    }

    #[test]
    fn what_comes_after_the_end_is_no_goodput() {
        let mut sink = Sink::new(100, Time::from_millis(10));
        sink.message(Time::from_millis(11), &message(Time::ZERO, 100));
        assert_eq!((sink.arrived, sink.bytes_in_time), (1, 0));
        assert_eq!(sink.first, Some(Time::from_millis(11)));
    }
}
