//! What goes over the wire, read by tshark.

use std::path::PathBuf;
use std::time::Duration;

use anabranch_interop::{Examination, Fault, examine};
use anabranch_netsim::{CaptureScope, Hostility, Probability};
use anabranch_sctp::{AssociationConfig, CongestionControl, Level, OutgoingMessage, Reliability};

use crate::harness::{Duo, Side, link, numbered};

/// Chunk types by the numbers that tshark prints (RFC 9260 section 3.2, RFC 3758 section 3.2, RFC
/// 8260 section 5).
const DATA: u8 = 0;
const INIT: u8 = 1;
const INIT_ACK: u8 = 2;
const SACK: u8 = 3;
const HEARTBEAT: u8 = 4;
const HEARTBEAT_ACK: u8 = 5;
const ABORT: u8 = 6;
const SHUTDOWN: u8 = 7;
const SHUTDOWN_ACK: u8 = 8;
const COOKIE_ECHO: u8 = 10;
const COOKIE_ACK: u8 = 11;
const SHUTDOWN_COMPLETE: u8 = 14;
const I_DATA: u8 = 64;
const FORWARD_TSN: u8 = 192;
const I_FORWARD_TSN: u8 = 194;

/// Runs an association over two paths that lose one packet in ten, and has tshark read all that
/// each end sent.
fn examined(name: &str, act: impl FnOnce(&mut Duo)) -> Examination {
    examined_with(name, AssociationConfig::media(), act)
}

fn examined_with(name: &str, config: AssociationConfig, act: impl FnOnce(&mut Duo)) -> Examination {
    let lossy = link(20, 10, 0.1);
    // tshark remarks on each SACK that has more than 100 TSNs behind a gap: fewer are in flight.
    let congestion_control = CongestionControl::Fixed { window: 40_000 };
    let config = config.with(|config| config.window.congestion_control = congestion_control);
    let mut duo = Duo::new(1, &[lossy.clone(), lossy], config);
    let capture = duo.pair.sim.capture(CaptureScope::AllLinks, name, Vec::new()).expect("memory");
    duo.connect();
    duo.run_for(Duration::from_secs(10));
    act(&mut duo);
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    std::fs::write(&file, capture.finish().expect("memory")).expect("the target folder");
    examine(&file).expect("tshark reads it")
}

#[test]
fn tshark_finds_no_fault_from_handshake_to_shutdown() {
    let found = examined("shutdown", everything);
    assert_eq!(found.faults, []);
    assert!(found.chunks.keys().copied().eq(EVERYTHING), "each of them, and no other: {found:?}");
}

#[test]
fn tshark_finds_no_fault_where_messages_interleave() {
    let config =
        AssociationConfig::media().with(|config| config.extensions.message_interleaving = true);
    let found = examined_with("interleaving", config, everything);
    assert_eq!(found.faults, []);
    let mut expected = EVERYTHING.map(|ty| match ty {
        DATA => I_DATA,
        FORWARD_TSN => I_FORWARD_TSN,
        other => other,
    });
    expected.sort_unstable();
    assert!(found.chunks.keys().copied().eq(expected), "each of them, and no other: {found:?}");
}

/// Messages of all sizes, treatments and levels, with their marks, then a shutdown.
fn everything(duo: &mut Duo) {
    for (number, size) in [4, 5, 999, 1_320, 20_000, 262_144].into_iter().enumerate() {
        for side in [Side::Client, Side::Server] {
            let level = Level::ALL[number % Level::ALL.len()];
            let ordered = numbered(number as u16, number as u32, size);
            duo.send(side, OutgoingMessage { level, ..ordered });
            let unordered = numbered(7, number as u32, size);
            duo.send(side, OutgoingMessage { level, ordered: false, ..unordered });
        }
    }
    duo.run_for(Duration::from_secs(60));
    assert_eq!(duo.messages(Side::Server).len(), 12);
    for number in 0..400 {
        let reliability = match number % 2 {
            0 => Reliability::MaxRetransmissions(0),
            _ => Reliability::Lifetime(Duration::from_millis(60)),
        };
        let partial = numbered((number % 3) as u16, number, 2_000);
        let ordered = number % 5 != 0;
        duo.send(Side::Client, OutgoingMessage { reliability, ordered, ..partial });
        duo.run_for(Duration::from_millis(5));
    }
    duo.run_for(Duration::from_secs(10));
    duo.act(Side::Client, |association, now| association.shutdown(now));
    duo.run_until_closed(Side::Client);
    duo.run_until_closed(Side::Server);
}

const EVERYTHING: [u8; 12] = [
    DATA,
    INIT,
    INIT_ACK,
    SACK,
    HEARTBEAT,
    HEARTBEAT_ACK,
    SHUTDOWN,
    SHUTDOWN_ACK,
    COOKIE_ECHO,
    COOKIE_ACK,
    SHUTDOWN_COMPLETE,
    FORWARD_TSN,
];

#[test]
fn tshark_finds_no_fault_with_an_abort_and_what_answers_late_packets() {
    let found = examined("abort", |duo| {
        duo.send(Side::Server, numbered(0, 0, 100_000));
        duo.run_for(Duration::from_millis(50));
        duo.act(Side::Client, |association, _| association.abort("the stream is over capacity"));
        // The server's data is out of the blue now, and gets an ABORT with a reflected tag, too.
        duo.run_until_closed(Side::Server);
        duo.run_for(Duration::from_secs(1));
    });
    assert_eq!(found.faults, []);
    assert!(found.chunks[&ABORT] > 1, "{found:?}");
}

/// Otherwise the other tests here say nothing.
#[test]
fn tshark_finds_damaged_packets() {
    let found = examined("damage", |duo| {
        let corrupt = Probability::new(0.5).expect("a probability");
        duo.harass(Hostility { corrupt, ..Hostility::default() });
        duo.send(Side::Client, numbered(0, 0, 10_000));
        duo.run_for(Duration::from_secs(1));
    });
    let wrong = |fault: &&Fault| fault.what == "its checksum is wrong";
    assert!(found.faults.iter().filter(wrong).count() > 1, "{found:?}");
}
