//! [`Picture`]: the last key picture of a channel, for who does not watch it.

use std::collections::VecDeque;

use bytes::{Bytes, BytesMut};

use super::Part;
use crate::protocol::{MEDIA_HEADER_BYTES, MediaHeader, MediaMessage};

/// Shorter messages than those of a channel, so that what matters more waits for none of them.
const FRAGMENT_BYTES: usize = 4_000 - MEDIA_HEADER_BYTES;

/// A larger picture is not worth its way into a guide.
const BYTES_MAX: usize = 256 << 10;

/// One picture as messages.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Picture {
    /// That of its media.
    pub epoch: u16,
    /// That of its media.
    pub frame: u32,
    /// What to send.
    pub messages: VecDeque<Bytes>,
}

impl Picture {
    /// Cuts a part anew. None if it is too large.
    pub(super) fn of(part: &Part) -> Option<Self> {
        let (mut bytes, mut header) = (BytesMut::new(), None);
        for message in &part.messages {
            let message = MediaMessage::decode(message.clone()).ok()?;
            header = Some(message.header);
            bytes.extend_from_slice(&message.payload);
        }
        let header = header.filter(|_| bytes.len() <= BYTES_MAX)?;
        let bytes = bytes.freeze();
        let fragments = bytes.len().div_ceil(FRAGMENT_BYTES).max(1) as u16;
        let message = |fragment: u16| {
            let start = usize::from(fragment) * FRAGMENT_BYTES;
            let payload = bytes.slice(start..bytes.len().min(start + FRAGMENT_BYTES));
            let header = MediaHeader { fragment, fragments, last_layer: true, ..header };
            MediaMessage { header, payload }.encode()
        };
        let messages = (0..fragments).map(message).collect();
        Some(Self { epoch: header.epoch, frame: header.frame, messages })
    }
}

#[cfg(test)]
mod tests {
    use anabranch_media::decoding::{MediaTrack, VideoFormat, VideoInfo};
    use anabranch_sansio::Time;

    use super::super::{Channel, ChannelId, ChannelUnit, Label};
    use super::*;

    fn channel() -> Channel {
        let label = Label { number: 1, name: "News".to_owned(), group: None, open: true };
        let mut channel = Channel::new(ChannelId(1), label);
        let (codec, format) = ("avc1.42E01E".to_owned(), VideoFormat::AnnexB);
        let video = VideoInfo { codec, format, width: None, height: None, fps: None };
        channel.begin(Some(video), None);
        channel
    }

    fn picture(frame: u32, key: bool, len: usize) -> ChannelUnit {
        ChannelUnit {
            track: MediaTrack::Video,
            layer: 0,
            frame,
            key,
            reference: true,
            last_layer: false,
            discontinuity: false,
            pts_us: i64::from(frame) * 40_000,
            at: Time::from_millis(u64::from(frame) * 40),
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
        assert_eq!((still.epoch, still.frame, still.messages.len()), (1, 2, 13));
        let mut bytes = Vec::new();
        for (n, message) in still.messages.into_iter().enumerate() {
            assert!(message.len() <= 4_000);
            let MediaMessage { header, payload } = MediaMessage::decode(message).unwrap();
            assert_eq!((header.frame, usize::from(header.fragment)), (2, n));
            assert!(header.key && header.fragments == 13);
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
