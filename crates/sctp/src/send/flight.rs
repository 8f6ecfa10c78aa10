//! [`Flight`]: what is under way on one path, in the order it was sent.

use std::collections::{BTreeSet, VecDeque};

use anabranch_congestion::DeliveryRate;
use anabranch_sansio::Time;

use super::loss_detection::{Detector, LossDetection};

/// A chunk on its way: the number of its transmission on the path, and its extended TSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Sent {
    pub(crate) transmission: u64,
    pub(crate) sequence: u64,
}

/// The data in flight on one path.
///
/// Entries are removed lazily: one whose chunk was acknowledged, abandoned or sent again is stale,
/// and whoever owns the chunks says which are. Each entry is looked at a bounded number of times,
/// so that the work per SACK does not grow with the flight.
#[derive(Debug)]
pub(crate) struct Flight {
    /// In order of transmission; the loss detection takes them out from the front.
    pub(super) sent: VecDeque<Sent>,
    /// Taken out of `sent`, and lost unless the peer reports a duplicate before the time given: see
    /// [`Copies`](super::copies::Copies). They would keep what was sent after them waiting.
    pub(super) unsettled: BTreeSet<(Time, Sent)>,
    /// Bytes of DATA chunks in flight.
    pub(crate) bytes: usize,
    pub(super) next_transmission: u64,
    /// The transmission whose round trip is being measured.
    pub(crate) rtt_probe: Option<Sent>,
    /// How fast the path delivers.
    pub(super) rate: DeliveryRate,
    pub(super) detector: Detector,
}

impl Flight {
    pub(super) fn new(detection: LossDetection) -> Self {
        Self {
            sent: VecDeque::new(),
            unsettled: BTreeSet::new(),
            bytes: 0,
            next_transmission: 0,
            rtt_probe: None,
            rate: DeliveryRate::default(),
            detector: detection.detector(),
        }
    }

    /// A chunk was sent; returns the number of the transmission.
    pub(crate) fn push(&mut self, sequence: u64, bytes: usize) -> u64 {
        let transmission = self.next_transmission;
        self.next_transmission += 1;
        self.bytes += bytes;
        self.sent.push_back(Sent { transmission, sequence });
        transmission
    }

    /// The oldest transmission that is not stale.
    pub(crate) fn oldest(&mut self, is_live: impl Fn(Sent) -> bool) -> Option<Sent> {
        if let Detector::Rfc9260(misses) = &mut self.detector
            && let Some(suspect) = misses.oldest(&is_live)
        {
            return Some(suspect);
        }
        while let Some(&front) = self.sent.front() {
            if is_live(front) {
                return Some(front);
            }
            self.sent.pop_front();
        }
        None
    }

    /// Forgets all entries, and returns those that may still be live.
    pub(crate) fn drain(&mut self) -> Vec<Sent> {
        let mut entries = Vec::new();
        if let Detector::Rfc9260(misses) = &mut self.detector {
            entries.extend(misses.drain());
        }
        entries.extend(self.sent.drain(..));
        entries.extend(std::mem::take(&mut self.unsettled).into_iter().map(|(_, sent)| sent));
        entries
    }

    /// Another path takes the place of this one: nothing measured here holds there.
    pub(super) fn forget_path(&mut self) {
        self.rtt_probe = None;
        match &mut self.detector {
            Detector::Rfc9260(misses) => misses.recovery = None,
            Detector::InTime(in_time) => **in_time = Default::default(),
        }
    }
}
