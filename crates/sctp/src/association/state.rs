//! The states of RFC 9260 section 4.

use std::fmt;

use super::handshake::{CookieEchoed, CookieWait};
use super::shutdown::ShutdownTimer;
use crate::sender::Phase;

/// RFC 9260 section 4, figure 3. A state holds what exists only in it.
#[derive(Debug)]
pub(super) enum State {
    CookieWait(CookieWait),
    CookieEchoed(CookieEchoed),
    Established,
    ShutdownPending,
    ShutdownSent(ShutdownTimer),
    ShutdownReceived,
    ShutdownAckSent(ShutdownTimer),
    Closed,
}

impl State {
    /// Whether data may be sent (RFC 9260 section 6).
    pub(super) const fn may_send_data(&self) -> bool {
        self.phase().may_send()
    }

    /// What the state means for data.
    pub(super) const fn phase(&self) -> Phase {
        match self {
            Self::CookieWait(_) | Self::CookieEchoed(_) => Phase::Handshake,
            Self::Established | Self::ShutdownReceived => Phase::Open,
            Self::ShutdownPending => Phase::Draining,
            Self::ShutdownSent(_) | Self::ShutdownAckSent(_) | Self::Closed => Phase::Over,
        }
    }

    /// Whether data is taken (RFC 9260 section 6).
    pub(super) const fn may_receive_data(&self) -> bool {
        matches!(self, Self::Established | Self::ShutdownPending | Self::ShutdownSent(_))
    }

    /// Whether the user may hand over messages. Before the handshake is done they wait.
    pub(super) const fn takes_messages(&self) -> bool {
        matches!(self, Self::CookieWait(_) | Self::CookieEchoed(_) | Self::Established)
    }

    /// RFC 9260 section 4.
    pub(super) const fn name(&self) -> &'static str {
        match self {
            Self::CookieWait(_) => "cookie-wait",
            Self::CookieEchoed(_) => "cookie-echoed",
            Self::Established => "established",
            Self::ShutdownPending => "shutdown-pending",
            Self::ShutdownSent(_) => "shutdown-sent",
            Self::ShutdownReceived => "shutdown-received",
            Self::ShutdownAckSent(_) => "shutdown-ack-sent",
            Self::Closed => "closed",
        }
    }
}

/// Where an association stands (RFC 9260 section 4).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum AssociationState {
    /// We sent INIT.
    CookieWait,
    /// We sent COOKIE ECHO.
    CookieEchoed,
    /// The handshake is done.
    Established,
    /// We shut down when all data is delivered.
    ShutdownPending,
    /// We sent SHUTDOWN.
    ShutdownSent,
    /// The peer shuts down; our data is still delivered.
    ShutdownReceived,
    /// We answered the peer's SHUTDOWN.
    ShutdownAckSent,
    /// It ended.
    Closed,
}

impl fmt::Display for AssociationState {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::CookieWait => "COOKIE-WAIT",
            Self::CookieEchoed => "COOKIE-ECHOED",
            Self::Established => "ESTABLISHED",
            Self::ShutdownPending => "SHUTDOWN-PENDING",
            Self::ShutdownSent => "SHUTDOWN-SENT",
            Self::ShutdownReceived => "SHUTDOWN-RECEIVED",
            Self::ShutdownAckSent => "SHUTDOWN-ACK-SENT",
            Self::Closed => "CLOSED",
        })
    }
}
