//! [`Watching`]: `anabranch watch`, whose pictures are counted.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, ChildStdout, Command, Stdio};

use serde_json::Value;

use super::super::program;

/// Pictures that must come: two seconds of a channel.
const PICTURES: u64 = 50;

/// A viewer that ends with its owner.
pub(super) struct Watching {
    child: Child,
    measures: BufReader<ChildStdout>,
}

impl Watching {
    pub(super) fn start(url: &str, arguments: &[&str]) -> Self {
        let own = ["watch", "--headless", "--quiet", "--stats", "-"];
        let mut command = program(&[&own, arguments, &[url]].concat());
        let mut child = command.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
        let measures = BufReader::new(child.stdout.take().unwrap());
        Self { child, measures }
    }

    /// Reads measures until so many pictures more have come as two seconds bring.
    pub(super) fn goes_on(&mut self) {
        let first = self.pictures();
        while self.pictures() < first + PICTURES {}
    }

    /// How many pictures have come until the next second of it ends.
    fn pictures(&mut self) -> u64 {
        loop {
            let mut line = String::new();
            assert!(self.measures.read_line(&mut line).unwrap() > 0, "the viewer has ended");
            let measure: Value = serde_json::from_str(&line).unwrap();
            if measure["type"] == "watch" {
                return measure["pictures"].as_u64().unwrap();
            }
        }
    }

    /// Sends it a signal by its name.
    pub(super) fn signal(&self, name: &str) {
        let pid = self.child.id().to_string();
        let status = Command::new("kill").args([&format!("-{name}"), &pid]).status();
        assert!(status.unwrap().success());
    }
}

impl Drop for Watching {
    fn drop(&mut self) {
        // It may have ended by itself.
        let _gone = self.child.kill();
        let _reaped = self.child.wait();
    }
}
