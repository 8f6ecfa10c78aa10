//! Captures of cells, read by tshark.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::Command;

use anabranch_interop::{examine, examine_tcp};
use anabranch_lab::ortiz2013::{
    Cell, RtpStrategy, SctpStrategy, Source, Strategy, Treatment, Video,
};

fn captured(strategy: Strategy) -> PathBuf {
    let video = Video::new(Source::Plain).cut_after(5);
    let cell = Cell { strategy, mbps: 30, loss: 1e-2, seed: 1 };
    let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{strategy}.pcapng"));
    let file = File::create(&path).expect("the target folder");
    let measured = cell.run_captured(&video, file).expect("the machines behave");
    assert_eq!(measured, cell.run(&video).expect("the machines behave"), "nothing else changes");
    path
}

/// Each packet's number, where tshark finds it malformed or finds no RTP in it.
fn without_rtp(path: &Path) -> Vec<String> {
    let output = Command::new("tshark")
        .arg("-r")
        .arg(path)
        .args(["-d", "udp.port==5004,rtp", "-Y", "_ws.malformed || !rtp"])
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
                assert_eq!(without_rtp(&path), [""; 0], "{strategy}");
                continue;
            }
        };
        let found = found.expect("tshark reads it");
        assert!(found.packets > 300, "{strategy}: {found:?}");
        assert_eq!(found.faults, [], "{strategy}");
    }
}
