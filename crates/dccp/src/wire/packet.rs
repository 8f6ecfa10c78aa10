//! [`Packet`]: the generic header, what the type adds to it, options and data.

use super::option::Options;
use super::{DecodeError, PacketType, Protection, ResetCode, SequenceNumber, ServiceCode};

/// A generic header with short sequence numbers.
const SHORT_LEN: usize = 12;
/// A generic header with long ones.
const LONG_LEN: usize = 16;
/// Where the checksum stands.
const CHECKSUM_AT: usize = 6;
/// Data Offset counts words of this many bytes.
const WORD: usize = 4;

/// A packet. Decoded, it borrows from the datagram.
///
/// RFC 4340 section 5.1, with the bit X set:
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |          Source Port          |           Dest Port           |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |  Data Offset  | CCVal | CsCov |           Checksum            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |     |       |X|               |                               .
/// | Res | Type  |=|   Reserved    |  Sequence Number (high bits)  .
/// |     |       |1|               |                               .
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// .                  Sequence Number (low bits)                   |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
///
/// Without it, 24 bits of sequence number follow it at once, and the header has 12 bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Packet<'a> {
    /// DCCP's port of the sender.
    pub source_port: u16,
    /// DCCP's port of the receiver.
    pub destination_port: u16,
    /// CCVal, four bits for the sender's CCID.
    pub ccval: u8,
    /// CsCov: how much of the data the header checksum covers. 0: all; n: (n - 1) * 4 bytes.
    pub checksum_coverage: u8,
    /// The place of the packet among all of its sender.
    pub sequence_number: SequenceNumber,
    /// Whether X is 0, so that the numbers are the low 24 bits only.
    pub is_short: bool,
    /// The type, with its fields.
    pub kind: Kind,
    /// The options.
    pub options: Options<'a>,
    /// The application data area, which only some types give to the application.
    pub data: &'a [u8],
}

/// The type of a packet with the fields that it adds to the generic header.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Kind {
    /// RFC 4340 section 5.2.
    Request {
        /// The service that is asked for.
        service_code: ServiceCode,
    },
    /// RFC 4340 section 5.3.
    Response {
        /// The number of the Request.
        acknowledgement_number: SequenceNumber,
        /// The service that was asked for.
        service_code: ServiceCode,
    },
    /// RFC 4340 section 5.4.
    Data,
    /// RFC 4340 section 5.4.
    Ack {
        /// The greatest number received.
        acknowledgement_number: SequenceNumber,
    },
    /// RFC 4340 section 5.4.
    DataAck {
        /// The greatest number received.
        acknowledgement_number: SequenceNumber,
    },
    /// RFC 4340 section 5.5.
    CloseReq {
        /// The greatest number received.
        acknowledgement_number: SequenceNumber,
    },
    /// RFC 4340 section 5.5.
    Close {
        /// The greatest number received.
        acknowledgement_number: SequenceNumber,
    },
    /// RFC 4340 section 5.6.
    Reset {
        /// The greatest number received.
        acknowledgement_number: SequenceNumber,
        /// Why the connection ended.
        code: ResetCode,
        /// Data 1 to 3: what the code says about it.
        details: [u8; 3],
    },
    /// RFC 4340 section 5.7.
    Sync {
        /// A number that was received, if not as valid.
        acknowledgement_number: SequenceNumber,
    },
    /// RFC 4340 section 5.7.
    SyncAck {
        /// The number of the Sync.
        acknowledgement_number: SequenceNumber,
    },
}

impl Kind {
    /// The type.
    #[must_use]
    pub const fn packet_type(&self) -> PacketType {
        match self {
            Self::Request { .. } => PacketType::Request,
            Self::Response { .. } => PacketType::Response,
            Self::Data => PacketType::Data,
            Self::Ack { .. } => PacketType::Ack,
            Self::DataAck { .. } => PacketType::DataAck,
            Self::CloseReq { .. } => PacketType::CloseReq,
            Self::Close { .. } => PacketType::Close,
            Self::Reset { .. } => PacketType::Reset,
            Self::Sync { .. } => PacketType::Sync,
            Self::SyncAck { .. } => PacketType::SyncAck,
        }
    }

    /// The Acknowledgement Number, which all types but two have.
    #[must_use]
    pub const fn acknowledgement_number(&self) -> Option<SequenceNumber> {
        match *self {
            Self::Request { .. } | Self::Data => None,
            Self::Response { acknowledgement_number, .. }
            | Self::Ack { acknowledgement_number }
            | Self::DataAck { acknowledgement_number }
            | Self::CloseReq { acknowledgement_number }
            | Self::Close { acknowledgement_number }
            | Self::Reset { acknowledgement_number, .. }
            | Self::Sync { acknowledgement_number }
            | Self::SyncAck { acknowledgement_number } => Some(acknowledgement_number),
        }
    }
}

/// RFC 4340 section 5.1: Data Offset counts 32-bit words, and has 8 bits.
const DATA_OFFSET_MAX: usize = u8::MAX as usize * WORD;

/// The bytes of a header's fixed fields.
const fn fixed_len(ty: PacketType, is_short: bool) -> usize {
    let (generic, acknowledgement) = if is_short { (SHORT_LEN, 4) } else { (LONG_LEN, 8) };
    let acknowledgement = if ty.has_acknowledgement() { acknowledgement } else { 0 };
    // A service code, or a reset code with its data.
    let has_word = matches!(ty, PacketType::Request | PacketType::Response | PacketType::Reset);
    generic + acknowledgement + if has_word { WORD } else { 0 }
}

impl<'a> Packet<'a> {
    /// Reads a packet that arrived under this protection.
    ///
    /// # Errors
    ///
    /// If it fails one of the checks of RFC 4340 section 8.5, step 1.
    pub fn decode(protection: Protection, bytes: &'a [u8]) -> Result<Self, DecodeError> {
        // RFC 4340 section 8.5: "If the packet is shorter than 12 bytes, drop packet and return".
        let Some((&generic, _)) = bytes.split_first_chunk::<SHORT_LEN>() else {
            return Err(DecodeError::TooShort { len: bytes.len(), min: SHORT_LEN });
        };
        let [s0, s1, d0, d1, offset, values, _, _, type_and_x, high @ ..] = generic;
        let code = type_and_x >> 1 & 0xf;
        // "If P.type is not understood, drop packet and return".
        let ty = PacketType::from_code(code).ok_or(DecodeError::ReservedType { code })?;
        let is_short = type_and_x & 1 == 0;
        // "If P.type is not Data, Ack, or DataAck and P.X == 0 (the packet has short sequence
        // numbers), drop packet and return".
        if is_short && !ty.may_be_short() {
            return Err(DecodeError::ShortNumbers { ty });
        }
        let (min, offset) = (fixed_len(ty, is_short), usize::from(offset) * WORD);
        if bytes.len() < min {
            return Err(DecodeError::TooShort { len: bytes.len(), min });
        }
        // "If P.Data Offset is smaller than the given packet type's fixed header length or larger
        // than the packet's length, drop packet and return".
        if offset < min || offset > bytes.len() {
            return Err(DecodeError::DataOffset { ty, offset, min, len: bytes.len() });
        }
        let (header, data) = bytes.split_at(offset);
        let (fixed, options) = header.split_at(min);
        let checksum_coverage = values & 0xf;
        verify(protection, bytes, offset, covered(checksum_coverage, data)?)?;
        let fields = fixed.get(SHORT_LEN..).unwrap_or_default();
        let (sequence_number, fields) = if is_short {
            (number(&[0, 0, 0, high[0], high[1], high[2]]), fields)
        } else {
            let (low, fields) = fields.split_at(LONG_LEN - SHORT_LEN);
            (number(&[high[1], high[2], low[0], low[1], low[2], low[3]]), fields)
        };
        Ok(Self {
            source_port: u16::from_be_bytes([s0, s1]),
            destination_port: u16::from_be_bytes([d0, d1]),
            ccval: values >> 4,
            checksum_coverage,
            sequence_number,
            is_short,
            kind: kind(ty, is_short, fields),
            options: Options::new(options),
            data,
        })
    }

    /// Appends the packet to `out`.
    ///
    /// A type that must have long sequence numbers gets them. Where there are fewer data than
    /// `checksum_coverage` says, all are covered.
    pub fn encode(&self, protection: Protection, out: &mut Vec<u8>) {
        let start = out.len();
        let ty = self.kind.packet_type();
        let is_short = self.is_short && ty.may_be_short();
        let options = self.options.as_bytes();
        let offset = fixed_len(ty, is_short) + options.len();
        debug_assert!(offset <= DATA_OFFSET_MAX && offset.is_multiple_of(WORD));
        let (checksum_coverage, covered) = covered(self.checksum_coverage, self.data)
            .map_or((0, self.data.len()), |covered| (self.checksum_coverage & 0xf, covered));
        out.extend(self.source_port.to_be_bytes());
        out.extend(self.destination_port.to_be_bytes());
        out.extend([(offset / WORD) as u8, self.ccval << 4 | checksum_coverage, 0, 0]);
        out.push(ty.code() << 1 | u8::from(!is_short));
        if !is_short {
            out.push(0);
        }
        put_number(self.sequence_number, is_short, out);
        if let Some(acknowledgement_number) = self.kind.acknowledgement_number() {
            out.extend(if is_short { &[0][..] } else { &[0, 0] });
            put_number(acknowledgement_number, is_short, out);
        }
        match self.kind {
            Kind::Request { service_code } | Kind::Response { service_code, .. } => {
                out.extend(service_code.0.to_be_bytes());
            }
            Kind::Reset { code, details: [first, second, third], .. } => {
                out.extend([code.0, first, second, third]);
            }
            Kind::Data
            | Kind::Ack { .. }
            | Kind::DataAck { .. }
            | Kind::CloseReq { .. }
            | Kind::Close { .. }
            | Kind::Sync { .. }
            | Kind::SyncAck { .. } => {}
        }
        out.extend_from_slice(options);
        out.extend_from_slice(self.data);
        let (_, packet) = out.split_at_mut(start);
        let checksum = protection.checksum(packet, offset + covered).unwrap_or(0);
        if let Some(field) = packet.get_mut(CHECKSUM_AT..CHECKSUM_AT + 2) {
            field.copy_from_slice(&checksum.to_be_bytes());
        }
    }

    /// The bytes of this packet without its data.
    #[must_use]
    pub fn header_len(&self) -> usize {
        let ty = self.kind.packet_type();
        fixed_len(ty, self.is_short && ty.may_be_short()) + self.options.as_bytes().len()
    }
}

/// How many bytes of the data the header checksum covers.
fn covered(checksum_coverage: u8, data: &[u8]) -> Result<usize, DecodeError> {
    // RFC 4340 section 9.2: "CsCov = 1-15 The Checksum field covers the DCCP header, DCCP options,
    // network-layer pseudoheader, and the initial (CsCov-1)*4 bytes of the packet's application
    // data."
    let covered = match checksum_coverage {
        0 => data.len(),
        coverage => (usize::from(coverage) - 1) * WORD,
    };
    // "The value (CsCov-1)*4 MUST be less than or equal to the length of the application data.
    // Packets with invalid CsCov values MUST be ignored".
    if covered > data.len() {
        return Err(DecodeError::Coverage { covered, len: data.len() });
    }
    Ok(covered)
}

fn verify(
    protection: Protection,
    bytes: &[u8],
    offset: usize,
    covered: usize,
) -> Result<(), DecodeError> {
    if protection == Protection::Udp {
        return Ok(());
    }
    // RFC 4340 section 9.1: "When calculating the checksum, the Checksum field itself is treated as
    // 0." With the field as it is, the complement of the sum is 0 if the checksum is right.
    match protection.checksum(bytes, offset + covered) {
        Some(0) => Ok(()),
        _ => Err(DecodeError::Checksum),
    }
}

fn number(bytes: &[u8; 6]) -> SequenceNumber {
    SequenceNumber::new(bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte)))
}

fn put_number(number: SequenceNumber, is_short: bool, out: &mut Vec<u8>) {
    let bytes = number.value().to_be_bytes();
    out.extend_from_slice(if is_short { &bytes[5..] } else { &bytes[2..] });
}

/// `fields` follow the sequence number, and are as many as the type has.
fn kind(ty: PacketType, is_short: bool, fields: &[u8]) -> Kind {
    let (acknowledgement_number, word) = match *fields {
        [_, a, b, c] if is_short => (number(&[0, 0, 0, a, b, c]), [0; 4]),
        [_, _, a, b, c, d, e, f] => (number(&[a, b, c, d, e, f]), [0; 4]),
        [_, _, a, b, c, d, e, f, w0, w1, w2, w3] => (number(&[a, b, c, d, e, f]), [w0, w1, w2, w3]),
        [w0, w1, w2, w3] => (SequenceNumber::default(), [w0, w1, w2, w3]),
        _ => (SequenceNumber::default(), [0; 4]),
    };
    let service_code = ServiceCode(u32::from_be_bytes(word));
    match ty {
        PacketType::Request => Kind::Request { service_code },
        PacketType::Response => Kind::Response { acknowledgement_number, service_code },
        PacketType::Data => Kind::Data,
        PacketType::Ack => Kind::Ack { acknowledgement_number },
        PacketType::DataAck => Kind::DataAck { acknowledgement_number },
        PacketType::CloseReq => Kind::CloseReq { acknowledgement_number },
        PacketType::Close => Kind::Close { acknowledgement_number },
        PacketType::Reset => {
            let [code, details @ ..] = word;
            Kind::Reset { acknowledgement_number, code: ResetCode(code), details }
        }
        PacketType::Sync => Kind::Sync { acknowledgement_number },
        PacketType::SyncAck => Kind::SyncAck { acknowledgement_number },
    }
}

#[cfg(test)]
mod tests;
