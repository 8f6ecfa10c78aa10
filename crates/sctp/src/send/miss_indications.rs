//! Loss detection by miss indications (RFC 9260 section 7.2.4).

use super::chunk::View;
use super::flight::{Flight, Sent};
use super::loss_detection::{Detector, Losses};
use super::outstanding::Outstanding;
use crate::path::PathId;

/// RFC 9260 section 7.2.4: "wait for two further miss indications ... for a total of three".
const MISS_INDICATIONS: u8 = 3;

/// The miss indications of one path.
#[derive(Debug, Default)]
pub(super) struct MissIndications {
    /// Chunks that were overtaken by an acknowledged one, all of them sent before those that the
    /// flight holds.
    suspects: Vec<Sent>,
    /// The highest transmission acknowledged so far, plus one.
    pub(super) acked_below: u64,
    /// RFC 9260 section 7.2.4: the Fast Recovery exit point, while in Fast Recovery.
    pub(super) recovery_exit: Option<u64>,
}

impl MissIndications {
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
    /// A SACK was taken: finds what it says is missing on `path`. `acked_below` is the highest
    /// transmission that it newly acknowledged there, plus one; `advanced` whether it moved the
    /// cumulative TSN ack point.
    pub(super) fn find_missing(
        &mut self,
        path: PathId,
        cumulative: u64,
        advanced: bool,
        acked_below: u64,
    ) -> Losses {
        let Detector::Rfc9260(misses) = &mut self.flights[path.index()].detector else {
            return Losses::default();
        };
        misses.acked_below = misses.acked_below.max(acked_below);
        // RFC 9260 section 6.2.1, D iv: "If the Cumulative TSN Ack matches or exceeds the Fast
        // Recovery exit point (Section 7.2.4), Fast Recovery is exited."
        let was_in_recovery = misses.recovery_exit.is_some();
        misses.recovery_exit = misses.recovery_exit.filter(|exit| cumulative < *exit);
        // RFC 9260 section 7.2.4: "If an endpoint is in Fast Recovery and a SACK chunks arrives
        // that advances the Cumulative TSN Ack Point, the miss indications are incremented for all
        // TSNs reported missing in the SACK chunk."
        let all_missing = was_in_recovery && advanced;
        let below = if all_missing { misses.acked_below } else { acked_below };
        if below > 0 { self.count_misses(path, below) } else { Losses::default() }
    }

    /// Counts a miss for each chunk of `path` sent before the transmission `below`, and marks those
    /// with the third one.
    fn count_misses(&mut self, path: PathId, below: u64) -> Losses {
        let mut lost = std::mem::take(&mut self.lost);
        let mut overtaken = std::mem::take(&mut self.overtaken);
        let view = View { chunks: &self.chunks, first: self.first, copies: &self.copies };
        let flight = &mut self.flights[path.index()];
        flight.review(below, |sent| view.is_live(path, sent), |sent| overtaken.push(sent));
        for sent in overtaken.drain(..) {
            if let Some(copy) = self.copies.of_mut(path, sent) {
                copy.misses = copy.misses.saturating_add(1);
                if copy.misses >= MISS_INDICATIONS {
                    lost.push(sent);
                }
                continue;
            }
            let Some(chunk) = self.chunk_mut(sent.sequence) else { continue };
            chunk.misses = chunk.misses.saturating_add(1);
            if chunk.misses >= MISS_INDICATIONS && !chunk.fast_retransmitted {
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
    pub(super) fn enter_fast_recovery(&mut self, path: PathId) -> bool {
        let highest = self.next_sequence() - 1;
        let Detector::Rfc9260(misses) = &mut self.flights[path.index()].detector else {
            return false;
        };
        let enters = misses.recovery_exit.is_none();
        misses.recovery_exit.get_or_insert(highest);
        enters
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
