//! [`Picture`]: the last key picture of a channel, for who does not watch it.

use std::collections::VecDeque;

use anabranch_media::cutter::UnitCutter;
use anabranch_media::{Piece, Unit};
use bytes::{Bytes, BytesMut};

use super::Part;

/// Shorter messages than those of a channel, so that what matters more waits for none of them.
const MESSAGE_BYTES: usize = 4_000;

/// A larger picture is not worth its way into a guide.
const BYTES_MAX: usize = 256 << 10;

/// One picture as messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// That of its media.
    pub session: u16,
    /// That of its media.
    pub frame: u64,
    /// What to send.
    pub messages: VecDeque<Bytes>,
}

impl Picture {
    /// Cuts a part anew. None if it is too large.
    pub(super) fn of(part: &Part) -> Option<Self> {
        let (mut bytes, mut header) = (BytesMut::new(), None);
        for message in &part.messages {
            let piece = Piece::decode(message.clone()).ok()?;
            bytes.extend_from_slice(&piece.payload);
            header = Some(piece.header);
        }
        let header = header.filter(|_| bytes.len() <= BYTES_MAX)?;
        let unit = Unit { last_layer: true, discontinuity: false, ..header.unit(bytes.freeze()) };
        let mut cutter = UnitCutter::with_pieces_of(header.session, MESSAGE_BYTES);
        let messages = cutter.cut(&unit).map(|piece| piece.encode().into()).collect();
        Some(Self { session: header.session, frame: header.frame, messages })
    }
}

#[cfg(test)]
mod tests {
    use anabranch_media::decoding::{VideoFormat, VideoInfo};
    use anabranch_media::{Class, Layer, Track};
    use anabranch_sansio::Time;

    use super::super::{Channel, ChannelId, Label};
    use super::*;

    fn channel() -> Channel {
        let label = Label { number: 1, name: "News".to_owned(), group: None, open: true };
        let mut channel = Channel::new(ChannelId(1), label);
        let (codec, format) = ("avc1.42E01E".to_owned(), VideoFormat::AnnexB);
        let video = VideoInfo { codec, format, width: None, height: None, fps: None };
        channel.begin(1, Some(video), None);
        channel
    }

    fn picture(frame: u64, key: bool, len: usize) -> Unit {
        Unit {
            track: Track(0),
            class: if key { Class::KeyFrame } else { Class::Reference },
            layer: Layer::BASE,
            frame,
            at: Time::from_millis(frame * 40),
            pts_us: frame as i64 * 40_000,
            last_layer: false,
            discontinuity: false,
            bytes: (0..len).map(|n| n as u8).collect(),
        }
    }

    #[test]
    fn the_last_key_picture_is_cut_into_short_messages() {
        let mut channel = channel();
        assert_eq!(channel.still(), None);
        for (frame, key) in [(0, true), (1, false), (2, true), (3, false)] {
            channel.push(&picture(frame, key, 50_000));
        }
        let still = channel.still().unwrap();
        assert_eq!((still.session, still.frame, still.messages.len()), (1, 2, 13));
        let mut bytes = Vec::new();
        for (n, message) in still.messages.into_iter().enumerate() {
            assert!(message.len() <= 4_000);
            let Piece { header, payload } = Piece::decode(message).unwrap();
            assert_eq!((header.frame, header.index, header.last), (2, n as u64, n == 12));
            assert_eq!(header.class, Class::KeyFrame);
            bytes.extend_from_slice(&payload);
        }
        assert_eq!(bytes, picture(2, true, 50_000).bytes);
    }

    #[test]
    fn there_is_none_of_a_picture_that_is_too_large_or_of_a_source_that_is_lost() {
        let mut channel = channel();
        channel.push(&picture(0, true, BYTES_MAX));
        assert!(channel.still().is_some());
        channel.push(&picture(1, true, BYTES_MAX + 1));
        assert_eq!(channel.still(), None);
        channel.push(&picture(2, true, 1_000));
        channel.lose("it is cut".to_owned());
        assert_eq!(channel.still(), None);
    }
}
