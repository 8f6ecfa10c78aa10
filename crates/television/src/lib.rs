//! Television over SCTP, after Kim, Koh and Kim 2007, "Performance of SCTP for IPTV Applications":
//! one association carries a channel list, urgent messages and every channel, each on streams of
//! its own, so that a viewer changes the channel within one round trip.
//!
//! `docs/television.md` is the [`protocol`]. A [`Television`] is the server: its service manager
//! greets viewers, its [`channel`]s keep the last group of pictures, and a servant per viewer sends
//! the one that is watched. A [`Viewer`] is the other end. Neither does I/O or reads a clock: they
//! are told what arrived and asked what to do with a
//! [`Connection`](anabranch_transport::Connection), be it on UDP or behind a browser's DTLS. A
//! [`Server`] is a television with the connections of one UDP port, a [`NativeViewer`] a viewer
//! with one of its own.

mod address_group;
pub mod channel;
mod lifetime;
mod machine;
pub mod protocol;
mod sctp;
mod server;
mod viewer;

pub use address_group::address_group;
pub use lifetime::lifetime;
pub use machine::{Server, ServerConfig, ServerStats};
pub use sctp::{SCTP_PORT, between_server_and_viewer};
pub use server::{
    AccessPolicy, Admission, Carrier, OpenToAll, Permission, Television, TelevisionConfig,
    UrgentReport, ViewerId, ViewerReport,
};
pub use viewer::{
    NativeEvent, NativeViewer, PictureOrder, Playout, PlayoutCounts, ReceivedUnit, Viewer,
    ViewerEvent, ViewerStats,
};

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
