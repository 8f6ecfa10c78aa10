//! [`Event`]: what happens to a connection.

use crate::wire::ResetCode;

/// What happened to a connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is over: data may be sent.
    Connected,
    /// There is something to read: one datagram or several.
    Readable,
    /// Half of the send buffer is free again, after it was full.
    Writable,
    /// The peer's application takes no more data.
    PeerStoppedListening,
    /// It is over. What has arrived can still be read.
    Closed(CloseReason),
}

/// Why a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// One end closed it, and the other knows.
    Finished,
    /// The peer reset it, for this reason.
    Reset(ResetCode),
    /// The peer broke a rule: it was told this reason.
    Broken(ResetCode),
    /// The peer did not answer.
    TimedOut,
    /// It was aborted here.
    Aborted,
}
