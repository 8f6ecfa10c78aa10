//! Program association and program map tables (ISO/IEC 13818-1 section 2.4.4).

use crate::codec::Codec;

use super::packet::{PACKET_LEN, Packet, Pid, SYNC_BYTE};

/// ISO/IEC 13818-1 section 2.4.4.4: "The value in this field shall not exceed 1021", plus the
/// three bytes before it.
const SECTION_MAX: usize = 1024;

const CRC_LEN: usize = 4;
const TABLE_ID_PAT: u8 = 0x00;
const TABLE_ID_PMT: u8 = 0x02;

/// Joins the sections of one PID from its packets.
#[derive(Debug, Default)]
pub(super) struct SectionAssembler {
    buffer: Vec<u8>,
    counter: Option<u8>,
}

impl SectionAssembler {
    /// Takes a packet, gives each complete section whose CRC is right to `sink`. Returns the number
    /// of those that were not.
    pub(super) fn handle_packet(&mut self, packet: &Packet, mut sink: impl FnMut(&[u8])) -> u64 {
        let counter = packet.continuity_counter();
        let mut payload = packet.payload();
        // ISO/IEC 13818-1 section 2.4.3.3: "duplicate packets may be sent as two, and only two,
        // consecutive transport stream packets of the same PID", with the same counter.
        if payload.is_empty() || self.counter.replace(counter) == Some(counter) {
            return 0;
        }
        let mut damaged = 0;
        if packet.payload_unit_start() {
            let Some((&pointer, rest)) = payload.split_first() else { return 0 };
            let Some((end, start)) = rest.split_at_checked(pointer.into()) else { return 0 };
            if !self.buffer.is_empty() {
                damaged += self.append(end, &mut sink);
            }
            self.buffer.clear();
            payload = start;
        } else if self.buffer.is_empty() {
            return 0;
        }
        damaged + self.append(payload, &mut sink)
    }

    fn append(&mut self, bytes: &[u8], sink: &mut impl FnMut(&[u8])) -> u64 {
        self.buffer.extend_from_slice(bytes);
        let mut damaged = 0;
        let mut used = 0;
        while let Some(section) = self.buffer.get(used..).and_then(complete_section) {
            used += section.len();
            if crc(section) == 0 { sink(section) } else { damaged += 1 }
        }
        self.buffer.drain(..used);
        // Stuffing follows the last section; nothing longer than a section is one.
        if self.buffer.first() == Some(&0xff) || self.buffer.len() > SECTION_MAX {
            self.buffer.clear();
        }
        damaged
    }
}

/// The section at the start of `bytes`, if all of it is there.
fn complete_section(bytes: &[u8]) -> Option<&[u8]> {
    let [table_id, high, low] = *bytes.first_chunk::<3>()?;
    if table_id == 0xff {
        return None;
    }
    let length = usize::from(u16::from_be_bytes([high & 0x0f, low]));
    bytes.get(..3 + length)
}

/// The CRC over a section with its CRC field is zero if nothing changed.
fn crc(bytes: &[u8]) -> u64 {
    crc_fast::checksum(crc_fast::CrcAlgorithm::Crc32Mpeg2, bytes)
}

/// What all sections with a version have in front.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct SectionHead {
    table_id: u8,
    /// transport_stream_id or program_number.
    id: u16,
    version: u8,
    current: bool,
    number: u8,
    last_number: u8,
}

/// Splits a section into its head and what stands between head and CRC.
fn split_head(section: &[u8]) -> Option<(SectionHead, &[u8])> {
    let (head, rest) = section.split_first_chunk::<8>()?;
    let body = rest.get(..rest.len().checked_sub(CRC_LEN)?)?;
    let [table_id, _, _, id_high, id_low, version, number, last_number] = *head;
    let head = SectionHead {
        table_id,
        id: u16::from_be_bytes([id_high, id_low]),
        version: version >> 1 & 0x1f,
        current: version & 1 != 0,
        number,
        last_number,
    };
    Some((head, body))
}

/// One section of a program association table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PatSection {
    pub(super) transport_stream_id: u16,
    pub(super) version: u8,
    pub(super) number: u8,
    pub(super) last_number: u8,
    /// Program number and PID of its map table; the network information table left out.
    pub(super) programs: Vec<(u16, Pid)>,
}

impl PatSection {
    /// Reads a section; `None` if it is no program association table in force.
    pub(super) fn parse(section: &[u8]) -> Option<Self> {
        let (head, body) = split_head(section)?;
        if head.table_id != TABLE_ID_PAT || !head.current {
            return None;
        }
        let entries = body.as_chunks::<4>().0.iter().map(|[a, b, c, d]| {
            (u16::from_be_bytes([*a, *b]), Pid::new(u16::from_be_bytes([*c, *d])))
        });
        Some(Self {
            transport_stream_id: head.id,
            version: head.version,
            number: head.number,
            last_number: head.last_number,
            // ISO/IEC 13818-1 section 2.4.4.5: program_number "0x0000" is the network PID.
            programs: entries.filter(|(program, _)| *program != 0).collect(),
        })
    }

    /// A packet that holds this table, which must have one program.
    pub(super) fn to_packet(&self, counter: u8) -> [u8; PACKET_LEN] {
        let mut section = vec![TABLE_ID_PAT, 0xb0, 0];
        section.extend_from_slice(&self.transport_stream_id.to_be_bytes());
        section.extend_from_slice(&[0xc1 | self.version << 1, 0, 0]);
        for (program, pid) in self.programs.iter().take(1) {
            section.extend_from_slice(&program.to_be_bytes());
            section.extend_from_slice(&(0xe000 | pid.as_u16()).to_be_bytes());
        }
        section[2] = (section.len() - 3 + CRC_LEN) as u8;
        let crc = crc(&section) as u32;
        section.extend_from_slice(&crc.to_be_bytes());
        let mut packet = [0xff; PACKET_LEN];
        packet[..5].copy_from_slice(&[SYNC_BYTE, 0x40, 0x00, 0x10 | (counter & 0x0f), 0]);
        packet[5..5 + section.len()].copy_from_slice(&section);
        packet
    }
}

/// One elementary stream of a program.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Stream {
    pub(super) pid: Pid,
    pub(super) codec: Codec,
}

/// A program map table.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct Pmt {
    pub(super) program: u16,
    pub(super) pcr_pid: Pid,
    pub(super) streams: Vec<Stream>,
}

impl Pmt {
    /// Reads a section; `None` if it is no program map table in force.
    pub(super) fn parse(section: &[u8]) -> Option<Self> {
        let (head, body) = split_head(section)?;
        if head.table_id != TABLE_ID_PMT || !head.current {
            return None;
        }
        let (fixed, rest) = body.split_first_chunk::<4>()?;
        let [pcr_high, pcr_low, info_high, info_low] = *fixed;
        let info_len = usize::from(u16::from_be_bytes([info_high & 0x0f, info_low]));
        Some(Self {
            program: head.id,
            pcr_pid: Pid::new(u16::from_be_bytes([pcr_high, pcr_low])),
            streams: streams(rest.get(info_len..)?),
        })
    }
}

fn streams(mut rest: &[u8]) -> Vec<Stream> {
    let mut streams = Vec::new();
    while let Some((entry, after)) = rest.split_first_chunk::<5>() {
        let [stream_type, pid_high, pid_low, info_high, info_low] = *entry;
        let info_len = usize::from(u16::from_be_bytes([info_high & 0x0f, info_low]));
        let Some((info, after)) = after.split_at_checked(info_len) else { break };
        let pid = Pid::new(u16::from_be_bytes([pid_high, pid_low]));
        streams.push(Stream { pid, codec: Codec::of_stream(stream_type, info) });
        rest = after;
    }
    streams
}

#[cfg(test)]
pub(crate) mod build {
    //! Tables for tests.

    use super::*;
    use crate::ts::packet::build::packet;

    fn section(table_id: u8, id: u16, version: u8, body: &[u8]) -> Vec<u8> {
        let mut section = vec![table_id, 0xb0, (5 + body.len() + CRC_LEN) as u8];
        section.extend_from_slice(&id.to_be_bytes());
        section.extend_from_slice(&[0xc1 | version << 1, 0, 0]);
        section.extend_from_slice(body);
        let crc = crc(&section) as u32;
        section.extend_from_slice(&crc.to_be_bytes());
        section
    }

    fn in_packet(pid: u16, counter: u8, section: &[u8]) -> Packet {
        let mut payload = vec![0];
        payload.extend_from_slice(section);
        payload.resize(184, 0xff);
        packet(pid, true, counter, &payload)
    }

    pub(crate) fn pat(version: u8, counter: u8, programs: &[(u16, u16)]) -> Packet {
        let entries = programs.iter().map(|(program, pid)| (*program, 0xe000 | pid));
        let body: Vec<u8> =
            entries.flat_map(|(a, b)| [a.to_be_bytes(), b.to_be_bytes()].concat()).collect();
        in_packet(0, counter, &section(TABLE_ID_PAT, 1, version, &body))
    }

    /// Streams are given as (stream type, PID).
    pub(crate) fn pmt(
        pid: u16,
        version: u8,
        counter: u8,
        program: u16,
        pcr_pid: u16,
        streams: &[(u8, u16)],
    ) -> Packet {
        let mut body = (0xe000 | pcr_pid).to_be_bytes().to_vec();
        body.extend_from_slice(&[0xf0, 0]);
        for (stream_type, pid) in streams {
            body.push(*stream_type);
            body.extend_from_slice(&(0xe000 | pid).to_be_bytes());
            body.extend_from_slice(&[0xf0, 0]);
        }
        in_packet(pid, counter, &section(TABLE_ID_PMT, program, version, &body))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::packet::build::packet;

    fn sections(packets: &[Packet]) -> (Vec<Vec<u8>>, u64) {
        let mut assembler = SectionAssembler::default();
        let (mut sections, mut damaged) = (Vec::new(), 0);
        for packet in packets {
            damaged += assembler.handle_packet(packet, |section| sections.push(section.to_vec()));
        }
        (sections, damaged)
    }

    #[test]
    fn a_program_association_table_survives_the_round_trip() {
        let pat = PatSection {
            transport_stream_id: 9,
            version: 3,
            number: 0,
            last_number: 0,
            programs: vec![(2, Pid::new(0x1200))],
        };
        let packet = Packet::new(pat.to_packet(5)).unwrap();
        assert_eq!(packet.continuity_counter(), 5);
        let (sections, _) = sections(&[packet]);
        assert_eq!(PatSection::parse(&sections[0]), Some(pat));
    }

    #[test]
    fn a_section_over_two_packets_is_joined_and_duplicates_do_no_harm() {
        let whole = build::pmt(0x1000, 0, 0, 1, 0x100, &[(0x1b, 0x100), (0x0f, 0x101)]);
        let bytes = &whole.payload()[1..60];
        let first = packet(0x1000, true, 0, &[&[0], &bytes[..20]].concat());
        let second = packet(0x1000, false, 1, &bytes[20..]);
        let (sections, damaged) = sections(&[first, first, second, second]);
        assert_eq!((sections.len(), damaged), (1, 0));
        let pmt = Pmt::parse(&sections[0]).unwrap();
        assert_eq!(pmt.streams[1], Stream { pid: Pid::new(0x101), codec: Codec::Aac });
        assert_eq!((pmt.program, pmt.pcr_pid), (1, Pid::new(0x100)));
    }

    #[test]
    fn a_damaged_section_is_counted_and_not_used() {
        let mut bytes = *build::pat(0, 0, &[(1, 0x1000)]).bytes();
        bytes[16] ^= 1;
        assert_eq!(sections(&[Packet::new(bytes).unwrap()]), (vec![], 1));
    }

    #[test]
    fn truncated_tables_are_read_as_far_as_they_go() {
        let whole = build::pmt(0x1000, 0, 0, 1, 0x100, &[(0x1b, 0x100), (0x0f, 0x101)]);
        let section = complete_section(&whole.payload()[1..]).unwrap();
        for len in 0..section.len() {
            let streams = Pmt::parse(&section[..len]).map_or(0, |pmt| pmt.streams.len());
            assert!(streams <= 2 && PatSection::parse(&section[..len]).is_none());
        }
    }
}
