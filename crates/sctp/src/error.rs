//! Errors of calls. What the network does wrong is never an error of a call: see
//! [`Event::Closed`](crate::Event::Closed).

use thiserror::Error;

/// Why a message was not taken.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SendError {
    /// Nothing to send: SCTP has no empty messages (RFC 9260 section 3.3.1).
    #[error("the message is empty, but SCTP messages have at least one byte")]
    Empty,
    /// Longer than the configured limit.
    #[error("the message has {len} bytes, but at most {limit} are allowed")]
    TooLarge {
        /// The message's length.
        len: usize,
        /// `AssociationConfig::message_size_max`.
        limit: usize,
    },
    /// The peer accepts fewer streams.
    #[error("stream {stream} does not exist: the association has streams 0 to {last}")]
    InvalidStream {
        /// The stream that was asked for.
        stream: u16,
        /// The highest one there is.
        last: u16,
    },
    /// The send queue is full; an [`Event::Writable`](crate::Event::Writable) follows.
    #[error("the send queue holds {queued} of {limit} bytes: wait until it drains")]
    BufferFull {
        /// Bytes that wait now.
        queued: usize,
        /// `AssociationConfig::send_buffer`.
        limit: usize,
    },
    /// The association is shutting down or closed.
    #[error("the association is closing and takes no more messages")]
    Closing,
}

/// Why streams are not reset.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ResetError {
    /// The handshake is not done, or the association is ending.
    #[error("streams are reset between the handshake and the shutdown only")]
    NotEstablished,
    /// The peer did not announce RFC 6525.
    #[error("the peer does not support stream reconfiguration (RFC 6525)")]
    NotSupported,
    /// There is no such stream.
    #[error("stream {stream} does not exist: the association has streams 0 to {last}")]
    InvalidStream {
        /// The stream that was asked for.
        stream: u16,
        /// The highest one there is.
        last: u16,
    },
}

/// Why no association was begun.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// No path was given.
    #[error("no path to the peer was given: at least one is needed")]
    NoPath,
    /// More paths than the association may have.
    #[error("{paths} paths were given, but an association has at most {limit}")]
    TooManyPaths {
        /// Paths that were asked for.
        paths: usize,
        /// `AssociationConfig::paths_max`.
        limit: usize,
    },
    /// The endpoint has all the associations that it may have.
    #[error("the endpoint has {limit} associations, which is its limit")]
    TooManyAssociations {
        /// `EndpointConfig::associations_max`.
        limit: usize,
    },
    /// There is an association with this peer already.
    #[error("an association over this path between these SCTP ports exists already")]
    Exists,
}
