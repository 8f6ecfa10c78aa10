//! [`ErrorCause`]: why an ABORT or an ERROR was sent.

mod abort;
mod address;
mod asconf;
mod authentication;
mod handshake;
mod stream;
mod unrecognized;

use std::fmt;

use crate::tlv::{self, Tlv};
use crate::{CauseCode, DecodeError, HmacIdentifier, Items, ParameterType, StreamId, Tsn};

/// An error cause of any code. Displays in plain words.
///
/// RFC 9260 section 3.3.10:
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |          Cause Code           |         Cause Length          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// /                  Cause-Specific Information                   /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ErrorCause<'a> {
    /// A DATA chunk on a stream that does not exist.
    InvalidStreamIdentifier {
        /// The stream it named.
        stream: StreamId,
    },
    /// An INIT or INIT ACK without a parameter it must have.
    MissingMandatoryParameter {
        /// The types of the parameters that are missing.
        missing: Items<'a, ParameterType>,
    },
    /// A State Cookie that has expired.
    StaleCookie {
        /// How long ago, in microseconds; 0 if the sender does not say.
        measure_us: u32,
    },
    /// The sender has no room for the association.
    OutOfResource,
    /// An address parameter, whole, that the sender cannot use.
    UnresolvableAddress(&'a [u8]),
    /// A chunk, whole, of a type that the sender does not know.
    UnrecognizedChunkType(&'a [u8]),
    /// A fixed field of an INIT or INIT ACK with a forbidden value.
    InvalidMandatoryParameter,
    /// Parameters of an INIT ACK, whole, that the sender does not know.
    UnrecognizedParameters(&'a [u8]),
    /// A DATA chunk without user data.
    NoUserData {
        /// The chunk's TSN.
        tsn: Tsn,
    },
    /// A COOKIE ECHO while the association shuts down.
    CookieReceivedWhileShuttingDown,
    /// An INIT on an existing association with addresses that were not part of it, as whole
    /// parameters.
    RestartWithNewAddresses(&'a [u8]),
    /// The upper layer asked for the abort; its reason.
    UserInitiatedAbort(&'a [u8]),
    /// Another rule was broken; more about it, in the sender's form.
    ProtocolViolation(&'a [u8]),
    /// An INIT on an existing association from another UDP encapsulation port.
    NewEncapsulationPort {
        /// The port that the association uses.
        current: u16,
        /// The port that the INIT came from.
        new: u16,
    },
    /// An INIT or INIT ACK that does not offer the DTLS chunk, which its receiver demands.
    MissingDtlsChunkSupport,
    /// Both ends know the DTLS chunk, but no common way to agree on keys.
    NoCommonDtlsKeyManagement,
    /// Both ends drew the same tie breaker.
    DtlsTieBreakerCollision,
    /// Both ends can only be client, or only server, where keys are agreed on.
    IncompatibleDtlsRoles,
    /// A request, whole, to delete the sender's last address.
    DeleteLastRemainingIpAddress(&'a [u8]),
    /// A request, whole, for which the sender of the cause has no room.
    ResourceShortage(&'a [u8]),
    /// A request, whole, to delete the address that it came from.
    DeleteSourceIpAddress(&'a [u8]),
    /// An ASCONF-ACK for an ASCONF that was never sent.
    IllegalAsconfAck,
    /// A request, whole, that is not allowed; nothing where an association was asked for.
    NoAuthorization(&'a [u8]),
    /// An AUTH chunk by an algorithm that the sender does not know.
    UnsupportedHmacIdentifier {
        /// The algorithm.
        hmac_identifier: HmacIdentifier,
    },
    /// A cause that this crate does not know.
    Unknown {
        /// Its code.
        code: CauseCode,
        /// Its Cause-Specific Information.
        value: &'a [u8],
    },
}

impl<'a> ErrorCause<'a> {
    fn decode(tlv: Tlv<'a>) -> Result<Self, DecodeError> {
        Ok(match CauseCode(tlv.ty) {
            CauseCode::INVALID_STREAM_IDENTIFIER => {
                Self::InvalidStreamIdentifier { stream: stream::decode_invalid_stream(tlv)? }
            }
            CauseCode::MISSING_MANDATORY_PARAMETER => {
                Self::MissingMandatoryParameter { missing: handshake::decode_missing(tlv)? }
            }
            CauseCode::STALE_COOKIE => {
                Self::StaleCookie { measure_us: handshake::decode_stale_cookie(tlv)? }
            }
            CauseCode::OUT_OF_RESOURCE => plain(tlv, Self::OutOfResource)?,
            CauseCode::UNRESOLVABLE_ADDRESS => Self::UnresolvableAddress(tlv.value),
            CauseCode::UNRECOGNIZED_CHUNK_TYPE => Self::UnrecognizedChunkType(tlv.value),
            CauseCode::INVALID_MANDATORY_PARAMETER => plain(tlv, Self::InvalidMandatoryParameter)?,
            CauseCode::UNRECOGNIZED_PARAMETERS => Self::UnrecognizedParameters(tlv.value),
            CauseCode::NO_USER_DATA => Self::NoUserData { tsn: stream::decode_no_user_data(tlv)? },
            CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN => {
                plain(tlv, Self::CookieReceivedWhileShuttingDown)?
            }
            CauseCode::RESTART_WITH_NEW_ADDRESSES => Self::RestartWithNewAddresses(tlv.value),
            CauseCode::USER_INITIATED_ABORT => Self::UserInitiatedAbort(tlv.value),
            CauseCode::PROTOCOL_VIOLATION => Self::ProtocolViolation(tlv.value),
            CauseCode::NEW_ENCAPSULATION_PORT => {
                let (current, new) = address::decode_new_encapsulation_port(tlv)?;
                Self::NewEncapsulationPort { current, new }
            }
            CauseCode::MISSING_DTLS_CHUNK_SUPPORT => plain(tlv, Self::MissingDtlsChunkSupport)?,
            CauseCode::NO_COMMON_DTLS_KEY_MANAGEMENT => {
                plain(tlv, Self::NoCommonDtlsKeyManagement)?
            }
            CauseCode::DTLS_TIE_BREAKER_COLLISION => plain(tlv, Self::DtlsTieBreakerCollision)?,
            CauseCode::INCOMPATIBLE_DTLS_ROLES => plain(tlv, Self::IncompatibleDtlsRoles)?,
            CauseCode::DELETE_LAST_IP_ADDRESS => Self::DeleteLastRemainingIpAddress(tlv.value),
            CauseCode::RESOURCE_SHORTAGE => Self::ResourceShortage(tlv.value),
            CauseCode::DELETE_SOURCE_IP_ADDRESS => Self::DeleteSourceIpAddress(tlv.value),
            CauseCode::ILLEGAL_ASCONF_ACK => plain(tlv, Self::IllegalAsconfAck)?,
            CauseCode::NO_AUTHORIZATION => Self::NoAuthorization(tlv.value),
            CauseCode::UNSUPPORTED_HMAC_IDENTIFIER => Self::UnsupportedHmacIdentifier {
                hmac_identifier: authentication::decode_unsupported(tlv)?,
            },
            code => Self::Unknown { code, value: tlv.value },
        })
    }

    /// Appends the cause and its padding.
    ///
    /// # Panics
    ///
    /// If the cause is longer than its 16-bit length field can say.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        let code = self.code().0;
        match self {
            Self::InvalidStreamIdentifier { stream } => stream::encode_invalid_stream(*stream, buf),
            Self::MissingMandatoryParameter { missing } => handshake::encode_missing(missing, buf),
            Self::StaleCookie { measure_us } => tlv::encode(buf, code, &measure_us.to_be_bytes()),
            Self::NoUserData { tsn } => tlv::encode(buf, code, &tsn.0.to_be_bytes()),
            Self::NewEncapsulationPort { current, new } => {
                address::encode_new_encapsulation_port(*current, *new, buf);
            }
            Self::UnsupportedHmacIdentifier { hmac_identifier } => {
                tlv::encode(buf, code, &hmac_identifier.0.to_be_bytes());
            }
            Self::OutOfResource
            | Self::InvalidMandatoryParameter
            | Self::IllegalAsconfAck
            | Self::MissingDtlsChunkSupport
            | Self::NoCommonDtlsKeyManagement
            | Self::DtlsTieBreakerCollision
            | Self::IncompatibleDtlsRoles
            | Self::CookieReceivedWhileShuttingDown => tlv::encode(buf, code, &[]),
            Self::UnresolvableAddress(value)
            | Self::UnrecognizedChunkType(value)
            | Self::UnrecognizedParameters(value)
            | Self::RestartWithNewAddresses(value)
            | Self::UserInitiatedAbort(value)
            | Self::ProtocolViolation(value)
            | Self::DeleteLastRemainingIpAddress(value)
            | Self::ResourceShortage(value)
            | Self::DeleteSourceIpAddress(value)
            | Self::NoAuthorization(value)
            | Self::Unknown { value, .. } => tlv::encode(buf, code, value),
        }
    }

    /// The cause's code, whose `Display` is its name in the RFC.
    #[must_use]
    pub const fn code(&self) -> CauseCode {
        match self {
            Self::InvalidStreamIdentifier { .. } => CauseCode::INVALID_STREAM_IDENTIFIER,
            Self::MissingMandatoryParameter { .. } => CauseCode::MISSING_MANDATORY_PARAMETER,
            Self::StaleCookie { .. } => CauseCode::STALE_COOKIE,
            Self::OutOfResource => CauseCode::OUT_OF_RESOURCE,
            Self::UnresolvableAddress(_) => CauseCode::UNRESOLVABLE_ADDRESS,
            Self::UnrecognizedChunkType(_) => CauseCode::UNRECOGNIZED_CHUNK_TYPE,
            Self::InvalidMandatoryParameter => CauseCode::INVALID_MANDATORY_PARAMETER,
            Self::UnrecognizedParameters(_) => CauseCode::UNRECOGNIZED_PARAMETERS,
            Self::NoUserData { .. } => CauseCode::NO_USER_DATA,
            Self::CookieReceivedWhileShuttingDown => CauseCode::COOKIE_RECEIVED_WHILE_SHUTTING_DOWN,
            Self::RestartWithNewAddresses(_) => CauseCode::RESTART_WITH_NEW_ADDRESSES,
            Self::UserInitiatedAbort(_) => CauseCode::USER_INITIATED_ABORT,
            Self::ProtocolViolation(_) => CauseCode::PROTOCOL_VIOLATION,
            Self::NewEncapsulationPort { .. } => CauseCode::NEW_ENCAPSULATION_PORT,
            Self::MissingDtlsChunkSupport => CauseCode::MISSING_DTLS_CHUNK_SUPPORT,
            Self::NoCommonDtlsKeyManagement => CauseCode::NO_COMMON_DTLS_KEY_MANAGEMENT,
            Self::DtlsTieBreakerCollision => CauseCode::DTLS_TIE_BREAKER_COLLISION,
            Self::IncompatibleDtlsRoles => CauseCode::INCOMPATIBLE_DTLS_ROLES,
            Self::DeleteLastRemainingIpAddress(_) => CauseCode::DELETE_LAST_IP_ADDRESS,
            Self::ResourceShortage(_) => CauseCode::RESOURCE_SHORTAGE,
            Self::DeleteSourceIpAddress(_) => CauseCode::DELETE_SOURCE_IP_ADDRESS,
            Self::IllegalAsconfAck => CauseCode::ILLEGAL_ASCONF_ACK,
            Self::NoAuthorization(_) => CauseCode::NO_AUTHORIZATION,
            Self::UnsupportedHmacIdentifier { .. } => CauseCode::UNSUPPORTED_HMAC_IDENTIFIER,
            Self::Unknown { code, .. } => *code,
        }
    }
}

/// The error causes of a chunk, read one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct ErrorCauses<'a>(&'a [u8]);

impl<'a> ErrorCauses<'a> {
    /// The causes in `bytes`, each one padded as [`ErrorCause::encode`] does; the last one may
    /// lack its padding.
    #[must_use]
    pub fn from_bytes(bytes: &'a [u8]) -> Self {
        Self(tlv::trim_final_padding(bytes))
    }

    /// The causes in order; nothing follows an error.
    #[must_use]
    pub const fn iter(&self) -> ErrorCausesIter<'a> {
        ErrorCausesIter { rest: self.0 }
    }

    /// The bytes of the causes, without the padding of the last one.
    #[must_use]
    pub const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> IntoIterator for ErrorCauses<'a> {
    type Item = Result<ErrorCause<'a>, DecodeError>;
    type IntoIter = ErrorCausesIter<'a>;

    fn into_iter(self) -> ErrorCausesIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &ErrorCauses<'a> {
    type Item = Result<ErrorCause<'a>, DecodeError>;
    type IntoIter = ErrorCausesIter<'a>;

    fn into_iter(self) -> ErrorCausesIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for ErrorCauses<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Iterates over [`ErrorCauses`]; ends after the first error.
#[derive(Debug, Clone)]
pub struct ErrorCausesIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for ErrorCausesIter<'a> {
    type Item = Result<ErrorCause<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let split = tlv::split_first(self.rest).map_err(DecodeError::in_cause);
        let cause = split.and_then(|(tlv, rest)| {
            self.rest = rest;
            ErrorCause::decode(tlv)
        });
        if cause.is_err() {
            self.rest = &[];
        }
        Some(cause)
    }
}

/// `cause`, which has no Cause-Specific Information.
fn plain<'a>(tlv: Tlv<'_>, cause: ErrorCause<'a>) -> Result<ErrorCause<'a>, DecodeError> {
    fixed_value(tlv).map(|[]| cause)
}

/// The value of a cause that has `N` bytes and no other length.
fn fixed_value<const N: usize>(tlv: Tlv<'_>) -> Result<[u8; N], DecodeError> {
    tlv.value.try_into().map_err(|_| DecodeError::CauseLengthWrong {
        code: CauseCode(tlv.ty),
        len: tlv.bytes.len(),
        expected: tlv::HEADER_LEN + N,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_cause, hex};

    #[test]
    fn an_unknown_cause_is_kept_whole() {
        // User-defined, as in no RFC.
        let cause = ErrorCause::Unknown { code: CauseCode(0x00b4), value: &[0, 3] };
        assert_cause(&hex("00b40006 0003 0000"), cause);
        assert_eq!(cause.code().to_string(), "code 180");
        assert_eq!(ErrorCause::OutOfResource.code().to_string(), "Out of Resource");
    }

    #[test]
    fn the_causes_of_the_dtls_chunk_have_no_content() {
        for (bytes, cause) in [
            ("00640004", ErrorCause::MissingDtlsChunkSupport),
            ("00650004", ErrorCause::NoCommonDtlsKeyManagement),
            ("00660004", ErrorCause::DtlsTieBreakerCollision),
            ("00670004", ErrorCause::IncompatibleDtlsRoles),
        ] {
            assert_cause(&hex(bytes), cause);
        }
    }

    #[test]
    fn nothing_follows_a_broken_cause() {
        let code = CauseCode::PROTOCOL_VIOLATION;
        for (second, error) in [
            ("000d", DecodeError::CauseHeaderTruncated { len: 2 }),
            ("000d0003 00040004", DecodeError::CauseLengthBelowHeader { code, len: 3 }),
            ("000d0009 00040004", DecodeError::CauseBeyondChunk { code, len: 9, available: 8 }),
        ] {
            let bytes = hex(&format!("00040004 {second}"));
            let causes: Vec<_> = ErrorCauses::from_bytes(&bytes).iter().collect();
            assert_eq!(causes, [Ok(ErrorCause::OutOfResource), Err(error)]);
        }
    }
}
