//! What goes over the wire, read by tshark.

use std::path::PathBuf;
use std::time::Duration;

use anabranch_interop::{Examination, examine_tcp};
use anabranch_netsim::{CaptureScope, Hostility, Probability};
use anabranch_tcp::Config;

use crate::harness::{Duo, link, pattern};

/// Kinds of options by the numbers that tshark prints.
const NOOP: u8 = 1;
const MSS: u8 = 2;
const WINDOW_SCALE: u8 = 3;
const SACK_PERMITTED: u8 = 4;
const SACK: u8 = 5;

/// A whole connection over a link that loses packets, as tshark reads it.
fn examined(name: &str, hostility: Hostility) -> Examination {
    let mut duo = Duo::new(3, link(10, 20, 0.05), Config::default(), Config::default());
    let capture = duo.pair.sim.capture(CaptureScope::AllLinks, name, Vec::new()).expect("memory");
    duo.connect();
    duo.harass(hostility);
    duo.send(&pattern(300_001)).expect("an open connection");
    duo.pair.act_client(|client, _| client.close()).expect("an open connection");
    duo.pair.act_server(|server, _| server.close()).expect("an open connection");
    duo.run_for(Duration::from_secs(60));
    assert_eq!(duo.received.len(), 300_001);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    std::fs::write(&file, capture.finish().expect("memory")).expect("the target folder");
    examine_tcp(&file).expect("tshark reads it")
}

#[test]
fn tshark_finds_no_fault_and_every_option() {
    let found = examined("tcp", Hostility::default());
    assert_eq!(found.faults, []);
    assert!(found.packets > 300, "{found:?}");
    let kinds = [NOOP, MSS, WINDOW_SCALE, SACK_PERMITTED, SACK];
    assert!(found.chunks.keys().copied().eq(kinds), "each of them, and no other: {found:?}");
}

/// Otherwise the other test here says nothing.
#[test]
fn tshark_finds_damaged_segments() {
    let corrupt = Probability::new(0.1).expect("a probability");
    let found = examined("tcp-damage", Hostility { corrupt, ..Hostility::default() });
    let wrong = found.faults.iter().filter(|fault| fault.what == "its checksum is wrong");
    assert!(wrong.count() > 1, "{found:?}");
}
