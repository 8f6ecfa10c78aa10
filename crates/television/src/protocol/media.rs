//! [`MediaMessage`]: a part of a picture or of a frame of sound.
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +---------------+---------------+---------------+---------------+
//! |   format = 1  |     track     |     layer     |     flags     |
//! +---------------+---------------+---------------+---------------+
//! |                            channel                            |
//! +-------------------------------+-------------------------------+
//! |             epoch             |            fragment           |
//! +-------------------------------+-------------------------------+
//! |           fragments           |          references           |
//! +-------------------------------+-------------------------------+
//! |                             frame                             |
//! +---------------------------------------------------------------+
//! |                    presentation time, µs (64)                 |
//! |                                                               |
//! +---------------------------------------------------------------+
//! |          when it came to the server, µs of its clock (64)     |
//! |                                                               |
//! +---------------------------------------------------------------+
//! |                           payload ...
//! ```
//!
//! Nothing in it depends on the viewer: a channel makes each message once for all who watch.

use anabranch_media::decoding::MediaTrack;
use anabranch_sansio::Time;
use bytes::{Buf, BufMut, Bytes, BytesMut};
use thiserror::Error;

use super::ChannelId;

/// Bytes before the payload.
pub const MEDIA_HEADER_BYTES: usize = 36;

/// The longest payload, so that a whole message has 16,000 bytes: browsers that cannot interleave
/// messages (RFC 8260) are not held up by one for long.
pub const FRAGMENT_BYTES_MAX: usize = 16_000 - MEDIA_HEADER_BYTES;

/// The longest layer of a picture: one of 200 Mbit/s at 12 pictures a second.
pub const UNIT_BYTES_MAX: usize = 2 << 20;

const FRAGMENTS_MAX: u16 = UNIT_BYTES_MAX.div_ceil(FRAGMENT_BYTES_MAX) as u16;

const FORMAT: u8 = 1;
const FLAG_KEY: u8 = 1;
const FLAG_REFERENCE: u8 = 2;
const FLAG_LAST_LAYER: u8 = 4;
const FLAG_DISCONTINUITY: u8 = 8;

/// What a media message says of its payload.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct MediaHeader {
    /// The channel.
    pub channel: ChannelId,
    /// Which of its [descriptions](super::Description) holds.
    pub epoch: u16,
    /// Picture or sound.
    pub track: MediaTrack,
    /// Of the picture, from 0.
    pub layer: u8,
    /// Number of the picture, or of the frame of sound, in this epoch. Layers share it.
    pub frame: u32,
    /// Which part of this layer, from 0.
    pub fragment: u16,
    /// How many parts it has.
    pub fragments: u16,
    /// How many pictures that others are predicted from came before this one, as
    /// [`References`] counts; of sound 0.
    pub references: References,
    /// Decoding can begin here.
    pub key: bool,
    /// Others are predicted from it.
    pub reference: bool,
    /// The source has no higher layer of this picture.
    pub last_layer: bool,
    /// Something that it may refer to never came from the source.
    pub discontinuity: bool,
    /// From the media.
    pub pts_us: i64,
    /// When it came to the server, on the server's clock.
    pub at: Time,
}

/// How many pictures of an epoch that others are predicted from came so far: 1 to 65,535, and 1
/// again. 0 says nothing, as servers of before did.
///
/// It tells what was missed: two pictures between which no other one is needed are as far apart as
/// the first one of them counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct References(pub u16);

impl References {
    /// Before the first picture of an epoch.
    pub const FIRST: Self = Self(1);

    /// After a picture.
    #[must_use]
    pub const fn after(self, reference: bool) -> Self {
        match (self.0, reference) {
            (0, _) | (_, false) => self,
            (u16::MAX, true) => Self::FIRST,
            (count, true) => Self(count + 1),
        }
    }
}

/// A part of a picture or of a frame of sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MediaMessage {
    /// What it is.
    pub header: MediaHeader,
    /// At most [`FRAGMENT_BYTES_MAX`].
    pub payload: Bytes,
}

/// Why bytes are no media message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MediaError {
    /// Shorter than the header.
    #[error("a media message has {len} bytes, and needs at least {MEDIA_HEADER_BYTES}")]
    Truncated {
        /// What came.
        len: usize,
    },
    /// Of another version.
    #[error("a media message has format {format}; this version reads {FORMAT}")]
    Format {
        /// What came.
        format: u8,
    },
    /// Neither picture nor sound.
    #[error("a media message has track {track}, which is neither 0 (picture) nor 1 (sound)")]
    Track {
        /// What came.
        track: u8,
    },
    /// A part that its picture does not have, or too many parts.
    #[error(
        "a media message is part {fragment} of {fragments}; parts count from 0, to {FRAGMENTS_MAX}"
    )]
    Fragment {
        /// Which one it says to be.
        fragment: u16,
        /// Of how many.
        fragments: u16,
    },
}

impl MediaMessage {
    /// Its bytes.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let header = &self.header;
        let mut out = BytesMut::with_capacity(MEDIA_HEADER_BYTES + self.payload.len());
        out.put_u8(FORMAT);
        out.put_u8(header.track as u8);
        out.put_u8(header.layer);
        out.put_u8(header.flags());
        out.put_u32(header.channel.0);
        out.put_u16(header.epoch);
        out.put_u16(header.fragment);
        out.put_u16(header.fragments);
        out.put_u16(header.references.0);
        out.put_u32(header.frame);
        out.put_i64(header.pts_us);
        out.put_u64(header.at.as_micros());
        out.put_slice(&self.payload);
        out.freeze()
    }

    /// Reads one.
    ///
    /// # Errors
    /// The first rule that it breaks.
    pub fn decode(mut bytes: Bytes) -> Result<Self, MediaError> {
        if bytes.len() < MEDIA_HEADER_BYTES {
            return Err(MediaError::Truncated { len: bytes.len() });
        }
        let format = bytes.get_u8();
        if format != FORMAT {
            return Err(MediaError::Format { format });
        }
        let track = match bytes.get_u8() {
            0 => MediaTrack::Video,
            1 => MediaTrack::Audio,
            track => return Err(MediaError::Track { track }),
        };
        let layer = bytes.get_u8();
        let flags = bytes.get_u8();
        let channel = ChannelId(bytes.get_u32());
        let epoch = bytes.get_u16();
        let fragment = bytes.get_u16();
        let fragments = bytes.get_u16();
        if fragment >= fragments || fragments > FRAGMENTS_MAX {
            return Err(MediaError::Fragment { fragment, fragments });
        }
        let references = References(bytes.get_u16());
        let header = MediaHeader {
            channel,
            epoch,
            track,
            layer,
            frame: bytes.get_u32(),
            fragment,
            fragments,
            references,
            key: flags & FLAG_KEY != 0,
            reference: flags & FLAG_REFERENCE != 0,
            last_layer: flags & FLAG_LAST_LAYER != 0,
            discontinuity: flags & FLAG_DISCONTINUITY != 0,
            pts_us: bytes.get_i64(),
            at: Time::from_micros(bytes.get_u64()),
        };
        Ok(Self { header, payload: bytes })
    }
}

impl MediaHeader {
    /// Whether a picture can be decoded once this one was: none that it may refer to is missing
    /// between the two.
    #[must_use]
    pub fn is_enough_for(&self, next: &Self) -> bool {
        let follows = next.frame == self.frame.wrapping_add(1);
        let is_counted = self.references != References::default();
        follows || (is_counted && next.references == self.references.after(self.reference))
    }

    fn flags(&self) -> u8 {
        let flag = |holds: bool, flag: u8| if holds { flag } else { 0 };
        flag(self.key, FLAG_KEY)
            | flag(self.reference, FLAG_REFERENCE)
            | flag(self.last_layer, FLAG_LAST_LAYER)
            | flag(self.discontinuity, FLAG_DISCONTINUITY)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The example of the document.
    fn example() -> MediaMessage {
        MediaMessage {
            header: MediaHeader {
                channel: ChannelId(3),
                epoch: 1,
                track: MediaTrack::Video,
                layer: 0,
                frame: 104,
                fragment: 1,
                fragments: 4,
                references: References(0x0203),
                key: true,
                reference: true,
                last_layer: false,
                discontinuity: false,
                pts_us: 4_160_000,
                at: Time::from_micros(5_200_000),
            },
            payload: Bytes::from_static(&[0x82, 0x49]),
        }
    }

    #[test]
    fn the_header_is_laid_out_as_the_document_says() {
        let bytes = example().encode();
        let expected = [
            1, 0, 0, 3, 0, 0, 0, 3, 0, 1, 0, 1, 0, 4, 2, 3, 0, 0, 0, 104, 0, 0, 0, 0, 0, 0x3f,
            0x7a, 0, 0, 0, 0, 0, 0, 0x4f, 0x58, 0x80, 0x82, 0x49,
        ];
        assert_eq!(bytes.as_ref(), expected);
        assert_eq!(MediaMessage::decode(bytes), Ok(example()));
    }

    #[test]
    fn a_gap_of_pictures_that_no_other_needs_costs_nothing_else() {
        let picture = |frame, references, reference| {
            let references = References(references);
            MediaHeader { frame, references, reference, ..example().header }
        };
        let before = picture(7, 5, true);
        assert!(before.is_enough_for(&picture(8, 6, false)));
        assert!(before.is_enough_for(&picture(10, 6, true)), "8 and 9 were disposable");
        assert!(!before.is_enough_for(&picture(10, 7, true)), "one of them was not");
        assert!(picture(7, 5, false).is_enough_for(&picture(10, 5, true)));
        assert!(picture(7, u16::MAX, true).is_enough_for(&picture(9, 1, true)));
        assert!(!picture(7, 0, true).is_enough_for(&picture(9, 0, true)), "nothing is known");
        assert!(picture(7, 0, true).is_enough_for(&picture(8, 0, true)));
    }

    #[test]
    fn what_breaks_a_rule_is_refused_with_the_numbers() {
        let good = example().encode();
        let with = |at: usize, value: u8| {
            let mut bytes = good.to_vec();
            bytes[at] = value;
            MediaMessage::decode(bytes.into()).unwrap_err()
        };
        assert_eq!(with(0, 2), MediaError::Format { format: 2 });
        assert_eq!(with(1, 2), MediaError::Track { track: 2 });
        assert_eq!(with(11, 4), MediaError::Fragment { fragment: 4, fragments: 4 });
        assert_eq!(with(12, 1), MediaError::Fragment { fragment: 1, fragments: 260 });
        let short = good.slice(..MEDIA_HEADER_BYTES - 1);
        assert_eq!(MediaMessage::decode(short), Err(MediaError::Truncated { len: 35 }));
        let empty = good.slice(..MEDIA_HEADER_BYTES);
        assert_eq!(MediaMessage::decode(empty).unwrap().payload, Bytes::new());
    }
}
