//! DTLS Key Management (0x8006), draft-ietf-tsvwg-sctp-dtls-chunk section 4.1.

use super::split_fixed;
use crate::tlv::{self, Tlv};
use crate::{DecodeError, ParameterType};

/// DTLS Key Management: that the sender knows the DTLS chunk, and how it agrees on keys.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Parameter Type = 0x8006    |       Parameter Length        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                          Tie Breaker                          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |Reserved |R|S|C| DTLS KMId #1  | DTLS KMId #2  | DTLS KMId #3  |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// :                                                               :
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | DTLS KMId #N  |                    Padding                    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct DtlsKeyManagement<'a> {
    /// Decides who is the server where both ends could be either.
    pub tie_breaker: u32,
    /// The reserved bits and R, S and C as they are: keys are derived from them.
    pub flags: u8,
    /// The identifiers of the methods that the sender knows, the best first.
    pub methods: &'a [u8],
}

impl<'a> DtlsKeyManagement<'a> {
    /// The C bit: the sender can be the client.
    pub const CLIENT: u8 = 0b0000_0001;
    /// The S bit: the sender can be the server.
    pub const SERVER: u8 = 0b0000_0010;
    /// The R bit: the sender can restart an association that is protected.
    pub const RESTART: u8 = 0b0000_0100;

    pub(super) fn decode(tlv: Tlv<'a>) -> Result<Self, DecodeError> {
        let (&[t0, t1, t2, t3, flags], methods) = split_fixed::<5>(tlv)?;
        Ok(Self { tie_breaker: u32::from_be_bytes([t0, t1, t2, t3]), flags, methods })
    }

    /// Whether the sender sets this bit.
    #[must_use]
    pub const fn has(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }

    /// Appends the parameter without padding, as keys are derived from it.
    pub fn encode_unpadded(&self, buf: &mut Vec<u8>) {
        tlv::put_header(buf, ParameterType::DTLS_KEY_MANAGEMENT.0, 5 + self.methods.len());
        buf.extend_from_slice(&self.tie_breaker.to_be_bytes());
        buf.push(self.flags);
        buf.extend_from_slice(self.methods);
    }

    pub(super) fn encode(&self, buf: &mut Vec<u8>) {
        self.encode_unpadded(buf);
        tlv::pad(buf, 5 + self.methods.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{Parameter, Parameters};

    const OFFER: DtlsKeyManagement<'_> = DtlsKeyManagement {
        tie_breaker: 0x0102_0304,
        flags: DtlsKeyManagement::SERVER | DtlsKeyManagement::CLIENT,
        methods: &[2],
    };

    #[test]
    fn fields_stand_where_the_draft_draws_them() {
        assert_parameter(&hex("8006000a 01020304 03020000"), Parameter::DtlsKeyManagement(OFFER));
        assert!(OFFER.has(DtlsKeyManagement::CLIENT) && !OFFER.has(DtlsKeyManagement::RESTART));
    }

    #[test]
    fn keys_are_derived_from_all_but_the_padding() {
        let mut bytes = Vec::new();
        DtlsKeyManagement { flags: 0xf9, ..OFFER }.encode_unpadded(&mut bytes);
        assert_eq!(bytes, hex("8006000a 01020304 f902"));
    }

    #[test]
    fn one_without_its_fields_is_refused() {
        let bytes = hex("80060008 01020304");
        let (ty, len) = (ParameterType::DTLS_KEY_MANAGEMENT, 8);
        let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
        assert_eq!(parameters, [Err(DecodeError::ParameterTooShort { ty, len, min: 9 })]);
    }
}
