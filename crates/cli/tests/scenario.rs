//! `anabranch lab run` and `lab merge`: many runs, each once.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output, Stdio};

const SCENARIO: &str = r#"
duration = "200ms"
seeds = 2

[[links]]
name = "link"
rate = "4M"
delay = "10ms"

[[flows]]
name = "film"
kind = "sctp"
source = "cbr"
rate = "1M"
spread = "20ms"

[[flows]]
name = "file"
kind = "tcp"
"#;

/// A folder of a test's own, with the scenario in it.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Self {
        let path = std::env::temp_dir().join(format!("anabranch-{}-{name}", std::process::id()));
        fs::create_dir_all(&path).unwrap();
        fs::write(path.join("scenario.toml"), SCENARIO).unwrap();
        Self(path)
    }

    fn command(&self, out: &str, more: &[&str]) -> Command {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
        let sweep = ["--sweep", "link.loss=0,1%", "--sweep", "link.delay=10ms..20ms:10ms"];
        let file = self.0.join("scenario.toml");
        command.args(["lab", "run"]).arg(file).args(sweep).args(more);
        command.arg("--out").arg(self.0.join(out));
        command
    }

    fn run(&self, out: &str, more: &[&str]) -> String {
        tables(&self.command(out, more).output().unwrap())
    }

    fn csv(&self, out: &str) -> String {
        fs::read_to_string(self.0.join(out).join("runs.csv")).unwrap()
    }

    fn known(&self, out: &str) -> Vec<PathBuf> {
        let Ok(folder) = fs::read_dir(self.0.join(out).join("runs")) else { return Vec::new() };
        let files = folder.map(|file| file.unwrap().path());
        files.filter(|file| file.extension().is_some_and(|ending| ending == "json")).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// What is printed, without what was known and how long it took.
fn tables(output: &Output) -> String {
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout.clone()).unwrap();
    let is_table = |line: &&str| !line.contains("CPU seconds") && !line.contains("known already");
    text.lines().filter(is_table).map(|line| format!("{line}\n")).collect()
}

#[test]
fn any_number_of_jobs_and_shards_gives_the_same_bytes() {
    let scratch = Scratch::new("shards");
    let all = scratch.run("all", &["--jobs", "1"]);
    assert!(all.contains("link.loss=1% link.delay=20ms") && all.contains("film"), "{all}");
    assert_eq!(scratch.run("many", &["--jobs", "4"]), all);
    assert_eq!(scratch.csv("many"), scratch.csv("all"));
    // Eight runs of two flows, and a header.
    assert_eq!(scratch.csv("all").lines().count(), 17);
    assert!(scratch.csv("all").starts_with("link.loss,link.delay,seed,flow,kind,goodput_bps"));
    for shard in ["1/3", "2/3", "3/3"] {
        let said = scratch.run(&format!("part-{}", &shard[..1]), &["--shard", shard]);
        assert!(said.contains(&format!("of 8 runs, as shard {shard}")), "{said}");
    }
    let merge = |parts: &[&str]| {
        let folders = parts.iter().map(|part| scratch.0.join(part));
        let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
        command.args(["lab", "merge"]).args(folders).arg("--out").arg(scratch.0.join("merged"));
        command.output().unwrap()
    };
    let plot = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
        command.args(["lab", "plot"]).arg(scratch.0.join("all")).args(more).output().unwrap()
    };
    let svg = tables(&plot(&["--x", "delay", "--y", "goodput", "--flow", "film", "--by", "loss"]));
    assert!(svg.starts_with("<svg") && svg.matches("<circle").count() == 4, "{svg}");
    let said = plot(&["--x", "delay", "--y", "best"]);
    assert!(String::from_utf8_lossy(&said.stderr).contains("there is no column best: give one of"));
    let missing = merge(&["part-1", "part-3"]);
    let said = String::from_utf8_lossy(&missing.stderr);
    assert!(said.contains("3 of 8 runs are missing, the first is link.loss=0 link"), "{said}");
    assert_eq!(tables(&merge(&["part-1", "part-2", "part-3"])), all);
    assert_eq!(scratch.csv("merged"), scratch.csv("all"));
}

#[test]
fn what_was_killed_goes_on_where_it_stopped() {
    let scratch = Scratch::new("resumed");
    let all = scratch.run("all", &[]);
    let mut killed = scratch.command("killed", &["--jobs", "1"]);
    let mut killed = killed.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    while scratch.known("killed").is_empty() && killed.try_wait().unwrap().is_none() {
        std::thread::yield_now();
    }
    killed.kill().unwrap();
    killed.wait().unwrap();
    assert!(!scratch.known("killed").is_empty());
    assert_eq!(scratch.run("killed", &[]), all);
    assert_eq!(scratch.csv("killed"), scratch.csv("all"));
}

#[test]
fn what_is_known_is_not_run_again_unless_asked_for() {
    let scratch = Scratch::new("known");
    scratch.run("out", &[]);
    let csv = scratch.csv("out");
    // Where a kept run says something else, it is believed: so it was not run.
    let kept = &scratch.known("out")[0];
    replace(kept, "\"kind\":\"tcp\"", "\"kind\":\"kept\"");
    scratch.run("out", &[]);
    assert_eq!(scratch.csv("out").matches(",kept,").count(), 1);
    scratch.run("out", &["--again"]);
    assert_eq!(scratch.csv("out"), csv);
    // More seeds are only the new ones; another value of a key is another run.
    replace(kept, "\"kind\":\"tcp\"", "\"kind\":\"kept\"");
    scratch.run("out", &["--seeds", "3"]);
    assert_eq!(scratch.known("out").len(), 12);
    assert_eq!(scratch.csv("out").matches(",kept,").count(), 1);
    scratch.run("out", &["--set", "film.rate=2M"]);
    assert_eq!(scratch.known("out").len(), 20);
}

fn replace(file: &Path, old: &str, new: &str) {
    let text = fs::read_to_string(file).unwrap();
    assert!(text.contains(old), "{text}");
    fs::write(file, text.replace(old, new)).unwrap();
}

#[test]
fn a_fault_is_said_in_one_line_with_file_and_line_and_nothing_is_written() {
    let scratch = Scratch::new("fault");
    let refused = |more: &[&str]| {
        let output = scratch.command("out", more).output().unwrap();
        assert_eq!(output.status.code(), Some(2), "{output:?}");
        String::from_utf8(output.stderr).unwrap()
    };
    let said = refused(&["--set", "lnk.rate=1M"]);
    assert!(said.contains("scenario.toml: in what is set: nothing is called lnk"), "{said}");
    let said = refused(&["--sweep", "link.rate=1M,fast"]);
    assert!(said.contains("rate: \"fast\" is no rate: write 500k"), "{said}");
    let said = refused(&["--sweep", "link.rate=1M..2M"]);
    assert!(said.contains("is no range: write 20ms..200ms:20ms"), "{said}");
    let said = refused(&["--shard", "4/3"]);
    assert!(said.contains("'4/3' is no shard"), "{said}");
    replace(&scratch.0.join("scenario.toml"), "rate = \"1M\"", "rat = \"1M\"");
    let said = refused(&[]);
    assert!(said.contains("scenario.toml: line 10: [[flows]] lacks rate"), "{said}");
    assert!(!scratch.0.join("out").exists());
}

#[test]
fn a_sweep_has_a_report_that_merging_its_shards_gives_too() {
    let scratch = Scratch::new("report");
    scratch.run("whole", &[]);
    for shard in ["1/2", "2/2"] {
        scratch.run("shards", &["--shard", shard]);
    }
    let mut merge = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    merge.args(["lab", "merge"]).arg(scratch.0.join("shards"));
    tables(&merge.arg("--out").arg(scratch.0.join("merged")).output().unwrap());
    let report = |out: &str| fs::read_to_string(scratch.0.join(out).join("report.html")).unwrap();
    let whole = report("whole");
    assert_eq!(whole, report("merged"));
    let again = "anabranch lab run scenario.toml --set link.loss=1% --set link.delay=20ms --seed 1";
    assert!(whole.contains(again) && whole.contains("<svg"), "{whole}");
    let version = Command::new(env!("CARGO_BIN_EXE_anabranch")).arg("--version").output().unwrap();
    let version = String::from_utf8(version.stdout).unwrap();
    assert!(whole.contains(version.trim_end()), "{version} in {whole}");
}

#[test]
fn files_are_found_beside_the_scenario_that_names_them_and_count_by_what_they_hold() {
    let scratch = Scratch::new("beside");
    let films = concat!(env!("CARGO_MANIFEST_DIR"), "/../media/tests/fixtures");
    let write = |trace: &str, film: &str| {
        fs::write(scratch.0.join("up.txt"), trace).unwrap();
        fs::copy(format!("{films}/{film}"), scratch.0.join("film")).unwrap();
    };
    let text = SCENARIO.replace("rate = \"4M\"", "up.rate = \"trace:up.txt\"");
    let text = text.replace("kind = \"tcp\"", "kind = \"media\"\nvideo = \"file:film\"");
    fs::write(scratch.0.join("scenario.toml"), text).unwrap();
    let known = || {
        let mut command = scratch.command("out", &["--seeds", "1"]);
        tables(&command.current_dir("/").output().unwrap());
        scratch.known("out").len()
    };
    write("1\n", "h264_aac.ts");
    assert_eq!([known(), known()], [4, 4]);
    write("1\n", "av1.ts");
    assert_eq!(known(), 8, "another film");
    write("2\n", "av1.ts");
    assert_eq!(known(), 12, "another link");
}

#[test]
fn tables_of_packets_are_for_one_run_and_those_of_frames_for_media() {
    let scratch = Scratch::new("tables");
    let file = scratch.0.join("packets.csv");
    let said = |more: &[&str]| {
        let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
        let output = command.args(["lab", "run"]).arg(scratch.0.join("scenario.toml")).args(more);
        String::from_utf8(output.output().unwrap().stderr).unwrap()
    };
    let packets = ["--packets", file.to_str().unwrap()];
    let many = said(&packets);
    assert!(many.contains("--packets is for one run, and there are 2"), "{many}");
    assert!(!file.exists());
    assert_eq!(said(&[&packets[..], &["--seeds", "1"]].concat()), "");
    assert!(fs::read_to_string(&file).unwrap().contains(",film,1"));
    let none = said(&["--frames", "frames.csv"]);
    assert!(none.contains("--frames: no flow has kind = \"media\" or \"television\""), "{none}");
}
