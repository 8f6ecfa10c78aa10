//! A media session without I/O: who sends what to whom, over one connection.
//!
//! [`Sender`] and [`Receiver`] are [`Machine`](anabranch_sansio::Machine)s around a
//! [`Transport`](anabranch_transport::Transport), SCTP unless they are given another: they run on
//! sockets and in the simulator alike. Either may listen or call. Whoever listens serves one peer
//! at a time and refuses others in words. `docs/session-protocol.md` describes what passes between
//! them.
//!
//! The one who drives a machine decides when to [`connect`](Sender::connect) again; the machine
//! keeps media numbered and timed across connections, so that a receiver goes on where the sender
//! was lost.

mod backlog;
mod config;
pub mod dropping;
mod event;
mod link;
mod measures;
mod message;
mod outlet;
mod passphrase;
mod piece_len;
mod receiver;
mod refusal;
mod sender;
mod source;
pub mod treatment;

use std::time::Duration;

pub use anabranch_transport::{Bond, UnknownBond};
pub use config::{
    BACKLOG_DEFAULT, GREETING_TIMEOUT, LATENCY_MS_MAX, NEWCOMERS_MAX, PATH_MTU_BASE, PATH_MTU_MAX,
    ReceiverConfig, SCTP_PORT, SenderConfig, SessionConfig,
};
pub use event::{Agreement, Arrival, CallError, Disconnect, Event, PushError};
pub use measures::{Advice, LinkMeasure, Measures, Report, advise};
pub use message::{CONTROL, CONTROL_LEN_MAX, MEDIA, MessageError, PROTOCOL_VERSION, printable};
pub use outlet::{LeftOut, OutputReport};
pub use passphrase::{Passphrase, PassphraseLength};
pub use receiver::{ClassArrivals, Receiver, ReceiverStats};
pub use refusal::{Refusal, RefusalCode};
pub use sender::{ClassStats, Sender, SenderStats};
pub use source::{Role, Source, SourceFormat};

/// How often the ends tell each other what they measured. A peer that was silent for so long makes
/// room for another one that calls.
pub const REPORT_INTERVAL: Duration = Duration::from_secs(1);

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests;
