//! [`Epochs`]: the keys that an association has, and which packets they sealed and opened.

use anabranch_wire::Dtls;

use super::cipher::RecordKeys;
use super::method::RestartKeys;
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

/// How often keys may be used in vain.
///
/// RFC 9147 section 4.5.3: "For AEAD_AES_128_GCM, AEAD_AES_256_GCM, and AEAD_CHACHA20_POLY1305, the
/// limit on the number of records that fail authentication is 2^36."
const FORGED_MAX: u64 = 1 << 36;

/// Numbers that a packet is opened with, each of which is a try to forge one.
const TRIES_MAX: u64 = 2;

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
    /// Packets of keys that were tried too often to be forged, unopened.
    pub worn_out: u64,
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
    restart: Option<RestartContext>,
    pub(crate) stats: EncryptionStats,
}

/// The draft's restart DTLS key context. "There's exactly one active restart DTLS key context at a
/// time, the newest."
#[derive(Debug)]
pub(crate) struct RestartContext {
    sealing: Sealing,
    opening: Opening,
    /// Whether the association was restarted with it.
    is_used: bool,
}

impl RestartContext {
    pub(crate) fn new(keys: RestartKeys) -> Self {
        let RestartKeys { epoch, sealing, opening } = keys;
        Self {
            sealing: Sealing { epoch, keys: sealing, next: 0 },
            opening: Opening { epoch, keys: opening, window: ReplayWindow::new(), forged: 0 },
            is_used: false,
        }
    }
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
    /// How often what arrived was opened in vain.
    forged: u64,
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
        self.opening.push(Opening { epoch, keys, window: ReplayWindow::new(), forged: 0 });
    }

    /// Packets of this epoch are not opened any more.
    pub(crate) fn retire(&mut self, epoch: Epoch) {
        self.opening.retain(|opening| opening.epoch != epoch);
    }

    /// Keeps keys for a restart.
    pub(crate) fn keep_for_restart(&mut self, keys: RestartKeys) {
        self.restart = Some(RestartContext::new(keys));
    }

    /// Whether the association can be restarted: once with the same keys.
    pub(crate) fn may_restart(&self) -> bool {
        self.restart.as_ref().is_some_and(|restart| !restart.is_used)
    }

    /// Whether packets are sealed and opened with the keys of a restart.
    pub(crate) fn is_restarted(&self) -> bool {
        self.restart.as_ref().is_some_and(|restart| restart.is_used)
    }

    /// What a restart goes on with. The draft's section 5.4: "A restarted SCTP association MUST
    /// continue to use the restart DTLS key context and MUST remove all primary DTLS key contexts."
    pub(crate) fn restarted(self) -> Self {
        let Self { restart, stats, .. } = self;
        Self { restart, stats, ..Self::default() }.using_restart()
    }

    /// For who restarts an association that it has lost.
    pub(crate) fn restarting(context: RestartContext) -> Self {
        Self { restart: Some(context), ..Self::default() }.using_restart()
    }

    fn using_restart(mut self) -> Self {
        if let Some(restart) = &mut self.restart {
            restart.is_used = true;
        }
        self
    }

    /// The keys of a restart, with how often they have sealed.
    pub(crate) fn into_restart(self) -> Option<RestartContext> {
        self.restart
    }

    /// Packets that were sealed with the newest keys.
    pub(crate) fn sealed_in_epoch(&self) -> u64 {
        self.sealing.as_ref().map_or(0, |sealing| sealing.next)
    }

    /// How often a packet was opened in vain with the peer's newest keys.
    pub(crate) fn forged_in_epoch(&self) -> u64 {
        self.opening.last().map_or(0, |opening| opening.forged)
    }

    /// Whether there are keys to open packets with.
    pub(crate) fn opens(&self) -> bool {
        !self.opening.is_empty() || self.is_restarted()
    }

    /// Whether packets are to be sealed.
    pub(crate) fn seals(&self) -> bool {
        self.sealing.is_some() || self.is_restarted()
    }

    /// Whether they are sealed with the keys of a restart: until there are others.
    pub(crate) fn seals_for_restart(&self) -> bool {
        self.sealing.is_none() && self.is_restarted()
    }

    /// Seals what stands in `buf` from `start` on, behind room for the header of a record.
    pub(crate) fn seal(&mut self, buf: &mut Vec<u8>, start: usize) -> bool {
        let restart = self.restart.as_mut().filter(|restart| restart.is_used);
        let restart = restart.map(|restart| &mut restart.sealing);
        let Some(sealing) = self.sealing.as_mut().or(restart) else { return false };
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
        let Self { opening, restart, stats, .. } = self;
        let restart = restart.as_mut().map(|restart| &mut restart.opening);
        let record = Record::read(chunk.record);
        let found = record.and_then(|record| {
            let has_bits = |opening: &&mut Opening| opening.epoch.bits() == record.epoch_bits();
            // The draft's section 5.4: who does not support protected restarts, "if it receives a
            // SCTP packet with a DTLS chunk having the R bit (Restart Indicator) set in the DTLS
            // chunk ..., MUST silently discard it."
            let opening = match chunk.restart {
                true => restart.filter(has_bits)?,
                false => opening.iter_mut().find(has_bits)?,
            };
            Some((record, opening))
        });
        let Some((record, opening)) = found else {
            stats.forged += 1;
            return false;
        };
        // RFC 9147 section 4.5.3: "the previous keys can be dropped when the limit is reached".
        if opening.forged >= FORGED_MAX {
            stats.worn_out += 1;
            return false;
        }
        // RFC 9147 section 4.5.1: "This check SHOULD happen after deprotecting the record".
        let expected = opening.window.expected();
        let Some(number) = record.open_near(&opening.keys, expected, out) else {
            opening.forged += TRIES_MAX;
            stats.forged += 1;
            return false;
        };
        if !opening.window.is_new(number) {
            stats.replayed += 1;
            out.clear();
            return false;
        }
        opening.window.note(number);
        stats.opened += 1;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::dtls::{NONCE_LEN, RecordCipher, SAMPLE_LEN, TAG_LEN};

    /// A cipher whose tag is always the same.
    #[derive(Debug)]
    struct Constant;

    impl RecordCipher for Constant {
        fn seal(
            &self,
            _nonce: [u8; NONCE_LEN],
            _header: &[u8],
            _content: &mut [u8],
        ) -> Option<[u8; TAG_LEN]> {
            Some([7; TAG_LEN])
        }

        fn open(
            &self,
            _nonce: [u8; NONCE_LEN],
            _header: &[u8],
            sealed: &[u8],
            content: &mut [u8],
        ) -> bool {
            content.copy_from_slice(&sealed[..content.len()]);
            sealed.ends_with(&[7; TAG_LEN])
        }

        fn mask(&self, _sample: [u8; SAMPLE_LEN]) -> [u8; 2] {
            [0; 2]
        }
    }

    #[test]
    fn keys_that_were_tried_too_often_open_nothing_more() {
        let keys = RecordKeys { cipher: Arc::new(Constant), iv: [0; NONCE_LEN] };
        let mut epochs = Epochs::default();
        epochs.open_with(Epoch::FIRST, keys.clone());
        epochs.seal_with(Epoch::FIRST, keys);
        let mut sealed = || {
            let mut buf = vec![0; record::HEADER_LEN];
            buf.extend_from_slice(b"chunks");
            assert!(epochs.seal(&mut buf, 0));
            buf
        };
        let [first, second, mut forged] = [sealed(), sealed(), sealed()];
        *forged.last_mut().unwrap() ^= 1;
        let open = |epochs: &mut Epochs, record: &[u8]| {
            epochs.open(&Dtls { restart: false, record }, &mut Vec::new())
        };
        assert!(!open(&mut epochs, &forged) && open(&mut epochs, &first));
        assert_eq!(epochs.forged_in_epoch(), TRIES_MAX);
        epochs.opening[0].forged = FORGED_MAX - TRIES_MAX;
        assert!(!open(&mut epochs, &forged) && !open(&mut epochs, &second));
        assert_eq!((epochs.stats.forged, epochs.stats.worn_out), (2, 1));
    }
}
