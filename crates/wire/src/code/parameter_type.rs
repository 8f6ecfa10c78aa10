//! [`ParameterType`]: the first two bytes of a parameter.

use std::fmt;

use crate::items::sealed;

/// The type of a parameter. Displays as its name in the RFC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ParameterType(pub u16);

impl ParameterType {
    /// Heartbeat Info.
    pub const HEARTBEAT_INFO: Self = Self(1);
    /// IPv4 Address.
    pub const IPV4_ADDRESS: Self = Self(5);
    /// IPv6 Address.
    pub const IPV6_ADDRESS: Self = Self(6);
    /// State Cookie.
    pub const STATE_COOKIE: Self = Self(7);
    /// Unrecognized Parameter.
    pub const UNRECOGNIZED_PARAMETER: Self = Self(8);
    /// Cookie Preservative.
    pub const COOKIE_PRESERVATIVE: Self = Self(9);
    /// Host Name Address.
    pub const HOST_NAME_ADDRESS: Self = Self(11);
    /// Supported Address Types.
    pub const SUPPORTED_ADDRESS_TYPES: Self = Self(12);
    /// Outgoing SSN Reset Request (RFC 6525).
    pub const OUTGOING_SSN_RESET_REQUEST: Self = Self(13);
    /// Incoming SSN Reset Request (RFC 6525).
    pub const INCOMING_SSN_RESET_REQUEST: Self = Self(14);
    /// SSN/TSN Reset Request (RFC 6525).
    pub const SSN_TSN_RESET_REQUEST: Self = Self(15);
    /// Re-configuration Response (RFC 6525).
    pub const RECONFIGURATION_RESPONSE: Self = Self(16);
    /// Add Outgoing Streams Request (RFC 6525).
    pub const ADD_OUTGOING_STREAMS_REQUEST: Self = Self(17);
    /// Add Incoming Streams Request (RFC 6525).
    pub const ADD_INCOMING_STREAMS_REQUEST: Self = Self(18);
    /// Reserved for ECN Capable.
    pub const ECN_CAPABLE: Self = Self(0x8000);
    /// Zero Checksum Acceptable (RFC 9653).
    pub const ZERO_CHECKSUM_ACCEPTABLE: Self = Self(0x8001);
    /// Random (RFC 4895).
    pub const RANDOM: Self = Self(0x8002);
    /// Chunk List (RFC 4895).
    pub const CHUNKS: Self = Self(0x8003);
    /// Requested HMAC Algorithm (RFC 4895).
    pub const HMAC_ALGO: Self = Self(0x8004);
    /// Padding (RFC 4820).
    pub const PADDING: Self = Self(0x8005);
    /// DTLS Key Management (draft-ietf-tsvwg-sctp-dtls-chunk).
    pub const DTLS_KEY_MANAGEMENT: Self = Self(0x8006);
    /// Supported Extensions (RFC 5061).
    pub const SUPPORTED_EXTENSIONS: Self = Self(0x8008);
    /// CMT-Delayed-Ack-Supported: our own, of a type that IANA has given to nobody. Its upper bits,
    /// 10, have a peer that does not know it skip it without a word (RFC 9260 section 3.2.1).
    pub const CMT_DELAYED_ACK_SUPPORTED: Self = Self(0xbdac);
    /// Spaced-SACKs-Supported: our own, likewise.
    pub const SPACED_SACKS_SUPPORTED: Self = Self(0xbdad);
    /// Key Salt: our own likewise, and skipped likewise.
    pub const KEY_SALT: Self = Self(0xbdae);
    /// Level-Marks-Supported: our own likewise, and skipped likewise.
    pub const LEVEL_MARKS_SUPPORTED: Self = Self(0xbdaf);
    /// Forward-TSN-Supported (RFC 3758).
    pub const FORWARD_TSN_SUPPORTED: Self = Self(0xc000);
    /// Add IP Address (RFC 5061).
    pub const ADD_IP_ADDRESS: Self = Self(0xc001);
    /// Delete IP Address (RFC 5061).
    pub const DELETE_IP_ADDRESS: Self = Self(0xc002);
    /// Error Cause Indication (RFC 5061).
    pub const ERROR_CAUSE_INDICATION: Self = Self(0xc003);
    /// Set Primary Address (RFC 5061).
    pub const SET_PRIMARY_ADDRESS: Self = Self(0xc004);
    /// Success Indication (RFC 5061).
    pub const SUCCESS_INDICATION: Self = Self(0xc005);
    /// Adaptation Layer Indication (RFC 5061).
    pub const ADAPTATION_LAYER_INDICATION: Self = Self(0xc006);

    const fn name(self) -> Option<&'static str> {
        Some(match self {
            Self::HEARTBEAT_INFO => "Heartbeat Info",
            Self::IPV4_ADDRESS => "IPv4 Address",
            Self::IPV6_ADDRESS => "IPv6 Address",
            Self::STATE_COOKIE => "State Cookie",
            Self::UNRECOGNIZED_PARAMETER => "Unrecognized Parameter",
            Self::COOKIE_PRESERVATIVE => "Cookie Preservative",
            Self::HOST_NAME_ADDRESS => "Host Name Address",
            Self::SUPPORTED_ADDRESS_TYPES => "Supported Address Types",
            Self::OUTGOING_SSN_RESET_REQUEST => "Outgoing SSN Reset Request",
            Self::INCOMING_SSN_RESET_REQUEST => "Incoming SSN Reset Request",
            Self::SSN_TSN_RESET_REQUEST => "SSN/TSN Reset Request",
            Self::RECONFIGURATION_RESPONSE => "Re-configuration Response",
            Self::ADD_OUTGOING_STREAMS_REQUEST => "Add Outgoing Streams Request",
            Self::ADD_INCOMING_STREAMS_REQUEST => "Add Incoming Streams Request",
            Self::ECN_CAPABLE => "ECN Capable",
            Self::ZERO_CHECKSUM_ACCEPTABLE => "Zero Checksum Acceptable",
            Self::RANDOM => "Random",
            Self::CHUNKS => "Chunk List",
            Self::HMAC_ALGO => "Requested HMAC Algorithm",
            Self::PADDING => "Padding",
            Self::DTLS_KEY_MANAGEMENT => "DTLS Key Management",
            Self::SUPPORTED_EXTENSIONS => "Supported Extensions",
            Self::CMT_DELAYED_ACK_SUPPORTED => "CMT-Delayed-Ack-Supported",
            Self::SPACED_SACKS_SUPPORTED => "Spaced-SACKs-Supported",
            Self::KEY_SALT => "Key Salt",
            Self::LEVEL_MARKS_SUPPORTED => "Level-Marks-Supported",
            Self::FORWARD_TSN_SUPPORTED => "Forward-TSN-Supported",
            Self::ADD_IP_ADDRESS => "Add IP Address",
            Self::DELETE_IP_ADDRESS => "Delete IP Address",
            Self::ERROR_CAUSE_INDICATION => "Error Cause Indication",
            Self::SET_PRIMARY_ADDRESS => "Set Primary Address",
            Self::SUCCESS_INDICATION => "Success Indication",
            Self::ADAPTATION_LAYER_INDICATION => "Adaptation Layer Indication",
            _ => return None,
        })
    }
}

impl fmt::Display for ParameterType {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.name() {
            Some(name) => f.pad(name),
            None => write!(f, "type {:#06x}", self.0),
        }
    }
}

impl sealed::Item for ParameterType {
    type Wire = [u8; 2];

    fn from_wire(wire: [u8; 2]) -> Self {
        Self(u16::from_be_bytes(wire))
    }

    fn to_wire(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }
}
