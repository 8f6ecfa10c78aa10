//! [`DataFormat`]: which chunk carries the user data of an association.

use anabranch_wire::{ChunkType, Data, IData, Mid, Ssn, Tsn};

use crate::sequence::{extend, extend_ssn};

/// The one kind of chunk that an association carries user data in.
///
/// RFC 8260 section 2.2.1: "If user message interleaving support has been negotiated for an
/// association, I-DATA chunks MUST be used for all user messages and DATA chunks MUST NOT be used."
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) enum DataFormat {
    /// The fragments of a message have consecutive TSNs, and ordered messages have SSNs of 16 bits.
    #[default]
    Data,
    /// Messages have numbers of 32 bits, and so have the fragments within them.
    IData,
}

impl DataFormat {
    pub(crate) const fn chunk_type(self) -> ChunkType {
        match self {
            Self::Data => ChunkType::DATA,
            Self::IData => ChunkType::I_DATA,
        }
    }

    /// Bytes that stand before the payload.
    pub(crate) const fn header_len(self) -> usize {
        match self {
            Self::Data => Data::HEADER_LEN,
            Self::IData => IData::HEADER_LEN,
        }
    }

    /// Bytes that a chunk of this payload takes in a packet.
    pub(crate) const fn chunk_size(self, payload: usize) -> usize {
        self.header_len() + payload.next_multiple_of(4)
    }

    /// The extended number of a message that is nearest to `reference`. A DATA chunk tells its
    /// lower 16 bits only.
    pub(crate) fn extend_mid(self, reference: u64, mid: Mid) -> u64 {
        match self {
            Self::Data => extend_ssn(reference, ssn_of(mid)),
            Self::IData => extend(reference, Tsn(mid.0)),
        }
    }
}

/// RFC 8260 section 4.1: "the lower-order 16 bits of the MID are used as the SSN".
pub(crate) const fn ssn_of(mid: Mid) -> Ssn {
    Ssn(mid.0 as u16)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_of_messages_wrap_at_16_bits_in_data_chunks_and_at_32_in_i_data_chunks() {
        let reference = 1 << 32 | 0xffff;
        assert_eq!(DataFormat::Data.extend_mid(reference, Mid(0)), reference + 1);
        assert_eq!(DataFormat::IData.extend_mid(reference, Mid(0x1_0000)), reference + 1);
        assert_eq!(DataFormat::IData.extend_mid(reference, Mid(0)), reference - 0xffff);
        assert_eq!(DataFormat::IData.extend_mid(1 << 32 | 0xffff_ffff, Mid(0)), 2 << 32);
    }

    #[test]
    fn an_i_data_chunk_has_four_bytes_more() {
        let sizes = [DataFormat::Data, DataFormat::IData].map(|format| format.chunk_size(5));
        assert_eq!(sizes, [24, 28]);
    }
}
