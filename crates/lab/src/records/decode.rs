//! [`Contents`]: what a packet carries, as far as the table shows it.

use anabranch_netsim::{Carrier, Packet};
use anabranch_wire::{ChecksumMode, Chunk, Packet as SctpPacket};
use rtp_types::RtpPacket;

/// SCTP over UDP (RFC 6951 section 4).
const SCTP_PORT: u16 = 9_899;
/// RTP's own (RFC 3551 section 8).
const RTP_PORT: u16 = 5_004;
const TCP_HEADER_MIN: usize = 20;

/// What a packet carries.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Contents {
    pub(super) protocol: &'static str,
    /// Which numbers its pieces count on: those of one direction of an association or connection.
    pub(super) numbering: Option<u64>,
    pub(super) pieces: Vec<Piece>,
}

/// A chunk of data, or the payload of a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Piece {
    pub(super) chunk: Option<&'static str>,
    pub(super) stream: Option<u16>,
    pub(super) tsn: Option<u32>,
    /// The stream sequence number of DATA, the message identifier of I-DATA.
    pub(super) message: Option<u32>,
    /// Of TCP or RTP.
    pub(super) sequence: Option<u32>,
    pub(super) ssrc: Option<u32>,
    pub(super) payload: Option<u32>,
}

impl Piece {
    /// Its first number and the one behind its last, where something can be sent again.
    pub(super) fn numbers(&self) -> Option<(u32, u32)> {
        let tcp = || {
            let len = self.payload.filter(|len| *len > 0)?;
            Some((self.sequence.filter(|_| self.ssrc.is_none())?, len))
        };
        let (first, count) = self.tsn.map(|tsn| (tsn, 1)).or_else(tcp)?;
        Some((first, first.wrapping_add(count)))
    }
}

impl Contents {
    /// `sctp_in_udp`: whether SCTP is what UDP carries, whatever its ports say.
    pub(super) fn of(packet: &Packet, sctp_in_udp: bool) -> Self {
        let ports = [packet.path.local.port(), packet.path.remote.port()];
        match packet.carrier {
            Carrier::Sctp => sctp(&packet.bytes),
            Carrier::Tcp => tcp(packet),
            Carrier::Udp if sctp_in_udp || ports.contains(&SCTP_PORT) => sctp(&packet.bytes),
            Carrier::Udp if ports.contains(&RTP_PORT) => rtp(&packet.bytes),
            Carrier::Udp => opaque("UDP", &packet.bytes),
            Carrier::Dccp => opaque("DCCP", &packet.bytes),
        }
    }
}

fn opaque(protocol: &'static str, bytes: &[u8]) -> Contents {
    let piece = Piece { payload: Some(bytes.len() as u32), ..Piece::default() };
    Contents { protocol, numbering: None, pieces: vec![piece] }
}

fn sctp(bytes: &[u8]) -> Contents {
    let mut contents = Contents { protocol: "SCTP", numbering: None, pieces: Vec::new() };
    let Ok(packet) = SctpPacket::decode(bytes, ChecksumMode::Ignore) else { return contents };
    contents.numbering = Some(packet.header.verification_tag.0.into());
    let pieces = packet.chunks().filter_map(|chunk| piece(&chunk.ok()?));
    contents.pieces = pieces.collect();
    contents
}

fn piece(chunk: &Chunk<'_>) -> Option<Piece> {
    if let Chunk::Data(data) = chunk {
        return Some(Piece {
            chunk: Some("DATA"),
            stream: Some(data.stream.0),
            tsn: Some(data.tsn.0),
            message: (!data.unordered).then_some(data.ssn.0.into()),
            payload: Some(data.payload.len() as u32),
            ..Piece::default()
        });
    }
    let Chunk::IData(data) = chunk else { return None };
    Some(Piece {
        chunk: Some("I-DATA"),
        stream: Some(data.stream.0),
        tsn: Some(data.tsn.0),
        message: Some(data.mid.0),
        payload: Some(data.payload.len() as u32),
        ..Piece::default()
    })
}

/// As RFC 9293 section 3.1 has it.
fn tcp(packet: &Packet) -> Contents {
    let bytes = &packet.bytes[..];
    let mut contents = Contents { protocol: "TCP", numbering: None, pieces: Vec::new() };
    let Some((header, _)) = bytes.split_at_checked(TCP_HEADER_MIN) else { return contents };
    let [_, _, _, _, a, b, c, d, ..] = *header else { return contents };
    let offset = usize::from(header[12] >> 4) * 4;
    let ports = [packet.path.local.port(), packet.path.remote.port()];
    contents.numbering = Some(u64::from(ports[0]) << 16 | u64::from(ports[1]));
    contents.pieces.push(Piece {
        sequence: Some(u32::from_be_bytes([a, b, c, d])),
        payload: Some(bytes.len().saturating_sub(offset) as u32),
        ..Piece::default()
    });
    contents
}

fn rtp(bytes: &[u8]) -> Contents {
    let Ok(packet) = RtpPacket::parse(bytes) else { return opaque("UDP", bytes) };
    let piece = Piece {
        sequence: Some(packet.sequence_number().into()),
        ssrc: Some(packet.ssrc()),
        payload: Some(packet.payload().len() as u32),
        ..Piece::default()
    };
    Contents { protocol: "RTP", numbering: None, pieces: vec![piece] }
}
