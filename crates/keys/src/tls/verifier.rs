//! [`Verifier`]: asks of a peer's raw public key or certificate whether it is trusted, and of its
//! signature whether the key made it.

use std::sync::Arc;

use rustls::client::WebPkiServerVerifier;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::client::verify_server_name;
use rustls::crypto::{
    CryptoProvider, WebPkiSupportedAlgorithms, verify_tls12_signature, verify_tls13_signature,
    verify_tls13_signature_with_raw_key,
};
use rustls::pki_types::{CertificateDer, ServerName, SubjectPublicKeyInfoDer, UnixTime};
use rustls::server::danger::{ClientCertVerified, ClientCertVerifier};
use rustls::server::{ParsedCertificate, WebPkiClientVerifier};
use rustls::{
    CertificateError, DigitallySignedStruct, DistinguishedName, Error, OtherError, SignatureScheme,
};

use crate::certificate::{Authority, KEY_ALONE};
use crate::error::KeyError;
use crate::identity::PublicKey;
use crate::trust::Trust;

/// CAs that are named to the other end. Each costs a hundred bytes of a handshake.
const AUTHORITIES_NAMED_MAX: usize = 8;

/// A peer's key that is not one of those that were expected.
#[derive(Debug, thiserror::Error)]
pub(super) enum UntrustedKey {
    /// Others were.
    #[error("the key {0} is not the one that was expected")]
    Other(PublicKey),
    /// A certificate was.
    #[error("the key {0} came without a certificate, but one of a known CA is demanded")]
    NotCertified(PublicKey),
}

/// The key that a verifier refused, if that is why a connection failed.
pub(super) fn untrusted_key(error: &CertificateError) -> Option<&UntrustedKey> {
    let CertificateError::Other(OtherError(other)) = error else { return None };
    other.downcast_ref()
}

/// Knows peers by their raw public keys, or by their certificates, in both roles.
#[derive(Debug)]
pub(super) struct Verifier {
    trust: Trust,
    /// Whether the peer's key comes as it is, without a certificate around it.
    is_raw: bool,
    judge: Option<Arc<Judge>>,
    algorithms: WebPkiSupportedAlgorithms,
}

/// Knows which certificates CAs have issued, and for whom.
#[derive(Debug)]
pub(super) struct Judge {
    purpose: Purpose,
    names: Vec<DistinguishedName>,
}

/// What a certificate must be for. Which end is the client in TLS does not matter.
#[derive(Debug)]
enum Purpose {
    /// To be called by this name.
    Listener(Arc<WebPkiServerVerifier>, ServerName<'static>),
    /// To call.
    Caller(Arc<dyn ClientCertVerifier>),
}

impl Judge {
    pub(super) fn new(
        authority: &Authority,
        provider: &Arc<CryptoProvider>,
    ) -> Result<Self, KeyError> {
        let failure = |error: &dyn std::error::Error| KeyError::Tls(error.to_string());
        let roots = Arc::new(authority.roots());
        let names = roots.subjects().into_iter().take(AUTHORITIES_NAMED_MAX).collect();
        let provider = Arc::clone(provider);
        let purpose = match authority.name() {
            Some(name) => {
                let verifier = WebPkiServerVerifier::builder_with_provider(roots, provider);
                let verifier = verifier.build().map_err(|error| failure(&error))?;
                Purpose::Listener(verifier, name.clone())
            }
            None => {
                let verifier = WebPkiClientVerifier::builder_with_provider(roots, provider);
                Purpose::Caller(verifier.build().map_err(|error| failure(&error))?)
            }
        };
        Ok(Self { purpose, names })
    }

    fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        match &self.purpose {
            Purpose::Listener(verifier, name) => {
                verifier.verify_server_cert(end_entity, intermediates, name, &[], now).map(|_| ())
            }
            Purpose::Caller(verifier) => {
                verifier.verify_client_cert(end_entity, intermediates, now).map(|_| ())
            }
        }
    }
}

impl Verifier {
    pub(super) fn new(
        trust: Trust,
        is_raw: bool,
        judge: Option<Arc<Judge>>,
        provider: &CryptoProvider,
    ) -> Self {
        Self { trust, is_raw, judge, algorithms: provider.signature_verification_algorithms }
    }

    fn verify(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<(), Error> {
        let (key, is_alone) = if self.is_raw {
            (PublicKey::from_spki(end_entity), true)
        } else {
            let certificate = ParsedCertificate::try_from(end_entity)?;
            let key = PublicKey::from_spki(&certificate.subject_public_key_info());
            (key, is_key_alone(&certificate))
        };
        match (key, &self.judge) {
            (Some(key), _) if self.trust.accepts(&key) => Ok(()),
            (_, Some(judge)) if !is_alone => judge.verify(end_entity, intermediates, now),
            (Some(key), Some(_)) => Err(untrusted(UntrustedKey::NotCertified(key))),
            (Some(key), None) => Err(untrusted(UntrustedKey::Other(key))),
            (None, _) => Err(Error::InvalidCertificate(CertificateError::BadEncoding)),
        }
    }

    fn verify_signature(
        &self,
        message: &[u8],
        shown: &CertificateDer<'_>,
        signature: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        if !self.is_raw {
            return verify_tls13_signature(message, shown, signature, &self.algorithms);
        }
        let spki = SubjectPublicKeyInfoDer::from(shown.as_ref());
        verify_tls13_signature_with_raw_key(message, &spki, signature, &self.algorithms)
    }

    /// Certificates are of any kind, our keys of one.
    fn schemes(&self) -> Vec<SignatureScheme> {
        match self.judge {
            Some(_) => self.algorithms.supported_schemes(),
            None => vec![SignatureScheme::ED25519],
        }
    }

    fn names(&self) -> &[DistinguishedName] {
        let judge = self.judge.as_ref().filter(|_| !self.is_raw);
        judge.map_or(&[], |judge| &judge.names)
    }
}

/// Whether a certificate is none, but the form in which a key is shown.
fn is_key_alone(certificate: &ParsedCertificate<'_>) -> bool {
    let name = ServerName::try_from(KEY_ALONE);
    name.is_ok_and(|name| verify_server_name(certificate, &name).is_ok())
}

fn untrusted(key: UntrustedKey) -> Error {
    let key: Arc<UntrustedKey> = Arc::new(key);
    Error::InvalidCertificate(CertificateError::Other(OtherError(key)))
}

impl ServerCertVerifier for Verifier {
    fn verify_server_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        _server_name: &ServerName<'_>,
        _ocsp_response: &[u8],
        now: UnixTime,
    ) -> Result<ServerCertVerified, Error> {
        self.verify(end_entity, intermediates, now).map(|()| ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.is_raw
    }

    fn root_hint_subjects(&self) -> Option<&[DistinguishedName]> {
        Some(self.names()).filter(|names| !names.is_empty())
    }
}

impl ClientCertVerifier for Verifier {
    fn root_hint_subjects(&self) -> &[DistinguishedName] {
        self.names()
    }

    fn verify_client_cert(
        &self,
        end_entity: &CertificateDer<'_>,
        intermediates: &[CertificateDer<'_>],
        now: UnixTime,
    ) -> Result<ClientCertVerified, Error> {
        self.verify(end_entity, intermediates, now).map(|()| ClientCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        verify_tls12_signature(message, cert, dss, &self.algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        cert: &CertificateDer<'_>,
        dss: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, Error> {
        self.verify_signature(message, cert, dss)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.schemes()
    }

    fn requires_raw_public_keys(&self) -> bool {
        self.is_raw
    }
}
