//! Helpers of this crate's own tests.

use anabranch_sansio::{FourTuple, Time};

use crate::{Carrier, Element, Packet};

/// An IPv4 packet with `len` bytes of payload (at least 4 to carry the number whole).
pub(crate) fn packet(number: u32, len: usize) -> Packet {
    let mut bytes = number.to_be_bytes().to_vec();
    bytes.resize(len, 0);
    let path = FourTuple::new(([10, 0, 0, 1], 9_899).into(), ([10, 0, 0, 2], 9_899).into());
    Packet::new(path, Carrier::Udp, bytes)
}

/// The number of a packet made by [`packet`].
pub(crate) fn number(packet: &Packet) -> u32 {
    u32::from_be_bytes(*packet.bytes.first_chunk().unwrap())
}

/// All that leaves an element at `now`.
pub(crate) fn drain(element: &mut impl Element, now: Time) -> Vec<Packet> {
    std::iter::from_fn(|| element.poll_packet(now)).collect()
}
