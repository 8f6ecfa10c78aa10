//! Partial reliability (RFC 3758, RFC 7496): messages that are given up, and what FORWARD TSN says
//! of them.

use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{SkippedMessages, StreamId};
use bytes::Bytes;

use super::chunk::{Chunk, ChunkState};
use super::flight::Sent;
use super::loss_detection::Detector;
use super::message::{Abandonment, Fragment, SendFailure, Undelivered};
use super::outstanding::Outstanding;
use super::skips::{Passage, later};
use crate::format::DataFormat;
use crate::path_name::PathSlot;

/// RFC 3758 section 3.5, F3.
const FORWARD_TSN_DELAY_MAX: Duration = Duration::from_millis(200);

/// A message that was given up after its first fragment was sent.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Abandoned {
    pub(crate) stream: StreamId,
    pub(crate) why: Abandonment,
    pub(crate) context: Option<u64>,
}

impl Outstanding {
    /// Gives up every message whose lifetime ended. Returns the paths on which one of them had been
    /// reported missing, and Fast Recovery begins.
    ///
    /// What is in flight and may still be acknowledged gets the `patience` of its path before it is
    /// abandoned: it goes on to count for congestion control, which would not learn else how a
    /// message fared whose life is about as long as a round trip. RFC 3758 section 3.5, F3, allows
    /// that: "Any delay applied to the sending of FORWARD TSN chunk SHOULD NOT exceed 200ms".
    ///
    /// F5: "If the decision to "abandon" a chunk is made, no matter how such a decision is made,
    /// the appropriate congestion adjustment MUST be made as specified in RFC 2960 if the chunk
    /// would have been marked for retransmission later". What was reported missing counts as such.
    pub(crate) fn expire(
        &mut self,
        now: Time,
        patience: impl Fn(PathSlot) -> Duration,
    ) -> Vec<PathSlot> {
        let mut lossy = Vec::new();
        while let Some(&Reverse((expires, sequence))) = self.expirations.peek() {
            if expires > now {
                break;
            }
            self.pop_expiration();
            let copied_at = self.copies.sent_at(sequence);
            let Some(chunk) = self.chunk_mut(sequence) else { continue };
            if !matches!(chunk.state, ChunkState::InFlight | ChunkState::Lost) {
                continue;
            }
            let sent_at = copied_at.map_or(chunk.sent_at, |at| at.max(chunk.sent_at));
            let patient = sent_at + patience(chunk.path).min(FORWARD_TSN_DELAY_MAX);
            let is_late = !chunk.expired && patient > now;
            chunk.expired = true;
            let (path, in_flight) = (chunk.path, chunk.state == ChunkState::InFlight);
            let sent = Sent { transmission: chunk.transmission, sequence };
            let misses = chunk.misses;
            let is_missing =
                in_flight && self.flights[path.index()].detector.is_overtaken(misses, sent);
            if in_flight && !is_missing && is_late {
                self.expirations.push(Reverse((patient, sequence)));
                continue;
            }
            if is_missing && self.enter_recovery(path, sent.transmission) {
                lossy.push(path);
            }
            self.abandon(sequence, Abandonment::Expired);
        }
        self.advance();
        lossy
    }

    /// Ends the life of what is outstanding on a stream and is not reliable.
    pub(crate) fn withdraw(&mut self, now: Time, stream: StreamId) {
        let chunks = (self.first..).zip(&mut self.chunks);
        for (sequence, chunk) in chunks.filter(|(_, chunk)| chunk.stream == stream) {
            let stands = chunk.state != ChunkState::Abandoned;
            if !chunk.is_reliable() && stands && chunk.expires.is_none_or(|expires| expires > now) {
                chunk.expires = Some(now);
                self.expirations.push(Reverse((now, sequence)));
            }
        }
    }

    /// A transmission was lost although no SACK said so: enters Fast Recovery. Returns false if the
    /// path was in it already.
    fn enter_recovery(&mut self, path: PathSlot, transmission: u64) -> bool {
        match self.flights[path.index()].detector {
            Detector::Rfc9260(_) => self.enter_fast_recovery(path),
            Detector::InTime(_) => self.reduce(path, transmission, false),
        }
    }

    /// When the next lifetime of an outstanding message ends.
    pub(crate) fn next_expiration(&self) -> Option<Time> {
        self.expirations.peek().map(|Reverse((expires, _))| *expires)
    }

    /// Forgets lifetimes of chunks that nobody waits for any more, so that they cause no wakeup.
    /// What the peer reneges on gets its own back.
    pub(super) fn prune_expirations(&mut self) {
        while let Some(&Reverse((_, sequence))) = self.expirations.peek() {
            let waits =
                |chunk: &Chunk| matches!(chunk.state, ChunkState::InFlight | ChunkState::Lost);
            if self.chunk(sequence).is_some_and(waits) {
                break;
            }
            self.pop_expiration();
        }
    }

    /// Takes the first lifetime, which may stand there twice: of a chunk that was reneged on.
    fn pop_expiration(&mut self) {
        let first = self.expirations.pop();
        while first.is_some() && self.expirations.peek() == first.as_ref() {
            self.expirations.pop();
        }
    }

    /// Gives up a whole message.
    ///
    /// RFC 3758 section 3.5, A3: "When a TSN is "abandoned", if it is part of a fragmented message,
    /// all other TSN's within that fragmented message MUST be abandoned at the same time." Among
    /// them may be those of other messages, where messages interleave.
    pub(super) fn abandon(&mut self, sequence: u64, why: Abandonment) {
        let Some(chunk) = self.chunk(sequence) else { return };
        let (message, stream, context) = (chunk.message(), chunk.stream, chunk.context);
        let index = (sequence - self.first) as usize;
        let begins = |chunk: &Chunk| chunk.beginning && chunk.message() == message;
        let start = self.chunks.range(..=index).rposition(begins).unwrap_or(0);
        let mut has_ending = false;
        for index in start..self.chunks.len() {
            if self.chunks[index].message() == message {
                has_ending = self.abandon_chunk(index);
            }
            if has_ending {
                break;
            }
        }
        if !has_ending && !self.unended.contains(&stream) {
            self.unended.push(stream);
        }
        self.abandoned.push(Abandoned { stream, why, context });
    }

    /// Gives up one chunk; returns whether its message ends with it.
    pub(super) fn abandon_chunk(&mut self, index: usize) -> bool {
        let chunk = &mut self.chunks[index];
        let (state, size, path) = (chunk.state, chunk.size(), chunk.path);
        let ending = chunk.ending;
        chunk.state = ChunkState::Abandoned;
        chunk.payload = Bytes::new();
        let sequence = self.first + index as u64;
        match state {
            ChunkState::InFlight => {
                self.leave_flight(path, size);
                self.forget_rtt_probe(path, sequence);
            }
            ChunkState::Lost => drop(self.retransmit.remove(&sequence)),
            ChunkState::Acked | ChunkState::Abandoned => {}
        }
        self.drop_copy(sequence);
        ending
    }

    /// The messages given up since the last call.
    pub(crate) fn take_abandoned(&mut self) -> Vec<Abandoned> {
        std::mem::take(&mut self.abandoned)
    }

    /// The messages with a context that were sent to their end and are not acknowledged whole, now
    /// that they never will be. Of one that was begun only, the rest is in the queue.
    pub(crate) fn take_undelivered(&mut self, why: SendFailure) -> Vec<Undelivered> {
        let mut unacknowledged = BTreeSet::new();
        let mut undelivered = Vec::new();
        for chunk in &mut self.chunks {
            let Some(context) = chunk.context.take() else { continue };
            if matches!(chunk.state, ChunkState::InFlight | ChunkState::Lost) {
                unacknowledged.insert(chunk.message());
            }
            if chunk.ending && unacknowledged.remove(&chunk.message()) {
                undelivered.push(Undelivered {
                    context,
                    stream: chunk.stream,
                    was_sent: true,
                    why,
                });
            }
        }
        undelivered
    }

    /// The streams of which a message was abandoned whose end has no TSN yet.
    pub(crate) fn unended(&self) -> &[StreamId] {
        &self.unended
    }

    /// Whether there is something to [take](Self::take_abandoned), or [unended](Self::unended).
    pub(crate) fn has_abandoned(&self) -> bool {
        !self.abandoned.is_empty() || !self.unended.is_empty()
    }

    /// Gives the rest of a message, which will not be sent, a TSN that is abandoned at once, and
    /// with it the whole message: a receiver that has the beginning learns by FORWARD TSN that
    /// nothing follows, even if all of the beginning was acknowledged.
    pub(crate) fn push_abandoned(&mut self, now: Time, rest: Fragment) {
        let listed_as = self.unended.iter().position(|stream| *stream == rest.stream);
        let already = listed_as.map(|at| self.unended.swap_remove(at)).is_some();
        let path = self.chunks.back().map_or(PathSlot(0), |chunk| chunk.path);
        let sequence = self.push(now, rest, path);
        let listed = self.abandoned.len();
        self.abandon(sequence, Abandonment::Expired);
        if already {
            self.abandoned.truncate(listed);
        }
        self.advance();
    }

    /// RFC 3758 section 3.5, C1 and C2: "Try to further advance the "Advanced.Peer.Ack.Point"
    /// locally, that is, to move "Advanced.Peer.Ack.Point" up as long as the chunk next in the
    /// out-queue space is marked as "abandoned"".
    ///
    /// A message of partial reliability that a gap block acknowledged does not stop it, or each
    /// loss would cost the receiver a round trip. A reliable one does: a peer may drop it again
    /// (RFC 9260 section 6.2), and would never get it if it had been told to move past it. And no
    /// ordered message is skipped behind one of its own stream that the peer has: some stacks drop
    /// all that they hold up to the skipped SSN, complete messages included.
    pub(crate) fn advance(&mut self) {
        let mut point = self.cumulative_ack_point();
        self.advanced_peer_ack_point = self.advanced_peer_ack_point.max(point);
        let mut held_at_peer: Vec<StreamId> = Vec::new();
        let mut under_way = None;
        while let Some(chunk) = self.chunk(point + 1) {
            let &Chunk { stream, mid, unordered, state, .. } = chunk;
            let ordered = !unordered;
            match state {
                ChunkState::Abandoned if ordered && held_at_peer.contains(&stream) => break,
                ChunkState::Abandoned if unordered && self.skips_ordered() => {
                    let under_way = under_way.get_or_insert_with(|| self.ordered_under_way());
                    if self.pass(under_way, stream, mid) == Passage::Held {
                        break;
                    }
                    self.advanced_peer_ack_point = self.advanced_peer_ack_point.max(point + 1);
                }
                ChunkState::Abandoned => {
                    self.advanced_peer_ack_point = self.advanced_peer_ack_point.max(point + 1);
                }
                ChunkState::Acked if chunk.is_reliable() => break,
                ChunkState::Acked if ordered && !held_at_peer.contains(&stream) => {
                    held_at_peer.push(stream);
                }
                ChunkState::Acked => {}
                ChunkState::InFlight | ChunkState::Lost => break,
            }
            point += 1;
        }
    }

    /// Whether a FORWARD TSN has something to say.
    pub(crate) const fn is_forward_tsn_due(&self) -> bool {
        self.advanced_peer_ack_point > self.cumulative_ack_point()
    }

    /// The point up to which the peer shall move.
    pub(crate) const fn advanced_peer_ack_point(&self) -> u64 {
        self.advanced_peer_ack_point
    }

    /// The skipped messages that a FORWARD TSN or I-FORWARD-TSN lists, at most `limit`.
    ///
    /// RFC 3758 section 3.5, C4: "only the highest abandoned stream sequence number is reported. If
    /// the total size of the FORWARD TSN does NOT fit in a single MTU, then the sender of the
    /// FORWARD TSN SHOULD lower the Advanced.Peer.Ack.Point to the last TSN that will fit".
    ///
    /// RFC 8260 section 2.3.1: "the principle applied to ordered messages when using FORWARD-TSN
    /// chunks is applied to ordered and unordered messages when using I-FORWARD-TSN chunks."
    ///
    /// Where unordered messages take ordered ones with them, these are listed too: see
    /// [`Skips`](super::skips::Skips).
    pub(crate) fn skipped_messages(&mut self, limit: usize) -> Vec<SkippedMessages> {
        let lists_unordered = self.format() == DataFormat::IData;
        let mut skipped: Vec<SkippedMessages> = Vec::new();
        let count = (self.advanced_peer_ack_point + 1).saturating_sub(self.first) as usize;
        for (index, chunk) in self.chunks.iter().take(count).enumerate() {
            let &Chunk { stream, unordered, mid, .. } = chunk;
            if chunk.state != ChunkState::Abandoned || (unordered && !lists_unordered) {
                continue;
            }
            let takes_ordered = unordered && self.skips.covers(stream, mid);
            let orders = if takes_ordered { &[true, false][..] } else { &[unordered] };
            let entries =
                orders.iter().map(|&unordered| SkippedMessages { stream, unordered, mid });
            if !list(&mut skipped, entries, limit) {
                self.advanced_peer_ack_point = self.first + index as u64 - 1;
                break;
            }
        }
        skipped
    }
}

/// Lists skipped messages, of each stream and kind the last one; false, and nothing changes, if
/// there is no room.
fn list(
    skipped: &mut Vec<SkippedMessages>,
    entries: impl Iterator<Item = SkippedMessages> + Clone,
    limit: usize,
) -> bool {
    let place = |skipped: &[SkippedMessages], new: &SkippedMessages| {
        let is_same = |entry: &SkippedMessages| {
            (entry.stream, entry.unordered) == (new.stream, new.unordered)
        };
        skipped.iter().position(is_same)
    };
    let more = entries.clone().filter(|new| place(skipped, new).is_none()).count();
    if skipped.len() + more > limit {
        return false;
    }
    for new in entries {
        match place(skipped, &new) {
            Some(at) => skipped[at].mid = later(skipped[at].mid, new.mid),
            None => skipped.push(new),
        }
    }
    true
}
