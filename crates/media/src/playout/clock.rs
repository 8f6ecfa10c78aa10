//! How the sender's times are carried over to the local clock.
//!
//! Neither clock is right, and no message says how long it took. But each message gives the
//! difference `local arrival - time at the sender`: the distance of the clocks plus the time on the
//! way, and over a while the smallest one has waited nowhere.
//!
//! 1. For each path, the smallest difference of the last [`WINDOW`]: a minimum in each of
//!    [`BUCKETS`] parts of it, so that old ones leave.
//! 2. The target is the largest of these minima among the paths in use: latency counts from the
//!    slowest path, so that what takes it has as much time left as the latency promises. A path is
//!    in use if at least [`MIN_SHARE`] of the window's messages came over it; a path that only
//!    repeats what others lost is not.
//! 3. The offset in force moves to the target by `1 / TIME_CONSTANT` of the distance, at most
//!    [`MAX_SLEW`]. Until the first release it is the target.
//! 4. A path so long that all it brings is late is waited for, once it was so for [`WAIT_AFTER`]:
//!    the offset jumps to the target. Losing its share for a minute would be worse.
//! 5. Where nobody is to wait twice as long as asked for, and for minutes, it jumps back as well
//!    ([`PlayoutClock::falling`]). At the start, when the first message may have waited for a link
//!    that stood still, it follows sooner: for the first [`WINDOW`], by any [`FALL_AT_START`] that
//!    lasts for [`FALL_AFTER`].
//!
//! Clocks that drift apart by `d` make the offset lag by `d * TIME_CONSTANT`, and by up to
//! `d * WINDOW` more when the differences grow: 2.8 ms at 200 ppm, without a jump. A path of
//! another length costs a change of speed by 1 % for a while: no decoder's clock loses its lock.

use std::time::Duration;

use anabranch_sansio::{PathId, Time};

/// How long a smallest difference is remembered.
pub const WINDOW: Duration = Duration::from_secs(10);

/// Parts of the window.
pub const BUCKETS: usize = 10;

/// How fast the offset follows its target.
pub const TIME_CONSTANT: Duration = Duration::from_secs(4);

/// The most that it moves: 1 % of the time that passes.
pub const MAX_SLEW: f64 = 0.01;

/// Share of the messages from which on a path counts as in use.
pub const MIN_SHARE: f64 = 0.05;

/// Paths that are told apart. Above it, the one that was silent for longest is forgotten.
pub const MAX_PATHS: usize = 16;

/// Nothing gets so much faster than the fastest before it: a message that seems to be has another
/// clock, or a queue of seconds dissolved.
pub const BREAK: Duration = Duration::from_secs(1);

/// How long a path in use must be out of reach before everything waits for it. What an outage held
/// back is through by then.
pub const WAIT_AFTER: Duration = Duration::from_secs(3);

/// How much too late everything may be at the start, if it lasts.
pub const FALL_AT_START: Duration = Duration::from_millis(50);

/// How long it must last. A queue that dissolves at a few times the stream's rate is through by
/// then, or the offset falls again.
pub const FALL_AFTER: Duration = Duration::from_millis(200);

/// How much later than on the sender's clock something happens on ours: nanoseconds, negative if
/// our clock started later.
type Offset = i64;

/// Carries the sender's times over to the local clock.
#[derive(Debug)]
pub struct PlayoutClock {
    latency: Duration,
    paths: Vec<PathDelay>,
    /// The first difference; the offset in force counts from it, so that a float holds it exactly.
    origin: Option<Offset>,
    slewed: f64,
    advanced: Time,
    target: Option<Offset>,
    is_settled: bool,
    out_of_reach_since: Option<Time>,
    /// Whether it jumps back.
    falls: bool,
    behind_since: Option<Time>,
    began: Time,
    waits: u64,
}

impl PlayoutClock {
    /// A clock that has heard nothing yet, for media with so much latency.
    #[must_use]
    pub const fn new(latency: Duration) -> Self {
        Self {
            latency,
            paths: Vec::new(),
            origin: None,
            slewed: 0.0,
            advanced: Time::ZERO,
            target: None,
            is_settled: false,
            out_of_reach_since: None,
            falls: false,
            behind_since: None,
            began: Time::ZERO,
            waits: 0,
        }
    }

    /// The same, but that it falls where everything is too late for long: for media that leaves at
    /// the rate at which it came, and waits in no queue of a narrow network.
    #[must_use]
    pub const fn falling(mut self) -> Self {
        self.falls = true;
        self
    }

    /// Another latency, while it runs.
    pub const fn set_latency(&mut self, latency: Duration) {
        self.latency = latency;
    }

    /// A time of the sender's, as the local clock shows it where the slowest path ends.
    #[must_use]
    pub fn local(&self, sent: Time) -> Time {
        let offset = self.offset();
        let magnitude = Duration::from_nanos(offset.unsigned_abs());
        if offset < 0 { sent.saturating_sub(magnitude) } else { sent + magnitude }
    }

    /// Local time minus the sender's time, in nanoseconds, one way of the slowest path included.
    #[must_use]
    pub fn offset(&self) -> i64 {
        self.origin.unwrap_or_default().saturating_add(self.slewed as i64)
    }

    /// How much longer the fastest message of each path took than the fastest of all, over the
    /// last [`WINDOW`].
    pub fn path_delays(&self) -> impl Iterator<Item = (PathId, Duration)> {
        let fastest = self.paths.iter().filter_map(PathDelay::min).min().unwrap_or_default();
        self.paths.iter().filter_map(move |path| {
            let above = path.min()?.saturating_sub(fastest);
            Some((path.id, Duration::from_nanos(above.unsigned_abs())))
        })
    }

    /// Times that everything waited once for a slower path.
    pub(super) const fn waits(&self) -> u64 {
        self.waits
    }

    /// True if a message can only come from another clock than the ones before.
    #[must_use]
    pub fn is_broken_by(&self, now: Time, sent: Time) -> bool {
        if self.origin.is_none() {
            return false;
        }
        let smallest = self.paths.iter().filter_map(PathDelay::min).fold(self.offset(), i64::min);
        difference(now, sent) < smallest.saturating_sub(BREAK.as_nanos() as i64)
    }

    /// A message whose newest part came to the sender at `sent` arrived at `now`.
    pub fn sample(&mut self, now: Time, path: Option<PathId>, sent: Time) {
        let difference = difference(now, sent);
        if let Some(path) = path {
            self.path(now, path).sample(now, difference);
        }
        if self.origin.is_none() {
            self.origin = Some(difference);
            (self.advanced, self.began) = (now, now);
        }
        self.target = self.slowest_in_use(now);
        self.advance(now);
    }

    /// Lets the offset follow up to `now`.
    pub fn advance(&mut self, now: Time) {
        let elapsed = (now - self.advanced).as_secs_f64();
        if bucket_number(now) > bucket_number(self.advanced) {
            self.target = self.slowest_in_use(now);
        }
        self.advanced = self.advanced.max(now);
        let Some(target) = self.target else { return };
        let origin = self.origin.unwrap_or_default();
        let distance = target.saturating_sub(origin) as f64 - self.slewed;
        if !self.is_settled || self.is_out_of_reach(now, distance) {
            self.slewed += distance;
            return;
        }
        if self.falls
            && let Some(fall) = self.fall(now, distance)
        {
            self.slewed += fall;
            return;
        }
        let most = MAX_SLEW * elapsed * 1e9;
        let step = distance * (elapsed / TIME_CONSTANT.as_secs_f64()).min(1.0);
        self.slewed += step.clamp(-most, most);
    }

    /// True if the target was farther than the latency for long enough.
    fn is_out_of_reach(&mut self, now: Time, distance: f64) -> bool {
        if distance <= self.latency.as_nanos() as f64 {
            self.out_of_reach_since = None;
            return false;
        }
        let since = *self.out_of_reach_since.get_or_insert(now);
        let is_lasting = now - since >= WAIT_AFTER;
        if is_lasting {
            self.out_of_reach_since = None;
            self.waits += 1;
        }
        is_lasting
    }

    /// How far the offset falls, if it was too far above the target for long enough. At the start
    /// it falls no further than to the slowest path there is: its share may be yet to come.
    fn fall(&mut self, now: Time, distance: f64) -> Option<f64> {
        let is_start = now - self.began < WINDOW;
        let (distance, least, patience) = if is_start {
            let slowest = self.paths.iter().filter_map(PathDelay::min).max()?;
            let origin = self.origin.unwrap_or_default();
            let distance = slowest.saturating_sub(origin) as f64 - self.slewed;
            (distance, FALL_AT_START, FALL_AFTER)
        } else {
            (distance, self.latency, WAIT_AFTER)
        };
        if -distance <= least.as_nanos() as f64 {
            self.behind_since = None;
            return None;
        }
        let since = *self.behind_since.get_or_insert(now);
        if now - since < patience {
            return None;
        }
        self.behind_since = None;
        Some(distance)
    }

    /// From now on time passes evenly: something was released.
    pub const fn settle(&mut self) {
        self.is_settled = true;
    }

    fn path(&mut self, now: Time, id: PathId) -> &mut PathDelay {
        let known = self.paths.iter().position(|path| path.id == id);
        let index = known.unwrap_or_else(|| {
            if self.paths.len() >= MAX_PATHS {
                let silent = self.paths.iter().enumerate().min_by_key(|(_, path)| path.heard);
                let silent = silent.map_or(0, |(index, _)| index);
                self.paths.swap_remove(silent);
            }
            self.paths.push(PathDelay::new(id, now));
            self.paths.len() - 1
        });
        &mut self.paths[index]
    }

    fn slowest_in_use(&mut self, now: Time) -> Option<Offset> {
        self.paths.retain_mut(|path| path.forget_old(now));
        let total: u64 = self.paths.iter().map(PathDelay::count).sum();
        let least = (total as f64 * MIN_SHARE).max(1.0);
        let in_use = self.paths.iter().filter(|path| path.count() as f64 >= least);
        in_use.filter_map(PathDelay::min).max()
    }
}

fn difference(now: Time, sent: Time) -> Offset {
    i64::try_from(i128::from(now.as_nanos()) - i128::from(sent.as_nanos())).unwrap_or(i64::MIN)
}

/// The smallest differences of one path.
#[derive(Debug)]
struct PathDelay {
    id: PathId,
    heard: Time,
    buckets: [Bucket; BUCKETS],
}

/// One part of the window.
#[derive(Debug, Clone, Copy, Default)]
struct Bucket {
    /// Number of the part since the start of the run.
    number: u64,
    count: u64,
    min: Offset,
}

impl PathDelay {
    const fn new(id: PathId, now: Time) -> Self {
        Self { id, heard: now, buckets: [Bucket { number: 0, count: 0, min: 0 }; BUCKETS] }
    }

    fn sample(&mut self, now: Time, difference: Offset) {
        self.heard = now;
        let number = bucket_number(now);
        let Some(bucket) = self.buckets.get_mut(number as usize % BUCKETS) else { return };
        if bucket.number != number || bucket.count == 0 {
            *bucket = Bucket { number, count: 0, min: difference };
        }
        bucket.count += 1;
        bucket.min = bucket.min.min(difference);
    }

    /// Forgets what left the window; false if nothing remains.
    fn forget_old(&mut self, now: Time) -> bool {
        let oldest = (bucket_number(now) + 1).saturating_sub(BUCKETS as u64);
        for bucket in &mut self.buckets {
            if bucket.number < oldest {
                bucket.count = 0;
            }
        }
        self.count() > 0
    }

    fn count(&self) -> u64 {
        self.buckets.iter().map(|bucket| bucket.count).sum()
    }

    fn min(&self) -> Option<Offset> {
        self.buckets.iter().filter(|bucket| bucket.count > 0).map(|bucket| bucket.min).min()
    }
}

fn bucket_number(now: Time) -> u64 {
    let part = WINDOW.as_nanos() as u64 / BUCKETS as u64;
    now.as_nanos() / part
}
