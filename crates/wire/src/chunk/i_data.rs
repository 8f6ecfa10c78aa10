//! I-DATA (64), RFC 8260 section 2.1.

use super::{EncodeChunk, RawChunk};
use crate::ChunkType;
use crate::{DecodeError, Fsn, Level, Mid, Ppid, StreamId, Tsn, tlv};

/// Payload Data supporting Interleaving: one user message or a fragment of it, among fragments of
/// messages of other streams.
///
/// ```text
///  0                   1                   2                   3
///  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |   Type = 64   |  Res  |I|U|B|E|       Length = Variable       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                              TSN                              |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |        Stream Identifier      |           Reserved            |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |                      Message Identifier                       |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// |    Payload Protocol Identifier / Fragment Sequence Number     |
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// \                                                               \
/// /                           User Data                           /
/// \                                                               \
/// +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
/// ```
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct IData<'a> {
    /// The chunk's place in the association.
    pub tsn: Tsn,
    /// The stream it belongs to.
    pub stream: StreamId,
    /// Its message's place among the ordered or the unordered ones of the stream.
    pub mid: Mid,
    /// The U bit: the message may overtake others.
    pub unordered: bool,
    /// The B bit and the field that it gives its meaning.
    pub fragment: FragmentPlace,
    /// The E bit: the last fragment of its message.
    pub ending: bool,
    /// The I bit: the sender asks for a SACK without delay.
    pub immediate: bool,
    /// What its first two flags tell, where both ends announced that they mean something.
    pub level: Level,
    /// The user data, at least one byte in a decoded chunk.
    pub payload: &'a [u8],
}

/// Where a fragment stands in its message.
///
/// RFC 8260 section 2.1: "If the B bit is set, this field contains the PPID of the user message.";
/// "If the B bit is not set, this field contains the FSN."
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum FragmentPlace {
    /// The first one, whose FSN is 0.
    First(Ppid),
    /// A later one.
    Later(Fsn),
}

impl<'a> IData<'a> {
    /// The chunk's length without its payload.
    pub const HEADER_LEN: usize = 20;

    const ENDING: u8 = 0b0001;
    const BEGINNING: u8 = 0b0010;
    const UNORDERED: u8 = 0b0100;
    const IMMEDIATE: u8 = 0b1000;

    pub(super) fn decode(raw: RawChunk<'a>) -> Result<Self, DecodeError> {
        let (fixed, payload) = raw.split_fixed::<16>()?;
        let &[t0, t1, t2, t3, s0, s1, _, _, m0, m1, m2, m3, f0, f1, f2, f3] = fixed;
        let tsn = Tsn(u32::from_be_bytes([t0, t1, t2, t3]));
        // RFC 8260 section 2.2.2: "All other properties of the existing SCTP DATA chunk also apply
        // to the I-DATA chunk", among them that there is user data.
        if payload.is_empty() {
            return Err(DecodeError::NoUserData { tsn });
        }
        let field = u32::from_be_bytes([f0, f1, f2, f3]);
        let is_first = raw.flags & Self::BEGINNING != 0;
        Ok(Self {
            tsn,
            stream: StreamId(u16::from_be_bytes([s0, s1])),
            mid: Mid(u32::from_be_bytes([m0, m1, m2, m3])),
            unordered: raw.flags & Self::UNORDERED != 0,
            fragment: match is_first {
                true => FragmentPlace::First(Ppid(field)),
                false => FragmentPlace::Later(Fsn(field)),
            },
            ending: raw.flags & Self::ENDING != 0,
            immediate: raw.flags & Self::IMMEDIATE != 0,
            level: Level::from_flags(raw.flags),
            payload,
        })
    }

    fn flags(&self) -> u8 {
        let bit = |set: bool, bit: u8| if set { bit } else { 0 };
        bit(self.ending, Self::ENDING)
            | bit(matches!(self.fragment, FragmentPlace::First(_)), Self::BEGINNING)
            | bit(self.unordered, Self::UNORDERED)
            | bit(self.immediate, Self::IMMEDIATE)
            | self.level.to_flags()
    }

    /// All that stands before the payload, so that it is written at once.
    fn header(&self) -> [u8; IData::HEADER_LEN] {
        let value_len = Self::HEADER_LEN - super::HEADER_LEN + self.payload.len();
        let [ty, flags, l0, l1] = super::header(ChunkType::I_DATA, self.flags(), value_len);
        let [t0, t1, t2, t3] = self.tsn.0.to_be_bytes();
        let [s0, s1] = self.stream.0.to_be_bytes();
        let [m0, m1, m2, m3] = self.mid.0.to_be_bytes();
        let (FragmentPlace::First(Ppid(field)) | FragmentPlace::Later(Fsn(field))) = self.fragment;
        let [f0, f1, f2, f3] = field.to_be_bytes();
        // RFC 8260 section 2.1, of Reserved: "It MUST be set to 0 by the sender and MUST be ignored
        // by the receiver."
        let (r0, r1) = (0, 0);
        [ty, flags, l0, l1, t0, t1, t2, t3, s0, s1, r0, r1, m0, m1, m2, m3, f0, f1, f2, f3]
    }
}

impl EncodeChunk for IData<'_> {
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

    fn i_data(fragment: FragmentPlace, payload: &[u8]) -> IData<'_> {
        IData {
            tsn: Tsn(0x0102_0304),
            stream: StreamId(0x0506),
            mid: Mid(0x0708_090a),
            unordered: false,
            fragment,
            ending: false,
            immediate: false,
            level: Level::Urgent,
            payload,
        }
    }

    #[test]
    fn the_first_fragment_has_the_ppid_where_later_ones_have_the_fsn() {
        let first = i_data(FragmentPlace::First(Ppid(51)), b"a");
        let bytes = hex("40020015 01020304 05060000 0708090a 00000033 61000000");
        assert_chunk(&bytes, &Chunk::IData(first));
        let last = IData { ending: true, ..i_data(FragmentPlace::Later(Fsn(1)), b"b") };
        let bytes = hex("40010015 01020304 05060000 0708090a 00000001 62000000");
        assert_chunk(&bytes, &Chunk::IData(last));
    }

    #[test]
    fn every_flag_and_every_padding_survives_a_round_trip() {
        for (flags, payload) in
            [(1, &b"1"[..]), (2, b"22"), (4, b"333"), (8, b"4444"), (0x40, b"5"), (0x80, b"6")]
        {
            let field = 0xfffe_fdfc;
            let fragment = match flags == 2 {
                true => FragmentPlace::First(Ppid(field)),
                false => FragmentPlace::Later(Fsn(field)),
            };
            assert_round_trip(&Chunk::IData(IData {
                unordered: flags == 1,
                ending: flags == 4,
                immediate: flags == 8,
                level: Level::from_flags(flags),
                ..i_data(fragment, payload)
            }));
        }
    }

    #[test]
    fn reserved_bits_are_ignored() {
        let packet = packet_around(&hex("40330015 00000001 0002ffff 00000003 00000004 61000000"));
        let Ok(Chunk::IData(data)) = first_chunk(&packet) else { panic!("not an I-DATA chunk") };
        assert_eq!((data.stream, data.mid, data.flags()), (StreamId(2), Mid(3), 0b0011));
    }

    #[test]
    fn an_empty_payload_is_no_user_data() {
        let packet = packet_around(&hex("40030014 000003e8 00000000 00000000 00000000"));
        assert_eq!(first_chunk(&packet), Err(DecodeError::NoUserData { tsn: Tsn(1000) }));
    }

    #[test]
    fn missing_fixed_fields_are_refused() {
        let packet = packet_around(&hex("40030013 000003e8 00000000 00000000 00000000"));
        assert_eq!(
            first_chunk(&packet),
            Err(DecodeError::ChunkTooShort { ty: ChunkType::I_DATA, len: 19, min: 20 })
        );
    }
}
