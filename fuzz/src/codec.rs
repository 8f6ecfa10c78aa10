//! Checks of what `anabranch-media` reads of pictures' first bits: whatever comes, one answer does
//! not contradict another.

use anabranch_media::Class;
use anabranch_media::codec::{av1, vp9};

/// A unit of fewer bytes has fewer parts than are looked at.
const AV1_LEN_MAX: usize = 200;

/// Checks `bytes` as a picture of VP9, of which the first two say how large it is.
pub fn vp9(bytes: &[u8]) {
    let Some(([width, height], picture)) = bytes.split_first_chunk::<2>() else { return };
    let (class, size) = (vp9::class(picture), [width, height].map(|it| u64::from(*it) << 6));
    let codec = vp9::codec(picture, size[0], size[1]);
    if let Some(class) = class {
        assert_eq!(class == Class::KeyFrame, codec.is_some());
    }
    assert!(codec.is_none_or(|codec| codec.starts_with("vp09.0") && codec.len() == 13));
}

/// Checks `bytes` as a configuration record and as a temporal unit of AV1.
pub fn av1(bytes: &[u8]) {
    let codec = av1::codec(bytes);
    assert!(codec.is_none_or(|codec| codec.starts_with("av01.") && codec.len() == 13));
    let begins = av1::has_sequence_header(bytes);
    let (half, _) = bytes.split_at(bytes.len() / 2);
    assert!(begins || !av1::has_sequence_header(half), "what follows takes nothing away");
    if bytes.len() < AV1_LEN_MAX {
        let delimited = [&[0x12, 0], bytes].concat();
        assert_eq!(av1::has_sequence_header(&delimited), begins);
    }
}
