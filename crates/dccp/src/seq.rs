//! [`Seq`]: sequence numbers of one direction that do not wrap.

use std::ops::{Add, Sub};

use crate::wire::{SEQUENCE_NUMBERS, SHORT_SEQUENCE_NUMBERS, SequenceNumber};

/// A place in the sequence numbers of one direction. Its low 48 bits are the number; the others
/// count how often that wrapped, so that places compare by `<`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Seq(u64);

impl Seq {
    /// The first number of a connection. There is room before it.
    pub(crate) const fn first(number: SequenceNumber) -> Self {
        Self(SEQUENCE_NUMBERS + number.value())
    }

    /// The place of a number, the one that is nearest to `near`. A short number is extended.
    pub(crate) fn nearest(number: SequenceNumber, is_short: bool, near: Self) -> Self {
        let number = if is_short { number.extended(near.number()) } else { number };
        Self(near.0.saturating_add_signed(number.distance_from(near.number())))
    }

    /// The number.
    pub(crate) const fn number(self) -> SequenceNumber {
        SequenceNumber::new(self.0)
    }

    /// RFC 4340 section 8.3.1: "If the packet used short sequence numbers (P.X == 0), then set the
    /// upper 24 bits of R.seqno and R.ackno to 0."
    pub(crate) const fn short_of(number: SequenceNumber) -> SequenceNumber {
        SequenceNumber::new(number.value() % SHORT_SEQUENCE_NUMBERS)
    }

    /// How many places after `earlier`; zero if it is not.
    pub(crate) const fn since(self, earlier: Self) -> u64 {
        self.0.saturating_sub(earlier.0)
    }
}

impl Add<u64> for Seq {
    type Output = Self;

    fn add(self, places: u64) -> Self {
        Self(self.0.saturating_add(places))
    }
}

impl Sub<u64> for Seq {
    type Output = Self;

    fn sub(self, places: u64) -> Self {
        Self(self.0.saturating_sub(places))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_go_on_where_numbers_wrap() {
        let first = Seq::first(SequenceNumber::new(SEQUENCE_NUMBERS - 1));
        assert_eq!((first + 3).number(), SequenceNumber::new(2));
        assert_eq!(Seq::nearest(SequenceNumber::new(2), false, first), first + 3);
        assert_eq!(Seq::nearest(SequenceNumber::new(2), true, first), first + 3);
        let before = SequenceNumber::new(SEQUENCE_NUMBERS - 9);
        assert_eq!(Seq::nearest(before, false, first + 3), first - 8);
        assert_eq!((first + 3).since(first), 3);
        assert_eq!(first.since(first + 3), 0);
    }
}
