//! [`Packet`]: an IP packet under way, and [`Traffic`]: how many of them.

use std::time::Duration;

use anabranch_sansio::{Ecn, FourTuple, Time};

/// An IPv4 header without options.
const IPV4_HEADER_LEN: usize = 20;
/// An IPv6 header without extensions.
const IPV6_HEADER_LEN: usize = 40;
const UDP_HEADER_LEN: usize = 8;

/// What stands between the IP header and the bytes that a machine sends.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub enum Carrier {
    /// A UDP header.
    #[default]
    Udp,
    /// Nothing: the bytes are an SCTP packet (IP protocol 132).
    Sctp,
    /// Nothing: the bytes are a TCP segment (IP protocol 6).
    Tcp,
    /// Nothing: the bytes are a DCCP packet (IP protocol 33).
    Dccp,
}

/// A datagram under way.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Packet {
    /// The path, seen from the sending end: `local` is the source, `remote` the destination.
    pub path: FourTuple,
    /// The ECN codepoint of the IP header, if it is not zero.
    pub ecn: Option<Ecn>,
    /// What carries it.
    pub carrier: Carrier,
    /// Whether it passes links in fragments where it is too long for them. All of them share its
    /// fate, and their headers are not counted.
    pub may_fragment: bool,
    /// What the machine sent.
    pub bytes: Vec<u8>,
    /// Which it is and how it came here, for whoever watches.
    pub journey: Journey,
}

/// Which packet it is and how it came to where it is, for whoever watches. Two packets are equal
/// whatever their journeys.
#[derive(Debug, Clone, Copy, Default)]
pub struct Journey {
    /// Its number in a simulation, in the order of sending from 1 on; copies have the same. 0
    /// outside of simulations.
    pub number: u64,
    /// When it entered the link that it is in or came out of last.
    pub entered: Time,
    /// When it left the queue there; as it entered where it did not wait.
    pub left_queue: Time,
}

impl Journey {
    /// How long it waited in the queue of the link that it is in or came out of last.
    #[must_use]
    pub fn queued(&self) -> Duration {
        self.left_queue.saturating_since(self.entered)
    }
}

impl PartialEq for Journey {
    fn eq(&self, _other: &Self) -> bool {
        true
    }
}

impl Eq for Journey {}

impl Packet {
    /// A packet that has not entered a link yet, without ECN.
    #[must_use]
    pub fn new(path: FourTuple, carrier: Carrier, bytes: Vec<u8>) -> Self {
        let journey = Journey::default();
        Self { path, ecn: None, carrier, may_fragment: false, bytes, journey }
    }

    /// Length of the IP packet: headers and payload. Links count these bytes.
    #[must_use]
    pub fn ip_len(&self) -> usize {
        let is_ipv4 = self.path.remote.is_ipv4();
        let ip = if is_ipv4 { IPV4_HEADER_LEN } else { IPV6_HEADER_LEN };
        let carrier = match self.carrier {
            Carrier::Udp => UDP_HEADER_LEN,
            Carrier::Sctp | Carrier::Tcp | Carrier::Dccp => 0,
        };
        ip + carrier + self.bytes.len()
    }
}

/// An amount of packets.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
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
    fn address_family_and_carrier_decide_the_overhead() {
        let packet = |local: &str, remote: &str, carrier| {
            let path = FourTuple::new(local.parse().unwrap(), remote.parse().unwrap());
            Packet::new(path, carrier, vec![0; 1_200])
        };
        assert_eq!(packet("10.0.0.1:1", "10.0.0.2:2", Carrier::Udp).ip_len(), 1_228);
        assert_eq!(packet("10.0.0.1:1", "10.0.0.2:2", Carrier::Sctp).ip_len(), 1_220);
        assert_eq!(packet("10.0.0.1:1", "10.0.0.2:2", Carrier::Tcp).ip_len(), 1_220);
        assert_eq!(packet("[fd00::1]:1", "[fd00::2]:2", Carrier::Udp).ip_len(), 1_248);
    }
}
