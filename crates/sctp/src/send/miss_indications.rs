//! Loss detection by miss indications (RFC 9260 section 7.2.4).

use anabranch_sansio::Time;

use super::chunk::{ChunkState, View};
use super::flight::{Flight, Sent};
use super::loss_detection::{Detector, Losses};
use super::outstanding::Outstanding;
use crate::path_name::PathSlot;

/// RFC 9260 section 7.2.4: "wait for two further miss indications ... for a total of three".
const MISS_INDICATIONS: u8 = 3;

/// What a SACK newly acknowledged on a path, by the numbers of its transmissions there.
#[derive(Debug, Clone, Copy)]
pub(super) struct Overtaking {
    /// The lowest.
    pub(super) from: u64,
    /// The highest, plus one.
    pub(super) below: u64,
    /// Packets with data that the SACK stands for.
    pub(super) data_packets: u8,
}

impl Overtaking {
    /// How many miss indications the SACK is for a transmission that it does not acknowledge.
    ///
    /// DAC of Iyengar 2006, section V: one where data sent before is newly acknowledged too, for
    /// who knows how many packets came after; else one for each packet.
    const fn indications(self, sent: Sent) -> u8 {
        if sent.transmission < self.from { self.data_packets } else { 1 }
    }
}

/// The miss indications of one path.
#[derive(Debug, Default)]
pub(super) struct MissIndications {
    /// Chunks that were overtaken by an acknowledged one, all of them sent before those that the
    /// flight holds.
    suspects: Vec<Sent>,
    /// The highest transmission acknowledged so far, plus one.
    pub(super) acked_below: u64,
    pub(super) recovery: Option<FastRecovery>,
    /// Whether what else is missing in Fast Recovery waits for T3-rtx.
    once_per_window: bool,
}

/// Fast Recovery of one path (RFC 9260 section 7.2.4). With one path in use it is the
/// association's; with several, what another path brings or lacks has no part in it, as Iyengar
/// 2006 has it for fast retransmit (SFR) and for the window (CUC).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct FastRecovery {
    /// The exit point: the highest TSN outstanding on the path when Fast Recovery was entered.
    exit: u64,
    /// What is awaited on the path up to there begins here at the earliest: the path's own
    /// cumulative TSN ack point, plus one.
    awaited: u64,
}

impl MissIndications {
    /// One fast retransmission, and no more before Fast Recovery ends.
    pub(super) fn once_per_window() -> Self {
        Self { once_per_window: true, ..Self::default() }
    }

    /// Whether what is missing may be found lost now.
    const fn may_find(&self) -> bool {
        !self.once_per_window || self.recovery.is_none()
    }

    /// The oldest suspect that is not stale.
    pub(super) fn oldest(&mut self, is_live: impl Fn(Sent) -> bool) -> Option<Sent> {
        let Some(first) = self.suspects.iter().position(|sent| is_live(*sent)) else {
            self.suspects.clear();
            return None;
        };
        self.suspects.drain(..first);
        self.suspects.first().copied()
    }

    pub(super) fn drain(&mut self) -> impl Iterator<Item = Sent> + '_ {
        self.suspects.drain(..)
    }
}

impl Flight {
    /// Calls `overtaken` for each live transmission before the one numbered `below`.
    fn review(
        &mut self,
        below: u64,
        is_live: impl Fn(Sent) -> bool,
        mut overtaken: impl FnMut(Sent),
    ) {
        let Detector::Rfc9260(MissIndications { suspects, .. }) = &mut self.detector else {
            return;
        };
        while let Some(&front) = self.sent.front() {
            if front.transmission >= below {
                break;
            }
            self.sent.pop_front();
            suspects.push(front);
        }
        suspects.retain(|&sent| is_live(sent));
        suspects.iter().filter(|sent| sent.transmission < below).for_each(|&s| overtaken(s));
    }
}

impl Outstanding {
    /// A SACK was taken: finds what it says is missing on `path`.
    pub(super) fn find_missing(&mut self, now: Time, path: PathSlot, acked: Overtaking) -> Losses {
        let advanced = self.advance_recovery(path);
        let Detector::Rfc9260(misses) = &mut self.flights[path.index()].detector else {
            return Losses::default();
        };
        misses.acked_below = misses.acked_below.max(acked.below);
        // RFC 9260 section 7.2.4: "If an endpoint is in Fast Recovery and a SACK chunks arrives
        // that advances the Cumulative TSN Ack Point, the miss indications are incremented for all
        // TSNs reported missing in the SACK chunk."
        let below = if advanced { misses.acked_below } else { acked.below };
        let acked = Overtaking { below, ..acked };
        if below > 0 { self.count_misses(now, path, acked) } else { Losses::default() }
    }

    /// Moves a path's own cumulative TSN ack point in Fast Recovery, and leaves that at its exit
    /// point; returns whether what it awaited arrived.
    fn advance_recovery(&mut self, path: PathSlot) -> bool {
        let Detector::Rfc9260(misses) = &self.flights[path.index()].detector else { return false };
        let Some(FastRecovery { exit, awaited: before }) = misses.recovery else { return false };
        let awaited = self.first_awaited(path, before, exit);
        // RFC 9260 section 6.2.1, D iv: "If the Cumulative TSN Ack matches or exceeds the Fast
        // Recovery exit point (Section 7.2.4), Fast Recovery is exited."
        let recovery = (awaited <= exit).then_some(FastRecovery { exit, awaited });
        if let Detector::Rfc9260(misses) = &mut self.flights[path.index()].detector {
            misses.recovery = recovery;
        }
        // What is sent again on another path is awaited here no more, but nothing came of that.
        let arrived = self.chunk(before).is_none_or(|chunk| chunk.state == ChunkState::Acked);
        arrived && awaited > before
    }

    /// The first TSN, not before `from`, that is awaited on `path`; one beyond `exit` if there is
    /// none up to there.
    fn first_awaited(&self, path: PathSlot, from: u64, exit: u64) -> u64 {
        let mut sequence = from.max(self.first);
        while sequence <= exit {
            if let Some((_, end)) = self.acked.range_of(sequence) {
                sequence = end + 1;
                continue;
            }
            if self.chunk(sequence).is_some_and(|chunk| chunk.path == path) {
                return sequence;
            }
            sequence += 1;
        }
        exit + 1
    }

    /// Counts the misses of each chunk of `path` that was overtaken, and marks those with the third
    /// one.
    ///
    /// Of an acknowledged chunk that was sent twice the other transmission is missing only after
    /// the time within which it arrives, if it is that one which the peer will report as duplicate.
    fn count_misses(&mut self, now: Time, path: PathSlot, acked: Overtaking) -> Losses {
        let Detector::Rfc9260(misses) = &self.flights[path.index()].detector else {
            return Losses::default();
        };
        let may_find = misses.may_find();
        let mut lost = std::mem::take(&mut self.lost);
        let mut overtaken = std::mem::take(&mut self.overtaken);
        let view = View { chunks: &self.chunks, first: self.first, copies: &self.copies };
        let flight = &mut self.flights[path.index()];
        flight.review(acked.below, |sent| view.is_live(path, sent), |sent| overtaken.push(sent));
        for sent in overtaken.drain(..) {
            let indications = acked.indications(sent);
            if let Some(copy) = self.copies.of_mut(path, sent) {
                if now < copy.settled_at {
                    continue;
                }
                copy.misses = copy.misses.saturating_add(indications);
                if copy.misses >= MISS_INDICATIONS {
                    lost.push(sent);
                }
                continue;
            }
            let Some(chunk) = self.chunk_mut(sent.sequence) else { continue };
            chunk.misses = chunk.misses.saturating_add(indications);
            if chunk.misses >= MISS_INDICATIONS && !chunk.fast_retransmitted && may_find {
                // "Mark the DATA chunk(s) as being fast retransmitted and thus ineligible for a
                // subsequent Fast Retransmit."
                chunk.fast_retransmitted = true;
                chunk.timed_out = false;
                lost.push(sent);
            }
        }
        self.overtaken = overtaken;
        self.mark_lost(path, &lost, false);
        let losses = Losses {
            chunks: lost.len(),
            enters_recovery: !lost.is_empty() && self.enter_fast_recovery(path),
        };
        lost.clear();
        self.lost = lost;
        losses
    }

    /// RFC 9260 section 7.2.4: "If not in Fast Recovery, enter Fast Recovery and mark the highest
    /// outstanding TSN as the Fast Recovery exit point." Returns false if the path was in it.
    pub(super) fn enter_fast_recovery(&mut self, path: PathSlot) -> bool {
        if self.flights[path.index()].detector.in_recovery() {
            return false;
        }
        let outstanding = self.chunks.iter().rposition(|chunk| chunk.path == path);
        let exit = self.first + outstanding.unwrap_or(0) as u64;
        let awaited = self.first_awaited(path, self.first, exit);
        let Detector::Rfc9260(misses) = &mut self.flights[path.index()].detector else {
            return false;
        };
        misses.recovery = Some(FastRecovery { exit, awaited });
        true
    }
}

#[cfg(test)]
mod tests {
    use super::super::loss_detection::LossDetection;
    use super::*;

    #[test]
    fn what_was_overtaken_is_reviewed_and_what_is_stale_is_dropped() {
        let mut flight = Flight::new(LossDetection::Rfc9260);
        for sequence in 10..20 {
            flight.push(sequence, 100);
        }
        let mut seen = Vec::new();
        flight.review(4, |sent| sent.sequence % 2 == 0, |sent| seen.push(sent.sequence));
        assert_eq!(seen, [10, 12]);
        assert_eq!(flight.oldest(|sent| sent.sequence > 10).map(|sent| sent.sequence), Some(12));
        assert_eq!(flight.oldest(|sent| sent.sequence > 15).map(|sent| sent.sequence), Some(16));
        assert_eq!(flight.drain().len(), 4);
        assert_eq!(flight.oldest(|_| true), None);
    }
}
