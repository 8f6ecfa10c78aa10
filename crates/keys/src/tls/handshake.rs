//! [`Handshake`]: one TLS connection, which lives until it has given its keys.

use std::fmt;
use std::sync::Arc;

use anabranch_sctp::{Epoch, KeyContext, KeyFailure, KeyRole, RecordKeys};
use bytes::Bytes;
use rustls::pki_types::{CertificateDer, ServerName};
use rustls::server::{AcceptedAlert, Acceptor, ParsedCertificate};
use rustls::{ClientConnection, Connection};

use super::configs::Configs;
use super::tls_failure;
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

const NO_KEYS: &str = "TLS has no keys to give";

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
pub(super) struct Handshake {
    pub(super) role: KeyRole,
    pub(super) epoch: Epoch,
    stage: Stage,
    /// An alert that no connection sends.
    alert: Vec<u8>,
    /// Bytes of records that were read.
    read: usize,
}

enum Stage {
    /// A server that waits to hear in which forms keys are to go.
    Accepting(Box<Acceptor>, Configs),
    Running(Box<Connection>),
}

impl fmt::Debug for Handshake {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { role, epoch, read, .. } = self;
        let mut debug = f.debug_struct("Handshake");
        debug.field("role", role).field("epoch", epoch).field("read", read).finish_non_exhaustive()
    }
}

impl Handshake {
    pub(super) fn begin(
        configs: &Configs,
        role: KeyRole,
        epoch: Epoch,
    ) -> Result<Self, KeyFailure> {
        let stage = match role {
            KeyRole::Client => {
                let name = ServerName::try_from(SERVER_NAME).map_err(failure)?;
                let connection = ClientConnection::new(Arc::clone(&configs.client), name);
                Stage::Running(Box::new(connection.map_err(tls_failure)?.into()))
            }
            KeyRole::Server => Stage::Accepting(Box::default(), configs.clone()),
        };
        Ok(Self { role, epoch, stage, alert: Vec::new(), read: 0 })
    }

    /// Takes records of the peer's. Whatever follows, [`message`](Self::message) may have something
    /// to say: an alert, at the least.
    pub(super) fn read(&mut self, mut records: &[u8]) -> Result<(), KeyFailure> {
        self.read += records.len();
        if self.read > BYTES_MAX {
            return Err(failure("the peer's TLS handshake is longer than any should be"));
        }
        while !records.is_empty() {
            let read = match &mut self.stage {
                Stage::Accepting(acceptor, _) => acceptor.read_tls(&mut records),
                Stage::Running(connection) => connection.read_tls(&mut records),
            };
            // One that the peer has closed reads no more.
            if read.map_err(failure)? == 0 {
                return Err(failure("the peer closed the TLS connection amid its handshake"));
            }
            self.accept()?;
            if let Stage::Running(connection) = &mut self.stage {
                connection.process_new_packets().map_err(tls_failure)?;
            }
        }
        Ok(())
    }

    /// Goes on as the client wishes, once all that it begins with is there.
    fn accept(&mut self) -> Result<(), KeyFailure> {
        let Stage::Accepting(acceptor, configs) = &mut self.stage else { return Ok(()) };
        let accepted = match acceptor.accept() {
            Ok(Some(accepted)) => accepted,
            Ok(None) => return Ok(()),
            Err((error, alert)) => return Err(refused(&mut self.alert, error, alert)),
        };
        let config = configs.server(&accepted.client_hello());
        match accepted.into_connection(config) {
            Ok(connection) => self.stage = Stage::Running(Box::new(connection.into())),
            Err((error, alert)) => return Err(refused(&mut self.alert, error, alert)),
        }
        Ok(())
    }

    const fn connection(&self) -> Option<&Connection> {
        match &self.stage {
            Stage::Accepting(..) => None,
            Stage::Running(connection) => Some(connection),
        }
    }

    /// What is to be said to the peer.
    pub(super) fn message(&mut self) -> Result<Option<Bytes>, KeyFailure> {
        let mut records = std::mem::take(&mut self.alert);
        if let Stage::Running(connection) = &mut self.stage {
            while connection.wants_write() {
                connection.write_tls(&mut records).map_err(failure)?;
            }
        }
        Ok((!records.is_empty()).then(|| Message::Records(&records).encode(self.epoch)))
    }

    pub(super) fn is_done(&self) -> bool {
        self.connection().is_some_and(|connection| !connection.is_handshaking())
    }

    /// Who the peer has proved to be: the bytes of an Ed25519 key, or of the SubjectPublicKeyInfo
    /// of another one.
    pub(super) fn peer(&self) -> Option<Vec<u8>> {
        let shown = self.connection()?.peer_certificates()?.first()?;
        let spki = spki_of(shown);
        Some(PublicKey::from_spki(&spki).map_or(spki, |key| key.as_bytes().to_vec()))
    }

    pub(super) fn suite(&self) -> Option<Suite> {
        Suite::of(self.connection()?.negotiated_cipher_suite()?.suite())
    }

    /// What only the two ends of this connection have.
    pub(super) fn binding(&self) -> Result<Vec<u8>, KeyFailure> {
        let connection = self.connection().ok_or_else(|| failure(NO_KEYS))?;
        let none = vec![0; BINDING_LEN];
        connection.export_keying_material(none, BINDING_LABEL, None).map_err(tls_failure)
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
        keys.ok_or_else(|| failure(NO_KEYS))
    }

    /// What is kept for a restart, when the handshake is done, of a peer with an Ed25519 key.
    pub(super) fn restart_secrets(&self, context: &KeyContext) -> Option<RestartSecrets> {
        let suite = self.suite()?;
        let material = |sealer| self.material(suite, context, sealer, Purpose::Restart);
        Some(RestartSecrets {
            suite,
            epoch: self.epoch,
            peer: PublicKey::from_bytes(&self.peer()?)?,
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
        Material::derive(self.connection()?, suite, context, sealer, purpose)
    }
}

/// The key in what a peer showed: in a certificate, or as it is.
fn spki_of(shown: &CertificateDer<'_>) -> Vec<u8> {
    match ParsedCertificate::try_from(shown) {
        Ok(certificate) => certificate.subject_public_key_info().to_vec(),
        Err(_) => shown.to_vec(),
    }
}

/// A handshake that failed before there was a connection.
fn refused(said: &mut Vec<u8>, error: rustls::Error, mut alert: AcceptedAlert) -> KeyFailure {
    match alert.write_all(said) {
        Ok(()) => tls_failure(error),
        Err(error) => failure(error),
    }
}
