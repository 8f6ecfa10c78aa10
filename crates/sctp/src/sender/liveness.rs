//! The states of paths (RFC 9260 section 8, RFC 7829), and whether the peer is there at all.

use super::{Context, DataSender};
use crate::event::Event;
use crate::journal::Journal;
use crate::path_name::{PathSlot, PathState};
use crate::send::LossDetection;
use crate::trace::TraceKind;

/// How far a path's error counter counts above 'Path.Max.Retrans'.
const ERRORS_ABOVE_MAX: u32 = 50;

/// Whether the peer still counts as there (RFC 9260 section 8.1).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[must_use]
pub(crate) enum Peer {
    Reachable,
    /// 'Association.Max.Retrans' was exceeded.
    Unreachable,
}

impl DataSender {
    /// RFC 9260 section 8.2: the path did not answer once more.
    pub(crate) fn on_path_error(
        &mut self,
        context: &mut Context<'_>,
        path: PathSlot,
        counts_for_peer: bool,
    ) -> Peer {
        if counts_for_peer {
            self.error_count += 1;
        }
        if self.error_count > context.config.recovery.association_max_retrans {
            return Peer::Unreachable;
        }
        let target = self.paths.at_mut(path);
        // RFC 7829 section 4.1, rule 3: "SCTP will need to allow for incrementing of the
        // destination address error counters up to some reasonable limit above PMR+1", so that the
        // best of several inactive paths can be told.
        let limit = context.config.paths.path_max_retrans.saturating_add(ERRORS_ABOVE_MAX);
        target.error_count = target.error_count.saturating_add(1).min(limit);
        let state = match target.error_count {
            _ if target.state == PathState::Unconfirmed => PathState::Unconfirmed,
            errors if errors > context.config.paths.path_max_retrans => PathState::Inactive,
            // RFC 7829 section 3.2, rule 2: "When the value in the destination address error
            // counter exceeds PFMR, the endpoint MUST mark the destination address as in the PF
            // state."
            errors if errors > context.config.paths.potentially_failed_max_retrans => {
                PathState::PotentiallyFailed
            }
            _ => target.state,
        };
        self.set_path_state(context, path, state);
        // What failed while it carried data is probed from now on, not only when it is idle.
        let rto = self.paths.at(path).rtt.rto();
        let heartbeat = &mut self.paths.at_mut(path).heartbeat;
        if state == PathState::PotentiallyFailed && !heartbeat.awaits_answer {
            let at = context.now + rto;
            heartbeat.timer = Some(heartbeat.timer.map_or(at, |timer| timer.min(at)));
        }
        Peer::Reachable
    }

    /// The user knows that nothing goes out on a path: what is in flight there is sent again, and
    /// says nothing about congestion.
    pub(crate) fn fail_path(&mut self, context: &mut Context<'_>, path: PathSlot) {
        let losses = self.outstanding.take_back(path);
        let target = self.paths.at_mut(path);
        target.stats.chunks_lost += losses.chunks as u64;
        target.t3_rtx = None;
        target.error_count = context.config.paths.path_max_retrans + 1;
        target.heartbeat.awaits_answer = false;
        if target.is_confirmed() {
            self.set_path_state(context, path, PathState::Inactive);
        }
        self.outstanding.advance();
        self.settle_timers(context);
    }

    /// The path answered.
    pub(crate) fn on_path_success(&mut self, context: &mut Context<'_>, path: PathSlot) {
        // What was sent there before it was deleted may be acknowledged still.
        if self.paths.at(path).is_deleted() {
            return;
        }
        self.paths.at_mut(path).error_count = 0;
        self.set_path_state(context, path, PathState::Active);
    }

    /// A path stands again: what went out on those that do not, since there was no other, need not
    /// wait for their timers.
    pub(super) fn leave_dead_paths(&mut self, context: &mut Context<'_>) {
        if context.config.recovery.loss_detection != LossDetection::InTime {
            return;
        }
        for path in self.paths.ids() {
            if self.paths.at(path).state == PathState::Inactive && self.outstanding.flight(path) > 0
            {
                self.fail_path(context, path);
            }
        }
    }

    fn set_path_state(&mut self, context: &mut Context<'_>, path: PathSlot, to: PathState) {
        let from = std::mem::replace(&mut self.paths.at_mut(path).state, to);
        if from != to {
            self.is_mtu_unsettled = true;
            let path = self.paths.at(path).id;
            context.journal.tell(Event::PathStateChanged { path, from, to });
            context.journal.trace(context.now, TraceKind::PathState { path, state: to });
        }
    }

    /// Moves data to the best path there is.
    pub(crate) fn reselect_path(&mut self, journal: &mut Journal) {
        let from = self.paths.current();
        if let Some(to) = self.paths.reselect() {
            let [from, to] = [from, to].map(|path| self.paths.at(path).id);
            journal.tell(Event::DataPathChanged { from, to });
        }
    }
}
