//! [`ChunkType`]: the first byte of a chunk.

use std::fmt;

use crate::items::sealed;

/// The type of a chunk. Displays as its name in the RFC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ChunkType(pub u8);

impl ChunkType {
    /// Payload Data.
    pub const DATA: Self = Self(0);
    /// Initiation.
    pub const INIT: Self = Self(1);
    /// Initiation Acknowledgement.
    pub const INIT_ACK: Self = Self(2);
    /// Selective Acknowledgement.
    pub const SACK: Self = Self(3);
    /// Heartbeat Request.
    pub const HEARTBEAT: Self = Self(4);
    /// Heartbeat Acknowledgement.
    pub const HEARTBEAT_ACK: Self = Self(5);
    /// Abort Association.
    pub const ABORT: Self = Self(6);
    /// Shutdown Association.
    pub const SHUTDOWN: Self = Self(7);
    /// Shutdown Acknowledgement.
    pub const SHUTDOWN_ACK: Self = Self(8);
    /// Operation Error.
    pub const ERROR: Self = Self(9);
    /// Cookie Echo.
    pub const COOKIE_ECHO: Self = Self(10);
    /// Cookie Acknowledgement.
    pub const COOKIE_ACK: Self = Self(11);
    /// Explicit Congestion Notification Echo.
    pub const ECNE: Self = Self(12);
    /// Congestion Window Reduced.
    pub const CWR: Self = Self(13);
    /// Shutdown Complete.
    pub const SHUTDOWN_COMPLETE: Self = Self(14);
    /// Authentication (RFC 4895).
    pub const AUTH: Self = Self(15);
    /// Payload Data supporting Interleaving (RFC 8260).
    pub const I_DATA: Self = Self(64);
    /// DTLS (draft-ietf-tsvwg-sctp-dtls-chunk).
    pub const DTLS: Self = Self(0x41);
    /// Address Configuration Acknowledgment (RFC 5061).
    pub const ASCONF_ACK: Self = Self(0x80);
    /// Re-configuration (RFC 6525).
    pub const RE_CONFIG: Self = Self(130);
    /// Padding (RFC 4820).
    pub const PAD: Self = Self(0x84);
    /// Forward Cumulative TSN (RFC 3758).
    pub const FORWARD_TSN: Self = Self(192);
    /// Address Configuration Change (RFC 5061).
    pub const ASCONF: Self = Self(0xc1);
    /// Forward Cumulative TSN for I-DATA (RFC 8260).
    pub const I_FORWARD_TSN: Self = Self(194);

    const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::DATA => "DATA",
            Self::INIT => "INIT",
            Self::INIT_ACK => "INIT ACK",
            Self::SACK => "SACK",
            Self::HEARTBEAT => "HEARTBEAT",
            Self::HEARTBEAT_ACK => "HEARTBEAT ACK",
            Self::ABORT => "ABORT",
            Self::SHUTDOWN => "SHUTDOWN",
            Self::SHUTDOWN_ACK => "SHUTDOWN ACK",
            Self::ERROR => "ERROR",
            Self::COOKIE_ECHO => "COOKIE ECHO",
            Self::COOKIE_ACK => "COOKIE ACK",
            Self::ECNE => "ECNE",
            Self::CWR => "CWR",
            Self::SHUTDOWN_COMPLETE => "SHUTDOWN COMPLETE",
            Self::AUTH => "AUTH",
            Self::I_DATA => "I-DATA",
            Self::DTLS => "DTLS",
            Self::ASCONF_ACK => "ASCONF-ACK",
            Self::RE_CONFIG => "RE-CONFIG",
            Self::PAD => "PAD",
            Self::FORWARD_TSN => "FORWARD TSN",
            Self::ASCONF => "ASCONF",
            Self::I_FORWARD_TSN => "I-FORWARD-TSN",
            _ => return None,
        })
    }
}

impl fmt::Display for ChunkType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "type {}", self.0),
        }
    }
}

impl sealed::Item for ChunkType {
    type Wire = [u8; 1];

    fn from_wire([ty]: [u8; 1]) -> Self {
        Self(ty)
    }

    fn to_wire(self) -> [u8; 1] {
        [self.0]
    }
}
