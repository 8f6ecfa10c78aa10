//! [`LackOfRoom`]: a unit that was left out for lack of room, and what spoke for that.

use std::time::Duration;

use anabranch_sansio::{Rate, Time, TraceRecord};

use super::{Prospect, UnitKey};
use crate::treatment::MediaClass;

/// What is known of a unit where the verdict is [`LacksRoom`](super::Verdict::LacksRoom).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LackOfRoom {
    /// Its class.
    pub class: MediaClass,
    /// Which it is.
    pub unit: UnitKey,
    /// How long it would have waited, and how long it may.
    pub prospect: Option<Prospect>,
    /// How long it is until the next key frame, if that is why.
    pub next_key: Option<Duration>,
    /// What the network carries beside all that goes first, if that is known.
    pub carries: Option<Rate>,
    /// Bytes that wait before it, and its own.
    pub ahead: usize,
}

impl LackOfRoom {
    /// The same as a record, `media:picture_left_out`; `docs/trace.md` lists its fields.
    #[must_use]
    pub fn record(&self, now: Time) -> TraceRecord {
        let Self { class, unit, prospect, next_key, carries, ahead } = *self;
        // With no rate at all it would wait for ever.
        let wait = prospect.map(|prospect| prospect.wait).filter(|wait| *wait < Duration::MAX);
        let next_key = next_key.filter(|_| class == MediaClass::Reference);
        TraceRecord::new(now, "media:picture_left_out")
            .with("class", class.name())
            .with("track", unit.track.0)
            .with("frame", unit.frame)
            .with_some("wait_ms", wait)
            .with_some("lifetime_ms", prospect.map(|prospect| prospect.lifetime))
            .with_some("next_key_ms", next_key)
            .with_some("carries_bps", carries)
            .with("ahead_bytes", ahead)
    }
}
