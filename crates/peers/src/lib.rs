//! SCTP stacks that others wrote, and ours, behind one interface: referees in tests, rivals in
//! benchmarks.
//!
//! A [`Peer`] is one endpoint with one association at a time. It is a
//! [`Machine`] on virtual time, so a simulator drives it as it drives ours; [`Memory`] joins two
//! of them without a network.
//!
//! ```
//! use anabranch_peers::{Config, Memory, Message, Stack, State, Treatment};
//!
//! let a = Stack::Dcsctp.peer(&Config::default(), 1);
//! let b = Stack::SctpProto.peer(&Config::default(), 2);
//! let mut memory = Memory::new(a, b);
//! memory.connect();
//! memory.a.send(memory.now(), &Message::new(3, "hello"), Treatment::default())?;
//! memory.settle();
//! assert_eq!(memory.b.receive(), Some(Message::new(3, "hello")));
//! # Ok::<(), anabranch_peers::SendError>(())
//! ```

mod anabranch;
mod clock;
mod dcsctp;
mod memory;
mod rtc_sctp;
mod sctp_proto;
mod webrtc_rs;

use std::fmt;
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Time, Transmit, Wakeup};
use bytes::Bytes;

pub use memory::{Counters, Memory};

/// The stacks, with the version that `Cargo.lock` names.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Stack {
    /// Ours.
    Anabranch,
    /// The Rust port of the SCTP that Chromium ships.
    Dcsctp,
    /// The SCTP of str0m.
    SctpProto,
    /// The SCTP of webrtc-rs, from which `SctpProto` was split off.
    RtcSctp,
}

impl Stack {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Anabranch, Self::Dcsctp, Self::SctpProto, Self::RtcSctp];

    /// Those that others wrote.
    pub const FOREIGN: [Self; 3] = [Self::Dcsctp, Self::SctpProto, Self::RtcSctp];

    /// An endpoint that waits for an association, until it is told to
    /// [`connect`](Peer::connect).
    ///
    /// `seed` decides what dcsctp draws. The other two draw tags and initial TSNs from the
    /// operating system, so their timing and sizes repeat from run to run, not their bytes.
    #[must_use]
    pub fn peer(self, config: &Config, seed: u64) -> Box<dyn Peer> {
        match self {
            Self::Anabranch => Box::new(anabranch::Peer::new(config, seed)),
            Self::Dcsctp => Box::new(dcsctp::Peer::new(config, seed)),
            Self::SctpProto => sctp_proto::peer(config),
            Self::RtcSctp => rtc_sctp::peer(config),
        }
    }
}

impl fmt::Display for Stack {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Anabranch => "anabranch",
            Self::Dcsctp => "dcsctp",
            Self::SctpProto => "sctp-proto",
            Self::RtcSctp => "rtc-sctp",
        })
    }
}

/// An endpoint of another stack, with one association.
///
/// It sends on the path that the latest datagram came from, and to
/// [`Config::path`] as long as none did.
pub trait Peer: Machine<Event = Event> {
    /// Starts the handshake. Nothing happens if an association exists.
    fn connect(&mut self, now: Time);

    /// Hands over a message.
    ///
    /// # Errors
    ///
    /// When there is no association, the message exceeds [`Config::max_message_size`], or the
    /// stack refuses it.
    fn send(&mut self, now: Time, message: &Message, treatment: Treatment)
    -> Result<(), SendError>;

    /// The next message that arrived complete. Reading it opens the receive window.
    fn receive(&mut self) -> Option<Message>;

    /// Begins the numbering of a stream of ours anew (RFC 6525), as it happens when a data channel
    /// is closed; the other end tells it by [`Event::Reset`].
    ///
    /// # Errors
    ///
    /// When there is no association, or the stack refuses.
    fn reset(&mut self, now: Time, stream: u16) -> Result<(), SendError>;

    /// Ends the association once all that was handed over is acknowledged.
    ///
    /// sctp-proto and rtc-sctp forget what they had not sent yet.
    fn shutdown(&mut self, now: Time);

    /// Ends the association at once. dcsctp and rtc-sctp send an ABORT chunk; sctp-proto, which
    /// has none to offer, falls silent.
    fn abort(&mut self, now: Time);

    /// Where the association is.
    fn state(&self) -> State;

    /// [`Machine::handle_datagram`] for a packet that may be kept: spares a copy in stacks that
    /// hold on to parts of it.
    fn handle_packet(&mut self, now: Time, path: FourTuple, packet: Bytes) {
        self.handle_datagram(now, Datagram { path, ecn: None, bytes: &packet });
    }

    /// [`Machine::poll_transmit`], one packet at a time, without a copy where the stack allows.
    #[must_use]
    fn poll_packet(&mut self, now: Time) -> Option<Bytes>;
}

/// What the stacks can be told alike.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Config {
    /// Where to send until a datagram arrived. Default: 192.0.2.1:9899 to 192.0.2.2:9899.
    pub path: FourTuple,
    /// The SCTP port of both ends. Default: 5000.
    pub port: u16,
    /// The largest packet in bytes, from SCTP's common header on. Default: 1191, the IPv6
    /// minimum of 1280 less the headers of IPv6, UDP, TURN and DTLS.
    pub mtu: u16,
    /// Bytes of received data kept until they are read; announced as a_rwnd. Default: 1 MiB.
    pub receive_window: u32,
    /// Bytes in flight whatever is lost, instead of congestion control. Default: none. Heeded by
    /// ours alone.
    pub fixed_window: Option<u32>,
    /// Whether user message interleaving (RFC 8260) is offered. Default: false. Heeded by ours and
    /// dcsctp.
    pub message_interleaving: bool,
    /// Whether the sender's marks of importance are offered; then messages of stream n have level
    /// n mod 4. Default: false. Heeded by ours, the only one that has them.
    pub level_marks: bool,
    /// Whether packets without a checksum are offered, as under DTLS (RFC 9653). Default: false.
    /// Heeded by ours and dcsctp.
    pub zero_checksum_over_dtls: bool,
    /// The largest message in bytes, either way. Default: 256 KiB.
    pub max_message_size: u32,
    /// The retransmission timeout's first value. Default: 1 s (RFC 9260 section 16). rtc-sctp
    /// keeps its own three.
    pub rto_initial: Duration,
    /// Its lower bound. Default: 1 s.
    pub rto_min: Duration,
    /// Its upper bound. Default: 60 s.
    pub rto_max: Duration,
}

impl Default for Config {
    fn default() -> Self {
        let [local, remote] = [1, 2].map(|host| ([192, 0, 2, host], 9899).into());
        Self {
            path: FourTuple::new(local, remote),
            port: 5000,
            mtu: 1191,
            fixed_window: None,
            message_interleaving: false,
            level_marks: false,
            zero_checksum_over_dtls: false,
            receive_window: 1024 * 1024,
            max_message_size: 256 * 1024,
            rto_initial: Duration::from_secs(1),
            rto_min: Duration::from_secs(1),
            rto_max: Duration::from_secs(60),
        }
    }
}

/// A message and its stream.
///
/// SCTP cannot carry an empty message. As between browsers, one travels as a single byte under a
/// payload protocol identifier of its own:
///
/// RFC 8831 section 6.6: "the appropriate PPID (WebRTC String Empty or WebRTC Binary Empty) is
/// used, and the SCTP user message of one zero byte is sent."
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Message {
    /// The stream identifier.
    pub stream: u16,
    /// The content.
    pub bytes: Bytes,
}

impl Message {
    /// A message for `stream`.
    #[must_use]
    pub fn new(stream: u16, bytes: impl Into<Bytes>) -> Self {
        Self { stream, bytes: bytes.into() }
    }

    /// What SCTP carries of it: the payload protocol identifier and the user data.
    fn to_wire(&self) -> (u32, Bytes) {
        if self.bytes.is_empty() {
            (PPID_BINARY_EMPTY, Bytes::from_static(&[0]))
        } else {
            (PPID_BINARY, self.bytes.clone())
        }
    }

    fn from_wire(stream: u16, ppid: u32, user_data: Bytes) -> Self {
        let empty = ppid == PPID_STRING_EMPTY || ppid == PPID_BINARY_EMPTY;
        Self { stream, bytes: if empty { Bytes::new() } else { user_data } }
    }
}

const PPID_BINARY: u32 = 53;
const PPID_STRING_EMPTY: u32 = 56;
const PPID_BINARY_EMPTY: u32 = 57;

/// How a message is to travel. Default: in order, reliably.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Treatment {
    /// Delivered as soon as it is complete, past earlier ones of its stream.
    pub unordered: bool,
    /// When to give up.
    pub reliability: Reliability,
}

/// When a sender abandons a message.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Reliability {
    /// Never.
    #[default]
    Reliable,
    /// This long after it was handed over (RFC 3758 section 4, timed reliability).
    Lifetime(Duration),
    /// After so many retransmissions (RFC 7496 section 3.1, limited retransmissions).
    Retransmissions(u16),
}

/// Where an association is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum State {
    /// There is none, or none any more.
    Closed,
    /// The handshake runs.
    Connecting,
    /// Messages may be handed over.
    Connected,
    /// It ends once everything is acknowledged.
    ShuttingDown,
}

/// What a peer reports.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// The handshake is done.
    Connected,
    /// The other end began the numbering of a stream of its own anew.
    Reset(u16),
    /// The association ended as either end wished.
    Closed,
    /// The association failed; in the stack's own words.
    Lost(String),
}

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no association to send it on.
    #[error("the association is {0:?}, not connected")]
    NotConnected(State),
    /// It is too large.
    #[error("a message of {len} bytes exceeds the limit of {limit}")]
    TooLarge {
        /// The message's length.
        len: usize,
        /// [`Config::max_message_size`].
        limit: u32,
    },
    /// The stack refused, in its own words.
    #[error("refused: {0}")]
    Refused(String),
}

/// What every adapter asks before it bothers its stack.
fn check_send(state: State, message: &Message, limit: u32) -> Result<(), SendError> {
    let len = message.bytes.len();
    if state != State::Connected {
        return Err(SendError::NotConnected(state));
    }
    if len > limit as usize {
        return Err(SendError::TooLarge { len, limit });
    }
    Ok(())
}

impl Machine for Box<dyn Peer> {
    type Event = Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        (**self).handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Time) {
        (**self).handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        (**self).poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        (**self).poll_timeout()
    }

    fn poll_event(&mut self) -> Option<Event> {
        (**self).poll_event()
    }
}
