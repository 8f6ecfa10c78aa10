//! [`Contender`]: who wants the channel, a station or the access point, and its backoff.

use std::time::Duration;

use anabranch_sansio::{Rng, Time};

use super::super::End;
use crate::WifiConfig;

/// Who wants the channel: a station or the access point.
#[derive(Debug)]
pub(super) struct Contender {
    pub(super) end: End,
    /// The links that it sends on, which take turns.
    links: Vec<usize>,
    /// Which of them is next.
    turn: usize,
    /// The contention window, in slots.
    window: u32,
    /// Slots to wait, as of `counts_from`.
    slots: u32,
    /// From when on idle slots count.
    counts_from: Time,
    /// Since when it has something to send.
    wants_since: Option<Time>,
}

impl Contender {
    pub(super) fn new(end: End, config: &WifiConfig) -> Self {
        Self {
            end,
            links: Vec::new(),
            turn: 0,
            window: config.contention_window.0,
            slots: 0,
            counts_from: Time::ZERO,
            wants_since: None,
        }
    }

    pub(super) fn add_link(&mut self, link: usize) {
        self.links.push(link);
    }

    /// Something waits to be sent from `now` on.
    ///
    /// Section 10.3.4.2: it is sent at once if the medium has been idle for DIFS; otherwise the
    /// station waits a random time, unless it is doing so already after its last frame.
    pub(super) fn want(&mut self, now: Time, medium_is_busy: bool, slot: Duration, rng: &mut Rng) {
        if self.wants_since.is_some() {
            return;
        }
        self.wants_since = Some(now);
        let must_wait = medium_is_busy || now < self.counts_from;
        if must_wait && self.slots_left(now, slot) == 0 {
            self.slots = draw(self.window, rng);
        }
    }

    /// Nothing waits any more.
    pub(super) fn rest(&mut self) {
        self.wants_since = None;
    }

    /// When it sends if nobody else does.
    pub(super) fn due(&self, slot: Duration) -> Option<Time> {
        let since = self.wants_since?;
        Some(since.max(self.counts_from + self.slots * slot))
    }

    /// Somebody else sends from `at` on: the slots that were idle until then are over.
    pub(super) fn freeze(&mut self, at: Time, slot: Duration) {
        self.slots = self.slots_left(at, slot);
    }

    /// Slots count again from then on.
    pub(super) fn resume(&mut self, at: Time) {
        self.counts_from = at;
    }

    /// Its frame was acknowledged, or given up: the next backoff is drawn from the smallest window
    /// (section 10.3.3).
    pub(super) fn succeed(&mut self, config: &WifiConfig, rng: &mut Rng) {
        self.window = config.contention_window.0;
        self.slots = draw(self.window, rng);
    }

    /// There was no answer. Section 10.3.3: the windows are powers of two less one, up to the
    /// largest.
    pub(super) fn fail(&mut self, config: &WifiConfig, rng: &mut Rng) {
        let doubled = self.window.saturating_mul(2).saturating_add(1);
        self.window = doubled.min(config.contention_window.1);
        self.slots = draw(self.window, rng);
    }

    /// The first link in turn that has something to send; the next turn is of those behind it.
    pub(super) fn take_turn(&mut self, has_something: impl Fn(usize) -> bool) -> Option<usize> {
        let count = self.links.len();
        let places = (0..count).map(|n| (self.turn + n) % count);
        let place = places.into_iter().find(|place| has_something(self.links[*place]))?;
        self.turn = (place + 1) % count;
        Some(self.links[place])
    }

    pub(super) fn has_any(&self, has_something: impl Fn(usize) -> bool) -> bool {
        self.links.iter().any(|link| has_something(*link))
    }

    fn slots_left(&self, at: Time, slot: Duration) -> u32 {
        let over = at.saturating_since(self.counts_from).as_nanos() / slot.as_nanos().max(1);
        self.slots.saturating_sub(u32::try_from(over).unwrap_or(u32::MAX))
    }
}

/// Section 10.3.3: uniform over 0 to the window, both included.
fn draw(window: u32, rng: &mut Rng) -> u32 {
    rng.range(0..u64::from(window) + 1) as u32
}
