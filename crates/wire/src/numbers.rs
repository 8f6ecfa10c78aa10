//! The number spaces of SCTP, each a type of its own.

use std::fmt;

/// A Transmission Sequence Number: the place of a DATA chunk in the association.
///
/// It wraps, so it has no `<`; compare with [`is_after`](Self::is_after).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Tsn(pub u32);

impl Tsn {
    /// Whether this TSN follows `other` in serial number arithmetic.
    ///
    /// Two TSNs exactly half the space apart have no order: neither is after the other.
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        // RFC 9260 section 1.6: "Comparisons and arithmetic on TSNs in this document SHOULD use
        // Serial Number Arithmetic, as defined in [RFC1982], where SERIAL_BITS = 32."
        self.0.wrapping_sub(other.0).cast_signed() > 0
    }

    /// Whether this TSN is `other` or follows it.
    #[must_use]
    pub const fn is_at_or_after(self, other: Self) -> bool {
        self.0 == other.0 || self.is_after(other)
    }

    /// The TSN after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        self.plus(1)
    }

    /// The TSN before this one.
    #[must_use]
    pub const fn previous(self) -> Self {
        Self(self.0.wrapping_sub(1))
    }

    /// The TSN `n` places after this one.
    #[must_use]
    pub const fn plus(self, n: u32) -> Self {
        Self(self.0.wrapping_add(n))
    }

    /// How many places after `earlier` this TSN is; wraps if it is before.
    #[must_use]
    pub const fn distance_from(self, earlier: Self) -> u32 {
        self.0.wrapping_sub(earlier.0)
    }
}

impl fmt::Display for Tsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A Stream Sequence Number: the place of an ordered user message in its stream.
///
/// It wraps, so it has no `<`; compare with [`is_after`](Self::is_after).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Ssn(pub u16);

impl Ssn {
    /// Whether this SSN follows `other` in serial number arithmetic.
    #[must_use]
    pub const fn is_after(self, other: Self) -> bool {
        // RFC 9260 section 1.6: "Any arithmetic done on Stream Sequence Numbers SHOULD use Serial
        // Number Arithmetic, as defined in [RFC1982], where SERIAL_BITS = 16."
        self.0.wrapping_sub(other.0).cast_signed() > 0
    }

    /// The SSN after this one.
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0.wrapping_add(1))
    }
}

impl fmt::Display for Ssn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A Message Identifier (RFC 8260): the place of a user message among the ordered or the unordered
/// ones of its stream. It wraps, so it has no `<`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Mid(pub u32);

impl fmt::Display for Mid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A Fragment Sequence Number (RFC 8260): the place of a fragment in its user message. It wraps, so
/// it has no `<`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct Fsn(pub u32);

impl fmt::Display for Fsn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A Stream Identifier: names one of the unidirectional streams of an association.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct StreamId(pub u16);

impl fmt::Display for StreamId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A Payload Protocol Identifier: chosen by the upper layer, carried unchanged.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ppid(pub u32);

impl fmt::Display for Ppid {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(&self.0, f)
    }
}

/// A Verification Tag or Initiate Tag: proves that a packet belongs to the association.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct VerificationTag(pub u32);

impl fmt::Display for VerificationTag {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:#010x}", self.0)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tsn_order_survives_the_wrap() {
        assert!(Tsn(0).is_after(Tsn(u32::MAX)));
        assert!(!Tsn(u32::MAX).is_after(Tsn(0)));
        assert!(Tsn(5).is_at_or_after(Tsn(5)));
        assert!(!Tsn(5).is_after(Tsn(5)));
        assert_eq!(Tsn(u32::MAX).next(), Tsn(0));
        assert_eq!(Tsn(0).previous(), Tsn(u32::MAX));
        assert_eq!(Tsn(u32::MAX - 1).plus(5), Tsn(3));
        assert_eq!(Tsn(3).distance_from(Tsn(u32::MAX - 1)), 5);
    }

    #[test]
    fn numbers_half_the_space_apart_have_no_order() {
        assert!(Tsn(0x7fff_ffff).is_after(Tsn(0)));
        assert!(!Tsn(0x8000_0000).is_after(Tsn(0)));
        assert!(!Tsn(0).is_after(Tsn(0x8000_0000)));
        assert!(Ssn(0x7fff).is_after(Ssn(0)));
        assert!(!Ssn(0x8000).is_after(Ssn(0)));
        assert!(!Ssn(0).is_after(Ssn(0x8000)));
    }

    #[test]
    fn ssn_order_survives_the_wrap() {
        assert!(Ssn(0).is_after(Ssn(u16::MAX)));
        assert!(!Ssn(u16::MAX).is_after(Ssn(0)));
        assert_eq!(Ssn(u16::MAX).next(), Ssn(0));
    }
}
