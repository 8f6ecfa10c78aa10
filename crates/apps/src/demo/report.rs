//! [`Report`]: what a run of the demo came to, as data.

use anabranch_session::treatment::Preset;
use serde::Serialize;

use super::delay::DelaySummary;
use super::handoff::Handoff;
use crate::page::protocol::{LayerStats, PathStats};

/// What a run of the demo came to. As JSON, what `anabranch demo --json` writes.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Report {
    /// Name and version.
    pub program: &'static str,
    /// Decides which packets the links lose.
    pub seed: u64,
    /// How long media was sent.
    pub seconds: f64,
    /// The play-out latency.
    pub latency_ms: f64,
    /// The treatments at the end, if they are a preset.
    pub treatments: Option<Preset>,
    /// Pictures by what became of them.
    pub frames: FramesReport,
    /// Mean PSNR-Y of what was on the screen at each picture's play time, by the clip's exact
    /// table.
    pub psnr_y_db: Option<f64>,
    /// What it would be, had everything come.
    pub psnr_y_full_db: Option<f64>,
    /// From the sender's hand until a picture was complete, with all layers that came in time.
    pub delay_ms: DelaySummary,
    /// The longest time between two new pictures.
    pub longest_gap_ms: f64,
    /// What each cut of a link cost.
    pub handoffs: Vec<Handoff>,
    /// Each path, as the page shows it.
    pub paths: Vec<PathStats>,
    /// Each layer, as the page shows it.
    pub layers: Vec<LayerStats>,
    /// What happened, in words.
    pub events: Vec<EventReport>,
}

impl Report {
    /// As JSON, indented.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Numbers, texts and lists: nothing that JSON cannot hold.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }
}

/// Pictures whose time has come: `shown + lost` are all of them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct FramesReport {
    /// New on the screen at their time.
    pub shown: u64,
    /// Their base was not there at its time, or is predicted from one that was not.
    pub lost: u64,
    /// Of those lost, their base arrived after its time.
    pub late: u64,
    /// Of those shown, with all layers.
    pub shown_full: u64,
    /// Of those lost, arrived in time, and predicted from one that did not.
    pub lost_undecodable: u64,
}

/// Something that happened.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct EventReport {
    /// When, from the start of the media.
    pub at_s: f64,
    /// One whole sentence.
    pub text: String,
}

impl From<anabranch_media::clip::FrameCounts> for FramesReport {
    fn from(counts: anabranch_media::clip::FrameCounts) -> Self {
        Self {
            shown: counts.shown,
            late: counts.late,
            lost: counts.lost + counts.undecodable,
            shown_full: counts.full,
            lost_undecodable: counts.undecodable,
        }
    }
}
