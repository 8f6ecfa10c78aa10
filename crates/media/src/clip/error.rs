//! [`ClipError`]: one variant for each rule of the format.

use super::{CLIP_TEXT_BYTES_MAX, CLIP_UNIT_BYTES_MAX, CLIP_UNITS_MAX, CLIP_VERSION};

/// Why a file is not a clip, or units do not make one.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum ClipError {
    /// The file begins with something else.
    #[error("not an anabranch clip: it does not begin with \"ANACLIP\" and a version")]
    WrongMagic,
    /// The file is of a version that came after this code.
    #[error(
        "the clip has format version {version}, this program reads up to {CLIP_VERSION}: use a \
         newer program"
    )]
    TooNew {
        /// The file's version.
        version: u8,
    },
    /// The file ends too early.
    #[error("the clip is truncated: {what} at byte {offset} needs {needed} bytes, {left} are left")]
    Truncated {
        /// The field that is cut off.
        what: &'static str,
        /// Where it begins.
        offset: usize,
        /// Its length.
        needed: usize,
        /// What there is of it.
        left: usize,
    },
    /// The file goes on after its last unit.
    #[error("{count} bytes follow the last unit of the clip, which should be its end")]
    TrailingBytes {
        /// How many bytes.
        count: usize,
    },
    /// A text of the header is too long.
    #[error("the {what} has {len} bytes, at most {CLIP_TEXT_BYTES_MAX} are allowed")]
    TextTooLong {
        /// The field.
        what: &'static str,
        /// Its length.
        len: usize,
    },
    /// A text of the header is not UTF-8.
    #[error("the {what} is not UTF-8 text")]
    NotUtf8 {
        /// The field.
        what: &'static str,
    },
    /// A number of the header is out of its range.
    #[error("the {what} is {value}, it should be from 1 to {max}")]
    OutOfRange {
        /// The field.
        what: &'static str,
        /// What it says.
        value: u64,
        /// The largest value that makes sense.
        max: u64,
    },
    /// There are too many units.
    #[error("the clip has {count} units, at most {CLIP_UNITS_MAX} are allowed")]
    TooManyUnits {
        /// How many.
        count: usize,
    },
    /// A unit is too long.
    #[error("unit {unit} has {len} bytes, it should have from 1 to {CLIP_UNIT_BYTES_MAX}")]
    UnitLength {
        /// Its place in the file, from 0.
        unit: usize,
        /// Its length.
        len: usize,
    },
    /// A unit belongs to no track.
    #[error("unit {unit} is of track {track}, it should be of 0 (video) or 1 (audio)")]
    UnknownTrack {
        /// Its place in the file, from 0.
        unit: usize,
        /// Its track.
        track: u16,
    },
    /// A unit's class is unknown or does not suit its track or its layer.
    #[error("unit {unit}, of track {track} and layer {layer}, cannot be of class {class}")]
    UnitClass {
        /// Its place in the file, from 0.
        unit: usize,
        /// Its track.
        track: u16,
        /// Its layer.
        layer: u8,
        /// The number of its class.
        class: u8,
    },
    /// A unit is not the one that has to come next in its track.
    #[error(
        "unit {unit} is layer {layer} of frame {frame}, which cannot follow layer {layer_before} \
         of frame {frame_before} in its track"
    )]
    OutOfSequence {
        /// Its place in the file, from 0.
        unit: usize,
        /// Its frame.
        frame: u64,
        /// Its layer.
        layer: u8,
        /// The frame before it in its track.
        frame_before: u64,
        /// The layer before it in its track.
        layer_before: u8,
    },
    /// A track has to begin with the base layer of frame 0, the video with a key frame.
    #[error(
        "unit {unit} cannot be the first of its track: that is a key frame or sound, number 0, \
         layer 0"
    )]
    WrongStart {
        /// Its place in the file, from 0.
        unit: usize,
    },
    /// The clip has no picture: a loop of nothing.
    #[error("the clip has no picture")]
    NoPicture,
    /// Units have to be interleaved by time.
    #[error(
        "unit {unit} is presented at {pts_us} µs, before the one that precedes it ({before_us} \
         µs)"
    )]
    TimeGoesBack {
        /// Its place in the file, from 0.
        unit: usize,
        /// Its presentation time.
        pts_us: u64,
        /// That of the unit before it.
        before_us: u64,
    },
    /// A unit is presented for no time at all.
    #[error("unit {unit} has no duration")]
    NoDuration {
        /// Its place in the file, from 0.
        unit: usize,
    },
    /// A unit has to end within the round.
    #[error("unit {unit} ends at {end_us} µs, after the clip's round of {round_us} µs")]
    BeyondRound {
        /// Its place in the file, from 0.
        unit: usize,
        /// When it ends.
        end_us: u64,
        /// The duration of a round.
        round_us: u64,
    },
}
