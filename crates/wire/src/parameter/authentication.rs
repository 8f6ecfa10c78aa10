//! The parameters of chunk authentication, RFC 4895 section 3.
//!
//! Random (0x8002):
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 0x8002   |       Parameter Length        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! \                          Random Number                        /
//! /                               +-------------------------------\
//! |                               |           Padding             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Chunk List (0x8003):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 0x8003   |       Parameter Length        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Chunk Type 1  | Chunk Type 2  | Chunk Type 3  | Chunk Type 4  |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                              ...                              \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | Chunk Type n  |                   Padding                     |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Requested HMAC Algorithm (0x8004):
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 0x8004   |       Parameter Length        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |          HMAC Identifier 1    |      HMAC Identifier 2        |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! /                              ...                              \
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |        HMAC Identifier n      |           Padding             |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::tlv::{self, Tlv};
use crate::{DecodeError, HmacIdentifier, Items, ParameterType};

pub(super) fn decode_algorithms(tlv: Tlv<'_>) -> Result<Items<'_, HmacIdentifier>, DecodeError> {
    let (identifiers, []) = tlv.value.as_chunks::<2>() else {
        return Err(DecodeError::HmacIdentifiersLengthOdd { len: tlv.bytes.len() });
    };
    Ok(Items::from_wire(identifiers))
}

pub(super) fn encode_algorithms(identifiers: &Items<'_, HmacIdentifier>, buf: &mut Vec<u8>) {
    tlv::put_header(buf, ParameterType::HMAC_ALGO.0, identifiers.encoded_len());
    identifiers.encode(buf);
    tlv::pad(buf, identifiers.encoded_len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{ChunkType, Parameter, Parameters};

    #[test]
    fn a_random_number_is_kept_whole() {
        assert_parameter(&hex("80020007 0a0b0c00"), Parameter::Random(&[10, 11, 12]));
    }

    #[test]
    fn chunk_types_are_single_bytes() {
        let types = [ChunkType(0xc1), ChunkType(0x80), ChunkType::DATA];
        let bytes = hex("80030007 c1800000");
        assert_parameter(&bytes, Parameter::ChunkList(Items::from_slice(&types)));
    }

    #[test]
    fn algorithms_are_listed_by_preference() {
        let identifiers = [HmacIdentifier::SHA_256, HmacIdentifier::SHA_1];
        let parameter = Parameter::HmacAlgorithms(Items::from_slice(&identifiers));
        assert_parameter(&hex("80040008 00030001"), parameter);
        let parameter = Parameter::HmacAlgorithms(Items::from_slice(&identifiers[..1]));
        assert_parameter(&hex("80040006 00030000"), parameter);
        let names = identifiers.map(|identifier| identifier.to_string());
        assert_eq!(names, ["SHA-256", "SHA-1"]);
        assert_eq!(HmacIdentifier(2).to_string(), "identifier 2");
    }

    #[test]
    fn half_an_algorithm_is_refused() {
        let bytes = hex("80040007 00030000");
        let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
        assert_eq!(parameters, [Err(DecodeError::HmacIdentifiersLengthOdd { len: 7 })]);
    }
}
