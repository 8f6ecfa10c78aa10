//! Helpers of this crate's own tests.

use anabranch_sansio::FourTuple;

use crate::Packet;

/// An IPv4 packet with `len` bytes of payload (at least 4 to carry the number whole).
pub(crate) fn packet(number: u32, len: usize) -> Packet {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(len, 0);
    let path = FourTuple::new(([10, 0, 0, 1], 9_899).into(), ([10, 0, 0, 2], 9_899).into());
    Packet { path, ecn: None, bytes }
}
