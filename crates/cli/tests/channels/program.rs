//! [`Running`]: the program, whose lines are read.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{Ipv4Addr, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStderr, Command, Stdio};
use std::time::{Duration, Instant};

/// Long enough for any machine: a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running `anabranch`, which ends with its owner.
pub(crate) struct Running {
    child: Child,
    lines: BufReader<ChildStderr>,
    seen: String,
}

impl Running {
    pub(crate) fn start(arguments: &[&str]) -> Self {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
        command
            .args(arguments)
            .env_remove("RUST_LOG")
            .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
            .stdin(Stdio::null());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap());
        Self { child, lines, seen: String::new() }
    }

    /// Serves these channels; viewers come to the UDP port, players and pages to the other.
    pub(crate) fn serve(folder: &Folder, channels: &str, udp: u16, http: u16) -> Self {
        let file = folder.path().join(format!("channels-{udp}.toml"));
        std::fs::write(&file, channels).unwrap();
        let (http, udp) = (format!("127.0.0.1:{http}"), format!("127.0.0.1:{udp}"));
        Self::start(&["serve", "--http", &http, "--udp", &udp, file.to_str().unwrap()])
    }

    /// Reads until a line has this.
    pub(crate) fn until(&mut self, wanted: &str) -> String {
        self.until_either(wanted, wanted)
    }

    /// Asks a server for its metrics until they have this.
    pub(crate) fn until_measured(&self, http: u16, wanted: &str) {
        let told = self.seen.split("operator's token: ").nth(1).unwrap();
        let token = told.lines().next().unwrap();
        let token = format!("Authorization: Bearer {token}\r\n");
        let started = Instant::now();
        loop {
            let metrics = answer(http, "/metrics", &token);
            if metrics.contains(wanted) {
                return;
            }
            assert!(started.elapsed() < PATIENCE, "no `{wanted}` in:\n{metrics}");
            std::thread::sleep(Duration::from_millis(100));
        }
    }

    /// Reads until a line has one of these.
    pub(crate) fn until_either(&mut self, wanted: &str, or: &str) -> String {
        loop {
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).unwrap();
            assert!(read > 0, "the program ended without `{wanted}`:\n{}", self.seen);
            self.seen.push_str(&line);
            if line.contains(wanted) || line.contains(or) {
                return line;
            }
        }
    }

    /// Reads until all of these were said.
    pub(crate) fn until_all(&mut self, wanted: &[&str]) {
        for wanted in wanted {
            if !self.seen.contains(wanted) {
                self.until(wanted);
            }
        }
    }

    /// What was read so far.
    pub(crate) fn seen(&self) -> &str {
        &self.seen
    }

    /// The processes that it has started.
    pub(crate) fn children(&self) -> Vec<u32> {
        let parent = self.child.id();
        let processes = std::fs::read_dir("/proc").unwrap().flatten();
        let numbers = processes.filter_map(|entry| entry.file_name().to_str()?.parse().ok());
        let is_child = |pid: &u32| {
            let stat = std::fs::read_to_string(format!("/proc/{pid}/stat")).unwrap_or_default();
            // The second field is the program's name in brackets, which may hold anything.
            let fields = stat.rsplit_once(')').map(|(_, rest)| rest.split_whitespace());
            let mut fields = fields.into_iter().flatten();
            let state = fields.next();
            state != Some("Z") && fields.next() == Some(&parent.to_string())
        };
        numbers.filter(is_child).collect()
    }

    /// The last line of what it prints, once it has ended by itself.
    pub(crate) fn summary(&mut self) -> String {
        let mut printed = String::new();
        self.child.stdout.as_mut().unwrap().read_to_string(&mut printed).unwrap();
        assert!(self.child.wait().unwrap().success(), "{printed}");
        printed.lines().last().unwrap_or_default().to_owned()
    }

    /// Ends it as Ctrl-C does.
    pub(crate) fn end(mut self) {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        assert!(self.child.wait().unwrap().success());
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}

/// A folder of a test's own, which goes with it.
pub(crate) struct Folder(PathBuf);

impl Folder {
    pub(crate) fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("anabranch-{}-{name}", std::process::id()));
        std::fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    pub(crate) fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        // What is left in a folder of temporary files harms nobody.
        _ = std::fs::remove_dir_all(&self.0);
    }
}

/// What a player's engine finds in a stream by HTTP.
pub(crate) fn probe(http: u16, path: &str) -> String {
    let url = format!("http://127.0.0.1:{http}{path}");
    let options = ["-v", "error", "-analyzeduration", "2M", "-show_entries", "stream=codec_name"];
    let output =
        Command::new("ffprobe").args(options).args(["-of", "csv=p=0", &url]).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// The answer to a request.
pub(crate) fn get(http: u16, path: &str) -> String {
    answer(http, path, "")
}

/// The same with more lines of the head, each with its end.
fn answer(http: u16, path: &str, lines: &str) -> String {
    let mut connection = TcpStream::connect((Ipv4Addr::LOCALHOST, http)).unwrap();
    connection.set_read_timeout(Some(PATIENCE)).unwrap();
    let head = format!(
        "GET {path} HTTP/1.1\r\nHost: 127.0.0.1:{http}\r\nConnection: close\r\n{lines}\r\n"
    );
    connection.write_all(head.as_bytes()).unwrap();
    let mut answer = String::new();
    connection.read_to_string(&mut answer).unwrap();
    answer
}
