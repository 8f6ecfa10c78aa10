//! The program as its users meet it: arguments in, text and an exit status out.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::{SocketAddr, TcpListener, UdpSocket};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdout, Command, Output, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

/// Long enough for any machine: a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

#[test]
fn treatments_prints_one_line_per_class_and_fits_a_terminal() {
    let output = run(&["treatments"]);
    assert!(output.status.success());
    let text = String::from_utf8(output.stdout).unwrap();
    for preset in ["reliable", "layered", "live"] {
        let is_heading = |line: &str| line.starts_with(preset) && line.contains(": ");
        assert!(text.lines().any(is_heading), "{preset}: {text}");
    }
    let audio: Vec<_> = text.lines().filter(|line| line.starts_with("audio ")).collect();
    assert_eq!(audio.len(), 4, "one per table and one that says what it is: {text}");
    assert!(text.lines().all(|line| line.chars().count() < 80), "{text}");
}

#[test]
fn treatments_prints_one_preset_alone_with_its_levels() {
    let output = run(&["treatments", "--preset", "live"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains("75 % of latency") && !text.contains("layered"), "{text}");
    let headings = text.lines().find(|line| line.starts_with("class ")).unwrap();
    let level = headings.find("level").unwrap();
    for (class, of_class) in [("control", "0"), ("key-frame", "1"), ("disposable", "3")] {
        let line = text.lines().find(|line| line.starts_with(class)).unwrap();
        assert_eq!(line[level..].split(' ').next(), Some(of_class), "{text}");
    }
}

/// The tables without the last line, which tells how long it took, and files of the results.
fn lab<const N: usize>(arguments: &[&str], files: [&str; N]) -> (String, [Vec<u8>; N]) {
    static RUN: AtomicU32 = AtomicU32::new(0);
    let run_id = RUN.fetch_add(1, Ordering::Relaxed);
    let out = format!("anabranch-{}-lab-{run_id}", std::process::id());
    let out = std::env::temp_dir().join(out);
    let output = run(&[&["lab"], arguments, &["--out", out.to_str().unwrap()]].concat());
    assert!(output.status.success(), "{output:?}");
    let files = files.map(|file| std::fs::read(out.join(file)).unwrap());
    std::fs::remove_dir_all(&out).unwrap();
    let text = String::from_utf8(output.stdout).unwrap();
    let (tables, _) = text.trim_end().rsplit_once('\n').unwrap();
    (tables.to_owned(), files)
}

/// The lines of a table are lines of another one.
fn assert_within(part: &[u8], all: &[u8], lines: usize) {
    let [part, all] = [part, all].map(|table| String::from_utf8(table.to_vec()).unwrap());
    assert_eq!(part.lines().count(), lines, "{part}");
    assert!(part.lines().all(|line| all.contains(&format!("{line}\n"))), "{part}{all}");
}

#[test]
fn the_lab_gives_the_same_bytes_for_any_number_of_jobs_and_again_for_one_cell() {
    let layers = |arguments: &[&str]| {
        let common = ["ortiz2013", "--pictures", "10", "--strategy", "RTP,SCTPMultiMixed1"];
        let files = ["cells.csv", "seconds.csv", "report.html"];
        lab(&[&common, arguments].concat(), files)
    };
    let one = layers(&["--jobs", "1", "--seeds", "2"]);
    assert_eq!(layers(&["--jobs", "3", "--seeds", "2"]), one);
    assert_within(&layers(&["--cell", "45,0.001,2"]).1[0], &one.1[0], 3);
}

#[test]
fn the_labs_television_presses_keys_for_real_at_every_delay_of_figure_12() {
    let (_, [keys]) = lab(&["kim2007", "--cell", "12,50,1", "--live", "1"], ["live.csv"]);
    let keys = String::from_utf8(keys).unwrap();
    let delays: Vec<_> = keys.lines().skip(1).filter_map(|line| line.split(',').next()).collect();
    assert_eq!(delays, ["10", "20", "30", "40", "50", "60", "70", "80", "90", "100"]);
}

#[test]
fn the_labs_television_gives_the_same_bytes_for_any_number_of_jobs_and_again_for_one_cell() {
    let television = |arguments: &[&str]| {
        let files = ["cells.csv", "report.html", "figure-12.svg"];
        lab(&[&["kim2007", "--figure", "11,12"], arguments].concat(), files)
    };
    let one = television(&["--jobs", "1", "--seeds", "2"]);
    assert_eq!(television(&["--jobs", "2", "--seeds", "2"]), one);
    assert!(one.0.contains("12  SHOWN     the gap grows with the link's delay"), "{}", one.0);
    let (_, [cell]) = lab(&["kim2007", "--cell", "11,5,2"], ["cells.csv"]);
    assert_within(&cell, &one.1[0], 1 + 3);
}

#[test]
fn the_labs_queue_gives_the_same_bytes_for_any_number_of_jobs_and_again_for_one_cell() {
    let queue = |arguments: &[&str]| {
        let files = ["cells.csv", "seconds.csv", "report.html"];
        lab(&[&["huseynli2023", "--set", "duration=2s"], arguments].concat(), files)
    };
    let one = queue(&["--jobs", "1", "--seeds", "2"]);
    assert_eq!(queue(&["--jobs", "2", "--seeds", "2"]), one);
    let (_, [cell, ..]) = queue(&["--cell", "pictures,wireless,2"]);
    assert_within(&cell, &one.1[0], 1 + 3 * 4);
}

#[test]
fn the_labs_calls_give_the_same_bytes_for_any_number_of_jobs_and_again_for_one_cell() {
    let calls = |arguments: &[&str]| {
        let files = ["cells.csv", "gaps.csv", "report.html", "figure-13.svg"];
        lab(&[&["chang2010", "--set", "video=1M,voice=64k"], arguments].concat(), files)
    };
    let methods = ["--method", "1s,1.5s", "--seeds", "2"];
    let one = calls(&[&["--jobs", "1"], &methods[..]].concat());
    assert_eq!(calls(&[&["--jobs", "2"], &methods[..]].concat()), one);
    assert!(one.0.contains("Table 3: gap in s"), "{}", one.0);
    let (_, [cell, ..]) = calls(&["--cell", "3,1.5s,2"]);
    assert_within(&cell, &one.1[0], 1 + 1);
}

/// A short cell of each paper's experiment, and what of its own is set.
const CELLS: [(&str, &[&str], &str); 5] = [
    (
        "ortiz2013",
        &["--cell", "30,0.01,1", "--strategy", "Anabranch", "--pictures", "3"],
        "queue=40p",
    ),
    ("kim2007", &["--cell", "11,5,1", "--carrier", "SCTP"], "file=20K"),
    (
        "huseynli2023",
        &["--cell", "pictures,wired,1", "--method", "SCTP-PQ", "--set", "duration=2s"],
        "queue=40p",
    ),
    ("almajeed2011", &["--cell", "station,sctp,5,5,1", "--pictures", "3"], "queue=40"),
    ("chang2010", &["--cell", "1,planned,1", "--set", "voice=64k"], "video=1M"),
];

#[test]
fn all_papers_experiments_take_the_same_flags() {
    let tables = std::env::temp_dir();
    for (paper, cell, set) in CELLS {
        let name = |what: &str| {
            let file = format!("anabranch-{}-{paper}-{what}.csv", std::process::id());
            tables.join(file).to_str().unwrap().to_owned()
        };
        let (packets, frames) = (name("packets"), name("frames"));
        let flags = ["--set", set, "--packets", &packets, "--frames", &frames, "--capture"];
        let files = ["cells.csv", "report.html"];
        let (said, [cells, report]) = lab(&[&[paper], cell, &flags, &["--trace"]].concat(), files);
        for (table, column) in [(&packets, "ip_bytes"), (&frames, "completed_s")] {
            let text = std::fs::read_to_string(table).unwrap();
            std::fs::remove_file(table).unwrap();
            assert!(text.lines().count() > 5 && text.contains(column), "{paper}: {text}");
        }
        let (parameter, value) = set.split_once('=').unwrap();
        let change = format!("{parameter} {value} (");
        let report = String::from_utf8(report).unwrap();
        for text in [&said, &report] {
            assert!(text.contains("Not the paper's: ") && text.contains(&change), "{paper}");
        }
        assert!(report.contains("How to cite") && report.contains("version = {"), "{paper}");
        assert!(String::from_utf8(cells).unwrap().contains(set), "{paper}");
    }
}

#[test]
fn regression_a_trace_was_empty_where_machines_of_several_kinds_were_hosts() {
    let cell = |carrier| format!("station,{carrier},5,5,1");
    let common = ["almajeed2011", "--pictures", "3", "--trace", "--cell"];
    for (carrier, record) in [("sctp", "sctp:packet_sent"), ("2", "dccp:packet_sent")] {
        let (_, [trace]) = lab(&[&common[..], &[&cell(carrier)]].concat(), ["cell.qlog"]);
        let trace = String::from_utf8(trace).unwrap();
        assert!(trace.lines().count() > 20 && trace.contains("sender"), "{trace}");
        assert!(trace.contains(record), "{carrier}: {trace}");
    }
}

#[test]
fn regression_a_choice_that_left_no_cell_gave_empty_tables() {
    assert_lab_refuses(&["kim2007", "--cell", "11,0,1", "--carrier", "UDP"], "no cell is left");
}

#[test]
fn what_cannot_be_run_is_refused_before_anything_is_written() {
    let packets = std::env::temp_dir().join(format!("anabranch-{}-no.csv", std::process::id()));
    let table = ["--packets", packets.to_str().unwrap()];
    let cells = [&["kim2007", "--cell", "11,0,1"], &table[..]].concat();
    assert_lab_refuses(&cells, "--packets is for one cell, and there are 3");
    assert!(!packets.exists());
    let ending = ["kim2007", "--cell", "11,0,1", "--carrier", "SCTP", "--packets", "p.txt"];
    assert_lab_refuses(&ending, "p.txt is no table");
    // The first point of the sweep could be run.
    let sweep = ["ortiz2013", "--mbps", "30", "--sweep", "rate=30M,45M"];
    assert_lab_refuses(&sweep, "no links have 30 Mbit/s: there are 45");
    let trace = ["chang2010", "--cell", "1,TCP,1", "--trace"];
    assert_lab_refuses(&trace, "--trace: TCP keeps no record of what it does");
    let live = ["chang2010", "--cell", "1,1.5s,1", "--live"];
    assert_lab_refuses(&live, "--live: only ours at a round trip are run live");
}

#[test]
fn live_calls_need_programs_which_are_named_before_anything_is_written() {
    let folder = LabFolder::new("live-needs");
    let out = folder.0.to_str().unwrap();
    let live = ["lab", "chang2010", "--cell", "20ms,planned,1", "--live", "--out", out];
    let output = program(&live).env("PATH", "/nonexistent").output().unwrap();
    assert_refused(&output, 2, "--live needs the program ");
    assert!(!folder.0.exists());
}

fn assert_lab_refuses(arguments: &[&str], words: &str) {
    static REFUSED: AtomicU32 = AtomicU32::new(0);
    let nth = REFUSED.fetch_add(1, Ordering::Relaxed);
    let folder = LabFolder::new(&format!("refused-{nth}"));
    let output = run(&[&["lab"], arguments, &["--out", folder.0.to_str().unwrap()]].concat());
    let said = String::from_utf8(output.stderr).unwrap();
    assert!(!output.status.success() && said.contains(words), "{said}");
    assert!(!folder.0.exists(), "{arguments:?}");
}

#[test]
fn a_sweep_of_a_paper_has_a_folder_for_each_point_and_the_cells_of_all() {
    let sweep = ["--sweep", "delay=5ms,40ms", "--sweep", "queue=50p,100p"];
    let files = ["sweep.csv", "delay=40ms,queue=100p/cells.csv", "delay=5ms,queue=50p/report.html"];
    let (said, [sweep, cells, _]) =
        lab(&[&["kim2007", "--cell", "11,0,1", "--carrier", "SCTP"], &sweep[..]].concat(), files);
    assert!(
        said.contains("delay=40ms, queue=100p\n\nNot the paper's: delay 40ms (10ms)"),
        "{said}"
    );
    let [sweep, cells] = [sweep, cells].map(|table| String::from_utf8(table).unwrap());
    let expected: Vec<_> = cells.lines().zip(["delay,queue,", "40ms,100p,"]).collect();
    let expected = expected.iter().map(|(line, point)| format!("{point}{line}"));
    let last = sweep.lines().last().map(str::to_owned);
    assert_eq!(expected.collect::<Vec<_>>(), [sweep.lines().next().unwrap(), &last.unwrap()]);
    assert_eq!(sweep.lines().count(), 1 + 4);
}

/// A folder of a test's own for what the lab writes.
struct LabFolder(PathBuf);

impl LabFolder {
    fn new(name: &str) -> Self {
        Self(std::env::temp_dir().join(format!("anabranch-{}-{name}", std::process::id())))
    }

    /// What is printed.
    fn lab(&self, out: &str, arguments: &[&str]) -> String {
        let out = self.0.join(out);
        let output = run(&[&["lab"], arguments, &["--out", out.to_str().unwrap()]].concat());
        assert!(output.status.success(), "{output:?}");
        String::from_utf8(output.stdout).unwrap()
    }

    /// All files that were written, with what is in them.
    fn files(&self, out: &str) -> BTreeMap<PathBuf, Vec<u8>> {
        let root = self.0.join(out);
        let mut files = BTreeMap::new();
        let mut folders = vec![root.clone()];
        while let Some(folder) = folders.pop() {
            for entry in std::fs::read_dir(folder).unwrap() {
                let path = entry.unwrap().path();
                if path.is_dir() {
                    folders.push(path);
                } else {
                    let name = path.strip_prefix(&root).unwrap().to_owned();
                    files.insert(name, std::fs::read(path).unwrap());
                }
            }
        }
        files
    }
}

impl Drop for LabFolder {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The last line tells how long it took, or how much was known.
fn without_last_line(text: &str) -> &str {
    text.trim_end().rsplit_once('\n').unwrap().0
}

#[test]
fn what_a_paper_gave_is_kept_to_the_last_digit_and_not_run_again_unless_asked_for() {
    let folder = LabFolder::new("kept");
    for (paper, cell, _) in CELLS {
        let arguments = [&[paper], cell].concat();
        let said = folder.lab(paper, &arguments);
        let files = folder.files(paper);
        let again = folder.lab(paper, &arguments);
        assert!(said.contains("CPU seconds") && !again.contains("CPU seconds"), "{paper}: {again}");
        assert!(again.ends_with("runs were known already\n"), "{paper}: {again}");
        assert_eq!(without_last_line(&said), without_last_line(&again));
        assert_eq!(folder.files(paper), files, "{paper}");
        let anew = folder.lab(paper, &[&arguments[..], &["--again"]].concat());
        assert!(anew.contains("CPU seconds") && !anew.contains("known already"), "{paper}: {anew}");
        assert_eq!(folder.files(paper), files, "{paper}");
    }
}

#[test]
fn another_parameter_is_another_run_of_a_paper() {
    let folder = LabFolder::new("parameters");
    let kept = |set: &str| {
        let cell = ["kim2007", "--cell", "11,5,1", "--carrier", "SCTP", "--set", set];
        folder.lab("out", &cell);
        folder.files("out").keys().filter(|file| file.starts_with("runs")).count()
    };
    let counts = ["delay=5ms", "delay=6ms", "queue=9p,delay=6ms", "delay=6ms,queue=9p"].map(kept);
    assert_eq!(counts, [1, 2, 3, 3], "in any order");
}

#[test]
fn shards_of_a_papers_sweep_are_merged_into_what_one_run_gives() {
    let folder = LabFolder::new("paper-shards");
    let sweep = ["kim2007", "--figure", "11", "--seeds", "1", "--sweep", "delay=5ms,40ms"];
    let whole = folder.lab("whole", &sweep);
    for shard in ["1/3", "3/3"] {
        let said = folder.lab("parts", &[&sweep[..], &["--shard", shard]].concat());
        assert_eq!(
            said,
            format!("10 of 30 runs, as shard {shard}; anabranch lab merge joins them\n")
        );
    }
    let other = folder.0.join("other");
    let last = folder.lab("other", &[&sweep[..], &["--shard", "2/3"]].concat());
    assert!(last.contains("10 of 30 runs, as shard 2/3"), "{last}");
    let parts = folder.0.join("parts");
    let [parts, other] = [&parts, &other].map(|path| path.to_str().unwrap());
    let missing = run(&["lab", "merge", parts, "--out", folder.0.join("no").to_str().unwrap()]);
    let words = String::from_utf8(missing.stderr).unwrap();
    assert!(
        words.contains("10 of 30 runs are missing, the first is delay=5ms figure 11"),
        "{words}"
    );
    assert!(!folder.0.join("no").exists());
    let merged = folder.lab("merged", &["merge", parts, other]);
    assert_eq!(without_last_line(&merged), without_last_line(&whole));
    assert_eq!(folder.files("merged"), folder.files("whole"));
}

#[test]
fn a_paper_believes_what_is_kept_and_runs_what_is_cut_off() {
    let folder = LabFolder::new("believed");
    let arguments = ["kim2007", "--cell", "11,5,1", "--carrier", "SCTP"];
    folder.lab("out", &arguments);
    let files = folder.files("out");
    let (kept, text) = files.iter().find(|(name, _)| name.starts_with("runs")).unwrap();
    let cells = || String::from_utf8(folder.files("out")[Path::new("cells.csv")].clone()).unwrap();
    let as_run = cells();
    let write = |text: &[u8]| std::fs::write(folder.0.join("out").join(kept), text).unwrap();
    let text = String::from_utf8(text.clone()).unwrap();
    write(text.replace("\"timeouts\":", "\"timeouts\":98765").as_bytes());
    folder.lab("out", &arguments);
    assert!(cells().contains("98765"), "it was not run");
    write(&text.as_bytes()[..text.len() / 2]);
    folder.lab("out", &arguments);
    assert_eq!(cells(), as_run);
    assert_eq!(folder.files("out"), files);
}

#[test]
fn the_comparison_prints_each_run_when_it_is_over_and_not_all_at_the_end() {
    let arguments = ["lab", "compare", "--tool", "anabranch", "--seconds", "1", "--only", "loss 0"];
    let mut comparison = program(&arguments);
    let mut comparison = comparison.stdout(Stdio::piped()).stderr(Stdio::null()).spawn().unwrap();
    let mut lines = BufReader::new(comparison.stdout.take().unwrap()).lines();
    let row = lines.find(|line| line.as_ref().unwrap().starts_with("  anabranch "));
    // Other runs and twenty connects are still to come.
    comparison.kill().unwrap();
    let status = comparison.wait().unwrap();
    assert!(row.is_some() && status.code().is_none(), "{row:?}, {status}");
}

#[test]
fn the_comparison_measures_what_is_installed_and_names_what_is_not() {
    let folder = std::env::temp_dir().join(format!("anabranch-{}-compare", std::process::id()));
    let out = folder.to_str().unwrap();
    let arguments = ["lab", "compare", "--seconds", "1", "--only", "loss 0 %, buffer 100 ms"];
    let arguments = [&arguments[..], &["--connects", "1", "--out", out]].concat();
    // With an empty PATH no other tool is found.
    let output = program(&arguments).env("PATH", "").output().unwrap();
    assert!(output.status.success(), "{output:?}");
    let text = String::from_utf8(output.stdout).unwrap();
    for (tool, package) in [("srt", "srt-tools"), ("rist", "rist-tools")] {
        assert!(text.contains(&format!("{tool} is left out: apt install {package}\n")), "{text}");
    }
    assert!(text.contains("anabranch  connects at 10 % loss in "), "{text}");
    let csv = std::fs::read_to_string(folder.join("compare.csv")).unwrap();
    let json = std::fs::read_to_string(folder.join("compare.json")).unwrap();
    std::fs::remove_dir_all(&folder).unwrap();
    let rows: Vec<_> = csv.lines().skip(1).collect();
    for (tool, row) in ["anabranch", "dccp"].into_iter().zip(&rows) {
        let name = format!("\"loss 0 %, buffer 100 ms\",{tool},");
        let figures = row.strip_prefix(&name).unwrap();
        let in_time: f64 = figures.split(',').next().unwrap().parse().unwrap();
        // How much comes in time on a busy machine is not this test's matter.
        assert!(in_time > 0.0, "{csv}");
    }
    assert_eq!(rows.len(), 2, "{csv}");
    assert!(json.contains("\"transfers\"") && json.contains("\"connects\""), "{json}");
}

#[test]
fn wrong_arguments_are_one_line_and_status_2() {
    let wrong: [(&[&str], &str); 7] = [
        (&["branch"], "'branch'"),
        (&["treatments", "--preset", "best"], "give reliable, layered or live"),
        (&["emulate"], "no link: give --listen and --target"),
        (&["emulate", "--listen", "127.0.0.1:0", "--rate", "1M"], "--target <ADDR:PORT>"),
        (&alone("--rate", "10"), "\"10\" is no rate: write 500k, 10M"),
        (&alone("--queue", "50ms"), "needs a rate"),
        (&["emulate", "--link", "name=a,lsten=127.0.0.1:1"], "there is no key lsten"),
    ];
    for (arguments, expected) in wrong {
        assert_refused(&run(arguments), 2, expected);
    }
}

#[test]
fn a_port_in_use_is_said_in_words() {
    let taken = UdpSocket::bind("127.0.0.1:0").unwrap();
    let listen = taken.local_addr().unwrap().to_string();
    let output = run(&["emulate", "--listen", &listen, "--target", "127.0.0.1:9"]);
    assert_refused(&output, 2, "is in use at 127.0.0.1: choose another one");
}

#[test]
fn regression_a_port_that_another_program_has_was_replaced_by_another_one_in_silence() {
    let tcp = TcpListener::bind("127.0.0.1:0").unwrap();
    let udp = UdpSocket::bind("127.0.0.1:0").unwrap();
    let http = tcp.local_addr().unwrap().to_string();
    let viewers = udp.local_addr().unwrap().to_string();
    let output = run(&["serve", "--http", &http, "--udp", "127.0.0.1:0"]);
    assert_refused(&output, 2, "another program has the port; end it, or give another port with");
    let output = run(&["serve", "--http", "0", "--udp", &viewers]);
    assert_refused(&output, 2, "is in use at 127.0.0.1: choose another one");
    // Without an option there is the usual port, or none. Another program may have it already.
    if let Ok(_held) = TcpListener::bind("127.0.0.1:8080") {
        let output = run(&["serve", "--udp", "127.0.0.1:0"]);
        assert_refused(&output, 2, "at 127.0.0.1:8080: another program has the port");
    }
    let port = tcp.local_addr().unwrap().port().to_string();
    let output = run(&["demo", "--page-port", &port]);
    assert_refused(&output, 2, "give another port, or 0 for any");
}

#[test]
fn without_a_command_there_is_help() {
    for arguments in [&[][..], &["lab"]] {
        let output = run(arguments);
        let help = String::from_utf8(output.stdout).unwrap();
        assert!(output.status.success() && help.contains("Usage: anabranch"), "{help}");
        assert!(output.stderr.is_empty());
    }
}

#[test]
fn regression_lines_of_the_demo_were_wider_than_a_terminal() {
    let output = run(&["demo", "--headless", "--seconds", "3", "--cut", "wifi@1s..2s"]);
    let text = String::from_utf8(output.stdout).unwrap();
    assert!(text.contains(" shown, ") && text.contains("\nlayer "), "{text}");
    let wide: Vec<_> = text.lines().filter(|line| line.chars().count() > 80).collect();
    assert!(output.status.success() && wide.is_empty(), "{wide:#?}");
}

#[test]
fn shells_learn_the_commands_and_manual_pages_tell_them() {
    for (shell, words) in [
        ("bash", "complete -F _anabranch"),
        ("zsh", "#compdef anabranch"),
        ("fish", "complete -c anabranch"),
        ("elvish", "edit:completion:arg-completer[anabranch]"),
        ("powershell", "Register-ArgumentCompleter"),
    ] {
        let script = String::from_utf8(run(&["completions", shell]).stdout).unwrap();
        assert!(script.contains(words) && script.contains("emulate"), "{shell}: {script}");
    }
    let folder = std::env::temp_dir().join(format!("anabranch-{}-man", std::process::id()));
    let output = run(&["man", folder.to_str().unwrap()]);
    let pages = ["anabranch.1", "anabranch-serve.1", "anabranch-lab-kim2007.1"];
    let read = pages.map(|page| std::fs::read_to_string(folder.join(page)).unwrap());
    std::fs::remove_dir_all(&folder).unwrap();
    assert!(output.status.success() && output.stdout.is_empty());
    assert!(read[1].contains(".TH anabranch-serve 1") && read[1].contains("\\-\\-https"));
    assert_refused(&run(&["man", "/dev/null/man"]), 2, "cannot write to /dev/null/man: ");
}

#[test]
fn a_scenario_that_cannot_be_read_is_said_in_words() {
    let link = "name=wifi,listen=127.0.0.1:0,target=127.0.0.1:9";
    let output = run(&["emulate", "--scenario", "/nowhere.toml", "--link", link]);
    assert_refused(&output, 1, "/nowhere.toml: No such file");
    let file = std::env::temp_dir().join(format!("anabranch-{}-bad.toml", std::process::id()));
    std::fs::write(&file, "seed = 1\nstepps = []\n").unwrap();
    let output = run(&["emulate", "--scenario", file.to_str().unwrap(), "--link", link]);
    std::fs::remove_file(&file).unwrap();
    assert_refused(
        &output,
        1,
        "not a scenario: line 2: there is no key stepps in the file; the keys",
    );
}

#[test]
fn an_echo_crosses_an_emulated_link_and_the_closing_table_counts_it() {
    let echo = Echo::start();
    let target = echo.addr.to_string();
    let mut emulate = Emulate::start(&["--listen", "127.0.0.1:0", "--target", &target]);
    let entrance = emulate.entrances(1)[0];
    assert_eq!(ask(entrance, b"ping"), b"ping");
    let table = emulate.interrupt();
    assert!(counts(&table, "up").starts_with(&[1, 1, 0, 0]), "{table}");
    assert!(counts(&table, "down").starts_with(&[1, 1, 0, 0]), "{table}");
}

#[test]
fn each_of_several_links_has_its_own_setting() {
    let echo = Echo::start();
    let good = format!("name=good,listen=127.0.0.1:0,target={}", echo.addr);
    let bad = format!("name=bad,listen=127.0.0.1:0,target={},up.loss=100%", echo.addr);
    let mut emulate = Emulate::start(&["--link", &bad, "--link", &good]);
    let entrances = emulate.entrances(2);
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.send_to(b"lost", entrances[0]).unwrap();
    assert_eq!(ask(entrances[1], b"through"), b"through");
    let table = emulate.interrupt();
    assert!(table.contains("bad          up"), "{table}");
    assert!(table.contains("good         up            1          1        0"), "{table}");
}

#[test]
fn an_emulated_link_is_recorded_packet_by_packet() {
    let echo = Echo::start();
    let target = echo.addr.to_string();
    let file = |kind: &str| {
        std::env::temp_dir().join(format!("anabranch-{}-link.{kind}", std::process::id()))
    };
    let (trace, capture) = (file("qlog"), file("pcapng"));
    let link = ["--listen", "127.0.0.1:0", "--target", &target, "--loss", "0%"];
    let recorded = [trace.to_str().unwrap(), capture.to_str().unwrap()];
    let flags = ["--trace", recorded[0], "--capture", recorded[1]];
    let mut emulate = Emulate::start(&[&link[..], &flags[..]].concat());
    let entrance = emulate.entrances(1)[0];
    assert_eq!(ask(entrance, b"ping"), b"ping");
    let told = emulate.interrupt();
    let qlog = std::fs::read_to_string(&trace).unwrap();
    let packets = std::fs::read(&capture).unwrap();
    [trace, capture].iter().for_each(|file| std::fs::remove_file(file).unwrap());
    for (name, way) in [("packet_received", "up"), ("packet_sent", "up"), ("packet_sent", "down")] {
        let record = qlog.lines().find(|line| {
            line.contains(&format!("link:{name}")) && line.contains(&format!("\"{way}\""))
        });
        assert!(record.is_some_and(|record| record.contains("\"bytes\":4")), "{qlog}");
    }
    let pings = packets.windows(4).filter(|window| window == b"ping").count();
    assert_eq!(pings, 4, "in and out, each way");
    assert!(told.contains("link.qlog: 4 records") && told.contains("link.pcapng: 4 packets"));
}

#[test]
fn a_scenario_cuts_and_restores_its_links() {
    let echo = Echo::start();
    let scenario = std::env::temp_dir().join(format!("anabranch-{}.toml", std::process::id()));
    let text = "seed = 7\nevents = [{ at = '0', cut = 'wifi' }, { at = '1ms', restore = 'wifi' }]\n\
                [[links]]\nname = 'wifi'\n";
    std::fs::write(&scenario, text).unwrap();
    let link = format!("name=wifi,listen=127.0.0.1:0,target={}", echo.addr);
    let file = scenario.to_str().unwrap();
    let mut emulate = Emulate::start(&["--scenario", file, "--link", &link]);
    let entrance = emulate.entrances(1)[0];
    for expected in ["seed 7", ": wifi is cut", ": wifi is back", ": the scenario is over"] {
        emulate.line_with(expected);
    }
    std::fs::remove_file(&scenario).unwrap();
    assert_eq!(ask(entrance, b"again"), b"again");
    emulate.interrupt();
}

/// The arguments of a link that would work but for one flag.
fn alone<'a>(flag: &'a str, value: &'a str) -> [&'a str; 7] {
    ["emulate", "--listen", "127.0.0.1:0", "--target", "127.0.0.1:9", flag, value]
}

fn program(arguments: &[&str]) -> Command {
    let mut command = Command::new(env!("CARGO_BIN_EXE_anabranch"));
    command
        .args(arguments)
        .env_remove("RUST_LOG")
        .env("XDG_STATE_HOME", env!("CARGO_TARGET_TMPDIR"));
    command
}

fn run(arguments: &[&str]) -> Output {
    program(arguments).output().unwrap()
}

fn assert_refused(output: &Output, status: i32, expected: &str) {
    let said = String::from_utf8_lossy(&output.stderr);
    assert_eq!(output.status.code(), Some(status), "{said}");
    assert_eq!(said.lines().count(), 1, "{said}");
    assert!(said.contains(expected), "{said}");
}

/// Sends a question and waits for the answer.
fn ask(entrance: SocketAddr, question: &[u8]) -> Vec<u8> {
    let client = UdpSocket::bind("127.0.0.1:0").unwrap();
    client.set_read_timeout(Some(PATIENCE)).unwrap();
    client.send_to(question, entrance).unwrap();
    let mut answer = vec![0; 2_048];
    let (len, from) = client.recv_from(&mut answer).unwrap();
    assert_eq!(from, entrance);
    answer.truncate(len);
    answer
}

/// The numbers of the first row of a closing table that is about this way.
fn counts(table: &str, way: &str) -> Vec<u64> {
    let mut rows = table.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
    let row = rows.find(|row| row.get(1) == Some(&way)).unwrap();
    row[2..].iter().map(|number| number.parse().unwrap()).collect()
}

/// Sends back what comes, until the test ends.
struct Echo {
    addr: SocketAddr,
}

impl Echo {
    fn start() -> Self {
        let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
        let addr = socket.local_addr().unwrap();
        std::thread::spawn(move || {
            let mut buf = [0; 2_048];
            while let Ok((len, from)) = socket.recv_from(&mut buf) {
                socket.send_to(&buf[..len], from).unwrap();
            }
        });
        Self { addr }
    }
}

/// A running `anabranch emulate`.
struct Emulate {
    child: Child,
    stdout: BufReader<ChildStdout>,
}

impl Emulate {
    fn start(arguments: &[&str]) -> Self {
        let arguments: Vec<_> = ["emulate"].iter().chain(arguments).copied().collect();
        let mut child =
            program(&arguments).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
        let stdout = BufReader::new(child.stdout.take().unwrap());
        Self { child, stdout }
    }

    /// Waits until the links listen; returns where.
    fn entrances(&mut self, links: usize) -> Vec<SocketAddr> {
        let mut found = Vec::new();
        while found.len() < links {
            let line = self.line_with("listening on ");
            found.push(line.split_whitespace().nth(2).unwrap().parse().unwrap());
        }
        found
    }

    fn line_with(&mut self, expected: &str) -> String {
        loop {
            let mut line = String::new();
            let len = self.stdout.read_line(&mut line).unwrap();
            assert!(len > 0, "ended without \"{expected}\"");
            if line.contains(expected) {
                return line;
            }
        }
    }

    /// Ends it as Ctrl-C does; returns what it says in the end.
    fn interrupt(&mut self) -> String {
        let pid = self.child.id().to_string();
        assert!(Command::new("kill").args(["-INT", &pid]).status().unwrap().success());
        let mut rest = String::new();
        self.stdout.read_to_string(&mut rest).unwrap();
        let mut complaints = String::new();
        self.child.stderr.take().unwrap().read_to_string(&mut complaints).unwrap();
        assert_eq!(complaints, "");
        assert!(self.child.wait().unwrap().success());
        rest
    }
}

impl Drop for Emulate {
    fn drop(&mut self) {
        // Fails if it has ended, which is what is wanted.
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}
