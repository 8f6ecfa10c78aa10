//! Media: parts of pictures and of frames of sound, as [pieces](Piece) of units
//! (`docs/session-protocol.md`).
//!
//! Nothing in a piece depends on the viewer: a channel makes each once for all who watch.

use anabranch_media::piece::DecodeError;
use anabranch_media::{Class, Layer, Piece};
use bytes::Bytes;
use thiserror::Error;

/// As many as a VP9 superframe holds.
const LAYERS_MAX: u8 = 8;

/// Why bytes are no part of a picture or of a frame of sound.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub enum MediaError {
    /// Not even a piece.
    #[error(transparent)]
    Piece(#[from] DecodeError),
    /// Of a transport stream.
    #[error("the piece is of a transport stream; television sends units")]
    Packets,
    /// Neither picture nor sound.
    #[error("the piece has class {class}, which is neither picture nor sound")]
    Class {
        /// What it says.
        class: Class,
    },
    /// No picture has so many layers.
    #[error("the piece is of layer {layer}; a picture has {LAYERS_MAX} at most")]
    Layer {
        /// What it says.
        layer: u8,
    },
}

/// Reads a part of a picture, or of a frame of sound.
///
/// # Errors
/// The first rule that it breaks.
pub fn decode_media(message: Bytes) -> Result<Piece, MediaError> {
    let piece = Piece::decode(message)?;
    let Layer(layer) = piece.header.layer;
    if piece.header.presentation.is_none() {
        return Err(MediaError::Packets);
    }
    if layer >= LAYERS_MAX {
        return Err(MediaError::Layer { layer });
    }
    match piece.header.class {
        Class::KeyFrame | Class::Reference | Class::Disposable | Class::Audio => Ok(piece),
        class @ (Class::Tables | Class::Data | Class::Padding) => Err(MediaError::Class { class }),
    }
}

#[cfg(test)]
mod tests {
    use anabranch_media::cutter::UnitCutter;
    use anabranch_media::{Track, Unit};
    use anabranch_sansio::Time;

    use super::*;

    fn message(change: impl FnOnce(&mut Piece)) -> Bytes {
        let unit = Unit {
            track: Track(0),
            class: Class::KeyFrame,
            layer: Layer::BASE,
            frame: 0,
            at: Time::ZERO,
            pts_us: 0,
            last_layer: true,
            discontinuity: false,
            bytes: Bytes::from_static(b"x"),
        };
        let mut piece = UnitCutter::new(1).cut(&unit).next().unwrap();
        change(&mut piece);
        piece.encode().into()
    }

    #[test]
    fn parts_of_pictures_and_of_sound_are_read_and_nothing_else() {
        assert!(decode_media(message(|_| ())).is_ok());
        let sound = message(|piece| piece.header.class = Class::Audio);
        assert!(decode_media(sound).is_ok());

        let padding = message(|piece| piece.header.class = Class::Padding);
        assert_eq!(decode_media(padding), Err(MediaError::Class { class: Class::Padding }));
        let ninth = message(|piece| piece.header.layer = Layer(LAYERS_MAX));
        assert_eq!(decode_media(ninth), Err(MediaError::Layer { layer: LAYERS_MAX }));
        let packets = message(|piece| {
            (piece.header.presentation, piece.payload) = (None, vec![0x47; 188].into());
        });
        assert_eq!(decode_media(packets), Err(MediaError::Packets));
        let cut = message(|_| ()).slice(..5);
        assert_eq!(decode_media(cut), Err(MediaError::Piece(DecodeError::Truncated)));
    }
}
