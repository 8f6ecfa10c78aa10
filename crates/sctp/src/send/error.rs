//! [`SendError`]: why a message was not taken.

use thiserror::Error;

use super::OutgoingMessage;

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
        /// `BufferConfig::message_size_max`.
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
    /// The send queue is full; an [`Event::Writable`](crate::Event::Writable) follows. The message
    /// comes back, to be handed over then.
    #[error("the send queue holds {queued} of {limit} bytes: wait until it drains")]
    BufferFull {
        /// Bytes that wait now.
        queued: usize,
        /// `BufferConfig::send_buffer`.
        limit: usize,
        /// What was not taken.
        message: Box<OutgoingMessage>,
    },
    /// The association is shutting down or closed.
    #[error("the association is closing and takes no more messages")]
    Closing,
}
