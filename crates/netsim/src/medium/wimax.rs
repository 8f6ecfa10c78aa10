//! [`WimaxConfig`]: what can be chosen about a WiMAX cell.

use std::time::Duration;

use anabranch_sansio::Rate;

/// What can be chosen about a WiMAX cell: OFDMA with 1,024 subcarriers on a channel of 7 MHz.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(deny_unknown_fields)
)]
pub struct WimaxConfig {
    /// How long a frame is, downlink and uplink together, in microseconds: one of
    /// [`FRAMES_US`](Self::FRAMES_US).
    pub frame_us: u32,
    /// How its symbols are shared: parts of the downlink and of the uplink.
    pub split: (u32, u32),
    /// A flow of nrtPS is asked once in so many frames whether it has something to send; one of
    /// rtPS in each.
    pub nrtps_poll: u32,
    /// How flows of the same service share slots.
    #[cfg_attr(feature = "serde", serde(default))]
    pub scheduling: Scheduling,
}

/// How flows of the same service share the slots of a frame. The standard leaves it to the base
/// station.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Scheduling {
    /// Max-min fair: who asks for little gets it, the others share the rest alike.
    #[default]
    MaxMin,
    /// In proportion to what each asks for: a long queue is served faster.
    Proportional,
    /// All of one, then all of the next, as far as the slots go; the next frame begins with the
    /// next flow.
    InTurn,
}

impl WimaxConfig {
    /// The lengths that a frame can have (IEEE 802.16-2009 table 319), in microseconds.
    pub const FRAMES_US: [u32; 8] = [2_000, 2_500, 4_000, 5_000, 8_000, 10_000, 12_500, 20_000];

    /// Its rates: those of QPSK, 16-QAM and 64-QAM with half, two thirds or three quarters of the
    /// bits for data, over all 768 data subcarriers and all time, as their makers state them.
    #[must_use]
    pub fn rates() -> Vec<Rate> {
        [5_330, 8_000, 10_670, 16_000, 21_330, 24_000].map(Rate::kbps).to_vec()
    }

    /// 16-QAM 1/2.
    #[must_use]
    pub const fn usual_rate() -> Rate {
        Rate::kbps(10_670)
    }

    pub(crate) const fn frame(&self) -> Duration {
        Duration::from_micros(self.frame_us as u64)
    }
}

impl Default for WimaxConfig {
    /// Frames of 5 ms, of which a quarter is downlink (Almajeed 2011, table 1); nrtPS is polled
    /// every tenth.
    fn default() -> Self {
        Self { frame_us: 5_000, split: (1, 3), nrtps_poll: 10, scheduling: Scheduling::MaxMin }
    }
}

/// What the base station promises a link (IEEE 802.16-2009 section 6.3.5.2).
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, PartialOrd, Ord)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(rename_all = "snake_case")
)]
pub enum Service {
    /// Real-time polling: asked in each frame, and served before nrtPS.
    #[default]
    Rtps,
    /// Non-real-time polling: asked now and then, and served with what rtPS leaves.
    Nrtps,
}
