//! [`Playout`]: pieces in as they come, items out in order and at their time.
//!
//! Each item is released when its time at the sender, carried over to the local clock, plus the
//! latency is reached: what arrived evenly leaves evenly, whatever the network did in between. How
//! the time is carried over stands in [`clock`]. What is not there when something after it is due
//! is given up.
//!
//! ```
//! use std::time::Duration;
//!
//! use anabranch_media::playout::{Config, PathId, Playout};
//! use anabranch_sansio::Time;
//!
//! /// Releases what is due; returns when to call again, if nothing arrives before.
//! fn drain(playout: &mut Playout, now: Time, mut write: impl FnMut(&[u8])) -> Option<Time> {
//!     while let Some(released) = playout.poll_release(now) {
//!         write(&released.bytes);
//!     }
//!     playout.poll_timeout().map(|wakeup| wakeup.at)
//! }
//!
//! let mut playout = Playout::new(Config::with_latency(Duration::from_millis(200)));
//! let message = Vec::new(); // from the transport
//! playout.handle_message(Time::ZERO, Some(PathId(0)), message.into());
//! assert_eq!(playout.stats().malformed, 1);
//! assert_eq!(drain(&mut playout, Time::ZERO, |_| ()), None);
//! ```

pub mod clock;
mod ledger;
mod patience;
mod queue;
mod stats;

use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};
use bytes::Bytes;

use crate::piece::{Format, Header, Piece, Presentation, Run};
use crate::{Class, Distribution, Layer, Track};
pub use anabranch_sansio::PathId;
use clock::PlayoutClock;
use ledger::Ledger;
pub use patience::Patience;
use queue::{Queue, Segment};
pub use stats::PlayoutStats;

/// What comes this little after its time is still released, at once, unless something after it was:
/// a receiver's own timers are no better.
pub const LATE_TOLERANCE: Duration = Duration::from_millis(2);

/// Nothing but late pieces for so long: the sender's clock stood still, or the network became that
/// much slower. The playout starts anew with what comes next.
pub const RESYNC_AFTER: Duration = Duration::from_secs(3);

/// How a [`Playout`] works.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Time from the earliest arrival that an item can have to its release.
    pub latency: Duration,
    /// Most bytes that wait; above it the least important go. A second of 100 Mbit/s is 12.5 MB.
    pub max_bytes: usize,
    /// What is done about what is missing.
    pub patience: Patience,
}

impl Config {
    /// Room for five seconds of 100 Mbit/s.
    pub const MAX_BYTES_DEFAULT: usize = 64 << 20;

    /// The default limits with a latency.
    #[must_use]
    pub const fn with_latency(latency: Duration) -> Self {
        Self { latency, max_bytes: Self::MAX_BYTES_DEFAULT, patience: Patience::UntilDue }
    }
}

/// Items in a row that are due.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Released {
    /// Of a [`Format::Unit`], and of no other.
    pub presentation: Option<Presentation>,
    /// Number of the first item in the source.
    pub position: u64,
    /// Number of items.
    pub items: u64,
    /// Items that were given up right before the first one.
    pub skipped: u64,
    /// When the first item was due, on the local clock.
    pub due: Time,
    /// When it came to the sender, on the sender's clock.
    pub sent: Time,
    /// The track.
    pub track: Track,
    /// The layer.
    pub layer: Layer,
    /// The class.
    pub class: Class,
    /// Number of the unit in its track.
    pub frame: u64,
    /// Number of the piece in its unit.
    pub index: u64,
    /// The items are known to end their unit.
    pub last: bool,
    /// The items, one after the other.
    pub bytes: Bytes,
}

impl Released {
    /// What the items are.
    #[must_use]
    pub const fn format(&self) -> Format {
        if self.presentation.is_some() { Format::Unit } else { Format::MpegTs }
    }

    /// A piece as if it had crossed no network.
    #[must_use]
    pub fn uncrossed(piece: Piece) -> Self {
        let (at, items, header) = (piece.header.first_at(), piece.header.items(), piece.header);
        Self {
            presentation: header.presentation,
            position: header.runs.first().map_or(0, |run| run.position),
            items,
            skipped: 0,
            due: at,
            sent: at,
            track: header.track,
            layer: header.layer,
            class: header.class,
            frame: header.frame,
            index: header.index,
            last: header.last,
            bytes: piece.payload,
        }
    }
}

/// Puts the items of one source in order and releases each at its time.
#[derive(Debug)]
pub struct Playout {
    config: Config,
    session: Option<u16>,
    /// The session before: what is left of it must not bring it back.
    replaced: Option<u16>,
    clock: PlayoutClock,
    queue: Queue,
    /// The position after the last item released; `None` until the first is.
    cursor: Option<u64>,
    /// What is missing before this position is not waited for.
    floor: u64,
    late_since: Option<Time>,
    ledger: Ledger,
    spare: Distribution,
    stats: PlayoutStats,
}

impl Playout {
    /// A playout that waits for its first piece.
    #[must_use]
    pub fn new(config: Config) -> Self {
        Self {
            config,
            session: None,
            replaced: None,
            clock: PlayoutClock::new(config.latency).falling(),
            queue: Queue::new(config.max_bytes),
            cursor: None,
            floor: 0,
            late_since: None,
            ledger: Ledger::default(),
            spare: Distribution::new(),
            stats: PlayoutStats::default(),
        }
    }

    /// Takes a message that arrived at `now` over `path`. `None` for the path when it says nothing
    /// about how long messages take, because the message is known to have been sent again.
    ///
    /// Invalidates the answers of all polls.
    pub fn handle_message(&mut self, now: Time, path: Option<PathId>, message: Bytes) {
        match Piece::decode(message) {
            Ok(piece) => _ = self.handle_piece(now, path, &piece),
            Err(_) => self.stats.malformed += 1,
        }
    }

    /// The same for a piece that was decoded.
    pub fn handle_piece(&mut self, now: Time, path: Option<PathId>, piece: &Piece) -> Timeliness {
        let header = &piece.header;
        if self.replaced == Some(header.session) {
            self.stats.stray += 1;
            return Timeliness::Unused;
        }
        if self.session != Some(header.session) {
            self.begin_session(header.session);
        }
        if self.clock.is_broken_by(now, header.last_at()) {
            self.resync();
        }
        self.clock.sample(now, path, header.last_at());
        let arrival = self.enqueue(now, piece);
        if arrival.is_duplicate() {
            return Timeliness::Unused;
        }
        *self.stats.pieces.of_mut(header.class) += 1;
        self.ledger.on_piece(header);
        self.spare.record(self.spare_of(now, header));
        if arrival.late > 0 {
            *self.stats.late.of_mut(header.class) += 1;
        }
        self.watch_lateness(now, arrival.accepted == 0);
        if arrival.late > 0 { Timeliness::Late } else { Timeliness::InTime }
    }

    /// The next items that are due at `now`.
    ///
    /// Invalidates [`Playout::poll_timeout`].
    #[must_use]
    pub fn poll_release(&mut self, now: Time) -> Option<Released> {
        self.clock.advance(now);
        let head = self.queue.first()?;
        let due = self.due(&head.run, 0);
        if due > now || self.is_blocked() {
            return None;
        }
        let due_now = (1..head.run.count).take_while(|i| self.due(&head.run, *i) <= now).count();
        let segment = self.queue.pop_first(1 + due_now as u32)?;
        self.clock.settle();
        Some(self.release(segment, due))
    }

    /// When the next item is due, if it need not wait for another.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Wakeup> {
        let head = self.queue.first().filter(|_| !self.is_blocked())?;
        Some(Wakeup { at: self.due(&head.run, 0), why: "the next item is due" })
    }

    /// True if nothing waits.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.queue.first().is_none()
    }

    /// What became of all pieces so far.
    #[must_use]
    pub fn stats(&self) -> PlayoutStats {
        PlayoutStats {
            missing: self.ledger.missing(),
            queued_bytes: self.queue.bytes(),
            waits: self.stats.waits + self.clock.waits(),
            ..self.stats
        }
    }

    /// The latency in force.
    #[must_use]
    pub const fn latency(&self) -> Duration {
        self.config.latency
    }

    /// How long before their time pieces came, zero for late ones. Its lowest values say how much
    /// less latency would have done.
    #[must_use]
    pub const fn spare(&self) -> &Distribution {
        &self.spare
    }

    /// How long before its time a piece came; zero if late.
    #[must_use]
    pub fn spare_of(&self, now: Time, header: &Header) -> Duration {
        self.clock.local(header.first_at()) + self.config.latency - now
    }

    /// How far apart the clocks are and how long the paths take.
    #[must_use]
    pub const fn clock(&self) -> &PlayoutClock {
        &self.clock
    }

    fn due(&self, run: &Run, i: u32) -> Time {
        self.clock.local(run.time_of(i)) + self.config.latency
    }

    fn begin_session(&mut self, session: u16) {
        self.replaced = self.session.replace(session);
        self.stats.sessions += 1;
        self.ledger.begin_session();
        self.start_anew();
    }

    fn resync(&mut self) {
        self.stats.resyncs += 1;
        if self.is_patient() { self.restart_clock() } else { self.start_anew() }
    }

    fn start_anew(&mut self) {
        self.queue.clear(&mut self.stats.dropped_items);
        self.restart_clock();
        self.cursor = None;
        self.late_since = None;
    }

    fn restart_clock(&mut self) {
        self.stats.waits += self.clock.waits();
        self.clock = PlayoutClock::new(self.config.latency).falling();
    }

    fn enqueue(&mut self, now: Time, piece: &Piece) -> Arrival {
        let item_len = if piece.header.nulls { 0 } else { piece.item_len() };
        let mut late_items = 0;
        let mut parts = Vec::with_capacity(piece.header.runs.len());
        let mut start = 0;
        for run in &piece.header.runs {
            let late = self.late_items(now, run);
            late_items += u64::from(late);
            let end = start + item_len * run.count as usize;
            if late < run.count {
                parts.push((run.without_first(late), start + item_len * late as usize..end));
            }
            start = end;
        }
        let dropped_before = self.stats.dropped_items;
        let inserted = self.queue.insert(piece, parts, &mut self.stats.dropped_items);
        self.lose_patience_if(self.stats.dropped_items != dropped_before);
        self.stats.duplicate_items += inserted.duplicates;
        Arrival { late: late_items, accepted: inserted.accepted, duplicates: inserted.duplicates }
    }

    /// How many of the first items of a run came too late, or after a later one was released.
    fn late_items(&self, now: Time, run: &Run) -> u32 {
        let passed = self.cursor.map_or(0, |cursor| cursor.saturating_sub(run.position));
        let passed = u32::try_from(passed).unwrap_or(u32::MAX).min(run.count);
        if self.is_patient() {
            return passed;
        }
        let overdue =
            (passed..run.count).take_while(|i| self.due(run, *i) + LATE_TOLERANCE < now).count();
        passed + overdue as u32
    }

    fn watch_lateness(&mut self, now: Time, is_late: bool) {
        if !is_late {
            self.late_since = None;
            return;
        }
        let since = *self.late_since.get_or_insert(now);
        if now - since >= RESYNC_AFTER {
            self.resync();
        }
    }

    fn release(&mut self, segment: Segment, due: Time) -> Released {
        let Segment { run, meta, payload, .. } = segment;
        let skipped = self.cursor.map_or(0, |cursor| run.position.saturating_sub(cursor));
        self.cursor = Some(run.end());
        self.stats.skipped_items += skipped;
        self.stats.released_items += u64::from(run.count);
        self.stats.released_bytes += payload.len() as u64;
        Released {
            position: run.position,
            items: run.count.into(),
            skipped,
            due,
            sent: run.time_of(0),
            presentation: meta.presentation,
            track: meta.track,
            layer: meta.layer,
            class: meta.class,
            frame: meta.frame,
            index: meta.index,
            last: meta.unit_end == Some(run.end()),
            bytes: payload,
        }
    }
}

/// Whether a piece came in time.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Timeliness {
    /// All of it.
    InTime,
    /// Some of it came after its time.
    Late,
    /// It came before, or belongs to a session that is over.
    Unused,
}

/// What became of the items of one piece as it came.
#[derive(Debug)]
struct Arrival {
    accepted: u64,
    duplicates: u64,
    late: u64,
}

impl Arrival {
    const fn is_duplicate(&self) -> bool {
        self.accepted == 0 && self.late == 0 && self.duplicates > 0
    }
}

/// What the items of a piece have in common.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Meta {
    presentation: Option<Presentation>,
    track: Track,
    layer: Layer,
    class: Class,
    frame: u64,
    index: u64,
    /// The position after the piece, if it is known to end its unit.
    unit_end: Option<u64>,
    nulls: bool,
}

impl From<&Header> for Meta {
    fn from(header: &Header) -> Self {
        Self {
            presentation: header.presentation,
            track: header.track,
            layer: header.layer,
            class: header.class,
            frame: header.frame,
            index: header.index,
            unit_end: header.runs.last().filter(|_| header.last).map(Run::end),
            nulls: header.nulls,
        }
    }
}

#[cfg(test)]
mod tests;
