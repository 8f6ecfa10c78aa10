//! [`Secured`]: what the keys of both ends mean for a session.

use std::sync::Arc;
use std::time::Duration;

use anabranch_keys::{KeyError, PublicKey, TlsKeys, Trust};
use anabranch_sctp::{Encryption, EncryptionPolicy};
use anabranch_session::{Agreement, Refusal, RefusalCode};
use thiserror::Error;

use super::Severity;
use crate::keys::{KeyFileError, KeyFolder};
use crate::net::is_loopback;
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
pub(crate) struct Secured {
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
    pub(crate) fn of(url: &SessionUrl) -> Result<Self, SecurityError> {
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
    pub(crate) fn encryption(&self) -> Option<Encryption> {
        self.encryption.clone()
    }

    /// What the user is to know before the session begins. `heard_at` is where others find a
    /// listener.
    #[must_use]
    pub(crate) fn opening(&self, heard_at: Option<&str>) -> (Severity, String) {
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
    pub(crate) fn on_connected(&mut self, agreement: &Agreement) -> Option<(Severity, String)> {
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
    pub(crate) fn remedy(&self, refusal: &Refusal) -> Option<String> {
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

#[cfg(test)]
mod tests {
    use anabranch_keys::Identity;

    use super::*;

    fn folder(name: &str) -> KeyFolder {
        let path = format!("anabranch-secured-{name}-{}", std::process::id());
        let path = std::env::temp_dir().join(path);
        let _absent = std::fs::remove_dir_all(&path);
        KeyFolder::at(path)
    }

    fn secured(folder: &KeyFolder, url: &str) -> Secured {
        Secured::with(folder.clone(), &url.parse().unwrap()).unwrap()
    }

    fn agreement(key: PublicKey) -> Agreement {
        Agreement {
            program: "anabranch".to_owned(),
            path: anabranch_sansio::FourTuple::new(
                "192.0.2.1:9000".parse().unwrap(),
                "192.0.2.2:9000".parse().unwrap(),
            ),
            incoming: false,
            latency: Duration::from_millis(200),
            stream_id: None,
            partial_reliability: true,
            peer_key: Some(key.as_bytes().to_vec()),
            source: None,
        }
    }

    #[test]
    fn the_key_of_a_peer_that_is_met_is_remembered_and_said_once() {
        let folder = folder("met");
        let key = Identity::generate().unwrap().public_key();
        let mut first = secured(&folder, "anabranch://host.example:9000");
        let (_, said) = first.on_connected(&agreement(key)).unwrap();
        assert!(said.contains(&format!("it must have the key {key}")), "{said}");
        assert_eq!(first.on_connected(&agreement(key)), None);
        assert_eq!(folder.known_peer("host.example:9000").unwrap(), Some(key));
        let mut again = secured(&folder, "anabranch://host.example:9000");
        assert_eq!(again.on_connected(&agreement(key)), None);
        let refusal = Refusal {
            code: RefusalCode::Key,
            text: "the key X is not the one that was expected".to_owned(),
        };
        let remedy = again.remedy(&refusal).unwrap();
        assert!(remedy.contains("anabranch key --forget host.example:9000"), "{remedy}");
    }

    #[test]
    fn who_is_pinned_or_has_a_passphrase_or_is_this_machine_is_not_remembered() {
        let folder = folder("pinned");
        let key = Identity::generate().unwrap().public_key();
        for url in [
            format!("anabranch://host.example:9000?key={key}"),
            "anabranch://host.example:9000?passphrase=0123456789".to_owned(),
            "anabranch://127.0.0.1:9000".to_owned(),
            "anabranch://:9000".to_owned(),
        ] {
            assert_eq!(secured(&folder, &url).on_connected(&agreement(key)), None, "{url}");
        }
        assert!(folder.peers().unwrap().is_empty());
    }

    #[test]
    fn without_encryption_that_is_said_and_no_key_is_made() {
        let folder = folder("open");
        let secured = secured(&folder, "anabranch://:9000?encryption=off");
        assert!(secured.encryption().is_none() && !folder.identity_file().exists());
        let (severity, said) = secured.opening(None);
        assert_eq!(severity, Severity::Warning);
        assert!(said.starts_with("encryption=off: "), "{said}");
    }

    #[test]
    fn a_listener_says_what_to_call() {
        let folder = folder("listener");
        let secured = secured(&folder, "anabranch://:9000");
        let key = folder.identity().unwrap().public_key();
        let (_, said) = secured.opening(Some("192.0.2.7:9000"));
        assert!(said.ends_with(&format!("anabranch://192.0.2.7:9000?key={key}")), "{said}");
    }
}
