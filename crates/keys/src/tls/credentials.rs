//! [`Credentials`]: what one shows of oneself, by what the other end asks for.

use std::sync::Arc;

use rustls::SignatureScheme;
use rustls::client::ResolvesClientCert;
use rustls::crypto::CryptoProvider;
use rustls::pki_types::PrivatePkcs8KeyDer;
use rustls::server::{ClientHello, ResolvesServerCert};
use rustls::sign::CertifiedKey;

use crate::certificate::{Certificate, key_alone};
use crate::error::KeyError;
use crate::identity::Identity;

/// Our key, in each of its forms, and the certificate of a CA, if there is one.
#[derive(Debug)]
pub(super) struct Credentials {
    raw: Arc<CertifiedKey>,
    alone: Arc<CertifiedKey>,
    certificate: Option<Arc<CertifiedKey>>,
}

impl Credentials {
    pub(super) fn new(
        identity: &Identity,
        certificate: Option<&Certificate>,
        provider: &CryptoProvider,
    ) -> Result<Self, KeyError> {
        let key = PrivatePkcs8KeyDer::from(identity.to_pkcs8().to_vec());
        let key = provider.key_provider.load_private_key(key.into());
        let key = key.map_err(|error| KeyError::Tls(error.to_string()))?;
        let spki = identity.public_key().to_spki();
        Ok(Self {
            raw: Arc::new(CertifiedKey::new(vec![spki.into()], Arc::clone(&key))),
            alone: Arc::new(CertifiedKey::new(vec![key_alone(identity)?], key)),
            certificate: certificate.map(Certificate::certified),
        })
    }

    pub(super) const fn has_certificate(&self) -> bool {
        self.certificate.is_some()
    }

    /// Who names CAs gets a certificate if there is one, who names none wants to know the key.
    fn choose(&self, names_authorities: bool) -> Arc<CertifiedKey> {
        let certificate = self.certificate.as_ref().filter(|_| names_authorities);
        Arc::clone(certificate.unwrap_or(&self.alone))
    }
}

/// [`Credentials`] in one of the forms of RFC 7250, which TLS has both ends choose beforehand.
#[derive(Debug)]
pub(super) struct Shown {
    pub(super) credentials: Arc<Credentials>,
    /// Whether the key goes as it is.
    pub(super) is_raw: bool,
}

impl ResolvesServerCert for Shown {
    fn resolve(&self, hello: ClientHello<'_>) -> Option<Arc<CertifiedKey>> {
        if self.is_raw {
            return Some(Arc::clone(&self.credentials.raw));
        }
        let names = hello.certificate_authorities();
        Some(self.credentials.choose(names.is_some_and(|names| !names.is_empty())))
    }

    fn only_raw_public_keys(&self) -> bool {
        self.is_raw
    }
}

impl ResolvesClientCert for Shown {
    fn resolve(
        &self,
        root_hint_subjects: &[&[u8]],
        _sigschemes: &[SignatureScheme],
    ) -> Option<Arc<CertifiedKey>> {
        if self.is_raw {
            return Some(Arc::clone(&self.credentials.raw));
        }
        Some(self.credentials.choose(!root_hint_subjects.is_empty()))
    }

    fn only_raw_public_keys(&self) -> bool {
        self.is_raw
    }

    fn has_certs(&self) -> bool {
        true
    }
}
