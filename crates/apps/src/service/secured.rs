//! [`Secured`]: what the keys of both ends mean for a session.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anabranch_keys::{Identity, KeyError, PublicKey, TlsKeys, Trust};
use anabranch_sctp::{Encryption, EncryptionPolicy};
use anabranch_session::{Refusal, RefusalCode};
use rustls::KeyLogFile;
use thiserror::Error;

use super::{ServiceError, Severity};
use crate::keys::{KeyFileError, KeyFolder};
use crate::url::{EncryptionSwitch, Mode, Security, SessionUrl, is_loopback};

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
    acquaintance: Acquaintance,
}

/// Whether the peer's key is remembered, and under which name.
#[derive(Debug)]
enum Acquaintance {
    /// It is not to be.
    None,
    /// It will be, once the peer has proved to have it.
    New(String),
    /// The peer was met before, and must have the key that it had then.
    Known(String),
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
        let Security::Encrypted { allowed } = &url.security else {
            let acquaintance = Acquaintance::None;
            return Ok(Self { folder, own_key: None, encryption: None, acquaintance });
        };
        let identity = folder.identity()?;
        let (mut trust, mut acquaintance) = (allowed.clone(), Acquaintance::None);
        // A passphrase says who the peer is, and what is on this machine is no stranger.
        let remembers = url.mode == Mode::Caller
            && trust.is_empty()
            && url.passphrase.is_none()
            && !url.host.as_deref().is_some_and(is_loopback);
        if let Some(host) = url.host.as_deref().filter(|_| remembers) {
            let name = format!("{host}:{}", url.port);
            let known = folder.known_peer(&name)?;
            trust.extend(known);
            acquaintance = match known {
                Some(_) => Acquaintance::Known(name),
                None => Acquaintance::New(name),
            };
        }
        let mut keys = keys_of(&identity, trust_in(trust))?;
        if let Some(passphrase) = &url.passphrase {
            keys = keys.with_passphrase(passphrase.as_str());
        }
        let own_key = Some(identity.public_key());
        Ok(Self { folder, own_key, encryption: Some(required(keys)), acquaintance })
    }

    /// For a server whom viewers call.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn of_server(
        switch: EncryptionSwitch,
        allowed: Vec<PublicKey>,
    ) -> Result<Self, SecurityError> {
        let (folder, acquaintance) = (KeyFolder::of_user(), Acquaintance::None);
        if switch == EncryptionSwitch::Off {
            return Ok(Self { folder, own_key: None, encryption: None, acquaintance });
        }
        let identity = folder.identity()?;
        let keys = keys_of(&identity, trust_in(allowed))?;
        let own_key = Some(identity.public_key());
        Ok(Self { folder, own_key, encryption: Some(required(keys)), acquaintance })
    }

    /// Our own key, if anything is encrypted.
    pub(crate) const fn own_key(&self) -> Option<PublicKey> {
        self.own_key
    }

    /// For the session's configuration.
    #[must_use]
    pub(crate) fn encryption(&self) -> Option<Encryption> {
        self.encryption.clone()
    }

    /// What the user is to know before the session begins. `heard_at` is where others find a
    /// listener.
    #[must_use]
    pub(crate) fn opening(&self, heard_at: Option<SocketAddr>) -> (Severity, String) {
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
    pub(crate) fn on_connected(&mut self, peer_key: Option<&[u8]>) -> Option<(Severity, String)> {
        let Acquaintance::New(name) = &self.acquaintance else { return None };
        let (name, key) = (name.clone(), peer_key.and_then(PublicKey::from_bytes)?);
        let remembered = self.folder.remember(&name, key);
        self.acquaintance = Acquaintance::Known(name.clone());
        Some(match remembered {
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

    /// What the user is to know of a refusal.
    #[must_use]
    pub(crate) fn error_of(&self, refusal: Refusal) -> ServiceError {
        match (refusal.code, &self.acquaintance) {
            (RefusalCode::Untrusted, Acquaintance::Known(name)) => ServiceError::NoKeys {
                what: format!(
                    "{refusal}: somebody else may answer in its place; if {name} was set up anew: \
                     anabranch key --forget {name}"
                ),
            },
            (RefusalCode::Untrusted | RefusalCode::Key, _) => {
                ServiceError::NoKeys { what: refusal.to_string() }
            }
            (_, _) => ServiceError::Refused(refusal),
        }
    }
}

/// Keys whose secrets are written to the file that `SSLKEYLOGFILE` names, if it names one.
fn keys_of(identity: &Identity, trust: Trust) -> Result<TlsKeys, KeyError> {
    Ok(TlsKeys::new(identity, trust)?.with_key_log(Arc::new(KeyLogFile::new())))
}

/// Whom to trust, where whoever is not in the list is a stranger unless it is empty.
fn trust_in(allowed: Vec<PublicKey>) -> Trust {
    if allowed.is_empty() { Trust::Anyone } else { Trust::Only(allowed) }
}

/// For an association that these keys must encrypt.
fn required(keys: TlsKeys) -> Encryption {
    Encryption { policy: EncryptionPolicy::Require, keys: Arc::new(keys), time_limit: TIME_LIMIT }
}

#[cfg(test)]
mod tests {
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

    #[test]
    fn the_key_of_a_peer_that_is_met_is_remembered_and_said_once() {
        let folder = folder("met");
        let key = Identity::generate().unwrap().public_key();
        let mut first = secured(&folder, "anabranch://host.example:9000");
        let (_, said) = first.on_connected(Some(key.as_bytes())).unwrap();
        assert!(said.contains(&format!("it must have the key {key}")), "{said}");
        assert_eq!(first.on_connected(Some(key.as_bytes())), None);
        assert_eq!(folder.known_peer("host.example:9000").unwrap(), Some(key));
        let mut again = secured(&folder, "anabranch://host.example:9000");
        assert_eq!(again.on_connected(Some(key.as_bytes())), None);
        let refusal = Refusal {
            code: RefusalCode::Untrusted,
            text: "the key X is not the one that was expected".to_owned(),
        };
        let words = again.error_of(refusal).to_string();
        assert!(words.contains("anabranch key --forget host.example:9000"), "{words}");
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
            assert_eq!(secured(&folder, &url).on_connected(Some(key.as_bytes())), None, "{url}");
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
        let (_, said) = secured.opening(Some("192.0.2.7:9000".parse().unwrap()));
        assert!(said.ends_with(&format!("anabranch://192.0.2.7:9000?key={key}")), "{said}");
    }
}
