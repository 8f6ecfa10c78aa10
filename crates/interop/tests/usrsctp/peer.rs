//! [`Peer`]: usrsctp in a process of its own, `echo.c`.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::OnceLock;

use tokio::io::{AsyncBufReadExt, BufReader, Lines};
use tokio::process::{Child, ChildStdout};

/// A message with this PPID has it shut down.
pub(crate) const SHUT_DOWN: u32 = 1;
/// A message with this PPID has it abort.
pub(crate) const ABORT: u32 = 2;

/// Who calls whom.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Caller {
    We,
    Peer,
}

/// What messages travel in.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Chunks {
    Data,
    IData,
}

/// It ends with this value.
#[derive(Debug)]
pub(crate) struct Peer {
    _process: Child,
    lines: Lines<BufReader<ChildStdout>>,
}

impl Peer {
    /// Waits until it calls, or can be called. The ports are UDP's.
    pub(crate) async fn ready(caller: Caller, own: u16, ours: u16, chunks: Chunks) -> Self {
        let role = if caller == Caller::Peer { "call" } else { "listen" };
        let chunks = if chunks == Chunks::IData { "i-data" } else { "data" };
        let mut process = tokio::process::Command::new(program())
            .args([role, &own.to_string(), &ours.to_string(), chunks])
            .stdout(Stdio::piped())
            .kill_on_drop(true)
            .spawn()
            .expect("what was just built runs");
        let stdout = process.stdout.take().expect("it is piped");
        let mut peer = Self { _process: process, lines: BufReader::new(stdout).lines() };
        assert_eq!(peer.last_words().await, "ready");
        peer
    }

    /// What it says next: how the association ended.
    pub(crate) async fn last_words(&mut self) -> String {
        let line = self.lines.next_line().await.expect("its output can be read");
        line.unwrap_or_else(|| "nothing".to_owned())
    }
}

/// Built once for all tests.
fn program() -> &'static Path {
    static PROGRAM: OnceLock<PathBuf> = OnceLock::new();
    PROGRAM.get_or_init(|| {
        let source = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/usrsctp/echo.c");
        let program = Path::new(env!("CARGO_TARGET_TMPDIR")).join("usrsctp-echo");
        let mut cc = Command::new("cc");
        cc.args(["-Wall", "-Wextra", "-Werror", "-O1", "-o"]).args([&program, &source]);
        let built = cc.args(["-lusrsctp", "-lpthread"]).status().expect("cc, Debian's gcc");
        assert!(built.success(), "needs Debian's libusrsctp-dev: ./test.sh install brings it");
        program
    })
}
