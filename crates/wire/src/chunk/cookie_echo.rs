//! COOKIE ECHO (10), RFC 9260 section 3.3.11.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::tlv;

/// Cookie Echo: returns the State Cookie that came in an INIT ACK.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 10   |  Chunk Flags  |            Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// /                            Cookie                             /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CookieEcho<'a> {
    /// The cookie, byte for byte.
    pub cookie: &'a [u8],
}

impl<'a> CookieEcho<'a> {
    pub(super) const fn decode(raw: RawChunk<'a>) -> Self {
        Self { cookie: raw.value }
    }
}

impl EncodeChunk for CookieEcho<'_> {
    fn encoded_len(&self) -> usize {
        super::HEADER_LEN + tlv::padded(self.cookie.len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        super::encode_opaque(ChunkType::COOKIE_ECHO, 0, self.cookie, buf);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, hex};

    #[test]
    fn linux_echoes_a_cookie() {
        let bytes = hex("0a000017 434f4f4b49452d4f462d46414b452d50454552 00");
        assert_chunk(&bytes, &Chunk::CookieEcho(CookieEcho { cookie: b"COOKIE-OF-FAKE-PEER" }));
    }

    #[test]
    fn survives_a_round_trip() {
        for cookie in [&b""[..], &[3; 1000]] {
            assert_round_trip(&Chunk::CookieEcho(CookieEcho { cookie }));
        }
    }
}
