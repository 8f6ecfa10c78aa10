//! Captures of cells, read by tshark.

use std::collections::BTreeSet;
use std::fs::File;
use std::io::{BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::Command;

use anabranch_interop::{examine, examine_tcp};
use anabranch_lab::huseynli2023;
use anabranch_lab::kim2007::{self, Carrier, Scenario};
use anabranch_lab::ortiz2013::{
    Cell, RtpStrategy, SctpStrategy, Setup, Source, Strategy, Treatment,
};
use anabranch_lab::trace::{Event, read};
use anabranch_lab::{Parameters, RecordTo};

/// All that can be recorded, beside each other.
fn to(capture: &Path) -> RecordTo {
    let file = |path: &Path| -> Option<Box<dyn Write + Send>> {
        Some(Box::new(File::create(path).expect("the target folder")))
    };
    let trace = file(&capture.with_extension("qlog"));
    RecordTo { capture: file(capture), trace, ..RecordTo::default() }
}

/// The names of the records of one end.
fn recorded(capture: &Path, end: &str) -> BTreeSet<String> {
    let file = File::open(capture.with_extension("qlog")).expect("it was written");
    let mut names = BTreeSet::new();
    let take = |event: Event| {
        if event.group_id.starts_with(end) {
            names.insert(event.name);
        }
    };
    read(BufReader::new(file), take).expect("a trace");
    names
}

fn captured(strategy: Strategy) -> PathBuf {
    let setup = Setup::new(Source::Plain).cut_after(5);
    let cell = Cell { strategy, mbps: 30.0, loss: 1e-2, seed: 1 };
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{strategy}.pcapng"));
    let measured = cell.run_recorded(&setup, to(&path)).expect("the machines behave");
    assert_eq!(measured, cell.run(&setup).expect("the machines behave"), "nothing else changes");
    path
}

/// The numbers of the packets that tshark's filter shows.
fn shown(path: &Path, filter: &str) -> Vec<String> {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(path)
        .args(["-d", "udp.port==5004,rtp", "-o", "udp.check_checksum:TRUE", "-Y", filter])
        .args(["-T", "fields", "-e", "frame.number"])
        .output()
        .expect("tshark is not installed: ./test.sh installs it");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8_lossy(&output.stdout).lines().map(str::to_owned).collect()
}

#[test]
fn tshark_finds_no_fault_in_a_capture() {
    for strategy in [
        Strategy::Sctp(SctpStrategy::CmtMulti(Treatment::Mixed(1))),
        Strategy::OURS,
        Strategy::Rtp(RtpStrategy::Multi),
        Strategy::Tcp,
    ] {
        let path = captured(strategy);
        let found = match strategy {
            Strategy::Sctp(_) => examine(&path),
            Strategy::Tcp => examine_tcp(&path),
            Strategy::Rtp(_) => {
                assert_eq!(shown(&path, "_ws.malformed || !rtp"), [""; 0], "{strategy}");
                continue;
            }
        };
        let found = found.expect("tshark reads it");
        assert!(found.packets > 300, "{strategy}: {found:?}");
        assert_eq!(found.faults, [], "{strategy}");
    }
}

#[test]
fn a_simulated_run_is_traced_as_a_real_one_is() {
    let path = captured(Strategy::Sctp(SctpStrategy::Single(Treatment::Mixed(1))));
    let (sender, receiver) = (recorded(&path, "sender"), recorded(&path, "receiver"));
    for name in ["sctp:data_sent", "sctp:window_updated", "sctp:timer_set"] {
        assert!(sender.contains(name), "{name}: {sender:?}");
    }
    assert!(receiver.contains("sctp:data_received"), "{receiver:?}");
}

#[test]
fn tshark_finds_no_fault_in_channels_that_are_switched() {
    for cell in Scenario::Switching.cells(1).into_iter().filter(|cell| cell.delay_ms == 20) {
        let path = captured_channel(&cell);
        let found = match cell.carrier {
            Carrier::Tcp => examine_tcp(&path),
            Carrier::Udp
            | Carrier::Sctp
            | Carrier::PrSctp
            | Carrier::Anabranch
            | Carrier::AnabranchPr => examine(&path),
        };
        let found = found.expect("tshark reads it");
        assert!(found.packets > 200, "{cell}: {found:?}");
        assert_eq!(found.faults, [], "{cell}");
    }
}

#[test]
fn tshark_finds_a_datagram_for_each_message_lost_ones_included() {
    let mut cells = Scenario::Loss.cells(1).into_iter();
    let is_it = |cell: &kim2007::Cell| cell.carrier == Carrier::Udp && cell.loss_percent == 10;
    let cell = cells.find(is_it).expect("it is in the figure");
    let path = captured_channel(&cell);
    assert_eq!(shown(&path, "udp.length == 1032").len(), kim2007::MESSAGES as usize);
    assert_eq!(shown(&path, "_ws.malformed || udp.checksum.status != 1"), [""; 0]);
}

fn captured_channel(cell: &kim2007::Cell) -> PathBuf {
    let name = format!("{}.pcapng", cell.name());
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    let papers = Parameters::default();
    let outcome = cell.run_recorded(&papers, to(&path)).expect("the machines behave");
    assert_eq!(outcome, cell.run().expect("the machines behave"), "nothing else changes");
    path
}

#[test]
fn tshark_finds_no_fault_in_marked_chunks() {
    for method in huseynli2023::Method::ALL {
        let (source, last_hop) = (huseynli2023::Source::Pictures, huseynli2023::LastHop::Wired);
        let variation = huseynli2023::Variation::AsRun;
        let cell = huseynli2023::Cell { source, last_hop, variation, method, seed: 1 };
        let path =
            PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{}.pcapng", cell.name()));
        let parameters = Parameters::read(["duration=2s,flows=1,loss=1%"]).expect("they exist");
        cell.run_recorded(&parameters, to(&path)).expect("the machines behave");
        let found = examine(&path).expect("tshark reads it");
        assert!(found.packets > 1_000, "{cell}: {found:?}");
        assert_eq!(found.faults, [], "{cell}");
        assert!(recorded(&path, "receiver").contains("sctp:data_received"), "{cell}");
    }
}
