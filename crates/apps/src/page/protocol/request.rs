//! [`Request`]: what the page asks of the program, or tells it.

use serde::{Deserialize, Serialize};

use super::{LinkSettings, Preset, Treatment};

/// What the page asks of the program, or tells it.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
#[serde(tag = "type", rename_all = "snake_case")]
pub enum Request {
    /// Set an emulated link, or cut it.
    SetLink(SetLink),
    /// Change the treatment of a class.
    SetTreatment(Treatment),
    /// Change the treatment of all classes.
    Preset {
        /// To this.
        preset: Preset,
    },
    /// Change the play-out latency.
    SetLatency {
        /// To this.
        latency_ms: f64,
    },
    /// Watch another channel.
    Choose {
        /// The one with this number.
        number: u32,
    },
    /// An urgent message is on the screen.
    Seen {
        /// Which.
        id: u32,
    },
    /// Start what has finished once more.
    Restart,
    /// What was really decoded and displayed.
    PageStats(PageStats),
}

/// The settings of an emulated link.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct SetLink {
    /// Which.
    pub path: u32,
    /// To what.
    #[serde(flatten)]
    pub link: LinkSettings,
}

/// What a page decoded and displayed since its last hello.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct PageStats {
    /// Pictures decoded.
    pub decoded: u64,
    /// Pictures displayed.
    pub displayed: u64,
    /// Pictures that were decoded too late to be displayed.
    pub dropped: u64,
    /// Times that a decoder gave up.
    pub decode_errors: u64,
    /// Frames of sound decoded.
    pub audio_decoded: u64,
    /// The longest time between two pictures in the last 10 s.
    pub longest_gap_ms: Option<f64>,
    /// How much sound is behind the picture.
    pub av_skew_ms: Option<f64>,
}
