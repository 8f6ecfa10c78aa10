//! [`Parameter`]: the optional part of INIT and INIT ACK, the Heartbeat Info, and what ASCONF,
//! ASCONF-ACK and RE-CONFIG consist of.

mod add_streams;
pub(crate) mod address;
mod asconf;
mod authentication;
mod cookie;
mod dtls_key_management;
mod extension;
mod heartbeat_info;
mod incoming_ssn_reset;
mod key_salt;
mod outgoing_ssn_reset;
mod padding;
mod reconfiguration_response;
mod ssn_tsn_reset;
mod unknown;
mod unrecognized_parameter;
mod zero_checksum;

use std::fmt;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

pub use add_streams::AddStreamsRequest;
pub use dtls_key_management::DtlsKeyManagement;
pub use incoming_ssn_reset::IncomingSsnResetRequest;
pub use key_salt::SALT_LEN;
pub use outgoing_ssn_reset::OutgoingSsnResetRequest;
pub use reconfiguration_response::{ReconfigurationResponse, ReconfigurationResult};
pub use unknown::UnknownParameter;
pub use zero_checksum::ErrorDetectionMethod;

use crate::tlv::{self, Tlv};
use crate::{ChunkType, DecodeError, ErrorCauses, HmacIdentifier, Items, ParameterType, StreamId};

/// A parameter of any type.
///
/// RFC 9260 section 3.2.1:
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |        Parameter Type         |       Parameter Length        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                        Parameter Value                        /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Parameter<'a> {
    /// Heartbeat Info: what only the sender of a HEARTBEAT understands.
    HeartbeatInfo(&'a [u8]),
    /// IPv4 Address of the sender.
    Ipv4Address(Ipv4Addr),
    /// IPv6 Address of the sender.
    Ipv6Address(Ipv6Addr),
    /// State Cookie: what the sender of an INIT ACK wants returned.
    StateCookie(&'a [u8]),
    /// Unrecognized Parameter: a parameter of the INIT, whole, that its receiver did not know.
    UnrecognizedParameter(&'a [u8]),
    /// Cookie Preservative: asks for a cookie that lives longer.
    CookiePreservative {
        /// Suggested Cookie Life-Span Increment, in milliseconds.
        increment_ms: u32,
    },
    /// Host Name Address: deprecated, and a reason to abort.
    HostNameAddress(&'a [u8]),
    /// Supported Address Types: the address parameters that the sender can use.
    SupportedAddressTypes(Items<'a, ParameterType>),
    /// Outgoing SSN Reset Request (RFC 6525).
    OutgoingSsnResetRequest(OutgoingSsnResetRequest<'a>),
    /// Incoming SSN Reset Request (RFC 6525).
    IncomingSsnResetRequest(IncomingSsnResetRequest<'a>),
    /// SSN/TSN Reset Request (RFC 6525): begins all numbers of both directions anew.
    SsnTsnResetRequest {
        /// The request's place among those of its sender.
        request_sequence_number: u32,
    },
    /// Re-configuration Response (RFC 6525).
    ReconfigurationResponse(ReconfigurationResponse),
    /// Add Outgoing Streams Request (RFC 6525).
    AddOutgoingStreamsRequest(AddStreamsRequest),
    /// Add Incoming Streams Request (RFC 6525).
    AddIncomingStreamsRequest(AddStreamsRequest),
    /// Reserved for ECN Capable.
    EcnCapable,
    /// Zero Checksum Acceptable (RFC 9653): the sender takes packets with a checksum of zero where
    /// this method finds errors.
    ZeroChecksumAcceptable(ErrorDetectionMethod),
    /// Random (RFC 4895): the sender's part of the keys.
    Random(&'a [u8]),
    /// Chunk List (RFC 4895): the chunks that the sender takes authenticated only.
    ChunkList(Items<'a, ChunkType>),
    /// Requested HMAC Algorithm (RFC 4895): what the sender can verify, the best first.
    HmacAlgorithms(Items<'a, HmacIdentifier>),
    /// Padding (RFC 4820): bytes that mean nothing, in an INIT only.
    Padding(&'a [u8]),
    /// DTLS Key Management (draft-ietf-tsvwg-sctp-dtls-chunk).
    DtlsKeyManagement(DtlsKeyManagement<'a>),
    /// Supported Extensions (RFC 5061): chunks of other RFCs that the sender knows.
    SupportedExtensions(Items<'a, ChunkType>),
    /// CMT-Delayed-Ack-Supported: the sender delays SACKs of reordered data too, and counts packets
    /// in them (DAC of Iyengar 2006, section V).
    CmtDelayedAckSupported,
    /// Spaced-SACKs-Supported: our own. The sender takes SACKs that are spaced in time, and spaces
    /// its own towards a peer that announces the same.
    SpacedSacksSupported,
    /// Level-Marks-Supported: our own. The sender reads [`Level`](crate::Level)s in the flags of
    /// DATA and I-DATA chunks, and writes them towards a peer that announces the same.
    LevelMarksSupported,
    /// Key Salt: what a listener made its keys with, in an INIT ACK.
    KeySalt([u8; SALT_LEN]),
    /// Forward-TSN-Supported (RFC 3758).
    ForwardTsnSupported,
    /// Add IP Address (RFC 5061): the sender has one more.
    AddIpAddress {
        /// Returned with the response.
        correlation_id: u32,
        /// All zeros: the one that the packet came from.
        address: IpAddr,
    },
    /// Delete IP Address (RFC 5061): the sender has it no more.
    DeleteIpAddress {
        /// Returned with the response.
        correlation_id: u32,
        /// All zeros: all but the one that the packet came from.
        address: IpAddr,
    },
    /// Error Cause Indication (RFC 5061): why a request was refused.
    ErrorCauseIndication {
        /// Which request.
        correlation_id: u32,
        /// Why.
        causes: ErrorCauses<'a>,
    },
    /// Set Primary Address (RFC 5061): where the sender would like to get data.
    SetPrimaryAddress {
        /// Returned with the response.
        correlation_id: u32,
        /// All zeros: the one that the packet came from.
        address: IpAddr,
    },
    /// Success Indication (RFC 5061): a request was met.
    SuccessIndication {
        /// Which request.
        correlation_id: u32,
    },
    /// Adaptation Layer Indication (RFC 5061), for the user above.
    AdaptationLayerIndication {
        /// What the user above speaks.
        code_point: u32,
    },
    /// A parameter of a type that this crate does not know.
    Unknown(UnknownParameter<'a>),
}

impl<'a> Parameter<'a> {
    fn decode(tlv: Tlv<'a>) -> Result<Self, DecodeError> {
        Ok(match ParameterType(tlv.ty) {
            ParameterType::HEARTBEAT_INFO => Self::HeartbeatInfo(tlv.value),
            ParameterType::IPV4_ADDRESS => Self::Ipv4Address(address::decode_ipv4(tlv)?),
            ParameterType::IPV6_ADDRESS => Self::Ipv6Address(address::decode_ipv6(tlv)?),
            ParameterType::STATE_COOKIE => Self::StateCookie(tlv.value),
            ParameterType::UNRECOGNIZED_PARAMETER => Self::UnrecognizedParameter(tlv.value),
            ParameterType::COOKIE_PRESERVATIVE => {
                Self::CookiePreservative { increment_ms: cookie::decode_preservative(tlv)? }
            }
            ParameterType::HOST_NAME_ADDRESS => Self::HostNameAddress(tlv.value),
            ParameterType::SUPPORTED_ADDRESS_TYPES => {
                Self::SupportedAddressTypes(address::decode_supported_types(tlv)?)
            }
            ParameterType::OUTGOING_SSN_RESET_REQUEST => {
                Self::OutgoingSsnResetRequest(OutgoingSsnResetRequest::decode(tlv)?)
            }
            ParameterType::INCOMING_SSN_RESET_REQUEST => {
                Self::IncomingSsnResetRequest(IncomingSsnResetRequest::decode(tlv)?)
            }
            ParameterType::SSN_TSN_RESET_REQUEST => {
                Self::SsnTsnResetRequest { request_sequence_number: ssn_tsn_reset::decode(tlv)? }
            }
            ParameterType::RECONFIGURATION_RESPONSE => {
                Self::ReconfigurationResponse(ReconfigurationResponse::decode(tlv)?)
            }
            ParameterType::ADD_OUTGOING_STREAMS_REQUEST => {
                Self::AddOutgoingStreamsRequest(AddStreamsRequest::decode(tlv)?)
            }
            ParameterType::ADD_INCOMING_STREAMS_REQUEST => {
                Self::AddIncomingStreamsRequest(AddStreamsRequest::decode(tlv)?)
            }
            ParameterType::ECN_CAPABLE => {
                extension::decode_flag(tlv)?;
                Self::EcnCapable
            }
            ParameterType::ZERO_CHECKSUM_ACCEPTABLE => {
                Self::ZeroChecksumAcceptable(zero_checksum::decode(tlv)?)
            }
            ParameterType::RANDOM => Self::Random(tlv.value),
            ParameterType::CHUNKS => Self::ChunkList(extension::decode_chunk_types(tlv)),
            ParameterType::HMAC_ALGO => {
                Self::HmacAlgorithms(authentication::decode_algorithms(tlv)?)
            }
            ParameterType::PADDING => Self::Padding(tlv.value),
            ParameterType::DTLS_KEY_MANAGEMENT => {
                Self::DtlsKeyManagement(DtlsKeyManagement::decode(tlv)?)
            }
            ParameterType::SUPPORTED_EXTENSIONS => {
                Self::SupportedExtensions(extension::decode_chunk_types(tlv))
            }
            ParameterType::CMT_DELAYED_ACK_SUPPORTED => {
                extension::decode_flag(tlv)?;
                Self::CmtDelayedAckSupported
            }
            ParameterType::SPACED_SACKS_SUPPORTED => {
                extension::decode_flag(tlv)?;
                Self::SpacedSacksSupported
            }
            ParameterType::LEVEL_MARKS_SUPPORTED => {
                extension::decode_flag(tlv)?;
                Self::LevelMarksSupported
            }
            ParameterType::KEY_SALT => Self::KeySalt(fixed_value(tlv)?),
            ParameterType::FORWARD_TSN_SUPPORTED => {
                extension::decode_flag(tlv)?;
                Self::ForwardTsnSupported
            }
            ParameterType::ADD_IP_ADDRESS
            | ParameterType::DELETE_IP_ADDRESS
            | ParameterType::ERROR_CAUSE_INDICATION
            | ParameterType::SET_PRIMARY_ADDRESS
            | ParameterType::SUCCESS_INDICATION
            | ParameterType::ADAPTATION_LAYER_INDICATION => Self::decode_reconfiguration(tlv)?,
            _ => Self::Unknown(UnknownParameter::decode(tlv)),
        })
    }

    fn decode_reconfiguration(tlv: Tlv<'a>) -> Result<Self, DecodeError> {
        Ok(match ParameterType(tlv.ty) {
            ParameterType::ADD_IP_ADDRESS => {
                let (correlation_id, address) = asconf::decode_request(tlv)?;
                Self::AddIpAddress { correlation_id, address }
            }
            ParameterType::DELETE_IP_ADDRESS => {
                let (correlation_id, address) = asconf::decode_request(tlv)?;
                Self::DeleteIpAddress { correlation_id, address }
            }
            ParameterType::SET_PRIMARY_ADDRESS => {
                let (correlation_id, address) = asconf::decode_request(tlv)?;
                Self::SetPrimaryAddress { correlation_id, address }
            }
            ParameterType::ERROR_CAUSE_INDICATION => {
                let (correlation_id, causes) = asconf::decode_failure(tlv)?;
                Self::ErrorCauseIndication { correlation_id, causes }
            }
            ParameterType::SUCCESS_INDICATION => {
                Self::SuccessIndication { correlation_id: asconf::decode_number(tlv)? }
            }
            _ => Self::AdaptationLayerIndication { code_point: asconf::decode_number(tlv)? },
        })
    }

    /// Appends the parameter and its padding.
    ///
    /// # Panics
    ///
    /// If the parameter is longer than its 16-bit length field can say.
    pub fn encode(&self, buf: &mut Vec<u8>) {
        let ty = self.ty().0;
        match self {
            Self::HeartbeatInfo(value)
            | Self::StateCookie(value)
            | Self::UnrecognizedParameter(value)
            | Self::HostNameAddress(value)
            | Self::Random(value)
            | Self::Padding(value) => tlv::encode(buf, ty, value),
            Self::ChunkList(types) | Self::SupportedExtensions(types) => {
                extension::encode_chunk_types(ty, types, buf);
            }
            Self::HmacAlgorithms(identifiers) => {
                authentication::encode_algorithms(identifiers, buf);
            }
            Self::Ipv4Address(address) => tlv::encode(buf, ty, &address.octets()),
            Self::Ipv6Address(address) => tlv::encode(buf, ty, &address.octets()),
            Self::CookiePreservative { increment_ms } => {
                tlv::encode(buf, ty, &increment_ms.to_be_bytes());
            }
            Self::KeySalt(salt) => tlv::encode(buf, ty, salt),
            Self::ZeroChecksumAcceptable(method) => tlv::encode(buf, ty, &method.0.to_be_bytes()),
            Self::SupportedAddressTypes(types) => address::encode_supported_types(types, buf),
            Self::DtlsKeyManagement(offer) => offer.encode(buf),
            Self::OutgoingSsnResetRequest(request) => request.encode(buf),
            Self::IncomingSsnResetRequest(request) => request.encode(buf),
            Self::SsnTsnResetRequest { request_sequence_number } => {
                tlv::encode(buf, ty, &request_sequence_number.to_be_bytes());
            }
            Self::ReconfigurationResponse(response) => response.encode(buf),
            Self::AddOutgoingStreamsRequest(request) | Self::AddIncomingStreamsRequest(request) => {
                request.encode(self.ty(), buf);
            }
            Self::EcnCapable
            | Self::CmtDelayedAckSupported
            | Self::SpacedSacksSupported
            | Self::LevelMarksSupported
            | Self::ForwardTsnSupported => {
                tlv::encode(buf, ty, &[]);
            }
            Self::AddIpAddress { correlation_id, address }
            | Self::DeleteIpAddress { correlation_id, address }
            | Self::SetPrimaryAddress { correlation_id, address } => {
                asconf::encode_request(ty, *correlation_id, *address, buf);
            }
            Self::ErrorCauseIndication { correlation_id, causes } => {
                asconf::encode_failure(*correlation_id, *causes, buf);
            }
            Self::SuccessIndication { correlation_id: number }
            | Self::AdaptationLayerIndication { code_point: number } => {
                tlv::encode(buf, ty, &number.to_be_bytes());
            }
            Self::Unknown(parameter) => tlv::encode(buf, ty, parameter.value),
        }
    }

    /// The parameter's type, whose `Display` is its name in the RFC.
    #[must_use]
    pub const fn ty(&self) -> ParameterType {
        match self {
            Self::HeartbeatInfo(_) => ParameterType::HEARTBEAT_INFO,
            Self::Ipv4Address(_) => ParameterType::IPV4_ADDRESS,
            Self::Ipv6Address(_) => ParameterType::IPV6_ADDRESS,
            Self::StateCookie(_) => ParameterType::STATE_COOKIE,
            Self::UnrecognizedParameter(_) => ParameterType::UNRECOGNIZED_PARAMETER,
            Self::CookiePreservative { .. } => ParameterType::COOKIE_PRESERVATIVE,
            Self::HostNameAddress(_) => ParameterType::HOST_NAME_ADDRESS,
            Self::SupportedAddressTypes(_) => ParameterType::SUPPORTED_ADDRESS_TYPES,
            Self::OutgoingSsnResetRequest(_) => ParameterType::OUTGOING_SSN_RESET_REQUEST,
            Self::IncomingSsnResetRequest(_) => ParameterType::INCOMING_SSN_RESET_REQUEST,
            Self::SsnTsnResetRequest { .. } => ParameterType::SSN_TSN_RESET_REQUEST,
            Self::ReconfigurationResponse(_) => ParameterType::RECONFIGURATION_RESPONSE,
            Self::AddOutgoingStreamsRequest(_) => ParameterType::ADD_OUTGOING_STREAMS_REQUEST,
            Self::AddIncomingStreamsRequest(_) => ParameterType::ADD_INCOMING_STREAMS_REQUEST,
            Self::EcnCapable => ParameterType::ECN_CAPABLE,
            Self::ZeroChecksumAcceptable(_) => ParameterType::ZERO_CHECKSUM_ACCEPTABLE,
            Self::Random(_) => ParameterType::RANDOM,
            Self::ChunkList(_) => ParameterType::CHUNKS,
            Self::HmacAlgorithms(_) => ParameterType::HMAC_ALGO,
            Self::Padding(_) => ParameterType::PADDING,
            Self::DtlsKeyManagement(_) => ParameterType::DTLS_KEY_MANAGEMENT,
            Self::SupportedExtensions(_) => ParameterType::SUPPORTED_EXTENSIONS,
            Self::CmtDelayedAckSupported => ParameterType::CMT_DELAYED_ACK_SUPPORTED,
            Self::SpacedSacksSupported => ParameterType::SPACED_SACKS_SUPPORTED,
            Self::LevelMarksSupported => ParameterType::LEVEL_MARKS_SUPPORTED,
            Self::KeySalt(_) => ParameterType::KEY_SALT,
            Self::ForwardTsnSupported => ParameterType::FORWARD_TSN_SUPPORTED,
            Self::AddIpAddress { .. } => ParameterType::ADD_IP_ADDRESS,
            Self::DeleteIpAddress { .. } => ParameterType::DELETE_IP_ADDRESS,
            Self::ErrorCauseIndication { .. } => ParameterType::ERROR_CAUSE_INDICATION,
            Self::SetPrimaryAddress { .. } => ParameterType::SET_PRIMARY_ADDRESS,
            Self::SuccessIndication { .. } => ParameterType::SUCCESS_INDICATION,
            Self::AdaptationLayerIndication { .. } => ParameterType::ADAPTATION_LAYER_INDICATION,
            Self::Unknown(parameter) => parameter.ty,
        }
    }
}

/// The parameters of a chunk, read one at a time.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Parameters<'a>(&'a [u8]);

impl<'a> Parameters<'a> {
    /// The parameters in `bytes`, each one padded as [`Parameter::encode`] does; the last one may
    /// lack its padding.
    #[must_use]
    pub fn from_bytes(bytes: &'a [u8]) -> Self {
        // RFC 9260 section 3.2: "The Chunk Length field does not count any chunk padding.
        // However, it does include any padding of variable-length parameters other than the last
        // parameter in the chunk." and "A robust implementation is expected to accept the chunk
        // whether or not the final padding has been included in the Chunk Length."
        Self(tlv::trim_final_padding(bytes))
    }

    /// The parameters in order; nothing follows an error.
    #[must_use]
    pub const fn iter(&self) -> ParametersIter<'a> {
        ParametersIter { rest: self.0 }
    }

    /// The bytes of the parameters, without the padding of the last one.
    pub(crate) const fn as_bytes(&self) -> &'a [u8] {
        self.0
    }
}

impl<'a> IntoIterator for Parameters<'a> {
    type Item = Result<Parameter<'a>, DecodeError>;
    type IntoIter = ParametersIter<'a>;

    fn into_iter(self) -> ParametersIter<'a> {
        self.iter()
    }
}

impl<'a> IntoIterator for &Parameters<'a> {
    type Item = Result<Parameter<'a>, DecodeError>;
    type IntoIter = ParametersIter<'a>;

    fn into_iter(self) -> ParametersIter<'a> {
        self.iter()
    }
}

impl fmt::Debug for Parameters<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}

/// Iterates over [`Parameters`]; ends after the first error.
#[derive(Debug, Clone)]
pub struct ParametersIter<'a> {
    rest: &'a [u8],
}

impl<'a> Iterator for ParametersIter<'a> {
    type Item = Result<Parameter<'a>, DecodeError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let split = tlv::split_first(self.rest).map_err(DecodeError::in_parameter);
        let parameter = split.and_then(|(tlv, rest)| {
            self.rest = rest;
            Parameter::decode(tlv)
        });
        if parameter.is_err() {
            self.rest = &[];
        }
        Some(parameter)
    }
}

/// The value of a parameter that has `N` bytes and no other length.
fn fixed_value<const N: usize>(tlv: Tlv<'_>) -> Result<[u8; N], DecodeError> {
    tlv.value.try_into().map_err(|_| DecodeError::ParameterLengthWrong {
        ty: ParameterType(tlv.ty),
        len: tlv.bytes.len(),
        expected: tlv::HEADER_LEN + N,
    })
}

/// Splits the `N` bytes of fixed fields from the value.
fn split_fixed<const N: usize>(tlv: Tlv<'_>) -> Result<(&[u8; N], &[u8]), DecodeError> {
    tlv.value.split_first_chunk().ok_or(DecodeError::ParameterTooShort {
        ty: ParameterType(tlv.ty),
        len: tlv.bytes.len(),
        min: tlv::HEADER_LEN + N,
    })
}

/// The stream numbers that stand behind the fixed fields.
fn decode_streams<'a>(tlv: Tlv<'a>, streams: &'a [u8]) -> Result<Items<'a, StreamId>, DecodeError> {
    let (streams, []) = streams.as_chunks::<2>() else {
        let (ty, len) = (ParameterType(tlv.ty), tlv.bytes.len());
        return Err(DecodeError::StreamNumbersLengthOdd { ty, len });
    };
    Ok(Items::from_wire(streams))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::hex;

    #[test]
    fn nothing_follows_a_broken_parameter() {
        let ty = ParameterType::STATE_COOKIE;
        for (second, error) in [
            ("0007", DecodeError::ParameterHeaderTruncated { len: 2 }),
            ("00070003 80000004", DecodeError::ParameterLengthBelowHeader { ty, len: 3 }),
            ("00070009 80000004", DecodeError::ParameterBeyondChunk { ty, len: 9, available: 8 }),
        ] {
            let bytes = hex(&format!("c0000004 {second}"));
            let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
            assert_eq!(parameters, [Ok(Parameter::ForwardTsnSupported), Err(error)]);
        }
    }

    #[test]
    fn the_final_padding_makes_no_difference() {
        let padded = hex("80000004 00070005 2a000000");
        let (unpadded, _padding) = padded.split_at(9);
        assert_eq!(Parameters::from_bytes(&padded), Parameters::from_bytes(unpadded));
        assert_eq!(Parameters::from_bytes(&padded).as_bytes(), unpadded);
    }

    #[test]
    fn a_parameter_is_told_by_its_type() {
        assert_eq!(Parameter::EcnCapable.ty().to_string(), "ECN Capable");
        assert_eq!(ParameterType(0x8009).to_string(), "type 0x8009");
    }
}
