//! [`KeyError`].

use anabranch_sctp::KeyFailure;
use thiserror::Error;

/// Why a key cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum KeyError {
    /// A public key that cannot be read.
    #[error(
        "a public key is 43 characters (A-Z, a-z, 0-9, - and _) of base64url, but this is {found:?}"
    )]
    PublicKey {
        /// What was given.
        found: String,
    },
    /// A private key that cannot be read.
    #[error("this is no Ed25519 key in the form PKCS #8")]
    PrivateKey,
    /// Secrets of a restart that cannot be read.
    #[error("these {len} bytes are not the secrets of a restart as they are stored")]
    RestartSecrets {
        /// How many bytes there are.
        len: usize,
    },
    /// A file with certificates that has none.
    #[error("there is no certificate in it, in PEM")]
    NoCertificate,
    /// A file with more certificates than anybody needs.
    #[error("there are {count} certificates in it, where {max} are the most that are read")]
    TooManyCertificates {
        /// How many there are.
        count: usize,
        /// How many there may be.
        max: usize,
    },
    /// A file with a certificate's key that has none.
    #[error("there is no private key in it, in PEM")]
    CertificateKey,
    /// A certificate and a key that do not belong together.
    #[error("the certificate is made out to another key")]
    CertificateOfAnotherKey,
    /// A certificate can name no such host.
    #[error("no certificate can be made out to \"{found}\": call a name or an address")]
    HostName {
        /// What was given.
        found: String,
    },
    /// The system gave no randomness.
    #[error("no key can be made: the system gives no randomness")]
    Randomness,
    /// TLS cannot be set up.
    #[error("TLS cannot be set up: {0}")]
    Tls(String),
}

/// Why there can be no keys, in words.
pub(crate) fn failure(what: impl ToString) -> KeyFailure {
    KeyFailure::Disagreement { what: what.to_string() }
}
