//! DATA (0), RFC 9260 section 3.3.1.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::{DecodeError, Level, Ppid, Ssn, StreamId, Tsn, tlv};

/// Payload Data: one user message or a fragment of it.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 0    |  Res  |I|U|B|E|            Length             |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                              TSN                              |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |      Stream Identifier S      |   Stream Sequence Number n    |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                  Payload Protocol Identifier                  |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                 User Data (seq n of Stream S)                 /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Data<'a> {
    /// The chunk's place in the association.
    pub tsn: Tsn,
    /// The stream it belongs to.
    pub stream: StreamId,
    /// Its message's place in the stream; without meaning if `unordered`.
    pub ssn: Ssn,
    /// What the upper layer says the payload is.
    pub ppid: Ppid,
    /// The U bit: the message may overtake others.
    pub unordered: bool,
    /// The B bit: the first fragment of its message.
    pub beginning: bool,
    /// The E bit: the last fragment of its message.
    pub ending: bool,
    /// The I bit: the sender asks for a SACK without delay.
    pub immediate: bool,
    /// What its first two flags tell, where both ends announced that they mean something.
    pub level: Level,
    /// The user data, at least one byte in a decoded chunk.
    pub payload: &'a [u8],
}

impl<'a> Data<'a> {
    /// The chunk's length without its payload.
    pub const HEADER_LEN: usize = 16;

    const ENDING: u8 = 0b0001;
    const BEGINNING: u8 = 0b0010;
    const UNORDERED: u8 = 0b0100;
    const IMMEDIATE: u8 = 0b1000;

    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        let (fixed, payload) = raw.split_fixed::<12>()?;
        let &[t0, t1, t2, t3, s0, s1, n0, n1, p0, p1, p2, p3] = fixed;
        let tsn = Tsn(u32::from_be_bytes([t0, t1, t2, t3]));
        // RFC 9260 section 3.3.1: "A DATA chunk with a User Data field of length L will have the
        // Length field set to (16 + L) (indicating 16 + L bytes) where L MUST be greater than 0."
        if payload.is_empty() {
            return Err(DecodeError::NoUserData { tsn });
        }
        Ok(Self {
            tsn,
            stream: StreamId(u16::from_be_bytes([s0, s1])),
            ssn: Ssn(u16::from_be_bytes([n0, n1])),
            ppid: Ppid(u32::from_be_bytes([p0, p1, p2, p3])),
            unordered: raw.flags & Self::UNORDERED != 0,
            beginning: raw.flags & Self::BEGINNING != 0,
            ending: raw.flags & Self::ENDING != 0,
            immediate: raw.flags & Self::IMMEDIATE != 0,
            level: Level::from_flags(raw.flags),
            payload,
        })
    }

    fn flags(&self) -> u8 {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        bit(self.ending, Self::ENDING)
            | bit(self.beginning, Self::BEGINNING)
            | bit(self.unordered, Self::UNORDERED)
            | bit(self.immediate, Self::IMMEDIATE)
            | self.level.to_flags()
    }

    /// All that stands before the payload, so that it is written at once.
    fn header(&self) -> [u8; Data::HEADER_LEN] {
        let value_len = Self::HEADER_LEN - super::HEADER_LEN + self.payload.len();
        let [ty, flags, l0, l1] = super::header(ChunkType::DATA, self.flags(), value_len);
        let [t0, t1, t2, t3] = self.tsn.0.to_be_bytes();
        let [s0, s1] = self.stream.0.to_be_bytes();
        let [n0, n1] = self.ssn.0.to_be_bytes();
        let [p0, p1, p2, p3] = self.ppid.0.to_be_bytes();
        [ty, flags, l0, l1, t0, t1, t2, t3, s0, s1, n0, n1, p0, p1, p2, p3]
    }
}

impl EncodeChunk for Data<'_> {
    fn encoded_len(&self) -> usize {
        Self::HEADER_LEN + tlv::padded(self.payload.len())
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        buf.extend_from_slice(&self.header());
        buf.extend_from_slice(self.payload);
        tlv::pad(buf, self.payload.len());
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Chunk;
    use crate::test_support::{assert_chunk, assert_round_trip, first_chunk, hex, packet_around};

    #[test]
    fn linux_asks_for_an_immediate_sack() {
        let bytes = hex("000b0019 9e9ceb2b 00010001 00000000 696d6d656469617465 000000");
        let data = Data {
            tsn: Tsn(0x9e9c_eb2b),
            stream: StreamId(1),
            ssn: Ssn(1),
            ppid: Ppid(0),
            unordered: false,
            beginning: true,
            ending: true,
            immediate: true,
            level: Level::Urgent,
            payload: b"immediate",
        };
        assert_chunk(&bytes, &Chunk::Data(data));
    }

    #[test]
    fn linux_sends_an_unordered_message() {
        let bytes = hex("00070019 9e9ceb2a 00010000 00000000 756e6f726465726564 000000");
        let packet = packet_around(&bytes);
        let Ok(Chunk::Data(data)) = first_chunk(&packet) else { panic!("not a DATA chunk") };
        assert!(data.unordered && data.beginning && data.ending && !data.immediate);
    }

    #[test]
    fn every_flag_and_every_padding_survives_a_round_trip() {
        for (flags, payload) in
            [(1, &b"1"[..]), (2, b"22"), (4, b"333"), (8, b"4444"), (0x40, b"5"), (0x80, b"6")]
        {
            assert_round_trip(&Chunk::Data(Data {
                tsn: Tsn(u32::MAX),
                stream: StreamId(0x0102),
                ssn: Ssn(0x0304),
                ppid: Ppid(0x0506_0708),
                unordered: flags == 1,
                beginning: flags == 2,
                ending: flags == 4,
                immediate: flags == 8,
                level: Level::from_flags(flags),
                payload,
            }));
        }
    }

    #[test]
    fn reserved_flags_are_ignored() {
        let packet = packet_around(&hex("00330011 00000001 00000000 00000000 61000000"));
        let Ok(Chunk::Data(data)) = first_chunk(&packet) else { panic!("not a DATA chunk") };
        assert_eq!(data.flags(), 0b0011);
    }

    #[test]
    fn an_empty_payload_is_no_user_data() {
        let packet = packet_around(&hex("00030010 000003e8 00000000 00000000"));
        assert_eq!(first_chunk(&packet), Err(DecodeError::NoUserData { tsn: Tsn(1000) }));
    }

    #[test]
    fn missing_fixed_fields_are_refused() {
        let packet = packet_around(&hex("0003000f 000003e8 00000000 00000000"));
        assert_eq!(
            first_chunk(&packet),
            Err(DecodeError::ChunkTooShort { ty: ChunkType::DATA, len: 15, min: 16 })
        );
    }
}
