//! [`ResetCode`]: why a connection ended.

use std::fmt;

/// Why a connection ended: RFC 4340 section 5.6, table 2.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ResetCode(pub u8);

impl ResetCode {
    /// No reason is given.
    pub const UNSPECIFIED: Self = Self(0);
    /// Normal close.
    pub const CLOSED: Self = Self(1);
    /// The sender gave up, because nothing moved.
    pub const ABORTED: Self = Self(2);
    /// There is no connection.
    pub const NO_CONNECTION: Self = Self(3);
    /// A valid packet of an unexpected type arrived.
    pub const PACKET_ERROR: Self = Self(4);
    /// An option was wrong in a way that cannot be ignored.
    pub const OPTION_ERROR: Self = Self(5);
    /// A mandatory option was not understood, or not obeyed.
    pub const MANDATORY_ERROR: Self = Self(6);
    /// Nobody listens at the port.
    pub const CONNECTION_REFUSED: Self = Self(7);
    /// Who listens at the port offers another service.
    pub const BAD_SERVICE_CODE: Self = Self(8);
    /// There are too many connections.
    pub const TOO_BUSY: Self = Self(9);
    /// The Init Cookie was wrong or missing.
    pub const BAD_INIT_COOKIE: Self = Self(10);
    /// The peer does not heed congestion.
    pub const AGGRESSION_PENALTY: Self = Self(11);
    /// Another connection has the same UDP ports (RFC 6773 section 3.8).
    pub const ENCAPSULATED_PORT_REUSE: Self = Self(12);
    /// A connection of several paths ends at once (RFC 9897).
    pub const ABRUPT_MULTIPATH_TERMINATION: Self = Self(13);
}

impl fmt::Display for ResetCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = match *self {
            Self::UNSPECIFIED => "Unspecified",
            Self::CLOSED => "Closed",
            Self::ABORTED => "Aborted",
            Self::NO_CONNECTION => "No Connection",
            Self::PACKET_ERROR => "Packet Error",
            Self::OPTION_ERROR => "Option Error",
            Self::MANDATORY_ERROR => "Mandatory Error",
            Self::CONNECTION_REFUSED => "Connection Refused",
            Self::BAD_SERVICE_CODE => "Bad Service Code",
            Self::TOO_BUSY => "Too Busy",
            Self::BAD_INIT_COOKIE => "Bad Init Cookie",
            Self::AGGRESSION_PENALTY => "Aggression Penalty",
            Self::ENCAPSULATED_PORT_REUSE => "Encapsulated Port Reuse",
            Self::ABRUPT_MULTIPATH_TERMINATION => "Abrupt MP termination",
            Self(code) => return write!(f, "reset code {code}"),
        };
        f.write_str(name)
    }
}
