//! [`DecodeError`]: bytes that are no packet.

use thiserror::Error;

use super::PacketType;

/// Why a packet is ignored: one variant for each check of RFC 4340 section 8.5, step 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum DecodeError {
    /// It does not even have the shortest generic header, or not that of its type.
    #[error("{len} bytes; this header has at least {min}")]
    TooShort {
        /// How many bytes there are.
        len: usize,
        /// How many a header like this has.
        min: usize,
    },
    /// A type from 10 to 15.
    #[error("packet type {code} is reserved: 0 to 9 are in use")]
    ReservedType {
        /// The type field.
        code: u8,
    },
    /// Short sequence numbers where they may not be.
    #[error("a {ty} packet with short sequence numbers: X must be 1")]
    ShortNumbers {
        /// The packet's type.
        ty: PacketType,
    },
    /// The options end before they begin, or behind the packet.
    #[error("the data of a {ty} packet begin at byte {offset}; {min} to {len} would be right")]
    DataOffset {
        /// The packet's type.
        ty: PacketType,
        /// Where the data would begin.
        offset: usize,
        /// Where the fixed fields end.
        min: usize,
        /// Where the packet ends.
        len: usize,
    },
    /// More data are to be covered than there are.
    #[error("the checksum would cover {covered} bytes of data; there are {len}")]
    Coverage {
        /// How many bytes CsCov says.
        covered: usize,
        /// How many bytes of data there are.
        len: usize,
    },
    /// The header checksum is wrong.
    #[error("the header checksum is wrong")]
    Checksum,
}
