//! The parameters that announce extensions.
//!
//! Reserved for ECN Capable (0x8000), RFC 9260 section 3.3.2; its form is that of RFC 4960
//! appendix A:
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |   Parameter Type = 32768      |     Parameter Length = 4      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Forward-TSN-Supported (0xC000), RFC 3758 section 3.1:
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Parameter Type = 49152     |  Parameter Length = 4         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! CMT-Delayed-Ack-Supported (0xBDAC), our own:
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |    Parameter Type = 48556     |  Parameter Length = 4         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```
//!
//! Supported Extensions (0x8008), RFC 5061 section 4.2.7:
//!
//! ```text
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |     Parameter Type = 0x8008   |      Parameter Length         |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | CHUNK TYPE 1  |  CHUNK TYPE 2 |  CHUNK TYPE 3 |  CHUNK TYPE 4 |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |                             ....                              |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! | CHUNK TYPE N  |      PAD      |      PAD      |      PAD      |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use crate::tlv::{self, Tlv};
use crate::{ChunkType, DecodeError, Items};

pub(super) fn decode_flag(tlv: Tlv<'_>) -> Result<(), DecodeError> {
    super::fixed_value(tlv).map(|[]| ())
}

pub(super) fn decode_chunk_types(tlv: Tlv<'_>) -> Items<'_, ChunkType> {
    Items::from_wire(tlv.value.as_chunks::<1>().0)
}

pub(super) fn encode_chunk_types(ty: u16, types: &Items<'_, ChunkType>, buf: &mut Vec<u8>) {
    tlv::put_header(buf, ty, types.encoded_len());
    types.encode(buf);
    tlv::pad(buf, types.encoded_len());
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{assert_parameter, hex};
    use crate::{Parameter, ParameterType, Parameters};

    #[test]
    fn extensions_that_linux_announces() {
        assert_parameter(&hex("80000004"), Parameter::EcnCapable);
        assert_parameter(&hex("c0000004"), Parameter::ForwardTsnSupported);
    }

    #[test]
    fn extensions_that_usrsctp_lists() {
        // RE-CONFIG, FORWARD TSN, AUTH.
        let types = [ChunkType(0x82), ChunkType::FORWARD_TSN, ChunkType::AUTH];
        let extensions = Parameter::SupportedExtensions(Items::from_slice(&types));
        assert_parameter(&hex("80080007 82c00f 00"), extensions);
    }

    #[test]
    fn wrong_lengths_are_refused() {
        let (ty, len) = (ParameterType::FORWARD_TSN_SUPPORTED, 8);
        let bytes = hex("c0000008 00000000");
        let parameters: Vec<_> = Parameters::from_bytes(&bytes).iter().collect();
        let error = DecodeError::ParameterLengthWrong { ty, len, expected: 4 };
        assert_eq!(parameters, [Err(error)]);
    }
}
