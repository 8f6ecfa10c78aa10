//! [`PacketFile`]: IP packets in a pcapng file.

use std::borrow::Cow;
use std::fmt;
use std::io::{self, Write};
use std::time::Duration;

use pcap_file::pcapng::blocks::enhanced_packet::{EnhancedPacketBlock, EnhancedPacketOption};
use pcap_file::pcapng::blocks::interface_description::{
    InterfaceDescriptionBlock, InterfaceDescriptionOption, InterfaceTsResolution,
};
use pcap_file::pcapng::blocks::interface_statistics::{
    InterfaceStatisticsBlock, InterfaceStatisticsOption,
};
use pcap_file::pcapng::blocks::opt_common::CommonOption;
use pcap_file::pcapng::blocks::section_header::{SectionHeaderBlock, SectionHeaderOption};
use pcap_file::pcapng::{PcapNgBlock, PcapNgWriteError, PcapNgWriter};
use pcap_file::{DataLink, Endianness};

use super::ip::write_ip_packet;
use crate::Packet;

/// An option's length is 16 bits; a longer text is cut.
const MAX_OPTION_LEN: usize = u16::MAX as usize;

/// Bits of a packet's flags: which way it went.
const INBOUND: u32 = 0b01;
const OUTBOUND: u32 = 0b10;

/// What a capture says about a packet beside its bytes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Note<'a> {
    /// Nothing.
    None,
    /// It was received where the capture is made.
    Received,
    /// It was sent from there.
    Sent,
    /// A comment.
    Comment(&'a str),
}

/// Writes packets with the headers of IP and of what carries them, checksums included, at
/// nanosecond resolution.
///
/// Blocks are written in small parts: a file wants a buffer around it.
pub struct PacketFile<W: Write> {
    out: PcapNgWriter<W>,
    interfaces: u32,
    /// One buffer for all packets.
    packet: Vec<u8>,
}

impl<W: Write> fmt::Debug for PacketFile<W> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("PacketFile").field("interfaces", &self.interfaces).finish_non_exhaustive()
    }
}

impl<W: Write> PacketFile<W> {
    /// Begins a file: says which application writes it, and a comment, unless that is empty.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn new(out: W, application: &str, comment: &str) -> io::Result<Self> {
        let mut options = vec![SectionHeaderOption::UserApplication(cut(application))];
        if !comment.is_empty() {
            options.push(SectionHeaderOption::Common(CommonOption::Comment(cut(comment))));
        }
        // The same file on each machine.
        let endianness = Endianness::Little;
        let section = SectionHeaderBlock { endianness, options, ..SectionHeaderBlock::default() };
        let out = PcapNgWriter::with_section_header(out, section).map_err(io_error)?;
        Ok(Self { out, interfaces: 0, packet: Vec::new() })
    }

    /// Describes an interface, and returns its number.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn interface(&mut self, name: &str) -> io::Result<u32> {
        let block = InterfaceDescriptionBlock {
            // The packet begins with an IPv4 or IPv6 header, which tells them apart.
            linktype: DataLink::RAW,
            snaplen: 0,
            options: vec![
                InterfaceDescriptionOption::IfName(cut(name)),
                InterfaceDescriptionOption::IfTsResol(InterfaceTsResolution::NANO),
            ],
        };
        self.write(block)?;
        self.interfaces += 1;
        Ok(self.interfaces - 1)
    }

    /// Records a packet, at a time since 1970.
    ///
    /// # Errors
    /// Those of the writer; or there is no such interface.
    pub fn packet(
        &mut self,
        interface: u32,
        at: Duration,
        note: Note<'_>,
        packet: &Packet,
    ) -> io::Result<()> {
        let mut bytes = std::mem::take(&mut self.packet);
        bytes.clear();
        write_ip_packet(packet, &mut bytes);
        let written = self.write(EnhancedPacketBlock {
            interface_id: interface,
            timestamp: at,
            original_len: bytes.len() as u32,
            data: Cow::Borrowed(&bytes),
            options: match note {
                Note::None => Vec::new(),
                Note::Received => vec![EnhancedPacketOption::Flags(INBOUND)],
                Note::Sent => vec![EnhancedPacketOption::Flags(OUTBOUND)],
                Note::Comment(text) => {
                    vec![EnhancedPacketOption::Common(CommonOption::Comment(cut(text)))]
                }
            },
        });
        self.packet = bytes;
        written
    }

    /// Says how many packets of an interface were seen up to `at`, and how many of them the file
    /// lacks.
    ///
    /// # Errors
    /// Those of the writer; or there is no such interface.
    pub fn statistics(
        &mut self,
        interface: u32,
        at: Duration,
        seen: u64,
        missed: u64,
    ) -> io::Result<()> {
        self.write(InterfaceStatisticsBlock {
            interface_id: interface,
            timestamp: at,
            options: vec![
                InterfaceStatisticsOption::IsbIfRecv(seen),
                InterfaceStatisticsOption::IsbIfDrop(missed),
            ],
        })
    }

    /// Flushes the writer.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn flush(&mut self) -> io::Result<()> {
        self.out.get_mut().flush()
    }

    /// Flushes and gives the writer back.
    ///
    /// # Errors
    /// Those of the writer.
    pub fn finish(mut self) -> io::Result<W> {
        self.flush()?;
        Ok(self.out.into_inner())
    }

    fn write<'a>(&mut self, block: impl PcapNgBlock<'a>) -> io::Result<()> {
        self.out.write_pcapng_block(block).map(drop).map_err(io_error)
    }
}

/// As much of a text as an option holds.
fn cut(text: &str) -> Cow<'_, str> {
    Cow::Borrowed(&text[..text.floor_char_boundary(MAX_OPTION_LEN)])
}

/// What the writer said, in its own words.
fn io_error(error: PcapNgWriteError) -> io::Error {
    if let PcapNgWriteError::Io(error) = error {
        return error;
    }
    io::Error::other(error)
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::FourTuple;
    use pcap_file::pcapng::{Block, PcapNgReader};

    use super::*;
    use crate::Carrier;

    fn blocks(file: &[u8]) -> Vec<Block<'static>> {
        let mut reader = PcapNgReader::new(file).unwrap();
        let mut blocks = Vec::new();
        while let Some(block) = reader.next_block() {
            blocks.push(block.unwrap().0.into_owned());
        }
        blocks
    }

    #[test]
    fn packets_are_read_back_with_their_interface_time_and_note() {
        let mut file = PacketFile::new(Vec::new(), "test", "a comment").unwrap();
        let wifi = file.interface("wifi").unwrap();
        let mobile = file.interface("mobile").unwrap();
        assert_eq!((wifi, mobile), (0, 1));
        let path = FourTuple::new(([10, 0, 0, 1], 1).into(), ([10, 0, 0, 2], 2).into());
        let packet = Packet::new(path, Carrier::Udp, vec![1, 2, 3]);
        let at = Duration::from_nanos(0x1_2345_6789);
        let notes = [Note::Comment("odd"), Note::Received, Note::Sent, Note::None];
        for note in notes {
            file.packet(mobile, at, note, &packet).unwrap();
        }
        file.statistics(mobile, at, 5, 1).unwrap();
        let blocks = blocks(&file.finish().unwrap());
        let mut ip = Vec::new();
        write_ip_packet(&packet, &mut ip);
        let options = [
            vec![EnhancedPacketOption::Common(CommonOption::Comment("odd".into()))],
            vec![EnhancedPacketOption::Flags(1)],
            vec![EnhancedPacketOption::Flags(2)],
            Vec::new(),
        ];
        let packets = options.map(|options| {
            Block::EnhancedPacket(EnhancedPacketBlock {
                interface_id: mobile,
                timestamp: at,
                original_len: 31,
                data: ip.clone().into(),
                options,
            })
        });
        assert_eq!(blocks[2..6], packets);
        assert!(matches!(&blocks[6], Block::InterfaceStatistics(found) if found.interface_id == 1));
        assert_eq!(blocks.len(), 7);
    }

    #[test]
    fn a_long_comment_is_cut_and_the_block_stays_whole() {
        let comment = "ü".repeat(70_000);
        let file = PacketFile::new(Vec::new(), "test", &comment).unwrap();
        let file = file.finish().unwrap();
        let mut reader = PcapNgReader::new(&*file).unwrap();
        let comment = CommonOption::Comment("ü".repeat(MAX_OPTION_LEN / 2).into());
        assert_eq!(reader.section().options[1], SectionHeaderOption::Common(comment));
        assert!(reader.next_block().is_none());
    }
}
