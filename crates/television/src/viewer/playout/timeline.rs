//! [`Timeline`]: when what arrived of a channel is to be seen and heard.

use std::time::Duration;

use anabranch_media::Unit;
use anabranch_media::playout::PathId;
use anabranch_media::playout::clock::{PlayoutClock, WINDOW};
use anabranch_sansio::Time;

/// A viewer that began behind the live edge, or ahead of its budget, plays so much faster or slower
/// until it is where it belongs: a twentieth.
const CATCH_UP: i64 = 20;

/// Nothing but late media for so long: a clock is another one, or the network became that much
/// slower.
const LATE_MAX: Duration = Duration::from_secs(1);

/// After the time was set anew, so much passes before what is next.
pub(super) const RESTART_AHEAD: Duration = Duration::from_millis(50);

/// What comes from the server has one way, whatever its packets took.
const SERVER: PathId = PathId(0);

/// What comes to the server from a channel's source.
const SOURCE: PathId = PathId(1);

/// Three clocks run apart: the source's, which numbered the pictures, the server's, and ours. Two
/// [clocks](PlayoutClock) follow them: one carries the server's time over to ours, by the shortest
/// ways of late, the other the source's to the server's, by what can be entered.
#[derive(Debug)]
pub(super) struct Timeline {
    budget: Duration,
    server: PlayoutClock,
    source: PlayoutClock,
    start: Option<Start>,
    late_since: Option<Time>,
}

/// Something in the media.
#[derive(Debug, Clone, Copy)]
pub(super) struct Place {
    pub(super) pts_us: i64,
    /// When it came to the server, on the server's clock.
    pub(super) at: Time,
}

/// What was shown when, and where the clocks were.
#[derive(Debug, Clone, Copy)]
struct Start {
    pts_us: i64,
    shown: Time,
    /// How far it was behind the budget, or ahead of it if less than zero.
    behind_us: i64,
    server_us: i64,
    /// Where the source's clock was once it had been heard for long enough.
    source_us: Option<i64>,
    /// How much later than at the start all is to be shown, because a clock drifts or the network
    /// takes longer.
    drift_us: i64,
}

impl Timeline {
    pub(super) const fn new(budget: Duration) -> Self {
        Self {
            budget,
            server: PlayoutClock::new(budget),
            source: PlayoutClock::new(budget),
            start: None,
            late_since: None,
        }
    }

    /// Nothing is shown; the server stays what it is.
    pub(super) fn stop(&mut self) {
        self.start = None;
        self.late_since = None;
        self.source = PlayoutClock::new(self.budget);
    }

    /// Another budget; what comes after `last` moves to its place at the usual speeds.
    pub(super) fn set_budget(&mut self, budget: Duration, last: Option<Place>) {
        self.budget = budget;
        self.server.set_latency(budget);
        if let Some(last) = last
            && let Some(shown) = self.play_at(last.pts_us)
        {
            self.start(last, shown);
        }
    }

    /// The server's clock showed `at` in something that is here now.
    pub(super) fn observe(&mut self, now: Time, at: Time) {
        self.server.sample(now, Some(SERVER), at);
    }

    /// Learns where the clocks are from what arrived; `is_entry`: decoding could begin there.
    pub(super) fn follow(&mut self, now: Time, place: Place, is_entry: bool) {
        if self.server.is_broken_by(now, place.at) || self.is_late_for_long(now, place) {
            self.server = PlayoutClock::new(self.budget);
            self.observe(now, place.at);
            if let Some(due) = self.play_at(place.pts_us) {
                self.start(place, due.max(now + RESTART_AHEAD));
            }
            return;
        }
        self.observe(now, place.at);
        if let (true, Ok(pts_us)) = (is_entry, u64::try_from(place.pts_us)) {
            self.source.sample(place.at, Some(SOURCE), Time::from_micros(pts_us));
        }
        let Some(start) = &mut self.start else { return };
        let source_us = micros(self.source.offset());
        if start.source_us.is_none() && now.saturating_since(start.shown) >= WINDOW {
            self.source.settle();
            start.source_us = Some(source_us);
        }
        let of_server = micros(self.server.offset()) - start.server_us;
        let of_source = start.source_us.map_or(0, |first_us| source_us - first_us);
        start.drift_us = of_server.saturating_add(of_source);
    }

    /// This is what is to be seen at this time.
    pub(super) fn start(&mut self, place: Place, shown: Time) {
        self.server.settle();
        self.source = PlayoutClock::new(self.budget);
        self.late_since = None;
        let server_us = micros(self.server.offset());
        let behind_us = signed(shown) - signed(place.at) - server_us;
        self.start = Some(Start {
            pts_us: place.pts_us,
            shown,
            behind_us: behind_us - self.budget.as_micros() as i64,
            server_us,
            source_us: None,
            drift_us: 0,
        });
    }

    /// When it is to be seen or heard; none before the start.
    pub(super) fn play_at(&self, pts_us: i64) -> Option<Time> {
        let start = self.start?;
        let elapsed = pts_us.saturating_sub(start.pts_us);
        let most = elapsed.max(0) / CATCH_UP;
        let caught_up = start.behind_us.clamp(-most, most);
        let after = (elapsed - caught_up).saturating_add(start.drift_us);
        let play_at = signed(start.shown).saturating_add(after);
        Some(Time::from_micros(play_at.max(0).unsigned_abs()))
    }

    fn is_late_for_long(&mut self, now: Time, place: Place) -> bool {
        if self.play_at(place.pts_us).is_none_or(|due| due >= now) {
            self.late_since = None;
        } else {
            self.late_since.get_or_insert(now);
        }
        self.late_since.is_some_and(|since| now.saturating_since(since) > LATE_MAX)
    }
}

impl From<&Unit> for Place {
    fn from(unit: &Unit) -> Self {
        Self { pts_us: unit.pts_us, at: unit.at }
    }
}

/// Whole microseconds, of an offset of clocks.
const fn micros(offset_ns: i64) -> i64 {
    offset_ns.div_euclid(1_000)
}

fn signed(time: Time) -> i64 {
    i64::try_from(time.as_micros()).unwrap_or(i64::MAX)
}
