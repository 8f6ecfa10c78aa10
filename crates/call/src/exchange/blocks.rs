//! Files: blocks that are asked for and sent, on a stream of their own.
//!
//! A block is the unit in which a file is asked for; all have the same length but the last one.

use bytes::{BufMut as _, Bytes, BytesMut};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::MemberNumber;

/// The stream of files, behind those of media.
pub const FILES_STREAM: u16 = 7;

/// Bytes of a block: with its header it is one message. Nothing else is sent between the packets of
/// a message, so that what voice waits for is short.
pub const BLOCK_LEN: usize = 4_000;

/// Bytes of a block that one message holds between two agents of a call: with its header it is one
/// packet, so that a block whose rest waits for a path that died holds up no voice on another.
pub const PART_LEN: usize = 1_000;

/// Bytes of the longest file.
pub const FILE_LEN_MAX: u64 = 4 << 30;

/// Blocks that a member may be waiting for.
pub const BLOCKS_WANTED_MAX: usize = 256;

/// Of a message: its type, the file, the block and the member.
const HEADER_LEN: usize = 1 + 4 + 4 + 2;

const WANT: u8 = 1;
const BLOCK: u8 = 2;

/// A file in a room or a call. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Serialize, Deserialize)]
#[serde(transparent)]
pub struct FileNumber(pub u32);

/// A block of a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct BlockId {
    /// The file.
    pub file: FileNumber,
    /// Which of its blocks, from 0 on.
    pub index: u32,
}

/// A message on the stream of files.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum FileMessage {
    /// Somebody wants a block.
    Want {
        /// Which one.
        block: BlockId,
        /// From a room: who. From a member nothing that counts.
        member: MemberNumber,
    },
    /// A block.
    Block {
        /// Which one.
        block: BlockId,
        /// From a member: for whom. From a room: whose.
        member: MemberNumber,
        /// What it holds.
        bytes: Bytes,
    },
}

/// Bytes that are no message about a file.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum FileMessageError {
    /// Of another length than such a message has.
    #[error(
        "a message about a file has {len} bytes: {HEADER_LEN} ask for a block, up to {BLOCK_LEN} \
         more bring one"
    )]
    Len {
        /// Its length.
        len: usize,
    },
    /// Of another type.
    #[error("a message about a file is of type {0}: {WANT} asks for a block, {BLOCK} brings one")]
    Type(u8),
}

/// Bytes of a block of a file of this length; `None` if it has no such block.
#[must_use]
pub fn block_len(len: u64, index: u32) -> Option<usize> {
    let begin = u64::from(index) * BLOCK_LEN as u64;
    let left = len.checked_sub(begin).filter(|left| *left > 0)?;
    Some(left.min(BLOCK_LEN as u64) as usize)
}

impl FileMessage {
    /// As it goes over the stream.
    #[must_use]
    pub fn encode(&self) -> Bytes {
        let (kind, block, member, bytes) = match self {
            Self::Want { block, member } => (WANT, block, member, &[][..]),
            Self::Block { block, member, bytes } => (BLOCK, block, member, &bytes[..]),
        };
        let mut message = BytesMut::with_capacity(HEADER_LEN + bytes.len());
        message.put_u8(kind);
        message.put_u32(block.file.0);
        message.put_u32(block.index);
        message.put_u16(member.0);
        message.put_slice(bytes);
        message.freeze()
    }

    /// The first [`PART_LEN`] bytes of a block as a message of their own, and what is left of it.
    #[must_use]
    pub fn first_part(message: &Bytes) -> (Bytes, Option<Bytes>) {
        let end = message.len().min(HEADER_LEN + PART_LEN);
        let (part, rest) = (message.slice(..end), message.slice(end..));
        if rest.is_empty() {
            return (part, None);
        }
        let mut left = BytesMut::with_capacity(HEADER_LEN + rest.len());
        left.put_slice(&message[..HEADER_LEN]);
        left.put_slice(&rest);
        (part, Some(left.freeze()))
    }

    /// Reads a message.
    ///
    /// # Errors
    /// It is none.
    pub fn decode(message: &Bytes) -> Result<Self, FileMessageError> {
        let len = message.len();
        let Some((header, bytes)) = message.split_first_chunk::<HEADER_LEN>() else {
            return Err(FileMessageError::Len { len });
        };
        let [kind, f0, f1, f2, f3, i0, i1, i2, i3, m0, m1] = *header;
        let block = BlockId {
            file: FileNumber(u32::from_be_bytes([f0, f1, f2, f3])),
            index: u32::from_be_bytes([i0, i1, i2, i3]),
        };
        let member = MemberNumber(u16::from_be_bytes([m0, m1]));
        match kind {
            WANT if bytes.is_empty() => Ok(Self::Want { block, member }),
            BLOCK if (1..=BLOCK_LEN).contains(&bytes.len()) => {
                Ok(Self::Block { block, member, bytes: message.slice(HEADER_LEN..) })
            }
            WANT | BLOCK => Err(FileMessageError::Len { len }),
            other => Err(FileMessageError::Type(other)),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_survive_the_way_and_have_their_bytes_where_the_page_finds_them() {
        let block = BlockId { file: FileNumber(0x0102_0304), index: 5 };
        let want = FileMessage::Want { block, member: MemberNumber(6) };
        assert_eq!(want.encode()[..], [1, 1, 2, 3, 4, 0, 0, 0, 5, 0, 6]);
        let bytes = Bytes::from_static(b"some");
        let brought = FileMessage::Block { block, member: MemberNumber(6), bytes };
        assert_eq!(brought.encode()[..], *b"\x02\x01\x02\x03\x04\0\0\0\x05\0\x06some");
        for message in [want, brought] {
            assert_eq!(FileMessage::decode(&message.encode()), Ok(message));
        }
    }

    #[test]
    fn a_block_in_parts_is_the_same_block() {
        let (block, member) = (BlockId { file: FileNumber(1), index: 2 }, MemberNumber(3));
        let bytes: Bytes = (0..2_500_u32).map(|at| at as u8).collect();
        let whole = FileMessage::Block { block, member, bytes: bytes.clone() };
        let (mut left, mut got) = (Some(whole.encode()), Vec::new());
        while let Some(message) = left {
            let (part, rest) = FileMessage::first_part(&message);
            let Ok(FileMessage::Block { bytes, .. }) = FileMessage::decode(&part) else { panic!() };
            got.push(bytes);
            left = rest;
        }
        assert_eq!(got.iter().map(Bytes::len).collect::<Vec<_>>(), [PART_LEN, PART_LEN, 500]);
        assert_eq!(got.concat(), bytes);
        let want = FileMessage::Want { block, member }.encode();
        assert_eq!(FileMessage::first_part(&want), (want, None));
    }

    #[test]
    fn other_bytes_are_no_messages() {
        let decode = |bytes: &[u8]| FileMessage::decode(&Bytes::copy_from_slice(bytes));
        assert_eq!(decode(&[]), Err(FileMessageError::Len { len: 0 }));
        assert_eq!(decode(&[2; 10]), Err(FileMessageError::Len { len: 10 }));
        assert_eq!(decode(&[2; 11]), Err(FileMessageError::Len { len: 11 }));
        assert_eq!(decode(&[1; 12]), Err(FileMessageError::Len { len: 12 }));
        assert_eq!(decode(&[3; 12]), Err(FileMessageError::Type(3)));
        let long = HEADER_LEN + BLOCK_LEN + 1;
        assert_eq!(decode(&vec![2; long]), Err(FileMessageError::Len { len: long }));
    }

    #[test]
    fn a_file_has_blocks_of_one_length_but_for_the_last_one() {
        let len = 2 * BLOCK_LEN as u64 + 1;
        let blocks = [0, 1, 2, 3].map(|index| block_len(len, index));
        assert_eq!(blocks, [Some(BLOCK_LEN), Some(BLOCK_LEN), Some(1), None]);
        assert_eq!(block_len(BLOCK_LEN as u64, 1), None);
        assert_eq!(block_len(1, u32::MAX), None);
    }
}
