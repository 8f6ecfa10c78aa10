//! Running programs, and files of their own.

use std::io::{BufRead as _, BufReader, Read as _};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, ExitStatus, Stdio};
use std::sync::mpsc::{self, RecvTimeoutError, Sender};
use std::thread;
use std::time::Duration;

#[path = "../ports/mod.rs"]
mod ports;

pub(crate) use ports::free_port;

/// Two seconds of H.264 and AAC.
pub(crate) const STREAM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/h264_aac.ts");

/// The same as an MP4 file.
pub(crate) const FILM: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/h264_aac.mp4");

/// Two programs at a constant bit rate, null packets included.
pub(crate) const TWO_PROGRAMS: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures/two_programs_cbr.ts");

/// The demo's clip.
pub(crate) const CLIP: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../assets/clip/big-buck-bunny.anaclip");

/// A directory that goes with its test.
pub(crate) struct Place(PathBuf);

impl Place {
    pub(crate) fn new(test: &str) -> Self {
        let place = std::env::temp_dir().join(format!("anabranch-{}-{test}", std::process::id()));
        std::fs::create_dir_all(&place).unwrap();
        Self(place)
    }

    pub(crate) fn file(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_owned()
    }
}

impl Drop for Place {
    fn drop(&mut self) {
        // What cannot be removed is the system's to clean.
        let _left = std::fs::remove_dir_all(&self.0);
    }
}

pub(crate) fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    command.args(arguments).env_remove("RUST_LOG").stdin(Stdio::null());
    // Where its key is kept.
    command.env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

/// Runs to the end: status and stderr.
pub(crate) fn run(arguments: &[&str]) -> (Option<i32>, String) {
    let output = program(arguments).output().unwrap();
    (output.status.code(), String::from_utf8_lossy(&output.stderr).into_owned())
}

/// No test needs a program for so long: it is stopped then, so that the test fails and says why.
const LIFETIME: Duration = Duration::from_secs(180);

/// A running `anabranch`.
pub(crate) struct Running {
    pub(crate) child: Child,
    stderr: BufReader<ChildStderr>,
    /// Dropped when the test is done with it.
    _needed: Sender<()>,
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        Self::spawn(&mut program(arguments))
    }

    pub(crate) fn spawn(command: &mut Command) -> Self {
        let mut child = command.stderr(Stdio::piped()).spawn().unwrap();
        let stderr = BufReader::new(child.stderr.take().unwrap());
        let (needed, done) = mpsc::channel();
        let pid = child.id();
        thread::spawn(move || {
            if done.recv_timeout(LIFETIME) == Err(RecvTimeoutError::Timeout) {
                signal(pid, "-KILL");
            }
        });
        Self { child, stderr, _needed: needed }
    }

    /// Waits for a line on stderr.
    pub(crate) fn line_with(&mut self, expected: &str) -> String {
        self.line_with_one_of(&[expected])
    }

    pub(crate) fn line_with_one_of(&mut self, expected: &[&str]) -> String {
        let mut said = String::new();
        loop {
            let mut line = String::new();
            let len = self.stderr.read_line(&mut line).unwrap();
            assert!(len > 0, "ended without {expected:?}: {said}");
            if expected.iter().any(|part| line.contains(part)) {
                return line;
            }
            said += &line;
        }
    }

    /// Asks it to end as Ctrl-C does.
    pub(crate) fn interrupt(&self) {
        signal(self.child.id(), "-INT");
    }

    /// Waits for its end: status and what else it said.
    pub(crate) fn end(mut self) -> (ExitStatus, String) {
        let mut rest = String::new();
        self.stderr.read_to_string(&mut rest).unwrap();
        (self.child.wait().unwrap(), rest)
    }

    pub(crate) fn assert_success(self) -> String {
        let (status, rest) = self.end();
        assert!(status.success(), "{status}: {rest}");
        rest
    }
}

fn signal(pid: u32, signal: &str) {
    let status = Command::new("kill").args([signal, &pid.to_string()]).status();
    assert!(status.unwrap().success());
}

impl Drop for Running {
    fn drop(&mut self) {
        // Fails if it has ended, which is what is wanted.
        let _ended = self.child.kill();
        let _ended = self.child.wait();
    }
}

pub(crate) fn assert_same(a: impl AsRef<Path>, b: impl AsRef<Path>) {
    let (a, b) = (std::fs::read(a).unwrap(), std::fs::read(b).unwrap());
    assert!(a == b, "{} bytes are not the same as {}", a.len(), b.len());
}

/// A listener's URL and a caller's, with these options.
pub(crate) fn urls(listener: &str, caller: &str) -> (String, String) {
    let port = free_port();
    (
        format!("anabranch://:{port}?mode=listener{listener}"),
        format!("anabranch://127.0.0.1:{port}?mode=caller{caller}"),
    )
}
