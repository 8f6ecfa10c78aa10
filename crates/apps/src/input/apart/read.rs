//! [`read_film`]: what the process does that reads a film.

use std::fs::File;
use std::io::{self, Read, Write};

use anabranch_films::Film;

use super::{Frame, Wanted};
use crate::input::units::UnitReader;

/// Bytes of a transport stream that are told at once.
const BYTES_AT_ONCE: usize = 64 << 10;

/// Reads a film and writes what it is, for the process that started this one.
///
/// # Errors
/// Nobody reads what is written. What is wrong with the film is told to the other process.
pub fn read_film(file: File, wanted: Wanted, looped: bool, to: &mut impl Write) -> io::Result<()> {
    match wanted {
        Wanted::Stream => match Film::open(&file) {
            Ok(Some(film)) => write_stream(film, looped, to),
            Ok(None) => Frame::Other.write_to(to),
            Err(why) => Frame::Failed(why).write_to(to),
        },
        Wanted::Units => match UnitReader::open(file) {
            Some(units) => write_units(units, to),
            None => Frame::Other.write_to(to),
        },
    }
}

fn write_stream(mut film: Film<File>, looped: bool, to: &mut impl Write) -> io::Result<()> {
    Frame::Stream.write_to(to)?;
    loop {
        let mut is_empty = true;
        loop {
            let (bytes, failed) = fill(&mut film);
            let is_end = bytes.is_empty();
            if !is_end {
                is_empty = false;
                Frame::Bytes(bytes).write_to(to)?;
            }
            if let Some(error) = failed {
                return Frame::Failed(error.to_string()).write_to(to);
            }
            if is_end {
                break;
            }
        }
        Frame::End.write_to(to)?;
        // A film that is empty now would be read for ever.
        if !looped || is_empty {
            return Ok(());
        }
        if let Err(error) = film.rewind() {
            return Frame::Failed(error.to_string()).write_to(to);
        }
    }
}

/// Reads as much as is told at once, up to the end or to what is wrong.
fn fill(film: &mut Film<File>) -> (Vec<u8>, Option<io::Error>) {
    let mut bytes = vec![0; BYTES_AT_ONCE];
    let mut len = 0;
    while let Some(room) = bytes.get_mut(len..).filter(|room| !room.is_empty()) {
        match film.read(room) {
            Ok(0) => break,
            Ok(more) => len += more,
            Err(error) => {
                bytes.truncate(len);
                return (bytes, Some(error));
            }
        }
    }
    bytes.truncate(len);
    (bytes, None)
}

fn write_units(mut units: UnitReader, to: &mut impl Write) -> io::Result<()> {
    Frame::Units(units.formats()).write_to(to)?;
    loop {
        let frame = match units.next() {
            Ok(Some(timed)) => Frame::Unit(timed),
            Ok(None) => return Frame::End.write_to(to),
            Err(why) => return Frame::Failed(why).write_to(to),
        };
        frame.write_to(to)?;
    }
}
