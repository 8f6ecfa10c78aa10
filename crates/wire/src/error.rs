//! [`DecodeError`]: which rule a packet broke.

use crate::tlv::TlvError;
use crate::{CauseCode, ChunkType, ParameterType, Tsn};

/// Why bytes are not what they should be: the sender's fault, one variant per broken rule.
///
/// Lengths are in bytes and count the header of what they measure, as the length fields do.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// Too short for a common header and one chunk header.
    #[error("a packet of {len} bytes; the shortest has {min}")]
    PacketTooShort {
        /// The packet's length.
        len: usize,
        /// The length of the shortest packet.
        min: usize,
    },
    /// The packet was damaged on its way.
    #[error("checksum {found:#010x}; the packet's CRC32c is {computed:#010x}")]
    ChecksumMismatch {
        /// What the packet carries.
        found: u32,
        /// What its bytes give.
        computed: u32,
    },
    /// "The Source Port Number 0 MUST NOT be used."
    #[error("source port 0; a port is 1 to 65535")]
    SourcePortZero,
    /// "The Destination Port Number 0 MUST NOT be used."
    #[error("destination port 0; a port is 1 to 65535")]
    DestinationPortZero,

    /// The packet ends within a chunk's header.
    #[error("{len} bytes after the last chunk; a chunk header has 4")]
    ChunkHeaderTruncated {
        /// How many bytes are left.
        len: usize,
    },
    /// A length that does not even count the chunk's header.
    #[error("{ty} chunk of length {len}; its header has 4 bytes")]
    ChunkLengthBelowHeader {
        /// The chunk's type.
        ty: ChunkType,
        /// Its length field.
        len: usize,
    },
    /// The packet ends within a chunk.
    #[error("{ty} chunk of length {len} with {available} bytes left in the packet")]
    ChunkBeyondPacket {
        /// The chunk's type.
        ty: ChunkType,
        /// Its length field.
        len: usize,
        /// How many bytes the packet has left.
        available: usize,
    },
    /// A chunk without all of its fixed fields.
    #[error("{ty} chunk of length {len}; its fixed fields need {min}")]
    ChunkTooShort {
        /// The chunk's type.
        ty: ChunkType,
        /// Its length field.
        len: usize,
        /// The length of its fixed fields.
        min: usize,
    },
    /// A chunk that has one length only has another.
    #[error("{ty} chunk of length {len}; its length is always {expected}")]
    ChunkLengthWrong {
        /// The chunk's type.
        ty: ChunkType,
        /// Its length field.
        len: usize,
        /// The length such a chunk has.
        expected: usize,
    },

    /// A DATA or I-DATA chunk with an empty User Data field.
    #[error("data chunk with TSN {tsn} has no user data; it needs at least 1 byte")]
    NoUserData {
        /// The chunk's TSN, for the error cause of the same name.
        tsn: Tsn,
    },
    /// A SACK chunk whose counts and length disagree.
    #[error(
        "SACK chunk of length {len} announces {gap_ack_blocks} gap ack blocks and \
         {duplicate_tsns} duplicate TSNs; they need a length of {expected}"
    )]
    SackListLength {
        /// The chunk's length field.
        len: usize,
        /// Its Number of Gap Ack Blocks.
        gap_ack_blocks: usize,
        /// Its Number of Duplicate TSNs.
        duplicate_tsns: usize,
        /// The length that fits both counts.
        expected: usize,
    },
    /// A FORWARD TSN chunk whose list does not consist of whole entries.
    #[error("FORWARD TSN chunk of length {len}; 8 and a multiple of 4 would be right")]
    ForwardTsnListLength {
        /// The chunk's length field.
        len: usize,
    },
    /// An I-FORWARD-TSN chunk whose list does not consist of whole entries.
    #[error("I-FORWARD-TSN chunk of length {len}; 8 and a multiple of 8 would be right")]
    IForwardTsnListLength {
        /// The chunk's length field.
        len: usize,
    },
    /// An ASCONF chunk whose first parameter is not the sender's address.
    #[error("ASCONF chunk of length {len} that does not begin with an address parameter")]
    AsconfWithoutAddress {
        /// The chunk's length field.
        len: usize,
    },
    /// A HEARTBEAT or HEARTBEAT ACK chunk without its mandatory parameter.
    #[error("{ty} chunk without a Heartbeat Info parameter")]
    MissingHeartbeatInfo {
        /// The chunk's type.
        ty: ChunkType,
    },

    /// A chunk ends within a parameter's header.
    #[error("{len} bytes after the last parameter; a parameter header has 4")]
    ParameterHeaderTruncated {
        /// How many bytes are left.
        len: usize,
    },
    /// A length that does not even count the parameter's header.
    #[error("{ty} parameter of length {len}; its header has 4 bytes")]
    ParameterLengthBelowHeader {
        /// The parameter's type.
        ty: ParameterType,
        /// Its length field.
        len: usize,
    },
    /// A chunk ends within a parameter.
    #[error("{ty} parameter of length {len} with {available} bytes left in the chunk")]
    ParameterBeyondChunk {
        /// The parameter's type.
        ty: ParameterType,
        /// Its length field.
        len: usize,
        /// How many bytes the chunk has left.
        available: usize,
    },
    /// A parameter that has one length only has another.
    #[error("{ty} parameter of length {len}; its length is always {expected}")]
    ParameterLengthWrong {
        /// The parameter's type.
        ty: ParameterType,
        /// Its length field.
        len: usize,
        /// The length such a parameter has.
        expected: usize,
    },
    /// A parameter without all of its fixed fields.
    #[error("{ty} parameter of length {len}; its fixed fields need {min}")]
    ParameterTooShort {
        /// The parameter's type.
        ty: ParameterType,
        /// Its length field.
        len: usize,
        /// The length of its fixed fields.
        min: usize,
    },
    /// A request of an ASCONF chunk that does not name one address.
    #[error("{ty} parameter of length {len} without one address; 16 or 28 would be right")]
    RequestWithoutAddress {
        /// The parameter's type.
        ty: ParameterType,
        /// Its length field.
        len: usize,
    },
    /// A request to reset streams that ends within a stream number.
    #[error("{ty} parameter of length {len}; a multiple of 2 would be right")]
    StreamNumbersLengthOdd {
        /// The parameter's type.
        ty: ParameterType,
        /// Its length field.
        len: usize,
    },
    /// A Re-configuration Response parameter that has one TSN, or a part of one.
    #[error("Re-configuration Response parameter of length {len}; 12 or 20 would be right")]
    ReconfigurationResponseLength {
        /// The parameter's length field.
        len: usize,
    },
    /// A Supported Address Types parameter that ends within an entry.
    #[error("Supported Address Types parameter of length {len}; a multiple of 2 would be right")]
    AddressTypesLengthOdd {
        /// The parameter's length field.
        len: usize,
    },
    /// A Requested HMAC Algorithm parameter that ends within an entry.
    #[error("Requested HMAC Algorithm parameter of length {len}; a multiple of 2 would be right")]
    HmacIdentifiersLengthOdd {
        /// The parameter's length field.
        len: usize,
    },

    /// A chunk ends within an error cause's header.
    #[error("{len} bytes after the last error cause; a cause header has 4")]
    CauseHeaderTruncated {
        /// How many bytes are left.
        len: usize,
    },
    /// A length that does not even count the error cause's header.
    #[error("{code} cause of length {len}; its header has 4 bytes")]
    CauseLengthBelowHeader {
        /// The cause's code.
        code: CauseCode,
        /// Its length field.
        len: usize,
    },
    /// A chunk ends within an error cause.
    #[error("{code} cause of length {len} with {available} bytes left in the chunk")]
    CauseBeyondChunk {
        /// The cause's code.
        code: CauseCode,
        /// Its length field.
        len: usize,
        /// How many bytes the chunk has left.
        available: usize,
    },
    /// An error cause that has one length only has another.
    #[error("{code} cause of length {len}; its length is always {expected}")]
    CauseLengthWrong {
        /// The cause's code.
        code: CauseCode,
        /// Its length field.
        len: usize,
        /// The length such a cause has.
        expected: usize,
    },
    /// An error cause without all of its fixed fields.
    #[error("{code} cause of length {len}; its fixed fields need {min}")]
    CauseTooShort {
        /// The cause's code.
        code: CauseCode,
        /// Its length field.
        len: usize,
        /// The length of its fixed fields.
        min: usize,
    },
    /// A Missing Mandatory Parameter cause whose count and length disagree.
    #[error(
        "Missing Mandatory Parameter cause of length {len} announces {count} types; \
         8 and twice as many would be right"
    )]
    MissingParameterCount {
        /// The cause's length field.
        len: usize,
        /// Its Number of missing params.
        count: u32,
    },
}

impl DecodeError {
    pub(crate) const fn in_parameter(error: TlvError) -> Self {
        match error {
            TlvError::HeaderTruncated { len } => Self::ParameterHeaderTruncated { len },
            TlvError::LengthBelowHeader { ty, len } => {
                Self::ParameterLengthBelowHeader { ty: ParameterType(ty), len }
            }
            TlvError::BeyondEnd { ty, len, available } => {
                Self::ParameterBeyondChunk { ty: ParameterType(ty), len, available }
            }
        }
    }

    pub(crate) const fn in_cause(error: TlvError) -> Self {
        match error {
            TlvError::HeaderTruncated { len } => Self::CauseHeaderTruncated { len },
            TlvError::LengthBelowHeader { ty, len } => {
                Self::CauseLengthBelowHeader { code: CauseCode(ty), len }
            }
            TlvError::BeyondEnd { ty, len, available } => {
                Self::CauseBeyondChunk { code: CauseCode(ty), len, available }
            }
        }
    }
}
