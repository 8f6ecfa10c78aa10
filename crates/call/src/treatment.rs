//! How media of a call is treated: which class goes first, and how long each is of use.

use std::time::Duration;

use anabranch_session::treatment::MediaClass;
use anabranch_transport::StreamId;

use crate::exchange::FILES_STREAM;

/// Whose streams go first when not all can.
pub const CLASSES: [(MediaClass, u16); 5] = [
    (MediaClass::Control, 0),
    (MediaClass::Audio, 1),
    (MediaClass::KeyFrame, 2),
    (MediaClass::Reference, 3),
    (MediaClass::Disposable, 4),
];

/// The stream of words.
pub(crate) const WORDS_STREAM: StreamId = MediaClass::Data.stream();

/// Words and files, behind all of these.
pub(crate) const BEHIND_MEDIA: [(StreamId, u16); 2] =
    [(WORDS_STREAM, MEDIA_LAST + 1), (StreamId(FILES_STREAM), MEDIA_LAST + 2)];

/// The last place that media has in that order.
const MEDIA_LAST: u16 = 4;

/// How long a class is of use to who hears and sees it.
#[must_use]
pub const fn lifetime(class: MediaClass) -> Duration {
    Duration::from_millis(match class {
        MediaClass::KeyFrame => 1_000,
        MediaClass::Reference => 600,
        MediaClass::Disposable => 250,
        // Voice that waited longer than a playout does is of no use.
        MediaClass::Audio
        | MediaClass::Control
        | MediaClass::Tables
        | MediaClass::Data
        | MediaClass::Enhancement
        | MediaClass::Padding => 400,
    })
}

/// Its place in that order: 0 goes before 1.
#[must_use]
pub const fn priority(class: MediaClass) -> u16 {
    match class {
        MediaClass::Control => 0,
        MediaClass::Audio => 1,
        MediaClass::KeyFrame => 2,
        MediaClass::Reference => 3,
        MediaClass::Tables
        | MediaClass::Data
        | MediaClass::Disposable
        | MediaClass::Enhancement
        | MediaClass::Padding => 4,
    }
}
