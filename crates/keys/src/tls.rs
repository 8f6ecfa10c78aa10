//! [`TlsKeys`]: keys by a TLS 1.3 handshake inside the association
//! (draft-porfiri-tsvwg-sctp-dtls-handshake).

mod verifier;

use std::collections::VecDeque;
use std::sync::Arc;

use anabranch_sansio::Time;
use anabranch_sctp::{
    Epoch, KeyAction, KeyContext, KeyFailure, KeyManagement, KeyManagementFactory, KeyRole,
};
use rustls::client::AlwaysResolvesClientRawPublicKeys;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};
use rustls::pki_types::{PrivatePkcs8KeyDer, ServerName};
use rustls::server::AlwaysResolvesServerRawPublicKeys;
use rustls::sign::CertifiedKey;
use rustls::version::TLS13;
use rustls::{ClientConfig, ClientConnection, Connection, ServerConfig, ServerConnection};

use crate::derivation::keys_of;
use crate::error::KeyError;
use crate::identity::{Identity, PublicKey};
use crate::message::{Message, epoch_bits};
use crate::suite::Suite;
use crate::trust::Trust;
use verifier::Verifier;

/// The DTLS Key Management Identifier of "TLS for DTLS in SCTP".
const METHOD: u8 = 192;

/// Nobody's name: peers are known by their keys.
const SERVER_NAME: &str = "anabranch.invalid";

/// Bytes of TLS records that a peer may make us read before it has proved who it is.
const HANDSHAKE_MAX: usize = 64 << 10;

/// Makes keys by TLS 1.3, where both ends prove who they are by raw public keys.
#[derive(Debug, Clone)]
pub struct TlsKeys {
    client: Arc<ClientConfig>,
    server: Arc<ServerConfig>,
}

impl TlsKeys {
    /// For who has this identity, and takes peers whom it trusts.
    ///
    /// # Errors
    ///
    /// If TLS does not take the key.
    pub fn new(identity: &Identity, trust: Trust) -> Result<Self, KeyError> {
        Self::with_suites(identity, trust, &Suite::by_speed())
    }

    /// The same with these suites, the best first.
    ///
    /// # Errors
    ///
    /// If there is none, or TLS does not take the key.
    pub fn with_suites(
        identity: &Identity,
        trust: Trust,
        suites: &[Suite],
    ) -> Result<Self, KeyError> {
        let mut provider = default_provider();
        provider.cipher_suites = suites.iter().map(|suite| suite.in_tls()).collect();
        provider.kx_groups = vec![kx_group::X25519MLKEM768, kx_group::X25519];
        let provider = Arc::new(provider);
        let failure = |error: rustls::Error| KeyError::Tls(error.to_string());
        let key = PrivatePkcs8KeyDer::from(identity.to_pkcs8().to_vec());
        let key = provider.key_provider.load_private_key(key.into()).map_err(failure)?;
        let spki = identity.public_key().to_spki();
        let own = Arc::new(CertifiedKey::new(vec![spki.into()], key));
        let verifier = Arc::new(Verifier::new(trust, &provider));
        let client = ClientConfig::builder_with_provider(Arc::clone(&provider))
            .with_protocol_versions(&[&TLS13])
            .map_err(failure)?
            .dangerous()
            .with_custom_certificate_verifier(Arc::clone(&verifier) as Arc<_>)
            .with_client_cert_resolver(Arc::new(AlwaysResolvesClientRawPublicKeys::new(
                Arc::clone(&own),
            )));
        let mut server = ServerConfig::builder_with_provider(provider)
            .with_protocol_versions(&[&TLS13])
            .map_err(failure)?
            .with_client_cert_verifier(verifier)
            .with_cert_resolver(Arc::new(AlwaysResolvesServerRawPublicKeys::new(own)));
        // Each association has a full handshake.
        server.send_tls13_tickets = 0;
        Ok(Self { client: Arc::new(client), server: Arc::new(server) })
    }
}

impl KeyManagementFactory for TlsKeys {
    fn method(&self) -> u8 {
        METHOD
    }

    fn begin(&self, _now: Time, context: KeyContext) -> Result<Box<dyn KeyManagement>, KeyFailure> {
        let connection = match context.role {
            KeyRole::Client => {
                let name = ServerName::try_from(SERVER_NAME).map_err(failure)?;
                ClientConnection::new(Arc::clone(&self.client), name).map(Connection::from)
            }
            KeyRole::Server => {
                ServerConnection::new(Arc::clone(&self.server)).map(Connection::from)
            }
        };
        let mut handshake = Handshake {
            connection: connection.map_err(failure)?,
            context,
            epoch: Epoch::FIRST,
            read: 0,
            progress: Progress::Handshaking,
            peer: None,
            actions: VecDeque::new(),
        };
        handshake.write_records()?;
        Ok(Box::new(handshake))
    }
}

/// How far both ends are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Progress {
    /// TLS goes on.
    Handshaking,
    /// The client opens what the server seals, and does not seal yet.
    AwaitingProtection,
    /// Both ends seal.
    Done,
}

/// The TLS handshake of one association.
#[derive(Debug)]
struct Handshake {
    connection: Connection,
    context: KeyContext,
    epoch: Epoch,
    /// Bytes of records that were read.
    read: usize,
    progress: Progress,
    peer: Option<PublicKey>,
    actions: VecDeque<KeyAction>,
}

impl Handshake {
    fn on_records(&mut self, mut records: &[u8]) -> Result<(), KeyFailure> {
        if self.progress != Progress::Handshaking {
            return Ok(());
        }
        self.read += records.len();
        if self.read > HANDSHAKE_MAX {
            return Err(failure("the peer's TLS handshake is longer than any should be"));
        }
        while !records.is_empty() {
            self.connection.read_tls(&mut records).map_err(failure)?;
            let result = self.connection.process_new_packets();
            // An alert says to the peer what is wrong.
            self.write_records()?;
            result.map_err(failure)?;
        }
        if !self.connection.is_handshaking() {
            self.on_handshake_done()?;
        }
        Ok(())
    }

    /// Sections 6.1 and 6.2 of the draft: the client's steps 7 and 8, the server's 9 to 11.
    fn on_handshake_done(&mut self) -> Result<(), KeyFailure> {
        let spki = self.connection.peer_certificates().and_then(<[_]>::first);
        self.peer = spki.and_then(|spki| PublicKey::from_spki(spki));
        let opening = self.keys_that_seal_at(self.context.role.opposite())?;
        match self.context.role {
            KeyRole::Client => {
                self.actions.push_front(KeyAction::OpenWith(self.epoch, opening));
                self.progress = Progress::AwaitingProtection;
            }
            KeyRole::Server => {
                let sealing = self.keys_that_seal_at(KeyRole::Server)?;
                let established = Message::ProtectionEstablished.encode(self.epoch);
                self.actions.extend([
                    KeyAction::OpenWith(self.epoch, opening),
                    KeyAction::SealWith(self.epoch, sealing),
                    KeyAction::RequireProtection,
                    KeyAction::Send(established),
                ]);
                self.progress = Progress::Done;
            }
        }
        Ok(())
    }

    /// The client's step 12.
    fn on_protection_established(&mut self) -> Result<(), KeyFailure> {
        if self.progress == Progress::AwaitingProtection {
            let sealing = self.keys_that_seal_at(KeyRole::Client)?;
            self.actions.push_back(KeyAction::SealWith(self.epoch, sealing));
            self.actions.push_back(KeyAction::RequireProtection);
            self.progress = Progress::Done;
        }
        Ok(())
    }

    fn keys_that_seal_at(&self, sealer: KeyRole) -> Result<anabranch_sctp::RecordKeys, KeyFailure> {
        let negotiated = self.connection.negotiated_cipher_suite();
        let suite = negotiated.and_then(|suite| Suite::of(suite.suite()));
        suite
            .and_then(|suite| keys_of(&self.connection, suite, &self.context, sealer))
            .ok_or_else(|| failure("TLS has no keys to give"))
    }

    /// Sends what TLS has to say.
    fn write_records(&mut self) -> Result<(), KeyFailure> {
        let mut records = Vec::new();
        while self.connection.wants_write() {
            self.connection.write_tls(&mut records).map_err(failure)?;
        }
        if !records.is_empty() {
            let message = Message::Records(&records).encode(self.epoch);
            self.actions.push_back(KeyAction::Send(message));
        }
        Ok(())
    }
}

impl KeyManagement for Handshake {
    fn handle_message(&mut self, _now: Time, message: &[u8]) -> Result<(), KeyFailure> {
        match Message::decode(message) {
            Some((message, epoch)) if epoch == epoch_bits(self.epoch) => match message {
                Message::Records(records) => self.on_records(records),
                Message::ProtectionEstablished => self.on_protection_established(),
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
        None
    }

    fn handle_timeout(&mut self, _now: Time) -> Result<(), KeyFailure> {
        Ok(())
    }

    fn peer_identity(&self) -> Option<&[u8]> {
        self.peer.as_ref().map(|key| &key.as_bytes()[..])
    }
}

fn failure(what: impl ToString) -> KeyFailure {
    KeyFailure { what: what.to_string() }
}
