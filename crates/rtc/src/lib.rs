//! Data channels of browsers that end in our own SCTP, as a state machine.
//!
//! A [`Server`] is an [`anabranch_sansio::Machine`] for one UDP port, which all browsers share. A
//! page posts an SDP offer by HTTP, as WHEP does; [`Server::accept`] answers it. The browser then
//! checks the port by STUN (RFC 8445, of which we are the lite side), shakes hands by DTLS, and
//! sets up an association inside (RFC 8261), on which both sides open channels (RFC 8831, RFC
//! 8832). Congestion control, retransmission, order and priority are those of [`anabranch_sctp`].
//!
//! The keys of DTLS are the one thing that the machine is not told: its cryptography draws them
//! from the operating system.
//!
//! What an address can cost: STUN is answered with about as many bytes, and only who knows the
//! answer's password is; DTLS is taken from addresses alone that a check has proven.

mod channels;
mod config;
mod connection;
mod dcep;
mod dtls;
mod event;
mod ice;
mod sdp;
mod server;

pub use channels::{ChannelError, MessageKind};
pub use config::{RtcConfig, association};
pub use dcep::ChannelOptions;
pub use event::{CloseReason, Event};
pub use sdp::OfferError;
pub use server::{
    AcceptError, CertificateError, ConnectionId, NATIVE_SCTP_PORT, Protocol, RestartError, Server,
    ServerStats,
};

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
