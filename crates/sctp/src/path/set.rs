//! [`PathSet`]: all paths of an association, and which of them carries data.

use anabranch_sansio::{FourTuple, Rng};

use super::{Heartbeat, Membership, Origin, Path, PathId, PathSlot, PathState};
use crate::config::AssociationConfig;
use crate::send::PathPreference;
use crate::stats::PathStats;

/// All paths of an association. There is always at least one.
#[derive(Debug)]
pub(crate) struct PathSet {
    paths: Vec<Path>,
    primary: PathSlot,
    /// The path that data takes unless a message prefers another; kept to notice changes.
    current: PathSlot,
    limit: usize,
    /// How many paths there were.
    named: u32,
    /// The counters of those that are gone.
    gone: PathStats,
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
        let slot = PathSlot(0);
        Self {
            paths: vec![Path::new((slot, PathId(0)), first, state, config, rng)],
            primary: slot,
            current: slot,
            limit: config.paths.paths_max.clamp(1, usize::from(u8::MAX)),
            named: 1,
            gone: PathStats::default(),
            revision: 0,
        }
    }

    /// Adds a path that is not known, in the place of [`next_to_go`](Self::next_to_go) when there
    /// are as many as there may be; `None` when there are too many.
    pub(crate) fn add(
        &mut self,
        path: (FourTuple, Origin),
        state: PathState,
        config: &AssociationConfig,
        rng: &mut Rng,
    ) -> Option<PathSlot> {
        let slot = if self.paths.len() < self.limit {
            PathSlot(u8::try_from(self.paths.len()).ok()?)
        } else {
            self.next_to_go(config.paths.path_max_retrans)?
        };
        let path = Path::new((slot, PathId(self.named)), path, state, config, rng);
        self.named = self.named.checked_add(1)?;
        self.revision += 1;
        match self.paths.get_mut(slot.index()) {
            Some(failed) => {
                self.gone.add(&failed.stats);
                *failed = path;
            }
            None => self.paths.push(path),
        }
        Some(slot)
    }

    /// The path that makes way for the next one, when there are as many as there may be: the peer
    /// brought it, and it has not answered for the longest time.
    pub(crate) fn next_to_go(&self, max_retrans: u32) -> Option<PathSlot> {
        if self.paths.len() < self.limit {
            return None;
        }
        let is_needed = |path: &Path| {
            path.origin == Origin::User || path.slot == self.primary || path.slot == self.current
        };
        let failed = self.paths.iter().filter(|path| path.error_count > max_retrans);
        let best = failed.filter(|path| !is_needed(path)).max_by_key(|path| path.error_count);
        best.map(|path| path.slot)
    }

    /// Gives `slot` the addresses of a candidate and what arrived over it, and forgets the
    /// candidate.
    pub(crate) fn absorb(&mut self, slot: PathSlot, candidate: PathSlot) -> Option<&mut Path> {
        let old = self.paths.get(slot.index())?.tuple;
        let source = self.paths.get_mut(candidate.index())?;
        let tuple = std::mem::replace(&mut source.tuple, old);
        let (stats, last_heard) = (std::mem::take(&mut source.stats), source.last_heard);
        self.abandon(candidate);
        self.revision += 1;
        let path = self.paths.get_mut(slot.index())?;
        path.tuple = tuple;
        path.last_heard = last_heard;
        path.stats.add(&stats);
        Some(path)
    }

    /// Gives a candidate up; it may be named until [`remove_abandoned`](Self::remove_abandoned).
    pub(crate) fn abandon(&mut self, slot: PathSlot) {
        let path = self.at_mut(slot);
        path.heartbeat = Heartbeat::default();
        path.error_count = u32::MAX;
        path.membership = Membership::Abandoned;
    }

    /// Removes abandoned candidates from the end, so that the others keep their places. One in
    /// between makes way when there are too many.
    pub(crate) fn remove_abandoned(&mut self) {
        while self.paths.len() > 1
            && let Some(candidate) = self.paths.pop_if(|path| path.is_abandoned())
        {
            self.gone.add(&candidate.stats);
            self.revision += 1;
        }
    }

    /// The counters of all paths that there are and were.
    pub(crate) fn totals(&self) -> PathStats {
        let mut totals = self.gone;
        self.paths.iter().for_each(|path| totals.add(&path.stats));
        totals
    }

    /// Bytes acknowledged on all of them.
    pub(crate) fn bytes_acked(&self) -> u64 {
        let on_paths: u64 = self.paths.iter().map(|path| path.stats.bytes_acked).sum();
        self.gone.bytes_acked + on_paths
    }

    /// A number that changes whenever the addresses of the paths do.
    pub(crate) const fn revision(&self) -> u64 {
        self.revision
    }

    pub(crate) fn find(&self, tuple: FourTuple) -> Option<PathSlot> {
        self.paths.iter().find(|path| path.tuple == tuple).map(|path| path.slot)
    }

    /// The path at a place that this set gave out.
    pub(crate) fn at(&self, slot: PathSlot) -> &Path {
        &self.paths[slot.index()]
    }

    pub(crate) fn at_mut(&mut self, slot: PathSlot) -> &mut Path {
        &mut self.paths[slot.index()]
    }

    /// The path at a place that may be empty by now.
    pub(crate) fn lookup(&self, slot: PathSlot) -> Option<&Path> {
        self.paths.get(slot.index())
    }

    /// The path that a user names.
    pub(crate) fn named(&self, id: PathId) -> Option<&Path> {
        self.paths.iter().find(|path| path.id == id)
    }

    /// How many paths, from the first on, the user gave or the peer confirmed.
    pub(crate) fn confirmed_prefix(&self) -> usize {
        self.paths.iter().take_while(|path| path.is_confirmed()).count().max(1)
    }

    pub(crate) fn ids(&self) -> impl Iterator<Item = PathSlot> + use<> {
        (0..self.paths.len()).filter_map(|index| u8::try_from(index).ok().map(PathSlot))
    }

    pub(crate) fn iter(&self) -> impl Iterator<Item = &Path> {
        self.paths.iter()
    }

    pub(crate) fn iter_mut(&mut self) -> impl Iterator<Item = &mut Path> {
        self.paths.iter_mut()
    }

    pub(crate) const fn primary(&self) -> PathSlot {
        self.primary
    }

    pub(crate) const fn set_primary(&mut self, slot: PathSlot) {
        self.primary = slot;
    }

    /// The path that data takes now.
    pub(crate) const fn current(&self) -> PathSlot {
        self.current
    }

    /// Chooses the path for data anew; returns it if it is not the one of before.
    ///
    /// RFC 9260 section 8.2: "When the primary path is marked inactive ..., the sender MAY
    /// automatically transmit new packets to an alternate destination address if one exists and is
    /// active." RFC 7829 section 3.2, rule 4, extends this to potentially failed paths: of those,
    /// the one with the fewest errors serves while no path is active. One that is spared serves
    /// only while no other is in its state.
    pub(crate) fn reselect(&mut self) -> Option<PathSlot> {
        // The primary has the first rank of all as long as it serves.
        let is_first = |path: &Path| path.state == PathState::Active && !path.is_spared;
        if self.current == self.primary && is_first(self.at(self.primary)) {
            return None;
        }
        let rank = |path: &Path| {
            let errors = if path.state == PathState::Active { 0 } else { path.error_count };
            (path.state, path.is_spared, errors, path.slot != self.primary, path.slot)
        };
        let best = self.paths.iter().min_by_key(|path| rank(path)).map(|path| path.slot)?;
        if best == self.current {
            return None;
        }
        self.current = best;
        Some(best)
    }

    /// The path that a message prefers: preferences hold while the path is active.
    pub(crate) fn preferred(&self, preference: PathPreference) -> Option<PathSlot> {
        let PathPreference::Prefer(id) = preference else { return None };
        self.named(id).filter(|path| path.state == PathState::Active).map(|path| path.slot)
    }

    /// The paths that can carry data: those that are active, the spared ones only if no other is;
    /// or if there is none, the one that is next best.
    pub(crate) fn carriers(&self) -> impl Iterator<Item = &Path> {
        let is_active = |path: &Path| path.state == PathState::Active;
        let any = self.paths.iter().any(is_active);
        let any_serves = self.any_serves();
        let can_carry = move |path: &&Path| match (any_serves, any) {
            (true, _) => is_active(path) && !path.is_spared,
            (false, true) => is_active(path),
            (false, false) => path.slot == self.current,
        };
        self.paths.iter().filter(can_carry)
    }

    /// Whether there is an active path that is not spared.
    fn any_serves(&self) -> bool {
        self.paths.iter().any(|path| path.state == PathState::Active && !path.is_spared)
    }

    /// An active path other than `slot`, for what was lost there.
    ///
    /// RFC 9260 section 6.4.1: "When retransmitting timed-out data, the endpoint SHOULD attempt to
    /// pick the most divergent source- destination pair from the original source-destination pair":
    /// the one that shares the fewest addresses.
    pub(crate) fn alternate_of(&self, slot: PathSlot) -> Option<PathSlot> {
        self.alternate_among(slot, |_| true)
    }

    /// Whether there is an active path other than `slot`.
    pub(crate) fn has_alternate(&self, slot: PathSlot) -> bool {
        self.paths.iter().any(|path| path.slot != slot && path.state == PathState::Active)
    }

    /// The same as [`alternate_of`](Self::alternate_of) among the paths that `is_eligible` accepts.
    pub(crate) fn alternate_among(
        &self,
        slot: PathSlot,
        is_eligible: impl Fn(&Path) -> bool,
    ) -> Option<PathSlot> {
        let lost = self.at(slot).tuple;
        let shared = |path: &Path| {
            u8::from(path.tuple.local.ip() == lost.local.ip())
                + u8::from(path.tuple.remote.ip() == lost.remote.ip())
        };
        let any_serves = self.any_serves();
        let others = self.paths.iter().filter(|path| path.slot != slot && is_eligible(path));
        let active = others.filter(|path| path.state == PathState::Active);
        let active = active.filter(|path| !(any_serves && path.is_spared));
        active.min_by_key(|path| (shared(path), path.slot)).map(|path| path.slot)
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
        set.at_mut(PathSlot(0)).state = PathState::PotentiallyFailed;
        assert_eq!(set.reselect(), Some(PathSlot(1)));
        assert_eq!(set.reselect(), None, "nothing changed since");
        set.at_mut(PathSlot(0)).state = PathState::Active;
        assert_eq!(set.reselect(), Some(PathSlot(0)));
    }

    #[test]
    fn with_no_active_path_the_one_with_fewest_errors_serves() {
        let mut set = two_paths();
        for (id, errors) in [(0, 3), (1, 2)] {
            let path = set.at_mut(PathSlot(id));
            path.state = PathState::PotentiallyFailed;
            path.error_count = errors;
        }
        set.reselect();
        assert_eq!(set.current(), PathSlot(1));
    }

    #[test]
    fn a_preference_holds_only_while_its_path_is_active() {
        let mut set = two_paths();
        let prefer = |id| PathPreference::Prefer(PathId(id));
        assert_eq!(set.preferred(prefer(1)), Some(PathSlot(1)));
        set.at_mut(PathSlot(1)).state = PathState::Inactive;
        assert_eq!(set.preferred(prefer(1)), None);
        assert_eq!(set.preferred(prefer(77)), None);
    }

    #[test]
    fn active_paths_carry_data_and_without_any_the_next_best_one() {
        let mut set = two_paths();
        let carriers = |set: &PathSet| set.carriers().map(|path| path.slot.0).collect::<Vec<_>>();
        assert_eq!(carriers(&set), [0, 1]);
        set.at_mut(PathSlot(0)).state = PathState::PotentiallyFailed;
        assert_eq!(carriers(&set), [1]);
        set.at_mut(PathSlot(1)).state = PathState::Inactive;
        assert_eq!(carriers(&set), [0]);
    }

    #[test]
    fn a_spared_path_carries_data_only_while_no_other_stands() {
        let mut set = two_paths();
        let carriers = |set: &PathSet| set.carriers().map(|path| path.slot.0).collect::<Vec<_>>();
        set.at_mut(PathSlot(0)).is_spared = true;
        assert_eq!((set.reselect(), carriers(&set)), (Some(PathSlot(1)), vec![1]));
        assert_eq!(set.alternate_of(PathSlot(1)), None, "no copies on what is spared");
        set.at_mut(PathSlot(1)).state = PathState::PotentiallyFailed;
        assert_eq!((set.reselect(), carriers(&set)), (Some(PathSlot(0)), vec![0]));
        assert_eq!(set.alternate_of(PathSlot(1)), Some(PathSlot(0)));
        set.at_mut(PathSlot(1)).state = PathState::Active;
        assert_eq!((set.reselect(), carriers(&set)), (Some(PathSlot(1)), vec![1]));
    }

    #[test]
    fn the_number_of_paths_is_limited_and_one_that_failed_makes_way() {
        let config = AssociationConfig::default().with(|config| config.paths.paths_max = 3);
        let tuple = |port, origin| {
            (FourTuple::new(addr("10.0.1.1:9"), SocketAddr::new(ip("10.0.1.2"), port)), origin)
        };
        let mut rng = Rng::from_u64(1);
        let first = tuple(1, Origin::User);
        let mut set = PathSet::new(first, PathState::Active, &config, &mut rng);
        let mut add = |set: &mut PathSet, port, origin| {
            set.add(tuple(port, origin), PathState::Unconfirmed, &config, &mut rng)
        };
        assert_eq!(add(&mut set, 2, Origin::User), Some(PathSlot(1)));
        assert_eq!(add(&mut set, 3, Origin::Peer), Some(PathSlot(2)));
        assert_eq!(add(&mut set, 4, Origin::Peer), None, "3 may answer yet");
        set.iter_mut().for_each(|path| path.error_count = config.paths.path_max_retrans + 1);
        assert_eq!(add(&mut set, 4, Origin::Peer), Some(PathSlot(2)), "not one of the user's");
        assert_eq!(set.at(PathSlot(2)).tuple.remote.port(), 4);
        assert_eq!(set.at(PathSlot(2)).error_count, 0);
    }
}
