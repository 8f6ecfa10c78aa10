//! [`Certificate`], by which one is known to those who ask a CA, and [`Authority`], such a CA.

use std::fmt;
use std::sync::Arc;

use rcgen::{CertificateParams, KeyPair, PKCS_ED25519};
use rustls::RootCertStore;
use rustls::crypto::aws_lc_rs::default_provider;
use rustls::pki_types::pem::PemObject;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName};
use rustls::sign::CertifiedKey;

use crate::error::KeyError;
use crate::identity::Identity;

/// What a certificate is made out to that is none, but holds a key where TLS has no other form.
pub(crate) const KEY_ALONE: &str = "key.anabranch.invalid";

/// Certificates in a file that tells whom to trust: those of an operating system are 150 or so.
const AUTHORITIES_MAX: usize = 1_000;

/// Certificates in a file that tells who one is: one's own, and those between it and the CA's.
const CHAIN_MAX: usize = 10;

/// A certificate that a CA has issued, and its key.
#[derive(Clone)]
pub struct Certificate(Arc<CertifiedKey>);

impl Certificate {
    /// What two texts in PEM hold: one's own certificate, followed by those that lead to the CA's,
    /// and its private key.
    ///
    /// # Errors
    ///
    /// If they hold something else, or not the same key.
    pub fn from_pem(chain: &[u8], key: &[u8]) -> Result<Self, KeyError> {
        let chain = certificates(chain, CHAIN_MAX)?;
        let key = PrivateKeyDer::from_pem_slice(key).map_err(|_| KeyError::CertificateKey)?;
        let pair = CertifiedKey::from_der(chain, key, &default_provider());
        let certified = pair.map_err(|error| {
            let is_pair = !matches!(error, rustls::Error::InconsistentKeys(_));
            if is_pair {
                KeyError::Tls(error.to_string())
            } else {
                KeyError::CertificateOfAnotherKey
            }
        })?;
        Ok(Self(Arc::new(certified)))
    }

    pub(crate) fn certified(&self) -> Arc<CertifiedKey> {
        Arc::clone(&self.0)
    }
}

impl fmt::Debug for Certificate {
    /// Shows no key.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Certificate").field("chain", &self.0.cert.len()).finish_non_exhaustive()
    }
}

/// CAs whose certificates are taken, and for whom.
#[derive(Clone, PartialEq, Eq)]
pub struct Authority {
    certificates: Vec<CertificateDer<'static>>,
    name: Option<ServerName<'static>>,
}

impl Authority {
    /// Those in a text in PEM, for a peer that has this name or address: one that was called.
    ///
    /// # Errors
    ///
    /// If there is no certificate in it, or no host can have that name.
    pub fn of_host(pem: &[u8], host: &str) -> Result<Self, KeyError> {
        let name = ServerName::try_from(host.to_owned());
        let name = name.map_err(|_| KeyError::HostName { found: host.to_owned() })?;
        Ok(Self { name: Some(name), ..Self::of_anyone(pem)? })
    }

    /// Those in a text in PEM, for whoever calls with a certificate of theirs.
    ///
    /// # Errors
    ///
    /// If there is no certificate in it.
    pub fn of_anyone(pem: &[u8]) -> Result<Self, KeyError> {
        let certificates = certificates(pem, AUTHORITIES_MAX)?;
        let authority = Self { certificates, name: None };
        if authority.roots().is_empty() {
            return Err(KeyError::NoCertificate);
        }
        Ok(authority)
    }

    pub(crate) fn roots(&self) -> RootCertStore {
        let mut roots = RootCertStore::empty();
        // Those that cannot be read vouch for nobody.
        roots.add_parsable_certificates(self.certificates.iter().cloned());
        roots
    }

    pub(crate) const fn name(&self) -> Option<&ServerName<'static>> {
        self.name.as_ref()
    }
}

impl fmt::Debug for Authority {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { certificates, name } = self;
        let mut debug = f.debug_struct("Authority");
        debug.field("certificates", &certificates.len()).field("name", name).finish()
    }
}

/// The key of an identity in the form of a certificate that it signs itself, for peers that ask for
/// one and know no CA of ours.
pub(crate) fn key_alone(identity: &Identity) -> Result<CertificateDer<'static>, KeyError> {
    let made = || {
        let pkcs8 = PrivatePkcs8KeyDer::from(identity.to_pkcs8());
        let key = KeyPair::from_pkcs8_der_and_sign_algo(&pkcs8, &PKCS_ED25519)?;
        CertificateParams::new([KEY_ALONE.to_owned()])?.self_signed(&key)
    };
    made().map(Into::into).map_err(|error| KeyError::Tls(error.to_string()))
}

fn certificates(pem: &[u8], max: usize) -> Result<Vec<CertificateDer<'static>>, KeyError> {
    let read = CertificateDer::pem_slice_iter(pem).collect::<Result<Vec<_>, _>>();
    let read = read.map_err(|_| KeyError::NoCertificate)?;
    match read.len() {
        0 => Err(KeyError::NoCertificate),
        count if count > max => Err(KeyError::TooManyCertificates { count, max }),
        _ => Ok(read),
    }
}
