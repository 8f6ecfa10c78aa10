//! What is told where: a terminal, a file, standard output.

use std::process::{Command, Stdio};

use crate::harness::{Place, Running, STREAM, program, urls};

/// Back to the start of the line, and clear it: a line that the next one replaces.
const IN_PLACE: &str = "\r\x1b[2K";

/// Runs in a terminal of its own; returns all that was shown.
fn run_in_terminal(arguments: &[&str]) -> String {
    let quoted = arguments.iter().map(|argument| format!("'{argument}'"));
    let program = env!("CARGO_BIN_EXE_anabranch").to_owned();
    let words: Vec<_> = std::iter::once(program).chain(quoted).collect();
    let output = Command::new("script")
        .args(["--quiet", "--command", &words.join(" "), "/dev/null"])
        .env_remove("RUST_LOG")
        .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"))
        .stdin(Stdio::null())
        .output()
        .unwrap();
    String::from_utf8_lossy(&output.stdout).into_owned()
}

#[test]
fn a_terminal_gets_a_status_in_its_place_and_a_file_only_lines() {
    let place = Place::new("terminal");
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &place.file("out.ts")]);
    let shown = run_in_terminal(&["send", STREAM, &caller]);
    let status: Vec<_> = shown
        .split(IN_PLACE)
        .filter(|line| line.contains("bit/s") && line.contains("[0*"))
        .collect();
    assert!(!status.is_empty(), "{shown}");
    assert!(status.iter().all(|line| line.contains(" given up ")), "{status:?}");
    let width = |line: &&str| {
        let line = line.split(['\r', '\n']).next().unwrap_or_default();
        line.replace("\x1b[?7l", "").replace("\x1b[?7h", "").chars().count()
    };
    assert!(status.iter().all(|line| width(line) <= 80), "{status:?}");
    assert!(shown.lines().all(|line| line.contains('\x1b') || line.chars().count() <= 80));
    let said = receiver.assert_success();
    assert!(!said.contains(['\r', '\x1b']), "{said:?}");
}

#[test]
fn a_call_that_fails_counts_down_in_a_terminal() {
    let place = Place::new("count-down");
    let (listener, caller) = urls("", "");
    let _receiver = Running::start(&["recv", &listener, &place.file("out.ts")]);
    let mut first = Running::start(&["send", "--loop", STREAM, &caller]);
    first.line_with("connected: ");
    let shown = run_in_terminal(&["send", "--retries", "2", STREAM, &caller]);
    let counts: Vec<_> = shown
        .split(IN_PLACE)
        .filter_map(|line| line.split_once("; trying again in "))
        .map(|(_, left)| left.split(' ').next().unwrap())
        .collect();
    assert_eq!(counts, ["1", "2", "1"], "{shown}");
    assert!(shown.contains("the receiver refuses: "), "{shown}");
}

#[test]
fn measures_on_standard_output_are_lines_of_json_and_nothing_else() {
    let place = Place::new("stats-out");
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &place.file("out.ts")]);
    let output = program(&["send", "--fast", "--stats", "-", STREAM, &caller]).output().unwrap();
    receiver.assert_success();
    let text = String::from_utf8(output.stdout).unwrap();
    let lines: Vec<serde_json::Value> =
        text.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    assert_eq!(lines.last().unwrap()["last"], true);
    assert!(!output.stderr.is_empty(), "lines for people are there, too");
}
