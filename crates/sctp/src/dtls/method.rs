//! [`KeyManagement`]: how both ends come to have keys. It is not SCTP's matter, and comes from
//! outside.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{Ppid, StreamId};
use bytes::Bytes;
use thiserror::Error;

use super::cipher::RecordKeys;
use super::epochs::Epoch;

/// The draft: "This document defines the dedicated PPID 4242 for use by all DTLS Key Management
/// Methods."
pub(crate) const KEY_MANAGEMENT_PPID: Ppid = Ppid(4242);

/// draft-porfiri-tsvwg-sctp-dtls-handshake section 4: "reliable in-order delivery on stream 0".
pub(crate) const KEY_MANAGEMENT_STREAM: StreamId = StreamId(0);

/// Which end one is where keys are agreed on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum KeyRole {
    /// Speaks first.
    Client,
    /// Answers.
    Server,
}

impl KeyRole {
    /// What the other end is.
    #[must_use]
    pub const fn opposite(self) -> Self {
        match self {
            Self::Client => Self::Server,
            Self::Server => Self::Client,
        }
    }
}

/// What a new [`KeyManagement`] is told of its association.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub struct KeyContext {
    /// Which end we are.
    pub role: KeyRole,
    /// The DTLS Key Management parameter of the client, without padding. Keys must depend on both
    /// parameters, so that nobody can have altered them.
    pub clients_offer: Vec<u8>,
    /// The same of the server.
    pub servers_offer: Vec<u8>,
    /// Whether both ends can restart the association: its keys are to include such for a restart.
    pub restarts: bool,
    /// Who the peer proved to be before the association was restarted: it must be the same again.
    pub peer_identity: Option<Vec<u8>>,
}

impl KeyContext {
    /// For key management without an association.
    #[must_use]
    pub const fn new(role: KeyRole, clients_offer: Vec<u8>, servers_offer: Vec<u8>) -> Self {
        Self { role, clients_offer, servers_offer, restarts: false, peer_identity: None }
    }
}

/// Agrees on the keys of one association.
///
/// The association hands it the messages of its peer, and then asks by [`poll`](Self::poll) what to
/// do until there is nothing more.
pub trait KeyManagement: fmt::Debug + Send {
    /// Takes a message of the peer's.
    ///
    /// # Errors
    ///
    /// If there can be no keys: the association ends.
    fn handle_message(&mut self, now: Time, message: &[u8]) -> Result<(), KeyFailure>;

    /// The next thing that the association is to do.
    fn poll(&mut self) -> Option<KeyAction>;

    /// When to call [`handle_timeout`](Self::handle_timeout).
    fn poll_timeout(&self) -> Option<Time>;

    /// Acts on time that has passed.
    ///
    /// # Errors
    ///
    /// As [`handle_message`](Self::handle_message).
    fn handle_timeout(&mut self, now: Time) -> Result<(), KeyFailure>;

    /// So many packets were sealed with the newest keys, which are not good for any number.
    ///
    /// # Errors
    ///
    /// As [`handle_message`](Self::handle_message).
    fn on_sealed(&mut self, now: Time, packets: u64) -> Result<(), KeyFailure>;

    /// So many packets seemed to be sealed with the peer's newest keys and were not: what was tried
    /// to forge one. Keys are good for 2^36 of them.
    ///
    /// # Errors
    ///
    /// As [`handle_message`](Self::handle_message).
    fn on_forged(&mut self, now: Time, packets: u64) -> Result<(), KeyFailure>;

    /// Who the peer has proved to be, in the form that the method has for that.
    fn peer_identity(&self) -> Option<&[u8]>;
}

/// What a [`KeyManagement`] has its association do.
#[derive(Debug)]
pub enum KeyAction {
    /// Send a message to the peer's.
    Send(Bytes),
    /// Open packets that were sealed with these keys.
    OpenWith(Epoch, RecordKeys),
    /// Seal packets with these keys.
    SealWith(Epoch, RecordKeys),
    /// Take no packet in the open any more: both ends have keys, and know who the other one is.
    RequireProtection,
    /// Open no packets of this epoch any more.
    Retire(Epoch),
    /// Keep these keys, in place of earlier ones, for when the peer restarts.
    KeepForRestart(RestartKeys),
}

/// The keys that an association is restarted with (the draft's section 5.4), of both directions.
/// They seal nothing before that.
#[derive(Debug, Clone)]
pub struct RestartKeys {
    /// The epoch of the keys that they were derived with.
    pub epoch: Epoch,
    /// Those that we seal with.
    pub sealing: RecordKeys,
    /// Those that the peer seals with.
    pub opening: RecordKeys,
}

/// What an association is restarted with that was lost at this end, as by a crash.
#[derive(Debug, Clone)]
pub struct Restart {
    /// The keys that were kept for it.
    pub keys: RestartKeys,
    /// Who the peer had proved to be.
    pub peer_identity: Vec<u8>,
}

/// Why there can be no keys.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyFailure {
    /// Both ends do not agree, or the peer breaks the protocol.
    #[error("{what}")]
    Disagreement {
        /// What is wrong, and what would be right.
        what: String,
    },
    /// The peer has proved to be somebody whom this end does not trust.
    #[error("{what}")]
    Untrusted {
        /// Who, and what would be right.
        what: String,
    },
    /// The peer did not do its part in time: it may the next time.
    #[error("the peer did not finish agreeing on keys in time")]
    Timeout,
}

/// Makes a [`KeyManagement`] for each association.
pub trait KeyManagementFactory: fmt::Debug + Send + Sync {
    /// The DTLS Key Management Identifier of its method.
    fn method(&self) -> u8;

    /// Whether associations can be restarted: the R bit of what is offered.
    fn restarts(&self) -> bool {
        false
    }

    /// What the next call restarts an association with, if it is to. Given away once: whoever
    /// sealed with the same keys twice would give both contents away.
    fn take_restart(&self) -> Option<Restart> {
        None
    }

    /// Whether a caller may try a secret that people think up, a passphrase. An endpoint lets few
    /// such calls in from one address.
    fn can_be_guessed(&self) -> bool {
        false
    }

    /// One for an association that is being set up.
    ///
    /// # Errors
    ///
    /// If it cannot be begun; the association ends.
    fn begin(&self, now: Time, context: KeyContext) -> Result<Box<dyn KeyManagement>, KeyFailure>;
}

/// Whether the DTLS chunk is a must.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum EncryptionPolicy {
    /// A peer that does not offer it is refused: the draft's strict mode.
    #[default]
    Require,
    /// A peer that does not offer it is spoken to in the open: the draft's loose mode. Who can
    /// alter packets can have both ends do so.
    Prefer,
}

/// That an association is encrypted, and how.
#[derive(Debug, Clone)]
pub struct Encryption {
    /// Whether it must be.
    pub policy: EncryptionPolicy,
    /// How both ends agree on keys.
    pub keys: Arc<dyn KeyManagementFactory>,
    /// How long that may take, from the end of SCTP's own handshake on.
    pub time_limit: Duration,
}
