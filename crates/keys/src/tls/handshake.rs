//! [`Handshake`]: one TLS connection, which lives until it has given its keys.

use std::sync::Arc;

use anabranch_sctp::{Epoch, KeyContext, KeyFailure, KeyRole, RecordKeys};
use bytes::Bytes;
use rustls::pki_types::ServerName;
use rustls::{ClientConnection, Connection, ServerConnection};

use super::{TlsKeys, tls_failure};
use crate::derivation::{Material, Purpose};
use crate::error::failure;
use crate::identity::PublicKey;
use crate::message::Message;
use crate::password::BINDING_LABEL;
use crate::restart::RestartSecrets;
use crate::suite::Suite;

/// Nobody's name: peers are known by their keys.
const SERVER_NAME: &str = "anabranch.invalid";

/// Bytes of TLS records that a peer may make us read before it has proved who it is.
const BYTES_MAX: usize = 64 << 10;

/// Bytes of what a passphrase is proved for.
const BINDING_LEN: usize = 32;

/// What a record that begins a handshake of TLS has at these places: its type, and that of the
/// message in it.
const RECORD_HEADER_LEN: usize = 5;
const HANDSHAKE: u8 = 22;
const CLIENT_HELLO: u8 = 1;

/// Whether TLS records begin with a ClientHello.
pub(super) fn is_client_hello(records: &[u8]) -> bool {
    records.first() == Some(&HANDSHAKE) && records.get(RECORD_HEADER_LEN) == Some(&CLIENT_HELLO)
}

/// One TLS connection, and the epoch whose keys it is to give.
#[derive(Debug)]
pub(super) struct Handshake {
    pub(super) role: KeyRole,
    pub(super) epoch: Epoch,
    connection: Connection,
    /// Bytes of records that were read.
    read: usize,
}

impl Handshake {
    pub(super) fn begin(keys: &TlsKeys, role: KeyRole, epoch: Epoch) -> Result<Self, KeyFailure> {
        let connection = match role {
            KeyRole::Client => {
                let name = ServerName::try_from(SERVER_NAME).map_err(failure)?;
                ClientConnection::new(Arc::clone(&keys.client), name).map(Connection::from)
            }
            KeyRole::Server => {
                ServerConnection::new(Arc::clone(&keys.server)).map(Connection::from)
            }
        };
        Ok(Self { role, epoch, connection: connection.map_err(tls_failure)?, read: 0 })
    }

    /// Takes records of the peer's. Whatever follows, [`message`](Self::message) may have something
    /// to say: an alert, at the least.
    pub(super) fn read(&mut self, mut records: &[u8]) -> Result<(), KeyFailure> {
        self.read += records.len();
        if self.read > BYTES_MAX {
            return Err(failure("the peer's TLS handshake is longer than any should be"));
        }
        while !records.is_empty() {
            // One that the peer has closed reads no more.
            if self.connection.read_tls(&mut records).map_err(failure)? == 0 {
                return Err(failure("the peer closed the TLS connection amid its handshake"));
            }
            self.connection.process_new_packets().map_err(tls_failure)?;
        }
        Ok(())
    }

    /// What is to be said to the peer.
    pub(super) fn message(&mut self) -> Result<Option<Bytes>, KeyFailure> {
        let mut records = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut records).map_err(failure)?;
        }
        Ok((!records.is_empty()).then(|| Message::Records(&records).encode(self.epoch)))
    }

    pub(super) fn is_done(&self) -> bool {
        !self.connection.is_handshaking()
    }

    /// Who the peer has proved to be.
    pub(super) fn peer(&self) -> Option<PublicKey> {
        PublicKey::from_spki(self.connection.peer_certificates()?.first()?)
    }

    pub(super) fn suite(&self) -> Option<Suite> {
        Suite::of(self.connection.negotiated_cipher_suite()?.suite())
    }

    /// What only the two ends of this connection have.
    pub(super) fn binding(&self) -> Result<Vec<u8>, KeyFailure> {
        let none = || vec![0; BINDING_LEN];
        self.connection.export_keying_material(none(), BINDING_LABEL, None).map_err(tls_failure)
    }

    /// The keys that one end seals with, when the handshake is done.
    pub(super) fn keys(
        &self,
        context: &KeyContext,
        sealer: KeyRole,
    ) -> Result<RecordKeys, KeyFailure> {
        let keys = self
            .suite()
            .and_then(|suite| self.material(suite, context, sealer, Purpose::Traffic)?.keys(suite));
        keys.ok_or_else(|| failure("TLS has no keys to give"))
    }

    /// What is kept for a restart, when the handshake is done.
    pub(super) fn restart_secrets(&self, context: &KeyContext) -> Option<RestartSecrets> {
        let suite = self.suite()?;
        let material = |sealer| self.material(suite, context, sealer, Purpose::Restart);
        Some(RestartSecrets {
            suite,
            epoch: self.epoch,
            peer: self.peer()?,
            sealing: material(self.role)?,
            opening: material(self.role.opposite())?,
        })
    }

    fn material(
        &self,
        suite: Suite,
        context: &KeyContext,
        sealer: KeyRole,
        purpose: Purpose,
    ) -> Option<Material> {
        Material::derive(&self.connection, suite, context, sealer, purpose)
    }
}
