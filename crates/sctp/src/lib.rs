//! SCTP (RFC 9260) as a state machine: multi-homed, partially reliable, without I/O.
//!
//! An [`Endpoint`] is an [`anabranch_sansio::Machine`]: it is told the time and handed datagrams,
//! and asked what to send, when to be woken and what happened. It holds [`Association`]s, found by
//! [`AssociationId`]. A path of an association is a pair of transport addresses, UDP encapsulation
//! ports included (RFC 6951), so that two interfaces towards one server address are two paths.
//!
//! Spoken here: RFC 9260, partial reliability by FORWARD TSN (RFC 3758) with lifetimes and limited
//! retransmissions (RFC 7496), potentially failed paths (RFC 7829), UDP encapsulation (RFC 6951),
//! stream priorities, turns, and messages that interleave (RFC 8260), streams that are reset and
//! added (RFC 6525), authenticated chunks (RFC 4895), addresses that change by request (RFC 5061),
//! packets without a checksum under DTLS (RFC 9653).
//!
//! [`AssociationConfig::default`] is what RFC 9260 recommends, [`AssociationConfig::media`] is for
//! deadlines; [`AssociationConfig::with`] changes single values of either. For bulk data with
//! segmentation offload take [`max_burst: None`](WindowConfig::max_burst) and
//! [`pacing: true`](WindowConfig::pacing): else a transmission holds no more than the few packets
//! that RFC 9260 lets an arrival release.
//!
//! ```
//! use anabranch_sctp::{
//!     AssociationConfig, Datagram, Endpoint, EndpointConfig, FourTuple, Machine, OutgoingMessage,
//!     Rng, StreamId, Time,
//! };
//!
//! let listening = EndpointConfig { accept: true, ..EndpointConfig::default() };
//! let mut server = Endpoint::new(listening, Rng::from_u64(1));
//! let mut client = Endpoint::new(EndpointConfig::default(), Rng::from_u64(2));
//!
//! let path = FourTuple::new("10.0.0.1:9899".parse()?, "10.0.0.2:9899".parse()?);
//! let now = Time::ZERO;
//! let id = client.connect(now, &[path], (5000, 5001), AssociationConfig::default())?;
//! let message = OutgoingMessage::new(StreamId(0), "hello".into());
//! client.association_mut(id).expect("just made").send(now, message)?;
//!
//! // Carry datagrams to and fro until both are quiet.
//! let mut buf = Vec::new();
//! loop {
//!     let (from, to) = match client.poll_transmit(now, &mut buf) {
//!         Some(transmit) => (transmit, &mut server),
//!         None => match server.poll_transmit(now, &mut buf) {
//!             Some(transmit) => (transmit, &mut client),
//!             None => break,
//!         },
//!     };
//!     let path = from.path.reversed();
//!     to.handle_datagram(now, Datagram { path, ecn: None, bytes: &buf });
//!     buf.clear();
//! }
//! let (id, _) = server.poll_event().expect("connected");
//! let message = server.association_mut(id).and_then(|association| association.receive());
//! assert_eq!(message.expect("delivered").payload, "hello");
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod association;
mod authentication;
mod causes;
mod config;
mod dtls;
mod earliest;
mod endpoint;
mod error;
mod event;
mod extensions;
mod format;
mod handshake;
mod journal;
mod path;
mod path_choice;
mod path_name;
mod ranges;
mod rate_signal;
mod receive;
mod send;
mod sender;
mod sequence;
mod stats;
mod trace;

pub use anabranch_congestion::{
    Ack, Bbr, CongestionControl, CongestionController, ControllerFactory, ControllerMetrics, Cubic,
    FixedWindow, FreshPath, LostChunk, Media, QueueBound, RateSample, Rfc9260, SentData,
};
pub use anabranch_sansio::{
    Datagram, Ecn, FourTuple, Machine, Rate, Rng, Time, TraceRecord, Transmit, Wakeup,
};
pub use anabranch_wire::{Level, Ppid, ReconfigurationResult, Ssn, StreamId};
pub use association::{Association, AssociationState};
pub use authentication::{Authentication, AuthenticationError, Protection, SharedKey};
pub use bytes::Bytes;
pub use causes::PeerCauses;
pub use config::{
    AssociationConfig, BufferConfig, CallFilter, EndpointConfig, ExtensionConfig, IncomingCall,
    PathConfig, RecoveryConfig, StreamConfig, TimerConfig, WindowConfig,
};
pub use dtls::{
    Encryption, EncryptionPolicy, EncryptionStats, Epoch, KeyAction, KeyContext, KeyFailure,
    KeyManagement, KeyManagementFactory, KeyRole, NONCE_LEN, RecordCipher, RecordKeys, Restart,
    RestartKeys, SAMPLE_LEN, SEALING_LEN, TAG_LEN,
};
pub use endpoint::{AssociationId, Endpoint};
pub use error::{AddStreamsError, ConfigError, ConnectError, ResetError};
pub use event::{CloseReason, Direction, Event, RefusedCall, RefusedCallReason};
pub use path_choice::{
    Demand, Outlook, PathScheduler, PathSchedulerFactory, PathSchedulerKind, RetransmissionPolicy,
};
pub use path_name::{PathId, PathState};
pub use rate_signal::RateSignal;
pub use receive::{IncomingMessage, ReceiveOrder};
pub use send::{
    LossDetection, OutgoingMessage, PathPreference, Reliability, SchedulerKind, SendError,
    SendFailure, StreamScheduler, StreamSchedulerFactory,
};
pub use stats::{AssociationStats, EndpointStats, LevelStats, PathReport, PathStats, StreamStats};
pub use trace::{TraceEvent, TraceKind};

/// The programs of the README, compiled.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
