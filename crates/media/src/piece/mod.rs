//! [`Piece`]: the message that carries media, at most [`MAX_MESSAGE`] bytes.
//!
//! A piece holds some of one access unit of one track, and says all of itself: which session,
//! track, unit and class it belongs to, and where in the source each of its items stood and when it
//! came. It is therefore useful even if every other piece is lost.
//!
//! # On the wire
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |Version| Format|L|N|T|D| Class |            Session            |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |             Track             |     Layer     |     Runs      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \  Frame, Index, Sequence: three varints                        \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \  of a unit: References, Presentation time: two varints        \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \  first run: Position, Timestamp, Count, Step if Count > 1     \
//! \  each further run: Gap, Delay, Count, Step if Count > 1       \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \  Payload: the items, one after the other                      \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! - Version: 2. Format: what an item is, see [`Format`].
//! - L: this piece ends its unit. Set only when that was known in time.
//! - N: the payload is left out, each item is [`NULL_PACKET`](crate::ts::NULL_PACKET).
//! - T, of a unit: its picture has no higher layer. D, of a unit: something that it may refer to
//!   never came from the source.
//! - Class, Layer, Track: see [`Class`], [`Layer`], [`Track`].
//! - Session: a number the sender draws at its start. Another number means another start.
//! - Frame: number of the unit in its track. Index: number of the piece in its unit.
//! - Sequence: number of the piece among those of its track and class. A receiver sees from it
//!   which class it lost.
//! - References, of a unit: how many pictures of its track that others are predicted from came
//!   before it, from 1; 0 if nobody counts. Presentation time, of a unit: in microseconds of the
//!   media's time line, zigzag-encoded: 2 t if t is not negative, else -2 t - 1.
//! - Position: number of the first item in the source, from 0, over all tracks.
//! - Timestamp: when that item came, in microseconds of the sender's clock.
//! - A run is Count items in a row whose times are Step apart, in 1/256 microsecond, rounded down.
//!   A unit has one, of one item.
//! - Gap: positions between the end of one run and the start of the next. Delay: microseconds from
//!   the last item of one run to the first of the next.
//!
//! A varint has seven bits a byte, the lowest first; the top bit says that another byte follows.
//! Two bytes suffice for most, so that a header takes 20 to 40 bytes.
//!
//! How long a piece may live is no field: it is the timestamp of its last item plus the latency
//! that both ends agreed on, see [`Header::expires_at`].

mod decode;
mod presentation;
mod runs;
mod varint;

use std::time::Duration;

use anabranch_sansio::Time;
use bytes::Bytes;

pub use decode::DecodeError;
pub use presentation::{Presentation, References};
pub use runs::Run;
pub(crate) use runs::RunBuilder;

use crate::{Class, Layer, Track, Unit, ts};

/// The longest message, header included. A browser's data channel takes such a message in one
/// piece, and one on a slow link does not keep the others waiting for long.
pub const MAX_MESSAGE: usize = 16 * 1024;

/// The longest header that this crate writes.
pub const MAX_HEADER: usize = 512;

/// The most items of one piece. Only null packets, which are not sent, come near it.
pub const MAX_ITEMS: u64 = 4096;

/// The most pieces of a unit that is no part of a transport stream.
pub const MAX_UNIT_PIECES: u64 = 1024;

const VERSION: u8 = 2;
const FIXED_HEADER: usize = 8;
const FLAG_LAST: u8 = 0x80;
const FLAG_NULLS: u8 = 0x40;
const FLAG_LAST_LAYER: u8 = 0x20;
const FLAG_DISCONTINUITY: u8 = 0x10;

/// What the items of a piece are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
#[repr(u8)]
pub enum Format {
    /// MPEG-TS packets of 188 bytes.
    MpegTs = 0,
    /// One item, of any length: a part of a [`Unit`].
    Unit = 1,
}

/// What a piece says of itself.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Header {
    /// Of a [`Format::Unit`], and of no other.
    pub presentation: Option<Presentation>,
    /// The sender's start.
    pub session: u16,
    /// The track.
    pub track: Track,
    /// The layer.
    pub layer: Layer,
    /// The class.
    pub class: Class,
    /// Number of the unit in its track.
    pub frame: u64,
    /// Number of the piece in its unit.
    pub index: u64,
    /// Number of the piece among those of its track and class.
    pub sequence: u64,
    /// True: nothing of this unit follows. False: unknown, or something follows.
    pub last: bool,
    /// True: the items are null packets, the payload is empty.
    pub nulls: bool,
    /// Where the items stood in the source and when they came. Never empty.
    pub runs: Vec<Run>,
}

impl Header {
    /// Most bytes of all but the runs.
    const FIXED_LEN_MAX: usize = FIXED_HEADER + 3 * varint::MAX_LEN + Presentation::LEN_MAX;

    /// Bytes of all but the runs and the presentation.
    pub(crate) const fn fixed_len(frame: u64, index: u64, sequence: u64) -> usize {
        FIXED_HEADER + varint::len(frame) + varint::len(index) + varint::len(sequence)
    }

    /// Most bytes of a header with one run.
    pub(crate) const SINGLE_RUN_LEN_MAX: usize = Self::FIXED_LEN_MAX + runs::MAX_RUN_LEN;

    /// What its items are.
    #[must_use]
    pub const fn format(&self) -> Format {
        if self.presentation.is_some() { Format::Unit } else { Format::MpegTs }
    }

    /// When the first item came, on the sender's clock.
    #[must_use]
    pub fn first_at(&self) -> Time {
        self.runs.first().map_or(Time::ZERO, |run| run.time_of(0))
    }

    /// When the last item came, on the sender's clock: the piece was sent at this time or a little
    /// later.
    #[must_use]
    pub fn last_at(&self) -> Time {
        self.runs.last().map_or(Time::ZERO, Run::last_at)
    }

    /// Until when a copy may leave the sender, on the sender's clock: one that takes the shortest
    /// time on the way then arrives with its last item just due. The transport should abandon the
    /// message at this time.
    #[must_use]
    pub fn expires_at(&self, latency: Duration) -> Time {
        self.last_at() + latency
    }

    /// The unit that a piece of this header is of, all of whose bytes these are.
    #[must_use]
    pub fn unit(&self, bytes: Bytes) -> Unit {
        let presentation = self.presentation.unwrap_or_default();
        Unit {
            track: self.track,
            class: self.class,
            layer: self.layer,
            frame: self.frame,
            at: self.first_at(),
            pts_us: presentation.pts_us,
            last_layer: presentation.last_layer,
            discontinuity: presentation.discontinuity,
            bytes,
        }
    }

    /// Bytes that it takes on the wire.
    #[must_use]
    pub fn encoded_len(&self) -> usize {
        Self::fixed_len(self.frame, self.index, self.sequence)
            + self.presentation.as_ref().map_or(0, Presentation::encoded_len)
            + runs::encoded_len_of_all(&self.runs)
    }

    /// Number of items.
    #[must_use]
    pub fn items(&self) -> u64 {
        self.runs.iter().map(|run| u64::from(run.count)).sum()
    }

    fn flags(&self) -> u8 {
        let unit = self.presentation.unwrap_or_default();
        let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
        flag(self.last, FLAG_LAST)
            | flag(self.nulls, FLAG_NULLS)
            | flag(unit.last_layer, FLAG_LAST_LAYER)
            | flag(unit.discontinuity, FLAG_DISCONTINUITY)
    }
}

/// A message: a header and the items.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Piece {
    /// What the piece says of itself.
    pub header: Header,
    /// The items, one after the other.
    pub payload: Bytes,
}

impl Piece {
    /// Reads a message. The payload shares its memory.
    ///
    /// # Errors
    ///
    /// A message that no sender of this version makes.
    pub fn decode(message: Bytes) -> Result<Self, DecodeError> {
        decode::piece(message)
    }

    /// The message.
    #[must_use]
    pub fn encode(&self) -> Vec<u8> {
        let header = &self.header;
        let mut out = Vec::with_capacity(header.encoded_len() + self.payload.len());
        out.push(VERSION << 4 | header.format() as u8);
        out.push(header.class as u8 | header.flags());
        out.extend_from_slice(&header.session.to_be_bytes());
        out.extend_from_slice(&header.track.0.to_be_bytes());
        out.push(header.layer.0);
        out.push(u8::try_from(header.runs.len()).unwrap_or(u8::MAX));
        for value in [header.frame, header.index, header.sequence] {
            varint::encode(value, &mut out);
        }
        if let Some(presentation) = &header.presentation {
            presentation.encode(&mut out);
        }
        runs::encode(&header.runs, &mut out);
        out.extend_from_slice(&self.payload);
        out
    }

    /// Bytes that one item takes.
    #[must_use]
    pub fn item_len(&self) -> usize {
        match self.header.format() {
            Format::MpegTs => ts::PACKET_LEN,
            Format::Unit => self.payload.len(),
        }
    }
}

#[cfg(test)]
mod tests;
