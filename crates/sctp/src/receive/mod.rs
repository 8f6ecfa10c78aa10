//! Receiving: TSNs are tracked, fragments put together, messages put in order.

mod acknowledgement;
mod data_chunk;
mod delivery;
mod held;
mod key_messages;
mod level_counters;
mod level_queue;
mod place;
mod ready;
mod reassembly;
mod reset;
mod revocable;
mod tracker;

use anabranch_sansio::Time;
use anabranch_wire::{GapAckBlock, Level, SkippedMessages, Tsn};

use crate::format::DataFormat;
use crate::path_name::PathId;
use crate::sequence::{extend, first_sequence};
use crate::stats::LevelStats;

pub(crate) use acknowledgement::{Patience, WrittenSack};
pub(crate) use data_chunk::DataChunk;
use delivery::Completion;
pub(crate) use delivery::DeliveryQueue;
pub use delivery::IncomingMessage;
pub(crate) use held::Held;
use key_messages::{KeyMessages, is_about_keys};
pub use ready::ReceiveOrder;
use reassembly::{Complete, Reassembly};
use reset::DeferredReset;
use revocable::{Claim, TsnSpan};
pub(crate) use tracker::{Arrival, SACK_SPACING_MAX, SackTiming, TsnTracker};

/// What one association keeps of what it receives.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Buffer {
    /// Payload bytes: the a_rwnd of an empty buffer.
    pub(crate) capacity: usize,
    pub(crate) message_size_max: usize,
    /// Bytes of a full packet.
    pub(crate) packet: usize,
    /// What is read first, where both ends mark levels.
    pub(crate) order: ReceiveOrder,
}

/// Messages cost more than their bytes: so many times the buffer they may take in all, and from
/// so many times on the window is told to be closed. What is in flight then still finds room.
const COST_MAX: usize = 3;
const COST_TOLD_MAX: usize = 2;

/// The receiving half of an association.
#[derive(Debug)]
pub(crate) struct Receiver {
    pub(crate) tracker: TsnTracker,
    reassembly: Reassembly,
    delivery: DeliveryQueue,
    deferred_reset: Option<DeferredReset>,
    format: DataFormat,
    /// Whether both ends announced that they mark levels.
    is_marked: bool,
    buffer: Buffer,
    /// The a_rwnd of the last SACK.
    advertised: usize,
    /// When a delayed SACK is due.
    sack_timer: Option<Time>,
    key_messages: KeyMessages,
    /// Scratch space for gap blocks.
    gap_blocks: Vec<GapAckBlock>,
    pub(crate) stats: ReceiverStats,
}

/// Counters of the receiving half.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(crate) struct ReceiverStats {
    pub(crate) duplicates: u64,
    pub(crate) dropped_no_room: u64,
    pub(crate) messages: u64,
    pub(crate) bytes: u64,
}

/// What became of a DATA chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum DataOutcome {
    /// Kept, a duplicate, or without room: a SACK will tell the peer.
    Handled,
    /// Its message is longer than we take.
    MessageTooLarge,
    /// Its fragments contradict each other.
    BadFragments,
    /// The beginnings of messages have taken all room, so that none of them can be completed.
    Stuck,
}

impl Receiver {
    /// A receiver of TSNs from the peer's first one on.
    pub(crate) fn new(
        peer_initial_tsn: Tsn,
        inbound_streams: u16,
        mut buffer: Buffer,
        format: DataFormat,
    ) -> Self {
        let first = first_sequence(peer_initial_tsn);
        buffer.message_size_max = buffer.message_size_max.min(buffer.capacity / 2);
        Self {
            tracker: TsnTracker::new(first),
            reassembly: Reassembly::default(),
            delivery: DeliveryQueue::new(inbound_streams, format, ReceiveOrder::Arrival),
            deferred_reset: None,
            format,
            is_marked: false,
            buffer,
            advertised: buffer.capacity,
            sack_timer: None,
            key_messages: KeyMessages::default(),
            gap_blocks: Vec::new(),
            stats: ReceiverStats::default(),
        }
    }

    /// Both ends agreed on marks of levels. Nothing has arrived yet.
    pub(crate) fn read_marks(&mut self) {
        let streams = self.delivery.stream_count();
        self.is_marked = true;
        self.delivery = DeliveryQueue::new(streams, self.format, self.buffer.order);
        self.delivery.count_levels();
    }

    /// Time has passed, for what waits to be read.
    pub(crate) fn advance(&mut self, now: Time) {
        self.delivery.advance(now);
    }

    /// Keeps what can be read already, and the counters, from before the peer restarted.
    pub(crate) fn inherit(&mut self, before: Self) {
        self.delivery.inherit(before.delivery);
        self.stats = before.stats;
    }

    /// Takes a chunk of a valid stream.
    pub(crate) fn on_data(&mut self, now: Time, path: PathId, data: &DataChunk<'_>) -> DataOutcome {
        self.delivery.advance(now);
        let sequence = extend(self.tracker.cumulative(), data.tsn);
        let fills_gap = match self.tracker.classify(sequence) {
            Arrival::Duplicate => {
                self.stats.duplicates += 1;
                self.tracker.note_duplicate(data.tsn);
                return DataOutcome::Handled;
            }
            Arrival::TooFarAhead => {
                self.stats.dropped_no_room += 1;
                return DataOutcome::Handled;
            }
            Arrival::New { fills_gap } => {
                if !self.finds_room(sequence, data, fills_gap) {
                    if self.is_stuck_without(sequence) {
                        return DataOutcome::Stuck;
                    }
                    self.stats.dropped_no_room += 1;
                    self.tracker.note_refused();
                    return DataOutcome::Handled;
                }
                fills_gap
            }
        };
        let resets = self.deferred_reset.as_ref();
        let is_next_life = resets.is_some_and(|reset| reset.precedes(sequence, data.stream));
        if data.fsn.is_some() && !is_next_life && self.is_over(data) {
            self.tracker.record(sequence, data.immediate);
            return DataOutcome::Handled;
        }
        match self.reassembly.insert(sequence, is_next_life, data, self.buffer.message_size_max) {
            Ok(complete) => {
                self.tracker.record(sequence, data.immediate);
                if let Some(mut message) = complete {
                    if !self.is_marked {
                        message.level = Level::default();
                    }
                    self.key_messages.note(&message);
                    self.stats.messages += 1;
                    self.stats.bytes += message.payload.len() as u64;
                    let revocable = self.span_to_drop(&message);
                    let completion = Completion { at: now, path, fills_gap, revocable };
                    self.deliver(sequence, completion, message);
                }
                DataOutcome::Handled
            }
            Err(outcome) => outcome,
        }
    }

    /// Whether a chunk can be kept.
    ///
    /// RFC 9260 section 6.2: "When the receiver's advertised window is 0, the receiver MUST drop
    /// any new incoming DATA chunk with a TSN larger than the largest TSN received so far." Without
    /// a `reserve` it is such a chunk.
    ///
    /// The peer counts payload: what it sent within the window that it was told finds room, however
    /// much is kept beside, up to the limit on that.
    fn has_room_for(&self, payload: usize, reserve: usize) -> bool {
        if reserve == 0 && self.advertised == 0 && self.window() == 0 {
            return false;
        }
        let capacity = self.buffer.capacity;
        let held = self.held().with(payload);
        held.payload <= capacity + reserve && held.cost() <= COST_MAX * capacity + reserve
    }

    /// Whether there is room for a chunk, or is once others made way.
    ///
    /// What closes a gap may go beyond the receive buffer by as much again, or the gap would never
    /// close; and where nothing makes way, the next TSN by once more, or what closed other gaps
    /// would keep it out for ever: all that is kept may be waiting for it.
    fn finds_room(&mut self, sequence: u64, data: &DataChunk<'_>, fills_gap: bool) -> bool {
        let len = data.payload.len();
        let reserve = if fills_gap { self.buffer.capacity } else { 0 };
        let is_next = fills_gap && sequence == self.tracker.cumulative() + 1;
        self.has_room_for(len, reserve)
            || self.make_room_for(sequence, data, reserve)
            || is_next && self.has_room_for(len, 2 * reserve)
    }

    /// Drops what matters less than a chunk that finds no room, or came after the gap that it
    /// fills; returns whether there is room then. The next SACK tells what was dropped.
    fn make_room_for(&mut self, sequence: u64, data: &DataChunk<'_>, reserve: usize) -> bool {
        let fills_gap = reserve > 0;
        let is_closed = self.advertised == 0 && self.window() == 0;
        if !self.delivery.may_drop() || (is_closed && !fills_gap) {
            return false;
        }
        self.delivery.keep_through(self.tracker.cumulative());
        let claim = if fills_gap { Claim::Gap { sequence } } else { Claim::Level(data.level) };
        while !self.has_room_for(data.payload.len(), reserve) {
            let Some(TsnSpan { first, last }) = self.delivery.drop_least(claim) else {
                return false;
            };
            self.tracker.renege(first, last);
        }
        true
    }

    /// The TSNs of a message that may be dropped for others later.
    fn span_to_drop(&mut self, message: &Complete) -> Option<TsnSpan> {
        let cumulative = self.tracker.cumulative();
        let is_beyond = |span: &TsnSpan| span.first > cumulative && self.delivery.may_drop();
        let span = message.span.filter(is_beyond).filter(|_| !is_about_keys(message))?;
        self.delivery.keep_through(cumulative);
        Some(span)
    }

    /// Whether a fragment of an I-DATA chunk comes too late for its message.
    fn is_over(&mut self, data: &DataChunk<'_>) -> bool {
        if self.delivery.is_over((data.stream, data.unordered), data.mid) {
            return true;
        }
        if data.unordered {
            self.delivery.note_unordered(data.stream, data.mid);
        }
        false
    }

    /// Whether this TSN, which comes next and finds no room, would find none later either: neither
    /// reading nor what is missing makes any. Messages that do not interleave are refused before,
    /// for their length.
    fn is_stuck_without(&self, sequence: u64) -> bool {
        let is_next = sequence == self.tracker.cumulative() + 1;
        is_next && self.delivery.held().is_empty() && self.deferred_reset.is_none()
    }

    /// Hands a message to the user, unless its stream is to begin anew before it.
    fn deliver(&mut self, sequence: u64, completion: Completion, message: Complete) {
        let Some(reset) = &mut self.deferred_reset else {
            return self.delivery.push(completion, message);
        };
        if let Some((completion, message)) = reset.hold(sequence, completion, message) {
            self.delivery.push(completion, message);
        }
    }

    /// Notes a chunk that is acknowledged but not kept.
    pub(crate) fn acknowledge_only(&mut self, data: &DataChunk<'_>) {
        let sequence = extend(self.tracker.cumulative(), data.tsn);
        match self.tracker.classify(sequence) {
            Arrival::New { .. } => self.tracker.record(sequence, data.immediate),
            Arrival::Duplicate => self.tracker.note_duplicate(data.tsn),
            Arrival::TooFarAhead => {}
        }
    }

    /// Moves past what the peer abandoned (RFC 3758 section 3.6). Returns false if it is old news.
    pub(crate) fn on_forward_tsn(
        &mut self,
        new_cumulative_tsn: Tsn,
        skipped: impl Iterator<Item = SkippedMessages>,
    ) -> bool {
        let point = extend(self.tracker.cumulative(), new_cumulative_tsn);
        if !self.tracker.advance_to(point) {
            return false;
        }
        // RFC 3758 section 3.6: "The receiver MUST remove any partially reassembled message, which
        // is still missing one or more TSNs earlier than or equal to the new cumulative TSN point."
        // Where messages interleave, their numbers tell which ones that are.
        if self.format == DataFormat::Data {
            self.reassembly.discard_through(point);
        }
        for skipped in skipped {
            self.delivery.skip(skipped);
            if self.format == DataFormat::IData {
                let (delivery, of) = (&self.delivery, (skipped.stream, skipped.unordered));
                self.reassembly.discard_messages(of, |mid| delivery.is_over(of, mid));
            }
        }
        true
    }

    /// The next message in order, if there is one.
    pub(crate) fn pop(&mut self) -> Option<IncomingMessage> {
        self.delivery.pop()
    }

    /// What waits and was read, by level.
    pub(crate) fn level_stats(&self) -> [LevelStats; Level::ALL.len()] {
        self.delivery.level_stats()
    }

    /// Whether a message is ready for the user.
    pub(crate) fn has_message(&self) -> bool {
        self.delivery.has_message()
    }

    /// What the peer makes us keep.
    pub(crate) fn held(&self) -> Held {
        let deferred = self.deferred_reset.as_ref().map(DeferredReset::held).unwrap_or_default();
        self.reassembly.held().and(self.delivery.held()).and(deferred)
    }

    /// The a_rwnd to advertise: what is left of the buffer.
    ///
    /// RFC 9260 section 6.2, B: "As DATA chunks are received and buffered, decrement a_rwnd by the
    /// number of bytes received and buffered." The overhead is left out, or the window would shrink
    /// below what is in flight already; only where it exceeds the payload, the window follows it.
    pub(crate) fn window(&self) -> usize {
        let (capacity, held) = (self.buffer.capacity, self.held());
        let by_cost = (COST_TOLD_MAX * capacity).saturating_sub(held.cost());
        capacity.saturating_sub(held.payload).min(by_cost)
    }

    /// Whether the user read so much since the last SACK that the peer should know.
    ///
    /// RFC 9260 section 6.2: "The receiver MUST avoid sending a large number of window updates --
    /// in particular, large bursts of them.  One way to achieve this is to send a window update
    /// only if the window can be increased by at least a quarter of the receive buffer size of the
    /// association." A peer that was told little may wait for it, and learns sooner of more, as RFC
    /// 1122 section 4.2.3.3 has it: of two packets, or half the buffer if that is less.
    pub(crate) fn window_update_is_due(&self) -> bool {
        let Buffer { capacity, packet, .. } = self.buffer;
        let is_short = self.advertised < capacity / 2;
        let step = if is_short { (2 * packet).min(capacity / 2) } else { capacity / 4 };
        self.window() >= self.advertised + step
    }

    /// The peer may use that many more streams if there are not more than `limit` then; returns
    /// whether that is so.
    pub(crate) fn add_streams(&mut self, count: u16, limit: u16) -> bool {
        let total = self.delivery.stream_count().checked_add(count);
        let Some(total) = total.filter(|total| *total <= limit) else { return false };
        self.delivery.set_stream_count(total);
        true
    }

    /// Streams that the peer may use.
    pub(crate) fn stream_count(&self) -> u16 {
        self.delivery.stream_count()
    }

    /// Whether the stream is one that the peer may use.
    pub(crate) fn is_valid_stream(&self, stream: u16) -> bool {
        stream < self.delivery.stream_count()
    }
}

#[cfg(test)]
mod tests {
    use anabranch_wire::{Level, Mid, Ppid, StreamId};

    use super::*;

    fn fragment(tsn: u32, ends: (bool, bool)) -> DataChunk<'static> {
        DataChunk {
            tsn: Tsn(tsn),
            stream: StreamId(0),
            mid: Mid(0),
            fsn: None,
            ppid: Ppid(0),
            unordered: true,
            beginning: ends.0,
            ending: ends.1,
            immediate: false,
            level: Level::Urgent,
            payload: b"media",
        }
    }

    /// What arrived behind the first gap and closed others once kept it open for ever: found by the
    /// fuzz target `sctp_receive_queue`.
    #[test]
    fn the_next_tsn_finds_room_though_all_that_there_is_waits_for_it() {
        const LEN: usize = 1_000;
        let buffer = Buffer {
            capacity: 8 * LEN,
            message_size_max: LEN,
            packet: LEN,
            order: ReceiveOrder::Arrival,
        };
        let mut receiver = Receiver::new(Tsn(1), 1, buffer, DataFormat::Data);
        let mut arrive = |tsn: u32| {
            let whole = fragment(tsn, (true, true));
            let ordered = DataChunk { mid: Mid(tsn - 1), unordered: false, ..whole };
            let data = DataChunk { payload: &[0; LEN], ..ordered };
            assert_eq!(receiver.on_data(Time::ZERO, PathId(0), &data), DataOutcome::Handled);
            receiver.tracker.cumulative_tsn()
        };
        // Eight fill the buffer, eight between them fill what closes gaps.
        let rest = (3..=17).step_by(2).chain((2..=16).step_by(2));
        assert!(rest.map(&mut arrive).all(|cumulative| cumulative == Tsn(0)));
        assert_eq!(arrive(1), Tsn(17));
        assert_eq!(std::iter::from_fn(|| receiver.pop()).count(), 17);
    }

    #[test]
    fn a_message_tells_the_path_of_its_last_piece_and_whether_later_data_overtook_it() {
        let buffer = Buffer {
            capacity: 1 << 16,
            message_size_max: 1 << 10,
            packet: 1 << 10,
            order: ReceiveOrder::Arrival,
        };
        let mut receiver = Receiver::new(Tsn(1), 1, buffer, DataFormat::Data);
        let arrivals = [
            (1, (true, true), PathId(0)),
            (3, (false, true), PathId(0)),
            (2, (true, false), PathId(1)),
        ];
        for (tsn, ends, path) in arrivals {
            let outcome = receiver.on_data(Time::ZERO, path, &fragment(tsn, ends));
            assert_eq!(outcome, DataOutcome::Handled);
        }
        let told: Vec<_> = std::iter::from_fn(|| receiver.pop())
            .map(|message| (message.path, message.fills_gap))
            .collect();
        assert_eq!(told, [(PathId(0), false), (PathId(1), true)]);
    }
}
