//! How media is sent: the one small table from what a unit means to what the transport does.
//!
//! A [`MediaClass`] is what the table tells apart: the classes of [`anabranch_media::Class`], and
//! enhancement layers. Each has an SCTP stream of its own, so that none ever waits for another, and
//! a [`Treatment`]. The transport knows nothing of media; the media code knows nothing of streams.

mod class;
mod display;
mod policy;
mod preset;
mod table;

pub use class::MediaClass;
pub use policy::{
    LEVEL_MAX, LIFETIME_MS_MAX, MAX_RETRANSMISSIONS_MAX, PRIORITY_MAX, Reliability, Treatment,
    TreatmentError,
};
pub use preset::{Preset, UnknownPreset};
pub use table::{TableError, TreatmentTable};
