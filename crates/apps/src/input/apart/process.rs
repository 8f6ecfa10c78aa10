//! [`ReaderProcess`]: the process that reads a film for this one.

use std::fs::File;
use std::io::{self, BufReader, Read};
use std::os::unix::process::{CommandExt as _, ExitStatusExt as _};
use std::path::PathBuf;
use std::process::{Child, ChildStdout, Command, ExitStatus, Stdio};

use rustix::process::Signal;

use super::{Frame, LOOPED, READ_FILM, READER_BYTES_MAX, Wanted};

/// The process that reads a film for this one, and ends with it.
#[derive(Debug)]
pub(crate) struct ReaderProcess {
    child: Child,
    pipe: BufReader<ChildStdout>,
    /// Bytes of the stream that were told and not taken.
    rest: Vec<u8>,
    taken: usize,
}

impl ReaderProcess {
    /// Starts this program once more, for a file.
    pub(crate) fn start(file: File, wanted: Wanted, looped: bool) -> io::Result<Self> {
        let mut command = Command::new(own_program()?);
        command.arg0("anabranch").args([READ_FILM, wanted.name()]);
        command.args(looped.then_some(LOOPED));
        // Where it broke is told to nobody, and takes seconds to find out.
        command.env_remove("RUST_BACKTRACE");
        // Whoever ends this program by a key ends it, and not its readers before it.
        command.process_group(0).stdin(file).stdout(Stdio::piped()).stderr(Stdio::null());
        let mut child = command.spawn()?;
        let pipe = child.stdout.take().ok_or(io::ErrorKind::BrokenPipe)?;
        Ok(Self { child, pipe: BufReader::new(pipe), rest: Vec::new(), taken: 0 })
    }

    /// What the process reports next.
    ///
    /// # Errors
    /// It ended without a word, or the film cannot be read further, which it said.
    pub(crate) fn next(&mut self) -> io::Result<Frame> {
        match Frame::read_from(&mut self.pipe)? {
            Some(Frame::Failed(why)) => Err(io::Error::other(why)),
            Some(frame) => Ok(frame),
            None => Err(io::Error::other(end_of(self.child.wait()?))),
        }
    }
}

impl Read for ReaderProcess {
    /// The film as a transport stream; 0 at each end of it.
    fn read(&mut self, buf: &mut [u8]) -> io::Result<usize> {
        if self.taken == self.rest.len() {
            match self.next()? {
                Frame::Bytes(bytes) => (self.rest, self.taken) = (bytes, 0),
                Frame::End => return Ok(0),
                Frame::Stream
                | Frame::Units(_)
                | Frame::Other
                | Frame::Unit(_)
                | Frame::Failed(_) => return Err(io::ErrorKind::InvalidData.into()),
            }
        }
        let rest = self.rest.get(self.taken..).unwrap_or_default();
        let len = rest.len().min(buf.len());
        buf[..len].copy_from_slice(&rest[..len]);
        self.taken += len;
        Ok(len)
    }
}

impl Drop for ReaderProcess {
    fn drop(&mut self) {
        // It may have ended by itself. Nobody is left to tell if the system does not do it.
        self.child.kill().ok();
        self.child.wait().ok();
    }
}

/// This program as it was started, even if another version has taken its place since.
fn own_program() -> io::Result<PathBuf> {
    if cfg!(target_os = "linux") { Ok("/proc/self/exe".into()) } else { std::env::current_exe() }
}

/// Why a reader ended that did not say so.
fn end_of(status: ExitStatus) -> String {
    let Some(signal) = status.signal() else {
        return "the process that read it ended without a word".to_owned();
    };
    if signal == Signal::ABORT.as_raw() {
        let mib = READER_BYTES_MAX >> 20;
        return format!(
            "it took more than {mib} MiB of memory to read, or found a defect: it is damaged"
        );
    }
    format!("the process that read it was ended by signal {signal}")
}
