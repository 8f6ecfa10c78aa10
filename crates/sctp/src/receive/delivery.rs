//! [`DeliveryQueue`]: whole messages in the order that their streams promise.

use std::collections::BTreeMap;

use anabranch_sansio::Time;
use anabranch_wire::{Level, Mid, Ppid, SkippedMessages, Ssn, StreamId};
use bytes::Bytes;

use super::held::Held;
use super::ready::{ReadyMessages, ReceiveOrder};
use super::reassembly::Complete;
use super::revocable::{Claim, Kept, KeptAt, Revocable, TsnSpan};
use crate::dtls::{KEY_MANAGEMENT_PPID, KEY_MANAGEMENT_STREAM};
use crate::format::{DataFormat, ssn_of};
use crate::path_name::PathId;
use crate::stats::LevelStats;

/// A message from the peer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct IncomingMessage {
    /// The stream it came on.
    pub stream: StreamId,
    /// The payload protocol identifier that the peer gave it.
    pub ppid: Ppid,
    /// Whether it was sent in order.
    pub ordered: bool,
    /// Its place among the ordered messages of its stream; a jump shows that the peer abandoned
    /// what lies between. Where messages interleave, the lower 16 bits of that place, and ordered
    /// and unordered messages are counted apart. Else zero for unordered messages.
    pub ssn: Ssn,
    /// How much it matters, as the peer marked it: [`Urgent`](Level::Urgent) if any of its pieces
    /// was sent again. [`Normal`](Level::Normal) unless both ends offered
    /// [level marks](crate::ExtensionConfig::level_marks).
    pub level: Level,
    /// The bytes.
    pub payload: Bytes,
    /// When its last missing piece arrived.
    pub completed_at: Time,
    /// On which path that piece arrived.
    pub path: PathId,
    /// Whether data sent after that piece arrived before it: it was sent again or overtaken, and
    /// says nothing about how long its path takes.
    pub fills_gap: bool,
}

/// How the last missing piece of a message arrived.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Completion {
    pub(super) at: Time,
    pub(super) path: PathId,
    pub(super) fills_gap: bool,
    /// Its TSNs, if the cumulative TSN has not reached them and it may be dropped for others.
    pub(super) revocable: Option<TsnSpan>,
}

/// Messages ready for the user, and those that wait for an earlier one of their stream.
#[derive(Debug)]
pub(crate) struct DeliveryQueue {
    ready: ReadyMessages,
    streams: BTreeMap<StreamId, InStream>,
    stream_count: u16,
    format: DataFormat,
    /// What may be dropped, where levels decide what is read first.
    revocable: Revocable,
    held: Held,
}

/// Numbers of unordered messages that one behind the last one skipped may be ahead.
const UNORDERED_AHEAD_MAX: u64 = 1 << 30;

/// The reordering of one stream. Numbers of messages are extended to 64 bits.
#[derive(Debug)]
struct InStream {
    next: u64,
    /// Unordered messages with lower numbers were skipped, or are long past.
    next_unordered: u64,
    waiting: BTreeMap<u64, IncomingMessage>,
}

impl Default for InStream {
    /// The first number is 0; the second span of 2^32 leaves room for what is before it.
    fn default() -> Self {
        Self { next: 1 << 32, next_unordered: 1 << 32, waiting: BTreeMap::new() }
    }
}

impl DeliveryQueue {
    pub(crate) fn new(stream_count: u16, format: DataFormat, order: ReceiveOrder) -> Self {
        Self {
            ready: ReadyMessages::new(order),
            streams: BTreeMap::new(),
            stream_count,
            format,
            revocable: Revocable::default(),
            held: Held { payload: 0, records: 0 },
        }
    }

    /// Keeps the messages of `before` that wait for nothing but the user.
    pub(super) fn inherit(&mut self, mut before: Self) {
        self.ready.advance(before.ready.now());
        while let Some(message) = before.ready.pop() {
            self.held.add(message.payload.len());
            self.ready.push(message);
        }
    }

    /// Counts what waits and is read, by level, from now on.
    pub(super) fn count_levels(&mut self) {
        self.ready.count_levels();
    }

    pub(super) fn level_stats(&self) -> [LevelStats; Level::ALL.len()] {
        self.ready.level_stats()
    }

    /// Time has passed.
    pub(super) fn advance(&mut self, now: Time) {
        self.ready.advance(now);
    }

    pub(crate) const fn stream_count(&self) -> u16 {
        self.stream_count
    }

    pub(super) const fn set_stream_count(&mut self, stream_count: u16) {
        self.stream_count = stream_count;
    }

    /// Begins streams anew, which are listed in order; none stands for all. What was stranded there
    /// is delivered.
    ///
    /// RFC 6525 section 5.2.2, E3: "If no stream numbers are listed in the parameter, then all
    /// incoming streams MUST be reset to 0 as the next expected SSN."
    pub(super) fn reset(&mut self, streams: &[StreamId]) {
        let is_meant = |id: &StreamId| streams.is_empty() || streams.binary_search(id).is_ok();
        for (_, stream) in self.streams.extract_if(.., |id, _| is_meant(id)) {
            self.ready.extend(stream.waiting.into_values());
        }
    }

    /// Takes a whole message.
    ///
    /// RFC 9260 section 6.6: "Within a stream, an endpoint MUST deliver DATA chunks received with
    /// the U flag set to 0 to the upper layer according to the order of their Stream Sequence
    /// Number."
    pub(super) fn push(&mut self, completion: Completion, complete: Complete) {
        self.held.add(complete.payload.len());
        let message = IncomingMessage {
            stream: complete.stream,
            ppid: complete.ppid,
            ordered: !complete.unordered,
            ssn: self.ssn_of(&complete),
            level: complete.level,
            payload: Bytes::from(complete.payload),
            completed_at: completion.at,
            path: completion.path,
            fills_gap: completion.fills_gap,
        };
        let level = message.level;
        let mut note = |at| {
            if let Some(span) = completion.revocable {
                self.revocable.note(level, Kept { span, at });
            }
        };
        if complete.unordered {
            if let Some(place) = self.ready.push(message) {
                note(KeptAt::Ready(place));
            }
            return;
        }
        let stream = self.streams.entry(complete.stream).or_default();
        let number = self.format.extend_mid(stream.next, complete.mid);
        if number == stream.next {
            stream.next += 1;
            self.ready.push(message);
            stream.release(&mut self.ready);
        } else if number > stream.next && !stream.waiting.contains_key(&number) {
            stream.waiting.insert(number, message);
            note(KeptAt::InStream(complete.stream, number));
        } else {
            // Its turn is over: the peer reused a number or abandoned what it then completed.
            self.held.remove(message.payload.len());
        }
    }

    /// RFC 8260 section 4.1: "If user message interleaving is used, the lower-order 16 bits of the
    /// MID are used as the SSN when filling out these structures." A DATA chunk that is unordered
    /// has no number.
    fn ssn_of(&self, complete: &Complete) -> Ssn {
        let has_none = complete.unordered && self.format == DataFormat::Data;
        if has_none { Ssn(0) } else { ssn_of(complete.mid) }
    }

    /// Whether the turn of a message that interleaves is over, or it was skipped: a fragment of it
    /// that comes late would wait forever for the others.
    pub(super) fn is_over(&self, (id, unordered): (StreamId, bool), mid: Mid) -> bool {
        self.streams.get(&id).is_some_and(|stream| {
            let next = if unordered { stream.next_unordered } else { stream.next };
            self.format.extend_mid(next, mid) < next
        })
    }

    /// Notes the number of an unordered message that is not over, so that what was skipped long
    /// before never seems to be ahead.
    pub(super) fn note_unordered(&mut self, id: StreamId, mid: Mid) {
        let Some(stream) = self.streams.get_mut(&id) else { return };
        let number = self.format.extend_mid(stream.next_unordered, mid);
        let long_past = number.saturating_sub(UNORDERED_AHEAD_MAX);
        stream.next_unordered = stream.next_unordered.max(long_past);
    }

    /// The peer abandoned messages of a stream up to and including one of them (RFC 3758 section
    /// 3.6).
    pub(super) fn skip(&mut self, skipped: SkippedMessages) {
        if skipped.stream.0 >= self.stream_count {
            return;
        }
        let stream = self.streams.entry(skipped.stream).or_default();
        if skipped.unordered {
            let next = self.format.extend_mid(stream.next_unordered, skipped.mid) + 1;
            stream.next_unordered = stream.next_unordered.max(next);
            return;
        }
        let next = self.format.extend_mid(stream.next, skipped.mid) + 1;
        if next <= stream.next {
            return;
        }
        let later = stream.waiting.split_off(&next);
        self.ready.extend(std::mem::replace(&mut stream.waiting, later).into_values());
        stream.next = next;
        stream.release(&mut self.ready);
    }

    /// Takes the first message about keys from among those that are ready.
    pub(super) fn take_about_keys(&mut self) -> Option<IncomingMessage> {
        let is_meant = |message: &IncomingMessage| {
            message.stream == KEY_MANAGEMENT_STREAM && message.ppid == KEY_MANAGEMENT_PPID
        };
        let message = self.ready.take_first(is_meant)?;
        self.held.remove(message.payload.len());
        Some(message)
    }

    /// Whether messages may be dropped for others.
    pub(super) const fn may_drop(&self) -> bool {
        self.ready.is_by_level()
    }

    /// The cumulative TSN has reached this one.
    pub(super) fn keep_through(&mut self, cumulative: u64) {
        self.revocable.forget_through(cumulative);
    }

    /// Drops what matters least of what makes way for a chunk; its TSNs.
    pub(super) fn drop_least(&mut self, claim: Claim) -> Option<TsnSpan> {
        loop {
            let (level, Kept { span, at }) = self.revocable.take_least(claim)?;
            let dropped = match at {
                KeptAt::Ready(place) => self.ready.remove(place),
                KeptAt::InStream(stream, number) => {
                    self.streams.get_mut(&stream).and_then(|stream| stream.waiting.remove(&number))
                }
            };
            // What was read meanwhile, or can be, is listed still.
            let Some(message) = dropped else { continue };
            self.held.remove(message.payload.len());
            self.ready.note_dropped(level);
            return Some(span);
        }
    }

    /// Drops all messages about keys, and what waits in their stream.
    pub(super) fn forget_about_keys(&mut self) {
        while self.take_about_keys().is_some() {}
        let stream = self.streams.get_mut(&KEY_MANAGEMENT_STREAM);
        let waiting = stream.map(|stream| std::mem::take(&mut stream.waiting)).unwrap_or_default();
        waiting.values().for_each(|message| self.held.remove(message.payload.len()));
    }

    pub(crate) fn pop(&mut self) -> Option<IncomingMessage> {
        let message = self.ready.pop()?;
        self.held.remove(message.payload.len());
        Some(message)
    }

    pub(crate) fn has_message(&self) -> bool {
        !self.ready.is_empty()
    }

    pub(crate) const fn held(&self) -> Held {
        self.held
    }
}

impl InStream {
    fn release(&mut self, ready: &mut ReadyMessages) {
        while let Some(message) = self.waiting.remove(&self.next) {
            self.next += 1;
            ready.push(message);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const COMPLETION: Completion =
        Completion { at: Time::ZERO, path: PathId(0), fills_gap: false, revocable: None };

    fn queue_of(stream_count: u16, format: DataFormat) -> DeliveryQueue {
        DeliveryQueue::new(stream_count, format, ReceiveOrder::Arrival)
    }

    fn message(stream: u16, ssn: u16, unordered: bool) -> Complete {
        let (stream, mid) = (StreamId(stream), Mid(ssn.into()));
        let (ppid, level) = (Ppid(0), Level::Normal);
        Complete { stream, mid, ppid, unordered, level, span: None, payload: vec![0; 10] }
    }

    fn skipped(stream: u16, unordered: bool, mid: u32) -> SkippedMessages {
        SkippedMessages { stream: StreamId(stream), unordered, mid: Mid(mid) }
    }

    fn drain(queue: &mut DeliveryQueue) -> Vec<(u16, u16)> {
        std::iter::from_fn(|| queue.pop())
            .map(|message| (message.stream.0, message.ssn.0))
            .collect()
    }

    #[test]
    fn a_stream_waits_for_its_own_gap_only() {
        let mut queue = queue_of(8, DataFormat::Data);
        for (stream, ssn) in [(1, 1), (2, 0), (1, 2)] {
            queue.push(COMPLETION, message(stream, ssn, false));
        }
        queue.push(COMPLETION, message(1, 0, true));
        assert_eq!(drain(&mut queue), [(2, 0), (1, 0)], "stream 2, and the unordered message");
        queue.push(COMPLETION, message(1, 0, false));
        assert_eq!(drain(&mut queue), [(1, 0), (1, 1), (1, 2)]);
        assert!(queue.held().is_empty());
    }

    #[test]
    fn skipping_delivers_what_was_stranded_in_order() {
        let mut queue = queue_of(8, DataFormat::Data);
        for ssn in [1, 3, 4] {
            queue.push(COMPLETION, message(1, ssn, false));
        }
        queue.skip(skipped(1, false, 2));
        assert_eq!(drain(&mut queue), [(1, 1), (1, 3), (1, 4)]);
        queue.skip(skipped(1, false, 0));
        queue.push(COMPLETION, message(1, 5, false));
        assert_eq!(drain(&mut queue), [(1, 5)], "an old skip changes nothing");
    }

    #[test]
    fn sequence_numbers_wrap() {
        let mut queue = queue_of(1, DataFormat::Data);
        for step in 0..70_000_u32 {
            queue.push(COMPLETION, message(0, step as u16, false));
            assert_eq!(drain(&mut queue).len(), 1, "message {step}");
        }
    }

    #[test]
    fn numbers_of_interleaving_messages_wrap_later() {
        let mut queue = queue_of(1, DataFormat::IData);
        queue.skip(skipped(0, false, 1 << 30));
        queue.skip(skipped(0, false, 2 << 30));
        queue.skip(skipped(0, false, u32::MAX - 1));
        for mid in [0, u32::MAX] {
            queue.push(COMPLETION, Complete { mid: Mid(mid), ..message(0, 0, false) });
        }
        assert_eq!(drain(&mut queue), [(0, u16::MAX), (0, 0)]);
    }

    #[test]
    fn unordered_messages_are_over_once_skipped_however_many_follow() {
        let mut queue = queue_of(1, DataFormat::IData);
        let of = (StreamId(0), true);
        queue.skip(skipped(0, true, 6));
        assert!(queue.is_over(of, Mid(6)) && !queue.is_over(of, Mid(7)));
        assert!(!queue.is_over((StreamId(0), false), Mid(0)), "ordered ones count by themselves");
        for mid in (7..=u32::MAX).step_by(1 << 28) {
            assert!(!queue.is_over(of, Mid(mid)), "message {mid}");
            queue.note_unordered(StreamId(0), Mid(mid));
        }
        assert!(!queue.is_over(of, Mid(6)), "a new one, by now");
    }

    #[test]
    fn what_comes_after_its_turn_is_dropped_and_not_held() {
        let mut queue = queue_of(1, DataFormat::Data);
        queue.skip(skipped(0, false, 4));
        queue.push(COMPLETION, message(0, 3, false));
        assert!(drain(&mut queue).is_empty() && queue.held().is_empty());
    }
}
