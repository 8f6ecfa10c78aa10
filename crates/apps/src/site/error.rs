//! [`SiteError`]: why a server of pages cannot begin.

use std::io;
use std::net::SocketAddr;

use anabranch_driver::{BindError, SpawnError};
use anabranch_rtc::CertificateError;
use thiserror::Error;

use super::listen::TlsError;
use crate::net::NetError;
use crate::service::SecurityError;

/// Why a server of pages cannot begin.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum SiteError {
    /// No such address.
    #[error(
        "\"{text}\" is no address to serve at: give 127.0.0.1:{usual}, :{usual} for all \
         addresses, or {usual}"
    )]
    Address {
        /// What was given.
        text: String,
        /// The usual port.
        usual: u16,
    },
    /// Our own key, or those of others.
    #[error(transparent)]
    Security(#[from] SecurityError),
    /// No such address.
    #[error("\"{text}\" is no address to advertise: give one, as in 192.0.2.1 or 192.0.2.1:9000")]
    Advertised {
        /// What was given.
        text: String,
    },
    /// The UDP port cannot be had.
    #[error("the UDP port cannot be had: {source}; --udp takes another one")]
    Udp {
        /// Why.
        source: BindError,
    },
    /// The HTTP or HTTPS port is somebody else's.
    #[error(
        "the page cannot be served at {addr}: another program has the port; end it, or give \
         another port with {option}, 0 for any free one"
    )]
    HttpInUse {
        /// Where.
        addr: SocketAddr,
        /// What asks for it.
        option: &'static str,
    },
    /// The HTTP or HTTPS port cannot be had.
    #[error("the page cannot be served at {addr}: {source}; give another address with {option}")]
    Http {
        /// Where.
        addr: SocketAddr,
        /// What asks for it.
        option: &'static str,
        /// The system's words.
        source: io::Error,
    },
    /// The system refuses.
    #[error("the system refuses: {0}")]
    System(io::Error),
    /// The system has no randomness.
    #[error(transparent)]
    Net(#[from] NetError),
    /// No certificate for HTTPS.
    #[error(transparent)]
    Tls(#[from] TlsError),
    /// A certificate without its key, or without HTTPS.
    #[error(
        "HTTPS with a certificate of your own needs three: https, tls_certificate and tls_key \
         (--https, --tls-certificate, --tls-key)"
    )]
    HalfTls,
    /// No certificate for browsers.
    #[error(transparent)]
    Certificate(#[from] CertificateError),
    /// The system refuses.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
}
