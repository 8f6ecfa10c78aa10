//! [`Notice`]: what a user should know about a source.

use thiserror::Error;

use crate::Track;
use crate::codec::Codec;

/// Something that is so for a whole track, or for the stream; told once.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum Notice {
    /// The track carries this and is treated by its meaning.
    #[error("track {track} is {codec}")]
    Track {
        /// Which.
        track: Track,
        /// What it carries.
        codec: Codec,
    },
    /// The track carries something that we cannot look into.
    #[error("track {track} is {codec}, which we cannot tell apart: it is sent whole as data")]
    Unclassified {
        /// Which.
        track: Track,
        /// What the tables say of it.
        codec: Codec,
    },
    /// No table of the stream names the track.
    #[error("track {track} is in no table of the stream: it is sent whole as data")]
    Unlisted {
        /// Which.
        track: Track,
    },
    /// Nothing distinguishes the stream's pictures from its sound.
    #[error(
        "the stream has no program association table (PAT), so that nothing tells its pictures \
         from its sound, and few players show it; ffmpeg -i INPUT -c copy -f mpegts OUTPUT.ts \
         writes one"
    )]
    NoTables,
    /// The track is encrypted.
    #[error("track {track} is scrambled, its frames cannot be told apart: it is sent as data")]
    Scrambled {
        /// Which.
        track: Track,
    },
}
