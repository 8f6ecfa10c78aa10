//! What an input is that is no transport stream, so that the refusal can say what would be right.

use std::fmt;

use super::packet::{PACKET_LEN, SYNC_BYTE};

/// What an input looks like by its first bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Found {
    /// No bytes at all.
    Nothing,
    /// Transport stream packets in RTP.
    RtpTs,
    /// ISO base media: MP4, MOV.
    Mp4,
    /// Matroska or WebM.
    Matroska,
    /// Flash video.
    Flv,
    /// Ogg.
    Ogg,
    /// AVI or WAV.
    Riff,
    /// An MPEG program stream (DVD).
    ProgramStream,
    /// An H.264 or H.265 byte stream without a container.
    AnnexB,
    /// MP3 or ADTS sound without a container.
    Audio,
    /// A playlist that names media instead of being some.
    Playlist,
    /// A picture.
    Picture,
    /// A packet capture.
    Capture,
    /// Text.
    Text,
    /// Something else.
    Unknown,
}

impl Found {
    /// What would be right, as the second half of a sentence.
    #[must_use]
    pub const fn remedy(self) -> &'static str {
        match self {
            Self::Nothing => "is the source running?",
            Self::Mp4
            | Self::Matroska
            | Self::Flv
            | Self::Ogg
            | Self::Riff
            | Self::ProgramStream
            | Self::AnnexB
            | Self::Audio => "ffmpeg -i INPUT -c copy -f mpegts OUTPUT.ts makes one of it",
            Self::RtpTs => "send it without RTP, as ffmpeg does with -f mpegts udp://HOST:PORT",
            Self::Playlist => "ffmpeg -i PLAYLIST -c copy -f mpegts OUTPUT.ts makes one of it",
            Self::Picture | Self::Capture | Self::Text | Self::Unknown => {
                "it needs packets of 188, 192 or 204 bytes that have 0x47 in their place"
            }
        }
    }
}

impl fmt::Display for Found {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Nothing => "empty",
            Self::RtpTs => "a transport stream in RTP",
            Self::Mp4 => "an MP4 or MOV file",
            Self::Matroska => "a Matroska or WebM file",
            Self::Flv => "a Flash video",
            Self::Ogg => "an Ogg file",
            Self::Riff => "an AVI or WAV file",
            Self::ProgramStream => "an MPEG program stream",
            Self::AnnexB => "a bare H.264 or H.265 stream",
            Self::Audio => "bare MP3 or AAC sound",
            Self::Playlist => "a playlist",
            Self::Picture => "a picture",
            Self::Capture => "a packet capture",
            Self::Text => "text",
            Self::Unknown => "something we do not know",
        })
    }
}

/// Looks at the first bytes of an input.
pub(super) fn sniff(head: &[u8]) -> Found {
    if head.is_empty() {
        return Found::Nothing;
    }
    if has_sync_every(head, 12, 12 + 7 * PACKET_LEN) && head.starts_with(&[0x80]) {
        return Found::RtpTs;
    }
    let by_magic = MAGIC
        .iter()
        .find(|(offset, magic, _)| head.get(*offset..).is_some_and(|from| from.starts_with(magic)));
    if let Some((_, _, found)) = by_magic {
        return *found;
    }
    if std::str::from_utf8(head.get(..64).unwrap_or(head)).is_ok_and(is_readable) {
        return Found::Text;
    }
    Found::Unknown
}

const MAGIC: &[(usize, &[u8], Found)] = &[
    (4, b"ftyp", Found::Mp4),
    (4, b"moov", Found::Mp4),
    (4, b"mdat", Found::Mp4),
    (0, &[0x1a, 0x45, 0xdf, 0xa3], Found::Matroska),
    (0, b"FLV", Found::Flv),
    (0, b"OggS", Found::Ogg),
    (0, b"RIFF", Found::Riff),
    (0, &[0, 0, 1, 0xba], Found::ProgramStream),
    (0, &[0, 0, 0, 1], Found::AnnexB),
    (0, &[0, 0, 1], Found::AnnexB),
    (0, b"ID3", Found::Audio),
    (0, &[0xff, 0xfb], Found::Audio),
    (0, &[0xff, 0xf1], Found::Audio),
    (0, b"#EXTM3U", Found::Playlist),
    (0, &[0x89, b'P', b'N', b'G'], Found::Picture),
    (0, &[0xff, 0xd8, 0xff], Found::Picture),
    (0, &[0x0a, 0x0d, 0x0d, 0x0a], Found::Capture),
    (0, &[0xd4, 0xc3, 0xb2, 0xa1], Found::Capture),
];

/// True if there are at least two sync bytes at this distance, and no other byte in their place.
fn has_sync_every(head: &[u8], offset: usize, distance: usize) -> bool {
    let mut places = head.iter().skip(offset).step_by(distance);
    head.len() > offset + distance.min(PACKET_LEN) && places.all(|byte| *byte == SYNC_BYTE)
}

fn is_readable(text: &str) -> bool {
    text.chars().all(|c| !c.is_control() || c.is_whitespace())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_in_rtp_are_named() {
        let mut rtp = vec![0x80; 12];
        for _ in 0..5 {
            rtp.push(SYNC_BYTE);
            rtp.resize(rtp.len() + PACKET_LEN - 1, 0x02);
        }
        assert_eq!(sniff(&rtp), Found::RtpTs);
    }

    #[test]
    fn containers_and_texts_are_named() {
        assert_eq!(sniff(b"\x1a\x45\xdf\xa3 and more"), Found::Matroska);
        assert_eq!(sniff(b"#EXTM3U\n#EXT-X-VERSION:3\n"), Found::Playlist);
        assert_eq!(sniff(b"<html><body>not found</body></html>"), Found::Text);
        assert_eq!(sniff(&[0x00, 0x13, 0xfe, 0x9c, 0x01]), Found::Unknown);
        assert_eq!(sniff(&[]), Found::Nothing);
    }

    #[test]
    fn the_refusal_says_what_would_be_right() {
        let error = super::super::NotMpegTs { found: Found::ProgramStream };
        assert_eq!(
            error.to_string(),
            "the input is an MPEG program stream, not an MPEG transport stream; ffmpeg -i INPUT \
             -c copy -f mpegts OUTPUT.ts makes one of it"
        );
    }
}
