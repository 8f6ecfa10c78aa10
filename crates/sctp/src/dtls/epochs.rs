//! [`Epochs`]: the keys that an association has, and which packets they sealed and opened.

use anabranch_wire::Dtls;

use super::cipher::RecordKeys;
use super::record::{self, Record};
use super::replay::ReplayWindow;

/// The place of keys among those that an association had. The first ones are of epoch 3.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Epoch(pub u64);

impl Epoch {
    /// The draft: "The first DTLS key context established for any SCTP association MUST use epoch
    /// 3."
    pub const FIRST: Self = Self(3);

    /// "Each subsequent DTLS key context will use the next consecutive epoch value."
    #[must_use]
    pub const fn next(self) -> Self {
        Self(self.0 + 1)
    }

    /// What records show of it: the two lowest bits.
    pub(super) const fn bits(self) -> u64 {
        self.0 & 3
    }
}

/// Epochs whose packets are opened at the same time: the newest ones, which two bits tell apart.
const EPOCHS_MAX: usize = 2;

/// Packets of an association, as encryption saw them.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EncryptionStats {
    /// Keys that packets were sealed with, one after the other.
    pub epochs: u64,
    /// Packets that were sealed.
    pub sealed: u64,
    /// Packets that were opened.
    pub opened: u64,
    /// Packets that no key of ours opens: damaged, forged, or of an epoch that is over.
    pub forged: u64,
    /// Packets that were received before, or so late that it cannot be told.
    pub replayed: u64,
    /// Packets in the open that were refused.
    pub unprotected: u64,
    /// Packets that the cipher refused to seal, and that were not sent.
    pub unsealed: u64,
}

/// The keys of both directions.
#[derive(Debug, Default)]
pub(crate) struct Epochs {
    sealing: Option<Sealing>,
    /// The newest last.
    opening: Vec<Opening>,
    pub(crate) stats: EncryptionStats,
}

#[derive(Debug)]
struct Sealing {
    epoch: Epoch,
    keys: RecordKeys,
    /// RFC 9147 section 4.2: "Sequence numbers are maintained separately for each epoch, with each
    /// sequence_number initially being 0 for each epoch."
    next: u64,
}

#[derive(Debug)]
struct Opening {
    epoch: Epoch,
    keys: RecordKeys,
    window: ReplayWindow,
}

impl Epochs {
    /// From here on packets are sealed with these keys.
    pub(crate) fn seal_with(&mut self, epoch: Epoch, keys: RecordKeys) {
        self.sealing = Some(Sealing { epoch, keys, next: 0 });
        self.stats.epochs += 1;
    }

    /// From here on packets that were sealed with these keys are opened, too. Those of the oldest
    /// epoch may not be any more.
    pub(crate) fn open_with(&mut self, epoch: Epoch, keys: RecordKeys) {
        self.opening.retain(|opening| opening.epoch != epoch);
        if self.opening.len() == EPOCHS_MAX {
            self.opening.remove(0);
        }
        self.opening.push(Opening { epoch, keys, window: ReplayWindow::new() });
    }

    /// Packets of this epoch are not opened any more.
    pub(crate) fn retire(&mut self, epoch: Epoch) {
        self.opening.retain(|opening| opening.epoch != epoch);
    }

    /// Packets that were sealed with the newest keys.
    pub(crate) fn sealed_in_epoch(&self) -> u64 {
        self.sealing.as_ref().map_or(0, |sealing| sealing.next)
    }

    /// Whether there are keys to open packets with.
    pub(crate) const fn opens(&self) -> bool {
        !self.opening.is_empty()
    }

    /// Whether packets are to be sealed.
    pub(crate) const fn seals(&self) -> bool {
        self.sealing.is_some()
    }

    /// Seals what stands in `buf` from `start` on, behind room for the header of a record.
    pub(crate) fn seal(&mut self, buf: &mut Vec<u8>, start: usize) -> bool {
        let Some(sealing) = &mut self.sealing else { return false };
        let number = sealing.next;
        sealing.next += 1;
        let is_sealed = record::seal(&sealing.keys, sealing.epoch.0, number, buf, start);
        let counter = if is_sealed { &mut self.stats.sealed } else { &mut self.stats.unsealed };
        *counter += 1;
        is_sealed
    }

    /// Opens a chunk: the chunks in it replace what is in `out`. Returns false if nothing of it may
    /// be used.
    pub(crate) fn open(&mut self, chunk: &Dtls<'_>, out: &mut Vec<u8>) -> bool {
        // The draft's section 5.4: who does not support protected restarts, "if it receives a SCTP
        // packet with a DTLS chunk having the R bit (Restart Indicator) set in the DTLS chunk ...,
        // MUST silently discard it."
        let record = Record::read(chunk.record).filter(|_| !chunk.restart);
        let with_bits = |bits| move |opening: &&mut Opening| opening.epoch.bits() == bits;
        let found = record.and_then(|record| {
            let opening = self.opening.iter_mut().find(with_bits(record.epoch_bits()))?;
            Some((record, opening))
        });
        let Some((record, opening)) = found else {
            self.stats.forged += 1;
            return false;
        };
        // RFC 9147 section 4.5.1: "This check SHOULD happen after deprotecting the record".
        let expected = opening.window.expected();
        let Some(number) = record.open_near(&opening.keys, expected, out) else {
            self.stats.forged += 1;
            return false;
        };
        if !opening.window.is_new(number) {
            self.stats.replayed += 1;
            out.clear();
            return false;
        }
        opening.window.note(number);
        self.stats.opened += 1;
        true
    }
}
