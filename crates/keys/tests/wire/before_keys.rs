//! Packets in the open before there are keys. They can keep an association from coming to be; what
//! they bring is never delivered, and takes nothing's place.

use std::time::Duration;

use anabranch_sctp::CloseReason;
use anabranch_wire::{
    Chunk, Data, ForwardTsn, Items, Level, Ppid, SkippedStream, Ssn, StreamId, Tsn,
};

use crate::pump::{
    CALLER, LISTENER, LONG, Wire, bytes_of, initial_tsn, message, packet, packet_of, path_at,
};

/// A DATA chunk in the open.
fn data(tsn: Tsn, stream: u16, ppid: u32, ends: (bool, bool)) -> Vec<u8> {
    bytes_of(&Data {
        tsn,
        stream: StreamId(stream),
        ssn: Ssn(1),
        ppid: Ppid(ppid),
        unordered: false,
        beginning: ends.0,
        ending: ends.1,
        immediate: false,
        level: Level::default(),
        payload: b"forged",
    })
}

/// Chunks around the TSN that is so far ahead of the first one.
fn chunks(tsn: Tsn) -> Vec<(&'static str, Vec<u8>)> {
    let skipped = [SkippedStream { stream: StreamId(0), ssn: Ssn(9) }];
    let forward = ForwardTsn { new_cumulative_tsn: tsn, streams: Items::from_slice(&skipped) };
    vec![
        ("user data", data(tsn, 1, 0, (true, true))),
        ("user data on the stream of keys", data(tsn, 0, 0, (true, true))),
        ("a whole message about keys", data(tsn, 0, 4242, (true, true))),
        ("the beginning of one", data(tsn, 0, 4242, (true, false))),
        ("the middle of one", data(tsn, 0, 4242, (false, false))),
        ("the end of one", data(tsn, 0, 4242, (false, true))),
        ("FORWARD TSN", bytes_of(&forward)),
    ]
}

/// Both ends say something in many parts once there are keys.
fn speak(wire: &mut Wire) {
    for end in [CALLER, LISTENER] {
        for number in 0..40 {
            wire.send(end, message(number % 3, &said(end, number)));
        }
    }
}

fn said(end: usize, number: u16) -> Vec<u8> {
    vec![(7 * end) as u8 + number as u8; 300 * usize::from(number) + 1]
}

fn assert_all_is_heard(wire: &mut Wire, what: &str) {
    for end in [CALLER, LISTENER] {
        let mut heard = wire.received(end);
        heard.sort();
        let mut all: Vec<_> = (0..40).map(|number| said(1 - end, number)).collect();
        all.sort();
        assert!(heard == all, "{what}: {} of 40 at {end}", heard.len());
    }
}

/// Whether the association came to be. If so, all is well; if not, both ends know.
fn judge(wire: &mut Wire, what: &str) -> bool {
    if wire.run_until(LONG, Wire::are_connected) {
        wire.run(Duration::from_secs(30));
        assert_all_is_heard(wire, what);
        return true;
    }
    for end in [CALLER, LISTENER] {
        assert!(wire.close_reason(end).is_some(), "{what} at {end}: {:?}", wire.events);
    }
    false
}

#[test]
fn who_is_told_that_keys_came_too_late_is_not_told_that_it_was_refused() {
    for silenced in [CALLER, LISTENER] {
        let mut wire = Wire::encrypted();
        // Its packets arrive, but for what it says about keys.
        wire.adversary = Box::new(move |sent, deliveries| {
            let is_data = |chunk: Chunk<'_>| matches!(chunk, Chunk::Data(_) | Chunk::IData(_));
            if sent.from == silenced && packet(&sent.bytes).chunks().flatten().any(is_data) {
                deliveries.clear();
            }
        });
        let have_ended = |wire: &Wire| {
            [CALLER, LISTENER].into_iter().all(|end| wire.close_reason(end).is_some())
        };
        assert!(wire.run_until(LONG, have_ended), "{:?}", wire.events);
        let reasons = [CALLER, LISTENER].map(|end| wire.close_reason(end));
        let is_late = |reason: &Option<&CloseReason>| *reason == Some(&CloseReason::KeysTimeout);
        let is_told = |reason: &Option<&CloseReason>| {
            matches!(reason, Some(CloseReason::AbortedByPeer { causes })
                if causes.user_reason().is_some_and(|words| words.ends_with(b"keys in time")))
        };
        assert!(reasons.iter().any(is_late), "{reasons:?}");
        assert!(reasons.iter().all(|reason| is_late(reason) || is_told(reason)), "{reasons:?}");
    }
}

#[test]
fn data_in_the_open_is_never_delivered_and_takes_nothings_place() {
    for to in [CALLER, LISTENER] {
        for ahead in 0..12 {
            for which in 0..chunks(Tsn(0)).len() {
                let mut wire = Wire::encrypted();
                speak_when_possible(&mut wire);
                let tsn = Tsn(initial_tsn(&wire.sent, 1 - to).0.wrapping_add(ahead));
                let (name, chunk) = chunks(tsn).swap_remove(which);
                let forged = packet_of(wire.header_to(to), &chunk);
                wire.put(to, path_at(to, 0), &forged);
                let what = format!("{name}, {ahead} ahead, to {to}");
                let is_connected = judge(&mut wire, &what);
                // What the handshake itself takes may be spoilt.
                let is_refused = name.starts_with("user data") || name == "FORWARD TSN";
                assert!(is_connected || !is_refused, "{what}: {:?}", wire.events);
            }
        }
    }
}

/// Goes on until SCTP's own handshake is done and no key is there.
fn speak_when_possible(wire: &mut Wire) {
    let done = |wire: &Wire| wire.sent.iter().filter(|sent| sent.from == LISTENER).count() >= 2;
    assert!(wire.run_until(LONG, done));
    wire.run(Duration::from_millis(51));
    speak(wire);
}
