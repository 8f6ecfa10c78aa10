//! What a flow's transport can be told, key by key.

mod quic;
mod sctp;
mod tcp;

pub(super) use quic::{QUIC_KEYS, QuicOptions};
pub(super) use sctp::{SCTP_KEYS, SctpOptions};
pub(super) use tcp::{TCP_KEYS, tcp_config};
