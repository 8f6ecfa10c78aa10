//! How many connections of each path take data, where that is chosen as they go.

use std::time::Duration;

use anabranch_dccp::{CONNECTIONS_MAX, Endpoint, Look};
use anabranch_sansio::Time;

use super::sending::Post;
use super::{LEFT_OUT_SHOWS, Member, Path, Phase, Trunk, WAITING_MIN};
use crate::PathState;

/// How often the peer is told how many connections we would have, while there are fewer.
const WANT_INTERVAL: Duration = Duration::from_millis(500);

impl Trunk {
    /// Looks at the connections of each path, and opens those that are missing.
    pub(super) fn widen(&mut self, now: Time, endpoint: &mut Endpoint) {
        if !self.is_widening() {
            return;
        }
        for id in self.paths.keys().copied().collect::<Vec<_>>() {
            let Some(look) = self.look(now, id) else { continue };
            if let Some(path) = self.paths.get_mut(&id) {
                path.width.look(now, &look);
            }
            if self.is_caller {
                self.open_missing(now, endpoint, id);
            }
        }
    }

    const fn is_widening(&self) -> bool {
        self.is_automatic && matches!(self.phase, Phase::Open | Phase::Draining)
    }

    /// When to look next.
    pub(super) fn look_at(&self) -> Option<Time> {
        let is_looked_at = |path: &&Path| self.is_widening() && path.state == PathState::Active;
        let paths = self.paths.values().filter(is_looked_at);
        paths.map(|path| path.width.look_at()).min()
    }

    /// What the connections of a path look like, if it is time to look.
    fn look(&self, now: Time, id: u16) -> Option<Look> {
        let path = self.paths.get(&id).filter(|path| path.state == PathState::Active)?;
        let up = self.members_of(id).filter(|(_, member)| member.is_up && member.is_joined);
        let used: Vec<&Member> = up.map(|(_, it)| it).take(path.width.target()).collect();
        let waits = self.waiting_since.is_some_and(|since| now - since >= WAITING_MIN);
        let is_thinned = self.left_out_at.is_some_and(|at| now - at <= LEFT_OUT_SHOWS);
        let losses = || used.iter().map(|it| it.congestion.loss_event_rate).filter(|it| *it > 0.0);
        (path.width.look_at() <= now).then(|| Look {
            connections: used.len(),
            rtt: path.srtt(),
            loss_event_rate: losses().sum::<f64>() / losses().count().max(1) as f64,
            loss_events: path.counters.loss_events,
            bytes: path.counters.bytes_sent,
            packets: path.counters.packets_sent,
            is_limited: waits || is_thinned,
            allowed_rate: is_thinned.then(|| used.iter().map(|it| it.congestion.rate).sum()),
        })
    }

    /// How many connections a path of ours is to have: as many as either end would send by.
    pub(super) fn wanted(&self, path: u16) -> usize {
        match (self.is_automatic, self.paths.get(&path)) {
            (true, Some(path)) => path.width.target().max(path.peer_wants),
            _ => self.config.connections.first(),
        }
    }

    /// The peer would have so many connections on a path.
    pub(super) fn on_want(&mut self, now: Time, endpoint: &mut Endpoint, path: u16, count: u32) {
        let is_widening = self.is_widening();
        if let Some(known) = self.paths.get_mut(&path)
            && self.is_caller
            && is_widening
        {
            known.peer_wants = (count as usize).min(CONNECTIONS_MAX);
            self.open_missing(now, endpoint, path);
        }
    }

    /// Tells the caller how many connections we would have.
    pub(super) fn feed_wants(&mut self, now: Time, endpoint: &mut Endpoint) -> bool {
        if self.is_caller || !self.is_automatic {
            return false;
        }
        let mut fed = false;
        for id in self.paths.keys().copied().collect::<Vec<_>>() {
            let there = self.members_of(id).count();
            let Some(path) = self.paths.get(&id).filter(|path| path.want_at <= now) else {
                continue;
            };
            let count = path.width.target();
            let Some(member) = self.ready_now(now, endpoint, id).filter(|_| count > there) else {
                continue;
            };
            if let Some(path) = self.paths.get_mut(&id) {
                path.want_at = now + WANT_INTERVAL;
            }
            let count = u32::try_from(count).unwrap_or(u32::MAX);
            fed |= self.post(now, endpoint, member, Post::Want { path: id, count });
        }
        fed
    }

    /// Notes which connections take data: the first ones of each path.
    pub(super) fn note_used(&mut self) {
        if !self.is_automatic {
            return;
        }
        for (id, path) in &mut self.paths {
            let up = self.members.iter().filter(|(_, it)| it.path == *id && it.is_up);
            let last = up.take(path.width.target()).last();
            path.last_used = last.map_or(u32::MAX, |(number, _)| *number);
        }
    }

    /// Whether a connection takes data; the others rest until more are needed.
    pub(super) fn is_used(&self, number: u32, path: u16) -> bool {
        self.paths.get(&path).is_some_and(|path| number <= path.last_used)
    }
}
