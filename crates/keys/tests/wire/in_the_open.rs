//! Packets in the open, once there are keys: none of them does anything.

use std::time::Duration;

use anabranch_sansio::{Machine, Rng};
use anabranch_sctp::{AssociationConfig, Endpoint, EndpointConfig, Event};
use anabranch_wire::{
    Abort, Asconf, Data, ErrorCauses, ForwardTsn, Heartbeat, Items, Level, Parameters, Ppid,
    ReConfig, Sack, Shutdown, ShutdownAck, ShutdownComplete, Ssn, StreamId, Tsn,
};

use crate::pump::{
    CALLER, LISTENER, Wire, bytes_of, config, encrypted, initial_tsn, is_sealed, packet, packet_of,
    path, path_at,
};

/// Chunks that do something in an association, made by somebody who knows all its numbers.
fn chunks(first: Tsn) -> Vec<(&'static str, Vec<u8>)> {
    let (none, next) = (Parameters::from_bytes(&[]), Tsn(first.0.wrapping_add(40)));
    let data = |stream, ppid| {
        bytes_of(&Data {
            tsn: next,
            stream: StreamId(stream),
            ssn: Ssn(0),
            ppid: Ppid(ppid),
            unordered: true,
            beginning: true,
            ending: true,
            immediate: false,
            level: Level::default(),
            payload: b"forged",
        })
    };
    let sack = Sack {
        cumulative_tsn_ack: next,
        a_rwnd: 0,
        gap_ack_blocks: Items::from_slice(&[]),
        duplicate_tsns: Items::from_slice(&[]),
        data_packets: 1,
    };
    let forward = ForwardTsn { new_cumulative_tsn: next, streams: Items::from_slice(&[]) };
    let (address, parameters) = (path(7).local.ip(), none);
    let abort = Abort { tag_reflected: false, causes: ErrorCauses::from_bytes(&[]) };
    vec![
        ("ABORT", bytes_of(&abort)),
        ("ABORT with the T bit", bytes_of(&Abort { tag_reflected: true, ..abort })),
        ("SHUTDOWN", bytes_of(&Shutdown { cumulative_tsn_ack: first })),
        ("SHUTDOWN ACK", bytes_of(&ShutdownAck)),
        ("SHUTDOWN COMPLETE", bytes_of(&ShutdownComplete { tag_reflected: false })),
        ("DATA", data(1, 0)),
        ("DATA about keys", data(0, 4242)),
        ("SACK", bytes_of(&sack)),
        ("FORWARD TSN", bytes_of(&forward)),
        ("RE-CONFIG", bytes_of(&ReConfig { parameters })),
        ("ASCONF", bytes_of(&Asconf { sequence_number: first.0, address, parameters })),
        ("HEARTBEAT", bytes_of(&Heartbeat { info: b"who is there" })),
        ("a chunk that nobody knows, which asks for a report", vec![0xc7, 0, 0, 4]),
    ]
}

#[test]
fn nothing_in_the_open_does_anything_to_an_encrypted_association() {
    for to in [CALLER, LISTENER] {
        let mut wire = Wire::connected();
        let header = wire.header_to(to);
        for (name, chunk) in chunks(initial_tsn(&wire.sent, 1 - to)) {
            let before = wire.stats(to);
            wire.sent.clear();
            for path in [path_at(to, 0), path_at(to, 8)] {
                wire.put(to, path, &packet_of(header, &chunk));
            }
            wire.pump_out();
            // The T bit with our tag is somebody else's.
            let count = if name == "ABORT with the T bit" { 0 } else { 2 };
            assert_eq!(wire.stats(to).unprotected, before.unprotected + count, "{name}");
            assert!(wire.sent.is_empty(), "{name}: it was answered");
            assert_eq!(wire.close_reason(to), None, "{name}");
        }
        assert!(wire.received(to).is_empty());
        assert_eq!(wire.end(to).stats().paths.len(), 1);
        wire.assert_works();
    }
}

#[test]
fn with_the_peers_tag_and_the_t_bit_nothing_ends_an_encrypted_association() {
    let mut wire = Wire::connected();
    // What answers a packet out of the blue has the tag that came with it.
    let reflected = wire.header_to(CALLER).verification_tag;
    let header =
        anabranch_wire::CommonHeader { verification_tag: reflected, ..wire.header_to(LISTENER) };
    let causes = ErrorCauses::from_bytes(&[]);
    for chunk in [
        bytes_of(&Abort { tag_reflected: true, causes }),
        bytes_of(&ShutdownComplete { tag_reflected: true }),
    ] {
        wire.put(LISTENER, path_at(LISTENER, 0), &packet_of(header, &chunk));
    }
    wire.assert_works();
}

#[test]
fn nobody_restarts_an_encrypted_association_from_its_peers_address() {
    for mallorys in [encrypted(), config(None, Default::default())] {
        let mut wire = Wire::connected();
        wire.adversary = Box::new(|_, _| {});
        let mut mallory = mallory(mallorys);
        let mut buf = Vec::new();
        for _ in 0..20 {
            while mallory.poll_transmit(wire.now, &mut buf).is_some() {
                wire.put(LISTENER, path_at(LISTENER, 0), &std::mem::take(&mut buf));
            }
            wire.sent.clear();
            wire.pump_out();
            for sent in wire.sent.clone().iter().filter(|sent| sent.from == LISTENER) {
                let (path, bytes) = (sent.path.reversed(), &sent.bytes[..]);
                let datagram = anabranch_sansio::Datagram { path, ecn: None, bytes };
                mallory.handle_datagram(wire.now, datagram);
            }
        }
        assert!(!wire.events[LISTENER].contains(&Event::Restarted));
        wire.assert_works();
    }
}

/// Somebody who sits where the caller sits.
fn mallory(association: AssociationConfig) -> Endpoint {
    let mut mallory = Endpoint::new(EndpointConfig::default(), Rng::from_u64(666));
    let now = anabranch_sansio::Time::ZERO;
    mallory.connect(now, &[path(0)], (5_000, 5_001), association).expect("it may call");
    mallory
}

#[test]
fn a_handshake_that_is_played_again_changes_nothing() {
    let mut wire = Wire::connected();
    let open = wire.sent.iter().filter(|sent| !is_sealed(&sent.bytes)).cloned();
    for sent in open.collect::<Vec<_>>() {
        let to = 1 - sent.from;
        let elsewhere = path_at(to, 8);
        for path in [path_at(to, 0), elsewhere] {
            wire.put(to, path, &sent.bytes);
        }
        wire.run(Duration::from_secs(1));
    }
    for end in [CALLER, LISTENER] {
        assert_eq!(wire.end(end).stats().paths.len(), 1, "a path to nowhere");
        assert!(!wire.events[end].contains(&Event::Restarted));
        assert_eq!(wire.stats(end).forged, 0);
    }
    wire.assert_works();
}

#[test]
fn what_is_sealed_stays_so_to_the_end() {
    let mut wire = Wire::connected();
    wire.assert_works();
    let now = wire.now;
    wire.sent.clear();
    wire.end(CALLER).shutdown(now);
    wire.run(Duration::from_secs(5));
    assert!(wire.sent.len() >= 3);
    let open: Vec<_> = wire.sent.iter().filter(|sent| !is_sealed(&sent.bytes)).collect();
    assert!(open.is_empty(), "{:?}", packet(&open[0].bytes).chunks().collect::<Vec<_>>());
}
