//! [`Reader`]: bytes in, packets out, of all programs or of one.

use std::collections::VecDeque;
use std::fmt::Write as _;

use thiserror::Error;

use super::framer::{Framer, FramerStats, NotMpegTs};
use super::packet::{Packet, Pid};
use super::tables::Tables;

/// Packets without a program association table after which a program cannot be chosen: 4 MB, at
/// 2 Mbit/s 16 seconds (ETSI TR 101 290 section 5.2.1 wants one every half second).
const PAT_LIMIT: u64 = 22_000;

/// Why an input cannot be read.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ReadError {
    /// It is something else.
    #[error(transparent)]
    NotMpegTs(#[from] NotMpegTs),
    /// The chosen program is not in it.
    #[error("the stream has no program {wanted}, {}", list(.existing))]
    NoSuchProgram {
        /// The number that was chosen.
        wanted: u16,
        /// Those that exist.
        existing: Vec<u16>,
    },
    /// It has no program association table.
    #[error(
        "program {wanted} cannot be chosen: the stream has no program association table in its \
         first {packets} packets; without program= it is sent whole"
    )]
    NoTables {
        /// The number that was chosen.
        wanted: u16,
        /// Packets looked at.
        packets: u64,
    },
}

fn list(programs: &[u16]) -> String {
    let Some((last, others)) = programs.split_last() else {
        return "it has none".to_owned();
    };
    if others.is_empty() {
        return format!("only program {last}");
    }
    let mut text = "only programs ".to_owned();
    for (i, program) in others.iter().enumerate() {
        let _ = write!(text, "{}{program}", if i == 0 { "" } else { ", " });
    }
    text + &format!(" and {last}")
}

/// Cuts bytes into packets. With a program chosen, only that one's packets remain, under a program
/// association table that names it alone; tables of standards' PIDs stay, null packets go.
#[derive(Debug, Default)]
pub struct Reader {
    framer: Framer,
    selector: Option<Selector>,
    packets: VecDeque<Packet>,
}

impl Reader {
    /// A reader of all programs.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A reader of one program.
    #[must_use]
    pub fn of_program(program: u16) -> Self {
        Self { selector: Some(Selector::new(program)), ..Self::default() }
    }

    /// Takes the next bytes. Drain [`Reader::poll_packet`] after it.
    ///
    /// # Errors
    ///
    /// This input will never give what is wanted. What was read before may still be drained.
    pub fn push(&mut self, bytes: &[u8]) -> Result<(), ReadError> {
        let Self { framer, selector, packets } = self;
        let mut result = Ok(());
        framer.push(bytes, |packet| take(selector, packets, &mut result, packet))?;
        result
    }

    /// The input has ended. Drain [`Reader::poll_packet`] after it.
    ///
    /// # Errors
    ///
    /// There was no packet in it, or none of the chosen program's.
    pub fn finish(&mut self) -> Result<(), ReadError> {
        let Self { framer, selector, packets } = self;
        let mut result = Ok(());
        framer.finish(|packet| take(selector, packets, &mut result, packet))?;
        result?;
        selector.as_ref().map_or(Ok(()), Selector::finish)
    }

    /// The next packet.
    #[must_use]
    pub fn poll_packet(&mut self) -> Option<Packet> {
        self.packets.pop_front()
    }

    /// What was found and skipped.
    #[must_use]
    pub const fn stats(&self) -> FramerStats {
        self.framer.stats()
    }
}

fn take(
    selector: &mut Option<Selector>,
    packets: &mut VecDeque<Packet>,
    result: &mut Result<(), ReadError>,
    packet: Packet,
) {
    let Some(selector) = selector else {
        packets.push_back(packet);
        return;
    };
    if result.is_ok() {
        match selector.select(&packet) {
            Ok(selected) => packets.extend(selected),
            Err(error) => *result = Err(error),
        }
    }
}

/// Lets the packets of one program pass.
#[derive(Debug)]
struct Selector {
    program: u16,
    tables: Tables,
    packets: u64,
    pat_counter: u8,
}

impl Selector {
    fn new(program: u16) -> Self {
        Self { program, tables: Tables::default(), packets: 0, pat_counter: 0 }
    }

    fn select(&mut self, packet: &Packet) -> Result<Option<Packet>, ReadError> {
        self.packets += 1;
        self.tables.handle_packet(packet);
        let Some(pat) = self.tables.pat() else {
            return if self.packets > PAT_LIMIT { Err(self.no_tables()) } else { Ok(None) };
        };
        let listed = pat.programs.iter().find(|(number, _)| *number == self.program);
        let Some(&entry) = listed else {
            return Err(ReadError::NoSuchProgram {
                wanted: self.program,
                existing: self.tables.programs().unwrap_or_default(),
            });
        };
        let pid = packet.pid();
        if pid == Pid::PAT {
            if !packet.payload_unit_start() {
                return Ok(None);
            }
            let mut pat = pat.clone();
            pat.programs = vec![entry];
            self.pat_counter = (self.pat_counter + 1) % 16;
            return Ok(Packet::new(pat.to_packet(self.pat_counter)));
        }
        let wanted = pid.is_reserved_for_tables() || self.tables.belongs_to(pid, self.program);
        Ok(wanted.then_some(*packet))
    }

    fn finish(&self) -> Result<(), ReadError> {
        if self.tables.pat().is_none() { Err(self.no_tables()) } else { Ok(()) }
    }

    const fn no_tables(&self) -> ReadError {
        ReadError::NoTables { wanted: self.program, packets: self.packets }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::packet::build::packet;
    use crate::ts::psi::build::{pat, pmt};

    fn two_programs() -> Vec<u8> {
        let packets = [
            packet(0x200, false, 0, &[0; 184]),
            pat(0, 0, &[(1, 0x1000), (2, 0x1001)]),
            pmt(0x1000, 0, 0, 1, 0x100, &[(0x1b, 0x100)]),
            pmt(0x1001, 0, 0, 2, 0x200, &[(0x1b, 0x200), (0x0f, 0x201)]),
            packet(0x11, true, 0, &[0; 184]),
            packet(0x100, true, 0, &[0; 184]),
            packet(0x200, true, 0, &[0; 184]),
            packet(0x1fff, false, 0, &[0; 184]),
            packet(0x201, true, 0, &[0; 184]),
        ];
        packets.iter().flat_map(|packet| *packet.bytes()).collect()
    }

    fn read(mut reader: Reader, bytes: &[u8]) -> Result<Vec<Packet>, ReadError> {
        reader.push(bytes)?;
        reader.finish()?;
        Ok(std::iter::from_fn(|| reader.poll_packet()).collect())
    }

    #[test]
    fn without_a_choice_every_byte_passes() {
        let bytes = two_programs();
        let packets = read(Reader::new(), &bytes).unwrap();
        let out: Vec<u8> = packets.iter().flat_map(|packet| *packet.bytes()).collect();
        assert_eq!(out, bytes);
    }

    #[test]
    fn a_chosen_program_comes_alone_under_a_table_of_its_own() {
        let packets = read(Reader::of_program(2), &two_programs()).unwrap();
        let pids: Vec<_> = packets.iter().map(|packet| packet.pid().as_u16()).collect();
        assert_eq!(pids, [0x0, 0x1001, 0x11, 0x200, 0x201]);
        let mut tables = Tables::default();
        packets.iter().for_each(|packet| tables.handle_packet(packet));
        assert_eq!(tables.programs(), Some(vec![2]));
        assert_eq!(tables.damaged_sections(), 0);
    }

    #[test]
    fn a_missing_program_is_refused_with_those_that_exist() {
        let error = read(Reader::of_program(3), &two_programs()).unwrap_err();
        assert_eq!(error, ReadError::NoSuchProgram { wanted: 3, existing: vec![1, 2] });
        assert_eq!(error.to_string(), "the stream has no program 3, only programs 1 and 2");
    }

    #[test]
    fn a_program_of_a_stream_without_tables_is_refused() {
        let bytes: Vec<u8> =
            (0..9).flat_map(|i| *packet(0x99, false, i, &[0; 184]).bytes()).collect();
        let error = read(Reader::of_program(1), &bytes).unwrap_err();
        assert_eq!(error, ReadError::NoTables { wanted: 1, packets: 9 });
    }
}
