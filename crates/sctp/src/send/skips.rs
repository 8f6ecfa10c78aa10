//! [`Skips`]: unordered messages that take ordered ones with them when they are skipped (RFC 8260).
//!
//! RFC 8260 section 2.1: "The sender uses two counters for each outgoing stream: one for ordered
//! messages and one for unordered messages. All of these counters are independent". usrsctp has one
//! counter for what was delivered: once an I-FORWARD-TSN has skipped the unordered message 7 of a
//! stream, the ordered message 7 or an earlier one has it abort the association. Peers that are not
//! known to be ours are therefore told that the ordered messages up to 7 are skipped too, none of
//! which has been begun, and the next one is 8; what was begun is delivered first.

use std::collections::BTreeMap;

use anabranch_sansio::Time;
use anabranch_wire::{Fsn, Level, Mid, Ppid, StreamId};
use bytes::Bytes;

use super::chunk::{Chunk, ChunkState};
use super::message::{Fragment, PathPreference};
use super::outstanding::Outstanding;
use crate::format::DataFormat;
use crate::path_name::PathSlot;

/// Up to which ordered message of each stream the peer is told to skip, together with an unordered
/// one.
#[derive(Debug, Default)]
pub(super) struct Skips(BTreeMap<StreamId, Skip>);

#[derive(Debug, Clone, Copy)]
struct Skip {
    last: Mid,
    /// Whether the counter of ordered messages does not know of it.
    is_new: bool,
}

impl Skips {
    /// The unordered message `mid` of a stream is skipped.
    fn add(&mut self, stream: StreamId, mid: Mid) {
        let news = Skip { last: mid, is_new: true };
        let skip = self.0.entry(stream).or_insert(news);
        if later(skip.last, mid) != skip.last {
            *skip = news;
        }
    }

    /// Whether the ordered messages up to this unordered one are skipped too.
    pub(super) fn covers(&self, stream: StreamId, unordered: Mid) -> bool {
        self.0.get(&stream).is_some_and(|skip| later(skip.last, unordered) == skip.last)
    }
}

/// The ordered messages that stand against skipping others of their stream, the first of each kind.
#[derive(Debug, Default)]
pub(super) struct UnderWay(BTreeMap<StreamId, Ordered>);

#[derive(Debug, Default)]
struct Ordered {
    /// The peer may not have it whole.
    missed: Option<Mid>,
    /// All that was sent of it is acknowledged, and there is more.
    open: Option<Mid>,
    /// Whether one was abandoned.
    has_gap: bool,
    /// The peer has it, and waits for one that was abandoned.
    held: Option<Mid>,
}

impl UnderWay {
    fn look_at(&mut self, chunk: &Chunk) {
        let &Chunk { stream, mid, ending, state, .. } = chunk;
        let ordered = self.0.entry(stream).or_default();
        ordered.open.take_if(|open| *open == mid);
        match state {
            ChunkState::InFlight | ChunkState::Lost => drop(ordered.missed.get_or_insert(mid)),
            ChunkState::Acked if !ending => ordered.open = Some(mid),
            ChunkState::Acked if ordered.has_gap => drop(ordered.held.get_or_insert(mid)),
            ChunkState::Acked => {}
            ChunkState::Abandoned => ordered.has_gap = true,
        }
    }
}

/// What becomes of an unordered message that was abandoned.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Passage {
    /// It is skipped.
    Free,
    /// It is not skipped before ordered messages have arrived.
    Held,
}

impl Outstanding {
    /// Whether ordered messages are skipped together with unordered ones.
    pub(super) fn skips_ordered(&self) -> bool {
        self.format() == DataFormat::IData && !self.extensions().spaced_sacks
    }

    pub(super) fn ordered_under_way(&self) -> UnderWay {
        let mut under_way = UnderWay::default();
        let ordered = self.chunks.iter().filter(|chunk| !chunk.unordered);
        ordered.for_each(|chunk| under_way.look_at(chunk));
        under_way
    }

    /// An unordered message was abandoned: whether it is skipped, and ordered ones with it. What
    /// the peer holds until it hears of a gap would be lost with it, so that nothing is skipped
    /// beside the unordered one then.
    pub(super) fn pass(&mut self, under_way: &UnderWay, stream: StreamId, mid: Mid) -> Passage {
        let is_before = |ordered: Option<Mid>| ordered.is_some_and(|it| later(it, mid) == mid);
        let Some(ordered) = under_way.0.get(&stream) else {
            self.skips.add(stream, mid);
            return Passage::Free;
        };
        if is_before(ordered.missed) || is_before(ordered.open) {
            return Passage::Held;
        }
        if !is_before(ordered.held) {
            self.skips.add(stream, mid);
        }
        Passage::Free
    }

    /// Up to which ordered message of a stream the peer is told to skip, if that is news.
    pub(crate) fn take_skip(&mut self, stream: StreamId) -> Option<Mid> {
        let skip = self.skips.0.get_mut(&stream)?;
        std::mem::take(&mut skip.is_new).then_some(skip.last)
    }

    /// Gives a message without content, unordered and abandoned, a TSN that is never sent.
    ///
    /// The peer moves past it by the I-FORWARD-TSN alone that lists the ordered messages up to
    /// `mid`. Past the message that was abandoned it may move by what arrives of that late, and
    /// would wait for ordered messages then that do not exist.
    pub(crate) fn insist_on_skip(&mut self, now: Time, stream: StreamId, mid: Mid) {
        let nothing = Fragment {
            stream,
            mid,
            fsn: Fsn(0),
            ppid: Ppid(0),
            payload: Bytes::new(),
            unordered: true,
            beginning: true,
            ending: true,
            expires: None,
            max_retransmissions: None,
            preference: PathPreference::Any,
            level: Level::default(),
            sack_immediately: false,
            context: None,
        };
        let path = self.chunks.back().map_or(PathSlot(0), |chunk| chunk.path);
        self.push(now, nothing, path);
        self.abandon_chunk(self.chunks.len() - 1);
        self.advance();
    }

    /// The stream begins anew.
    pub(crate) fn forget_skip(&mut self, stream: StreamId) {
        self.skips.0.remove(&stream);
    }
}

/// The later one of two messages of a stream and kind.
///
/// RFC 8260 section 2.1: "the serial number arithmetic defined in \[RFC1982\] using SERIAL_BITS =
/// 32 applies."
pub(super) const fn later(a: Mid, b: Mid) -> Mid {
    if a.0.wrapping_sub(b.0) < 1 << 31 { a } else { b }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_wire::{GapAckBlock, Items, Sack, SkippedMessages, Tsn};

    use super::*;
    use crate::extensions::SupportedExtensions;
    use crate::send::LossDetection;

    const STREAM: StreamId = StreamId(3);
    const SHORT: Option<Time> = Some(Time::from_millis(100));

    fn outstanding(spaced_sacks: bool) -> Outstanding {
        let extensions =
            SupportedExtensions { spaced_sacks, ..SupportedExtensions::BEFORE_THE_PEER_TOLD };
        Outstanding::new(Tsn(100), extensions, LossDetection::Rfc9260)
    }

    /// Sends a message of one chunk, or the beginning of a longer one.
    fn push(outstanding: &mut Outstanding, unordered: bool, mid: u32, ending: bool) {
        let fragment = Fragment {
            stream: STREAM,
            mid: Mid(mid),
            fsn: Fsn(0),
            ppid: Ppid(0),
            payload: Bytes::from_static(&[7; 100]),
            unordered,
            beginning: true,
            ending,
            expires: SHORT.filter(|_| unordered),
            max_retransmissions: None,
            preference: PathPreference::Any,
            level: Level::Normal,
            sack_immediately: false,
            context: None,
        };
        outstanding.push(Time::ZERO, fragment, PathSlot(0));
    }

    /// The lifetimes of all that is unordered end; returns what an I-FORWARD-TSN lists.
    fn expire(outstanding: &mut Outstanding) -> Vec<(bool, u32)> {
        outstanding.expire(Time::from_millis(100), |_| Duration::ZERO);
        let listed = outstanding.skipped_messages(10).into_iter();
        listed.map(|SkippedMessages { unordered, mid, .. }| (unordered, mid.0)).collect()
    }

    fn sack(outstanding: &mut Outstanding, last: u16) {
        acknowledge(outstanding, 99, &[GapAckBlock { start: 2, end: last }]);
    }

    fn sack_through(outstanding: &mut Outstanding, cumulative: u32) {
        acknowledge(outstanding, cumulative, &[]);
    }

    fn acknowledge(outstanding: &mut Outstanding, cumulative: u32, blocks: &[GapAckBlock]) {
        let sack = Sack {
            cumulative_tsn_ack: Tsn(cumulative),
            a_rwnd: 100_000,
            gap_ack_blocks: Items::from_slice(blocks),
            duplicate_tsns: Items::default(),
            data_packets: 1,
        };
        let rtts = |_| Default::default();
        outstanding.on_sack(Time::from_millis(50), &sack, PathSlot(0), rtts).unwrap();
    }

    #[test]
    fn regression_usrsctp_aborted_for_an_ordered_message_behind_a_skipped_unordered_one() {
        let mut outstanding = outstanding(false);
        for mid in 0..3 {
            push(&mut outstanding, true, mid, true);
        }
        assert_eq!(expire(&mut outstanding), [(true, 2), (false, 2)]);
        assert_eq!(outstanding.take_skip(STREAM), Some(Mid(2)), "the next ordered one is 3");
        assert_eq!(outstanding.take_skip(STREAM), None, "once");
    }

    /// Found by random operations: what was abandoned came late, the peer moved past it by that,
    /// and waited for ordered messages that do not exist.
    #[test]
    fn regression_a_peer_that_never_heard_of_a_skip_is_told_of_it_again() {
        let mut outstanding = outstanding(false);
        push(&mut outstanding, true, 2, true);
        assert_eq!(expire(&mut outstanding), [(true, 2), (false, 2)]);
        let last = outstanding.take_skip(STREAM).unwrap();
        outstanding.insist_on_skip(Time::ZERO, STREAM, last);
        push(&mut outstanding, false, 3, true);
        sack_through(&mut outstanding, 100);
        assert!(outstanding.is_forward_tsn_due(), "nothing else leads past the next TSN");
        assert_eq!(expire(&mut outstanding), [(true, 2), (false, 2)]);
        assert_eq!(outstanding.take_skip(STREAM), None, "the next ordered one is 3 already");
        sack_through(&mut outstanding, 102);
        assert!(!outstanding.is_forward_tsn_due());
    }

    #[test]
    fn towards_a_stack_like_ours_unordered_messages_are_skipped_alone() {
        let mut outstanding = outstanding(true);
        push(&mut outstanding, true, 0, true);
        assert_eq!(expire(&mut outstanding), [(true, 0)]);
        assert_eq!(outstanding.take_skip(STREAM), None);
    }

    #[test]
    fn an_ordered_message_that_is_under_way_is_delivered_before_unordered_ones_are_skipped() {
        let mut outstanding = outstanding(false);
        push(&mut outstanding, true, 0, true);
        push(&mut outstanding, false, 0, true);
        assert_eq!(expire(&mut outstanding), []);
        sack(&mut outstanding, 2);
        assert_eq!(expire(&mut outstanding), [(true, 0), (false, 0)]);
    }

    #[test]
    fn one_that_was_begun_is_under_way_although_all_that_was_sent_of_it_is_acknowledged() {
        let mut outstanding = outstanding(false);
        push(&mut outstanding, true, 0, true);
        push(&mut outstanding, false, 0, false);
        sack(&mut outstanding, 2);
        assert_eq!(expire(&mut outstanding), []);
    }

    #[test]
    fn a_later_ordered_message_does_not_hold_up_what_is_skipped() {
        let mut outstanding = outstanding(false);
        push(&mut outstanding, true, 0, true);
        push(&mut outstanding, false, 1, true);
        assert_eq!(expire(&mut outstanding), [(true, 0), (false, 0)]);
    }

    #[test]
    fn what_the_peer_holds_behind_a_gap_is_not_skipped() {
        let mut outstanding = outstanding(false);
        push(&mut outstanding, false, 0, true);
        outstanding.chunks[0].expires = SHORT;
        outstanding.withdraw(Time::ZERO, STREAM);
        push(&mut outstanding, false, 1, true);
        outstanding.chunks[1].max_retransmissions = Some(1);
        for mid in 0..3 {
            push(&mut outstanding, true, mid, true);
        }
        sack(&mut outstanding, 2);
        let listed = expire(&mut outstanding);
        assert_eq!(listed, [(false, 0), (true, 2)], "the ordered 1 is delivered");
        assert_eq!(outstanding.take_skip(STREAM), Some(Mid(0)), "no further than the gap");
    }

    #[test]
    fn a_stream_that_is_reset_has_skipped_nothing() {
        let mut outstanding = outstanding(false);
        push(&mut outstanding, true, 0, true);
        expire(&mut outstanding);
        outstanding.forget_skip(STREAM);
        assert_eq!(outstanding.take_skip(STREAM), None);
    }

    #[test]
    fn messages_are_compared_as_serial_numbers() {
        assert_eq!(later(Mid(1), Mid(u32::MAX)), Mid(1));
        assert_eq!(later(Mid(7), Mid(9)), Mid(9));
    }
}
