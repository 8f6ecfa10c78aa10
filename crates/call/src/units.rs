//! Voice and pictures as units, which are cut into pieces.

use anabranch_media::{Class, Layer, Track, Unit};
use anabranch_sansio::Time;
use bytes::Bytes;

use crate::Picture;
use crate::playout::{PICTURE, VOICE};

/// The longest frame of voice, in bytes.
pub const VOICE_LEN_MAX: usize = 4 << 10;

/// The longest picture, in bytes.
pub const PICTURE_LEN_MAX: usize = 1 << 20;

/// A frame of voice that was captured at `at`, the `frame`th from 0 on. `None` if it is empty or
/// too long.
#[must_use]
pub fn voice_unit(frame: u64, at: Time, bytes: Bytes) -> Option<Unit> {
    let fits = !bytes.is_empty() && bytes.len() <= VOICE_LEN_MAX;
    fits.then(|| unit(VOICE, Class::Audio, frame, (at, bytes)))
}

/// The `frame`th picture from 0 on. `None` if it is empty or too long.
#[must_use]
pub fn picture_unit(frame: u64, picture: Picture) -> Option<Unit> {
    let Picture { at, kind, bytes } = picture;
    let fits = !bytes.is_empty() && bytes.len() <= PICTURE_LEN_MAX;
    fits.then(|| unit(PICTURE, kind.class(), frame, (at, bytes)))
}

fn unit(track: Track, class: Class, frame: u64, (at, bytes): (Time, Bytes)) -> Unit {
    Unit {
        track,
        class,
        layer: Layer::BASE,
        frame,
        at,
        pts_us: 0,
        last_layer: true,
        discontinuity: false,
        bytes,
    }
}
