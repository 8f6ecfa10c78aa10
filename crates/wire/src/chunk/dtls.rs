//! DTLS (65), draft-ietf-tsvwg-sctp-dtls-chunk section 4.2.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::{DecodeError, tlv};

/// All chunks of a packet, sealed as one DTLS 1.3 record.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Type = 0x41   | reserved    |R|         Chunk Length          |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// | Pre-Padding   |                                               |
/// +-+-+-+-+-+-+-+-+                                               |
/// |                            Payload                            |
/// |                               +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                               |       Post-Padding            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Dtls<'a> {
    /// The R bit: sealed with the keys that are kept for a restart.
    pub restart: bool,
    /// One DTLSCiphertext.
    pub record: &'a [u8],
}

impl<'a> Dtls<'a> {
    /// Bytes before the record: the chunk header and the pre-padding.
    pub const HEADER_LEN: usize = HEADER_LEN;

    pub(crate) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        let ([_pre_padding], record) = raw.split_fixed::<1>()?;
        Ok(Self { restart: raw.flags & RESTART != 0, record })
    }

    /// What stands in front of a record of `len` bytes.
    pub(crate) fn header(restart: bool, len: usize) -> [u8; HEADER_LEN] {
        let flags = if restart { RESTART } else { 0 };
        let [ty, flags, len0, len1] = super::header(ChunkType::DTLS, flags, 1 + len);
        // "The sender MUST pad with one zero byte".
        [ty, flags, len0, len1, 0]
    }
}

/// The chunk header and the pre-padding.
const HEADER_LEN: usize = super::HEADER_LEN + 1;

/// The R bit.
const RESTART: u8 = 0b0000_0001;

impl EncodeChunk for Dtls<'_> {
    fn encoded_len(&self) -> usize {
        tlv::padded(Self::HEADER_LEN + self.record.len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        buf.extend_from_slice(&Self::header(self.restart, self.record.len()));
        buf.extend_from_slice(self.record);
        tlv::pad(buf, Self::HEADER_LEN + self.record.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn fields_stand_where_the_draft_draws_them() {
        let record = hex("2b0000 aabbccdd");
        let bytes = hex("4100000c 00 2b0000 aabbccdd");
        assert_chunk(&bytes, &Chunk::Dtls(Dtls { restart: false, record: &record }));
        let bytes = hex("4101000c 00 2b0000 aabbccdd");
        assert_chunk(&bytes, &Chunk::Dtls(Dtls { restart: true, record: &record }));
    }

    #[test]
    fn survives_a_round_trip() {
        for len in [0, 3, 20, 21, 1_400] {
            let record = vec![0xab; len];
            assert_round_trip(&Chunk::Dtls(Dtls { restart: false, record: &record }));
        }
    }

    #[test]
    fn reserved_bits_and_the_pre_padding_are_ignored() {
        let record = hex("2b0000");
        let chunk = Chunk::Dtls(Dtls { restart: false, record: &record });
        assert_eq!(first_chunk(&packet_around(&hex("41fe0008 ff 2b0000"))), Ok(chunk));
    }

    #[test]
    fn one_without_its_pre_padding_is_refused() {
        let error = DecodeError::ChunkTooShort { ty: ChunkType::DTLS, len: 4, min: 5 };
        assert_eq!(first_chunk(&packet_around(&hex("41000004"))), Err(error));
    }
}
