//! [`SequenceNumber`]: 48 bits that wrap.

use std::fmt;

/// How many sequence numbers there are.
pub const SEQUENCE_NUMBERS: u64 = 1 << 48;

/// How many a packet with short numbers tells apart.
pub const SHORT_SEQUENCE_NUMBERS: u64 = 1 << 24;

/// A Sequence or Acknowledgement Number: the place of a packet among all that its sender sent.
///
/// It wraps, so it has no `<`; see [`distance_from`](Self::distance_from). Of a packet with short
/// numbers it has the low 24 bits only, until [`extended`](Self::extended) finds the others.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Hash)]
pub struct SequenceNumber(u64);

impl SequenceNumber {
    /// The number with the low 48 bits of `number`.
    #[must_use]
    pub const fn new(number: u64) -> Self {
        Self(number % SEQUENCE_NUMBERS)
    }

    /// The number, less than 2^48.
    #[must_use]
    pub const fn value(self) -> u64 {
        self.0
    }

    /// The low 24 bits, as a packet with short numbers carries them.
    #[must_use]
    pub const fn short(self) -> u32 {
        (self.0 % SHORT_SEQUENCE_NUMBERS) as u32
    }

    /// The number `n` places after this one.
    #[must_use]
    pub const fn plus(self, n: u64) -> Self {
        Self::new(self.0.wrapping_add(n))
    }

    /// How many places after `other` this number is; negative if it is before. Half the space apart
    /// counts as before.
    #[must_use]
    pub const fn distance_from(self, other: Self) -> i64 {
        signed(self.0.wrapping_sub(other.0) % SEQUENCE_NUMBERS, SEQUENCE_NUMBERS)
    }

    /// The number with these low 24 bits that is nearest to `reference`.
    ///
    /// RFC 4340 section 7.6: "The receiving endpoint will extend these numbers to 48 bits using the
    /// following pseudocode: procedure Extend_Sequence_Number(S, REF)".
    #[must_use]
    pub const fn extended(self, reference: Self) -> Self {
        let ahead = self.0.wrapping_sub(reference.0) % SHORT_SEQUENCE_NUMBERS;
        // "The circular comparison "REF_low (<) S" returns true if and only if (S - REF_low),
        // calculated using two's-complement arithmetic and then represented as an unsigned number,
        // is less than or equal to 2^23 (mod 2^24)." At just that distance each is before the
        // other, and the high bits change.
        let is_ahead = ahead < SHORT_SEQUENCE_NUMBERS / 2
            || ahead == SHORT_SEQUENCE_NUMBERS / 2 && self.short() < reference.short();
        if is_ahead {
            reference.plus(ahead)
        } else {
            reference.plus(ahead.wrapping_sub(SHORT_SEQUENCE_NUMBERS))
        }
    }
}

impl fmt::Display for SequenceNumber {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A difference of numbers modulo `size` as the nearer of its two distances.
const fn signed(difference: u64, size: u64) -> i64 {
    if difference < size / 2 { difference as i64 } else { difference as i64 - size as i64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_go_on_where_numbers_wrap() {
        let last = SequenceNumber::new(SEQUENCE_NUMBERS - 1);
        assert_eq!(last.plus(3), SequenceNumber::new(2));
        assert_eq!(SequenceNumber::new(2).distance_from(last), 3);
        assert_eq!(last.distance_from(SequenceNumber::new(2)), -3);
        assert_eq!(SequenceNumber::new(SEQUENCE_NUMBERS + 7).value(), 7);
    }

    /// The pseudocode of RFC 4340 section 7.6, word by word.
    fn extend(s: u64, reference: u64) -> u64 {
        const MOD: u64 = 1 << 24;
        let (low, high) = (reference % MOD, reference / MOD);
        let is_circularly_less = |a: u64, b: u64| a != b && b.wrapping_sub(a) % MOD <= MOD / 2;
        if is_circularly_less(low, s) && s < low {
            ((high + 1) % MOD) << 24 | s
        } else if is_circularly_less(s, low) && low < s {
            (high.wrapping_sub(1) % MOD) << 24 | s
        } else {
            high << 24 | s
        }
    }

    #[test]
    fn short_numbers_are_extended_as_the_pseudocode_does() {
        let mut rng = anabranch_sansio::Rng::from_u64(1);
        for _ in 0..100_000 {
            let reference = rng.range(0..SEQUENCE_NUMBERS);
            // Mostly near by, where the low bits wrap.
            let near = reference.wrapping_add(rng.range(0..2_000)).wrapping_sub(1_000);
            let s = if rng.chance(0.5) { near } else { rng.next_u64() } % SHORT_SEQUENCE_NUMBERS;
            assert_extends(s, reference);
        }
        for low in [0, 1 << 23, (1 << 23) + 5, (1 << 24) - 1] {
            let half_apart = (low + (1 << 23)) % SHORT_SEQUENCE_NUMBERS;
            assert_extends(half_apart, 7 << 24 | low);
        }
    }

    #[track_caller]
    fn assert_extends(s: u64, reference: u64) {
        let found = SequenceNumber::new(s).extended(SequenceNumber::new(reference));
        assert_eq!(found.value(), extend(s, reference), "{s} near {reference}");
    }

    #[test]
    fn a_short_number_finds_back_to_its_long_one() {
        for number in [0, 5, (1 << 24) - 2, 1 << 24, (1 << 47) + 9, SEQUENCE_NUMBERS - 1] {
            let long = SequenceNumber::new(number);
            for off in [0, 1, 100, 1 << 22] {
                let short = SequenceNumber::new(long.short().into());
                assert_eq!(short.extended(long.plus(off)), long);
                assert_eq!(short.extended(long.plus(SEQUENCE_NUMBERS - off)), long);
            }
        }
    }
}
