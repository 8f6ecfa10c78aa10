//! [`Packet`]: the common header and the chunks behind it.

use crate::chunk::{self, RawChunk};
use crate::{Chunk, DecodeError, VerificationTag, checksum};

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
    pub fn decode(bytes: &'a [u8], checksum: ChecksumMode) -> Result<Self, DecodeError> {
        if bytes.len() < Self::LEN_MIN {
            return Err(DecodeError::PacketTooShort { len: bytes.len(), min: Self::LEN_MIN });
        }
        let Some((header, chunks)) = bytes.split_first_chunk::<{ CommonHeader::LEN }>() else {
            return Err(DecodeError::PacketTooShort { len: bytes.len(), min: Self::LEN_MIN });
        };
        let &[s0, s1, d0, d1, t0, t1, t2, t3, found @ ..] = header;
        if checksum == ChecksumMode::Verify {
            verify(found, checksum::recompute(header, chunks))?;
        }
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

    /// The chunks in order; nothing follows an error.
    #[must_use]
    pub const fn chunks(&self) -> Chunks<'a> {
        Chunks { rest: self.chunks }
    }
}

fn verify(found: [u8; 4], computed: [u8; 4]) -> Result<(), DecodeError> {
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

impl<'a> Iterator for Chunks<'a> {
    type Item = Result<Chunk<'a>, DecodeError>;

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
