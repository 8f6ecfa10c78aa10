//! Sealed packets that somebody altered, made up, put together anew, repeated or sent back.

use std::time::Duration;

use anabranch_sansio::Rng;
use anabranch_wire::{Abort, Chunk, CommonHeader, Dtls, ErrorCauses};

use crate::pump::{
    CALLER, Delivery, LISTENER, Sent, Wire, bytes_of, encrypted, is_sealed, message, packet,
    packet_of, path, path_at, with_chunks,
};

/// Sealed packets of the caller's that never arrived.
fn held_back(wire: &mut Wire, count: usize) -> Vec<Vec<u8>> {
    wire.adversary = Box::new(|_, deliveries| deliveries.clear());
    wire.sent.clear();
    for number in 0..count {
        wire.send(CALLER, message(1, format!("message {number}").as_bytes()));
        wire.pump_out();
    }
    let sealed = wire.sent.iter().filter(|sent| sent.from == CALLER && is_sealed(&sent.bytes));
    sealed.map(|sent| sent.bytes.clone()).collect()
}

fn let_through(wire: &mut Wire) {
    wire.adversary = Box::new(|_, _| {});
}

fn record(bytes: &[u8]) -> Vec<u8> {
    match packet(bytes).chunks().next() {
        Some(Ok(Chunk::Dtls(chunk))) => chunk.record.to_vec(),
        _ => panic!("not sealed"),
    }
}

fn packet_with(like: &[u8], record: &[u8]) -> Vec<u8> {
    packet_of(packet(like).header, &bytes_of(&Dtls { restart: false, record }))
}

#[test]
fn no_flipped_bit_is_taken() {
    let mut wire = Wire::connected();
    let sealed = held_back(&mut wire, 1).remove(0);
    let before = wire.stats(LISTENER);
    // Of the chunk's header nothing but the R bit counts; nobody seals the rest of it, nor the
    // common header, nor the padding: the packet is what it was there, once.
    let len = record(&sealed).len();
    let record = CommonHeader::LEN + Dtls::HEADER_LEN..CommonHeader::LEN + Dtls::HEADER_LEN + len;
    for at in 0..sealed.len() {
        for bit in 0..8 {
            let mut altered = sealed.clone();
            altered[at] ^= 1 << bit;
            // With the checksum that was right before, and with one that is.
            wire.put(LISTENER, path_at(LISTENER, 0), &altered);
            if record.contains(&at) {
                let altered = with_chunks(&altered, |_| {});
                wire.put(LISTENER, path_at(LISTENER, 0), &altered);
            }
        }
    }
    let after = wire.stats(LISTENER);
    assert!(after.opened <= before.opened + 1);
    assert!(after.forged - before.forged >= 2 * 8 * len as u64);
    let mut received = wire.received(LISTENER);
    let_through(&mut wire);
    wire.run(Duration::from_secs(5));
    received.extend(wire.received(LISTENER));
    assert_eq!(received, [b"message 0"]);
    wire.assert_works();
}

#[test]
fn records_that_were_cut_joined_or_spliced_are_refused() {
    let mut wire = Wire::connected();
    let sealed = held_back(&mut wire, 3);
    let [first, second] = [record(&sealed[0]), record(&sealed[1])];
    let before = wire.stats(LISTENER);
    let mut forged: Vec<Vec<u8>> = (0..first.len()).map(|len| first[..len].to_vec()).collect();
    // The first byte is the same for all of an epoch.
    for at in 2..first.len().min(second.len()) {
        forged.push([&first[..at], &second[at..]].concat());
    }
    forged.push([&first[..], &second[..]].concat());
    forged.push([&first[..], &[0; 4]].concat());
    for record in &forged {
        wire.put(LISTENER, path_at(LISTENER, 0), &packet_with(&sealed[0], record));
    }
    let after = wire.stats(LISTENER);
    assert_eq!(after.opened, before.opened);
    assert_eq!(after.forged - before.forged, forged.len() as u64);
    let_through(&mut wire);
    wire.run(Duration::from_secs(5));
    assert_eq!(wire.received(LISTENER).len(), 3);
    wire.assert_works();
}

#[test]
fn a_sealed_packet_that_is_not_alone_is_discarded_with_all_beside_it() {
    let mut wire = Wire::connected();
    let sealed = held_back(&mut wire, 2);
    let [first, second] =
        [&sealed[0], &sealed[1]].map(|bytes| packet(bytes).chunks().rest().to_vec());
    let abort = bytes_of(&Abort { tag_reflected: false, causes: ErrorCauses::from_bytes(&[]) });
    let before = wire.stats(LISTENER);
    for parts in [[&first, &abort], [&abort, &first], [&first, &second], [&first, &first]] {
        let bundled = packet_of(packet(&sealed[0]).header, &parts.map(|part| &part[..]).concat());
        wire.put(LISTENER, path_at(LISTENER, 0), &bundled);
    }
    assert_eq!(wire.stats(LISTENER).opened, before.opened);
    assert_eq!(wire.stats(LISTENER).unprotected, before.unprotected + 4);
    assert!(wire.received(LISTENER).is_empty());
    let_through(&mut wire);
    wire.run(Duration::from_secs(5));
    assert_eq!(wire.received(LISTENER).len(), 2);
    wire.assert_works();
}

#[test]
fn packets_that_come_back_to_their_sender_are_refused() {
    let mut wire = Wire::connected();
    wire.adversary = Box::new(|sent, deliveries| {
        let tag_of_sender = deliveries.first().map(|d| packet(&d.bytes).header);
        if let Some(header) = tag_of_sender {
            let (to, path) = (sent.from, sent.path);
            deliveries.push(Delivery { at: sent.at, to, path, bytes: sent.bytes.clone() });
            let CommonHeader { source_port, destination_port, .. } = header;
            let ports = CommonHeader {
                source_port: destination_port,
                destination_port: source_port,
                ..header
            };
            let chunks = packet(&sent.bytes).chunks().rest().to_vec();
            let bytes = packet_of(ports, &chunks);
            deliveries.push(Delivery { at: sent.at, to, path, bytes });
        }
    });
    wire.assert_works();
}

#[test]
fn our_own_records_with_the_tag_that_we_expect_are_refused() {
    let mut wire = Wire::connected();
    let to_caller = wire.header_to(CALLER);
    wire.send(CALLER, message(1, b"mine"));
    wire.run(Duration::from_secs(1));
    let own = wire.sent.iter().filter(|sent| sent.from == CALLER && is_sealed(&sent.bytes));
    let own: Vec<Vec<u8>> =
        own.map(|sent| packet_of(to_caller, packet(&sent.bytes).chunks().rest())).collect();
    let before = wire.stats(CALLER);
    for bytes in &own {
        wire.put(CALLER, path(0), bytes);
    }
    let after = wire.stats(CALLER);
    assert_eq!(after.forged - before.forged, own.len() as u64);
    assert_eq!(after.opened, before.opened);
    assert!(wire.received(CALLER).is_empty());
    wire.received(LISTENER);
    wire.assert_works();
}

#[test]
fn a_million_random_packets_do_nothing() {
    let mut wire = Wire::connected();
    wire.remembers = false;
    let header = wire.header_to(LISTENER);
    let mut rng = Rng::from_u64(7);
    let before = wire.stats(LISTENER);
    let mut chunk = [0; 64];
    for number in 0..1_000_000_u32 {
        rng.fill(&mut chunk);
        let len = 8 + (rng.next_u32() % 14 * 4) as usize;
        if number % 2 == 0 {
            // A record of the right form and epoch.
            chunk[..6].copy_from_slice(&[0x41, 0, 0, len as u8, 0, 0b0010_1011]);
        } else {
            chunk[2..4].copy_from_slice(&[0, len as u8]);
        }
        wire.put(LISTENER, path_at(LISTENER, 0), &packet_of(header, &chunk[..len]));
    }
    let after = wire.stats(LISTENER);
    assert_eq!(after.opened, before.opened);
    assert_eq!(after.replayed, before.replayed);
    assert!(after.forged - before.forged >= 500_000);
    assert_eq!(wire.close_reason(LISTENER), None);
    wire.assert_works();
}

/// Delivers each packet at once, again, and again a second later.
fn repeat(sent: &Sent, deliveries: &mut Vec<Delivery>) {
    let Some(first) = deliveries.first().cloned() else { return };
    let again = |extra| Delivery { at: first.at + extra, ..first.clone() };
    deliveries.extend([again(Duration::ZERO), again(Duration::from_secs(1))]);
    // From where nobody is.
    let path = path(9).reversed();
    if sent.from == CALLER {
        deliveries.push(Delivery { path, ..again(Duration::from_millis(1)) });
    }
}

#[test]
fn what_is_repeated_at_once_or_a_second_later_is_taken_once() {
    let mut wire = Wire::encrypted();
    wire.remembers = false;
    wire.adversary = Box::new(repeat);
    wire.connect();
    let mut received = Vec::new();
    for number in 0..26_000_u32 {
        let payload = number.to_be_bytes().repeat(280);
        while wire.try_send(CALLER, message((number % 4) as u16, &payload)).is_err() {
            wire.run(Duration::from_millis(10));
            received.extend(wire.received(LISTENER));
        }
    }
    for _ in 0..100 {
        wire.run(Duration::from_millis(20));
        received.extend(wire.received(LISTENER));
    }
    let mut numbers: Vec<_> = received.iter().map(|m| m[..4].to_vec()).collect();
    numbers.sort();
    let all: Vec<_> = (0..26_000_u32).map(|number| number.to_be_bytes().to_vec()).collect();
    assert!(numbers == all, "{} messages of {}", numbers.len(), all.len());
    let stats = wire.stats(LISTENER);
    assert_eq!(stats.forged, 0, "{stats:?}");
    assert!(stats.replayed >= 2 * stats.opened, "{stats:?}");
    wire.assert_works();
}

#[test]
fn packets_of_one_path_that_arrive_by_the_other_are_taken_once() {
    let delays = [Duration::from_millis(10), Duration::from_millis(200)];
    let mut wire = Wire::new([encrypted(), encrypted()], &delays, 7);
    wire.connect();
    wire.adversary = Box::new(|sent, deliveries| {
        let swap = [(path(0), path(1)), (path(1), path(0))];
        let swap = swap.into_iter().flat_map(|(a, b)| [(a, b), (a.reversed(), b.reversed())]);
        if let Some((_, other)) = swap.into_iter().find(|(one, _)| *one == sent.path) {
            let repeated = deliveries.to_vec();
            deliveries
                .extend(repeated.into_iter().map(|d| Delivery { path: other.reversed(), ..d }));
        }
    });
    wire.assert_works();
    assert_eq!(wire.stats(LISTENER).forged, 0);
}
