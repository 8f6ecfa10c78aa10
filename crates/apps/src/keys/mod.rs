//! Who one is, whom one knows, and what follows for a session: [`Secured`].

mod folder;

use std::sync::Arc;
use std::time::Duration;

use anabranch_keys::{KeyError, PublicKey, TlsKeys, Trust};
use anabranch_sctp::{Encryption, EncryptionPolicy};
use anabranch_session::{Agreement, Refusal, RefusalCode};
use thiserror::Error;

pub use folder::{KeyFileError, KeyFolder};

use crate::net::is_loopback;
use crate::service::Severity;
use crate::url::{Mode, Security, SessionUrl};

/// How long both ends may take to agree on keys.
const TIME_LIMIT: Duration = Duration::from_secs(10);

/// Why a session cannot be encrypted.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SecurityError {
    /// A file with keys.
    #[error(transparent)]
    File(#[from] KeyFileError),
    /// A key.
    #[error(transparent)]
    Key(#[from] KeyError),
}

/// How a session is secured, and what is said about it.
#[derive(Debug)]
pub struct Secured {
    folder: KeyFolder,
    /// Ours, if the session is encrypted.
    own_key: Option<PublicKey>,
    encryption: Option<Encryption>,
    /// Under which name the peer's key is remembered, if it is.
    remembered_as: Option<String>,
    /// Whether the peer's key was known before.
    is_known: bool,
}

impl Secured {
    /// What a URL asks for, with the keys of the user who runs the program.
    ///
    /// # Errors
    /// A file cannot be read or made; says which.
    pub fn of(url: &SessionUrl) -> Result<Self, SecurityError> {
        Self::with(KeyFolder::of_user(), url)
    }

    fn with(folder: KeyFolder, url: &SessionUrl) -> Result<Self, SecurityError> {
        let mut secured =
            Self { folder, own_key: None, encryption: None, remembered_as: None, is_known: false };
        let Security::Encrypted { allowed } = &url.security else { return Ok(secured) };
        let identity = secured.folder.identity()?;
        let mut trust = allowed.clone();
        // A passphrase says who the peer is, and what is on this machine is no stranger.
        let remembers = url.mode == Mode::Caller
            && trust.is_empty()
            && url.passphrase.is_none()
            && !url.host.as_deref().is_some_and(is_loopback);
        if let Some(host) = url.host.as_deref().filter(|_| remembers) {
            let name = format!("{host}:{}", url.port);
            trust.extend(secured.folder.known_peer(&name)?);
            secured.is_known = !trust.is_empty();
            secured.remembered_as = Some(name);
        }
        let trust = if trust.is_empty() { Trust::Anyone } else { Trust::Only(trust) };
        let mut keys = TlsKeys::new(&identity, trust)?;
        if let Some(passphrase) = &url.passphrase {
            keys = keys.with_passphrase(passphrase.as_str());
        }
        secured.own_key = Some(identity.public_key());
        secured.encryption = Some(Encryption {
            policy: EncryptionPolicy::Require,
            keys: Arc::new(keys),
            time_limit: TIME_LIMIT,
        });
        Ok(secured)
    }

    /// For the session's configuration.
    #[must_use]
    pub fn encryption(&self) -> Option<Encryption> {
        self.encryption.clone()
    }

    /// What the user is to know before the session begins. `heard_at` is where others find a
    /// listener.
    #[must_use]
    pub fn opening(&self, heard_at: Option<&str>) -> (Severity, String) {
        match (self.own_key, heard_at) {
            (None, _) => {
                let text = "encryption=off: who sees the packets can read and alter all of it";
                (Severity::Warning, text.to_owned())
            }
            (Some(key), Some(place)) => {
                let text = format!("encrypted; the other end calls anabranch://{place}?key={key}");
                (Severity::Info, text)
            }
            (Some(key), None) => (Severity::Info, format!("encrypted; our key is {key}")),
        }
    }

    /// Remembers who the peer is, if it is met for the first time. Returns what the user is to know
    /// of it.
    pub fn on_connected(&mut self, agreement: &Agreement) -> Option<(Severity, String)> {
        let name = self.remembered_as.as_deref().filter(|_| !self.is_known)?;
        let key = agreement.peer_key.as_deref().and_then(PublicKey::from_bytes)?;
        self.is_known = true;
        Some(match self.folder.remember(name, key) {
            Ok(()) => {
                let text = format!(
                    "{name} was not known before: from now on it must have the key {key}; \
                     ?key={key} in the URL makes sure of it from the start"
                );
                (Severity::Info, text)
            }
            Err(error) => (Severity::Warning, format!("the key of {name} is not kept: {error}")),
        })
    }

    /// What helps against a refusal, if it is about a key that was remembered.
    #[must_use]
    pub fn remedy(&self, refusal: &Refusal) -> Option<String> {
        let name = self.remembered_as.as_deref().filter(|_| self.is_known)?;
        let is_about_key = refusal.code == RefusalCode::Key
            && refusal.text.contains("is not the one that was expected");
        is_about_key.then(|| {
            format!(
                "somebody else may answer in its place; if {name} was set up anew: \
                 anabranch key --forget {name}"
            )
        })
    }
}
