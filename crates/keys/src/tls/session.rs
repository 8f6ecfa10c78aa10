//! [`KeySession`]: the keys of one association, from the first ones on
//! (draft-porfiri-tsvwg-sctp-dtls-handshake section 6).

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_sctp::{Epoch, KeyAction, KeyContext, KeyFailure, KeyManagement, KeyRole};

use super::TlsKeys;
use super::handshake::{Handshake, is_client_hello};
use crate::error::failure;
use crate::message::{Message, epoch_bits};
use crate::password::{ONE, Proof};
use crate::restart::RestartSecrets;

/// How long packets of an epoch that is over may still be on their way.
///
/// Section 6.2.3: "A value of 120 seconds (one Maximum Segment Lifetime) is RECOMMENDED in this
/// case."
const DRAIN: Duration = Duration::from_secs(120);

/// How long the peer may take to answer where keys are renewed.
const RENEWAL_MAX: Duration = Duration::from_secs(60);

/// How much later than its peer the client of the first handshake finds that keys are old: both
/// would begin at once else, in vain for one of them.
const CLIENTS_PATIENCE: Duration = Duration::from_secs(60);

/// The keys of one association.
#[derive(Debug)]
pub(super) struct KeySession {
    keys: TlsKeys,
    context: KeyContext,
    /// The epoch that both ends seal with; none before there are keys.
    current: Option<Epoch>,
    /// Who the peer is, which does not change.
    peer: Option<Vec<u8>>,
    /// On the way to the next epoch.
    next: Option<Next>,
    /// When keys are to be renewed, or have to be.
    timer: Option<Time>,
    /// The epoch that is over, and when its packets are not opened any more.
    drained: Option<(Epoch, Time)>,
    /// The secrets of the next restart, and from when on they replace those of the last one.
    restart: Option<(RestartSecrets, Time)>,
    /// Packets that keys may seal.
    records_max: u64,
    /// On the way to the proof that the peer knows the passphrase, if there is one.
    proof: Option<Proof>,
    actions: VecDeque<KeyAction>,
}

/// How far the next epoch is.
#[derive(Debug)]
struct Next {
    handshake: Handshake,
    /// Whether we open what the peer seals, and wait to be told that we may seal.
    awaits_protection: bool,
}

impl KeySession {
    pub(super) fn begin(now: Time, keys: TlsKeys, context: KeyContext) -> Result<Self, KeyFailure> {
        let role = context.role;
        let peer = context.peer_identity.clone();
        let mut session = Self {
            keys,
            context,
            current: None,
            peer,
            next: None,
            timer: None,
            drained: None,
            restart: None,
            records_max: u64::MAX,
            proof: None,
            actions: VecDeque::new(),
        };
        if let Some(passphrase) = &session.keys.passphrase {
            let (proof, share) = Proof::begin(passphrase, role);
            let share = Message::PassphraseShare(&share).encode(Epoch::FIRST);
            session.actions.push_back(KeyAction::Send(share));
            session.proof = Some(proof);
        }
        session.begin_epoch(now, role)?;
        Ok(session)
    }

    /// The epoch that is to come.
    fn next_epoch(&self) -> Epoch {
        self.current.map_or(Epoch::FIRST, Epoch::next)
    }

    fn begin_epoch(&mut self, now: Time, role: KeyRole) -> Result<(), KeyFailure> {
        let handshake = Handshake::begin(&self.keys.configs, role, self.next_epoch())?;
        self.next = Some(Next { handshake, awaits_protection: false });
        // The first keys are the association's to wait for.
        self.timer = self.current.map(|_| now + RENEWAL_MAX);
        self.speak()
    }

    fn speak(&mut self) -> Result<(), KeyFailure> {
        let Some(next) = &mut self.next else { return Ok(()) };
        self.actions.extend(next.handshake.message()?.map(KeyAction::Send));
        Ok(())
    }

    fn on_records(&mut self, now: Time, records: &[u8]) -> Result<(), KeyFailure> {
        let is_asked = is_client_hello(records);
        match &self.next {
            // Section 6.2.4: "the ClientHello from the endpoint with the keymanager client role
            // SHALL be processed, and the other SHALL be dropped."
            Some(next) if is_asked && next.handshake.role == KeyRole::Client => {
                if self.context.role == KeyRole::Client {
                    return Ok(());
                }
                self.begin_epoch(now, KeyRole::Server)?;
            }
            None if is_asked => self.begin_epoch(now, KeyRole::Server)?,
            None => return Ok(()),
            Some(_) => {}
        }
        let Some(next) = self.next.as_mut().filter(|next| !next.awaits_protection) else {
            return Ok(());
        };
        let result = next.handshake.read(records);
        self.speak()?;
        result?;
        if self.next.as_ref().is_some_and(|next| next.handshake.is_done()) {
            self.on_handshake_done(now)?;
        }
        Ok(())
    }

    /// Section 6.1: the client's steps 7 and 8, the server's 9 to 11.
    fn on_handshake_done(&mut self, now: Time) -> Result<(), KeyFailure> {
        let Some(next) = &mut self.next else { return Ok(()) };
        let handshake = &next.handshake;
        let (role, epoch) = (handshake.role, handshake.epoch);
        let peer = handshake.peer();
        // Section 3.3: "Clients and servers MUST NOT accept a change of identity during the setup
        // of a new TLS connection".
        if self.peer.is_some() && self.peer != peer {
            return Err(failure("the peer has another key than it had before"));
        }
        self.peer = peer;
        let opening = handshake.keys(&self.context, role.opposite())?;
        if role == KeyRole::Client {
            // Before our last message, which has the peer seal, can reach it.
            self.actions.push_front(KeyAction::OpenWith(epoch, opening));
            next.awaits_protection = true;
            return self.send_proof();
        }
        // Who has a passphrase is to prove it first.
        if self.proof.as_ref().is_none_or(Proof::is_settled) { self.protect(now) } else { Ok(()) }
    }

    /// The server's steps 9 to 11.
    fn protect(&mut self, now: Time) -> Result<(), KeyFailure> {
        let Some(Next { handshake, .. }) = &self.next else { return Ok(()) };
        let epoch = handshake.epoch;
        let opening = handshake.keys(&self.context, KeyRole::Client)?;
        let sealing = handshake.keys(&self.context, KeyRole::Server)?;
        self.actions.extend([
            KeyAction::OpenWith(epoch, opening),
            KeyAction::SealWith(epoch, sealing),
            KeyAction::RequireProtection,
            KeyAction::Send(Message::ProtectionEstablished.encode(epoch)),
        ]);
        self.enter(now);
        Ok(())
    }

    fn on_share(&mut self, share: &[u8]) -> Result<(), KeyFailure> {
        let Some(proof) = self.proof.take() else { return Err(failure(ONE)) };
        self.proof = Some(proof.on_share(share)?);
        Ok(())
    }

    /// Proves that we know the passphrase, if there is one.
    fn send_proof(&mut self) -> Result<(), KeyFailure> {
        let Some(proof) = self.proof.as_ref().filter(|proof| !proof.is_settled()) else {
            return Ok(());
        };
        let Some(Next { handshake, .. }) = &self.next else { return Ok(()) };
        let proof = proof.ours(&handshake.binding()?)?;
        let message = Message::PassphraseProof(&proof).encode(handshake.epoch);
        self.actions.push_back(KeyAction::Send(message));
        Ok(())
    }

    fn on_proof(&mut self, now: Time, proof: &[u8]) -> Result<(), KeyFailure> {
        let Some(Next { handshake, .. }) = self.next.as_ref().filter(|n| n.handshake.is_done())
        else {
            return Err(failure("the peer proves a passphrase before there is a connection"));
        };
        let (role, binding) = (handshake.role, handshake.binding()?);
        let Some(expected) = &mut self.proof else { return Err(failure(ONE)) };
        expected.verify(proof, &binding)?;
        if role == KeyRole::Server {
            self.send_proof()?;
        }
        if let Some(proof) = &mut self.proof {
            proof.settle();
        }
        if role == KeyRole::Server { self.protect(now) } else { Ok(()) }
    }

    /// Section 6.1, step 12.
    fn on_protection_established(&mut self, now: Time) -> Result<(), KeyFailure> {
        let Some(next) = self.next.as_ref().filter(|next| next.awaits_protection) else {
            return Ok(());
        };
        if self.proof.as_ref().is_some_and(|proof| !proof.is_settled()) {
            return Err(failure(ONE));
        }
        let sealing = next.handshake.keys(&self.context, KeyRole::Client)?;
        let epoch = next.handshake.epoch;
        self.actions.extend([KeyAction::SealWith(epoch, sealing), KeyAction::RequireProtection]);
        self.enter(now);
        Ok(())
    }

    /// Both ends seal with the next epoch's keys.
    fn enter(&mut self, now: Time) {
        let Some(Next { handshake, .. }) = self.next.take() else { return };
        let suite_max = handshake.suite().map_or(0, |suite| suite.records_max() / 2);
        self.records_max = self.keys.records_max.unwrap_or(suite_max);
        if self.context.restarts {
            self.restart =
                handshake.restart_secrets(&self.context).map(|s| (s, self.restarts_at(now)));
        }
        self.keep_for_restart(now);
        self.drained = self.current.map(|epoch| (epoch, now + DRAIN));
        self.current = Some(handshake.epoch);
        let patience = match self.context.role {
            KeyRole::Client => CLIENTS_PATIENCE,
            KeyRole::Server => Duration::ZERO,
        };
        self.timer = Some(now + self.keys.life + patience);
    }

    /// When the secrets of the next restart replace the last ones.
    ///
    /// draft-ietf-tsvwg-sctp-dtls-chunk section 5.4: "The new restart DTLS key context is only
    /// installed after all old in-flight restart packets are expected to have been received."
    fn restarts_at(&self, now: Time) -> Time {
        let was_restarted = self.current.is_none() && self.context.peer_identity.is_some();
        if was_restarted { now + DRAIN } else { now }
    }

    fn keep_for_restart(&mut self, now: Time) {
        let Some((secrets, _)) = self.restart.take_if(|(_, at)| *at <= now) else { return };
        let Some(keys) = secrets.keys() else { return };
        self.actions.push_back(KeyAction::KeepForRestart(keys));
        if let Some(store) = &self.keys.restarts {
            store.keep(&secrets);
        }
    }
}

impl KeyManagement for KeySession {
    fn handle_message(&mut self, now: Time, message: &[u8]) -> Result<(), KeyFailure> {
        match Message::decode(message) {
            Some((message, epoch)) if epoch == epoch_bits(self.next_epoch()) => match message {
                Message::Records(records) => self.on_records(now, records),
                Message::ProtectionEstablished => self.on_protection_established(now),
                Message::PassphraseShare(share) => self.on_share(share),
                Message::PassphraseProof(proof) => self.on_proof(now, proof),
                Message::UnknownControl(_) => Ok(()),
            },
            Some(_) => Ok(()),
            None => Err(failure("the peer sent a message about keys that cannot be read")),
        }
    }

    fn poll(&mut self) -> Option<KeyAction> {
        self.actions.pop_front()
    }

    fn poll_timeout(&self) -> Option<Time> {
        let drained = self.drained.map(|(_, at)| at);
        let restart = self.restart.as_ref().map(|(_, at)| *at);
        [self.timer, drained, restart].into_iter().flatten().min()
    }

    fn handle_timeout(&mut self, now: Time) -> Result<(), KeyFailure> {
        if let Some((epoch, _)) = self.drained.take_if(|(_, at)| *at <= now) {
            self.actions.push_back(KeyAction::Retire(epoch));
        }
        self.keep_for_restart(now);
        if self.timer.take_if(|at| *at <= now).is_none() {
            return Ok(());
        }
        if self.next.is_some() {
            return Err(KeyFailure::Timeout);
        }
        self.begin_epoch(now, KeyRole::Client)
    }

    fn on_sealed(&mut self, now: Time, packets: u64) -> Result<(), KeyFailure> {
        if packets < self.records_max || self.next.is_some() || self.current.is_none() {
            return Ok(());
        }
        self.begin_epoch(now, KeyRole::Client)
    }

    /// RFC 9147 section 4.5.3: "If the number of packets that fail authentication exceeds a limit
    /// that is specific to the AEAD in use, an implementation SHOULD immediately close the
    /// connection. Implementations SHOULD initiate a key update with update_requested before
    /// reaching this limit."
    fn on_forged(&mut self, now: Time, packets: u64) -> Result<(), KeyFailure> {
        let limit = self.keys.forgeries_max;
        if packets >= limit {
            return Err(failure("more packets were forged than keys are good for"));
        }
        if packets < limit / 2 || self.next.is_some() || self.current.is_none() {
            return Ok(());
        }
        self.begin_epoch(now, KeyRole::Client)
    }

    fn peer_identity(&self) -> Option<&[u8]> {
        self.peer.as_deref()
    }
}
