//! [`PacketType`]: RFC 4340 section 5.1, table 1.

use std::fmt;

/// What a packet is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
#[repr(u8)]
pub enum PacketType {
    /// A client asks for a connection.
    Request = 0,
    /// The server agrees.
    Response = 1,
    /// Data of the application.
    Data = 2,
    /// An acknowledgement.
    Ack = 3,
    /// Both.
    DataAck = 4,
    /// The server asks the client to close, and to hold TIMEWAIT.
    CloseReq = 5,
    /// The connection is to end.
    Close = 6,
    /// It has ended, or never was.
    Reset = 7,
    /// Asks which sequence numbers are right.
    Sync = 8,
    /// Answers that.
    SyncAck = 9,
}

impl PacketType {
    /// All there are, by their numbers.
    pub const ALL: [Self; 10] = [
        Self::Request,
        Self::Response,
        Self::Data,
        Self::Ack,
        Self::DataAck,
        Self::CloseReq,
        Self::Close,
        Self::Reset,
        Self::Sync,
        Self::SyncAck,
    ];

    /// The type with this number, unless that is reserved.
    #[must_use]
    pub fn from_code(code: u8) -> Option<Self> {
        Self::ALL.get(usize::from(code)).copied()
    }

    /// Its number.
    #[must_use]
    pub const fn code(self) -> u8 {
        self as u8
    }

    /// Its name, without the "DCCP-" before it.
    #[must_use]
    pub const fn name(self) -> &'static str {
        match self {
            Self::Request => "Request",
            Self::Response => "Response",
            Self::Data => "Data",
            Self::Ack => "Ack",
            Self::DataAck => "DataAck",
            Self::CloseReq => "CloseReq",
            Self::Close => "Close",
            Self::Reset => "Reset",
            Self::Sync => "Sync",
            Self::SyncAck => "SyncAck",
        }
    }

    /// Whether it has an Acknowledgement Number: all but Request and Data.
    #[must_use]
    pub const fn has_acknowledgement(self) -> bool {
        !matches!(self, Self::Request | Self::Data)
    }

    /// Whether its sequence numbers may be short.
    #[must_use]
    pub const fn may_be_short(self) -> bool {
        // RFC 4340 section 5.1: "DCCP-Data, DCCP-DataAck, and DCCP-Ack packets MAY set X to zero or
        // one."
        matches!(self, Self::Data | Self::Ack | Self::DataAck)
    }

    /// Whether it counts as a data packet, with data or without.
    #[must_use]
    pub const fn is_data(self) -> bool {
        // RFC 4340 section 7.7: "The other packet types, namely DCCP-Request, DCCP-Response,
        // DCCP-Data, and DCCP-DataAck, are considered data packets, although not all DCCP-Request
        // and DCCP-Response packets will actually carry application data."
        matches!(self, Self::Request | Self::Response | Self::Data | Self::DataAck)
    }
}

impl fmt::Display for PacketType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "DCCP-{}", self.name())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_lead_to_types_and_back() {
        for code in 0..=u8::MAX {
            assert_eq!(
                PacketType::from_code(code).map(PacketType::code),
                (code < 10).then_some(code)
            );
        }
        assert_eq!(PacketType::DataAck.to_string(), "DCCP-DataAck");
    }
}
