//! Messages that are given up, and when the peer is told (RFC 3758).

use std::time::Duration;

use anabranch_sansio::Time;

use super::{Context, DataSender, Phase};
use crate::send::{Abandoned, Abandonment, SendFailure, Undelivered};
use crate::trace::TraceKind;

/// The least time between two FORWARD TSNs that say the same: a round trip may seem to take no time
/// at all where clocks are coarse.
const FORWARD_TSN_PAUSE_MIN: Duration = Duration::from_millis(1);

impl DataSender {
    /// Gives up every message whose lifetime ended.
    pub(crate) fn expire_messages(&mut self, context: &mut Context<'_>) {
        if self.outstanding.next_expiration().is_none_or(|at| at > context.now) {
            return;
        }
        let paths = &self.paths;
        for path in self.outstanding.expire(context.now, |path| paths.at(path).rtt.patience()) {
            context.journal.stats.fast_recoveries += 1;
            self.paths.at_mut(path).congestion.on_loss(context.now);
        }
        self.settle_timers(context);
    }

    /// Gives up the rest of messages whose lifetimes ended in the middle of sending them.
    pub(super) fn give_up_unfinished(&mut self, context: &mut Context<'_>) {
        while self.outstanding.is_partially_reliable()
            && let Some(stream) = self.queue.expired_in_the_middle(context.now)
            && let Some(rest) = self.queue.take_rest(stream)
        {
            self.outstanding.push_abandoned(context.now, rest);
            self.settle_abandoned(context);
        }
    }

    /// Books abandoned messages, and gives the unsent rest of each a TSN that is abandoned at once,
    /// so that the peer drops the part it has.
    pub(crate) fn settle_abandoned(&mut self, context: &mut Context<'_>) {
        if !self.outstanding.has_abandoned() {
            return;
        }
        for stream in self.outstanding.unended().to_vec() {
            if let Some(rest) = self.queue.take_rest(stream) {
                self.outstanding.push_abandoned(context.now, rest);
            }
        }
        for Abandoned { stream, why, context: user } in self.outstanding.take_abandoned() {
            self.queue.count_abandoned(stream, why);
            let expired = why == Abandonment::Expired;
            context.journal.trace(context.now, TraceKind::Abandoned { stream, expired });
            let why = if expired { SendFailure::Expired } else { SendFailure::Retransmissions };
            let undelivered =
                user.map(|context| Undelivered { context, stream, was_sent: true, why });
            context.journal.tell_undelivered(undelivered);
        }
    }

    /// Whether a FORWARD TSN should go out now: at once when there is news, and once per round trip
    /// while the peer has not confirmed it (RFC 3758 section 3.5, F2: "waiting a full RTT before
    /// sending a duplicate FORWARD TSN").
    pub(crate) fn forward_tsn_is_due(&self, now: Time, phase: Phase) -> bool {
        if !self.outstanding.is_forward_tsn_due() || !phase.may_send() {
            return false;
        }
        let rtt = &self.paths.at(self.paths.current()).rtt;
        let round_trip = rtt.srtt().unwrap_or(rtt.rto()).max(FORWARD_TSN_PAUSE_MIN);
        self.forwarded.is_none_or(|(point, told)| {
            point < self.outstanding.advanced_peer_ack_point() || now >= told + round_trip
        })
    }
}
