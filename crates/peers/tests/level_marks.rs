//! Marks of importance, offered to stacks that have never heard of them.

use std::collections::BTreeMap;

use anabranch_peers::{Config, Memory, Message, Stack, Treatment};
use anabranch_wire::{ChecksumMode, Chunk, Level, Packet};

const STREAMS: u16 = 4;

#[test]
fn a_stack_without_marks_sees_zeros_and_delivers_as_ever() {
    for interleaves in [false, true] {
        for (ours, foreign) in Stack::ALL.into_iter().flat_map(both_ways) {
            let mut memory = pair(interleaves, ours, foreign);
            exchange(&mut memory);
            assert_eq!(levels(&memory).len(), 1, "{ours} calls {foreign}: marks on the wire");
        }
    }
}

#[test]
fn between_two_that_have_marks_all_levels_are_on_the_wire() {
    for interleaves in [false, true] {
        let mut memory = pair(interleaves, Stack::Anabranch, Stack::Anabranch);
        exchange(&mut memory);
        assert_eq!(levels(&memory).len(), Level::ALL.len());
    }
}

fn both_ways(foreign: Stack) -> Vec<(Stack, Stack)> {
    match foreign {
        Stack::Anabranch => Vec::new(),
        Stack::Dcsctp | Stack::RtcSctp | Stack::SctpProto => {
            vec![(Stack::Anabranch, foreign), (foreign, Stack::Anabranch)]
        }
    }
}

/// Two that the handshake has connected, with marks offered by whoever has them.
fn pair(message_interleaving: bool, a: Stack, b: Stack) -> Memory {
    let config = Config { message_interleaving, level_marks: true, ..Config::default() };
    let mut memory = Memory::new(a.peer(&config, 1), b.peer(&config, 2));
    memory.record();
    memory.connect();
    memory
}

/// Sends messages of a packet and of several both ways, over a loss towards `b`; all arrive
/// unchanged, those of a stream in their order.
fn exchange(memory: &mut Memory) {
    memory.lose(0.05, 7);
    let sent: Vec<_> = (0..120_u16)
        .map(|n| Message::new(n % STREAMS, vec![n as u8; 1 + 37 * usize::from(n)]))
        .collect();
    for message in &sent {
        memory.a.send(memory.now(), message, Treatment::default()).expect("room for it");
        memory.b.send(memory.now(), message, Treatment::default()).expect("room for it");
    }
    let (mut at_a, mut at_b) = (Vec::new(), Vec::new());
    memory.run_until(|memory| {
        at_a.extend(std::iter::from_fn(|| memory.a.receive()));
        at_b.extend(std::iter::from_fn(|| memory.b.receive()));
        at_a.len() == sent.len() && at_b.len() == sent.len()
    });
    assert!(memory.counters().lost > 0);
    for stream in 0..STREAMS {
        let of_stream = |all: &[Message]| -> Vec<_> {
            all.iter().filter(|message| message.stream == stream).cloned().collect()
        };
        assert!(of_stream(&at_a) == of_stream(&sent) && of_stream(&at_b) == of_stream(&sent));
    }
}

/// How many chunks of data had each mark.
fn levels(memory: &Memory) -> BTreeMap<Level, usize> {
    let mut levels = BTreeMap::new();
    for packet in memory.recorded() {
        let packet = Packet::decode(packet, ChecksumMode::Verify).expect("a packet of a stack");
        for chunk in packet.chunks() {
            let chunk = chunk.expect("a chunk of a stack");
            let level = if let Chunk::Data(data) = chunk {
                data.level
            } else if let Chunk::IData(data) = chunk {
                data.level
            } else {
                continue;
            };
            *levels.entry(level).or_default() += 1;
        }
    }
    levels
}
