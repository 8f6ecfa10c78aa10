//! Keys for SCTP's DTLS chunk (draft-ietf-tsvwg-sctp-dtls-chunk), agreed on by TLS 1.3 inside the
//! association (draft-porfiri-tsvwg-sctp-dtls-handshake).
//!
//! [`TlsKeys`] makes the [`KeyManagement`](anabranch_sctp::KeyManagement) of each association. Both
//! ends prove who they are by an [`Identity`], an Ed25519 key, which goes as it is, without a
//! certificate (RFC 7250), or by a [`Certificate`] where the other end knows its CA; [`Trust`] says
//! whose are taken. Records are sealed by an AEAD of [`Suite`].

mod certificate;
mod derivation;
mod error;
mod identity;
mod message;
mod password;
mod restart;
mod suite;
mod tls;
mod trust;

pub use certificate::{Authority, Certificate};
pub use error::KeyError;
pub use identity::{Identity, PublicKey};
pub use restart::{RestartSecrets, RestartStore};
pub use rustls::KeyLog;
pub use suite::Suite;
pub use tls::TlsKeys;
pub use trust::Trust;

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
