//! [`PathSet`]: all paths of an association, and which of them carries data.

use anabranch_sansio::{FourTuple, Rng, Time};

use super::{Heartbeat, Origin, Path, PathId, PathState};
use crate::config::AssociationConfig;
use crate::send::PathPreference;

/// All paths of an association. There is always at least one.
#[derive(Debug)]
pub(crate) struct PathSet {
    paths: Vec<Path>,
    primary: PathId,
    /// The path that data takes unless a message prefers another; kept to notice changes.
    current: PathId,
    limit: usize,
    /// How often a path's addresses changed.
    revision: u64,
}

impl PathSet {
    /// A set of one path, which becomes the primary.
    pub(crate) fn new(
        first: (FourTuple, Origin),
        state: PathState,
        config: &AssociationConfig,
        rng: &mut Rng,
    ) -> Self {
        let id = PathId(0);
        Self {
            paths: vec![Path::new(id, first, state, config, rng)],
            primary: id,
            current: id,
            limit: config.paths_max.clamp(1, usize::from(u8::MAX)),
            revision: 0,
        }
    }

    /// Adds a path that is not known; `None` when there are too many.
    pub(crate) fn add(
        &mut self,
        path: (FourTuple, Origin),
        state: PathState,
        config: &AssociationConfig,
        rng: &mut Rng,
    ) -> Option<PathId> {
        let id = if self.paths.len() < self.limit {
            PathId(u8::try_from(self.paths.len()).ok()?)
        } else {
            self.replaceable(config.path_max_retrans)?
        };
        let path = Path::new(id, path, state, config, rng);
        self.revision += 1;
        match self.paths.get_mut(id.index()) {
            Some(failed) => *failed = path,
            None => self.paths.push(path),
        }
        Some(id)
    }

    /// The path that can make way for a new one: the peer brought it, and it has not answered for
    /// the longest time.
    fn replaceable(&self, max_retrans: u32) -> Option<PathId> {
        let is_needed = |path: &Path| {
            path.origin == Origin::User || path.id == self.primary || path.id == self.current
        };
        let failed = self.paths.iter().filter(|path| path.error_count > max_retrans);
        let best = failed.filter(|path| !is_needed(path)).max_by_key(|path| path.error_count);
        best.map(|path| path.id)
    }

    /// Gives `id` the addresses of a candidate and what came over it, and forgets the candidate.
    pub(crate) fn absorb(&mut self, id: PathId, candidate: PathId) -> Option<&mut Path> {
        let old = self.lookup(id)?.tuple;
        let source = self.paths.get_mut(candidate.index())?;
        let tuple = std::mem::replace(&mut source.tuple, old);
        let (stats, last_heard) = (source.stats, source.last_heard);
        self.abandon(candidate);
        self.revision += 1;
        let path = self.paths.get_mut(id.index())?;
        path.tuple = tuple;
        path.last_heard = last_heard;
        path.stats.packets_sent += stats.packets_sent;
        path.stats.bytes_sent += stats.bytes_sent;
        path.stats.packets_received += stats.packets_received;
        path.stats.bytes_received += stats.bytes_received;
        path.stats.heartbeats_sent += stats.heartbeats_sent;
        path.stats.heartbeats_acked += stats.heartbeats_acked;
        Some(path)
    }

    /// Gives a candidate up; it may be named until [`remove_abandoned`](Self::remove_abandoned).
    pub(crate) fn abandon(&mut self, id: PathId) {
        let path = self.at_mut(id);
        path.heartbeat = Heartbeat::default();
        path.error_count = u32::MAX;
        path.is_abandoned = true;
    }

    /// Removes abandoned candidates from the end: the numbers of the others keep their meaning. One
    /// in between makes way when there are too many.
    pub(crate) fn remove_abandoned(&mut self) {
        while self.paths.len() > 1 && self.paths.last().is_some_and(|path| path.is_abandoned) {
            self.paths.pop();
            self.revision += 1;
        }
    }

    /// A number that changes whenever the addresses of the paths do.
    pub(crate) const fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn find(&self, tuple: FourTuple) -> Option<PathId> {
        self.paths.iter().find(|path| path.tuple == tuple).map(|path| path.id)
    }

    /// The path of an id that this set gave out.
    pub(crate) fn at(&self, id: PathId) -> &Path {
        &self.paths[id.index()]
    }

    pub(crate) fn at_mut(&mut self, id: PathId) -> &mut Path {
        &mut self.paths[id.index()]
    }

    /// The path of an id that a user gave.
    pub(crate) fn lookup(&self, id: PathId) -> Option<&Path> {
        self.paths.get(id.index())
    }

    /// How many paths, from the first on, the user gave or the peer confirmed.
    pub(crate) fn confirmed_prefix(&self) -> usize {
        self.paths.iter().take_while(|path| path.is_confirmed()).count().max(1)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PathId> + use<> {
        (0..self.paths.len()).filter_map(|index| u8::try_from(index).ok().map(PathId))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        self.paths.iter_mut()
    }

    pub(crate) const fn primary(&self) -> PathId {
        self.primary
    }

    pub(crate) const fn set_primary(&mut self, id: PathId) {
        self.primary = id;
    }

    /// The path that data takes now.
    pub(crate) const fn current(&self) -> PathId {
        self.current
    }

    /// Chooses the path for data anew; returns it if it is not the one of before.
    ///
    /// RFC 9260 section 8.2: "When the primary path is marked inactive ..., the sender MAY
    /// automatically transmit new packets to an alternate destination address if one exists and is
    /// active." RFC 7829 section 3.2, rule 4, extends this to potentially failed paths: of those,
    /// the one with the fewest errors serves while no path is active.
    pub(crate) fn reselect(&mut self) -> Option<PathId> {
        let rank = |path: &Path| {
            let errors = if path.state == PathState::Active { 0 } else { path.error_count };
            (path.state, errors, path.id != self.primary, path.id)
        };
        let best = self.paths.iter().min_by_key(|path| rank(path)).map(|path| path.id)?;
        if best == self.current {
            return None;
        }
        self.current = best;
        Some(best)
    }

    /// The path that a message prefers: preferences hold while the path is active.
    pub(crate) fn preferred(&self, preference: PathPreference) -> Option<PathId> {
        let PathPreference::Prefer(id) = preference else { return None };
        self.lookup(id).filter(|path| path.state == PathState::Active).map(|path| path.id)
    }

    /// The paths that can carry data: those that are active, or if there is none, the one that is
    /// next best.
    pub(crate) fn carriers(&self) -> impl Iterator<Item = &Path> {
        let is_active = |path: &Path| path.state == PathState::Active;
        let any = self.paths.iter().any(is_active);
        let can_carry =
            move |path: &&Path| if any { is_active(path) } else { path.id == self.current };
        self.paths.iter().filter(can_carry)
    }

    /// An active path other than `id`, for what was lost there.
    ///
    /// RFC 9260 section 6.4.1: "When retransmitting timed-out data, the endpoint SHOULD attempt to
    /// pick the most divergent source- destination pair from the original source-destination pair":
    /// the one that shares the fewest addresses.
    pub(crate) fn alternate_of(&self, id: PathId) -> Option<PathId> {
        self.alternate_among(id, |_| true)
    }

    /// The same among the paths that `is_eligible` accepts.
    pub(crate) fn alternate_among(
        &self,
        id: PathId,
        is_eligible: impl Fn(&Path) -> bool,
    ) -> Option<PathId> {
        let lost = self.at(id).tuple;
        let shared = |path: &Path| {
            u8::from(path.tuple.local.ip() == lost.local.ip())
                + u8::from(path.tuple.remote.ip() == lost.remote.ip())
        };
        let others = self.paths.iter().filter(|path| path.id != id && is_eligible(path));
        let active = others.filter(|path| path.state == PathState::Active);
        active.min_by_key(|path| (shared(path), path.id)).map(|path| path.id)
    }

    /// The earliest path timer, with the path and the timer's name.
    pub(crate) fn earliest_timer(&self) -> Option<(Time, &'static str)> {
        self.paths.iter().filter_map(Path::earliest_timer).min_by_key(|timer| timer.0)
    }
}

#[cfg(test)]
mod tests {
    use std::net::{IpAddr, SocketAddr};

    use super::*;

    fn addr(text: &str) -> SocketAddr {
        text.parse().unwrap()
    }

    fn ip(text: &str) -> IpAddr {
        text.parse().unwrap()
    }

    fn two_paths() -> PathSet {
        let config = AssociationConfig::default();
        let first = FourTuple::new(addr("10.0.1.1:9"), addr("10.0.1.2:9"));
        let second = FourTuple::new(addr("10.0.2.1:9"), addr("10.0.2.2:9"));
        let rng = &mut Rng::from_u64(1);
        let mut set = PathSet::new((first, Origin::User), PathState::Active, &config, rng);
        set.add((second, Origin::User), PathState::Active, &config, rng);
        set
    }

    #[test]
    fn data_leaves_a_failed_primary_and_returns_to_it() {
        let mut set = two_paths();
        set.at_mut(PathId(0)).state = PathState::PotentiallyFailed;
        assert_eq!(set.reselect(), Some(PathId(1)));
        assert_eq!(set.reselect(), None, "nothing changed since");
        set.at_mut(PathId(0)).state = PathState::Active;
        assert_eq!(set.reselect(), Some(PathId(0)));
    }

    #[test]
    fn with_no_active_path_the_one_with_fewest_errors_serves() {
        let mut set = two_paths();
        for (id, errors) in [(0, 3), (1, 2)] {
            let path = set.at_mut(PathId(id));
            path.state = PathState::PotentiallyFailed;
            path.error_count = errors;
        }
        set.reselect();
        assert_eq!(set.current(), PathId(1));
    }

    #[test]
    fn a_preference_holds_only_while_its_path_is_active() {
        let mut set = two_paths();
        let prefer = |id| PathPreference::Prefer(PathId(id));
        assert_eq!(set.preferred(prefer(1)), Some(PathId(1)));
        set.at_mut(PathId(1)).state = PathState::Inactive;
        assert_eq!(set.preferred(prefer(1)), None);
        assert_eq!(set.preferred(prefer(77)), None);
    }

    #[test]
    fn active_paths_carry_data_and_without_any_the_next_best_one() {
        let mut set = two_paths();
        let carriers = |set: &PathSet| set.carriers().map(|path| path.id.0).collect::<Vec<_>>();
        assert_eq!(carriers(&set), [0, 1]);
        set.at_mut(PathId(0)).state = PathState::PotentiallyFailed;
        assert_eq!(carriers(&set), [1]);
        set.at_mut(PathId(1)).state = PathState::Inactive;
        assert_eq!(carriers(&set), [0]);
    }

    #[test]
    fn the_number_of_paths_is_limited_and_one_that_failed_makes_way() {
        let config = AssociationConfig { paths_max: 3, ..AssociationConfig::default() };
        let tuple = |port, origin| {
            (FourTuple::new(addr("10.0.1.1:9"), SocketAddr::new(ip("10.0.1.2"), port)), origin)
        };
        let mut rng = Rng::from_u64(1);
        let first = tuple(1, Origin::User);
        let mut set = PathSet::new(first, PathState::Active, &config, &mut rng);
        let mut add = |set: &mut PathSet, port, origin| {
            set.add(tuple(port, origin), PathState::Unconfirmed, &config, &mut rng)
        };
        assert_eq!(add(&mut set, 2, Origin::User), Some(PathId(1)));
        assert_eq!(add(&mut set, 3, Origin::Peer), Some(PathId(2)));
        assert_eq!(add(&mut set, 4, Origin::Peer), None, "3 may answer yet");
        set.iter_mut().for_each(|path| path.error_count = config.path_max_retrans + 1);
        assert_eq!(add(&mut set, 4, Origin::Peer), Some(PathId(2)), "not one of the user's");
        assert_eq!(set.at(PathId(2)).tuple.remote.port(), 4);
        assert_eq!(set.at(PathId(2)).error_count, 0);
    }
}
