//! [`Presentation`]: what a piece says of a unit that is no part of a transport stream, in which
//! all of this would stand itself.

use super::{DecodeError, varint};

/// How a unit is shown, and what it needs.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Presentation {
    /// When it is to be seen or heard: microseconds of the media's own time line.
    pub pts_us: i64,
    /// How many pictures that others are predicted from came before it.
    pub references: References,
    /// The source has no higher layer of this picture.
    pub last_layer: bool,
    /// Something that it may refer to never came from the source.
    pub discontinuity: bool,
}

/// How many pictures of a track that others are predicted from came so far, from 1; 0 says nothing,
/// as of sound.
///
/// It tells what was missed: two pictures between which no other one is needed are as far apart as
/// the first one of them counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct References(pub u64);

impl References {
    /// Before the first picture.
    pub const FIRST: Self = Self(1);

    /// After a picture.
    #[must_use]
    pub const fn after(self, is_reference: bool) -> Self {
        match self.0 {
            0 => self,
            count => Self(count.saturating_add(is_reference as u64)),
        }
    }
}

impl Presentation {
    /// Most bytes in a header.
    pub(super) const LEN_MAX: usize = 2 * varint::MAX_LEN;

    /// Bytes in a header.
    pub(super) const fn encoded_len(&self) -> usize {
        varint::len(self.references.0) + varint::len(zigzag(self.pts_us))
    }

    pub(super) fn encode(&self, out: &mut Vec<u8>) {
        varint::encode(self.references.0, out);
        varint::encode(zigzag(self.pts_us), out);
    }

    /// The flags stand in the fixed part of the header.
    pub(super) fn decode(
        last_layer: bool,
        discontinuity: bool,
        bytes: &mut &[u8],
    ) -> Result<Self, DecodeError> {
        let references = References(varint::decode(bytes)?);
        let pts_us = unzigzag(varint::decode(bytes)?);
        Ok(Self { pts_us, references, last_layer, discontinuity })
    }
}

/// Small numbers of either sign as small numbers: 0, -1, 1, -2.
const fn zigzag(value: i64) -> u64 {
    ((value << 1) ^ (value >> 63)).cast_unsigned()
}

const fn unzigzag(value: u64) -> i64 {
    (value >> 1).cast_signed() ^ -((value & 1).cast_signed())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_of_either_sign_survive_the_round_trip() {
        for (pts_us, wire) in [(0, 0), (-1, 1), (1, 2), (-2, 3), (i64::MAX, u64::MAX - 1)] {
            assert_eq!((zigzag(pts_us), unzigzag(wire)), (wire, pts_us));
        }
        assert_eq!(unzigzag(zigzag(i64::MIN)), i64::MIN);
    }

    #[test]
    fn what_was_missed_is_counted_only_where_somebody_counts() {
        let first = References::FIRST;
        assert_eq!(first.after(false), first);
        assert_eq!(first.after(true), References(2));
        assert_eq!(References::default().after(true), References::default());
    }
}
