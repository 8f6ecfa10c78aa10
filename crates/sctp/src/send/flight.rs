//! [`Flight`]: what is under way on one path, in the order it was sent.

use std::collections::VecDeque;

use super::delivery_rate::DeliveryRate;

/// A chunk on its way: the number of its transmission on the path, and its extended TSN.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Sent {
    pub(crate) transmission: u64,
    pub(crate) sequence: u64,
}

/// The data in flight on one path.
///
/// Entries are removed lazily: one whose chunk was acknowledged, abandoned or sent again is stale,
/// and whoever owns the chunks says which are. Each entry is looked at a bounded number of times,
/// so that the work per SACK does not grow with the flight.
#[derive(Debug, Default)]
pub(crate) struct Flight {
    /// In order of transmission.
    sent: VecDeque<Sent>,
    /// Chunks that were overtaken by an acknowledged one, all of them before `sent`.
    suspects: Vec<Sent>,
    /// Bytes of DATA chunks in flight.
    pub(crate) bytes: usize,
    next_transmission: u64,
    /// The highest transmission acknowledged so far, plus one.
    pub(crate) acked_below: u64,
    /// RFC 9260 section 7.2.4: the Fast Recovery exit point, while in Fast Recovery.
    pub(crate) recovery_exit: Option<u64>,
    /// The transmission whose round trip is being measured.
    pub(crate) rtt_probe: Option<Sent>,
    /// How fast the path delivers.
    pub(super) rate: DeliveryRate,
}

impl Flight {
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
        if let Some(first) = self.suspects.iter().position(|sent| is_live(*sent)) {
            self.suspects.drain(..first);
            return self.suspects.first().copied();
        }
        self.suspects.clear();
        while let Some(&front) = self.sent.front() {
            if is_live(front) {
                return Some(front);
            }
            self.sent.pop_front();
        }
        None
    }

    /// Calls `overtaken` for each live transmission before the one numbered `below`.
    pub(crate) fn review(
        &mut self,
        below: u64,
        is_live: impl Fn(Sent) -> bool,
        mut overtaken: impl FnMut(Sent),
    ) {
        while let Some(&front) = self.sent.front() {
            if front.transmission >= below {
                break;
            }
            self.sent.pop_front();
            self.suspects.push(front);
        }
        self.suspects.retain(|&sent| is_live(sent));
        self.suspects.iter().filter(|sent| sent.transmission < below).for_each(|&s| overtaken(s));
    }

    /// Forgets all entries, and returns those that may still be live.
    pub(crate) fn drain(&mut self) -> Vec<Sent> {
        self.suspects.drain(..).chain(self.sent.drain(..)).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_was_overtaken_is_reviewed_and_what_is_stale_is_dropped() {
        let mut flight = Flight::default();
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
