//! Blocks of a pcapng file (draft-ietf-opsawg-pcapng), little endian.

use std::io::{self, Write};

use anabranch_sansio::Time;

const SECTION_HEADER_BLOCK: u32 = 0x0a0d_0d0a;
const INTERFACE_DESCRIPTION_BLOCK: u32 = 1;
const ENHANCED_PACKET_BLOCK: u32 = 6;

const BYTE_ORDER_MAGIC: u32 = 0x1a2b_3c4d;
const VERSION_MAJOR: u16 = 1;
const VERSION_MINOR: u16 = 0;
const SECTION_LENGTH_UNKNOWN: u64 = u64::MAX;

/// Raw IP: the packet begins with an IPv4 or IPv6 header, which tells them apart.
const LINKTYPE_RAW: u16 = 101;
const SNAPLEN_UNLIMITED: u32 = 0;

const OPT_ENDOFOPT: u16 = 0;
const OPT_COMMENT: u16 = 1;
const SHB_USERAPPL: u16 = 4;
const IF_NAME: u16 = 2;
const IF_TSRESOL: u16 = 9;
/// Time stamps count units of 10^-9 s.
const NANOSECONDS: u8 = 9;

/// An option's length is 16 bits; a longer text is cut.
const MAX_OPTION_LEN: usize = u16::MAX as usize;

/// Writes blocks; keeps one buffer for all of them.
#[derive(Debug)]
pub(super) struct PcapngWriter<W> {
    out: W,
    block: Vec<u8>,
    interfaces: u32,
}

impl<W: Write> PcapngWriter<W> {
    /// Begins a file. The comment says what it is.
    pub(super) fn new(out: W, application: &str, comment: &str) -> io::Result<Self> {
        let mut writer = Self { out, block: Vec::new(), interfaces: 0 };
        writer.begin(SECTION_HEADER_BLOCK);
        writer.block.extend(BYTE_ORDER_MAGIC.to_le_bytes());
        writer.block.extend(VERSION_MAJOR.to_le_bytes());
        writer.block.extend(VERSION_MINOR.to_le_bytes());
        writer.block.extend(SECTION_LENGTH_UNKNOWN.to_le_bytes());
        writer.option(SHB_USERAPPL, application.as_bytes());
        if !comment.is_empty() {
            writer.option(OPT_COMMENT, comment.as_bytes());
        }
        writer.option(OPT_ENDOFOPT, &[]);
        writer.end()?;
        Ok(writer)
    }

    /// Describes an interface and returns its number.
    pub(super) fn interface(&mut self, name: &str) -> io::Result<u32> {
        self.begin(INTERFACE_DESCRIPTION_BLOCK);
        self.block.extend(LINKTYPE_RAW.to_le_bytes());
        self.block.extend([0, 0]);
        self.block.extend(SNAPLEN_UNLIMITED.to_le_bytes());
        self.option(IF_NAME, name.as_bytes());
        self.option(IF_TSRESOL, &[NANOSECONDS]);
        self.option(OPT_ENDOFOPT, &[]);
        self.end()?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Records a packet that `write` appends to the buffer it is given.
    pub(super) fn packet(
        &mut self,
        interface: u32,
        at: Time,
        comment: Option<&str>,
        write: impl FnOnce(&mut Vec<u8>),
    ) -> io::Result<()> {
        self.begin(ENHANCED_PACKET_BLOCK);
        self.block.extend(interface.to_le_bytes());
        let nanos = at.as_nanos();
        self.block.extend(((nanos >> 32) as u32).to_le_bytes());
        self.block.extend((nanos as u32).to_le_bytes());
        let lengths = self.block.len();
        self.block.extend([0; 8]);
        write(&mut self.block);
        let len = (self.block.len() - lengths - 8) as u32;
        self.block[lengths..lengths + 4].copy_from_slice(&len.to_le_bytes());
        self.block[lengths + 4..lengths + 8].copy_from_slice(&len.to_le_bytes());
        self.pad();
        if let Some(comment) = comment {
            self.option(OPT_COMMENT, comment.as_bytes());
            self.option(OPT_ENDOFOPT, &[]);
        }
        self.end()
    }

    /// Flushes and gives the writer back.
    pub(super) fn finish(mut self) -> io::Result<W> {
        self.out.flush()?;
        Ok(self.out)
    }

    fn begin(&mut self, block_type: u32) {
        self.block.clear();
        self.block.extend(block_type.to_le_bytes());
        self.block.extend([0; 4]);
    }

    fn option(&mut self, code: u16, value: &[u8]) {
        let value = &value[..value.len().min(MAX_OPTION_LEN)];
        self.block.extend(code.to_le_bytes());
        self.block.extend((value.len() as u16).to_le_bytes());
        self.block.extend(value);
        self.pad();
    }

    /// Fills up to a multiple of 32 bits.
    fn pad(&mut self) {
        self.block.resize(self.block.len().next_multiple_of(4), 0);
    }

    /// Writes the block with its length at both ends.
    fn end(&mut self) -> io::Result<()> {
        let len = (self.block.len() as u32 + 4).to_le_bytes();
        self.block[4..8].copy_from_slice(&len);
        self.block.extend(len);
        self.out.write_all(&self.block)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The type of each block, after checking that lengths agree and add up.
    fn block_types(file: &[u8]) -> Vec<u32> {
        let word = |at: usize| u32::from_le_bytes(*file[at..].first_chunk().unwrap());
        let mut types = Vec::new();
        let mut at = 0;
        while at < file.len() {
            let len = word(at + 4) as usize;
            assert_eq!(len % 4, 0);
            assert_eq!(word(at + len - 4) as usize, len);
            types.push(word(at));
            at += len;
        }
        assert_eq!(at, file.len());
        types
    }

    #[test]
    fn blocks_follow_each_other_without_gaps() {
        let mut writer = PcapngWriter::new(Vec::new(), "test", "a comment").unwrap();
        let wifi = writer.interface("wifi").unwrap();
        let mobile = writer.interface("mobile").unwrap();
        assert_eq!((wifi, mobile), (0, 1));
        let at = Time::from_nanos(0x1_2345_6789);
        writer.packet(mobile, at, Some("odd"), |out| out.extend([1, 2, 3])).unwrap();
        writer.packet(wifi, at, None, |out| out.extend([1, 2, 3, 4])).unwrap();
        let file = writer.finish().unwrap();
        assert_eq!(block_types(&file), [SECTION_HEADER_BLOCK, 1, 1, 6, 6]);
    }

    #[test]
    fn a_long_comment_is_cut_and_the_block_stays_whole() {
        let comment = "x".repeat(70_000);
        let writer = PcapngWriter::new(Vec::new(), "test", &comment).unwrap();
        assert_eq!(block_types(&writer.finish().unwrap()), [SECTION_HEADER_BLOCK]);
    }
}
