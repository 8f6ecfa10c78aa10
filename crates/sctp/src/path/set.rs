//! [`PathSet`]: all paths of an association, and which of them carries data.

use anabranch_sansio::{FourTuple, Time};

use super::{Path, PathId, PathState};
use crate::config::AssociationConfig;
use crate::send::PathPreference;

/// All paths of an association. There is always at least one.
#[derive(Debug)]
pub(crate) struct PathSet {
    paths: Vec<Path>,
    primary: PathId,
    /// The path that data takes unless a message prefers another; kept to notice changes.
    current: PathId,
    pmdcs: usize,
    limit: usize,
}

impl PathSet {
    /// A set of one path, which becomes the primary.
    pub(crate) fn new(
        first: FourTuple,
        state: PathState,
        config: &AssociationConfig,
        pmdcs: usize,
    ) -> Self {
        let id = PathId(0);
        Self {
            paths: vec![Path::new(id, first, state, config, pmdcs)],
            primary: id,
            current: id,
            pmdcs,
            limit: config.paths_max.clamp(1, usize::from(u8::MAX)),
        }
    }

    /// Adds a path, or finds it; `None` when there are too many.
    pub(crate) fn add(
        &mut self,
        tuple: FourTuple,
        state: PathState,
        config: &AssociationConfig,
    ) -> Option<PathId> {
        if let Some(path) = self.find(tuple) {
            return Some(path);
        }
        if self.paths.len() >= self.limit {
            return None;
        }
        let id = PathId(u8::try_from(self.paths.len()).ok()?);
        self.paths.push(Path::new(id, tuple, state, config, self.pmdcs));
        Some(id)
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

    /// The path for a message that prefers one: preferences hold while the path is active.
    pub(crate) fn resolve(&self, preference: PathPreference) -> PathId {
        match preference {
            PathPreference::Any => self.current,
            PathPreference::Prefer(id) => match self.lookup(id) {
                Some(path) if path.state == PathState::Active => id,
                _ => self.current,
            },
        }
    }

    /// An active path other than `id`, for what was lost there.
    ///
    /// RFC 9260 section 6.4.1: "When retransmitting timed-out data, the endpoint SHOULD attempt to
    /// pick the most divergent source- destination pair from the original source-destination pair":
    /// the one that shares the fewest addresses.
    pub(crate) fn alternate_of(&self, id: PathId) -> Option<PathId> {
        let lost = self.at(id).tuple;
        let shared = |path: &Path| {
            u8::from(path.tuple.local.ip() == lost.local.ip())
                + u8::from(path.tuple.remote.ip() == lost.remote.ip())
        };
        let others = self.paths.iter().filter(|path| path.id != id);
        let active = others.filter(|path| path.state == PathState::Active);
        active.min_by_key(|path| (shared(path), path.id)).map(|path| path.id)
    }

    /// The earliest path timer, with the path and the timer's name.
    pub(crate) fn earliest_timer(&self) -> Option<(Time, &'static str)> {
        let t3 = self.paths.iter().filter_map(|path| Some((path.t3_rtx?, "T3-rtx")));
        let heartbeats =
            self.paths.iter().filter_map(|path| Some((path.heartbeat.timer?, "heartbeat")));
        t3.chain(heartbeats).min()
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
        let mut set = PathSet::new(first, PathState::Active, &config, 1_000);
        set.add(second, PathState::Active, &config);
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
        assert_eq!(set.resolve(PathPreference::Prefer(PathId(1))), PathId(1));
        set.at_mut(PathId(1)).state = PathState::Inactive;
        assert_eq!(set.resolve(PathPreference::Prefer(PathId(1))), PathId(0));
        assert_eq!(set.resolve(PathPreference::Prefer(PathId(77))), PathId(0));
    }

    #[test]
    fn the_number_of_paths_is_limited() {
        let config = AssociationConfig { paths_max: 2, ..AssociationConfig::default() };
        let tuple =
            |port| FourTuple::new(addr("10.0.1.1:9"), SocketAddr::new(ip("10.0.1.2"), port));
        let mut set = PathSet::new(tuple(1), PathState::Active, &config, 1_000);
        assert_eq!(set.add(tuple(2), PathState::Unconfirmed, &config), Some(PathId(1)));
        assert_eq!(set.add(tuple(2), PathState::Unconfirmed, &config), Some(PathId(1)));
        assert_eq!(set.add(tuple(3), PathState::Unconfirmed, &config), None);
    }
}
