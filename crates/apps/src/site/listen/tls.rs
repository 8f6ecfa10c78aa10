//! [`Tls`]: the certificate that browsers are shown: given, and read anew when it is renewed, or
//! one of our own that is made once.

use std::fs::{self, OpenOptions};
use std::io::{self, Write as _};
use std::os::unix::fs::OpenOptionsExt as _;
use std::path::{Path, PathBuf};
use std::sync::{Arc, PoisonError, RwLock};
use std::time::{Duration, SystemTime};

use rcgen::{CertificateParams, KeyPair};
use rustls::crypto::CryptoProvider;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject as _;
use rustls::pki_types::{CertificateDer, PrivateKeyDer};
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;
use rustls::{ServerConfig, SupportedProtocolVersion};
use sha2::{Digest as _, Sha256};
use thiserror::Error;
use tokio::sync::mpsc;
use tokio::time::sleep;
use tokio_rustls::TlsAcceptor;

use crate::net::pem;

/// How often files are looked at that may have been renewed.
const LOOK_EVERY: Duration = Duration::from_secs(10);

/// What a certificate of our own is called.
const OWN_NAME: &str = "anabranch";

/// A certificate and its key, in PEM.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Files {
    pub(crate) certificate: PathBuf,
    pub(crate) key: PathBuf,
}

/// Why there is no HTTPS.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum TlsError {
    /// A file cannot be read.
    #[error("cannot read {}: {message}", file.display())]
    Unreadable {
        /// The file.
        file: PathBuf,
        /// Why, in the words of the library.
        message: String,
    },
    /// Certificate and key are no pair.
    #[error("{} is not the key of {}: {message}", key.display(), certificate.display())]
    NoPair {
        /// The certificate.
        certificate: PathBuf,
        /// The key.
        key: PathBuf,
        /// Why, in the words of the library.
        message: String,
    },
    /// One of our own cannot be made.
    #[error("cannot make a certificate in {}: {message}", file.display())]
    NotMade {
        /// The file.
        file: PathBuf,
        /// The system's words.
        message: String,
    },
    /// The cryptography at hand does not do.
    #[error("there is no TLS on this machine: {0}")]
    Library(#[from] rustls::Error),
}

/// What browsers are shown, as it is now.
#[derive(Debug)]
pub(crate) struct Tls {
    files: Files,
    shown: RwLock<Arc<CertifiedKey>>,
    provider: Arc<CryptoProvider>,
}

impl Tls {
    /// Reads a certificate.
    pub(crate) fn read(files: Files) -> Result<Arc<Self>, TlsError> {
        let provider = Arc::new(default_provider());
        let shown = RwLock::new(Arc::new(load(&files, &provider)?));
        Ok(Arc::new(Self { files, shown, provider }))
    }

    /// Reads the certificate of our own in a folder, which is made if it is not there, with the
    /// names under which the server is called.
    pub(crate) fn own(folder: &Path, names: Vec<String>) -> Result<Arc<Self>, TlsError> {
        let files = Files {
            certificate: folder.join("certificate.pem"),
            key: folder.join("certificate.key"),
        };
        if !files.certificate.exists() && !files.key.exists() {
            make(&files, folder, names)?;
        }
        Self::read(files)
    }

    /// What takes connections.
    pub(crate) fn acceptor(self: &Arc<Self>) -> Result<TlsAcceptor, TlsError> {
        let versions: &[&SupportedProtocolVersion] = rustls::DEFAULT_VERSIONS;
        let config = ServerConfig::builder_with_provider(self.provider.clone());
        let config = config.with_protocol_versions(versions)?.with_no_client_auth();
        let mut config = config.with_cert_resolver(self.clone());
        config.alpn_protocols = vec![b"http/1.1".to_vec()];
        Ok(TlsAcceptor::from(Arc::new(config)))
    }

    /// SHA-256 of the certificate, as browsers show it.
    pub(crate) fn fingerprint(&self) -> String {
        let shown = self.shown();
        let certificate = shown.cert.first().map_or(&[][..], |certificate| certificate);
        let bytes = Sha256::digest(certificate);
        bytes.iter().map(|byte| format!("{byte:02X}")).collect::<Vec<_>>().join(":")
    }

    /// Reads files again that were renewed, as long as the program runs.
    pub(crate) async fn follow(self: Arc<Self>, news: mpsc::Sender<String>) {
        let mut read = self.files.changed();
        let mut last_words = String::new();
        loop {
            sleep(LOOK_EVERY).await;
            let changed = self.files.changed();
            if changed == read {
                continue;
            }
            let words = match self.renew() {
                Ok(()) => {
                    read = changed;
                    format!("the certificate is renewed: SHA-256 {}", self.fingerprint())
                }
                // Certificate and key are written one after the other: it is tried again.
                Err(error) => format!("the certificate stays as it was: {error}"),
            };
            if words != last_words {
                _ = news.try_send(words.clone());
                last_words = words;
            }
        }
    }

    fn renew(&self) -> Result<(), TlsError> {
        let renewed = Arc::new(load(&self.files, &self.provider)?);
        *self.shown.write().unwrap_or_else(PoisonError::into_inner) = renewed;
        Ok(())
    }

    fn shown(&self) -> Arc<CertifiedKey> {
        self.shown.read().unwrap_or_else(PoisonError::into_inner).clone()
    }
}

impl ResolvesServerCert for Tls {
    fn resolve(&self, _hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        Some(self.shown())
    }
}

impl Files {
    /// When they were changed last.
    fn changed(&self) -> [Option<SystemTime>; 2] {
        let changed = |file: &PathBuf| fs::metadata(file).and_then(|it| it.modified()).ok();
        [changed(&self.certificate), changed(&self.key)]
    }
}

fn load(files: &Files, provider: &CryptoProvider) -> Result<CertifiedKey, TlsError> {
    let Files { certificate, key } = files;
    let unreadable =
        |file: &PathBuf, message: String| TlsError::Unreadable { file: file.clone(), message };
    let chain: Result<Vec<_>, _> = match CertificateDer::pem_file_iter(certificate) {
        Ok(certificates) => certificates.collect(),
        Err(error) => Err(error),
    };
    let chain = chain.map_err(|error| unreadable(certificate, error.to_string()))?;
    if chain.is_empty() {
        return Err(unreadable(certificate, "there is no certificate in it, in PEM".to_owned()));
    }
    let secret = PrivateKeyDer::from_pem_file(key);
    let secret = secret.map_err(|error| unreadable(key, error.to_string()))?;
    let no_pair = |error: rustls::Error| TlsError::NoPair {
        certificate: certificate.clone(),
        key: key.clone(),
        message: error.to_string(),
    };
    CertifiedKey::from_der(chain, secret, provider).map_err(no_pair)
}

fn make(files: &Files, folder: &Path, names: Vec<String>) -> Result<(), TlsError> {
    let not_made =
        |file: &Path, message: String| TlsError::NotMade { file: file.to_owned(), message };
    let made = || {
        let mut params = CertificateParams::new(names)?;
        params.distinguished_name.push(rcgen::DnType::CommonName, OWN_NAME);
        let key = KeyPair::generate()?;
        Ok::<_, rcgen::Error>((params.self_signed(&key)?, key))
    };
    let (certificate, key) = made().map_err(|error| not_made(folder, error.to_string()))?;
    fs::create_dir_all(folder).map_err(|error| not_made(folder, error.to_string()))?;
    let write = |file: &Path, mode, text: String| {
        write_new(file, mode, &text).map_err(|error| not_made(file, error.to_string()))
    };
    write(&files.key, 0o600, pem("PRIVATE KEY", &key.serialize_der()))?;
    write(&files.certificate, 0o644, pem("CERTIFICATE", certificate.der()))
}

fn write_new(file: &Path, mode: u32, text: &str) -> io::Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true).mode(mode).open(file)?.write_all(text.as_bytes())
}

#[cfg(test)]
mod tests {
    use std::os::unix::fs::PermissionsExt as _;

    use super::*;

    fn scratch(name: &str) -> PathBuf {
        std::env::temp_dir().join(format!("anabranch-{}-tls-{name}", std::process::id()))
    }

    #[test]
    fn a_certificate_of_our_own_is_made_once() {
        let folder = scratch("own");
        let names = vec!["localhost".to_owned(), "127.0.0.1".to_owned()];
        let first = Tls::own(&folder, names.clone()).unwrap();
        let again = Tls::own(&folder, names).unwrap();
        assert_eq!(first.fingerprint(), again.fingerprint());
        assert_eq!(first.fingerprint().len(), 32 * 3 - 1);
        let mode = fs::metadata(folder.join("certificate.key")).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
        first.acceptor().unwrap();
        fs::remove_dir_all(&folder).unwrap();
    }

    #[test]
    fn what_is_renewed_is_shown_and_half_of_it_is_not() {
        let (one, other) = (scratch("one"), scratch("other"));
        let tls = Tls::own(&one, vec!["localhost".to_owned()]).unwrap();
        let next = Tls::own(&other, vec!["localhost".to_owned()]).unwrap();
        let before = tls.fingerprint();
        fs::copy(&next.files.certificate, &tls.files.certificate).unwrap();
        let error = tls.renew().unwrap_err();
        assert!(matches!(error, TlsError::NoPair { .. }), "{error}");
        assert_eq!(tls.fingerprint(), before);
        fs::copy(&next.files.key, &tls.files.key).unwrap();
        tls.renew().unwrap();
        assert_eq!(tls.fingerprint(), next.fingerprint());
        [one, other].iter().for_each(|folder| fs::remove_dir_all(folder).unwrap());
    }

    #[test]
    fn files_that_hold_nothing_are_named() {
        let folder = scratch("bad");
        let files = Files { certificate: folder.join("a.pem"), key: folder.join("a.key") };
        let missing = Tls::read(files.clone()).unwrap_err().to_string();
        assert!(missing.starts_with("cannot read ") && missing.contains("a.pem"), "{missing}");
        fs::create_dir_all(&folder).unwrap();
        fs::write(&files.certificate, "nothing").unwrap();
        let empty = Tls::read(files).unwrap_err().to_string();
        assert!(empty.ends_with("there is no certificate in it, in PEM"), "{empty}");
        fs::remove_dir_all(&folder).unwrap();
    }
}
