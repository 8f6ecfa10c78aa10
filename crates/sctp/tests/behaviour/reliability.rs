//! Partial reliability (RFC 3758, RFC 7496): a message is given up when its time or its attempts
//! are over, on every path that a retransmission can take.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_sctp::{
    AssociationConfig, OutgoingMessage, PathId, PathPreference, PathState, Reliability,
};
use anabranch_wire::{
    Chunk, ChunkType, Data, ErrorCause, ForwardTsn, Items, SkippedStream, Ssn, StreamId, Tsn,
};

use crate::harness::{Duo, Side, good_link, link, number_of, numbered};
use crate::packets::{Sent, Wiretap, lose, lose_first};
use crate::raw_peer::{FIRST_TSN, RawPeer, causes_of, data};

const MILLISECOND: Duration = Duration::from_millis(1);
const SECOND: Duration = Duration::from_secs(1);

/// Payload of a full packet.
const FULL: usize = 1_324;

fn default() -> AssociationConfig {
    AssociationConfig::default()
}

fn living(lifetime: Duration, message: OutgoingMessage) -> OutgoingMessage {
    OutgoingMessage { reliability: Reliability::Lifetime(lifetime), ..message }
}

fn retransmitted(times: u32, message: OutgoingMessage) -> OutgoingMessage {
    OutgoingMessage { reliability: Reliability::MaxRetransmissions(times), ..message }
}

fn unordered(message: OutgoingMessage) -> OutgoingMessage {
    OutgoingMessage { ordered: false, ..message }
}

/// When a side sent chunks of its `numbered` messages, as (number, time).
fn transmissions(tap: &Wiretap, side: Side) -> Vec<(u32, Time)> {
    let number = |data: &Data<'_>| {
        data.payload.first_chunk::<4>().filter(|_| data.beginning).map(|n| u32::from_be_bytes(*n))
    };
    let sent = tap.of(side, ChunkType::DATA);
    sent.iter()
        .flat_map(|s| s.data().iter().filter_map(number).map(|n| (n, s.at)).collect::<Vec<_>>())
        .collect()
}

/// The FORWARD TSN chunks in packets: new cumulative TSN and skipped streams.
fn forward_tsns(sent: &[Sent]) -> Vec<(Tsn, Vec<SkippedStream>)> {
    let forward = |chunk| {
        let Chunk::ForwardTsn(forward) = chunk else { return None };
        Some((forward.new_cumulative_tsn, forward.streams.iter().collect()))
    };
    sent.iter().flat_map(Sent::chunks).filter_map(forward).collect()
}

/// Sends a message of `len` bytes with a lifetime every 10 ms over a hostile link; checks that none
/// is sent after its time, and returns how many arrived.
fn no_message_outlives(
    duo: &mut Duo,
    len: usize,
    lifetime: Duration,
    mut change: impl FnMut(&mut Duo, u32),
) -> usize {
    let tap = Wiretap::on(duo);
    let mut born = Vec::new();
    for number in 0..500 {
        change(duo, number);
        born.push(duo.now());
        let message = living(lifetime, numbered((number % 3) as u16, number, len));
        duo.act(Side::Client, |a, now| a.send(now, message)).ok();
        duo.run_for(10 * MILLISECOND);
    }
    duo.run_for(20 * SECOND);
    let mut sent = 0;
    for (number, at) in transmissions(&tap, Side::Client) {
        let age = at - born[number as usize];
        assert!(age < lifetime, "message {number} was sent {age:?} after it was made");
        sent += 1;
    }
    assert!(sent > 100, "the test sends something: {sent}");
    assert!(duo.association(Side::Client).is_some_and(anabranch_sctp::Association::is_drained));
    assert_eq!(duo.stats(Side::Server).held, 0, "nothing is kept of what was given up");
    duo.messages(Side::Server).len()
}

#[test]
fn no_message_is_sent_after_its_lifetime_on_a_lossy_link() {
    let mut duo = Duo::connected(1, &[link(20, 20, 0.1)], AssociationConfig::media());
    let arrived = no_message_outlives(&mut duo, 1_000, 80 * MILLISECOND, |_, _| ());
    assert!(arrived > 300, "{arrived} of 500");
    let streams = duo.stats(Side::Client).streams;
    assert!(streams.abandoned_expired > 0 && streams.chunks_retransmitted > 0, "{streams:?}");
}

#[test]
fn no_message_is_sent_after_its_lifetime_while_the_window_holds_it_back() {
    let mut duo = Duo::connected(1, &[link(5, 20, 0.0)], default());
    let arrived =
        no_message_outlives(&mut duo, 3_000, 200 * MILLISECOND, |duo, number| match number {
            100 => duo.pair.reconfigure(0, link(1, 20, 0.0)),
            200 => duo.pair.reconfigure(0, link(5, 20, 0.0)),
            _ => {}
        });
    assert!((400..500).contains(&arrived), "all but those of the narrow second: {arrived}");
    assert!(duo.stats(Side::Client).streams.abandoned_unsent > 0);
}

/// With more messages than the link carries, each was begun shortly before its life ended and given
/// up half sent; nothing was acknowledged, the window stayed at one packet, and nothing arrived any
/// more, even when the link became fast again.
#[test]
fn regression_short_lived_messages_starved_each_other_for_good() {
    let mut duo = Duo::connected(1, &[link(1, 20, 0.0)], default());
    let mut arrived = Vec::new();
    for second in 0..10 {
        let before = duo.messages(Side::Server).len();
        for number in 0..100 {
            let message = living(200 * MILLISECOND, numbered(0, second * 100 + number, 3_000));
            duo.act(Side::Client, |a, now| a.send(now, message)).ok();
            duo.run_for(10 * MILLISECOND);
        }
        arrived.push(duo.messages(Side::Server).len() - before);
    }
    // The link carries 40 of 100.
    assert!(arrived.iter().skip(1).all(|count| *count >= 20), "{arrived:?} of 100 each second");
}

#[test]
fn no_message_is_sent_after_its_lifetime_when_paths_fail_and_come_back() {
    let links = [link(20, 20, 0.05), link(20, 30, 0.05)];
    let mut duo = Duo::connected(1, &links, AssociationConfig::media());
    let arrived =
        no_message_outlives(&mut duo, 1_000, 300 * MILLISECOND, |duo, number| match number {
            100 | 300 => duo.pair.cut(0),
            200 => duo.pair.restore(0),
            320 => duo.pair.cut(1),
            400 => {
                duo.pair.restore(0);
                duo.pair.restore(1);
            }
            _ => {}
        });
    assert!(arrived > 300, "{arrived} of 500");
}

/// Timers fire late when the machine was suspended; a retransmission that a SACK asked for went out
/// before the lifetime's timer was looked at.
#[test]
fn regression_an_expired_message_was_retransmitted_when_the_timer_was_late() {
    let mut peer = RawPeer::connected(default().with(|config| config.window.max_burst = None));
    (0..4).for_each(|number| peer.send(living(SECOND / 2, numbered(0, number, 500))));
    peer.take();
    peer.now += SECOND;
    for highest in 2..=4 {
        peer.acknowledge(0, &[(2, highest)], 100_000);
    }
    assert!(peer.take_numbers().is_empty(), "1 is older than its life");
    assert_eq!(peer.stats().streams.abandoned_expired, 3, "2 was acknowledged in time");
}

/// A receiver that is full drops what matters least, and its next SACK tells so.
#[test]
fn what_the_peer_dropped_for_others_is_sent_again_within_its_life_and_given_up_after_it() {
    for (lifetime, again) in [(SECOND / 2, false), (60 * SECOND, true)] {
        let mut peer = RawPeer::connected(default().with(|config| config.window.max_burst = None));
        (0..3).for_each(|number| peer.send(living(lifetime, numbered(0, number, 500))));
        peer.take();
        peer.acknowledge(0, &[(2, 3)], 100_000);
        peer.acknowledge(2, &[], 100_000);
        assert_eq!(peer.stats().streams.abandoned_expired, 0, "3 may still come");
        peer.run_for(4 * SECOND);
        let sent = peer.take();
        let has_third = |it: &Sent| it.data().iter().any(|data| data.tsn == peer.tsn_of(3));
        assert_eq!(sent.iter().any(has_third), again, "{lifetime:?}");
        assert_eq!(forward_tsns(&sent).is_empty(), again);
        assert_eq!(peer.stats().streams.abandoned_expired, u64::from(!again));
    }
}

#[test]
fn a_message_that_expired_before_it_was_begun_gets_no_tsn_and_no_ssn() {
    let mut peer = RawPeer::connected_with_window(default(), 1_500);
    peer.send(numbered(0, 0, FULL));
    peer.send(living(100 * MILLISECOND, numbered(0, 1, FULL)));
    peer.send(numbered(0, 2, FULL));
    peer.take();
    peer.run_for(200 * MILLISECOND);
    peer.acknowledge(1, &[], 50_000);
    let sent = peer.take();
    let [data] = sent[0].data()[..] else { panic!("{sent:?}") };
    assert_eq!((data.tsn, data.ssn, data.payload[3]), (peer.tsn_of(2), Ssn(1), 2));
    assert_eq!(peer.stats().streams.abandoned_unsent, 1);
    assert!(forward_tsns(&sent).is_empty());
}

#[test]
fn ordered_messages_behind_an_abandoned_one_are_delivered_at_once() {
    let mut duo = Duo::connected(1, &[good_link()], default());
    duo.run_for(SECOND);
    let start = duo.now();
    lose_first(&mut duo, Side::Client, ChunkType::DATA, 1);
    duo.send(Side::Client, living(50 * MILLISECOND, numbered(0, 0, 100)));
    duo.run_for(MILLISECOND);
    (1..3).for_each(|number| duo.send(Side::Client, numbered(0, number, 100)));
    duo.run_until(SECOND, |duo| duo.messages(Side::Server).len() == 2);
    assert_eq!(duo.numbers(Side::Server), [1, 2]);
    assert_eq!((duo.now() - start).as_millis(), 60, "the lifetime and one way: no timeout");
    let first = &duo.messages(Side::Server)[0];
    assert_eq!(first.ssn, Ssn(1), "the gap in the SSNs tells what was given up");
}

#[test]
fn a_forward_tsn_names_each_stream_once_with_its_highest_ssn() {
    let mut peer = RawPeer::connected(default());
    for (stream, number) in [(2, 0), (5, 0), (2, 1)] {
        peer.send(living(100 * MILLISECOND, numbered(stream, number, 10)));
    }
    peer.send(unordered(living(100 * MILLISECOND, numbered(6, 0, 10))));
    peer.take();
    peer.run_for(100 * MILLISECOND);
    let sent = peer.take();
    let skipped = |stream, ssn| SkippedStream { stream: StreamId(stream), ssn: Ssn(ssn) };
    let expected = (peer.tsn_of(4), vec![skipped(2, 1), skipped(5, 0)]);
    assert_eq!(forward_tsns(&sent), [expected], "unordered messages have no SSN to skip");
}

#[test]
fn a_lost_forward_tsn_is_repeated_until_the_peer_has_it() {
    let mut duo = Duo::connected(1, &[good_link()], default());
    duo.run_for(SECOND);
    let tap = Wiretap::on(&mut duo);
    let mut losses = 4;
    lose(&mut duo, move |side, _| {
        let is_lost = side == Side::Client && losses > 0;
        losses -= u32::from(is_lost);
        is_lost
    });
    let start = duo.now();
    duo.send(Side::Client, living(50 * MILLISECOND, numbered(0, 0, 100)));
    duo.run_for(30 * SECOND);
    let times: Vec<_> = tap
        .of(Side::Client, ChunkType::FORWARD_TSN)
        .iter()
        .map(|sent| (sent.at - start).as_millis())
        .collect();
    // The data's timer runs from the start: 1 s, then twice that, and so on.
    assert_eq!(times, [50, 1_000, 3_000, 7_000]);
    assert!(duo.association(Side::Client).is_some_and(anabranch_sctp::Association::is_drained));
}

/// When all else was acknowledged, T3-rtx stopped, and a FORWARD TSN that was lost waited for the
/// next heartbeat.
#[test]
fn regression_nothing_repeated_a_lost_forward_tsn() {
    let mut peer = RawPeer::connected(default());
    peer.send(living(50 * MILLISECOND, numbered(0, 0, 100)));
    peer.run_for(20 * MILLISECOND);
    peer.send(numbered(0, 1, 100));
    peer.take();
    peer.run_for(30 * MILLISECOND);
    assert_eq!(forward_tsns(&peer.take()).len(), 1);
    peer.acknowledge(0, &[(2, 2)], 100_000);
    assert!(forward_tsns(&peer.take()).is_empty(), "it may be under way");
    peer.run_for(2 * SECOND);
    assert!(!forward_tsns(&peer.take()).is_empty());
}

/// A chunk whose round trip was being measured was given up: nothing was measured on that path any
/// more.
/// At a round trip time of zero, a full round trip was over at once, each time.
#[test]
fn regression_one_forward_tsn_followed_another_without_end() {
    let mut peer = RawPeer::connected(default());
    peer.send(numbered(0, 1, FULL));
    peer.acknowledge(1, &[], 100_000);
    assert_eq!(peer.stats().paths[0].srtt, Some(Duration::ZERO));
    peer.send(living(8 * MILLISECOND, numbered(0, 2, FULL)));
    peer.take();
    peer.run_for(2 * SECOND);
    let told = forward_tsns(&peer.take()).len();
    assert!((1..=2).contains(&told), "{told} times: at once, and when T3-rtx expired");
}

#[test]
fn regression_round_trips_were_not_measured_after_a_measured_chunk_was_abandoned() {
    let mut peer = RawPeer::connected(default());
    peer.send(living(50 * MILLISECOND, numbered(0, 0, 100)));
    peer.run_for(60 * MILLISECOND);
    peer.acknowledge(1, &[], 100_000);
    peer.send(numbered(0, 1, 100));
    peer.run_for(70 * MILLISECOND);
    peer.acknowledge(2, &[], 100_000);
    assert_eq!(peer.stats().paths[0].latest_rtt, Some(70 * MILLISECOND));
}

/// T3-rtx, which a FORWARD TSN had started, went on after it was acknowledged, and fired soon after
/// new data was sent.
#[test]
fn regression_the_timer_of_a_forward_tsn_outlived_it() {
    let mut peer = RawPeer::connected(default());
    peer.send(living(50 * MILLISECOND, numbered(0, 0, 100)));
    peer.run_for(100 * MILLISECOND);
    peer.acknowledge(1, &[], 100_000);
    peer.run_for(800 * MILLISECOND);
    peer.send(numbered(0, 1, 100));
    peer.run_for(500 * MILLISECOND);
    peer.acknowledge(2, &[], 100_000);
    let path = peer.stats().paths[0].clone();
    assert_eq!((path.counters.timeouts, path.state), (0, PathState::Active));
}

#[test]
fn an_abandoned_chunk_neither_grows_the_window_nor_counts_as_in_flight() {
    let mut peer = RawPeer::connected(default());
    (0..3).for_each(|number| peer.send(living(50 * MILLISECOND, numbered(0, number, FULL))));
    let window = peer.stats().paths[0].window;
    peer.run_for(60 * MILLISECOND);
    assert_eq!(peer.stats().in_flight, 0);
    peer.acknowledge(3, &[], 100_000);
    assert_eq!(peer.stats().paths[0].window, window);
    assert_eq!(peer.stats().paths[0].counters.bytes_acked, 0);
}

#[test]
fn a_message_is_retransmitted_as_often_as_allowed_by_timeouts() {
    for times in 0..3 {
        let mut peer = RawPeer::connected(default());
        peer.send(retransmitted(times, numbered(0, 0, 100)));
        peer.run_for(30 * SECOND);
        let sent = peer.take();
        let data: usize = sent.iter().map(|sent| sent.data().len()).sum();
        assert_eq!(data, 1 + times as usize);
        assert!(!forward_tsns(&sent).is_empty());
        assert_eq!(peer.stats().streams.abandoned_retransmissions, 1);
    }
}

#[test]
fn fast_retransmissions_count_as_well() {
    for (times, expected) in [(0, 1), (1, 2)] {
        let mut peer = RawPeer::connected(default().with(|config| config.window.max_burst = None));
        peer.send(retransmitted(times, numbered(0, 0, 100)));
        (1..4).for_each(|number| peer.send(numbered(0, number, FULL)));
        for highest in 2..=4 {
            peer.acknowledge(0, &[(2, highest)], 100_000);
        }
        let sent: usize =
            peer.take_numbers().iter().flatten().filter(|number| **number == 1).count();
        assert_eq!(sent, expected, "{times} allowed");
        // The losses count for congestion control all the same.
        assert_eq!(peer.stats().fast_recoveries, 1);
    }
}

#[test]
fn a_message_that_may_not_be_repeated_is_not_sent_over_the_other_path_either() {
    let mut duo = Duo::connected(1, &[good_link(), good_link()], AssociationConfig::media());
    duo.run_for(SECOND);
    let tap = Wiretap::on(&mut duo);
    duo.pair.cut(0);
    duo.send(Side::Client, retransmitted(0, numbered(0, 0, 3_000)));
    duo.send(Side::Client, retransmitted(1, numbered(0, 1, 3_000)));
    duo.send(Side::Client, numbered(0, 2, 3_000));
    duo.run_for(5 * SECOND);
    assert_eq!(duo.numbers(Side::Server), [1, 2]);
    let of_first = transmissions(&tap, Side::Client).iter().filter(|(n, _)| *n == 0).count();
    assert_eq!(of_first, 1);
}

#[test]
fn a_message_keeps_its_limits_on_the_path_that_it_prefers() {
    let mut duo = Duo::connected(1, &[good_link(), good_link()], AssociationConfig::media());
    duo.run_for(SECOND);
    duo.pair.cut(1);
    let path = PathPreference::Prefer(PathId(1));
    let message = retransmitted(0, numbered(0, 0, 100));
    duo.send(Side::Client, OutgoingMessage { path, ..message });
    let message = living(50 * MILLISECOND, numbered(0, 1, 100));
    duo.send(Side::Client, OutgoingMessage { path, ..message });
    duo.run_for(5 * SECOND);
    assert!(duo.numbers(Side::Server).is_empty());
    assert_eq!(duo.stats(Side::Client).streams.abandoned(), 2);
}

#[test]
fn all_of_a_fragmented_message_is_given_up_and_the_receiver_frees_its_parts() {
    let mut duo = Duo::connected(1, &[good_link()], default());
    duo.run_for(SECOND);
    let mut packets = 0;
    lose(&mut duo, move |side, sent| {
        packets += u32::from(side == Side::Client && sent.has(ChunkType::DATA));
        side == Side::Client && sent.has(ChunkType::DATA) && packets % 2 == 0
    });
    duo.send(Side::Client, living(100 * MILLISECOND, numbered(0, 0, 20_000)));
    duo.run_for(50 * MILLISECOND);
    assert!(duo.stats(Side::Server).held > 1_000, "parts arrived");
    duo.run_for(SECOND);
    assert_eq!(duo.stats(Side::Server).held, 0);
    duo.pair.sim.clear_filter();
    duo.send(Side::Client, numbered(0, 1, 20_000));
    duo.run_for(5 * SECOND);
    assert_eq!(duo.numbers(Side::Server), [1]);
}

#[test]
fn the_unsent_rest_of_a_message_is_given_up_with_its_beginning() {
    let mut peer = RawPeer::connected_with_window(default(), 3_000);
    peer.send(living(100 * MILLISECOND, numbered(0, 0, 50_000)));
    peer.send(numbered(1, 1, 100));
    assert_eq!(peer.take_numbers(), [[1], [2]]);
    peer.run_for(100 * MILLISECOND);
    let sent = peer.take();
    // The rest has one TSN, which is never sent.
    assert_eq!(forward_tsns(&sent)[0].0, peer.tsn_of(3));
    let data: Vec<_> = sent.iter().flat_map(Sent::data).map(|d| (d.tsn, d.stream)).collect();
    assert_eq!(data, [(peer.tsn_of(4), StreamId(1))]);
    assert_eq!(peer.stats().queued, 0);
}

#[test]
fn a_peer_without_support_gets_all_that_was_begun_and_nothing_that_expired_before() {
    let mut peer = RawPeer::facing_listener(default());
    peer.call_with(anabranch_wire::Init {
        a_rwnd: 1_500,
        ..crate::raw_peer::init(crate::raw_peer::TAG, &[])
    });
    peer.take();
    peer.send(living(100 * MILLISECOND, numbered(0, 0, FULL)));
    peer.send(living(100 * MILLISECOND, numbered(0, 1, FULL)));
    peer.send(retransmitted(0, numbered(0, 2, FULL)));
    peer.run_for(7 * SECOND);
    let sent = peer.take();
    assert!(forward_tsns(&sent).is_empty());
    let numbers: Vec<_> = sent.iter().flat_map(Sent::data).map(|d| d.payload[3]).collect();
    assert_eq!(numbers, [0, 0, 0, 0], "at 0, 1, 3 and 7 s: reliable once begun");
    peer.acknowledge(1, &[], 50_000);
    peer.run_for(20 * SECOND);
    let numbers: Vec<_> = peer.take().iter().flat_map(Sent::data).map(|d| d.payload[3]).collect();
    assert!(numbers.len() > 1 && numbers.iter().all(|n| *n == 2), "{numbers:?}");
}

fn forward(new_cumulative_tsn: u32, streams: &[SkippedStream]) -> Chunk<'_> {
    let streams = Items::from_slice(streams);
    Chunk::ForwardTsn(ForwardTsn { new_cumulative_tsn: Tsn(new_cumulative_tsn), streams })
}

#[test]
fn a_receiver_moves_over_what_was_given_up_and_says_so() {
    // The example of RFC 3758 section 3.6.
    let mut peer = RawPeer::connected(default());
    for number in [0, 2, 3, 5] {
        peer.deliver(&[Chunk::Data(data(FIRST_TSN + number, number as u16))]);
    }
    assert_eq!(peer.read().len(), 1);
    peer.take();
    let skipped = [SkippedStream { stream: StreamId(0), ssn: Ssn(1) }];
    peer.deliver(&[forward(FIRST_TSN + 1, &skipped)]);
    let report = peer.take_sack().expect("a gap is open");
    assert_eq!((report.cumulative, report.blocks), (FIRST_TSN + 3, vec![(2, 2)]));
    assert_eq!(peer.read().len(), 2, "what was stranded is delivered");
    // It comes late after all: a duplicate.
    peer.deliver(&[Chunk::Data(data(FIRST_TSN + 1, 1))]);
    assert_eq!(peer.take_sack().expect("at once").duplicates, [FIRST_TSN + 1]);
    assert!(peer.read().is_empty());
}

#[test]
fn a_forward_tsn_that_is_out_of_date_is_answered_with_a_sack() {
    let mut peer = RawPeer::connected(default());
    (0..3).for_each(|number| peer.deliver(&[Chunk::Data(data(FIRST_TSN + number, number as u16))]));
    peer.run_for(SECOND);
    peer.take();
    let skipped = [SkippedStream { stream: StreamId(0), ssn: Ssn(9) }];
    peer.deliver(&[forward(FIRST_TSN + 1, &skipped)]);
    assert_eq!(peer.take_sack().expect("at once").cumulative, FIRST_TSN + 2);
    peer.deliver(&[Chunk::Data(data(FIRST_TSN + 3, 3))]);
    assert_eq!(peer.read().len(), 4, "what it says about streams does not count");
}

#[test]
fn a_forward_tsn_frees_the_parts_of_messages_that_lack_something() {
    let mut peer = RawPeer::connected(default());
    let part = |number: u32, beginning, ending| {
        let data = data(FIRST_TSN + number, 0);
        Chunk::Data(Data { beginning, ending, ..data })
    };
    peer.deliver(&[part(0, true, false), part(2, false, true), part(4, true, false)]);
    let skipped = [SkippedStream { stream: StreamId(0), ssn: Ssn(0) }];
    peer.deliver(&[forward(FIRST_TSN + 2, &skipped)]);
    let one_part = peer.stats().held;
    peer.deliver(&[forward(FIRST_TSN + 5, &[])]);
    assert!(one_part > 0 && peer.stats().held == 0, "{one_part}");
    assert!(peer.read().is_empty());
}

#[test]
fn a_forward_tsn_for_a_stream_that_does_not_exist_changes_none() {
    let mut peer = RawPeer::connected(default());
    let skipped = [SkippedStream { stream: StreamId(60_000), ssn: Ssn(1) }];
    peer.deliver(&[forward(FIRST_TSN, &skipped)]);
    peer.deliver(&[Chunk::Data(data(FIRST_TSN + 1, 0))]);
    assert_eq!(peer.read().len(), 1);
}

#[test]
fn a_forward_tsn_to_one_that_did_not_offer_support_is_an_unknown_chunk() {
    let mut peer =
        RawPeer::connected(default().with(|config| config.extensions.partial_reliability = false));
    peer.deliver(&[forward(FIRST_TSN, &[])]);
    let sent = peer.take();
    let chunks = sent[0].chunks();
    let [ErrorCause::UnrecognizedChunkType(raw)] = causes_of(&chunks[0])[..] else {
        panic!("{chunks:?}")
    };
    assert_eq!(raw[..4], [192, 0, 0, 8]);
    peer.deliver(&[Chunk::Data(data(FIRST_TSN, 0))]);
    assert_eq!(peer.take_sack().expect("the first").cumulative, FIRST_TSN);
}

#[test]
fn reliable_messages_are_untouched_by_their_unreliable_neighbours() {
    let mut duo = Duo::connected(3, &[link(20, 20, 0.1)], AssociationConfig::media());
    for number in 0..600 {
        let message = numbered((number % 2) as u16, number, 1_000);
        let message = match number % 3 {
            0 => message,
            1 => living(60 * MILLISECOND, message),
            _ => retransmitted(0, unordered(message)),
        };
        duo.send(Side::Client, message);
        duo.run_for(5 * MILLISECOND);
    }
    duo.run_for(20 * SECOND);
    let arrived: Vec<u32> = duo.messages(Side::Server).iter().map(number_of).collect();
    assert!((0..600).step_by(3).all(|number| arrived.contains(&number)));
    assert!(arrived.len() < 600, "some of the others were given up");
    let streams = duo.stats(Side::Client).streams;
    // One may arrive and be given up before its acknowledgement does.
    assert!(arrived.len() as u64 + streams.abandoned() >= 600, "{streams:?}");
}

#[test]
fn a_withdrawn_stream_sends_nothing_more_but_what_is_reliable() {
    let slow = link(1, 20, 0.0);
    let config = AssociationConfig::media().with(|config| config.extensions.spaced_sacks = false);
    let mut duo = Duo::connected(11, &[slow], config);
    let tap = Wiretap::on(&mut duo);
    for number in 0..40 {
        duo.send(Side::Client, living(10 * SECOND, numbered(1, number, 1_000)));
        duo.send(Side::Client, retransmitted(5, numbered(2, 100 + number, 1_000)));
    }
    duo.send(Side::Client, numbered(1, 90, 1_000));
    // Cut in the middle by the withdrawal.
    duo.send(Side::Client, living(10 * SECOND, numbered(3, 200, 20_000)));
    duo.run_for(60 * MILLISECOND);
    let withdrawn_at = duo.now();
    duo.act(Side::Client, |association, now| {
        (1..=3).for_each(|stream| association.withdraw(now, StreamId(stream)));
    });
    let queued = duo.act(Side::Client, |association, _| association.queued());
    assert!(queued < 2_000, "only the reliable message waits: {queued}");
    duo.send(Side::Client, numbered(4, 300, 1_000));
    duo.run_for(10 * SECOND);
    let later = transmissions(&tap, Side::Client);
    let later: Vec<u32> =
        later.iter().filter(|(_, at)| *at > withdrawn_at).map(|(number, _)| *number).collect();
    assert_eq!(later, [90, 300]);
    let arrived: Vec<u32> = duo.messages(Side::Server).iter().map(number_of).collect();
    assert!(arrived.contains(&90) && arrived.contains(&300) && arrived.len() < 20, "{arrived:?}");
    assert!(duo.act(Side::Client, |association, _| association.is_drained()));
}
