//! Words and files of a call.

use anabranch_sansio::Time;
use bytes::Bytes;

use super::Agent;
use crate::exchange::{FileNumber, LedgerView, WordsError};
use crate::ledger::Ledger;
use crate::message::Message;
use crate::{Event, Peer};

impl Agent {
    /// Writes something to the peer, which comes as an event here, too.
    ///
    /// # Errors
    /// There is no call, or the peer reads no texts, or too much waits.
    pub fn write(&mut self, now: Time, text: &str) -> Result<(), WordsError> {
        let ledger = self.ledger.as_mut().ok_or(WordsError::NoCall)?;
        ledger.write(now, text)?;
        self.flush_exchange(now);
        Ok(())
    }

    /// Has a file of this name, size in bytes and SHA-256, in hexadecimal digits, for the peer;
    /// whether it is taken comes as an event.
    pub fn offer_file(&mut self, now: Time, name: &str, size: u64, sha256: String) {
        if let Some(ledger) = &mut self.ledger {
            ledger.offer(name, size, sha256);
        }
        self.flush_exchange(now);
    }

    /// Has a file no longer.
    pub fn withdraw_file(&mut self, now: Time, file: FileNumber) {
        if let Some(ledger) = &mut self.ledger {
            ledger.withdraw(file);
        }
        self.flush_exchange(now);
    }

    /// Has none of its files any more: who had them is gone.
    pub fn withdraw_files(&mut self, now: Time) {
        if let Some(ledger) = &mut self.ledger {
            ledger.withdraw_all();
        }
        self.flush_exchange(now);
    }

    /// Wants a block of the peer's files, or brings one of ours: a
    /// [`FileMessage`](crate::exchange::FileMessage). What makes no sense is dropped.
    pub fn push_block(&mut self, now: Time, message: &Bytes) {
        if let Some(ledger) = &mut self.ledger {
            ledger.on_page_block(now, message);
        }
        self.flush_exchange(now);
    }

    /// How words and files stand; `None` without a call.
    #[must_use]
    pub fn exchange(&self) -> Option<LedgerView> {
        self.ledger.as_ref().map(Ledger::view)
    }

    pub(super) fn begin_exchange(&mut self, now: Time, peer: &Peer) {
        let names = [self.link.name(), peer.name.clone()];
        self.ledger = Some(Ledger::new(now, peer.incoming, names, peer.takes));
    }

    pub(super) fn on_words(&mut self, now: Time, message: &Message) {
        if let Some(ledger) = &mut self.ledger {
            ledger.on_message(now, message);
        }
    }

    pub(super) fn on_block(&mut self, now: Time, payload: &Bytes) {
        if let Some(ledger) = &mut self.ledger {
            ledger.on_peer_block(now, payload);
        }
    }

    /// Hands on what there is for either end.
    pub(super) fn flush_exchange(&mut self, now: Time) {
        let Some(ledger) = &mut self.ledger else { return };
        if let Some(connection) = self.link.connection_mut() {
            ledger.flush(now, connection);
        }
        while let Some(event) = ledger.poll_event() {
            self.link.tell(Event::Exchanged(event));
        }
    }

    pub(super) fn words_refused(&self) -> u64 {
        self.ledger.as_ref().map_or(0, Ledger::refused)
    }
}
