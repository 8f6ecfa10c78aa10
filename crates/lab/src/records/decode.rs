//! [`Contents`]: what a packet carries, as far as the table shows it.

use anabranch_dccp::wire::{Packet as DccpPacket, PacketType, Protection};
use anabranch_netsim::{Carrier, Packet};
use anabranch_wire::{ChecksumMode, Chunk, Packet as SctpPacket};
use rtp_types::RtpPacket;

/// SCTP over UDP (RFC 6951 section 4).
const SCTP_PORT: u16 = 9_899;
/// RTP's own (RFC 3551 section 8).
const RTP_PORT: u16 = 5_004;
const TCP_HEADER_MIN: usize = 20;

/// What a packet carries. It is filled anew for each packet, so that none needs memory of its own.
#[derive(Debug, Default)]
pub(super) struct Contents {
    pub(super) protocol: &'static str,
    /// Which numbers its pieces count on: those of one direction of an association or connection.
    pub(super) numbering: Option<u64>,
    pub(super) pieces: Vec<Piece>,
}

/// What UDP carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum InUdp {
    /// SCTP (RFC 6951).
    Sctp,
    /// DCCP (RFC 6773).
    Dccp,
}

/// A chunk of data, or the payload of a packet.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Piece {
    /// In DCCP the type of the packet.
    pub(super) chunk: Option<&'static str>,
    pub(super) stream: Option<u16>,
    pub(super) tsn: Option<u32>,
    /// The stream sequence number of DATA, the message identifier of I-DATA.
    pub(super) message: Option<u32>,
    /// Of TCP, RTP or DCCP.
    pub(super) sequence: Option<u64>,
    pub(super) ssrc: Option<u32>,
    pub(super) payload: Option<u32>,
}

impl Piece {
    /// Its first number and the one behind its last, where something can be sent again.
    pub(super) fn numbers(&self) -> Option<(u32, u32)> {
        let tcp = || {
            let len = self.payload.filter(|len| *len > 0)?;
            let is_tcp = self.ssrc.is_none() && self.chunk.is_none();
            Some((self.sequence.filter(|_| is_tcp)? as u32, len))
        };
        let (first, count) = self.tsn.map(|tsn| (tsn, 1)).or_else(tcp)?;
        Some((first, first.wrapping_add(count)))
    }
}

impl Contents {
    /// `in_udp`: what UDP carries, whatever its ports say, if that is known.
    pub(super) fn fill(&mut self, packet: &Packet, in_udp: Option<InUdp>) {
        self.numbering = None;
        self.pieces.clear();
        let ports = [packet.path.local.port(), packet.path.remote.port()];
        match packet.carrier {
            Carrier::Sctp => self.sctp(&packet.bytes),
            Carrier::Tcp => self.tcp(packet),
            Carrier::Udp if in_udp == Some(InUdp::Dccp) => self.dccp(packet, Protection::Udp),
            Carrier::Udp if in_udp == Some(InUdp::Sctp) || ports.contains(&SCTP_PORT) => {
                self.sctp(&packet.bytes);
            }
            Carrier::Udp if ports.contains(&RTP_PORT) => self.rtp(&packet.bytes),
            Carrier::Udp => self.opaque("UDP", &packet.bytes),
            Carrier::Dccp => self.dccp(packet, Protection::header(packet.path)),
        }
    }

    fn opaque(&mut self, protocol: &'static str, bytes: &[u8]) {
        self.protocol = protocol;
        self.pieces.push(Piece { payload: Some(bytes.len() as u32), ..Piece::default() });
    }

    fn sctp(&mut self, bytes: &[u8]) {
        self.protocol = "SCTP";
        let Ok(packet) = SctpPacket::decode(bytes, ChecksumMode::Ignore) else { return };
        self.numbering = Some(packet.header.verification_tag.0.into());
        self.pieces.extend(packet.chunks().filter_map(|chunk| piece(&chunk.ok()?)));
    }

    /// As RFC 9293 section 3.1 has it.
    fn tcp(&mut self, packet: &Packet) {
        self.protocol = "TCP";
        let bytes = &packet.bytes[..];
        let Some((header, _)) = bytes.split_at_checked(TCP_HEADER_MIN) else { return };
        let [_, _, _, _, a, b, c, d, ..] = *header else { return };
        let offset = usize::from(header[12] >> 4) * 4;
        let ports = [packet.path.local.port(), packet.path.remote.port()];
        self.numbering = Some(u64::from(ports[0]) << 16 | u64::from(ports[1]));
        self.pieces.push(Piece {
            sequence: Some(u32::from_be_bytes([a, b, c, d]).into()),
            payload: Some(bytes.len().saturating_sub(offset) as u32),
            ..Piece::default()
        });
    }

    fn rtp(&mut self, bytes: &[u8]) {
        let Ok(packet) = RtpPacket::parse(bytes) else { return self.opaque("UDP", bytes) };
        self.protocol = "RTP";
        self.pieces.push(Piece {
            sequence: Some(packet.sequence_number().into()),
            ssrc: Some(packet.ssrc()),
            payload: Some(packet.payload().len() as u32),
            ..Piece::default()
        });
    }

    fn dccp(&mut self, packet: &Packet, protection: Protection) {
        self.protocol = "DCCP";
        let Ok(packet) = DccpPacket::decode(protection, &packet.bytes) else { return };
        self.pieces.push(Piece {
            chunk: Some(dccp_type(packet.kind.packet_type())),
            sequence: Some(packet.sequence_number.value()),
            payload: Some(packet.data.len() as u32),
            ..Piece::default()
        });
    }
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

const fn dccp_type(packet_type: PacketType) -> &'static str {
    match packet_type {
        PacketType::Request => "Request",
        PacketType::Response => "Response",
        PacketType::Data => "Data",
        PacketType::Ack => "Ack",
        PacketType::DataAck => "DataAck",
        PacketType::CloseReq => "CloseReq",
        PacketType::Close => "Close",
        PacketType::Reset => "Reset",
        PacketType::Sync => "Sync",
        PacketType::SyncAck => "SyncAck",
    }
}
