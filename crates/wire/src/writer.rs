//! [`PacketWriter`]: builds a packet at the end of a buffer.

use crate::{CommonHeader, EncodeChunk, checksum};

/// What the checksum field of a finished packet holds.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum ChecksumField {
    /// The CRC32c of the packet.
    Fill,
    /// Zero, where the peer has agreed to that (RFC 9653).
    Zero,
}

/// Writes one packet at the end of a buffer.
///
/// What stands in the buffer already stays, so that several packets of one segmentation offload
/// can be written one behind the other.
#[derive(Debug)]
#[must_use = "a packet is complete only when it is finished"]
pub struct PacketWriter<'b> {
    buf: &'b mut Vec<u8>,
    start: usize,
    chunks: usize,
}

impl<'b> PacketWriter<'b> {
    /// Begins a packet with its common header.
    pub fn new(buf: &'b mut Vec<u8>, header: CommonHeader) -> Self {
        let start = buf.len();
        buf.extend_from_slice(&header.encode());
        Self { buf, start, chunks: 0 }
    }

    /// Appends a chunk and its padding.
    pub fn push(&mut self, chunk: &impl EncodeChunk) {
        chunk.encode(self.buf);
        self.chunks += 1;
        debug_assert!(self.len().is_multiple_of(4), "a chunk ends on a multiple of 4 bytes");
    }

    /// The packet's bytes so far, the common header included.
    #[must_use]
    pub fn len(&self) -> usize {
        self.buf.len() - self.start
    }

    /// Whether the packet has no chunk yet.
    #[must_use]
    pub const fn is_empty(&self) -> bool {
        self.chunks == 0
    }

    /// How many chunks the packet has so far.
    #[must_use]
    pub const fn chunks(&self) -> usize {
        self.chunks
    }

    /// Completes the packet.
    pub fn finish(self, field: ChecksumField) {
        if field == ChecksumField::Zero {
            return;
        }
        let (_, packet) = self.buf.split_at_mut(self.start);
        checksum::set(packet, checksum::compute(packet));
    }
}
