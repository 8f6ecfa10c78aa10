//! [`Secured`]: what the keys of both ends mean for a session.

use std::net::SocketAddr;
use std::sync::Arc;

use anabranch_keys::{Authority, Certificate, Identity, KeyError, PublicKey, TlsKeys, Trust};
use anabranch_session::{Refusal, RefusalCode};
use anabranch_transport::Encryption;
use rustls::KeyLogFile;
use thiserror::Error;

use super::{ServiceError, Severity};
use crate::keys::{KeyFileError, KeyFolder, read_authority, read_certificate};
use crate::url::{Credentials, Mode, Security, SessionUrl, is_loopback};

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
    /// Whether we have one of a CA, too.
    has_certificate: bool,
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
        let Security::Encrypted(credentials) = &url.security else {
            return Ok(Self::open(folder));
        };
        let caller = url.host.as_deref().filter(|_| url.mode == Mode::Caller);
        let (mut trusted, mut acquaintance) = (credentials.allowed.clone(), Acquaintance::None);
        // A passphrase or a CA says who the peer is, and what is on this machine is no stranger.
        let is_known =
            !trusted.is_empty() || credentials.authority.is_some() || url.passphrase.is_some();
        if let Some(host) = caller.filter(|host| !is_known && !is_loopback(host)) {
            let name = format!("{host}:{}", url.port);
            let known = folder.known_peer(&name)?;
            trusted.extend(known);
            acquaintance = match known {
                Some(_) => Acquaintance::Known(name),
                None => Acquaintance::New(name),
            };
        }
        let read = |file| read_authority(file, caller);
        let authority = credentials.authority.as_deref().map(read).transpose()?;
        let trust = trust_in(trusted, authority);
        let passphrase = url.passphrase.as_ref().map(|passphrase| passphrase.as_str());
        let secured = Self::encrypted(folder, credentials, trust, passphrase)?;
        Ok(Self { acquaintance, ..secured })
    }

    /// For a server whom viewers call, or in the open.
    ///
    /// # Errors
    /// As [`of`](Self::of).
    pub(crate) fn of_server(credentials: Option<&Credentials>) -> Result<Self, SecurityError> {
        let folder = KeyFolder::of_user();
        let Some(credentials) = credentials else { return Ok(Self::open(folder)) };
        let read = |file| read_authority(file, None);
        let authority = credentials.authority.as_deref().map(read).transpose()?;
        let trust = trust_in(credentials.allowed.clone(), authority);
        Self::encrypted(folder, credentials, trust, None)
    }

    const fn open(folder: KeyFolder) -> Self {
        let acquaintance = Acquaintance::None;
        Self { folder, own_key: None, has_certificate: false, encryption: None, acquaintance }
    }

    fn encrypted(
        folder: KeyFolder,
        credentials: &Credentials,
        trust: Trust,
        passphrase: Option<&str>,
    ) -> Result<Self, SecurityError> {
        let identity = folder.identity()?;
        let certificate = credentials.certificate.as_ref().map(read_certificate).transpose()?;
        let mut keys = keys_of(&identity, trust, certificate.as_ref())?;
        if let Some(passphrase) = passphrase {
            keys = keys.with_passphrase(passphrase);
        }
        Ok(Self {
            folder,
            own_key: Some(identity.public_key()),
            has_certificate: certificate.is_some(),
            encryption: Some(keys.required()),
            acquaintance: Acquaintance::None,
        })
    }

    /// Our own key, if anything is encrypted.
    pub(crate) const fn own_key(&self) -> Option<PublicKey> {
        self.own_key
    }

    /// Our own key with its secret, if anything is encrypted.
    ///
    /// # Errors
    /// Its file cannot be read.
    pub(crate) fn identity(&self) -> Result<Option<Identity>, SecurityError> {
        Ok(self.own_key.map(|_| self.folder.identity()).transpose()?)
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
                let or_by_name = match self.has_certificate {
                    true => ", or by a name in our certificate with ca=",
                    false => "",
                };
                let url = url_of(place, Some(key));
                (Severity::Info, format!("encrypted; the other end calls {url}{or_by_name}"))
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

/// Whom others call at this place: by the key that must answer there, or in the open.
pub(crate) fn url_of(place: SocketAddr, key: Option<PublicKey>) -> String {
    match key {
        Some(key) => format!("anabranch://{place}?key={key}"),
        None => format!("anabranch://{place}?encryption=off"),
    }
}

/// Keys whose secrets are written to the file that `SSLKEYLOGFILE` names, if it names one.
pub(crate) fn keys_of(
    identity: &Identity,
    trust: Trust,
    certificate: Option<&Certificate>,
) -> Result<TlsKeys, KeyError> {
    let keys = match certificate {
        Some(certificate) => TlsKeys::with_certificate(identity, trust, certificate),
        None => TlsKeys::new(identity, trust),
    };
    Ok(keys?.with_key_log(Arc::new(KeyLogFile::new())))
}

/// Whom to trust, where whoever is neither in the list nor known to a CA is a stranger, unless
/// there is neither.
fn trust_in(allowed: Vec<PublicKey>, authority: Option<Authority>) -> Trust {
    match authority {
        Some(authority) => Trust::Certified(authority, allowed),
        None if allowed.is_empty() => Trust::Anyone,
        None => Trust::Only(allowed),
    }
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
