//! What a connection tells its user.

use std::fmt;

use anabranch_sctp::IncomingMessage;
use anabranch_wire::StreamId;

use crate::channels::MessageKind;
use crate::dcep::ChannelOptions;

/// Something happened on a connection.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The browser is there: channels can be opened.
    Connected,
    /// A channel is open: the browser opened it, or took ours.
    ChannelOpened {
        /// Its stream.
        stream: StreamId,
        /// What its opener said of it.
        options: ChannelOptions,
    },
    /// A message of a channel.
    Message {
        /// What it is to the page.
        kind: MessageKind,
        /// The message, whose stream names the channel; an empty one is empty here, too.
        message: IncomingMessage,
    },
    /// A channel is closed on both sides, and its stream may get another one.
    ChannelClosed {
        /// Its stream.
        stream: StreamId,
    },
    /// The send queue, after having refused a message, has room again.
    Writable,
    /// The connection ended. The last event.
    Closed {
        /// Why.
        reason: CloseReason,
    },
}

/// What an event that waits costs beside the bytes of its message.
const EVENT_COST: usize = 256;

impl Event {
    /// What the browser makes us keep until the event is read.
    pub(crate) fn cost(&self) -> usize {
        match self {
            Self::Message { message, .. } => message.payload.len() + EVENT_COST,
            Self::ChannelOpened { options, .. } => {
                options.label.len() + options.protocol.len() + EVENT_COST
            }
            Self::ChannelClosed { .. } => EVENT_COST,
            Self::Connected | Self::Writable | Self::Closed { .. } => 0,
        }
    }
}

/// Why a connection ended.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// We closed it.
    Closed,
    /// The browser closed it.
    ClosedByPeer,
    /// After its offer, no connectivity check came.
    NeverCame,
    /// It came, and had no association in time.
    NotSetUp,
    /// Its connectivity checks ceased: the page is gone, or the network.
    Silent,
    /// It showed another certificate than its offer named.
    WrongCertificate,
    /// DTLS failed.
    Dtls(String),
    /// SCTP ended.
    Sctp(anabranch_sctp::CloseReason),
}

impl fmt::Display for CloseReason {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Closed => f.write_str("the server closed the connection"),
            Self::ClosedByPeer => f.write_str("the browser closed the connection"),
            Self::NeverCame => f.write_str("the browser never reached the UDP port of its answer"),
            Self::NotSetUp => f.write_str("the browser came, and set up no association in time"),
            Self::Silent => f.write_str("the browser fell silent"),
            Self::WrongCertificate => {
                f.write_str("the certificate has another fingerprint than the offer")
            }
            Self::Dtls(error) => write!(f, "DTLS failed: {error}"),
            Self::Sctp(reason) => write!(f, "{reason}"),
        }
    }
}
