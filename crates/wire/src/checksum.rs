//! The CRC32c of RFC 9260 section 6.8, by the processor's instruction where it has one.

use crc_fast::{CrcAlgorithm, Digest, crc32_iscsi};

/// Where the checksum, the last field of the common header, stands in a packet.
const OFFSET: usize = 8;

/// Bytes of the common header (RFC 9260 section 3.1).
const HEADER_LEN: usize = OFFSET + 4;

/// The bytes of the checksum of `packet`, whose checksum field is zero.
pub(crate) fn compute(packet: &[u8]) -> [u8; 4] {
    // RFC 9260 appendix A computes a reflected CRC and swaps its bytes into network byte order:
    // the least significant byte stands first in the packet.
    crc32_iscsi(packet).to_le_bytes()
}

/// The bytes of the checksum of a received packet, whatever its checksum field holds.
pub(crate) fn recompute(header: &[u8; HEADER_LEN], chunks: &[u8]) -> [u8; 4] {
    // RFC 9260 section 6.8: "Replace the 32 bits of the checksum field in the received SCTP
    // packet with 0 and calculate a CRC32c checksum value of the whole received packet."
    let mut header = *header;
    set(&mut header, [0; 4]);
    let mut digest = Digest::new(CrcAlgorithm::Crc32Iscsi);
    digest.update(&header);
    digest.update(chunks);
    // The digest of a 32-bit CRC fills the lower half of its 64 bits.
    (digest.finalize() as u32).to_le_bytes()
}

/// Writes `checksum` into the common header at the front of `packet`.
pub(crate) fn set(packet: &mut [u8], checksum: [u8; 4]) {
    if let Some(field) = packet.get_mut(OFFSET..OFFSET + checksum.len()) {
        field.copy_from_slice(&checksum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn check_value_of_the_crc_catalogue() {
        assert_eq!(u32::from_le_bytes(compute(b"123456789")), 0xe306_9283);
    }

    #[test]
    fn recompute_ignores_what_the_field_holds() {
        let mut packet = *b"\x13\x88\x13\x89\xde\xad\xbe\xef\0\0\0\0\x0b\0\0\x04";
        let checksum = compute(&packet);
        set(&mut packet, checksum);
        let (header, chunks) = packet.split_first_chunk().unwrap();
        assert_eq!(recompute(header, chunks), checksum);
    }
}
