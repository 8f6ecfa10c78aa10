//! [`Packet`]: the common header and the chunks behind it.

use crate::chunk::{self, RawChunk};
use crate::{Chunk, ChunkType, DecodeError, Dtls, VerificationTag, checksum};

/// The common header of every packet, without its checksum.
///
/// RFC 9260 section 3.1:
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |      Source Port Number       |    Destination Port Number    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                       Verification Tag                        |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                           Checksum                            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub struct CommonHeader {
    /// The sender's SCTP port, never 0 in a decoded packet.
    pub source_port: u16,
    /// The receiver's SCTP port, never 0 in a decoded packet.
    pub destination_port: u16,
    /// Proves that the packet belongs to the association; 0 with an INIT chunk.
    pub verification_tag: VerificationTag,
}

impl CommonHeader {
    /// The header's length in bytes, the checksum included.
    pub const LEN: usize = 12;

    /// The header's bytes, with zeros for the checksum.
    pub(crate) const fn encode(self) -> [u8; Self::LEN] {
        let [s0, s1] = self.source_port.to_be_bytes();
        let [d0, d1] = self.destination_port.to_be_bytes();
        let [t0, t1, t2, t3] = self.verification_tag.0.to_be_bytes();
        [s0, s1, d0, d1, t0, t1, t2, t3, 0, 0, 0, 0]
    }
}

/// Whether a received packet's checksum counts.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumMode {
    /// Refuse a packet whose CRC32c is wrong.
    Verify,
    /// Whatever carried the packet has proved its integrity.
    Ignore,
}

/// A received packet, borrowed from the datagram.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// The common header.
    pub header: CommonHeader,
    chunks: &'a [u8],
}

impl<'a> Packet<'a> {
    /// The common header and the header of one chunk.
    const LEN_MIN: usize = CommonHeader::LEN + chunk::HEADER_LEN;

    /// Reads the common header. The chunks are read by [`chunks`](Self::chunks).
    ///
    /// # Errors
    ///
    /// If the packet is too short for a chunk, has a port 0, or fails the checksum.
    #[inline]
    pub fn decode(bytes: &'a [u8], checksum: ChecksumMode) -> Result<Self, DecodeError> {
        let (header, chunks) = match bytes.split_first_chunk::<{ CommonHeader::LEN }>() {
            Some((header, chunks)) if chunks.len() >= chunk::HEADER_LEN => (header, chunks),
            _ => return Err(DecodeError::PacketTooShort { len: bytes.len(), min: Self::LEN_MIN }),
        };
        if checksum == ChecksumMode::Verify {
            verify(header, chunks)?;
        }
        let &[s0, s1, d0, d1, t0, t1, t2, t3, ..] = header;
        let header = CommonHeader {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            verification_tag: VerificationTag(u32::from_be_bytes([t0, t1, t2, t3])),
        };
        // RFC 9260 section 3.1: "The Source Port Number 0 MUST NOT be used."
        if header.source_port == 0 {
            return Err(DecodeError::SourcePortZero);
        }
        // RFC 9260 section 3.1: "The Destination Port Number 0 MUST NOT be used."
        if header.destination_port == 0 {
            return Err(DecodeError::DestinationPortZero);
        }
        Ok(Self { header, chunks })
    }

    /// Checks the checksum of a datagram that was decoded without.
    ///
    /// # Errors
    ///
    /// If it is wrong, or the datagram has none.
    pub fn verify_checksum(bytes: &[u8]) -> Result<(), DecodeError> {
        let (len, min) = (bytes.len(), Self::LEN_MIN);
        let (header, chunks) =
            bytes.split_first_chunk().ok_or(DecodeError::PacketTooShort { len, min })?;
        verify(header, chunks)
    }

    /// A packet whose chunks were sealed in another one.
    #[must_use]
    pub const fn from_parts(header: CommonHeader, chunks: &'a [u8]) -> Self {
        Self { header, chunks }
    }

    /// Whether the checksum field of these bytes is zero, as where something else detects errors
    /// (RFC 9653).
    #[must_use]
    pub fn has_zero_checksum(bytes: &[u8]) -> bool {
        matches!(bytes, [_, _, _, _, _, _, _, _, 0, 0, 0, 0, ..])
    }

    /// The type of the first chunk, which is not looked into.
    #[must_use]
    pub const fn leading_type(&self) -> Option<ChunkType> {
        match self.chunks {
            [ty, ..] => Some(ChunkType(*ty)),
            [] => None,
        }
    }

    /// The DTLS chunk that is all of this packet, if one is.
    ///
    /// draft-ietf-tsvwg-sctp-dtls-chunk section 5.2: "The DTLS chunk MUST NOT be bundled with any
    /// other chunk." and "Upon receipt of an SCTP packet in which a DTLS chunk is bundled with any
    /// other chunk, the entire packet MUST be silently discarded."
    #[must_use]
    pub fn dtls_chunk(&self) -> Option<Dtls<'a>> {
        if self.leading_type() != Some(ChunkType::DTLS) {
            return None;
        }
        let (chunk, rest) = RawChunk::split_first(self.chunks).ok()?;
        if rest.is_empty() { Dtls::decode(chunk).ok() } else { None }
    }

    /// The chunks in order; nothing follows an error.
    #[must_use]
    pub const fn chunks(&self) -> Chunks<'a> {
        Chunks { rest: self.chunks }
    }
}

fn verify(header: &[u8; CommonHeader::LEN], chunks: &[u8]) -> Result<(), DecodeError> {
    let computed = checksum::recompute(header, chunks);
    let &[.., c0, c1, c2, c3] = header;
    let found = [c0, c1, c2, c3];
    if found == computed {
        return Ok(());
    }
    let (found, computed) = (u32::from_be_bytes(found), u32::from_be_bytes(computed));
    Err(DecodeError::ChecksumMismatch { found, computed })
}

/// Iterates over the chunks of a [`Packet`]; ends after the first error, because where the next
/// chunk begins is then in doubt.
#[derive(Debug, Clone)]
pub struct Chunks<'a> {
    rest: &'a [u8],
}

impl<'a> Chunks<'a> {
    /// The bytes that were not read yet: what an AUTH chunk read last covers beside itself.
    #[must_use]
    pub const fn rest(&self) -> &'a [u8] {
        self.rest
    }
}

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, DecodeError>;

    #[inline]
    fn next(&mut self) -> Option<Self::Item> {
        if self.rest.is_empty() {
            return None;
        }
        let chunk = RawChunk::split_first(self.rest).and_then(|(raw, rest)| {
            self.rest = rest;
            Chunk::decode(raw)
        });
        if chunk.is_err() {
            self.rest = &[];
        }
        Some(chunk)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_support::{hex, packet_around};
    use crate::{ChunkType, Data, Level, Ppid, Shutdown, Ssn, StreamId, Tsn};

    /// A DATA chunk sent by Linux over UDP, checksum included.
    const LINUX_DATA: &str = "
        13ed1b58 0a0b0c0d b452f527
        0003001f 99ee1f82 00020000 00000035 66726f6d20746865206b65726e656c 00";

    fn chunks_in(packet: &[u8]) -> Vec<Result<Chunk<'_>, DecodeError>> {
        Packet::decode(packet, ChecksumMode::Ignore).unwrap().chunks().collect()
    }

    #[test]
    fn linux_and_we_agree_on_the_checksum() {
        let bytes = hex(LINUX_DATA);
        let packet = Packet::decode(&bytes, ChecksumMode::Verify).unwrap();
        let header = CommonHeader {
            source_port: 5101,
            destination_port: 7000,
            verification_tag: VerificationTag(0x0a0b_0c0d),
        };
        assert_eq!(packet.header, header);
        let data = Data {
            tsn: Tsn(0x99ee_1f82),
            stream: StreamId(2),
            ssn: Ssn(0),
            ppid: Ppid(53),
            unordered: false,
            beginning: true,
            ending: true,
            immediate: false,
            level: Level::Urgent,
            payload: b"from the kernel",
        };
        let chunks: Vec<_> = packet.chunks().collect();
        assert_eq!(chunks, [Ok(Chunk::Data(data))]);
    }

    #[test]
    fn every_flipped_bit_fails_the_checksum() {
        let bytes = hex(LINUX_DATA);
        for bit in 0..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            let error = Packet::decode(&damaged, ChecksumMode::Verify).unwrap_err();
            assert!(matches!(error, DecodeError::ChecksumMismatch { .. }), "bit {bit}: {error}");
        }
    }

    #[test]
    fn a_wrong_checksum_counts_only_where_it_is_verified() {
        let mut bytes = hex(LINUX_DATA);
        bytes[8] = 0;
        let (found, computed) = (0x0052_f527, 0xb452_f527);
        let error = DecodeError::ChecksumMismatch { found, computed };
        assert_eq!(Packet::decode(&bytes, ChecksumMode::Verify), Err(error));
        assert_eq!(error.to_string(), "checksum 0x0052f527; the packet's CRC32c is 0xb452f527");
        assert!(Packet::decode(&bytes, ChecksumMode::Ignore).is_ok());
        assert_eq!(Packet::verify_checksum(&bytes), Err(error));
        assert_eq!(Packet::verify_checksum(&hex(LINUX_DATA)), Ok(()));
        let short = DecodeError::PacketTooShort { len: 11, min: 16 };
        assert_eq!(Packet::verify_checksum(&bytes[..11]), Err(short));
    }

    #[test]
    fn a_checksum_of_zero_is_told_from_others() {
        let bytes = hex(LINUX_DATA);
        assert!(!Packet::has_zero_checksum(&bytes));
        assert!(Packet::has_zero_checksum(&packet_around(&hex("0b000004"))));
        assert!(!Packet::has_zero_checksum(&[0; 11]));
    }

    #[test]
    fn a_dtls_chunk_is_alone_in_its_packet() {
        let of = |chunks: &str| {
            let packet = packet_around(&hex(chunks));
            let packet = Packet::decode(&packet, ChecksumMode::Ignore).unwrap();
            (packet.leading_type(), packet.dtls_chunk().map(|chunk| chunk.record.to_vec()))
        };
        let sealed = "41000008 00aabbcc";
        assert_eq!(of(sealed), (Some(ChunkType::DTLS), Some(vec![0xaa, 0xbb, 0xcc])));
        assert_eq!(of(&format!("{sealed} 0b000004")), (Some(ChunkType::DTLS), None));
        assert_eq!(of(&format!("0b000004 {sealed}")), (Some(ChunkType::COOKIE_ACK), None));
        assert_eq!(of("41000004"), (Some(ChunkType::DTLS), None), "no room for its padding");
    }

    #[test]
    fn a_packet_without_a_chunk_is_refused() {
        for len in 0..16 {
            assert_eq!(
                Packet::decode(&hex(LINUX_DATA)[..len], ChecksumMode::Ignore),
                Err(DecodeError::PacketTooShort { len, min: 16 })
            );
        }
    }

    #[test]
    fn port_zero_is_refused() {
        let mut bytes = hex(LINUX_DATA);
        bytes[..2].fill(0);
        let decoded = Packet::decode(&bytes, ChecksumMode::Ignore);
        assert_eq!(decoded, Err(DecodeError::SourcePortZero));
        let mut bytes = hex(LINUX_DATA);
        bytes[2..4].fill(0);
        let decoded = Packet::decode(&bytes, ChecksumMode::Ignore);
        assert_eq!(decoded, Err(DecodeError::DestinationPortZero));
    }

    #[test]
    fn the_padding_of_the_last_chunk_may_be_missing() {
        let bytes = hex(LINUX_DATA);
        let (unpadded, _padding) = bytes.split_at(bytes.len() - 1);
        assert_eq!(chunks_in(unpadded), chunks_in(&bytes));
    }

    #[test]
    fn padding_is_ignored_whatever_it_holds() {
        let packet = packet_around(&hex("0a000005 2affffff 0b000004"));
        let chunks = chunks_in(&packet);
        assert_eq!(chunks.len(), 2);
        assert_eq!(chunks[1], Ok(Chunk::CookieAck));
    }

    #[test]
    fn nothing_follows_a_broken_chunk() {
        let shutdown = Ok(Chunk::Shutdown(Shutdown { cumulative_tsn_ack: Tsn(7) }));
        let (ty, available) = (ChunkType::COOKIE_ACK, 8);
        for (second, error) in [
            ("0b0000 ", DecodeError::ChunkHeaderTruncated { len: 3 }),
            ("0b000003 0b000004", DecodeError::ChunkLengthBelowHeader { ty, len: 3 }),
            ("0b000009 0b000004", DecodeError::ChunkBeyondPacket { ty, len: 9, available }),
            ("0b000008 0b000004", DecodeError::ChunkLengthWrong { ty, len: 8, expected: 4 }),
        ] {
            let mut bytes = hex("07000008 00000007");
            bytes.extend_from_slice(&hex(second));
            assert_eq!(chunks_in(&packet_around(&bytes)), [shutdown, Err(error)]);
        }
    }
}
