//! [`ServeError`]: why a server of channels cannot begin.

use thiserror::Error;

use super::access::KeyError;
use crate::site::SiteError;

/// Why a server cannot begin.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum ServeError {
    /// What any server of pages needs.
    #[error(transparent)]
    Site(#[from] SiteError),
    /// The key for tokens.
    #[error(transparent)]
    Key(#[from] KeyError),
    /// A certificate for native viewers without its key, or a key without its certificate.
    #[error("certificate and certificate_key go together: give both files, or none")]
    HalfCertificate,
    /// Who nobody can prove to be.
    #[error(
        "allow, ca and certificate have no effect with encryption off: leave them out, or \
         encryption on"
    )]
    CredentialsInTheOpen,
}
