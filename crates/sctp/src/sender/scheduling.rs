//! Which data takes which path.

use std::time::Duration;

use anabranch_sansio::Rate;
use anabranch_wire::StreamId;

use super::packets::Turn;
use super::{Context, DataSender};
use crate::config::AssociationConfig;
use crate::path_choice::{Demand, Lost, Outlook};
use crate::path_name::PathSlot;
use crate::send::{Head, Retransmission};

impl DataSender {
    /// How the paths that can carry data stand, as far as there is a choice to make, in the scratch
    /// space, which the caller gives back.
    pub(super) fn take_outlooks(&mut self, context: &Context<'_>) -> Vec<Outlook> {
        let mut outlooks = std::mem::take(&mut self.outlooks);
        outlooks.clear();
        if !self.is_concurrent() && !self.outstanding.has_retransmissions() {
            return outlooks;
        }
        let packet = context.pmdcs();
        let share = self.buffer_share(context.config);
        let any_answers = self.paths.carriers().any(|path| !self.is_suspect(path.slot));
        // Nothing tells how long a path takes that was never measured: its first HEARTBEAT does.
        let any_measured = self.paths.carriers().any(|path| path.rtt.srtt().is_some());
        let carriers = self.paths.carriers();
        let sound = carriers.filter(|path| !(any_answers && self.is_suspect(path.slot)));
        let sound = sound.filter(|path| !any_measured || path.rtt.srtt().is_some());
        outlooks.extend(sound.map(|path| {
            let in_flight = self.outstanding.flight(path.slot);
            let has_room = in_flight == 0 || in_flight < share;
            Outlook {
                is_open: has_room && self.may_send_on(path.slot) && path.pacer.is_open(context.now),
                ..path.outlook(context.now, (in_flight, share), packet)
            }
        }));
        outlooks
    }

    /// Whether several paths carry new data at once.
    pub(crate) const fn is_concurrent(&self) -> bool {
        self.path_scheduler.is_some()
    }

    /// Whether a path fell silent, so that it is asked whether it lives: what goes there until the
    /// answer comes would be late if there is none.
    pub(super) fn is_suspect(&self, path: PathSlot) -> bool {
        self.outstanding.is_probed_by_heartbeat(path)
    }

    /// The path that new data takes with one path at a time. While that one is asked whether it
    /// lives, it is another one: without an answer all that was sent meanwhile would have to be
    /// sent again at once.
    ///
    /// RFC 7829 section 3, rule 3: "An SCTP-PF sender SHOULD NOT send data to destination addresses
    /// in PF state when alternative destination addresses in active state are available."
    fn path_of_new_data(&self) -> PathSlot {
        let current = self.paths.current();
        let asked = self.is_suspect(current).then_some(current);
        asked.and_then(|path| self.partner_of(path)).unwrap_or(current)
    }

    /// Bytes of the peer's receive buffer that one path may fill (Adhari 2011, section IV).
    fn buffer_share(&self, config: &AssociationConfig) -> usize {
        if !self.is_concurrent() || !config.paths.buffer_splitting {
            return usize::MAX;
        }
        let buffer = self.window.rwnd + self.outstanding.bytes_outstanding();
        buffer / self.paths.carriers().count().max(1)
    }

    /// The stream whose message takes `path` next, with the bytes that are left of the message.
    pub(super) fn next_message(
        &mut self,
        context: &Context<'_>,
        path: PathSlot,
        turn: Turn,
        outlooks: &[Outlook],
    ) -> Option<(StreamId, usize)> {
        let spreads = self.is_concurrent() && !context.config.paths.doubles();
        let id = self.paths.at(path).id;
        let peer_window = self.window.rwnd;
        let alone = self.path_of_new_data();
        let path_scheduler = &mut self.path_scheduler;
        let (paths, outstanding) = (&self.paths, &self.outstanding);
        let eligible = |head: &Head<'_>| {
            if turn == Turn::Express && !head.is_urgent() {
                return false;
            }
            if let Some(preferred) = paths.preferred(head.preference) {
                return preferred == path;
            }
            if turn == Turn::Express {
                let earliest = outlooks.iter().min_by_key(|outlook| outlook.arrival);
                return earliest.map_or(alone, |outlook| outlook.slot) == path;
            }
            let Some(scheduler) = path_scheduler else { return alone == path };
            let backlog = || head.backlog();
            let demand =
                Demand { now: context.now, expires: head.expires, peer_window, backlog: &backlog };
            scheduler.choose(&demand, outlooks) == Some(id)
        };
        let time_on = |path, len| paths.at(path).time_to_send(len, outstanding.flight(path));
        let time_to_send = |head: &Head<'_>, len| {
            let takes_one = paths.preferred(head.preference).is_some() || !spreads;
            match takes_one {
                _ if !outstanding.is_partially_reliable() => Duration::ZERO,
                true => time_on(path, len),
                false => time_on_all(outlooks, len, time_on),
            }
        };
        self.queue.next(context.now, eligible, time_to_send)
    }

    /// Where a lost chunk goes, as far as it need not wait.
    ///
    /// RFC 9260 section 6.4: "when its peer is multi-homed, an endpoint SHOULD try to retransmit a
    /// chunk that timed out to an active destination transport address that is different from the
    /// last destination address to which the chunk was sent."; "an endpoint SHOULD send fast
    /// retransmissions to the same destination transport address to which the original data was
    /// sent."
    ///
    /// What was sent over a path that is asked whether it lives counts as timed out, however its
    /// loss was found: what arrived over another path does not show that this one carries.
    pub(super) fn retransmission_path(
        &self,
        config: &AssociationConfig,
        lost: &Retransmission,
        outlooks: &[Outlook],
    ) -> Option<PathSlot> {
        let policy = config.recovery.retransmission_policy;
        let from = Lost { path: lost.last_path, timed_out: lost.timed_out };
        let chosen = policy.choose(from, outlooks);
        if chosen.is_some() || policy.waits() {
            return chosen;
        }
        let left = lost.timed_out || self.is_suspect(lost.last_path);
        let alternate = || {
            let answering = self.partner_of(lost.last_path);
            answering.or_else(|| self.paths.alternate_of(lost.last_path)).filter(|_| left)
        };
        let preferred = || self.paths.preferred(lost.preference).filter(|_| lost.timed_out);
        Some(alternate().or_else(preferred).unwrap_or_else(|| self.paths.current()))
    }
}

/// How long `len` bytes take when all paths send their share of them: as long as the quickest one
/// takes for its own, since what the others lag behind goes over to it.
fn time_on_all(
    outlooks: &[Outlook],
    len: usize,
    time_on: impl Fn(PathSlot, usize) -> Duration,
) -> Duration {
    let total: u64 = outlooks.iter().map(|path| path.rate.as_bps()).fold(0, u64::saturating_add);
    let share = |rate: Rate| match total {
        0 => len,
        _ => (len as f64 * rate.as_bps() as f64 / total as f64).ceil() as usize,
    };
    let times = outlooks.iter().map(|path| time_on(path.slot, share(path.rate)));
    times.min().unwrap_or_default()
}
