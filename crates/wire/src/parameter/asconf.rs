//! The requests and responses of ASCONF and ASCONF-ACK, and the Adaptation Layer Indication, RFC
//! 5061 section 4.2.
//!
//! Add IP Address (0xC001), Delete IP Address (0xC002) and Set Primary Address (0xC004):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Type = 0xC001          |    Length = Variable          |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |               ASCONF-Request Correlation ID                   |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                       Address Parameter                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Error Cause Indication (0xC003):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Type = 0xC003              |      Length = Variable        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |             ASCONF-Response Correlation ID                    |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |             Error Cause(s) or Success Indication              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Success Indication (0xC005):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Type = 0xC005          |      Length = 8               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |               ASCONF-Response Correlation ID                  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Adaptation Layer Indication (0xC006):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        Type =0xC006           |    Length = 8                 |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                   Adaptation Code point                       |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use std::net::IpAddr;

use super::address;
use crate::ParameterType;
use crate::tlv::{self, Tlv};
use crate::{DecodeError, ErrorCauses};

/// A correlation ID and the address it is about.
pub(super) fn decode_request(tlv: Tlv<'_>) -> Result<(u32, IpAddr), DecodeError> {
    let (correlation_id, rest) = split_id(tlv)?;
    match address::split_first(rest)? {
        Some((address, [])) => Ok((correlation_id, address)),
        _ => Err(DecodeError::RequestWithoutAddress {
            ty: ParameterType(tlv.ty),
            len: tlv.bytes.len(),
        }),
    }
}

pub(super) fn decode_failure(tlv: Tlv<'_>) -> Result<(u32, ErrorCauses<'_>), DecodeError> {
    let (correlation_id, causes) = split_id(tlv)?;
    Ok((correlation_id, ErrorCauses::from_bytes(causes)))
}

/// The one field of a Success Indication or an Adaptation Layer Indication.
pub(super) fn decode_number(tlv: Tlv<'_>) -> Result<u32, DecodeError> {
    super::fixed_value(tlv).map(u32::from_be_bytes)
}

pub(super) fn encode_request(ty: u16, correlation_id: u32, address: IpAddr, buf: &mut Vec<u8>) {
    tlv::put_header(buf, ty, 4 + address::encoded_len(address));
    buf.extend_from_slice(&correlation_id.to_be_bytes());
    address::encode(address, buf);
}

pub(super) fn encode_failure(correlation_id: u32, causes: ErrorCauses<'_>, buf: &mut Vec<u8>) {
    let causes = causes.as_bytes();
    tlv::put_header(buf, ParameterType::ERROR_CAUSE_INDICATION.0, 4 + causes.len());
    buf.extend_from_slice(&correlation_id.to_be_bytes());
    buf.extend_from_slice(causes);
    tlv::pad(buf, causes.len());
}

fn split_id(tlv: Tlv<'_>) -> Result<(u32, &[u8]), DecodeError> {
    let Some((correlation_id, rest)) = tlv.value.split_first_chunk::<4>() else {
        let (ty, len) = (ParameterType(tlv.ty), tlv.bytes.len());
        return Err(DecodeError::ParameterTooShort { ty, len, min: tlv::HEADER_LEN + 4 });
    };
    Ok((u32::from_be_bytes(*correlation_id), rest))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{ErrorCause, Parameter, Parameters};

    #[test]
    fn requests_stand_where_the_rfc_draws_them() {
        let address = [192, 0, 2, 1].into();
        let id = 0x0102_3474;
        for (ty, request) in [
            ("c001", Parameter::AddIpAddress { correlation_id: id, address }),
            ("c002", Parameter::DeleteIpAddress { correlation_id: id, address }),
            ("c004", Parameter::SetPrimaryAddress { correlation_id: id, address }),
        ] {
            let bytes = hex(&format!("{ty}0010 01023474 00050008 c0000201"));
            assert_parameter(&bytes, request);
        }
        let address = "fd77:1::2".parse().unwrap();
        let bytes = hex("c001001c 01023474 00060014 fd770001000000000000000000000002");
        assert_parameter(&bytes, Parameter::AddIpAddress { correlation_id: id, address });
    }

    #[test]
    fn responses_stand_where_the_rfc_draws_them() {
        assert_parameter(
            &hex("c0050008 00000007"),
            Parameter::SuccessIndication { correlation_id: 7 },
        );
        let request = hex("c0010010 01023474 00050008 c0000201");
        let mut causes = Vec::new();
        ErrorCause::ResourceShortage(&request).encode(&mut causes);
        let causes = ErrorCauses::from_bytes(&causes);
        // RFC 5061 section 4.3.2.
        assert_parameter(
            &hex("c003001c 01023474 00a10014 c0010010 01023474 00050008 c0000201"),
            Parameter::ErrorCauseIndication { correlation_id: 0x0102_3474, causes },
        );
    }

    #[test]
    fn linux_announces_its_adaptation_layer() {
        let parameter = Parameter::AdaptationLayerIndication { code_point: 0 };
        assert_parameter(&hex("c0060008 00000000"), parameter);
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let (add, delete) = (ParameterType::ADD_IP_ADDRESS, ParameterType::DELETE_IP_ADDRESS);
        for (bytes, error) in [
            ("c0010006 00000000", DecodeError::ParameterTooShort { ty: add, len: 6, min: 8 }),
            ("c0010008 00000001", DecodeError::RequestWithoutAddress { ty: add, len: 8 }),
            (
                "c0020018 00000001 00050008 c0000201 00050008 c0000202",
                DecodeError::RequestWithoutAddress { ty: delete, len: 24 },
            ),
            (
                "c005000c 00000001 00000000",
                DecodeError::ParameterLengthWrong {
                    ty: ParameterType::SUCCESS_INDICATION,
                    len: 12,
                    expected: 8,
                },
            ),
        ] {
            let bytes = hex(bytes);
            let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
            assert_eq!(parameters, [Err(error)]);
        }
    }
}
