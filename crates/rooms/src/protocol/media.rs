//! Media: [pieces](Piece) of units, as in a call. A member sends its picture as track 0 and its
//! voice as track 1; the room numbers them anew, so that its members can tell each other apart.

use anabranch_call::{PictureKind, VOICE_LEN_MAX};
use anabranch_media::piece::DecodeError;
use anabranch_media::{Class, Layer, Piece, Track};
use anabranch_session::treatment::MediaClass;
use bytes::{Bytes, BytesMut};
use thiserror::Error;

use super::MemberNumber;

/// The longest message of media.
pub const PIECE_LEN_MAX: usize = anabranch_media::piece::MAX_MESSAGE;

/// Where a piece says of which track it is (`docs/session-protocol.md`, pieces).
const TRACK_AT: std::ops::Range<usize> = 4..6;

/// Tracks of a member.
const TRACKS: u16 = 2;

/// What a member sends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// Its picture.
    Picture,
    /// Its voice.
    Voice,
}

impl Kind {
    const fn track(self) -> u16 {
        match self {
            Self::Picture => 0,
            Self::Voice => 1,
        }
    }

    /// Its track in a room.
    #[must_use]
    pub const fn of(self, member: MemberNumber) -> Track {
        Track(member.0.wrapping_mul(TRACKS).wrapping_add(self.track()))
    }
}

/// Whose a track of a room is, and which one it was before the room numbered it.
pub(crate) const fn member_of(track: Track) -> (MemberNumber, Track) {
    (MemberNumber(track.0 / TRACKS), Track(track.0 % TRACKS))
}

/// A piece of a member's media, as all others get it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Forwarded {
    /// Of which kind.
    pub kind: Kind,
    /// What it is worth.
    pub class: MediaClass,
    /// Its track in the room.
    pub track: Track,
    /// The number of its unit.
    pub frame: u64,
    /// The message.
    pub bytes: Bytes,
}

impl Forwarded {
    /// Whose it is.
    #[must_use]
    pub const fn member(&self) -> MemberNumber {
        member_of(self.track).0
    }
}

/// Why bytes are no media of a member.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MediaError {
    /// Not even a piece.
    #[error(transparent)]
    Piece(#[from] DecodeError),
    /// Longer than a piece may be.
    #[error("a piece has {len} bytes, at most {PIECE_LEN_MAX} are allowed")]
    TooLong {
        /// Its length.
        len: usize,
    },
    /// A frame of voice in parts, or longer than any.
    #[error("a frame of voice is one piece of at most {VOICE_LEN_MAX} bytes")]
    Voice,
    /// Neither a picture of track 0 nor voice of track 1, of one layer.
    #[error("a piece of track {track} has class {class}: a member sends pictures as 0, voice as 1")]
    Track {
        /// What it says.
        track: u16,
        /// What it says.
        class: Class,
    },
}

/// Reads a piece of a member's and numbers it as the room does.
///
/// # Errors
/// The first rule that it breaks.
pub fn forwarded(member: MemberNumber, message: Bytes) -> Result<Forwarded, MediaError> {
    if message.len() > PIECE_LEN_MAX {
        return Err(MediaError::TooLong { len: message.len() });
    }
    let mut bytes = BytesMut::from(&message[..]);
    let header = Piece::decode(message)?.header;
    let kind = match (header.track, PictureKind::of(header.class), header.class) {
        (Track(0), Some(_), _) => Kind::Picture,
        (Track(1), None, Class::Audio) => Kind::Voice,
        (Track(track), _, class) => return Err(MediaError::Track { track, class }),
    };
    if header.presentation.is_none() || header.layer != Layer::BASE {
        return Err(MediaError::Track { track: header.track.0, class: header.class });
    }
    let is_frame = header.index == 0 && header.last && bytes.len() <= VOICE_LEN_MAX;
    if kind == Kind::Voice && !is_frame {
        return Err(MediaError::Voice);
    }
    let track = kind.of(member);
    bytes[TRACK_AT].copy_from_slice(&track.0.to_be_bytes());
    let class = MediaClass::of(header.class, header.layer);
    Ok(Forwarded { kind, class, track, frame: header.frame, bytes: bytes.freeze() })
}

#[cfg(test)]
mod tests {
    use anabranch_media::Unit;
    use anabranch_media::cutter::UnitCutter;
    use anabranch_sansio::Time;

    use super::*;

    fn piece(track: u16, class: Class) -> Piece {
        let unit = Unit {
            track: Track(track),
            class,
            layer: Layer::BASE,
            frame: 7,
            at: Time::from_millis(3),
            pts_us: 0,
            last_layer: true,
            discontinuity: false,
            bytes: Bytes::from_static(b"picture"),
        };
        UnitCutter::new(1).cut(&unit).next().unwrap()
    }

    #[test]
    fn a_members_tracks_are_numbered_anew_and_nothing_else_changes() {
        for (track, class, kind) in
            [(0, Class::KeyFrame, Kind::Picture), (1, Class::Audio, Kind::Voice)]
        {
            let sent = piece(track, class);
            let got = forwarded(MemberNumber(300), sent.encode().into()).unwrap();
            assert_eq!((got.kind, got.frame), (kind, 7));
            let read = Piece::decode(got.bytes).unwrap();
            assert_eq!(read.header.track, Track(600 + track));
            let back = Piece {
                header: anabranch_media::piece::Header { track: Track(track), ..read.header },
                ..read
            };
            assert_eq!(back, sent);
        }
    }

    /// What a page makes: `web/src/room/protocol/media.test.ts` holds it to the same files.
    #[test]
    fn what_a_page_cuts_is_forwarded() {
        for (file, kind, class) in [
            ("room-picture.hex", Kind::Picture, MediaClass::KeyFrame),
            ("room-voice.hex", Kind::Voice, MediaClass::Audio),
        ] {
            let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../web/fixtures/");
            let text = std::fs::read_to_string(format!("{folder}{file}")).unwrap();
            let bytes: Vec<u8> =
                text.split_whitespace().map(|byte| u8::from_str_radix(byte, 16).unwrap()).collect();
            let got = forwarded(MemberNumber(1), bytes.into()).unwrap();
            assert_eq!((got.kind, got.class, got.frame), (kind, class, 7));
            let piece = Piece::decode(got.bytes).unwrap();
            assert_eq!(piece.header.first_at(), Time::from_micros(123_456));
            assert_eq!(&piece.payload[..], [1, 2, 3]);
        }
    }

    #[test]
    fn what_is_neither_a_picture_nor_voice_is_refused() {
        let wrong = [(0, Class::Audio), (1, Class::KeyFrame), (2, Class::Audio), (0, Class::Data)];
        for (track, class) in wrong {
            let message = piece(track, class).encode().into();
            let error = MediaError::Track { track, class };
            assert_eq!(forwarded(MemberNumber(1), message), Err(error));
        }
        let layer = |piece: &mut Piece| piece.header.layer = Layer(1);
        let packets = |piece: &mut Piece| {
            (piece.header.presentation, piece.payload) = (None, vec![0x47; 188].into());
        };
        for change in [layer as fn(&mut Piece), packets] {
            let mut piece = piece(0, Class::Reference);
            change(&mut piece);
            let error = MediaError::Track { track: 0, class: Class::Reference };
            assert_eq!(forwarded(MemberNumber(1), piece.encode().into()), Err(error));
        }
        let part = |piece: &mut Piece| piece.header.index = 1;
        let open = |piece: &mut Piece| piece.header.last = false;
        let long = |piece: &mut Piece| piece.payload = vec![0; VOICE_LEN_MAX].into();
        for change in [part as fn(&mut Piece), open, long] {
            let mut piece = piece(1, Class::Audio);
            change(&mut piece);
            let read = forwarded(MemberNumber(1), piece.encode().into());
            assert_eq!(read, Err(MediaError::Voice));
        }
        let long = Bytes::from(vec![0; PIECE_LEN_MAX + 1]);
        assert_eq!(
            forwarded(MemberNumber(1), long),
            Err(MediaError::TooLong { len: PIECE_LEN_MAX + 1 })
        );
        let cut = piece(0, Class::KeyFrame).encode()[..5].to_vec();
        let error = MediaError::Piece(DecodeError::Truncated);
        assert_eq!(forwarded(MemberNumber(1), cut.into()), Err(error));
    }
}
