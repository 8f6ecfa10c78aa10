//! Every stack against every other, in memory.

use std::time::Duration;

use anabranch_peers::{Config, Event, Memory, Message, Reliability, Stack, State, Treatment};

/// From nothing to the most that a browser sends, around each packet boundary.
const SIZES: [usize; 11] = [0, 1, 3, 1_163, 1_164, 1_165, 4_096, 16_384, 65_535, 65_536, 262_144];

#[test]
fn messages_of_all_sizes_arrive_unchanged_both_ways() {
    for_all_pairs(|mut memory| {
        let sent: Vec<_> = SIZES.map(|size| Message::new(1, patterned(size))).into();
        for message in &sent {
            memory.a.send(memory.now(), message, Treatment::default()).unwrap();
            memory.b.send(memory.now(), message, Treatment::default()).unwrap();
        }
        let (mut at_a, mut at_b) = (Vec::new(), Vec::new());
        memory.run_until(|memory| {
            at_a.extend(memory.a.receive());
            at_b.extend(memory.b.receive());
            at_a.len() == sent.len() && at_b.len() == sent.len()
        });
        assert!(at_a == sent && at_b == sent);
    });
}

#[test]
fn lost_packets_are_retransmitted() {
    for_all_pairs(|mut memory| {
        memory.lose(0.1, 7);
        let sent: Vec<_> = (0..100).map(|n| Message::new(n % 3, patterned(4_000))).collect();
        for message in &sent {
            memory.a.send(memory.now(), message, Treatment::default()).unwrap();
        }
        let mut received = 0;
        memory.run_until(|memory| {
            received += std::iter::from_fn(|| memory.b.receive()).count();
            received == sent.len()
        });
        assert!(memory.counters().lost > 0);
    });
}

#[test]
fn an_abandoned_message_does_not_hold_up_the_next_one() {
    let reliabilities =
        [Reliability::Lifetime(Duration::from_millis(100)), Reliability::Retransmissions(0)];
    for reliability in reliabilities {
        for_all_pairs(|mut memory| {
            let treatment = Treatment { reliability, ..Treatment::default() };
            memory.lose(1.0, 0);
            memory.a.send(memory.now(), &Message::new(0, "lost"), treatment).unwrap();
            memory.settle();
            memory.lose(0.0, 0);
            memory.a.send(memory.now(), &Message::new(0, "kept"), Treatment::default()).unwrap();
            let mut received = None;
            memory.run_until(|memory| {
                received = memory.b.receive();
                received.is_some()
            });
            assert_eq!(received, Some(Message::new(0, "kept")), "{reliability:?}");
        });
    }
}

/// As a data channel is closed: one end resets its stream, the other one answers with its own.
/// rtc-sctp tells nobody of the peer's resets.
#[test]
fn a_stream_is_reset_by_both_ends_and_used_again() {
    for foreign in [Stack::Dcsctp, Stack::SctpProto] {
        for (a, b) in [(Stack::Anabranch, foreign), (foreign, Stack::Anabranch)] {
            let mut memory = pair(a, b);
            memory.connect();
            assert_eq!(memory.a.poll_event(), Some(Event::Connected), "{a} calls {b}");
            assert_eq!(memory.b.poll_event(), Some(Event::Connected), "{a} calls {b}");
            for text in ["first life", "second life"] {
                let message = Message::new(2, text);
                memory.a.send(memory.now(), &message, Treatment::default()).unwrap();
                memory.settle();
                assert_eq!(memory.b.receive(), Some(message), "{a} sends to {b}");
                memory.a.reset(memory.now(), 2).unwrap();
                memory.run_until(|memory| memory.b.poll_event() == Some(Event::Reset(2)));
                memory.b.reset(memory.now(), 2).unwrap();
                memory.run_until(|memory| memory.a.poll_event() == Some(Event::Reset(2)));
                memory.settle();
            }
        }
    }
}

#[test]
fn either_end_may_shut_down_and_both_learn_of_it() {
    for_all_pairs(|mut memory| {
        memory.a.shutdown(memory.now());
        ends(&mut memory);
    });
    for_all_pairs(|mut memory| {
        memory.b.shutdown(memory.now());
        ends(&mut memory);
    });
}

#[test]
fn an_association_gives_up_connecting_to_nobody() {
    for stack in Stack::ALL {
        let mut memory = pair(stack, stack);
        memory.lose(1.0, 0);
        memory.connect();
        assert_eq!(memory.a.state(), State::Connecting, "{stack}");
        memory.run_until(|memory| memory.a.state() == State::Closed);
        assert!(matches!(memory.a.poll_event(), Some(Event::Lost(_))), "{stack}");
    }
}

#[test]
fn the_handshake_repeats_at_the_same_virtual_times() {
    let expiries = |stack| {
        let mut memory = pair(stack, stack);
        memory.lose(1.0, 0);
        memory.connect();
        (0..3)
            .map(|_| {
                memory.jump();
                memory.settle();
                memory.now()
            })
            .collect::<Vec<_>>()
    };
    for stack in Stack::ALL {
        assert_eq!(expiries(stack), expiries(stack), "{stack}");
    }
}

#[test]
fn a_seed_fixes_what_dcsctp_sends() {
    let first_packet = |seed| {
        let mut peer = Stack::Dcsctp.peer(&Config::default(), seed);
        peer.connect(anabranch_sansio::Time::ZERO);
        peer.poll_packet(anabranch_sansio::Time::ZERO)
    };
    assert_eq!(first_packet(1), first_packet(1));
    assert_ne!(first_packet(1), first_packet(2));
}

#[test]
fn what_cannot_be_sent_is_refused_with_the_reason() {
    for stack in Stack::ALL {
        let mut memory = pair(stack, stack);
        let refusal = |memory: &mut Memory, size| {
            let sent = memory.a.send(
                memory.now(),
                &Message::new(0, patterned(size)),
                Treatment::default(),
            );
            sent.unwrap_err().to_string()
        };
        assert_eq!(refusal(&mut memory, 1), "the association is Closed, not connected");
        memory.connect();
        assert_eq!(
            refusal(&mut memory, 262_145),
            "a message of 262145 bytes exceeds the limit of 262144"
        );
    }
}

/// Runs `test` on a connected pair of each two stacks.
fn for_all_pairs(test: impl Fn(Memory)) {
    for a in Stack::ALL {
        for b in Stack::ALL {
            let mut memory = pair(a, b);
            memory.connect();
            assert_eq!(memory.a.poll_event(), Some(Event::Connected), "{a} calls {b}");
            assert_eq!(memory.b.poll_event(), Some(Event::Connected), "{a} calls {b}");
            test(memory);
        }
    }
}

fn pair(a: Stack, b: Stack) -> Memory {
    let config = Config::default();
    Memory::new(a.peer(&config, 1), b.peer(&config, 2))
}

fn ends(memory: &mut Memory) {
    memory
        .run_until(|memory| memory.a.state() == State::Closed && memory.b.state() == State::Closed);
    assert_eq!(memory.a.poll_event(), Some(Event::Closed));
    assert_eq!(memory.b.poll_event(), Some(Event::Closed));
}

fn patterned(size: usize) -> Vec<u8> {
    (0..size).map(|n| (n % 251) as u8).collect()
}
