//! What a caller gets wrong.

use thiserror::Error;

use crate::wire::ServiceCode;

/// A connection that cannot begin.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ConnectError {
    /// There is one already.
    #[error("there is a connection between these addresses and ports: choose another port")]
    Exists,
    /// As many as may be.
    #[error("there are {limit} connections, which is the limit: close one first")]
    TooMany {
        /// How many may be.
        limit: usize,
    },
    /// Nowhere to send.
    #[error("there is no path: give one at least")]
    NoPath,
    /// The invalid service code.
    #[error("{} is no service code: choose one below 4294967295", ServiceCode::INVALID.0)]
    ServiceCode,
    /// No congestion control to choose from.
    #[error("no congestion control is allowed for one direction: name CCID 2, 3 or both")]
    NoCcid,
    /// Packets too small for a header.
    #[error("an MTU of {mtu} bytes leaves no room for data: {least} would")]
    Mtu {
        /// What was asked for.
        mtu: usize,
        /// What is needed.
        least: usize,
    },
}

/// Data that a connection does not take.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum SendError {
    /// There is no connection yet, or none any more.
    #[error("the connection is not open: wait for Event::Connected")]
    NotConnected,
    /// The peer's application takes no more data.
    #[error("the peer's application does not listen any more: close the connection")]
    NotListening,
    /// It does not fit into a packet.
    #[error("{len} bytes do not fit into a packet: {limit} do")]
    TooLarge {
        /// How many bytes it has.
        len: usize,
        /// How many it may have.
        limit: usize,
    },
    /// As much waits as may wait.
    #[error("{waiting} bytes wait to be sent: wait for Event::Writable")]
    BufferFull {
        /// How many bytes wait.
        waiting: usize,
    },
}
