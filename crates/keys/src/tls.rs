//! [`TlsKeys`]: keys by a TLS 1.3 handshake inside the association
//! (draft-porfiri-tsvwg-sctp-dtls-handshake).

mod configs;
mod credentials;
mod handshake;
mod messages;
mod session;
mod verifier;

use std::fmt;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_sctp::{
    Encryption, EncryptionPolicy, KeyContext, KeyFailure, KeyManagement, KeyManagementFactory,
    Restart,
};
use rustls::KeyLog;
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::{default_provider, kx_group};

use crate::certificate::Certificate;
use crate::error::KeyError;
use crate::identity::Identity;
use crate::restart::{RestartSecrets, RestartStore};
use crate::suite::Suite;
use crate::trust::Trust;
use configs::Configs;
use messages::tls_failure;
use session::KeySession;

/// The DTLS Key Management Identifier of "TLS for DTLS in SCTP".
const METHOD: u8 = 192;

/// How long keys are used.
///
/// The draft's section 3.4: "Implementations SHOULD rekey at least every hour".
const LIFE: Duration = Duration::from_secs(3_600);

/// How long both ends may take to agree on keys.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// How often a peer's keys may be tried in vain. RFC 9147 section 4.5.3: "the limit on the number
/// of records that fail authentication is 2^36."
const FORGERIES_MAX: u64 = 1 << 36;

/// Makes keys by TLS 1.3, where both ends prove who they are by raw public keys or certificates.
#[derive(Clone)]
pub struct TlsKeys {
    configs: Configs,
    passphrase: Option<Arc<str>>,
    life: Duration,
    records_max: Option<u64>,
    /// Where the secrets of restarts go, if there can be any.
    restarts: Option<Arc<dyn RestartStore>>,
    /// What the next call restarts.
    lost: Arc<Mutex<Option<RestartSecrets>>>,
    forgeries_max: u64,
}

impl fmt::Debug for TlsKeys {
    /// Shows no passphrase.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { life, records_max, passphrase, .. } = self;
        f.debug_struct("TlsKeys")
            .field("life", life)
            .field("records_max", records_max)
            .field("has_passphrase", &passphrase.is_some())
            .finish_non_exhaustive()
    }
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
        Self::of(identity, trust, None, suites)
    }

    /// The same for who has a certificate, too, and shows it to those who ask for one.
    ///
    /// # Errors
    ///
    /// If TLS does not take the key.
    pub fn with_certificate(
        identity: &Identity,
        trust: Trust,
        certificate: &Certificate,
    ) -> Result<Self, KeyError> {
        Self::of(identity, trust, Some(certificate), &Suite::by_speed())
    }

    fn of(
        identity: &Identity,
        trust: Trust,
        certificate: Option<&Certificate>,
        suites: &[Suite],
    ) -> Result<Self, KeyError> {
        let provider = Arc::new(CryptoProvider {
            cipher_suites: suites.iter().map(|suite| suite.in_tls()).collect(),
            kx_groups: vec![kx_group::X25519MLKEM768, kx_group::X25519],
            ..default_provider()
        });
        Ok(Self {
            configs: Configs::new(identity, &trust, certificate, &provider)?,
            passphrase: None,
            life: LIFE,
            records_max: None,
            restarts: None,
            lost: Arc::default(),
            forgeries_max: FORGERIES_MAX,
        })
    }

    /// For those only who know this passphrase. Neither who listens nor who comes between both ends
    /// learns anything that he could try passphrases with.
    #[must_use]
    pub fn with_passphrase(mut self, passphrase: &str) -> Self {
        self.passphrase = Some(passphrase.into());
        self
    }

    /// Uses keys for so long, and for so many packets, at most. Without this, for an hour, and for
    /// half of what the suite allows.
    #[must_use]
    pub const fn with_limits(mut self, life: Duration, records_max: u64) -> Self {
        (self.life, self.records_max) = (life, Some(records_max));
        self
    }

    /// Has associations be restarted by whoever has lost them, where both ends can. `store` gets
    /// what this end would need for that: `()` keeps nothing.
    #[must_use]
    pub fn with_restarts(mut self, store: Arc<dyn RestartStore>) -> Self {
        self.restarts = Some(store);
        self
    }

    /// Has the next call restart the association that these secrets are of. Its peer must be able
    /// to, and still have it, at the ports and addresses that it had.
    #[must_use]
    pub fn restarting(mut self, secrets: RestartSecrets) -> Self {
        self.lost = Arc::new(Mutex::new(Some(secrets)));
        self
    }

    /// Uses the peer's keys for so many forged packets at most, half of which have them renewed.
    /// Without this, for 2^36.
    #[must_use]
    pub const fn with_forgeries_max(mut self, forgeries_max: u64) -> Self {
        self.forgeries_max = forgeries_max;
        self
    }

    /// Tells the secrets of each TLS handshake, `EXPORTER_SECRET` among them: who has that can read
    /// the association.
    #[must_use]
    pub fn with_key_log(mut self, log: Arc<dyn KeyLog>) -> Self {
        self.configs.set_key_log(&log);
        self
    }

    /// For an association that these keys must encrypt.
    #[must_use]
    pub fn required(self) -> Encryption {
        self.by(EncryptionPolicy::Require)
    }

    /// For an association that these keys encrypt by a policy.
    #[must_use]
    pub fn by(self, policy: EncryptionPolicy) -> Encryption {
        Encryption { policy, keys: Arc::new(self), time_limit: TIME_LIMIT }
    }
}

impl KeyManagementFactory for TlsKeys {
    fn method(&self) -> u8 {
        METHOD
    }

    fn restarts(&self) -> bool {
        self.restarts.is_some()
    }

    fn take_restart(&self) -> Option<Restart> {
        self.lost.lock().ok()?.take()?.restart()
    }

    fn can_be_guessed(&self) -> bool {
        self.passphrase.is_some()
    }

    fn begin(&self, now: Time, context: KeyContext) -> Result<Box<dyn KeyManagement>, KeyFailure> {
        Ok(Box::new(KeySession::begin(now, self.clone(), context)?))
    }
}
