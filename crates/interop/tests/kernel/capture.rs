//! [`Capture`]: what the networks carried, judged by tshark.

use std::fs;
use std::io::{self, BufRead, BufReader};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use nix::sys::signal::{Signal, kill};
use nix::unistd::Pid;

/// The interfaces of ours that the tests' networks end in.
const INTERFACES: [&str; 3] = ["tap1", "tap2", "tap3"];

/// SCTP over UDP, and DCCP straight on IP.
const FILTER: &str = "udp port 9899 or ip proto 33";

/// A capture of them under way.
#[derive(Debug)]
pub(crate) struct Capture {
    dumpcap: Child,
    file: PathBuf,
}

impl Capture {
    /// Begins to capture; the file stays in the target folder.
    pub(crate) fn begin() -> io::Result<Self> {
        let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join("kernel.pcapng");
        fs::create_dir_all(env!("CARGO_TARGET_TMPDIR"))?;
        let mut command = Command::new("setpriv");
        command.args(["--pdeathsig", "KILL", "dumpcap", "-q"]);
        command.args(["-f", FILTER, "-B", "32", "-w"]).arg(&file);
        for interface in INTERFACES {
            command.args(["-i", interface]);
        }
        let mut dumpcap = command.stdout(Stdio::null()).stderr(Stdio::piped()).spawn()?;
        let stderr = dumpcap.stderr.take().ok_or(io::ErrorKind::BrokenPipe)?;
        // It names the file once it captures.
        let mut said = String::new();
        for line in BufReader::new(stderr).lines() {
            said += &line?;
            if said.contains("File:") {
                return Ok(Self { dumpcap, file });
            }
        }
        Err(io::Error::other(format!("dumpcap does not capture: {said}")))
    }

    /// Ends the capture and lets tshark look for faults.
    pub(crate) fn judge(mut self) {
        assert!(self.end().expect("dumpcap ends"), "dumpcap wrote all");
        let found = anabranch_interop::examine_sctp_and_dccp(&self.file).expect("tshark reads it");
        let faults = found.iter().flat_map(|it| &it.faults).map(ToString::to_string);
        let faults: Vec<String> = faults.collect();
        let file = self.file.display();
        assert!(faults.is_empty(), "{} faults in {file}:\n{}", faults.len(), faults.join("\n"));
        assert!(found.iter().any(|it| it.packets > 0), "nothing was captured");
    }

    /// Whether dumpcap ended well. What it has not written yet, it writes when it is interrupted.
    fn end(&mut self) -> io::Result<bool> {
        if self.dumpcap.try_wait()?.is_none() {
            let process = i32::try_from(self.dumpcap.id()).map_err(io::Error::other)?;
            kill(Pid::from_raw(process), Signal::SIGINT)?;
        }
        Ok(self.dumpcap.wait()?.success())
    }
}

impl Drop for Capture {
    fn drop(&mut self) {
        // If it cannot be ended, it still ends with this process.
        let _ended = self.end();
    }
}
