//! `anabranch lab chang2010 --live`: calls whose paths are taken down, and what is left of them.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::thread::sleep;
use std::time::{Duration, Instant};

use libtest_mimic::Trial;

use crate::harness::{Place, Running, program};
use crate::hosts::in_own_network;
use crate::trial;

/// A call is on its way by then, or never will be.
const PATIENCE: Duration = Duration::from_secs(30);

pub(crate) fn trials() -> Vec<Trial> {
    vec![
        trial(a_live_call_goes_on_and_stands_beside_the_simulated_one),
        trial(an_interrupted_live_call_leaves_nothing),
    ]
}

fn a_live_call_goes_on_and_stands_beside_the_simulated_one() {
    let place = Place::new("live-call");
    let out = place.file("out");
    let arguments = ["--cell", "20ms,unplanned,1", "--live", "2", "--capture", "--out", &out];
    let output = lab(&place, &arguments).output().unwrap();
    let said = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{said}{}", String::from_utf8_lossy(&output.stderr));
    assert!(said.contains("unplanned  live       voice  2 "), "{said}");
    assert!(said.contains("unplanned  simulated  voice  10 "), "{said}");

    let calls = fs::read_to_string(Path::new(&out).join("live.csv")).unwrap();
    let number = |name: &str| column(&calls, name).parse::<u64>().unwrap();
    assert_eq!(column(&calls, "run"), "live");
    assert_eq!(number("cuts"), 2);
    // Both ends' voice and pictures of 14 s or more. A machine that computes something else now
    // may make a few late, and no cut ends a call.
    let (voice, video) = (number("voice_taken"), number("video_taken"));
    assert!(voice >= 1_400 && video >= 700, "{calls}");
    assert!((number("voice_lost") + number("voice_late")) * 10 < voice, "{calls}");
    let gaps = fs::read_to_string(Path::new(&out).join("live-gaps.csv")).unwrap();
    assert_eq!(gaps.lines().count(), 1 + 2 * 2, "{gaps}");
    let report = fs::read_to_string(Path::new(&out).join("report.html")).unwrap();
    assert!(report.contains("id=\"live\""));
    for end in ["caller", "called"] {
        let capture = Path::new(&out).join(format!("live-{end}.pcapng"));
        assert!(fs::metadata(capture).unwrap().len() > 1_000_000, "{end}");
    }
    assert_nothing_left(&place);
}

fn an_interrupted_live_call_leaves_nothing() {
    let place = Place::new("live-interrupted");
    let running = Running::spawn(&mut lab(&place, &["--cell", "50ms,planned,1", "--live", "100"]));
    let end = Instant::now() + PATIENCE;
    while !is_recording(&place) {
        assert!(Instant::now() < end, "no call began");
        sleep(Duration::from_millis(50));
    }
    running.interrupt();
    let (status, said) = running.end();
    assert_eq!(status.code(), Some(1), "{said}");
    assert!(said.contains("interrupted: no live call is kept"), "{said}");
    assert_nothing_left(&place);
}

/// `anabranch lab chang2010` with a folder of its own for what is needed for a while.
fn lab(place: &Place, arguments: &[&str]) -> Command {
    let while_it_runs = place.file("tmp");
    fs::create_dir_all(&while_it_runs).unwrap();
    let program = program(&[&["lab", "chang2010"], arguments].concat());
    let mut command = in_own_network(&program);
    command.env("TMPDIR", while_it_runs);
    command
}

/// Whether what the caller hears is being written.
fn is_recording(place: &Place) -> bool {
    let calls = fs::read_dir(place.file("tmp")).unwrap();
    let mut records = calls.map(|call| call.unwrap().path().join("caller-record/played.csv"));
    records.any(|record| record.exists())
}

fn assert_nothing_left(place: &Place) {
    let folder = place.file("tmp");
    let left: Vec<_> = fs::read_dir(&folder).unwrap().map(|it| it.unwrap().path()).collect();
    assert!(left.is_empty(), "{left:?}");
    // The system may take a moment to end what was killed.
    let end = Instant::now() + PATIENCE;
    while let Some(line) = a_process_with(&folder) {
        assert!(Instant::now() < end, "still there: {line}");
        sleep(Duration::from_millis(50));
    }
}

/// The arguments of a process that was given a file in this folder.
fn a_process_with(folder: &str) -> Option<String> {
    let processes = fs::read_dir("/proc").unwrap().flatten();
    let mut lines = processes.filter_map(|it| fs::read(it.path().join("cmdline")).ok());
    let line = lines.find(|line| line.windows(folder.len()).any(|it| it == folder.as_bytes()))?;
    Some(String::from_utf8_lossy(&line).replace('\0', " "))
}

/// What stands below a header, in a table of one line.
fn column(table: &str, name: &str) -> String {
    let mut lines = table.lines().map(|line| line.split(','));
    let at = lines.next().unwrap().position(|it| it == name).unwrap();
    lines.next().unwrap().nth(at).unwrap().to_owned()
}
