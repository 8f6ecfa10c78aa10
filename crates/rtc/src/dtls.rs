//! [`Dtls`]: the adapter for dimpl, a DTLS server without I/O. Nothing outside names dimpl.

#![expect(clippy::disallowed_types, reason = "dimpl counts time by `Instant`: it is told ours")]

mod suites;

use std::fmt;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_sansio::Time;
use dimpl::certificate::{calculate_fingerprint, generate_self_signed_certificate};
use dimpl::{Config, DtlsCertificate, Output};
use thiserror::Error;

/// What a record adds to its content: DTLS 1.2 with AES-GCM has 13 bytes of header, 8 of nonce and
/// 16 of tag. DTLS 1.3 adds less.
pub(crate) const RECORD_OVERHEAD: usize = 13 + 8 + 16;

/// The first retransmission of a flight: round trips to viewers are far shorter than the second
/// that is usual.
const FLIGHT_RTO: Duration = Duration::from_millis(400);

/// A handshake takes at most that long.
const HANDSHAKE_MAX: Duration = Duration::from_secs(10);

/// What all connections of a server share: its certificate, and how dimpl behaves.
#[derive(Clone)]
pub(crate) struct Identity {
    certificate: DtlsCertificate,
    config: Arc<Config>,
    fingerprint: [u8; 32],
    /// Where our time begins on dimpl's axis. It does not matter, as long as it stays.
    epoch: Instant,
}

/// Why there is no certificate, or no connection.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("{0}")]
pub(crate) struct DtlsError(String);

impl Identity {
    /// A fresh self-signed certificate (RFC 8827 section 6.5: who shows it is told by its
    /// fingerprint in the answer).
    ///
    /// `datagram_max` bounds handshake datagrams.
    pub(crate) fn generate(datagram_max: usize) -> Result<Self, DtlsError> {
        let certificate = generate_self_signed_certificate().map_err(failure)?;
        let config = Config::builder()
            .with_crypto_provider(suites::provider())
            .mtu(datagram_max)
            // The connectivity check has shown that the peer is where it says, so a cookie would
            // cost a round trip for nothing.
            .use_server_cookie(false)
            .require_client_certificate(true)
            .flight_start_rto(FLIGHT_RTO)
            .handshake_timeout(HANDSHAKE_MAX)
            .build()
            .map_err(failure)?;
        let fingerprint = sha_256(&certificate.certificate)?;
        Ok(Self { certificate, config: Arc::new(config), fingerprint, epoch: Instant::now() })
    }

    /// The SHA-256 of the certificate.
    pub(crate) const fn fingerprint(&self) -> &[u8; 32] {
        &self.fingerprint
    }

    fn instant(&self, time: Time) -> Instant {
        self.epoch + Duration::from_nanos(time.as_nanos())
    }
}

impl fmt::Debug for Identity {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Identity").finish_non_exhaustive()
    }
}

fn sha_256(certificate: &[u8]) -> Result<[u8; 32], DtlsError> {
    calculate_fingerprint(certificate)
        .try_into()
        .map_err(|_| DtlsError("the fingerprint of a certificate has not 32 bytes".to_owned()))
}

fn failure(error: impl fmt::Display) -> DtlsError {
    DtlsError(error.to_string())
}

/// What a connection brought.
pub(crate) enum Record<'a> {
    /// A datagram to send.
    Datagram(&'a [u8]),
    /// The fingerprint of the peer's certificate.
    Certificate([u8; 32]),
    /// The handshake is done.
    Connected,
    /// An SCTP packet.
    Content(&'a [u8]),
    /// The peer ended the connection.
    Closed,
}

/// The server's side of one connection.
pub(crate) struct Dtls {
    inner: dimpl::Dtls,
    identity: Identity,
    timer: Option<Time>,
    scratch: Vec<u8>,
}

impl Dtls {
    pub(crate) fn new(now: Time, identity: &Identity) -> Self {
        let (config, certificate) = (Arc::clone(&identity.config), identity.certificate.clone());
        Self {
            inner: dimpl::Dtls::new_auto(config, certificate, identity.instant(now)),
            identity: identity.clone(),
            timer: None,
            scratch: vec![0; SCRATCH_LEN],
        }
    }

    /// Takes a datagram; what comes of it is for [`drain`](Self::drain) to tell.
    pub(crate) fn handle_datagram(&mut self, now: Time, bytes: &[u8]) -> Result<(), DtlsError> {
        self.handle_timeout(now)?;
        self.inner.handle_packet(bytes).map_err(failure)
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) -> Result<(), DtlsError> {
        self.inner.handle_timeout(self.identity.instant(now)).map_err(failure)
    }

    pub(crate) const fn timer(&self) -> Option<Time> {
        self.timer
    }

    /// Tells all that the last call brought about.
    pub(crate) fn drain(&mut self, mut tell: impl FnMut(Record<'_>)) -> Result<(), DtlsError> {
        loop {
            match self.inner.poll_output(&mut self.scratch) {
                Output::Packet(bytes) => tell(Record::Datagram(bytes)),
                Output::PeerCert(certificate) => tell(Record::Certificate(sha_256(certificate)?)),
                Output::Connected => tell(Record::Connected),
                Output::ApplicationData(bytes) => tell(Record::Content(bytes)),
                Output::CloseNotify => tell(Record::Closed),
                Output::BufferTooSmall { needed } => self.scratch.resize(needed, 0),
                Output::Timeout(at) => {
                    let since = at.saturating_duration_since(self.identity.epoch);
                    self.timer = Some(Time::ZERO + since);
                    return Ok(());
                }
                // Keys for SRTP, which we do not speak.
                Output::KeyingMaterial(..) | _ => {}
            }
        }
    }

    /// Encrypts an SCTP packet; what is to be sent is told.
    pub(crate) fn encrypt(
        &mut self,
        content: &[u8],
        tell: impl FnMut(Record<'_>),
    ) -> Result<(), DtlsError> {
        self.inner.send_application_data(content).map_err(failure)?;
        self.drain(tell)
    }

    /// Says goodbye.
    pub(crate) fn close(&mut self) -> Result<(), DtlsError> {
        self.inner.close().map_err(failure)
    }
}

/// More than any datagram that dimpl writes, and any record of ours.
const SCRATCH_LEN: usize = 2_048;

impl fmt::Debug for Dtls {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dtls").field("timer", &self.timer).finish_non_exhaustive()
    }
}
