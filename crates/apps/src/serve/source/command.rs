//! A program that writes a transport stream, started again when it dies.

use std::fs::File;
use std::io;
use std::process::{ExitStatus, Stdio};
use std::time::Duration;

use anabranch_driver::Clock;
use rustix::process::{Pid, Signal, kill_process_group};
use tokio::io::{AsyncBufReadExt as _, AsyncReadExt as _, BufReader};
use tokio::process::{Child, ChildStderr, Command};
use tokio::task::JoinHandle;

use super::player::Player;
use super::{Listener, SourceEvent};
use crate::input::Feed;
use crate::input::InputOptions;
use crate::service::{Retries, Retry, Wait, sanitized};

/// A program that ran for so long had worked: its next start does not wait longer.
const WORKED: Duration = Duration::from_secs(10);

/// Bytes of what a program says last that are kept.
const LAST_WORDS_MAX: u64 = 4_096;

/// Characters of a program's last line that are told.
const LINE_CHARS_MAX: usize = 200;

/// Runs the program for ever.
pub(super) async fn run<L: Listener>(
    command: &str,
    program: Option<u16>,
    clock: Clock,
    listener: &mut L,
) {
    let mut retry = Retry::new(Retries::Unlimited);
    loop {
        let started = clock.now();
        let reason = match Running::start(command) {
            Ok(running) => running.play(program, clock, listener).await,
            Err(error) => format!("the program cannot be started: {error}"),
        };
        if clock.now().saturating_since(started) >= WORKED {
            retry.on_success();
        }
        retry.on_failure(reason);
        if let Some((seconds, reason)) = retry.announcement() {
            let text = format!("{reason}; it is started again in {seconds} s");
            listener.tell(SourceEvent::Lost(text));
        }
        while retry.wait().await != Wait::Over {}
    }
}

/// A program, which ends with its owner.
struct Running {
    child: Child,
    group: Group,
    last_words: JoinHandle<Option<String>>,
    output: File,
}

impl Running {
    fn start(command: &str) -> io::Result<Self> {
        let mut child = Command::new("/bin/sh")
            .args(["-c", command])
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            // What the shell starts ends with it.
            .process_group(0)
            .kill_on_drop(true)
            .spawn()?;
        let group = Group(child.id().and_then(|id| Pid::from_raw(i32::try_from(id).ok()?)));
        let missing = || io::Error::other("it has no pipe");
        let stderr = child.stderr.take().ok_or_else(missing)?;
        let stdout = child.stdout.take().ok_or_else(missing)?;
        let output = File::from(stdout.into_owned_fd()?);
        Ok(Self { child, group, last_words: tokio::spawn(last_line(stderr)), output })
    }

    /// Until its end; answers with why it ended.
    async fn play<L: Listener>(
        self,
        program: Option<u16>,
        clock: Clock,
        listener: &mut L,
    ) -> String {
        let Self { mut child, group, last_words, output } = self;
        let options = InputOptions { program, ..InputOptions::default() };
        let feed = Feed::of_program("its output".to_owned(), output, options, clock);
        let ending = Player::new(clock, listener).play(feed).await;
        if !ending.is_empty()
            && let Some(error) = ending.error
        {
            return error.to_string();
        }
        let status = child.wait().await;
        drop(group);
        let last_line = last_words.await.ok().flatten();
        words(status, last_line.as_deref())
    }
}

/// The processes that a command became; they are asked to end when it is dropped.
struct Group(Option<Pid>);

impl Drop for Group {
    fn drop(&mut self) {
        if let Some(group) = self.0
            && let Err(error) = kill_process_group(group, Signal::TERM)
        {
            tracing::debug!(%error, "the program has ended already");
        }
    }
}

fn words(status: io::Result<ExitStatus>, last_line: Option<&str>) -> String {
    let ended = match status {
        Ok(status) if status.success() => "the program has ended".to_owned(),
        Ok(status) => format!("the program has ended ({status})"),
        Err(error) => format!("the program is gone: {error}"),
    };
    last_line.map_or_else(|| ended.clone(), |line| format!("{ended}, it said: {line}"))
}

/// The last line that is not empty.
async fn last_line(stderr: ChildStderr) -> Option<String> {
    let mut lines = BufReader::new(stderr);
    let mut last = Vec::new();
    loop {
        let mut line = Vec::new();
        let read = (&mut lines).take(LAST_WORDS_MAX).read_until(b'\n', &mut line).await;
        if !matches!(read, Ok(len) if len > 0) {
            break;
        }
        // Programs overwrite their progress by carriage returns.
        let words = line.split(|byte| *byte == b'\r' || *byte == b'\n');
        if let Some(words) = words.rev().find(|it| !it.trim_ascii().is_empty()) {
            last = words.trim_ascii().to_vec();
        }
    }
    // What is struck out must be whole.
    let text = sanitized(&String::from_utf8_lossy(&last));
    let clean = text.chars().take(LINE_CHARS_MAX).collect::<String>();
    (!clean.is_empty()).then_some(clean)
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc;

    use super::*;

    struct Told(mpsc::Sender<SourceEvent>);

    impl Listener for Told {
        fn tell(&mut self, event: SourceEvent) {
            // The test may have seen enough.
            _ = self.0.send(event);
        }
    }

    async fn end_of(command: &str) -> String {
        let (sender, _events) = mpsc::channel();
        let running = Running::start(command).unwrap();
        running.play(None, Clock::start(), &mut Told(sender)).await
    }

    #[tokio::test]
    async fn a_program_that_dies_is_told_with_its_last_line() {
        let reason = end_of("printf 'one\\ntwo\\rthree: no such camera\\n\\n' >&2; exit 3").await;
        let expected = "the program has ended (exit status: 3), it said: three: no such camera";
        assert_eq!(reason, expected);
        assert_eq!(end_of("exit 1").await, "the program has ended (exit status: 1)");
    }

    #[tokio::test]
    async fn a_program_that_tells_a_password_is_quoted_without_it() {
        let long = "x".repeat(LINE_CHARS_MAX - 20);
        let command = format!("echo {long} rtsp://me:secret@camera/1: 401 >&2; exit 1");
        let reason = end_of(&command).await;
        assert!(reason.contains("rtsp://***@") && !reason.contains("secret"), "{reason}");
    }

    #[tokio::test]
    async fn a_program_that_writes_something_else_is_told_so() {
        let reason = end_of("yes nothing").await;
        assert!(reason.contains("not an MPEG transport stream"), "{reason}");
    }
}
