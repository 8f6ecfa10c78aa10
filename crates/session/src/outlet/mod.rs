//! What a receiver's output takes: a pipe, a disk, a player that stalls.
//!
//! What is due waits while the output takes something else. That it waits a little is no harm: a
//! key frame is written in longer than the time to the next picture. What waits for too long is
//! left out, whole pictures and the least important first, here where it would be handed on
//! ([`Outlet`]), and at the sender as soon as it knows ([`Model`]): by the same policy that leaves
//! out what the network does not carry, with the time behind the due time in the place of the
//! wait for the network.
//!
//! Meanwhile nothing is read of the connection: what waits there is kept by its level, what
//! matters least makes way where memory ends, and the window tells the sender. But before anything
//! is handed on that was due after reading stopped, all is read: nothing that came in time is
//! passed over for it.

mod gauge;
mod model;

use std::time::Duration;

use anabranch_media::playout::Released;
use anabranch_media::{Layer, Track};
use anabranch_sansio::{Rate, Time};
use serde::{Deserialize, Serialize};

use crate::SourceFormat;
use crate::dropping::{Dropping, Notice, Prospect, UnitKey, Verdict};
use crate::treatment::MediaClass;
use gauge::Gauge;
pub(super) use model::Model;

/// How far behind media may be handed on at least, however short the latency: in less, a key frame
/// of a tenth of a second's worth of bytes is not written by an output that is slow.
const BEHIND_MIN: Duration = Duration::from_millis(500);

/// How far behind an output must be for nothing to be read meanwhile, as a share of how far it may
/// be.
const UNREAD_SHARE: u32 = 5;

/// How often the sender is told while the output is too slow.
const TOLD_EVERY: Duration = Duration::from_millis(200);

/// How far behind its time media may be handed on, before pictures are left out that others are
/// predicted from.
pub(super) fn behind_max(latency: Duration) -> Duration {
    latency.max(BEHIND_MIN)
}

/// What a receiver reports of its output while that takes less than comes.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
pub struct OutputReport {
    /// What it takes, in bits of media per second; `None` if that is not known yet.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub takes_bps: Option<u64>,
    /// How long what it takes next is overdue.
    pub behind_ms: u32,
}

/// What was left out for a receiver's output.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct LeftOut {
    /// Pictures, by class; in the order of [`MediaClass::ALL`].
    pub pictures: [u64; MediaClass::ALL.len()],
    /// Items of those that had come.
    pub items: u64,
    /// Their bytes.
    pub bytes: u64,
}

/// Decides, item by item as they are due, what the output gets.
#[derive(Debug)]
pub(super) struct Outlet {
    dropping: Dropping,
    gauge: Gauge,
    items: u64,
    bytes: u64,
    padding: u64,
    /// Items that were left out or never came since the last that was handed on.
    passed_over: u64,
    /// When all that had come was read.
    read_at: Time,
    /// When the sender was told, and what.
    told: Option<(Time, Option<OutputReport>)>,
}

impl Outlet {
    pub(super) fn new() -> Self {
        Self {
            dropping: Dropping::of_output(false),
            gauge: Gauge::default(),
            items: 0,
            bytes: 0,
            padding: 0,
            passed_over: 0,
            read_at: Time::ZERO,
            told: None,
        }
    }

    /// What comes next is of this format.
    pub(super) fn begin(&mut self, format: &SourceFormat) {
        self.dropping.begin(matches!(format, SourceFormat::Clip(_)));
    }

    /// The output asks for more; what it gets next was due so long ago.
    pub(super) fn on_poll(&mut self, now: Time, behind: Duration) {
        self.gauge.on_poll(now, behind);
    }

    /// Whether what arrived is read, where the next that is due was at `due`.
    pub(super) fn is_to_read(&self, now: Time, due: Option<Time>, latency: Duration) -> bool {
        let waits = |due: Time| now - due > behind_max(latency) / UNREAD_SHARE;
        due.is_none_or(|due| !waits(due) || due >= self.read_at)
    }

    /// All that had come was read.
    pub(super) const fn on_read(&mut self, now: Time) {
        self.read_at = now;
    }

    /// When something came to be read that was complete at this time: what waited for the output
    /// is no later for it.
    pub(super) fn came_at(&self, completed_at: Time) -> Time {
        completed_at.max(self.read_at)
    }

    /// Items that are due, if the output gets them.
    pub(super) fn pass(
        &mut self,
        now: Time,
        mut released: Released,
        latency: Duration,
    ) -> Option<Released> {
        let class = MediaClass::of(released.class, released.layer);
        let prospect = Prospect { wait: now - released.due, lifetime: behind_max(latency) };
        if !self.goes(now, &released, class, prospect) {
            self.items += released.items;
            self.bytes += released.bytes.len() as u64;
            self.passed_over += released.skipped + released.items;
            return None;
        }
        self.gauge.on_taken(now, released.bytes.len());
        released.skipped += std::mem::take(&mut self.passed_over);
        Some(released)
    }

    fn goes(
        &mut self,
        now: Time,
        released: &Released,
        class: MediaClass,
        prospect: Prospect,
    ) -> bool {
        if class == MediaClass::Padding {
            let goes = prospect.wait <= prospect.lifetime / UNREAD_SHARE;
            self.padding += u64::from(!goes);
            return goes;
        }
        let &Released { track, layer, frame, .. } = released;
        let unit = UnitKey { track, layer, frame };
        self.dropping.decide(now, unit, class, || Some(prospect)) == Verdict::Goes
    }

    /// A second is over: returns what is to be said of it.
    pub(super) fn tick(&mut self, now: Time) -> Vec<Notice> {
        self.dropping.tick(now)
    }

    pub(super) fn left_out(&self) -> LeftOut {
        let mut pictures = MediaClass::ALL.map(|class| self.dropping.left_out(class));
        pictures[MediaClass::Padding.index()] = self.padding;
        LeftOut { pictures, items: self.items, bytes: self.bytes }
    }

    /// What the sender is to know, where the output is behind by so much.
    pub(super) fn report(&self, behind: Duration, latency: Duration) -> Option<OutputReport> {
        let takes_bps = self.gauge.takes().map(Rate::as_bps);
        let is_late = behind > behind_max(latency) / UNREAD_SHARE;
        let behind_ms = u32::try_from(behind.as_millis()).unwrap_or(u32::MAX);
        (takes_bps.is_some() || is_late).then_some(OutputReport { takes_bps, behind_ms })
    }

    /// Whether the sender should know this now.
    pub(super) fn is_news(&self, now: Time, report: Option<&OutputReport>) -> bool {
        match &self.told {
            None => report.is_some(),
            Some((at, before)) => (report.is_some() || before.is_some()) && now - *at >= TOLD_EVERY,
        }
    }

    pub(super) const fn on_told(&mut self, now: Time, report: Option<OutputReport>) {
        self.told = Some((now, report));
    }
}

/// What a piece's unit is known by.
pub(super) const fn unit_of(track: Track, layer: Layer, frame: u64) -> UnitKey {
    UnitKey { track, layer, frame }
}
