//! What a caller gets wrong.

use thiserror::Error;

/// Data that a connection does not take.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no connection yet, or none any more.
    #[error("the connection is not open: wait for Event::Connected")]
    NotConnected,
    /// [`Connection::close`](crate::Connection::close) was called.
    #[error("the connection was closed for sending: open another one")]
    Closed,
    /// As much waits as may wait.
    #[error("{free} bytes are free in the send buffer, not {len}: wait for Event::Writable")]
    BufferFull {
        /// Bytes that were to be sent.
        len: usize,
        /// Bytes that would fit.
        free: usize,
    },
}
