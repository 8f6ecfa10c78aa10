//! The headers around what a machine sent, as a capture shows them.

use std::net::IpAddr;

use anabranch_sansio::Ecn;

use crate::{Carrier, Packet};

/// Protocol numbers.
const TCP: u8 = 6;
const UDP: u8 = 17;
const DCCP: u8 = 33;
const SCTP: u8 = 132;
/// Time to live, or hop limit: what most systems begin with.
const HOPS: u8 = 64;
const IPV6_HEADER_LEN: usize = 40;
const UDP_HEADER_LEN: usize = 8;

/// Appends the IP packet to `out`.
pub(super) fn write_ip_packet(packet: &Packet, out: &mut Vec<u8>) {
    let ecn = packet.ecn.map_or(0, |ecn: Ecn| ecn as u8);
    let addresses = (packet.path.local.ip(), packet.path.remote.ip());
    match addresses {
        (IpAddr::V4(source), IpAddr::V4(destination)) => {
            write_ipv4_header(packet, ecn, source.octets(), destination.octets(), out);
            write_payload(packet, &[&source.octets(), &destination.octets()], out);
        }
        _ => {
            let (source, destination) = (octets_v6(addresses.0), octets_v6(addresses.1));
            out.extend([0x60 | ecn >> 4, ecn << 4, 0, 0]);
            out.extend(saturating_u16(packet.ip_len() - IPV6_HEADER_LEN).to_be_bytes());
            out.extend([protocol(packet.carrier), HOPS]);
            out.extend(source);
            out.extend(destination);
            write_payload(packet, &[&source, &destination], out);
        }
    }
}

const fn protocol(carrier: Carrier) -> u8 {
    match carrier {
        Carrier::Udp => UDP,
        Carrier::Sctp => SCTP,
        Carrier::Tcp => TCP,
        Carrier::Dccp => DCCP,
    }
}

fn write_payload(packet: &Packet, addresses: &[&[u8]; 2], out: &mut Vec<u8>) {
    match packet.carrier {
        Carrier::Udp => {
            let len = saturating_u16(UDP_HEADER_LEN + packet.bytes.len());
            write_udp(packet, len, checksum_of(addresses, len), out);
        }
        Carrier::Sctp | Carrier::Tcp | Carrier::Dccp => out.extend(&packet.bytes),
    }
}

fn write_ipv4_header(
    packet: &Packet,
    ecn: u8,
    source: [u8; 4],
    destination: [u8; 4],
    out: &mut Vec<u8>,
) {
    const VERSION_4_FIVE_WORDS: u8 = 0x45;
    const DO_NOT_FRAGMENT: [u8; 2] = [0x40, 0];
    let start = out.len();
    out.extend([VERSION_4_FIVE_WORDS, ecn]);
    out.extend(saturating_u16(packet.ip_len()).to_be_bytes());
    // RFC 6864 section 4.1: "Originating sources MAY set the IPv4 ID field of atomic datagrams to
    // any value."
    out.extend([0, 0]);
    out.extend(DO_NOT_FRAGMENT);
    out.extend([HOPS, protocol(packet.carrier), 0, 0]);
    out.extend(source);
    out.extend(destination);
    let checksum = fold(sum(&out[start..]));
    out[start + 10..start + 12].copy_from_slice(&checksum.to_be_bytes());
}

fn write_udp(packet: &Packet, len: u16, pseudo_header: u64, out: &mut Vec<u8>) {
    let start = out.len();
    out.extend(packet.path.local.port().to_be_bytes());
    out.extend(packet.path.remote.port().to_be_bytes());
    out.extend(len.to_be_bytes());
    out.extend([0, 0]);
    out.extend(&packet.bytes);
    // RFC 768: "If the computed checksum is zero, it is transmitted as all ones".
    let checksum = match fold(pseudo_header + sum(&out[start..])) {
        0 => u16::MAX,
        checksum => checksum,
    };
    out[start + 6..start + 8].copy_from_slice(&checksum.to_be_bytes());
}

/// The sum over a UDP pseudo-header. IPv4 and IPv6 lay it out differently, with the same words in
/// it.
fn checksum_of(addresses: &[&[u8]; 2], udp_len: u16) -> u64 {
    sum(addresses[0]) + sum(addresses[1]) + u64::from(UDP) + u64::from(udp_len)
}

/// The sum of the 16-bit words; an odd last byte is the upper half of a word.
fn sum(bytes: &[u8]) -> u64 {
    let words = bytes.chunks(2);
    words.map(|word| u64::from(word[0]) << 8 | word.get(1).map_or(0, |low| u64::from(*low))).sum()
}

/// The complement of a sum in ones' complement arithmetic (RFC 1071).
fn fold(mut sum: u64) -> u16 {
    while sum > u64::from(u16::MAX) {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}

fn octets_v6(address: IpAddr) -> [u8; 16] {
    match address {
        IpAddr::V4(address) => address.to_ipv6_mapped().octets(),
        IpAddr::V6(address) => address.octets(),
    }
}

/// No IP packet is longer; one that would be has been dropped, and its capture says why.
fn saturating_u16(len: usize) -> u16 {
    u16::try_from(len).unwrap_or(u16::MAX)
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::FourTuple;

    use super::*;

    fn udp(path: FourTuple, ecn: Option<Ecn>, bytes: Vec<u8>) -> Packet {
        Packet { ecn, ..Packet::new(path, Carrier::Udp, bytes) }
    }

    #[test]
    fn sctp_tcp_and_dccp_follow_the_ip_header_at_once() {
        let path = FourTuple::new(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
        for (carrier, protocol) in [(Carrier::Sctp, 132), (Carrier::Tcp, 6), (Carrier::Dccp, 33)] {
            let packet = Packet { carrier, ..udp(path, None, vec![0xab; 3]) };
            let mut out = Vec::new();
            write_ip_packet(&packet, &mut out);
            assert_eq!(out.len(), packet.ip_len());
            assert_eq!((out[3], out[9], &out[20..]), (23, protocol, &[0xab; 3][..]));
        }
    }

    #[test]
    fn the_checksum_is_that_of_rfc_1071() {
        // RFC 1071 section 3 sums these bytes to 0xddf2.
        let bytes = [0x00, 0x01, 0xf2, 0x03, 0xf4, 0xf5, 0xf6, 0xf7];
        assert_eq!(fold(sum(&bytes)), !0xddf2);
        assert_eq!(sum(&[0x12]), 0x1200);
    }

    #[test]
    fn an_ipv4_packet_carries_ecn_and_addresses() {
        let path = FourTuple::new(([10, 0, 0, 1], 0x1234).into(), ([10, 0, 0, 2], 0x5678).into());
        let packet = udp(path, Some(Ecn::Ce), vec![0xab; 3]);
        let mut out = Vec::new();
        write_ip_packet(&packet, &mut out);
        assert_eq!(out.len(), packet.ip_len());
        assert_eq!(out[..10], [0x45, 0x03, 0, 31, 0, 0, 0x40, 0, 64, 17]);
        assert_eq!(
            out[12..28],
            [10, 0, 0, 1, 10, 0, 0, 2, 0x12, 0x34, 0x56, 0x78, 0, 11, out[26], out[27]]
        );
        assert_eq!(fold(sum(&out[..20])), 0, "a right checksum sums up to zero");
    }

    #[test]
    fn an_ipv6_packet_carries_ecn_and_addresses() {
        let ends = ("[fd00::1]:4660".parse(), "[fd00::2]:22136".parse());
        let path = FourTuple::new(ends.0.unwrap(), ends.1.unwrap());
        let packet = udp(path, Some(Ecn::Ect0), vec![0xab; 3]);
        let mut out = Vec::new();
        write_ip_packet(&packet, &mut out);
        assert_eq!(out.len(), packet.ip_len());
        assert_eq!(out[..8], [0x60, 0x20, 0, 0, 0, 11, 17, 64]);
        assert_eq!(out[8], 0xfd);
        assert_eq!(out[40..46], [0x12, 0x34, 0x56, 0x78, 0, 11]);
    }

    #[test]
    fn a_udp_checksum_of_zero_is_sent_as_all_ones() {
        let path = FourTuple::new(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
        let checksum_with = |payload: [u8; 2]| {
            let mut out = Vec::new();
            write_ip_packet(&udp(path, None, payload.to_vec()), &mut out);
            [out[26], out[27]]
        };
        // A payload that equals the checksum without it brings the sum to its maximum.
        assert_eq!(checksum_with(checksum_with([0, 0])), [0xff, 0xff]);
    }
}
