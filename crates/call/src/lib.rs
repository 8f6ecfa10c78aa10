//! A call without I/O: voice and pictures both ways over one connection that spans every path.
//!
//! [`Agent`] is a [`Machine`](anabranch_sansio::Machine) around a
//! [`Transport`](anabranch_transport::Transport): it runs on sockets and in the simulator alike. It
//! is told what microphone and camera bring, coded, and says what is to be heard and seen and when;
//! devices and codecs are its user's. `docs/call.md` describes what passes between two of them.
//!
//! What people write to each other, and files, go behind that: [`exchange`].
//!
//! Voice goes before all else, over two paths while two stand, so that a path that dies costs no
//! frame; pictures go by what they are worth. A path can be spared or left on purpose. Without any
//! path a call waits for half a minute, unless its user chose the rule of handoff of a [`Monitor`].

mod agent;
mod config;
mod event;
pub mod exchange;
mod heard;
mod ledger;
mod link;
mod losses;
mod media;
mod message;
mod monitor;
mod outgoing;
mod paths;
mod playout;
mod rate;
pub mod treatment;
mod units;

pub use agent::{Agent, CallPath, CallStats};
pub use config::{
    CallConfig, FRAME, SILENCE_MAX, SILENCE_NOTICED, THRESHOLD_MAX, THRESHOLD_MIN, VIDEO_RATE_MAX,
};
pub use event::{
    CallError, End, EndReason, Event, LogKind, LogLine, PathError, Peer, Playback, Played,
};
pub use heard::{Heard, VoiceCounts, longest_gap};
pub use media::{Device, Media, Picture, PictureFormat, PictureKind, VideoFormat, VoiceFormat};
pub use message::{MessageError, PROTOCOL_VERSION, Report};
pub use monitor::{Monitor, Verdict};
pub use paths::{PathNote, PathUse, Paths, route_moved};
pub use playout::{PictureCounts, Playout};
pub use rate::{EncoderRate, VIDEO_RATE_MIN};
pub use units::{PICTURE_LEN_MAX, VOICE_LEN_MAX, picture_unit, voice_unit};

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
