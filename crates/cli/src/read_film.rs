//! Reading a film for another process of this program, so that a file that breaks its reader breaks
//! nothing else. No command for people: neither help nor completions know it.

use std::fs::File;
use std::io;
use std::os::fd::AsFd as _;
use std::process::ExitCode;

use anabranch_apps::input::{READ_FILM, READER_BYTES_MAX, Wanted, read_film};
use clap::Parser;
use rustix::process::{Resource, Rlimit, setrlimit};

use crate::failure::{Failure, explain_arguments};

/// Reads the film on standard input.
#[derive(Debug, Parser)]
struct ReadFilm {
    /// What it is to be read as: stream, units.
    wanted: Wanted,
    /// Begins again at the end.
    #[arg(long = "loop")]
    looped: bool,
}

/// Whether the program was started to do this.
pub(crate) fn is_meant() -> bool {
    std::env::args_os().nth(1).is_some_and(|first| first == READ_FILM)
}

pub(crate) fn run() -> ExitCode {
    let arguments = match ReadFilm::try_parse_from(std::env::args_os().skip(1)) {
        Ok(arguments) => arguments,
        Err(error) => return explain_arguments(&error),
    };
    match read(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => Failure::from(error).explain(),
    }
}

fn read(arguments: &ReadFilm) -> io::Result<()> {
    limit(Resource::Data, READER_BYTES_MAX)?;
    // A file that breaks its reader each time that it is read fills no disk.
    limit(Resource::Core, 0)?;
    let file = File::from(io::stdin().as_fd().try_clone_to_owned()?);
    let mut to = File::from(io::stdout().as_fd().try_clone_to_owned()?);
    read_film(file, arguments.wanted, arguments.looped, &mut to)
}

fn limit(resource: Resource, most: u64) -> io::Result<()> {
    Ok(setrlimit(resource, Rlimit { current: Some(most), maximum: Some(most) })?)
}
