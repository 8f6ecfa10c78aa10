//! The header checksum (RFC 4340 section 9) and the data checksum (section 9.3).

use std::net::IpAddr;

use anabranch_sansio::FourTuple;

/// IP's number for DCCP.
const PROTOCOL: u32 = 33;

/// What guards a packet against damage on its way.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// The checksum in its header, which covers these addresses too: DCCP straight on IP.
    Header {
        /// Who sent the packet.
        source: IpAddr,
        /// Whom it is for.
        destination: IpAddr,
    },
    /// UDP's checksum: DCCP in UDP.
    ///
    /// RFC 6773 section 3.3: "On transmission, the DCCP Checksum field SHOULD be set to zero. On
    /// receipt, the DCCP Checksum field MUST be ignored."
    Udp,
}

impl Protection {
    /// The checksum of packets that travel from `path.local` to `path.remote`.
    #[must_use]
    pub const fn header(path: FourTuple) -> Self {
        Self::Header { source: path.local.ip(), destination: path.remote.ip() }
    }

    /// The checksum field of a packet whose field is zero, and of which `covered` bytes from the
    /// header's begin count. `None`: the addresses are of two families, so that no IP carries it.
    pub(super) fn checksum(self, packet: &[u8], covered: usize) -> Option<u16> {
        let (source, destination) = match self {
            Self::Header { source, destination } => (source, destination),
            Self::Udp => return Some(0),
        };
        // RFC 4340 section 9.1: "The pseudoheader is calculated as for TCP." IPv4 and IPv6 lay it
        // out differently, with the same words in it.
        let addresses = match (source, destination) {
            (IpAddr::V4(source), IpAddr::V4(destination)) => {
                sum(&source.octets()) + sum(&destination.octets())
            }
            (IpAddr::V6(source), IpAddr::V6(destination)) => {
                sum(&source.octets()) + sum(&destination.octets())
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return None,
        };
        let len = packet.len() as u64;
        let covered = packet.get(..covered).unwrap_or(packet);
        let pseudo_header = addresses + u64::from(PROTOCOL) + (len & 0xffff) + (len >> 16);
        Some(complement(pseudo_header + sum(covered)))
    }
}

/// The CRC-32c of the Data Checksum option.
///
/// RFC 4340 section 9.3: "The CRC-32c algorithm used for Data Checksum is the same as that used for
/// SCTP \[RFC3309\]; note that the CRC-32c of zero bytes of data equals zero."
#[must_use]
pub fn crc32c(data: &[u8]) -> u32 {
    crc_fast::crc32_iscsi(data)
}

/// The sum of the 16-bit words, which that of 32-bit words comes to in ones' complement arithmetic
/// (RFC 1071 section 2, "Parallel Summation").
///
/// RFC 4340 section 9.1: "If a packet contains an odd number of header and payload bytes to be
/// checksummed, 8 zero bits are added on the right to form a 16-bit word for checksum purposes."
fn sum(bytes: &[u8]) -> u64 {
    let (pairs, rest) = bytes.as_chunks::<4>();
    let pairs = pairs.iter().map(|pair| u64::from(u32::from_be_bytes(*pair)));
    let rest = rest.chunks(2);
    let rest =
        rest.map(|word| u64::from(word[0]) << 8 | word.get(1).map_or(0, |low| (*low).into()));
    pairs.chain(rest).sum()
}

/// The complement of a sum in ones' complement arithmetic (RFC 1071).
fn complement(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_sum_is_that_of_rfc_1071() {
        // RFC 1071 section 3 sums these bytes to 0xddf2.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(complement(sum(&bytes)), !0xddf2);
        assert_eq!(sum(&[0x12]), 0x1200);
        assert_eq!(complement(sum(&[0xff; 1_500])), 0);
        for len in 0..=bytes.len() {
            let words = bytes[..len].chunks(2);
            let words = words.map(|it| u64::from(it[0]) << 8 | u64::from(*it.get(1).unwrap_or(&0)));
            assert_eq!(complement(sum(&bytes[..len])), complement(words.sum()), "{len} bytes");
        }
    }

    #[test]
    fn the_data_checksum_is_the_crc_of_the_catalogue() {
        assert_eq!(crc32c(b"123456789"), 0xe306_9283);
        assert_eq!(crc32c(b""), 0);
    }

    #[test]
    fn addresses_of_two_families_have_no_checksum() {
        let mixed = Protection::Header {
            source: [10, 0, 0, 1].into(),
            destination: [0xfd00, 0, 0, 0, 0, 0, 0, 1].into(),
        };
        assert_eq!(mixed.checksum(&[0; 16], 16), None);
    }
}
