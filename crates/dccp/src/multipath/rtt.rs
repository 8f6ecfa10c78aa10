//! Round-trip times that both ends tell each other: section 3.2.7.

use std::time::Duration;

use anabranch_sansio::Time;

use super::group::Group;
use super::{Multipath, MultipathId, SubflowId};
use crate::wire::MultipathOption;

/// How often the round-trip times are told, while data are sent.
const TELL_INTERVAL: Duration = Duration::from_secs(1);

/// How old a round-trip time may be that counts: over a path that others spare, nothing new is
/// measured.
const AGE_MAX: Duration = Duration::from_secs(30);

/// The types that tell how long a path is now: "Raw RTT (=0)" and "Smooth RTT (=3)".
const RAW: u8 = 0;
const SMOOTH: u8 = 3;

/// A path's round-trip time, as its sender has it, and when it was measured.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PeerRtt {
    rtt: Duration,
    at: Time,
}

/// What was told of a path's round-trip time last.
#[derive(Debug, Clone, Copy)]
pub(super) struct OwnRtt {
    told: Option<(Time, Duration)>,
    /// How many datagrams had gone over all paths then.
    sent: u64,
}

impl OwnRtt {
    pub(super) const NOTHING: Self = Self { told: None, sent: 0 };

    /// Every second while data are sent, and each round trip while it changes by a quarter.
    fn is_due(&self, now: Time, sent: u64, rtt: Duration) -> bool {
        let Some((at, told)) = self.told else { return sent > 0 };
        let is_other = rtt.abs_diff(told) * 4 > told && now - at >= rtt;
        sent > self.sent && (is_other || now - at >= TELL_INTERVAL)
    }
}

impl Multipath {
    /// Tells the peer how long the paths are, while data go over them: it "is useful for the
    /// receiving host to calculate the RTT difference between the subflows and to estimate whether
    /// missing data has been lost." One path alone has no difference.
    pub(super) fn tell_rtts(&mut self, now: Time, id: MultipathId) {
        let Self { groups, endpoint, .. } = self;
        let Some(group) = groups.get_mut(&id).filter(|group| group.repeats()) else { return };
        let sent = group.stats.sent;
        if group.subflows.values().filter(|subflow| subflow.is_up()).count() < 2 {
            return;
        }
        for subflow in group.subflows.values_mut().filter(|subflow| subflow.is_up()) {
            let rtt = endpoint.connection(subflow.id).and_then(|it| it.stats().congestion.rtt);
            let Some(rtt) = rtt.filter(|rtt| subflow.own_rtt.is_due(now, sent, *rtt)) else {
                continue;
            };
            // "The Age parameter defines the time difference between now [...] and the conducted
            // RTT measurement in milliseconds."
            let words = [rtt, now - subflow.heard_at].map(millis);
            let option = MultipathOption::Rtt { kind: SMOOTH, rtt: words[0], age: words[1] };
            let connection = endpoint.connection_mut(subflow.id);
            if connection.and_then(|it| it.subflow_mut()).is_some_and(|it| it.say(&[option])) {
                subflow.own_rtt = OwnRtt { told: Some((now, rtt)), sent };
            }
        }
    }

    /// MP_RTT. Greatest and least ones say nothing of how long a path is now.
    pub(super) fn on_rtt(
        &mut self,
        now: Time,
        (owner, name): (MultipathId, SubflowId),
        (kind, rtt, age): (u8, u32, u32),
    ) {
        let subflow = self.groups.get_mut(&owner).and_then(|it| it.subflows.get_mut(&name));
        let [rtt, age] = [rtt, age].map(|ms| Duration::from_millis(ms.into()));
        let counts = matches!(kind, RAW | SMOOTH) && age <= AGE_MAX;
        if let Some(subflow) = subflow.filter(|_| counts) {
            subflow.peer_rtt = Some(PeerRtt { rtt, at: now.saturating_sub(age) });
        }
    }
}

impl Group {
    /// How long what is missing is waited for, `most` at most.
    ///
    /// Without jitter, "packets with missing sequence number MP_SEQ [...] can be assumed lost after
    /// path_delta/2." But a queue stands on the way there alone, so that all of the difference is;
    /// for one round trip a datagram can wait for a window that is full, and queues may have grown
    /// by as much since. Where that was too little, it is `most` for a while.
    pub(super) fn reordering(&self, now: Time, most: Duration) -> Duration {
        let up = || self.subflows.values().filter(|subflow| subflow.is_up());
        let is_fresh = |told: &PeerRtt| now - told.at <= AGE_MAX;
        let told = || up().filter_map(|subflow| Some(subflow.peer_rtt.filter(is_fresh)?.rtt));
        let was_late = self.late_at.is_some_and(|at| now - at <= AGE_MAX);
        match (told().min(), told().max()) {
            (Some(least), Some(greatest)) if told().count() == up().count() && !was_late => {
                (greatest - least + greatest * 2).min(most)
            }
            _ => most,
        }
    }
}

fn millis(span: Duration) -> u32 {
    u32::try_from(span.as_millis()).unwrap_or(u32::MAX)
}
