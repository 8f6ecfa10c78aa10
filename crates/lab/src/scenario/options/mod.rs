//! What a flow's transport can be told, key by key.

mod dccp;
mod encryption;
mod media;
mod quic;
mod sctp;
mod tcp;
mod television;

pub(super) use dccp::{DCCP_KEYS, DccpOptions, Shape};
pub(super) use media::{FILM_KEYS, MEDIA_KEYS, MediaOptions, Video};
pub(super) use quic::{QUIC_KEYS, QuicOptions};
pub(super) use sctp::{SCTP_KEYS, SctpOptions};
pub(super) use tcp::{TCP_KEYS, tcp_config};
pub(super) use television::{TELEVISION_KEYS, TelevisionOptions};
