//! Messages that interleave (RFC 8260) and packets without a checksum (RFC 9653), between dcsctp
//! and us.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_peers::{Config, Event, Memory, Message, Reliability, Stack, Treatment};
use anabranch_wire::{ChecksumMode, Chunk, ChunkType, Packet};

const PAIRS: [(Stack, Stack); 2] =
    [(Stack::Anabranch, Stack::Dcsctp), (Stack::Dcsctp, Stack::Anabranch)];

/// A connected pair, whose packets are recorded from the handshake on.
fn connected(a: Stack, b: Stack) -> Memory {
    let config = Config {
        message_interleaving: true,
        zero_checksum_over_dtls: true,
        receive_window: 4 << 20,
        ..Config::default()
    };
    let mut memory = Memory::new(a.peer(&config, 1), b.peer(&config, 2));
    memory.record();
    memory.connect();
    assert_eq!(memory.a.poll_event(), Some(Event::Connected), "{a} calls {b}");
    assert_eq!(memory.b.poll_event(), Some(Event::Connected), "{a} calls {b}");
    memory
}

fn chunks(bytes: &[u8]) -> impl Iterator<Item = Chunk<'_>> {
    let packet = Packet::decode(bytes, ChecksumMode::Ignore).expect("what they send can be read");
    packet.chunks().map(|chunk| chunk.expect("what they send can be read"))
}

/// Whether fragments of one message stand between those of another.
fn interleaves(packets: &[impl AsRef<[u8]>]) -> bool {
    let mut unfinished = BTreeMap::new();
    packets.iter().flat_map(|packet| chunks(packet.as_ref())).any(|chunk| {
        let Chunk::IData(data) = chunk else { return false };
        if data.ending {
            unfinished.remove(&data.stream);
        } else {
            unfinished.insert(data.stream, data.mid);
        }
        unfinished.len() > 1
    })
}

fn assert_format(memory: &Memory) {
    let types: Vec<_> = memory
        .recorded()
        .iter()
        .flat_map(|packet| chunks(packet))
        .map(|chunk| chunk.ty())
        .collect();
    assert!(types.contains(&ChunkType::I_DATA));
    assert!(!types.contains(&ChunkType::DATA) && !types.contains(&ChunkType::FORWARD_TSN));
}

fn message(number: u32, stream: u16, len: usize) -> Message {
    let mut bytes = vec![number as u8; len];
    bytes[..4].copy_from_slice(&number.to_be_bytes());
    Message::new(stream, bytes)
}

fn number_of(message: &Message) -> u32 {
    let (number, _) = message.bytes.split_first_chunk().expect("four bytes");
    u32::from_be_bytes(*number)
}

#[test]
fn messages_of_many_streams_arrive_unchanged_through_losses() {
    for (a, b) in PAIRS {
        let mut memory = connected(a, b);
        memory.lose(0.05, 7);
        let sent: Vec<_> = (0..60)
            .map(|number| message(number, (number % 6) as u16, 10_000 + number as usize * 777))
            .collect();
        for (number, message) in sent.iter().enumerate() {
            let treatment = Treatment { unordered: number % 4 == 3, ..Treatment::default() };
            memory.a.send(memory.now(), message, treatment).unwrap();
        }
        let mut received = Vec::new();
        memory.run_until(|memory| {
            received.extend(std::iter::from_fn(|| memory.b.receive()));
            received.len() == sent.len()
        });
        assert!(received.iter().all(|message| sent.contains(message)), "{a} to {b}");
        let mut numbers: Vec<_> = received.iter().map(number_of).collect();
        for stream in 0..6 {
            let is_meant = |number: &&u32| **number % 6 == stream && **number % 4 != 3;
            let ordered = numbers.iter().filter(is_meant);
            assert!(ordered.is_sorted(), "{a} to {b}: stream {stream}");
        }
        numbers.sort_unstable();
        assert!(numbers.into_iter().eq(0..60), "{a} to {b}: each once");
        assert_format(&memory);
        assert!(interleaves(memory.recorded()), "{a} to {b}");
        assert!(memory.counters().lost > 0);
    }
}

/// What is given up leaves nothing behind that would hold up or shorten what follows.
#[test]
fn messages_that_are_given_up_among_others_are_skipped() {
    let reliabilities =
        [Reliability::Lifetime(Duration::from_millis(100)), Reliability::Retransmissions(0)];
    for (a, b) in PAIRS {
        for reliability in reliabilities {
            for unordered in [false, true] {
                let case = format!("{a} to {b}: {reliability:?}, unordered: {unordered}");
                let mut memory = connected(a, b);
                memory.lose(0.2, 3);
                for number in 0..40 {
                    let limited = Treatment { unordered, reliability };
                    let message_of = |stream| message(number, stream, 5_000);
                    memory.a.send(memory.now(), &message_of(1), limited).unwrap();
                    memory.a.send(memory.now(), &message_of(2), Treatment::default()).unwrap();
                }
                let mut received = Vec::new();
                memory.run_until(|memory| {
                    received.extend(std::iter::from_fn(|| memory.b.receive()));
                    received.iter().filter(|message| message.stream == 2).count() == 40
                });
                assert!(received.iter().all(|message| message.bytes.len() == 5_000), "{case}");
                assert!(received.len() < 80, "{case}: something was given up");
                memory.lose(0.0, 0);
                let last = message(99, 1, 50_000);
                let kept = Treatment { unordered, ..Treatment::default() };
                memory.a.send(memory.now(), &last, kept).unwrap();
                memory.run_until(|memory| memory.b.receive().as_ref() == Some(&last));
                assert_format(&memory);
                let forwards = memory.recorded().iter().flat_map(|packet| chunks(packet));
                let types = forwards.filter(|chunk| chunk.ty() == ChunkType::I_FORWARD_TSN);
                assert!(types.count() > 0, "{case}");
            }
        }
    }
}

#[test]
fn a_stream_that_is_reset_counts_its_messages_anew() {
    for (a, b) in PAIRS {
        let mut memory = connected(a, b);
        for life in 0..3 {
            for unordered in [false, true] {
                let message = message(life, 2, 20_000);
                let treatment = Treatment { unordered, ..Treatment::default() };
                memory.a.send(memory.now(), &message, treatment).unwrap();
                memory.run_until(|memory| memory.b.receive().as_ref() == Some(&message));
            }
            memory.a.reset(memory.now(), 2).unwrap();
            memory.run_until(|memory| memory.b.poll_event() == Some(Event::Reset(2)));
            memory.settle();
        }
        let packets = memory.recorded().iter().flat_map(|packet| chunks(packet));
        let mids: Vec<_> = packets
            .filter_map(
                |chunk| if let Chunk::IData(data) = chunk { Some(data.mid.0) } else { None },
            )
            .collect();
        assert!(!mids.is_empty() && mids.iter().all(|mid| *mid == 0), "{a} to {b}: {mids:?}");
    }
}

/// RFC 9653 section 5.2 excepts packets with INIT and COOKIE ECHO.
#[test]
fn checksums_are_left_out_after_the_handshake() {
    for (a, b) in PAIRS {
        let mut memory = connected(a, b);
        for number in 0..10 {
            memory.a.send(memory.now(), &message(number, 0, 3_000), Treatment::default()).unwrap();
            memory.b.send(memory.now(), &message(number, 0, 3_000), Treatment::default()).unwrap();
        }
        memory.settle();
        let received = |peer: &mut Box<dyn anabranch_peers::Peer>| {
            std::iter::from_fn(|| peer.receive()).count()
        };
        assert_eq!((received(&mut memory.a), received(&mut memory.b)), (10, 10), "{a} and {b}");
        for packet in memory.recorded() {
            let types: Vec<_> = chunks(packet).map(|chunk| chunk.ty()).collect();
            let needs = [ChunkType::INIT, ChunkType::COOKIE_ECHO];
            let has = !Packet::has_zero_checksum(packet);
            assert!(has || !needs.iter().any(|ty| types.contains(ty)), "{a} and {b}: {types:?}");
            let is_data = types.contains(&ChunkType::I_DATA) || types.contains(&ChunkType::SACK);
            assert!(!has || !is_data, "{a} and {b}: {types:?}");
        }
    }
}
