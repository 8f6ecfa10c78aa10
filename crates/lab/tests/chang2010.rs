//! Cells of the paper about calls whose path is cut.

use std::fs::File;
use std::path::PathBuf;

use anabranch_interop::{examine, examine_tcp};
use anabranch_lab::chang2010::{Cell, Handoff, Method, Outcome, Place, Values};
use anabranch_lab::{Parameters, RecordTo};

fn cell(handoff: Handoff, method: Method) -> Cell {
    Cell { place: Place::Handoff(handoff), method, seed: 1 }
}

/// A call of less media than the paper's.
fn parameters(set: &str) -> Parameters<Values> {
    let set = format!("video=2M,voice=64k{set}");
    Parameters::read([set.as_str()]).expect("there are such parameters")
}

fn run(cell: &Cell, set: &str) -> Outcome {
    cell.run_recorded(&parameters(set), RecordTo::default()).expect("the machines behave")
}

#[test]
fn a_gap_is_the_threshold_and_what_the_next_check_takes() {
    for handoff in Handoff::ALL {
        for ms in [1_500, 2_000] {
            let outcome = run(&cell(handoff, Method::Timed(ms)), "");
            let gap = outcome.handoff_s.expect("the call goes on");
            let beyond = gap - f64::from(ms) / 1e3;
            assert!((-0.05..0.5).contains(&beyond), "{handoff}, {ms} ms: {gap}");
        }
    }
}

#[test]
fn a_call_ends_where_nothing_was_heard_on_the_other_path_before_the_threshold() {
    let timed = |ms, set| run(&cell(Handoff::WiredToWireless, Method::Timed(ms)), set);
    let failed = timed(500, "");
    assert!(failed.handoff_s.is_none(), "{failed:?}");
    assert!(failed.gave_up_s.is_some_and(|at| (0.3..0.9).contains(&at)), "{failed:?}");
    // What SCTP knows of the other path, by heartbeats, is enough.
    assert!(timed(500, ",by-state=yes").handoff_s.is_some());
    // So is a timeout that comes before the threshold; and without anything to send again, none is.
    assert!(timed(800, ",rto-min=400ms").handoff_s.is_some());
    assert!(timed(2_000, ",lifetime=500ms").handoff_s.is_none());
}

#[test]
fn sctp_alone_notices_after_six_timeouts() {
    let outcome = run(&cell(Handoff::WiredToWired, Method::Sctp), "");
    let gap = outcome.handoff_s.expect("the call goes on");
    assert!((60.0..70.0).contains(&gap), "1 + 2 + 4 + 8 + 16 + 32 s: {gap}");
    let sooner = run(&cell(Handoff::WiredToWired, Method::Sctp), ",path-max=2");
    let gap = sooner.handoff_s.expect("the call goes on");
    assert!((6.0..10.0).contains(&gap), "1 + 2 + 4 s: {gap}");
}

#[test]
fn a_tcp_connects_anew_and_goes_on() {
    let outcome = run(&cell(Handoff::WiredToWired, Method::Usha), "");
    let gap = outcome.handoff_s.expect("the call goes on");
    assert!((1.4..2.5).contains(&gap), "{gap}");
    assert!(outcome.video.lost > 0, "{outcome:?}");
}

#[test]
fn ours_loses_no_voice_unannounced_and_nothing_on_purpose() {
    for place in [Place::Rtt(20), Place::Rtt(100)] {
        let unplanned = run(&Cell { place, method: Method::Unplanned, seed: 1 }, "");
        assert_eq!((unplanned.voice.lost, unplanned.voice.late), (0, 0), "{place}: {unplanned:?}");
        assert_eq!(unplanned.video_gaps_s.len(), 20, "each cut, both ways");
        let planned = run(&Cell { place, method: Method::Planned, seed: 1 }, "");
        let all = planned.voice.plus(planned.video);
        assert_eq!((all.lost, all.late), (0, 0), "{place}: {planned:?}");
    }
}

#[test]
fn tshark_finds_no_fault_with_captures() {
    for method in Method::ALL {
        let cell = match method {
            Method::Sctp => continue,
            Method::Timed(_) | Method::Usha => cell(Handoff::WiredToWireless, method),
            Method::Unplanned | Method::Planned => Cell { place: Place::Rtt(20), method, seed: 1 },
        };
        let name = format!("chang2010-{method}.pcapng");
        let path = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
        let file = File::create(&path).expect("the target folder");
        let to = RecordTo { capture: Some(Box::new(file)), ..RecordTo::default() };
        let set = parameters(",call-video=500k");
        let recorded = cell.run_recorded(&set, to).expect("the machines behave");
        let plain = cell.run_recorded(&set, RecordTo::default()).expect("the machines behave");
        assert_eq!(recorded, plain, "{cell}: nothing else changes");
        let found = match method {
            Method::Usha => examine_tcp(&path),
            Method::Sctp | Method::Timed(_) | Method::Unplanned | Method::Planned => examine(&path),
        };
        let found = found.expect("tshark reads it");
        assert!(found.packets > 1_000, "{cell}: {found:?}");
        assert_eq!(found.faults, [], "{cell}");
    }
}
