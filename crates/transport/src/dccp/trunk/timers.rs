//! What time brings about in a trunk.

use std::time::Duration;

use anabranch_dccp::Endpoint;
use anabranch_sansio::{Time, Wakeup};

use super::{Phase, Trunk};
use crate::{CloseReason, Connection as _, Event, PathState};

/// A peer of which nothing was heard for so long is gone.
const UNREACHABLE_AFTER: Duration = Duration::from_secs(8);

/// How often a change of the rate is told.
const RATE_INTERVAL: Duration = Duration::from_millis(200);

/// Smaller changes of the rate are not told: a twentieth.
const RATE_CHANGE_MIN: u64 = 20;

impl Trunk {
    /// Does what time and the user have brought about.
    pub(in super::super) fn turn(&mut self, now: Time, endpoint: &mut Endpoint) {
        self.now = now;
        self.fulfil(now, endpoint);
        self.find_silent(now, endpoint);
        self.widen(now, endpoint);
        match &self.phase {
            Phase::Calling { until, .. } if *until <= now => {
                self.end(now, endpoint, CloseReason::HandshakeTimeout);
            }
            Phase::Calling { again_at, .. } if *again_at <= now => self.call_again(now, endpoint),
            Phase::Draining if self.is_drained() => self.say_bye(now),
            Phase::Leaving { until } if *until <= now => {
                self.end(now, endpoint, CloseReason::ShutdownTimeout);
            }
            Phase::Parting { until, reason } if *until <= now => {
                let reason = reason.clone();
                self.end(now, endpoint, reason);
            }
            Phase::Open | Phase::Draining if self.last_heard + UNREACHABLE_AFTER <= now => {
                self.end(now, endpoint, CloseReason::PeerUnreachable);
            }
            Phase::Calling { .. }
            | Phase::Open
            | Phase::Draining
            | Phase::Leaving { .. }
            | Phase::Parting { .. }
            | Phase::Over { .. } => {}
        }
        self.tell_news(now);
    }

    /// When [`turn`](Self::turn) or [`feed`](Self::feed) can do something.
    pub(in super::super) fn poll_timeout(&self, endpoint: &Endpoint) -> Option<Wakeup> {
        let of_phase = match &self.phase {
            Phase::Calling { until, again_at } if until <= again_at => {
                (*until, "no answer to the call")
            }
            Phase::Calling { again_at, .. } => (*again_at, "call again"),
            Phase::Open | Phase::Draining => (self.last_heard + UNREACHABLE_AFTER, "peer gone"),
            Phase::Leaving { until } | Phase::Parting { until, .. } => (*until, "parting"),
            Phase::Over { .. } => return None,
        };
        let is_calling = matches!(self.phase, Phase::Calling { .. });
        let paths = self.paths.iter().filter(|_| !is_calling).flat_map(|(id, path)| {
            let ready_at = self.first_ready(endpoint, *id).map(|(at, _)| at);
            let once_ready = |at: Time| ready_at.map(|ready| at.max(ready));
            let watched = Some(path).filter(|_| self.watches_paths());
            let silent = watched.and_then(|path| Some((path.silent_at()?, "silence")));
            let reopen =
                watched.and_then(|path| Some((path.reopen_at()?, "path to be opened anew")));
            let ack = path.ack_due.and_then(once_ready).map(|at| (at, "acknowledgement"));
            let ping = once_ready(path.ping_at()).map(|at| (at, "path probe"));
            [silent, reopen, ack, ping].into_iter().flatten()
        });
        let waits = !self.queue.is_empty() || !self.again.is_empty() || self.bye.is_some();
        let look = self.look_at().filter(|_| waits && !is_calling);
        let look = look.map(|at| (at, "look at the connections"));
        let members = self.members.values().filter(|_| waits);
        let data = members.filter_map(|member| {
            let at = self.ready_at(endpoint, member).filter(|at| *at > self.now)?;
            Some((at, "room for data"))
        });
        let joins = self.members.values().filter_map(|member| {
            let at = self.joins_at(member)?.max(self.ready_at(endpoint, member)?);
            Some((at, "word to whom a connection belongs"))
        });
        let next = paths.chain(data).chain(joins).chain(look).chain([of_phase]).min()?;
        Some(Wakeup { at: next.0, why: next.1 })
    }

    /// Who parts needs no path any more, and is not to be woken for one.
    const fn watches_paths(&self) -> bool {
        matches!(self.phase, Phase::Open | Phase::Draining | Phase::Leaving { .. })
    }

    /// Paths that no longer answer make way for others, and are opened anew.
    fn find_silent(&mut self, now: Time, endpoint: &mut Endpoint) {
        if !self.watches_paths() {
            return;
        }
        for id in self.paths.keys().copied().collect::<Vec<_>>() {
            let Some(path) = self.paths.get_mut(&id) else { continue };
            if path.silent_at().is_some_and(|at| at <= now) {
                path.counters.timeouts += 1;
                self.set_state(id, PathState::PotentiallyFailed);
                self.send_elsewhere(id);
                self.must_query = true;
            } else if path.reopen_at().is_some_and(|at| at <= now) {
                match self.is_caller {
                    true => self.reopen(now, endpoint, id),
                    false => {
                        path.answered_at = now;
                        self.set_state(id, PathState::Inactive);
                    }
                }
            }
        }
    }

    /// What must arrive and is under way on a silent path is sent again.
    fn send_elsewhere(&mut self, path: u16) {
        let of_path = self.members.values_mut().filter(|member| member.path == path);
        for mut fragment in of_path.flat_map(|member| member.flight.copy_repeated()) {
            fragment.is_again = true;
            self.again.push_back(fragment);
        }
    }

    fn tell_news(&mut self, now: Time) {
        if self.queue.take_writable() {
            self.tell(Event::Writable);
        }
        let Some(rate) = self.rate() else { return };
        let is_news = self.said_rate.is_none_or(|(at, said)| {
            let change = rate.carries.as_bps().abs_diff(said.carries.as_bps());
            let is_another = change * RATE_CHANGE_MIN > said.carries.as_bps();
            at + RATE_INTERVAL <= now && (is_another || rate.is_at_least != said.is_at_least)
        });
        if is_news {
            self.said_rate = Some((now, rate));
            self.trace_rate(now, rate);
            self.tell(Event::RateChanged(rate));
        }
    }
}
