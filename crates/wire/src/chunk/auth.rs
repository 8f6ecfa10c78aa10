//! AUTH (15), RFC 4895 section 5.1.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::tlv;
use crate::{DecodeError, HmacIdentifier};

/// Authentication: says by whom the chunks behind it in the packet were written.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Type = 0x0F   |   Flags=0     |             Length            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     Shared Key Identifier     |   HMAC Identifier             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                                                               |
/// \                             HMAC                              /
/// /                                                               \
/// /                               +-------------------------------\
/// |                               |           Padding             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Auth<'a> {
    /// Which endpoint pair shared key was used.
    pub shared_key_identifier: u16,
    /// Which algorithm was used.
    pub hmac_identifier: HmacIdentifier,
    /// The HMAC of this chunk, its own field counted as zeros, and of all behind it.
    pub hmac: &'a [u8],
}

impl<'a> Auth<'a> {
    /// The chunk's length without the HMAC.
    pub const HEADER_LEN: usize = super::HEADER_LEN + 4;

    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        let (&[key0, key1, id0, id1], hmac) = raw.split_fixed::<4>()?;
        Ok(Self {
            shared_key_identifier: u16::from_be_bytes([key0, key1]),
            hmac_identifier: HmacIdentifier(u16::from_be_bytes([id0, id1])),
            hmac,
        })
    }
}

impl EncodeChunk for Auth<'_> {
    fn encoded_len(&self) -> usize {
        Self::HEADER_LEN + tlv::padded(self.hmac.len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        buf.extend_from_slice(&super::header(ChunkType::AUTH, 0, 4 + self.hmac.len()));
        buf.extend_from_slice(&self.shared_key_identifier.to_be_bytes());
        buf.extend_from_slice(&self.hmac_identifier.0.to_be_bytes());
        buf.extend_from_slice(self.hmac);
        tlv::pad(buf, self.hmac.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn fields_stand_where_the_rfc_draws_them() {
        let hmac: Vec<u8> = (0..20).collect();
        let auth =
            Auth { shared_key_identifier: 7, hmac_identifier: HmacIdentifier::SHA_1, hmac: &hmac };
        let bytes = hex("0f00001c 0007 0001 00010203 04050607 08090a0b 0c0d0e0f 10111213");
        assert_chunk(&bytes, &Chunk::Auth(auth));
    }

    #[test]
    fn survives_a_round_trip() {
        for len in [0, 20, 32, 33] {
            let hmac = vec![0xab; len];
            assert_round_trip(&Chunk::Auth(Auth {
                shared_key_identifier: u16::MAX,
                hmac_identifier: HmacIdentifier::SHA_256,
                hmac: &hmac,
            }));
        }
    }

    #[test]
    fn one_without_its_identifiers_is_refused() {
        let error = DecodeError::ChunkTooShort { ty: ChunkType::AUTH, len: 6, min: 8 };
        assert_eq!(first_chunk(&packet_around(&hex("0f000006 00070000"))), Err(error));
    }
}
