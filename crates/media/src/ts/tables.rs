//! [`Tables`]: what each PID of a stream is for, as its tables say, followed as they change.

use std::collections::BTreeMap;

use crate::codec::Codec;

use super::packet::{Packet, Pid};
use super::psi::{PatSection, Pmt, SectionAssembler};

/// The most programs of one stream that are followed. A satellite transponder carries some 20.
const MAX_PROGRAMS: usize = 256;

/// What a PID is for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Role {
    /// PSI or SI sections.
    Tables,
    /// An elementary stream.
    Stream(Codec),
    /// A program's clock without a stream of its own.
    Clock,
    /// Null packets.
    Null,
    /// No table names it, or not yet.
    Unlisted,
}

/// Follows the program association table and the program map tables.
#[derive(Debug, Default)]
pub struct Tables {
    pat_sections: SectionAssembler,
    /// Sections of a program association table that is not complete yet.
    pat_parts: BTreeMap<u8, PatSection>,
    pat: Option<PatSection>,
    programs: BTreeMap<u16, Program>,
    damaged_sections: u64,
    changes: u64,
}

#[derive(Debug)]
struct Program {
    map_pid: Pid,
    sections: SectionAssembler,
    map: Option<Pmt>,
}

impl Tables {
    /// Reads a packet of any PID.
    pub fn handle_packet(&mut self, packet: &Packet) {
        if packet.transport_error() || packet.is_scrambled() {
            return;
        }
        if packet.pid() == Pid::PAT {
            self.handle_pat_packet(packet);
        } else {
            self.handle_pmt_packet(packet);
        }
    }

    /// What a PID is for.
    #[must_use]
    pub fn role(&self, pid: Pid) -> Role {
        if pid == Pid::NULL {
            return Role::Null;
        }
        if pid.is_reserved_for_tables() {
            return Role::Tables;
        }
        let mut role = Role::Unlisted;
        for program in self.programs.values() {
            if program.map_pid == pid {
                return Role::Tables;
            }
            let Some(map) = &program.map else { continue };
            match map.streams.iter().find(|stream| stream.pid == pid) {
                Some(stream) if stream.codec == Codec::Sections => return Role::Tables,
                Some(stream) => return Role::Stream(stream.codec),
                None if map.pcr_pid == pid => role = Role::Clock,
                None => {}
            }
        }
        role
    }

    /// The numbers of all programs, `None` until a program association table came.
    #[must_use]
    pub fn programs(&self) -> Option<Vec<u16>> {
        self.pat.as_ref().map(|_| self.programs.keys().copied().collect())
    }

    /// True once the maps of all programs are known.
    #[must_use]
    pub fn are_complete(&self) -> bool {
        self.pat.is_some() && self.programs.values().all(|program| program.map.is_some())
    }

    /// Whether a program has a picture, as far as its map is known.
    #[must_use]
    pub fn has_video(&self) -> bool {
        let maps = self.programs.values().filter_map(|program| program.map.as_ref());
        maps.flat_map(|map| &map.streams).any(|stream| stream.codec.is_video())
    }

    /// The PID that carries the clock of a program, or of the first one.
    #[must_use]
    pub fn pcr_pid(&self, program: Option<u16>) -> Option<Pid> {
        let mut maps = self.programs.values().filter_map(|program| program.map.as_ref());
        let map = maps.find(|map| program.is_none_or(|number| map.program == number))?;
        (map.pcr_pid != Pid::NULL).then_some(map.pcr_pid)
    }

    /// Sections whose CRC was wrong.
    #[must_use]
    pub const fn damaged_sections(&self) -> u64 {
        self.damaged_sections
    }

    /// Grows each time that a table says something new: answers of [`Tables::role`] may differ
    /// then.
    #[must_use]
    pub const fn changes(&self) -> u64 {
        self.changes
    }

    pub(super) const fn pat(&self) -> Option<&PatSection> {
        self.pat.as_ref()
    }

    /// True if a program needs packets of this PID.
    pub(super) fn belongs_to(&self, pid: Pid, program: u16) -> bool {
        self.programs.get(&program).is_some_and(|program| {
            program.map_pid == pid
                || program.map.as_ref().is_some_and(|map| {
                    map.pcr_pid == pid || map.streams.iter().any(|stream| stream.pid == pid)
                })
        })
    }

    fn handle_pat_packet(&mut self, packet: &Packet) {
        let mut sections = Vec::new();
        self.damaged_sections += self.pat_sections.handle_packet(packet, |section| {
            sections.extend(PatSection::parse(section));
        });
        for section in sections {
            self.on_pat_section(section);
        }
    }

    fn on_pat_section(&mut self, section: PatSection) {
        let is_other_table = |part: &PatSection| {
            (part.transport_stream_id, part.version, part.last_number)
                != (section.transport_stream_id, section.version, section.last_number)
        };
        if self.pat_parts.values().any(is_other_table) {
            self.pat_parts.clear();
        }
        let last_number = section.last_number;
        self.pat_parts.insert(section.number, section);
        if self.pat_parts.len() <= usize::from(last_number) {
            return;
        }
        let mut parts = std::mem::take(&mut self.pat_parts).into_values();
        let Some(mut pat) = parts.next() else { return };
        pat.programs.extend(parts.flat_map(|part| part.programs));
        pat.programs.truncate(MAX_PROGRAMS);
        if self.pat.as_ref() != Some(&pat) {
            self.on_new_pat(pat);
        }
    }

    fn on_new_pat(&mut self, pat: PatSection) {
        let listed: BTreeMap<u16, Pid> = pat.programs.iter().copied().collect();
        self.programs.retain(|number, program| listed.get(number) == Some(&program.map_pid));
        for (number, map_pid) in listed {
            let sections = SectionAssembler::default();
            self.programs.entry(number).or_insert(Program { map_pid, sections, map: None });
        }
        self.pat = Some(pat);
        self.changes += 1;
    }

    fn handle_pmt_packet(&mut self, packet: &Packet) {
        let pid = packet.pid();
        for (number, program) in &mut self.programs {
            if program.map_pid != pid {
                continue;
            }
            let mut map = None;
            // Several programs may share a PID for their maps.
            self.damaged_sections += program.sections.handle_packet(packet, |section| {
                map = Pmt::parse(section).filter(|map| map.program == *number).or(map.take());
            });
            if map.is_some() && map != program.map {
                program.map = map;
                self.changes += 1;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::psi::build::{pat, pmt};

    const H264: u8 = 0x1b;
    const AAC: u8 = 0x0f;

    fn tables(packets: &[Packet]) -> Tables {
        let mut tables = Tables::default();
        packets.iter().for_each(|packet| tables.handle_packet(packet));
        tables
    }

    #[test]
    fn each_pid_gets_its_role() {
        let tables = tables(&[
            pat(0, 0, &[(1, 0x1000)]),
            pmt(0x1000, 0, 0, 1, 0x1ff, &[(H264, 0x100), (AAC, 0x101), (0x86, 0x102)]),
        ]);
        let roles = [0x0, 0x1ffb, 0x1000, 0x102, 0x100, 0x101, 0x1ff, 0x1fff, 0x200]
            .map(|pid| tables.role(Pid::new(pid)));
        assert_eq!(
            roles,
            [
                Role::Tables,
                Role::Tables,
                Role::Tables,
                Role::Tables,
                Role::Stream(Codec::H264),
                Role::Stream(Codec::Aac),
                Role::Clock,
                Role::Null,
                Role::Unlisted,
            ]
        );
        assert!(tables.are_complete());
        assert_eq!(tables.pcr_pid(None), Some(Pid::new(0x1ff)));
    }

    #[test]
    fn a_new_version_of_a_table_replaces_the_old_one() {
        let mut tables =
            tables(&[pat(0, 0, &[(1, 0x1000)]), pmt(0x1000, 0, 0, 1, 0x100, &[(H264, 0x100)])]);
        let changes = tables.changes();
        tables.handle_packet(&pmt(0x1000, 0, 1, 1, 0x100, &[(H264, 0x100)]));
        assert_eq!(tables.changes(), changes, "a repetition is no change");
        tables.handle_packet(&pmt(0x1000, 1, 2, 1, 0x100, &[(0x24, 0x100)]));
        assert_eq!(tables.role(Pid::new(0x100)), Role::Stream(Codec::H265));
        tables.handle_packet(&pat(1, 1, &[(2, 0x1001)]));
        assert_eq!(tables.role(Pid::new(0x100)), Role::Unlisted);
        assert_eq!(tables.programs(), Some(vec![2]));
        assert!(!tables.are_complete());
    }

    #[test]
    fn maps_of_two_programs_on_one_pid_are_told_apart() {
        let tables = tables(&[
            pat(0, 0, &[(1, 0x1000), (2, 0x1000)]),
            pmt(0x1000, 0, 0, 1, 0x100, &[(H264, 0x100)]),
            pmt(0x1000, 0, 1, 2, 0x200, &[(AAC, 0x200)]),
        ]);
        assert_eq!(tables.role(Pid::new(0x100)), Role::Stream(Codec::H264));
        assert_eq!(tables.role(Pid::new(0x200)), Role::Stream(Codec::Aac));
        assert!(tables.belongs_to(Pid::new(0x200), 2) && !tables.belongs_to(Pid::new(0x200), 1));
    }
}
