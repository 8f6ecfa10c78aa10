//! An encrypted association whose peer has lost it, as by a crash, and takes it up again
//! (draft-ietf-tsvwg-sctp-dtls-chunk section 5.4).
//!
//! INIT and INIT ACK go in the open. COOKIE ECHO and COOKIE ACK, and what follows until there are
//! new keys, are sealed with keys that both ends keep for nothing else.

use anabranch_wire::Packet;

use super::Association;
use super::encrypted::Encrypted;
use crate::dtls::{Epochs, Restart, RestartContext};

/// An association that we have lost, and that the peer may still have.
#[derive(Debug)]
pub(super) struct LostAssociation {
    context: RestartContext,
    peer_identity: Option<Vec<u8>>,
}

impl LostAssociation {
    pub(super) fn new(restart: Restart) -> Self {
        let Restart { keys, peer_identity } = restart;
        Self { context: RestartContext::new(keys), peer_identity: Some(peer_identity) }
    }
}

impl Association {
    /// The peer answered our INIT: takes up what we had with it, if both ends can.
    pub(super) fn restart_lost(&mut self) {
        let Some(encrypted) = self.encrypted.as_mut().filter(|e| e.can_restart()) else { return };
        if let Some(LostAssociation { context, peer_identity }) = self.lost.take() {
            encrypted.go_on(Epochs::restarting(context), peer_identity);
        }
    }

    /// Our cookie was stale, and we call again. The keys have sealed something: they count on.
    pub(super) fn set_restart_aside(&mut self) {
        let is_restarted = |encrypted: &mut Box<Encrypted>| encrypted.epochs.is_restarted();
        let Some(encrypted) = self.encrypted.take_if(is_restarted) else { return };
        let (epochs, peer_identity) = encrypted.end();
        let context = epochs.into_restart();
        self.lost = context.map(|context| LostAssociation { context, peer_identity });
    }

    /// The peer restarted: goes on under the keys that were kept for that.
    pub(super) fn go_on_encrypted(&mut self, before: Option<Box<Encrypted>>) {
        if let Some((before, encrypted)) = before.zip(self.encrypted.as_mut()) {
            let (epochs, peer_identity) = before.end();
            encrypted.go_on(epochs.restarted(), peer_identity);
        }
    }

    /// Nothing of a restarted association comes in the open: no message about keys is the first.
    pub(super) fn settle_restarted(&mut self) {
        if self.is_restarted()
            && let Some(receiver) = &mut self.receiver
        {
            receiver.end_first_keys();
        }
    }

    /// Looks into a packet that is sealed with the keys of a restart. `None` if nothing of it may
    /// be used.
    pub(crate) fn open_for_restart<'a>(
        &mut self,
        packet: &Packet<'_>,
        plaintext: &'a mut Vec<u8>,
    ) -> Option<Packet<'a>> {
        let encrypted = self.encrypted.as_mut()?;
        let chunk = packet.dtls_chunk()?;
        encrypted.open(&chunk, plaintext).then(|| Packet::from_parts(packet.header, plaintext))
    }

    /// Whether the peer may restart the association, which it can once with the same keys.
    pub(crate) fn may_restart(&self) -> bool {
        self.encrypted.as_ref().is_some_and(|encrypted| encrypted.epochs.may_restart())
    }

    /// Whether the association was restarted under keys that were kept for that.
    pub(crate) fn is_restarted(&self) -> bool {
        self.encrypted.as_ref().is_some_and(|encrypted| encrypted.epochs.is_restarted())
    }
}
