//! Outstanding data under SACKs, timeouts and lifetimes.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{
    Fsn, GapAckBlock, Items, Level, Mid, Ppid, Sack, SkippedMessages, StreamId, Tsn,
};
use bytes::Bytes;

use super::loss_detection::LossDetection;
use super::message::{Abandonment, Fragment, PathPreference};
use super::outstanding::Outstanding;
use super::sack::{PathAck, SackError};
use crate::extensions::SupportedExtensions;
use crate::format::DataFormat;
use crate::path_name::PathSlot;

const INITIAL: u32 = 100;
const SIZE: usize = DataFormat::Data.chunk_size(1_000);
const PATH: PathSlot = PathSlot(0);
const EXTENSIONS: SupportedExtensions = SupportedExtensions {
    forward_tsn: true,
    cmt_delayed_ack: false,
    spaced_sacks: false,
    level_marks: false,
    re_config: false,
    asconf: false,
    i_data: false,
    i_forward_tsn: false,
    zero_checksum: false,
    zero_checksum_of_sealed: false,
};

fn fragment(stream: u16, ssn: u16) -> Fragment {
    Fragment {
        stream: StreamId(stream),
        mid: Mid(ssn.into()),
        fsn: Fsn(0),
        ppid: Ppid(0),
        payload: Bytes::from(vec![0; 1_000]),
        unordered: false,
        beginning: true,
        ending: true,
        expires: None,
        max_retransmissions: None,
        preference: PathPreference::Any,
        level: Level::Normal,
        sack_immediately: false,
        context: None,
    }
}

/// `count` messages of one chunk each, in flight on path 0 from TSN 100 on.
fn outstanding(count: u16) -> Outstanding {
    let mut outstanding = Outstanding::new(Tsn(INITIAL), EXTENSIONS, LossDetection::Rfc9260);
    (0..count).for_each(|ssn| {
        outstanding.push(Time::ZERO, fragment(0, ssn), PATH);
    });
    outstanding
}

/// Takes a SACK of the cumulative TSN and gap blocks as absolute TSNs.
fn sack(outstanding: &mut Outstanding, cumulative: u32, blocks: &[(u32, u32)]) -> Vec<PathAck> {
    try_sack(outstanding, cumulative, blocks).expect("a SACK that is true");
    outstanding.take_acks()
}

fn try_sack(
    outstanding: &mut Outstanding,
    cumulative: u32,
    blocks: &[(u32, u32)],
) -> Result<bool, SackError> {
    try_sack_at(Time::from_millis(50), outstanding, cumulative, blocks)
}

fn try_sack_at(
    now: Time,
    outstanding: &mut Outstanding,
    cumulative: u32,
    blocks: &[(u32, u32)],
) -> Result<bool, SackError> {
    let offset = |tsn: u32| (tsn - cumulative) as u16;
    let blocks: Vec<_> = blocks
        .iter()
        .map(|&(start, end)| GapAckBlock { start: offset(start), end: offset(end) })
        .collect();
    let sack = Sack {
        cumulative_tsn_ack: Tsn(cumulative),
        a_rwnd: 100_000,
        gap_ack_blocks: Items::from_slice(&blocks),
        duplicate_tsns: Items::default(),
        data_packets: 1,
    };
    outstanding.on_sack(now, &sack, PATH, |_| None)
}

fn marked(outstanding: &Outstanding) -> Vec<u32> {
    outstanding.retransmissions().map(|lost| lost.sequence as u32).collect()
}

#[test]
fn a_cumulative_ack_empties_the_window_and_measures_one_round_trip() {
    let mut outstanding = outstanding(4);
    assert_eq!(outstanding.bytes_in_flight(), 4 * SIZE);
    let acks = sack(&mut outstanding, 103, &[]);
    assert_eq!((acks[0].acked, acks[0].flight_before), (4 * SIZE, 4 * SIZE));
    assert_eq!(acks[0].rtt, Some(Duration::from_millis(50)));
    assert!(acks[0].advanced && outstanding.is_empty());
}

#[test]
fn the_third_miss_indication_marks_a_chunk_and_enters_fast_recovery() {
    let mut outstanding = outstanding(6);
    for highest in [102, 103] {
        let acks = sack(&mut outstanding, 100, &[(102, highest)]);
        assert_eq!((acks[0].losses.chunks, marked(&outstanding)), (0, vec![]));
    }
    let acks = sack(&mut outstanding, 100, &[(102, 104)]);
    assert_eq!((acks[0].losses.chunks, acks[0].losses.enters_recovery), (1, true));
    assert_eq!(marked(&outstanding), [101]);
    assert_eq!(outstanding.bytes_in_flight(), SIZE, "105 alone");
}

#[test]
fn a_sack_that_repeats_itself_is_no_further_miss_indication() {
    let mut outstanding = outstanding(6);
    for _ in 0..10 {
        sack(&mut outstanding, 100, &[(102, 103)]);
    }
    assert_eq!(marked(&outstanding), [], "HTNA: nothing was newly acknowledged");
}

#[test]
fn a_chunk_is_fast_retransmitted_once_and_then_left_to_the_timer() {
    let mut outstanding = outstanding(10);
    for highest in 102..=104 {
        sack(&mut outstanding, 100, &[(102, highest)]);
    }
    outstanding.retransmit(Time::from_millis(51), u64::from(INITIAL + 1) | 1 << 32, PATH);
    for highest in 105..=109 {
        sack(&mut outstanding, 100, &[(102, highest)]);
    }
    assert_eq!(marked(&outstanding), []);
    assert_eq!(outstanding.on_timeout(PATH).chunks, 1);
    assert_eq!(marked(&outstanding), [101]);
}

#[test]
fn in_fast_recovery_further_losses_are_found_and_do_not_enter_it_again() {
    let mut outstanding = outstanding(12);
    for highest in 102..=104 {
        sack(&mut outstanding, 100, &[(102, highest)]);
    }
    for highest in 106..=108 {
        let acks = sack(&mut outstanding, 100, &[(102, 104), (106, highest)]);
        assert!(!acks[0].losses.enters_recovery && acks[0].in_recovery);
    }
    assert_eq!(marked(&outstanding), [101, 105]);
    let acks = sack(&mut outstanding, 111, &[]);
    assert!(acks[0].in_recovery, "this SACK still belongs to the recovery");
    assert!(outstanding.enter_fast_recovery(PATH), "it ended with the exit point");
}

#[test]
fn once_per_window_leaves_what_else_was_lost_to_the_timer() {
    let detection = LossDetection::OncePerWindow;
    let mut outstanding = Outstanding::new(Tsn(INITIAL), EXTENSIONS, detection);
    (0..12).for_each(|ssn| {
        outstanding.push(Time::ZERO, fragment(0, ssn), PATH);
    });
    for highest in 102..=104 {
        sack(&mut outstanding, 100, &[(102, highest)]);
    }
    for highest in 106..=111 {
        sack(&mut outstanding, 100, &[(102, 104), (106, highest)]);
    }
    assert_eq!(marked(&outstanding), [101], "105 was missing six times");
    outstanding.on_timeout(PATH);
    assert_eq!(marked(&outstanding), [101, 105]);
}

#[test]
fn a_chunk_on_another_path_is_not_missing_because_of_this_one() {
    let mut outstanding = Outstanding::new(Tsn(INITIAL), EXTENSIONS, LossDetection::Rfc9260);
    outstanding.push(Time::ZERO, fragment(0, 0), PathSlot(1));
    (1..8).for_each(|ssn| {
        outstanding.push(Time::ZERO, fragment(0, ssn), PATH);
    });
    for highest in 101..=107 {
        sack(&mut outstanding, 99, &[(101, highest)]);
    }
    assert_eq!(marked(&outstanding), [], "nothing sent later on path 1 arrived");
}

#[test]
fn a_path_leaves_fast_recovery_at_its_own_exit_point() {
    let other = PathSlot(1);
    let mut outstanding = outstanding(1); // 100 stays missing on path 0
    for ssn in 1..12 {
        let path = if ssn <= 5 { other } else { PATH }; // 101 to 105 there, 106 to 111 here
        outstanding.push(Time::ZERO, fragment(0, ssn), path);
    }
    for highest in [103, 104, 105] {
        sack(&mut outstanding, 99, &[(102, highest)]);
    }
    assert_eq!(marked(&outstanding), [101], "the other path lost it");
    outstanding.retransmit(Time::ZERO, outstanding.next_sequence() - 11, other);
    let in_recovery = |outstanding: &mut Outstanding, blocks: &[(u32, u32)]| {
        sack(outstanding, 99, blocks);
        sack(outstanding, 99, blocks)[other.index()].in_recovery
    };
    assert!(in_recovery(&mut outstanding, &[(102, 105)]), "101 is awaited");
    assert!(!in_recovery(&mut outstanding, &[(101, 105)]), "whatever path 0 lacks");
}

#[test]
fn in_fast_recovery_a_path_counts_misses_when_its_own_first_gap_closes() {
    let other = PathSlot(1);
    let mut outstanding = outstanding(1);
    for ssn in 1..9 {
        outstanding.push(Time::ZERO, fragment(0, ssn), other); // 101 to 108
    }
    let first = outstanding.next_sequence() - 8;
    for blocks in [&[(102, 103)][..], &[(102, 104)], &[(102, 104), (106, 106)]] {
        sack(&mut outstanding, 99, blocks);
    }
    outstanding.retransmit(Time::ZERO, first, other);
    sack(&mut outstanding, 99, &[(102, 104), (106, 107)]);
    assert_eq!(marked(&outstanding), [], "105 was missing twice");
    sack(&mut outstanding, 99, &[(101, 104), (106, 107)]);
    assert_eq!(marked(&outstanding), [105], "100 is not awaited there");
}

#[test]
fn what_is_sent_again_on_another_path_does_not_close_a_gap() {
    let mut outstanding = outstanding(9); // 100 to 108
    for blocks in [&[(101, 102)][..], &[(101, 103)], &[(101, 103), (105, 105)]] {
        sack(&mut outstanding, 99, blocks);
    }
    sack(&mut outstanding, 99, &[(101, 103), (105, 106)]);
    assert_eq!(marked(&outstanding), [100], "104 was missing twice");
    let first = outstanding.next_sequence() - 9;
    outstanding.retransmit(Time::ZERO, first, PathSlot(1));
    sack(&mut outstanding, 99, &[(101, 103), (105, 106)]);
    assert_eq!(marked(&outstanding), [], "nothing new arrived");
}

/// Eight chunks are in flight, one SACK with these gap blocks says that it stands for three
/// packets: the chunks that it marks.
fn marked_by_three_packets(paths: [PathSlot; 8], blocks: &[(u32, u32)]) -> Vec<u32> {
    let extensions = SupportedExtensions { cmt_delayed_ack: true, ..EXTENSIONS };
    let mut outstanding = Outstanding::new(Tsn(INITIAL), extensions, LossDetection::Rfc9260);
    for (ssn, path) in (0..).zip(paths) {
        outstanding.push(Time::ZERO, fragment(0, ssn), path);
    }
    let offset = |tsn: u32| (tsn - 99) as u16;
    let block = |&(start, end)| GapAckBlock { start: offset(start), end: offset(end) };
    let blocks: Vec<_> = blocks.iter().map(block).collect();
    let sack = Sack {
        cumulative_tsn_ack: Tsn(99),
        a_rwnd: 100_000,
        gap_ack_blocks: Items::from_slice(&blocks),
        duplicate_tsns: Items::default(),
        data_packets: 3,
    };
    outstanding.on_sack(Time::from_millis(50), &sack, PATH, |_| None).expect("true");
    marked(&outstanding)
}

#[test]
fn a_sack_is_as_many_miss_indications_as_packets_that_all_came_later_on_one_path() {
    let other = PathSlot(1);
    let one = [PATH; 8];
    assert_eq!(marked_by_three_packets(one, &[(102, 104)]), [100, 101]);
    assert_eq!(marked_by_three_packets(one, &[(101, 102), (104, 104)]), [100], "103 lies between");
    let mixed = [PATH, PATH, PATH, PATH, other, PATH, PATH, PATH];
    assert_eq!(marked_by_three_packets(mixed, &[(102, 104)]), [], "one came over the other path");
}

#[test]
fn losses_are_found_in_order_of_transmission_after_a_timeout() {
    let mut outstanding = outstanding(4);
    outstanding.on_timeout(PATH);
    assert_eq!(marked(&outstanding), [100, 101, 102, 103]);
    outstanding.push(Time::from_millis(40), fragment(0, 4), PATH);
    for tsn in 100..=103 {
        outstanding.retransmit(Time::from_millis(41), u64::from(tsn as u32) | 1 << 32, PATH);
    }
    for _ in 0..3 {
        sack(&mut outstanding, 99, &[(104, 104)]);
    }
    assert_eq!(marked(&outstanding), [], "104 was sent before the retransmissions");
}

#[test]
fn a_sack_from_before_the_last_one_is_dropped() {
    let mut outstanding = outstanding(4);
    sack(&mut outstanding, 102, &[]);
    assert_eq!(try_sack(&mut outstanding, 100, &[]), Ok(false));
    assert_eq!(outstanding.take_acks(), []);
    assert_eq!(outstanding.bytes_in_flight(), SIZE);
}

#[test]
fn a_sack_that_cannot_be_true_changes_nothing() {
    let mut outstanding = outstanding(4);
    let unsent = SackError::AcksUnsentTsn { acked: 104, highest: 103 };
    assert_eq!(try_sack(&mut outstanding, 104, &[]), Err(unsent));
    assert_eq!(try_sack(&mut outstanding, 100, &[(102, 104)]), Err(unsent));
    let malformed = SackError::MalformedGapBlock { start: 3, end: 2 };
    assert_eq!(try_sack(&mut outstanding, 100, &[(103, 102)]), Err(malformed));
    assert_eq!(outstanding.bytes_in_flight(), 4 * SIZE);
}

#[test]
fn what_the_peer_reneged_on_is_in_flight_again_and_times_out() {
    let mut outstanding = outstanding(6);
    sack(&mut outstanding, 100, &[(103, 105)]);
    assert_eq!(outstanding.bytes_in_flight(), 2 * SIZE);
    sack(&mut outstanding, 102, &[]);
    assert_eq!(outstanding.bytes_in_flight(), 3 * SIZE, "103 to 105 are missing for certain");
    assert_eq!(outstanding.on_timeout(PATH).chunks, 3);
    assert!(
        outstanding.chunk(u64::from(103_u32) | 1 << 32).is_some_and(|d| d.payload.len() == 1_000)
    );
}

/// Found by random operations: it was sent again long after its lifetime.
#[test]
fn regression_what_the_peer_reneged_on_after_its_lifetime_is_given_up() {
    let mut outstanding = with_lifetimes(&[0, 1, 2], &[1]);
    sack(&mut outstanding, 99, &[(101, 101)]);
    let end = Time::from_millis(100);
    outstanding.expire(end, |_| Duration::ZERO);
    assert_eq!(abandoned(&mut outstanding), [], "the peer has it");
    assert_eq!(try_sack_at(end, &mut outstanding, 100, &[]), Ok(true));
    assert_eq!(abandoned(&mut outstanding), [(StreamId(1), Abandonment::Expired)]);
    assert_eq!(outstanding.next_expiration(), None, "nothing piles up");
    assert_eq!(outstanding.advanced_peer_ack_point() as u32, 101);
}

/// A stream with a gap was woken for every message behind it.
#[test]
fn regression_the_lifetime_of_what_the_peer_has_caused_a_wakeup() {
    let mut outstanding = with_lifetimes(&[0, 1, 2], &[1, 2]);
    sack(&mut outstanding, 99, &[(101, 102)]);
    assert_eq!(outstanding.next_expiration(), None, "nobody waits for 101 and 102");
    sack(&mut outstanding, 100, &[]);
    assert_eq!(outstanding.next_expiration(), Some(Time::from_millis(100)), "the peer reneged");
    sack(&mut outstanding, 102, &[]);
    assert_eq!(outstanding.next_expiration(), None);
}

#[test]
fn a_block_that_is_absent_further_up_proves_nothing() {
    let mut outstanding = outstanding(10);
    sack(&mut outstanding, 100, &[(102, 103), (107, 109)]);
    sack(&mut outstanding, 100, &[(102, 104)]);
    assert_eq!(outstanding.bytes_in_flight(), 3 * SIZE, "101, 105 and 106");
}

#[test]
fn no_round_trip_is_measured_with_what_was_sent_twice() {
    let mut outstanding = outstanding(2);
    outstanding.on_timeout(PATH);
    outstanding.retransmit(Time::from_millis(49), u64::from(INITIAL) | 1 << 32, PATH);
    assert_eq!(sack(&mut outstanding, 101, &[])[0].rtt, None);
}

#[test]
fn an_expired_message_is_skipped_with_its_stream_and_ssn() {
    let mut outstanding = Outstanding::new(Tsn(INITIAL), EXTENSIONS, LossDetection::Rfc9260);
    for ssn in 0..4 {
        let expires = Some(Time::from_millis(u64::from(100 + ssn)));
        outstanding.push(Time::ZERO, Fragment { expires, ..fragment(3, ssn) }, PATH);
    }
    outstanding.expire(Time::from_millis(101), |_| Duration::ZERO);
    assert!(outstanding.is_forward_tsn_due());
    assert_eq!(outstanding.advanced_peer_ack_point() as u32, 101);
    let skipped = SkippedMessages { stream: StreamId(3), unordered: false, mid: Mid(1) };
    assert_eq!(outstanding.skipped_messages(10), [skipped]);
    assert_eq!(outstanding.bytes_in_flight(), 2 * SIZE);
    sack(&mut outstanding, 101, &[]);
    assert!(!outstanding.is_forward_tsn_due());
}

/// Chunks of one message each; those of the streams in `expiring` live 100 ms.
fn with_lifetimes(streams: &[u16], expiring: &[usize]) -> Outstanding {
    let mut outstanding = Outstanding::new(Tsn(INITIAL), EXTENSIONS, LossDetection::Rfc9260);
    for (index, &stream) in streams.iter().enumerate() {
        let expires = expiring.contains(&index).then_some(Time::from_millis(100));
        let piece = Fragment { expires, ..fragment(stream, index as u16) };
        outstanding.push(Time::ZERO, piece, PATH);
    }
    outstanding
}

#[test]
fn the_point_passes_what_a_gap_block_acknowledged_on_other_streams() {
    let mut outstanding = with_lifetimes(&[0, 1, 0, 0], &[0, 1, 2]);
    sack(&mut outstanding, 99, &[(101, 101)]);
    outstanding.expire(Time::from_millis(100), |_| Duration::ZERO);
    assert_eq!(outstanding.advanced_peer_ack_point() as u32, 102, "103 is in flight");
}

/// Found by random operations: a peer that had acknowledged a message by a gap block dropped it
/// again, and was told to move past it before it could say so.
#[test]
fn regression_a_reliable_message_that_a_gap_block_acknowledged_was_skipped() {
    let mut outstanding = with_lifetimes(&[0, 1, 0, 0], &[0, 2]);
    sack(&mut outstanding, 99, &[(101, 101)]);
    outstanding.expire(Time::from_millis(100), |_| Duration::ZERO);
    assert_eq!(outstanding.advanced_peer_ack_point() as u32, 100);
    sack(&mut outstanding, 100, &[]);
    assert_eq!(outstanding.advanced_peer_ack_point() as u32, 100, "the peer dropped 101");
}

/// dcSCTP drops what it holds up to a skipped SSN: messages that it had acknowledged were lost.
#[test]
fn regression_forward_tsn_skipped_ssns_behind_messages_that_the_peer_held() {
    let mut outstanding = with_lifetimes(&[0, 0, 0, 0], &[0, 1, 2]);
    sack(&mut outstanding, 99, &[(101, 101)]);
    outstanding.expire(Time::from_millis(100), |_| Duration::ZERO);
    assert_eq!(outstanding.advanced_peer_ack_point() as u32, 100);
    sack(&mut outstanding, 101, &[]);
    assert_eq!(outstanding.advanced_peer_ack_point() as u32, 102, "101 is delivered by now");
}

#[test]
fn skipped_messages_that_do_not_fit_lower_the_point() {
    let mut outstanding = Outstanding::new(Tsn(INITIAL), EXTENSIONS, LossDetection::Rfc9260);
    for stream in 0..5 {
        let expires = Some(Time::from_millis(100));
        outstanding.push(Time::ZERO, Fragment { expires, ..fragment(stream, 7) }, PATH);
    }
    outstanding.expire(Time::from_millis(100), |_| Duration::ZERO);
    assert_eq!(outstanding.skipped_messages(3).len(), 3);
    assert_eq!(outstanding.advanced_peer_ack_point() as u32, 102);
}

#[test]
fn all_fragments_of_a_message_are_abandoned_together() {
    let mut outstanding = Outstanding::new(Tsn(INITIAL), EXTENSIONS, LossDetection::Rfc9260);
    let expires = Some(Time::from_millis(100));
    for (beginning, ending) in [(true, false), (false, false), (false, true)] {
        let piece = Fragment { beginning, ending, expires, ..fragment(0, 0) };
        outstanding.push(Time::ZERO, piece, PATH);
    }
    sack(&mut outstanding, 99, &[(101, 101)]);
    outstanding.expire(Time::from_millis(100), |_| Duration::ZERO);
    assert_eq!(abandoned(&mut outstanding), [(StreamId(0), Abandonment::Expired)]);
    assert_eq!((outstanding.bytes_in_flight(), marked(&outstanding)), (0, vec![]));
    assert_eq!(outstanding.advanced_peer_ack_point() as u32, 102);
}

#[test]
fn a_message_is_abandoned_when_it_would_be_sent_once_too_often() {
    let mut outstanding = Outstanding::new(Tsn(INITIAL), EXTENSIONS, LossDetection::Rfc9260);
    let max_retransmissions = Some(1);
    outstanding.push(Time::ZERO, Fragment { max_retransmissions, ..fragment(0, 0) }, PATH);
    outstanding.on_timeout(PATH);
    assert_eq!(marked(&outstanding), [100], "the one retransmission");
    outstanding.retransmit(Time::from_millis(10), u64::from(INITIAL) | 1 << 32, PATH);
    outstanding.on_timeout(PATH);
    assert_eq!(marked(&outstanding), []);
    assert_eq!(abandoned(&mut outstanding), [(StreamId(0), Abandonment::Retransmissions)]);
}

#[test]
fn a_peer_without_forward_tsn_gets_everything() {
    let mut outstanding =
        Outstanding::new(Tsn(INITIAL), SupportedExtensions::default(), LossDetection::Rfc9260);
    let expires = Some(Time::from_millis(100));
    let limited = Fragment { expires, max_retransmissions: Some(0), ..fragment(0, 0) };
    outstanding.push(Time::ZERO, limited, PATH);
    outstanding.expire(Time::from_secs(1), |_| Duration::ZERO);
    outstanding.on_timeout(PATH);
    assert_eq!(marked(&outstanding), [100]);
}

/// The last fragment that was sent had been acknowledged when its message was abandoned: nothing
/// said that the rest, which had no TSNs yet, must not be sent.
#[test]
fn regression_rest_of_an_abandoned_message_was_sent() {
    let mut outstanding = Outstanding::new(Tsn(INITIAL), EXTENSIONS, LossDetection::Rfc9260);
    let expires = Some(Time::from_millis(100));
    for beginning in [true, false] {
        let piece = Fragment { beginning, ending: false, expires, ..fragment(0, 0) };
        outstanding.push(Time::ZERO, piece, PATH);
    }
    sack(&mut outstanding, 99, &[(101, 101)]);
    outstanding.expire(Time::from_millis(100), |_| Duration::ZERO);
    assert_eq!(outstanding.unended(), [StreamId(0)]);
    let rest = Fragment { beginning: false, ..fragment(0, 0) };
    outstanding.push_abandoned(Time::from_millis(100), rest);
    assert!(outstanding.unended().is_empty());
    assert_eq!(outstanding.advanced_peer_ack_point() as u32, 102);
    assert_eq!(outstanding.take_abandoned().len(), 1, "one message, counted once");
}

fn abandoned(outstanding: &mut Outstanding) -> Vec<(StreamId, Abandonment)> {
    let abandoned = outstanding.take_abandoned().into_iter();
    abandoned.map(|message| (message.stream, message.why)).collect()
}
