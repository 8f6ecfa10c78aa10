//! [`RetransmissionPolicy`]: where what was lost goes.

use super::Outlook;
use crate::path_name::PathSlot;

/// Where lost data is sent again when there are several paths: as RFC 9260 has it, always on
/// another one, as one of the five policies of Iyengar 2006 (section V), or by the clock.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum RetransmissionPolicy {
    /// RFC 9260 section 6.4: on another path after a timeout, on the same one otherwise.
    #[default]
    Rfc9260,
    /// On another path than before, however the loss was found: RFC 4960's advice taken for every
    /// retransmission, as ns-2's SCTP takes it (AllRtxAlt of Caro 2006, "Retransmission Policies
    /// with Transport Layer Multihoming").
    Alternate,
    /// RTX-SAME: where it was lost, until that path fails.
    Same,
    /// RTX-ASAP: on any path that has room now, the least used one first.
    Asap,
    /// RTX-CWND: on the path with the largest congestion window.
    Cwnd,
    /// RTX-SSTHRESH: on the path with the largest slow-start threshold.
    Ssthresh,
    /// RTX-LOSSRATE: on the path that lost the smallest share of what it was sent.
    LossRate,
    /// On the path where it arrives first, given what is in flight, the rate and the round trip;
    /// after a timeout on another one than before.
    Earliest,
}

/// A chunk that looks for a path anew.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Lost {
    pub(crate) path: PathSlot,
    pub(crate) timed_out: bool,
}

impl RetransmissionPolicy {
    /// Whether lost data waits when no path has room, instead of choosing one to wait for.
    pub(crate) const fn waits(self) -> bool {
        matches!(self, Self::Asap)
    }

    /// The path for a lost chunk, which may have to wait there for room. `outlooks` are the paths
    /// that can carry data. `None` if the policy names none of them.
    pub(crate) fn choose(self, lost: Lost, outlooks: &[Outlook]) -> Option<PathSlot> {
        let same = || outlooks.iter().find(|path| path.slot == lost.path).map(|path| path.slot);
        let best = match self {
            Self::Rfc9260 if lost.timed_out => return None,
            Self::Rfc9260 | Self::Same => return same(),
            // The path with fewer losses, if there are several others.
            Self::Alternate => {
                let others = outlooks.iter().filter(|path| path.slot != lost.path);
                let best = others.min_by(|a, b| a.loss_rate.total_cmp(&b.loss_rate));
                return best.map(|path| path.slot).or_else(same);
            }
            Self::Asap => {
                let open = outlooks.iter().filter(|path| path.is_open);
                open.min_by(|a, b| a.usage.total_cmp(&b.usage))
            }
            Self::Cwnd => outlooks.iter().max_by_key(|path| path.window),
            Self::Ssthresh => outlooks.iter().max_by_key(|path| path.ssthresh),
            Self::LossRate => outlooks.iter().min_by(|a, b| a.loss_rate.total_cmp(&b.loss_rate)),
            Self::Earliest => {
                let repeats = |path: &Outlook| lost.timed_out && path.slot == lost.path;
                outlooks.iter().min_by_key(|path| (repeats(path), path.arrival))
            }
        };
        best.map(|path| path.slot)
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::super::scheduler::testing::outlook;
    use super::*;

    const LOST: Lost = Lost { path: PathSlot(0), timed_out: false };

    fn choose(policy: RetransmissionPolicy, outlooks: &[Outlook]) -> Option<u8> {
        policy.choose(LOST, outlooks).map(|path| path.0)
    }

    #[test]
    fn rfc9260_and_rtx_same_stay_where_the_data_was_lost_while_that_path_carries_data() {
        for policy in [RetransmissionPolicy::Rfc9260, RetransmissionPolicy::Same] {
            assert_eq!(choose(policy, &[outlook(0, 200), outlook(1, 20)]), Some(0));
            assert_eq!(choose(policy, &[outlook(1, 20)]), None);
        }
    }

    #[test]
    fn after_a_timeout_rfc9260_and_earliest_leave_the_path() {
        let outlooks = [outlook(0, 20), outlook(1, 200)];
        let lost = Lost { timed_out: true, ..LOST };
        assert_eq!(RetransmissionPolicy::Rfc9260.choose(lost, &outlooks), None);
        assert_eq!(RetransmissionPolicy::Earliest.choose(lost, &outlooks), Some(PathSlot(1)));
        assert_eq!(
            RetransmissionPolicy::Earliest.choose(lost, &outlooks[..1]),
            Some(PathSlot(0)),
            "there is no other"
        );
    }

    #[test]
    fn alternate_leaves_the_path_where_the_data_was_lost_if_there_is_another() {
        let policy = RetransmissionPolicy::Alternate;
        assert_eq!(choose(policy, &[outlook(0, 20), outlook(1, 200)]), Some(1));
        assert_eq!(choose(policy, &[outlook(0, 20)]), Some(0));
        assert_eq!(choose(policy, &[outlook(1, 20)]), Some(1));
    }

    #[test]
    fn rtx_asap_takes_a_path_with_room_and_rtx_cwnd_waits_for_the_largest_window() {
        let full = Outlook { is_open: false, window: 90_000, ..outlook(0, 20) };
        let outlooks = [full, Outlook { window: 10_000, ..outlook(1, 20) }];
        assert_eq!(choose(RetransmissionPolicy::Asap, &outlooks), Some(1));
        assert_eq!(choose(RetransmissionPolicy::Asap, &outlooks[..1]), None);
        assert_eq!(choose(RetransmissionPolicy::Cwnd, &outlooks), Some(0));
    }

    #[test]
    fn rtx_ssthresh_and_rtx_lossrate_go_by_what_a_path_went_through() {
        let outlooks = [
            Outlook { ssthresh: 10_000, loss_rate: 0.01, ..outlook(0, 20) },
            Outlook { ssthresh: 90_000, loss_rate: 0.02, ..outlook(1, 20) },
        ];
        assert_eq!(choose(RetransmissionPolicy::Ssthresh, &outlooks), Some(1));
        assert_eq!(choose(RetransmissionPolicy::LossRate, &outlooks), Some(0));
    }

    #[test]
    fn earliest_counts_the_time_until_there_is_room() {
        let full = Outlook { arrival: Duration::from_millis(120), ..outlook(0, 20) };
        assert_eq!(choose(RetransmissionPolicy::Earliest, &[full, outlook(1, 200)]), Some(1));
        assert_eq!(choose(RetransmissionPolicy::Earliest, &[outlook(0, 20), full]), Some(0));
    }
}
