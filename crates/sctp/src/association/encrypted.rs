//! Encrypted associations (draft-ietf-tsvwg-sctp-dtls-chunk): how one comes to have keys, and which
//! packets are sealed.

use anabranch_sansio::Time;
use anabranch_wire::{Chunk, Dtls, ErrorCause, ErrorCauses, Packet};

use super::{Association, State};
use crate::dtls::{
    Agreement, Epoch, Epochs, KEY_MANAGEMENT_PPID, KEY_MANAGEMENT_STREAM, KeyAction, KeyFailure,
    KeyManagement, KeyRole, Offers, RecordKeys, SEALING_LEN,
};
use crate::event::CloseReason;
use crate::handshake::Cookie;
use crate::receive::{DataChunk, Receiver};

/// What an association has where both ends offered the DTLS chunk.
#[derive(Debug)]
pub(super) struct Encrypted {
    offers: Offers,
    agreement: Agreement,
    /// Exists once the handshake of SCTP is done.
    method: Option<Box<dyn KeyManagement>>,
    pub(super) epochs: Epochs,
    protection: Protection,
    /// Whether the packet that is looked at was sealed.
    is_packet_sealed: bool,
    /// When there must be keys at the latest.
    deadline: Option<Time>,
    /// Who the peer proved to be before the association was restarted.
    known_peer: Option<Vec<u8>>,
    /// The packets sealed, and opened in vain, that the key management was told of.
    counted: (u64, u64),
}

/// How far both ends are on their way from the open.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Protection {
    /// Keys are being agreed on, in packets in the open.
    AwaitsKeys {
        /// Whether the peer called us, to be reported once there are keys.
        is_incoming: bool,
    },
    /// Packets in the open are refused: both ends have keys and know each other. The user's
    /// messages wait for the peer to acknowledge, under seal, all that we said about keys.
    AwaitsAcknowledgement,
    /// Packets in the open are refused, and the user's messages go.
    Complete,
}

impl Encrypted {
    fn new(offers: Offers, agreement: Agreement) -> Self {
        Self {
            offers,
            agreement,
            method: None,
            epochs: Epochs::default(),
            protection: Protection::AwaitsKeys { is_incoming: false },
            is_packet_sealed: false,
            deadline: None,
            known_peer: None,
            counted: (0, 0),
        }
    }

    /// Who the peer has proved to be.
    fn peer_identity(&self) -> Option<&[u8]> {
        self.method.as_ref()?.peer_identity()
    }

    /// Whether packets in the open are refused.
    const fn is_required(&self) -> bool {
        !matches!(self.protection, Protection::AwaitsKeys { .. })
    }

    /// Whether both ends can restart the association.
    pub(super) fn can_restart(&self) -> bool {
        self.offers.restart()
    }

    /// Goes on with the keys of a restart.
    ///
    /// draft-porfiri-tsvwg-sctp-dtls-handshake section 7.2, step 6: "Each endpoint immediately
    /// calls Require Protected SCTP Packets to enforce DTLS chunk protection (using the Restart
    /// DKC)".
    pub(super) fn go_on(&mut self, epochs: Epochs, known_peer: Option<Vec<u8>>) {
        (self.epochs, self.known_peer) = (epochs, known_peer);
        self.protection = Protection::Complete;
    }

    /// What one goes on with after a restart.
    pub(super) fn end(self) -> (Epochs, Option<Vec<u8>>) {
        let peer = self.peer_identity().map(<[u8]>::to_vec).or(self.known_peer);
        (self.epochs, peer)
    }

    /// Opens a sealed packet: what is in it replaces what is in `plaintext`. Returns false if
    /// nothing of it may be used.
    pub(super) fn open(&mut self, chunk: &Dtls<'_>, plaintext: &mut Vec<u8>) -> bool {
        self.is_packet_sealed = true;
        self.epochs.open(chunk, plaintext)
    }
}

impl Association {
    /// Whether all packets are encrypted, and the peer is known to be who it should be.
    #[must_use]
    pub fn is_encrypted(&self) -> bool {
        self.encrypted.as_ref().is_some_and(|encrypted| encrypted.is_required())
    }

    /// Who the peer has proved to be, in the form that the key management has for that.
    #[must_use]
    pub fn peer_identity(&self) -> Option<&[u8]> {
        self.encrypted.as_ref()?.peer_identity()
    }

    /// Whether the handshake goes on, after that of SCTP, until both ends have keys.
    pub(super) fn awaits_keys(&self) -> bool {
        self.encrypted.as_ref().is_some_and(|encrypted| !encrypted.is_required())
    }

    /// Both ends offered the DTLS chunk, or not.
    pub(super) fn take_agreement(&mut self, agreed: Option<(Offers, Agreement)>) {
        self.encrypted =
            agreed.map(|(offers, agreement)| Box::new(Encrypted::new(offers, agreement)));
        if self.encrypted.is_some() {
            self.sender.shut_gate(&self.config);
        }
    }

    /// Takes the agreement that a listener's cookie holds. It was one when the cookie was made.
    pub(super) fn take_agreement_of(&mut self, cookie: &Cookie) {
        let agreed = cookie.offers.clone().and_then(|offers| {
            let agreement = offers.agree().ok()?;
            Some((offers, agreement))
        });
        self.take_agreement(agreed);
    }

    /// The handshake of SCTP is done: begins that of the keys.
    pub(super) fn begin_keys(&mut self, now: Time, is_incoming: bool) {
        self.settle_restarted();
        let (Some(encrypted), Some(encryption)) =
            (&mut self.encrypted, &self.config.extensions.encryption)
        else {
            return;
        };
        if !encrypted.is_required() {
            encrypted.protection = Protection::AwaitsKeys { is_incoming };
        }
        encrypted.deadline = Some(now + encryption.time_limit);
        let mut context = encrypted.offers.context(encrypted.agreement.role);
        context.peer_identity.clone_from(&encrypted.known_peer);
        match encryption.keys.begin(now, context) {
            Ok(method) => encrypted.method = Some(method),
            Err(failure) => return self.end_without_keys(&failure),
        }
        self.obey_key_management(now);
    }

    /// Hands what arrived about keys to those who know.
    pub(super) fn advance_keys(&mut self, now: Time) {
        self.count_sealed(now);
        while let Some(message) = self.receiver.as_mut().and_then(|r| r.pop_about_keys()) {
            let method = self.encrypted.as_mut().and_then(|encrypted| encrypted.method.as_mut());
            let Some(method) = method else { return };
            if let Err(failure) = method.handle_message(now, &message.payload) {
                return self.end_without_keys(&failure);
            }
            self.obey_key_management(now);
        }
        self.open_gate_in_time();
    }

    fn count_sealed(&mut self, now: Time) {
        let Some(encrypted) = self.encrypted.as_mut().filter(|e| e.is_required()) else { return };
        let (sealed, forged) =
            (encrypted.epochs.sealed_in_epoch(), encrypted.epochs.forged_in_epoch());
        if std::mem::replace(&mut encrypted.counted, (sealed, forged)) == (sealed, forged) {
            return;
        }
        let Some(method) = &mut encrypted.method else { return };
        match method.on_sealed(now, sealed).and_then(|()| method.on_forged(now, forged)) {
            Ok(()) => self.obey_key_management(now),
            Err(failure) => self.end_without_keys(&failure),
        }
    }

    /// Does what the key management wants done.
    fn obey_key_management(&mut self, now: Time) {
        while !self.is_closed() {
            let method = self.encrypted.as_mut().and_then(|encrypted| encrypted.method.as_mut());
            let Some(action) = method.and_then(|method| method.poll()) else { break };
            let Some(encrypted) = &mut self.encrypted else { break };
            match action {
                KeyAction::Send(message) => self.sender.send_about_keys(now, message),
                KeyAction::OpenWith(epoch, keys) => self.open_with(epoch, keys),
                KeyAction::SealWith(epoch, keys) => encrypted.epochs.seal_with(epoch, keys),
                KeyAction::Retire(epoch) => encrypted.epochs.retire(epoch),
                KeyAction::RequireProtection => self.require_protection(now),
                KeyAction::KeepForRestart(keys) => encrypted.epochs.keep_for_restart(keys),
            }
        }
        self.open_gate_in_time();
    }

    fn open_with(&mut self, epoch: Epoch, keys: RecordKeys) {
        let Some(encrypted) = &mut self.encrypted else { return };
        let is_first = !encrypted.epochs.opens();
        encrypted.epochs.open_with(epoch, keys);
        if let Some(receiver) = self.receiver.as_mut().filter(|_| is_first) {
            receiver.leave_the_open();
        }
    }

    /// The draft's section 5.2: "After the application or key managment method has restricted the
    /// SCTP packet handling to protected SCTP packets only, an SCTP packet not containing a DTLS
    /// chunk MUST be silently discarded".
    fn require_protection(&mut self, now: Time) {
        let Some(encrypted) = &mut self.encrypted else { return };
        encrypted.deadline = None;
        let Protection::AwaitsKeys { is_incoming } = encrypted.protection else { return };
        // The server's next message is about keys, and its client would miss it. The client's next
        // one is the user's.
        encrypted.protection = match encrypted.agreement.role {
            KeyRole::Client => Protection::AwaitsAcknowledgement,
            KeyRole::Server => Protection::Complete,
        };
        if !self.receiver.as_mut().is_none_or(Receiver::end_first_keys) {
            let what = "somebody altered the numbers of what the peer said in the open".to_owned();
            return self.end_without_keys(&KeyFailure::Disagreement { what });
        }
        self.tell_connected(is_incoming);
        self.settle_timers(now);
    }

    /// Lets the user's messages go as soon as the peer is known to have what we said about keys,
    /// and nothing more: whoever gave our chunks other numbers would have it take the first
    /// messages of the user for known. A SACK that acknowledges more than we sent ends the
    /// association.
    fn open_gate_in_time(&mut self) {
        let is_acknowledged = self.sender.outstanding().is_empty();
        let Some(encrypted) = &mut self.encrypted else { return };
        match encrypted.protection {
            Protection::AwaitsAcknowledgement if is_acknowledged => {
                encrypted.protection = Protection::Complete;
            }
            Protection::Complete => {}
            Protection::AwaitsAcknowledgement | Protection::AwaitsKeys { .. } => return,
        }
        self.sender.open_gate();
    }

    fn end_without_keys(&mut self, failure: &KeyFailure) {
        let words = failure.to_string();
        let refusal = ErrorCause::ProtocolViolation(words.as_bytes());
        let (cause, reason) = match failure {
            KeyFailure::Disagreement { what } => {
                (refusal, CloseReason::NoKeys { what: what.clone() })
            }
            KeyFailure::Untrusted { what } => {
                (refusal, CloseReason::PeerUntrusted { what: what.clone() })
            }
            // No refusal: whoever is told so may try again.
            KeyFailure::Timeout => {
                (ErrorCause::UserInitiatedAbort(words.as_bytes()), CloseReason::KeysTimeout)
            }
        };
        self.abort_with(&cause, reason);
    }

    /// Why there can be no keys, if that is what an ABORT says.
    pub(super) fn refusal_of_keys(&self, causes: ErrorCauses<'_>) -> Option<CloseReason> {
        let mut causes = causes.iter().flatten();
        if self.is_handshaking() {
            let is_demand = |cause| matches!(cause, ErrorCause::MissingDtlsChunkSupport);
            return causes.any(is_demand).then_some(CloseReason::PeerDemandsEncryption);
        }
        if !self.awaits_keys() {
            return None;
        }
        causes.find_map(|cause| {
            let ErrorCause::ProtocolViolation(what) = cause else { return None };
            Some(CloseReason::NoKeys { what: String::from_utf8_lossy(what).into_owned() })
        })
    }

    pub(super) fn key_timer(&self) -> Option<Time> {
        let encrypted = self.encrypted.as_ref()?;
        let method = encrypted.method.as_ref().and_then(|method| method.poll_timeout());
        [encrypted.deadline, method].into_iter().flatten().min()
    }

    pub(super) fn on_key_timer(&mut self, now: Time) {
        let Some(encrypted) = &mut self.encrypted else { return };
        if encrypted.deadline.is_some_and(|deadline| deadline <= now) {
            return self.end_without_keys(&KeyFailure::Timeout);
        }
        let is_due = |method: &&mut Box<dyn KeyManagement>| {
            method.poll_timeout().is_some_and(|at| at <= now)
        };
        let Some(method) = encrypted.method.as_mut().filter(is_due) else { return };
        match method.handle_timeout(now) {
            Ok(()) => self.obey_key_management(now),
            Err(failure) => self.end_without_keys(&failure),
        }
    }

    /// Looks into a packet before anything of it is used. The chunks of one that was sealed replace
    /// what is in `plaintext`. `None` if nothing of it may be used.
    pub(super) fn unseal<'a>(
        &mut self,
        packet: &Packet<'a>,
        plaintext: &'a mut Vec<u8>,
    ) -> Option<Packet<'a>> {
        let Some(encrypted) = &mut self.encrypted else { return Some(*packet) };
        encrypted.is_packet_sealed = false;
        let Some(chunk) = packet.dtls_chunk() else {
            // Who seals says nothing in the open, but that it refuses us.
            let may_be_open = !encrypted.epochs.opens() || is_abort(packet);
            if encrypted.is_required() || !may_be_open {
                encrypted.epochs.stats.unprotected += 1;
                return None;
            }
            return Some(*packet);
        };
        encrypted.open(&chunk, plaintext).then(|| Packet::from_parts(packet.header, plaintext))
    }

    /// Whether data may be taken. In the open both ends speak about keys alone: what else comes
    /// there is not the peer's, and must not lie here when there are keys.
    pub(super) fn is_admitted(&self, data: &DataChunk<'_>) -> bool {
        let is_sealed = |encrypted: &Encrypted| encrypted.is_packet_sealed;
        let names_keys = !data.beginning || data.ppid == KEY_MANAGEMENT_PPID;
        let is_about_keys = data.stream == KEY_MANAGEMENT_STREAM && !data.unordered && names_keys;
        self.encrypted.as_ref().is_none_or(|encrypted| is_sealed(encrypted)) || is_about_keys
    }

    /// Whether a chunk may do something. One in the open that has the peer's messages skipped, or
    /// its streams begin anew, is not the peer's, which sent none there.
    pub(super) fn admits(&self, chunk: &Chunk<'_>) -> bool {
        let is_for_sealed_only = matches!(
            chunk,
            Chunk::ForwardTsn(_) | Chunk::IForwardTsn(_) | Chunk::ReConfig(_) | Chunk::Asconf(_)
        );
        !is_for_sealed_only || self.encrypted.as_ref().is_none_or(|e| e.is_packet_sealed)
    }

    pub(super) fn note_unprotected(&mut self) {
        if let Some(encrypted) = &mut self.encrypted {
            encrypted.epochs.stats.unprotected += 1;
        }
    }

    /// Whether the next packet is to be sealed. INIT never is: nobody could look inside; nor is
    /// COOKIE ECHO, but where it restarts an association.
    pub(super) fn seals(&self) -> bool {
        let Some(encrypted) = &self.encrypted else { return false };
        match self.state {
            State::CookieWait(_) => false,
            State::CookieEchoed(_) => encrypted.epochs.is_restarted(),
            State::Established
            | State::ShutdownPending
            | State::ShutdownSent(_)
            | State::ShutdownReceived
            | State::ShutdownAckSent(_)
            | State::Closed => encrypted.epochs.seals(),
        }
    }

    /// Bytes that sealing takes of a packet, whether there are keys yet or not: what goes out in
    /// the open may have to go out again.
    pub(super) fn sealing_len(&self) -> usize {
        if self.encrypted.is_some() { SEALING_LEN } else { 0 }
    }
}

fn is_abort(packet: &Packet<'_>) -> bool {
    matches!(packet.chunks().next(), Some(Ok(Chunk::Abort(_))))
}
