//! Reading a [`Piece`]: nothing that arrives is trusted.

use bytes::Bytes;
use thiserror::Error;

use super::{
    FIXED_HEADER, FLAG_DISCONTINUITY, FLAG_LAST, FLAG_LAST_LAYER, FLAG_NULLS, Format, Header,
    MAX_MESSAGE, MAX_UNIT_PIECES, Piece, Presentation, VERSION, runs, varint,
};
use crate::{Class, Layer, Track, ts};

/// Why a message is not a piece.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It ends inside its header.
    #[error("the message ends inside its header")]
    Truncated,
    /// It is longer than any piece.
    #[error("the message has {len} bytes, a piece has at most {limit}")]
    TooLong {
        /// Its length.
        len: usize,
        /// [`MAX_MESSAGE`].
        limit: usize,
    },
    /// Another version of this header, or something else.
    #[error("the piece has version {found}, this program speaks version {VERSION}")]
    Version {
        /// What it says.
        found: u8,
    },
    /// A format that this version does not have.
    #[error("the piece has format {found}, known are 0 (MPEG-TS) and 1 (units)")]
    Format {
        /// What it says.
        found: u8,
    },
    /// A class that this version does not have.
    #[error("the piece has class {found}, known are 0 to 6")]
    Class {
        /// What it says.
        found: u8,
    },
    /// Bits that must be zero are not.
    #[error("the piece has flags {found:#04x} set that must be zero")]
    Flags {
        /// Those bits.
        found: u8,
    },
    /// A unit has no such piece.
    #[error("the piece is number {index} of its unit, which has at most {MAX_UNIT_PIECES}")]
    Index {
        /// What it says.
        index: u64,
    },
    /// No items, or more than a piece holds.
    #[error("the piece claims {count} items, it must have 1 to {limit}")]
    ItemCount {
        /// What it says.
        count: u64,
        /// [`MAX_ITEMS`](super::MAX_ITEMS), or 1 for [`Format::Unit`].
        limit: u64,
    },
    /// A number that no source reaches.
    #[error("a number in the header is larger than any source reaches")]
    NumberTooLarge,
    /// The items do not fill the payload.
    #[error("the payload has {found} bytes, its items take {expected}")]
    PayloadLength {
        /// From the runs.
        expected: usize,
        /// What is there.
        found: usize,
    },
}

pub(super) fn piece(message: Bytes) -> Result<Piece, DecodeError> {
    if message.len() > MAX_MESSAGE {
        return Err(DecodeError::TooLong { len: message.len(), limit: MAX_MESSAGE });
    }
    let mut rest: &[u8] = &message;
    let header = header(&mut rest)?;
    let payload = message.slice(message.len() - rest.len()..);
    check_payload(&header, payload.len())?;
    Ok(Piece { header, payload })
}

fn header(bytes: &mut &[u8]) -> Result<Header, DecodeError> {
    let (fixed, rest) = bytes.split_first_chunk::<FIXED_HEADER>().ok_or(DecodeError::Truncated)?;
    *bytes = rest;
    let [first, flags, session @ .., track_high, track_low, layer, run_count] = *fixed;
    if first >> 4 != VERSION {
        return Err(DecodeError::Version { found: first >> 4 });
    }
    let format = format(first & 0x0f)?;
    let unused = match format {
        Format::MpegTs => flags & (FLAG_LAST_LAYER | FLAG_DISCONTINUITY),
        Format::Unit => flags & FLAG_NULLS,
    };
    if unused != 0 {
        return Err(DecodeError::Flags { found: unused });
    }
    let class = flags & 0x0f;
    let [frame, index, sequence] =
        [varint::decode(bytes)?, varint::decode(bytes)?, varint::decode(bytes)?];
    if format == Format::Unit && index >= MAX_UNIT_PIECES {
        return Err(DecodeError::Index { index });
    }
    let has = |flag: u8| flags & flag != 0;
    let presentation = match format {
        Format::MpegTs => None,
        Format::Unit => {
            Some(Presentation::decode(has(FLAG_LAST_LAYER), has(FLAG_DISCONTINUITY), bytes)?)
        }
    };
    Ok(Header {
        presentation,
        session: u16::from_be_bytes(session),
        track: Track(u16::from_be_bytes([track_high, track_low])),
        layer: Layer(layer),
        class: Class::from_index(class.into()).ok_or(DecodeError::Class { found: class })?,
        last: has(FLAG_LAST),
        nulls: has(FLAG_NULLS),
        frame,
        index,
        sequence,
        runs: runs::decode(run_count, bytes)?,
    })
}

const fn format(found: u8) -> Result<Format, DecodeError> {
    match found {
        0 => Ok(Format::MpegTs),
        1 => Ok(Format::Unit),
        _ => Err(DecodeError::Format { found }),
    }
}

fn check_payload(header: &Header, found: usize) -> Result<(), DecodeError> {
    let items = header.items();
    let limit = match header.format() {
        Format::MpegTs => super::MAX_ITEMS,
        Format::Unit => 1,
    };
    if items == 0 || items > limit {
        return Err(DecodeError::ItemCount { count: items, limit });
    }
    let expected = match header.format() {
        _ if header.nulls => 0,
        Format::MpegTs => items as usize * ts::PACKET_LEN,
        Format::Unit => return Ok(()),
    };
    if expected != found {
        return Err(DecodeError::PayloadLength { expected, found });
    }
    Ok(())
}
