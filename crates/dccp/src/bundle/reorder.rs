//! [`ReorderBuffer`]: datagrams of several connections in the order in which they were sent.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_sansio::Time;
use bytes::Bytes;

/// Holds what arrived too early until what was sent before it is there, or has been waited for long
/// enough.
#[derive(Debug)]
pub(super) struct ReorderBuffer {
    /// The number that is to be given out next.
    next: u64,
    held: BTreeMap<u64, (Time, Bytes)>,
    /// Bytes of what is held.
    bytes: usize,
    wait: Duration,
    bytes_max: usize,
    /// Nobody brings more.
    is_finished: bool,
}

/// What became of a datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Taken {
    /// It will be given out in its turn.
    Held,
    /// Its turn is over, it has been here, or its number is none that a sender gives.
    Late,
}

impl ReorderBuffer {
    pub(super) const fn new(wait: Duration, bytes_max: usize) -> Self {
        Self { next: 0, held: BTreeMap::new(), bytes: 0, wait, bytes_max, is_finished: false }
    }

    pub(super) fn push(&mut self, now: Time, number: u64, data: Bytes) -> Taken {
        // Nothing follows the largest number; no sender comes that far.
        if number < self.next || number == u64::MAX || self.held.contains_key(&number) {
            return Taken::Late;
        }
        self.is_finished = false;
        self.bytes += data.len() + size_of::<Bytes>();
        self.held.insert(number, (now, data));
        Taken::Held
    }

    /// The next datagram whose turn it is, and how many before it were given up.
    pub(super) fn pop(&mut self, now: Time) -> Option<(u64, Bytes)> {
        let (&number, (at, _)) = self.held.first_key_value()?;
        let is_next = number == self.next;
        let may_wait = now - *at < self.wait && self.bytes <= self.bytes_max && !self.is_finished;
        if !is_next && may_wait {
            return None;
        }
        let (_, data) = self.held.remove(&number)?;
        self.bytes -= data.len() + size_of::<Bytes>();
        let missing = number - self.next;
        self.next = number + 1;
        Some((missing, data))
    }

    /// Nobody brings more: everything has its turn.
    pub(super) fn finish(&mut self) {
        self.is_finished = true;
    }

    /// Whether nobody brings more, and all is given out.
    pub(super) fn is_over(&self) -> bool {
        self.is_finished && self.held.is_empty()
    }

    /// When something is given up that is missing.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let (at, _) = self.held.values().next()?;
        Some(*at + self.wait)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(100);

    fn buffer() -> ReorderBuffer {
        ReorderBuffer::new(WAIT, 10_000)
    }

    fn data(number: u64) -> Bytes {
        number.to_be_bytes().to_vec().into()
    }

    /// What is given out now: numbers, and how many were given up before each.
    fn out(buffer: &mut ReorderBuffer, ms: u64) -> Vec<(u64, u64)> {
        let now = Time::from_millis(ms);
        let mut out = Vec::new();
        while let Some((missing, data)) = buffer.pop(now) {
            out.push((u64::from_be_bytes(data[..].try_into().unwrap()), missing));
        }
        out
    }

    #[test]
    fn datagrams_wait_for_those_before_them() {
        let mut buffer = buffer();
        for number in [2, 1] {
            buffer.push(Time::ZERO, number, data(number));
            assert_eq!(out(&mut buffer, 0), []);
        }
        buffer.push(Time::ZERO, 0, data(0));
        assert_eq!(out(&mut buffer, 0), [(0, 0), (1, 0), (2, 0)]);
        assert_eq!(buffer.poll_timeout(), None);
    }

    #[test]
    fn the_largest_number_has_no_turn() {
        let mut buffer = buffer();
        assert_eq!(buffer.push(Time::ZERO, u64::MAX, data(0)), Taken::Late);
        buffer.push(Time::ZERO, u64::MAX - 1, data(1));
        buffer.finish();
        assert_eq!(out(&mut buffer, 0), [(1, u64::MAX - 1)]);
        assert!(buffer.is_over());
    }

    #[test]
    fn what_is_missing_is_given_up_in_time() {
        let mut buffer = buffer();
        buffer.push(Time::from_millis(10), 3, data(3));
        buffer.push(Time::from_millis(50), 5, data(5));
        assert_eq!(buffer.poll_timeout(), Some(Time::from_millis(110)));
        assert_eq!(out(&mut buffer, 109), []);
        assert_eq!(out(&mut buffer, 110), [(3, 3)]);
        assert_eq!(out(&mut buffer, 150), [(5, 1)]);
        assert_eq!(buffer.push(Time::from_millis(151), 4, data(4)), Taken::Late);
    }

    #[test]
    fn what_comes_twice_is_taken_once() {
        let mut buffer = buffer();
        assert_eq!(buffer.push(Time::ZERO, 1, data(1)), Taken::Held);
        assert_eq!(buffer.push(Time::ZERO, 1, data(1)), Taken::Late);
    }

    #[test]
    fn a_full_buffer_waits_no_longer() {
        let mut buffer = ReorderBuffer::new(WAIT, 1_000);
        let mut given_up = 0;
        for number in 1..200 {
            buffer.push(Time::ZERO, number, data(number));
            given_up += out(&mut buffer, 0).len();
            assert!(buffer.bytes <= 1_000);
        }
        assert!(given_up > 100, "{given_up}");
    }

    #[test]
    fn at_the_end_nothing_is_waited_for() {
        let mut buffer = buffer();
        buffer.push(Time::ZERO, 7, data(7));
        buffer.finish();
        assert_eq!(out(&mut buffer, 0), [(7, 7)]);
    }
}
