//! Re-configuration Response (16), RFC 6525 section 4.4.

use std::fmt;

use crate::ParameterType;
use crate::tlv::{self, Tlv};
use crate::{DecodeError, Tsn};

/// What became of a request.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     Parameter Type = 16       |      Parameter Length         |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |         Re-configuration Response Sequence Number             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                            Result                             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                   Sender's Next TSN (optional)                |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                  Receiver's Next TSN (optional)               |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ReconfigurationResponse {
    /// The Request Sequence Number of what it answers.
    pub response_sequence_number: u32,
    /// The answer.
    pub result: ReconfigurationResult,
    /// Sender's Next TSN and Receiver's Next TSN, in answers to SSN/TSN resets.
    pub next_tsns: Option<(Tsn, Tsn)>,
}

/// The Result of a [`ReconfigurationResponse`]. Displays as the RFC describes it.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ReconfigurationResult(pub u32);

impl ReconfigurationResult {
    /// Success - Nothing to do.
    pub const NOTHING_TO_DO: Self = Self(0);
    /// Success - Performed.
    pub const PERFORMED: Self = Self(1);
    /// Denied.
    pub const DENIED: Self = Self(2);
    /// Error - Wrong SSN.
    pub const WRONG_SSN: Self = Self(3);
    /// Error - Request already in progress.
    pub const REQUEST_ALREADY_IN_PROGRESS: Self = Self(4);
    /// Error - Bad Sequence Number.
    pub const BAD_SEQUENCE_NUMBER: Self = Self(5);
    /// In progress.
    pub const IN_PROGRESS: Self = Self(6);
}

impl fmt::Display for ReconfigurationResult {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::NOTHING_TO_DO => f.pad("Success - Nothing to do"),
            Self::PERFORMED => f.pad("Success - Performed"),
            Self::DENIED => f.pad("Denied"),
            Self::WRONG_SSN => f.pad("Error - Wrong SSN"),
            Self::REQUEST_ALREADY_IN_PROGRESS => f.pad("Error - Request already in progress"),
            Self::BAD_SEQUENCE_NUMBER => f.pad("Error - Bad Sequence Number"),
            Self::IN_PROGRESS => f.pad("In progress"),
            Self(result) => write!(f, "result {result}"),
        }
    }
}

impl ReconfigurationResponse {
    pub(super) fn decode(tlv: Tlv<'_>) -> Result<Self, DecodeError> {
        let (&[n0, n1, n2, n3, r0, r1, r2, r3], tsns) = super::split_fixed::<8>(tlv)?;
        // RFC 6525 section 4.4: "Either both optional fields (Sender's Next TSN and Receiver's Next
        // TSN) MUST be present, or no field."
        let next_tsns = match tsns.as_chunks::<4>() {
            ([], []) => None,
            (&[sender, receiver], []) => {
                Some((Tsn(u32::from_be_bytes(sender)), Tsn(u32::from_be_bytes(receiver))))
            }
            _ => return Err(DecodeError::ReconfigurationResponseLength { len: tlv.bytes.len() }),
        };
        Ok(Self {
            response_sequence_number: u32::from_be_bytes([n0, n1, n2, n3]),
            result: ReconfigurationResult(u32::from_be_bytes([r0, r1, r2, r3])),
            next_tsns,
        })
    }

    pub(super) fn encode(&self, buf: &mut Vec<u8>) {
        let value_len = if self.next_tsns.is_some() { 16 } else { 8 };
        tlv::put_header(buf, ParameterType::RECONFIGURATION_RESPONSE.0, value_len);
        buf.extend_from_slice(&self.response_sequence_number.to_be_bytes());
        buf.extend_from_slice(&self.result.0.to_be_bytes());
        if let Some((sender, receiver)) = self.next_tsns {
            buf.extend_from_slice(&sender.0.to_be_bytes());
            buf.extend_from_slice(&receiver.0.to_be_bytes());
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{Parameter, Parameters};

    #[test]
    fn both_tsns_stand_in_it_or_none() {
        let response = ReconfigurationResponse {
            response_sequence_number: 0x0102_0304,
            result: ReconfigurationResult::PERFORMED,
            next_tsns: None,
        };
        let bytes = hex("0010000c 01020304 00000001");
        assert_parameter(&bytes, Parameter::ReconfigurationResponse(response));
        let response =
            ReconfigurationResponse { next_tsns: Some((Tsn(7), Tsn(0x8000_0000))), ..response };
        let bytes = hex("00100014 01020304 00000001 00000007 80000000");
        assert_parameter(&bytes, Parameter::ReconfigurationResponse(response));
        let bytes = hex("00100010 01020304 00000001 00000007");
        let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
        let error = DecodeError::ReconfigurationResponseLength { len: 16 };
        assert_eq!(parameters, [Err(error)]);
    }

    #[test]
    fn results_have_the_names_of_the_rfc() {
        let names: Vec<_> = (0..8).map(|n| ReconfigurationResult(n).to_string()).collect();
        assert_eq!(names[1..3], ["Success - Performed", "Denied"]);
        assert_eq!(names[6..], ["In progress", "result 7"]);
    }
}
