//! [`Watch`]: paths are left when they were silent for longer than a threshold, if one was chosen.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_sansio::{PathId, Time};
use anabranch_transport::{PathReport, PathState};

use super::Agent;
use crate::config::SILENCE_NOTICED;
use crate::monitor::{Monitor, Verdict};
use crate::paths::capital;
use crate::{End, EndReason, LogKind, PathUse};

/// Chang 2010, section 2: "by every 200 milliseconds periodically".
const CHECK_EVERY: Duration = Duration::from_millis(200);

/// Listens to the paths, and says when the one that carries data is left.
#[derive(Debug)]
pub(super) struct Watch {
    monitor: Monitor<PathId>,
    threshold: Duration,
    /// Packets that each path had brought when it was looked at last.
    received: BTreeMap<PathId, u64>,
}

impl Watch {
    pub(super) fn new(threshold: Duration, now: Time, paths: &[PathReport]) -> Self {
        let primary = paths.iter().find(|path| path.is_current).or(paths.first());
        let primary = primary.map_or(PathId(0), |path| path.id);
        let monitor = Monitor::new(threshold, CHECK_EVERY, now + CHECK_EVERY, primary);
        Self { monitor, threshold, received: BTreeMap::new() }
    }

    /// The user chose another primary.
    pub(super) const fn set_primary(&mut self, path: PathId) {
        self.monitor.set_primary(path);
    }

    /// An idle path brings heartbeats alone, which may come too seldom for a short threshold.
    fn check(
        &mut self,
        now: Time,
        paths: &[PathReport],
        is_meant: impl Fn(PathId) -> bool,
    ) -> Verdict<PathId> {
        self.listen(now, paths);
        let patience = self.threshold.max(SILENCE_NOTICED);
        let stands = |id| paths.iter().any(|it| it.id == id && it.state == PathState::Active);
        self.monitor.check(now, |id, silence| silence < patience && stands(id) && is_meant(id))
    }

    fn listen(&mut self, now: Time, paths: &[PathReport]) {
        let find = |id| paths.iter().find(|path| path.id == id);
        self.monitor.retain(|id| find(id).is_some());
        self.received.retain(|id, _| find(*id).is_some());
        for path in paths {
            let before = self.received.insert(path.id, path.packets_received);
            if path.packets_received > before.unwrap_or_default() {
                self.monitor.heard(now, path.id);
            }
        }
        // A path that the user left, or the peer, or whose interface is gone, carries nothing more.
        let carries = |path: &PathReport| path.state == PathState::Active && !path.is_spared;
        let is_left = !find(self.monitor.primary()).is_some_and(carries);
        let current = paths.iter().find(|path| path.is_current && carries(path));
        if let (true, Some(current)) = (is_left, current) {
            self.monitor.set_primary(current.id);
        }
    }
}

impl Agent {
    /// Leaves a path that is silent, or ends the call if there is no other; false if nobody chose a
    /// threshold.
    pub(super) fn leave_silent_path(&mut self, now: Time) -> bool {
        let paths = self.reports();
        let Some(watch) = &mut self.watch else { return false };
        let (from, silence) = (watch.monitor.primary(), watch.threshold.as_secs_f64());
        let is_meant = |path| self.paths.note(path).ours != PathUse::Never;
        let verdict = watch.check(now, &paths, is_meant);
        let find = |id| paths.iter().find(|path| path.id == id);
        let name = |id| {
            let path = find(id).map(|path| self.paths.name(id, path.tuple));
            path.unwrap_or_else(|| id.to_string())
        };
        match verdict {
            Verdict::Stay => {}
            Verdict::Switch(to) => {
                let (left, mut over) = (name(from), name(to));
                // Two paths from one interface differ by where they lead.
                if let Some(path) = find(to).filter(|_| over == left) {
                    over = format!("{over} towards {}", path.tuple.remote);
                }
                let left = capital(&left);
                let text = format!("{left} was silent for {silence} s: went over to {over}.");
                self.go_over(from, to);
                self.log(now, LogKind::PathFailed, Some(from), text);
            }
            Verdict::End => {
                let left = capital(&name(from));
                let text =
                    format!("{left} was silent for {silence} s, and no other path is available.");
                self.log(now, LogKind::NoPath, Some(from), text);
                let text = format!("No path was left after {silence} s: the call is over.");
                self.link.end(now, End { why: EndReason::NoPath, text });
            }
        }
        true
    }

    fn go_over(&mut self, from: PathId, to: PathId) {
        self.set_primary(Some(to));
        if let Some(connection) = self.link.connection_mut() {
            connection.spare_path(from, true);
        }
    }
}
