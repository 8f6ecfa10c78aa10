//! [`Packet`]: a UDP datagram under way, and [`Traffic`]: how many of them.

use anabranch_sansio::{Ecn, FourTuple};
use serde::Serialize;

/// An IPv4 header without options (20 bytes) and a UDP header (8 bytes).
const IPV4_UDP_OVERHEAD: usize = 20 + 8;
/// An IPv6 header without extensions (40 bytes) and a UDP header (8 bytes).
const IPV6_UDP_OVERHEAD: usize = 40 + 8;

/// A UDP datagram under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The path, seen from the sending end: `local` is the source, `remote` the destination.
    pub path: FourTuple,
    /// The ECN codepoint of the IP header, if it is not zero.
    pub ecn: Option<Ecn>,
    /// The UDP payload.
    pub bytes: Vec<u8>,
}

impl Packet {
    /// Length of the IP packet: headers and payload. Links count these bytes.
    #[must_use]
    pub fn ip_len(&self) -> usize {
        let overhead =
            if self.path.remote.is_ipv4() { IPV4_UDP_OVERHEAD } else { IPV6_UDP_OVERHEAD };
        overhead + self.bytes.len()
    }
}

/// An amount of packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
pub struct Traffic {
    /// Number of packets.
    pub packets: u64,
    /// Their IP bytes: headers and payload ([`Packet::ip_len`]).
    pub bytes: u64,
}

impl Traffic {
    pub(crate) fn add(&mut self, packet: &Packet) {
        self.packets += 1;
        self.bytes += packet.ip_len() as u64;
    }

    pub(crate) fn remove(&mut self, packet: &Packet) {
        self.packets -= 1;
        self.bytes -= packet.ip_len() as u64;
    }
}

impl std::ops::Add for Traffic {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { packets: self.packets + other.packets, bytes: self.bytes + other.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_address_family_decides_the_overhead() {
        let packet = |local: &str, remote: &str| Packet {
            path: FourTuple::new(local.parse().unwrap(), remote.parse().unwrap()),
            ecn: None,
            bytes: vec![0; 1_200],
        };
        assert_eq!(packet("10.0.0.1:1", "10.0.0.2:2").ip_len(), 1_228);
        assert_eq!(packet("[fd00::1]:1", "[fd00::2]:2").ip_len(), 1_248);
    }
}
