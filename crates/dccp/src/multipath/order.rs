//! [`Order`]: what several paths bring, in the order in which it was sent.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_sansio::Time;
use bytes::Bytes;

use crate::seq::Seq;
use crate::wire::SequenceNumber;

/// Holds what arrived too early until what was sent before it is there, or has been waited for long
/// enough.
#[derive(Debug)]
pub(super) struct Order {
    /// The number that is to be given out next; none has come before there is one.
    next: Option<Seq>,
    /// Whether a datagram was given out: until then one with a lower number may be the first.
    has_begun: bool,
    /// Nothing where a number had no datagram, but options.
    held: BTreeMap<Seq, (Time, Option<Bytes>)>,
    bytes: usize,
    wait: Duration,
    bytes_max: usize,
}

/// What each entry takes beside its data.
const ENTRY_LEN: usize = 64;

impl Order {
    pub(super) const fn new(wait: Duration, bytes_max: usize) -> Self {
        let held = BTreeMap::new();
        Self { next: None, has_begun: false, held, bytes: 0, wait, bytes_max }
    }

    pub(super) const fn set_wait(&mut self, wait: Duration) {
        self.wait = wait;
    }

    /// Takes a datagram, or a number without one. False: its turn is over, or it came twice.
    pub(super) fn push(&mut self, now: Time, number: SequenceNumber, data: Option<Bytes>) -> bool {
        // The first number is drawn at random (RFC 9897 section 3.2.5): what comes first begins.
        let next = *self.next.get_or_insert(Seq::first(number));
        let place = Seq::nearest(number, false, next);
        if place < next && self.has_begun || self.held.contains_key(&place) {
            return false;
        }
        self.next = Some(next.min(place));
        self.bytes += len(data.as_ref());
        self.held.insert(place, (now, data));
        true
    }

    /// The next datagram whose turn it is, and how many before it were given up.
    pub(super) fn pop(&mut self, now: Time) -> Option<(u64, Bytes)> {
        let mut missing = 0;
        loop {
            let (&place, (at, data)) = self.held.first_key_value()?;
            let next = self.next?;
            let may_wait = now - *at < self.wait && self.bytes <= self.bytes_max;
            // Options may go out before datagrams that were there first.
            let has_turn = place == next && (self.has_begun || data.is_some());
            if !has_turn && may_wait {
                return None;
            }
            let (_, data) = self.held.remove(&place)?;
            self.bytes -= len(data.as_ref());
            missing += place.since(next);
            self.next = Some(place + 1);
            if let Some(data) = data {
                self.has_begun = true;
                return Some((missing, data));
            }
        }
    }

    /// When something is given up that is missing.
    pub(super) fn poll_timeout(&self) -> Option<Time> {
        let (at, _) = self.held.values().next()?;
        Some(*at + self.wait)
    }
}

fn len(data: Option<&Bytes>) -> usize {
    data.map_or(0, Bytes::len) + ENTRY_LEN
}

#[cfg(test)]
mod tests {
    use super::*;

    const WAIT: Duration = Duration::from_millis(100);

    fn push(order: &mut Order, ms: u64, number: u64) -> bool {
        let data = Bytes::from(number.to_be_bytes().to_vec());
        order.push(Time::from_millis(ms), SequenceNumber::new(number), Some(data))
    }

    /// What is given out now: numbers, and how many were given up before each.
    fn out(order: &mut Order, ms: u64) -> Vec<(u64, u64)> {
        let popped = std::iter::from_fn(|| order.pop(Time::from_millis(ms)));
        popped
            .map(|(missing, data)| {
                (u64::from_be_bytes(data[..].try_into().expect("a number")), missing)
            })
            .collect()
    }

    #[test]
    fn datagrams_wait_for_those_before_them_and_no_longer_than_they_may() {
        let mut order = Order::new(WAIT, 10_000);
        assert!(push(&mut order, 0, 7));
        assert!(push(&mut order, 0, 9));
        assert_eq!(out(&mut order, 99), [(7, 0)]);
        assert_eq!(order.poll_timeout(), Some(Time::from_millis(100)));
        assert_eq!(out(&mut order, 100), [(9, 1)]);
        assert!(!push(&mut order, 101, 8), "its turn is over");
        assert!(!push(&mut order, 101, 9), "it has been here");
    }

    #[test]
    fn a_number_without_a_datagram_is_nothing_to_wait_for() {
        let mut order = Order::new(WAIT, 10_000);
        assert!(push(&mut order, 0, 1));
        assert!(push(&mut order, 0, 3));
        assert_eq!(out(&mut order, 1), [(1, 0)]);
        assert!(order.push(Time::from_millis(2), SequenceNumber::new(2), None));
        assert_eq!(out(&mut order, 2), [(3, 0)]);
    }

    #[test]
    fn until_a_datagram_was_given_out_one_with_a_lower_number_may_be_the_first() {
        let mut order = Order::new(WAIT, 10_000);
        assert!(order.push(Time::ZERO, SequenceNumber::new(9), None));
        assert_eq!(out(&mut order, 1), []);
        assert!(push(&mut order, 1, 8) && push(&mut order, 1, 7) && push(&mut order, 2, 10));
        assert_eq!(out(&mut order, 2), [(7, 0), (8, 0), (10, 0)]);
        assert!(!push(&mut order, 3, 6), "it has begun");
    }

    #[test]
    fn numbers_go_on_where_they_wrap_and_memory_is_bounded() {
        let last = (1 << 48) - 1;
        let mut order = Order::new(WAIT, 10_000);
        assert!(push(&mut order, 0, last) && push(&mut order, 0, 1) && push(&mut order, 0, 0));
        assert_eq!(out(&mut order, 0), [(last, 0), (0, 0), (1, 0)]);
        // Every second one is missing: what there is no room for goes out without waiting.
        let pushed = (0..1_000).filter(|n| push(&mut order, 1, 3 + 2 * n)).count();
        let given = out(&mut order, 1).len();
        assert_eq!(pushed, 1_000);
        assert!(given >= 1_000 - 10_000 / ENTRY_LEN, "{given}");
    }
}
