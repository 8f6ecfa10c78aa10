//! [`CauseCode`]: the first two bytes of an error cause.

use std::fmt;

/// The code of an error cause. Displays as its name in the RFC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct CauseCode(pub u16);

impl CauseCode {
    /// Invalid Stream Identifier.
    pub const INVALID_STREAM_IDENTIFIER: Self = Self(1);
    /// Missing Mandatory Parameter.
    pub const MISSING_MANDATORY_PARAMETER: Self = Self(2);
    /// Stale Cookie.
    pub const STALE_COOKIE: Self = Self(3);
    /// Out of Resource.
    pub const OUT_OF_RESOURCE: Self = Self(4);
    /// Unresolvable Address.
    pub const UNRESOLVABLE_ADDRESS: Self = Self(5);
    /// Unrecognized Chunk Type.
    pub const UNRECOGNIZED_CHUNK_TYPE: Self = Self(6);
    /// Invalid Mandatory Parameter.
    pub const INVALID_MANDATORY_PARAMETER: Self = Self(7);
    /// Unrecognized Parameters.
    pub const UNRECOGNIZED_PARAMETERS: Self = Self(8);
    /// No User Data.
    pub const NO_USER_DATA: Self = Self(9);
    /// Cookie Received While Shutting Down.
    pub const COOKIE_RECEIVED_WHILE_SHUTTING_DOWN: Self = Self(10);
    /// Restart of an Association with New Addresses.
    pub const RESTART_WITH_NEW_ADDRESSES: Self = Self(11);
    /// User-Initiated Abort.
    pub const USER_INITIATED_ABORT: Self = Self(12);
    /// Protocol Violation.
    pub const PROTOCOL_VIOLATION: Self = Self(13);
    /// Restart of an Association with New Encapsulation Port
    /// (draft-tuexen-tsvwg-sctp-udp-encaps-cons, which updates RFC 6951).
    pub const NEW_ENCAPSULATION_PORT: Self = Self(14);
    /// Missing DTLS Chunk Support (draft-ietf-tsvwg-sctp-dtls-chunk).
    pub const MISSING_DTLS_CHUNK_SUPPORT: Self = Self(100);
    /// No Common DTLS Key Management Method (likewise).
    pub const NO_COMMON_DTLS_KEY_MANAGEMENT: Self = Self(101);
    /// DTLS Key Management Tie Breaker Collision (likewise).
    pub const DTLS_TIE_BREAKER_COLLISION: Self = Self(102);
    /// Incompatible DTLS Key Management Roles (likewise).
    pub const INCOMPATIBLE_DTLS_ROLES: Self = Self(103);
    /// Request to Delete Last Remaining IP Address (RFC 5061).
    pub const DELETE_LAST_IP_ADDRESS: Self = Self(0x00a0);
    /// Operation Refused Due to Resource Shortage (RFC 5061).
    pub const RESOURCE_SHORTAGE: Self = Self(0x00a1);
    /// Request to Delete Source IP Address (RFC 5061).
    pub const DELETE_SOURCE_IP_ADDRESS: Self = Self(0x00a2);
    /// Association Aborted Due to Illegal ASCONF-ACK (RFC 5061).
    pub const ILLEGAL_ASCONF_ACK: Self = Self(0x00a3);
    /// Request Refused - No Authorization (RFC 5061).
    pub const NO_AUTHORIZATION: Self = Self(0x00a4);
    /// Unsupported HMAC Identifier (RFC 4895).
    pub const UNSUPPORTED_HMAC_IDENTIFIER: Self = Self(0x0105);

    const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::INVALID_STREAM_IDENTIFIER => "Invalid Stream Identifier",
            Self::MISSING_MANDATORY_PARAMETER => "Missing Mandatory Parameter",
            Self::STALE_COOKIE => "Stale Cookie",
            Self::OUT_OF_RESOURCE => "Out of Resource",
            Self::UNRESOLVABLE_ADDRESS => "Unresolvable Address",
            Self::UNRECOGNIZED_CHUNK_TYPE => "Unrecognized Chunk Type",
            Self::INVALID_MANDATORY_PARAMETER => "Invalid Mandatory Parameter",
            Self::UNRECOGNIZED_PARAMETERS => "Unrecognized Parameters",
            Self::NO_USER_DATA => "No User Data",
            Self::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN => "Cookie Received While Shutting Down",
            Self::RESTART_WITH_NEW_ADDRESSES => "Restart of an Association with New Addresses",
            Self::USER_INITIATED_ABORT => "User-Initiated Abort",
            Self::PROTOCOL_VIOLATION => "Protocol Violation",
            Self::NEW_ENCAPSULATION_PORT => "Restart of an Association with New Encapsulation Port",
            Self::MISSING_DTLS_CHUNK_SUPPORT => "Missing DTLS Chunk Support",
            Self::NO_COMMON_DTLS_KEY_MANAGEMENT => "No Common DTLS Key Management Method",
            Self::DTLS_TIE_BREAKER_COLLISION => "DTLS Key Management Tie Breaker Collision",
            Self::INCOMPATIBLE_DTLS_ROLES => "Incompatible DTLS Key Management Roles",
            Self::DELETE_LAST_IP_ADDRESS => "Request to Delete Last Remaining IP Address",
            Self::RESOURCE_SHORTAGE => "Operation Refused Due to Resource Shortage",
            Self::DELETE_SOURCE_IP_ADDRESS => "Request to Delete Source IP Address",
            Self::ILLEGAL_ASCONF_ACK => "Association Aborted Due to Illegal ASCONF-ACK",
            Self::NO_AUTHORIZATION => "Request Refused - No Authorization",
            Self::UNSUPPORTED_HMAC_IDENTIFIER => "Unsupported HMAC Identifier",
            _ => return None,
        })
    }
}

impl fmt::Display for CauseCode {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "code {}", self.0),
        }
    }
}
