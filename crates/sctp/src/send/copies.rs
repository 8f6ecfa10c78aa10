//! [`Copies`]: chunks that are under way twice, on two paths or one after the other on one.
//!
//! A copy takes room in its path's window and pace like any other transmission, has an entry in the
//! flight there, and is found lost there by itself. A chunk is lost when both of its transmissions
//! are.
//!
//! A SACK says that a chunk arrived, not which of two transmissions brought it. The rule:
//!
//! - The first acknowledgement is credited to the transmission on the path that the SACK came over,
//!   since it was sent there for what had just arrived there (RFC 9260 section 6.2: "the SCTP
//!   endpoint SHOULD always try to send the SACK chunk to the same destination address from which
//!   the last DATA chunk was received", section 6.7); where that says nothing, to the one whose
//!   age is nearest to its path's round trip.
//! - The other one arrived when the peer reports the TSN as a duplicate, which it does at once (RFC
//!   9260 section 6.2: "When a packet arrives with duplicate DATA chunk(s) and with no new DATA
//!   chunk(s), the endpoint MUST immediately send a SACK chunk with no delay."). Until then it
//!   stays in flight; without such a report loss detection finds it lost. A report that was lost
//!   itself counts as a loss of its path: the controller errs on the careful side.
//! - A round trip is measured only with what the SACK came back over the same path for.
//! - Both paths are proven to live when both transmissions arrived.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use anabranch_congestion::{LostChunk, Snapshot, Transmitted};
use anabranch_sansio::Time;
use anabranch_wire::Sack;

use super::chunk::ChunkState;
use super::flight::Sent;
use super::outstanding::Outstanding;
use super::rack::Delivery;
use crate::path_name::PathSlot;
use crate::sequence::extend;

/// Copies that may be under way or wait at once; beyond, chunks go out once only.
const COPIES_MAX: usize = 8_192;

/// A transmission beside the one that the chunk itself remembers.
#[derive(Debug, Clone, Copy)]
pub(super) struct Copy {
    pub(super) path: PathSlot,
    pub(super) transmission: u64,
    pub(super) sent_at: Time,
    pub(super) misses: u8,
    snapshot: Snapshot,
    size: usize,
    /// Once the chunk is acknowledged: when the other transmission has arrived too, if at all. A
    /// duplicate is reported only then where the wrong one was credited.
    pub(super) settled_at: Time,
    /// The path of the other transmission, if each of the two was the first on its path.
    twin: Option<PathSlot>,
}

/// All copies of an association.
#[derive(Debug, Default)]
pub(super) struct Copies {
    /// Under way, by extended TSN. The chunk may be acknowledged already.
    flying: BTreeMap<u64, Copy>,
    /// To be sent as soon as the path lets them, unless the chunk arrives before.
    ready: BTreeSet<(PathSlot, u64)>,
    /// To be sent later.
    later: BTreeSet<(Time, u64, PathSlot)>,
    /// Bytes of `flying`.
    bytes: usize,
    /// Copies planned since those that are of no use were last forgotten.
    planned: usize,
}

impl Copies {
    /// The copy that an entry of a flight stands for.
    pub(super) fn of(&self, path: PathSlot, sent: Sent) -> Option<&Copy> {
        let copy = self.flying.get(&sent.sequence)?;
        (copy.path == path && copy.transmission == sent.transmission).then_some(copy)
    }

    pub(super) fn of_mut(&mut self, path: PathSlot, sent: Sent) -> Option<&mut Copy> {
        let copy = self.flying.get_mut(&sent.sequence)?;
        (copy.path == path && copy.transmission == sent.transmission).then_some(copy)
    }

    /// Before when the copy that an entry stands for cannot be called lost.
    pub(super) fn settled_at(&self, path: PathSlot, sent: Sent) -> Option<Time> {
        self.of(path, sent).map(|copy| copy.settled_at)
    }

    /// When the copy of a chunk was sent.
    pub(super) fn sent_at(&self, sequence: u64) -> Option<Time> {
        self.flying.get(&sequence).map(|copy| copy.sent_at)
    }

    pub(super) fn is_flying(&self, sequence: u64) -> bool {
        self.flying.contains_key(&sequence)
    }

    pub(super) fn any_flies(&self) -> bool {
        !self.flying.is_empty()
    }

    /// Bytes in flight that are there a second time, or were acknowledged already.
    pub(super) const fn bytes(&self) -> usize {
        self.bytes
    }

    fn len(&self) -> usize {
        self.flying.len() + self.ready.len() + self.later.len()
    }

    fn take(&mut self, sequence: u64) -> Option<Copy> {
        let copy = self.flying.remove(&sequence)?;
        self.bytes -= copy.size;
        Some(copy)
    }
}

impl Outstanding {
    /// A chunk shall go out a second time on `path`, `at` a later time or as soon as it may.
    pub(crate) fn plan_copy(&mut self, sequence: u64, path: PathSlot, at: Option<Time>) {
        self.copies.planned += 1;
        if self.copies.len() >= COPIES_MAX {
            self.forget_stale_copies();
        }
        if self.copies.len() >= COPIES_MAX {
            return;
        }
        match at {
            Some(at) => self.copies.later.insert((at, sequence, path)),
            None => self.copies.ready.insert((path, sequence)),
        };
    }

    /// When the next copy is to be sent that waits for its time.
    pub(crate) fn next_copy_at(&self) -> Option<Time> {
        self.copies.later.first().map(|(at, ..)| *at)
    }

    /// Lets the copies out whose time has come.
    pub(crate) fn release_copies(&mut self, now: Time) {
        while let Some(&(at, sequence, path)) = self.copies.later.first()
            && at <= now
        {
            self.copies.later.pop_first();
            self.copies.ready.insert((path, sequence));
        }
    }

    /// Whether copies wait for room on any path.
    pub(crate) fn has_any_copies(&self) -> bool {
        !self.copies.ready.is_empty()
    }

    /// Whether copies wait for room on a path.
    pub(crate) fn has_copies(&self, path: PathSlot) -> bool {
        self.copies.ready.range((path, 0)..=(path, u64::MAX)).next().is_some()
    }

    /// The next copy that waits for `path`, with its size.
    pub(crate) fn next_copy(&mut self, path: PathSlot) -> Option<(u64, usize)> {
        loop {
            let &(_, sequence) = self.copies.ready.range((path, 0)..=(path, u64::MAX)).next()?;
            if self.is_copy_of_use(sequence) {
                return Some((sequence, self.chunk(sequence)?.size()));
            }
            self.copies.ready.remove(&(path, sequence));
        }
    }

    /// Whether a second transmission can still make a difference.
    fn is_copy_of_use(&self, sequence: u64) -> bool {
        let is_under_way = self
            .chunk(sequence)
            .is_some_and(|chunk| chunk.state == ChunkState::InFlight && !chunk.expired);
        is_under_way && !self.copies.is_flying(sequence)
    }

    /// Forgets the copies that are of no use any more. It looks at each that waits, and for each of
    /// them one was planned since the last time, so that the work per copy is bounded.
    fn forget_stale_copies(&mut self) {
        if self.copies.planned < self.copies.ready.len() {
            return;
        }
        self.copies.planned = 0;
        let mut ready = std::mem::take(&mut self.copies.ready);
        ready.retain(|(_, sequence)| self.is_copy_of_use(*sequence));
        self.copies.ready = ready;
    }

    /// A chunk in flight goes out a second time.
    pub(crate) fn send_copy(&mut self, now: Time, sequence: u64, path: PathSlot) {
        self.copies.ready.remove(&(path, sequence));
        self.add_flight(path);
        let Some(chunk) = self.chunks.get_mut((sequence - self.first) as usize) else { return };
        let flight = &mut self.flights[path.index()];
        let size = chunk.size();
        let is_first = chunk.transmissions == 1 && chunk.path != path;
        chunk.copied = true;
        chunk.rerouted |= chunk.path != path;
        let snapshot = flight.rate.on_sent(now, flight.bytes, size);
        let transmission = flight.push(sequence, size);
        if is_first && flight.rtt_probe.is_none() {
            flight.rtt_probe = Some(Sent { transmission, sequence });
        }
        let twin = is_first.then_some(chunk.path);
        let copy = Copy {
            path,
            transmission,
            sent_at: now,
            misses: 0,
            snapshot,
            size,
            settled_at: now,
            twin,
        };
        self.copies.flying.insert(sequence, copy);
        self.copies.bytes += size;
        self.bytes_in_flight += size;
    }

    /// A chunk with two transmissions in flight is acknowledged by a SACK that came over `via`: the
    /// one that is to be credited becomes the chunk's own.
    pub(super) fn attribute(&mut self, now: Time, sequence: u64, via: PathSlot) {
        let Some(copy) = self.copies.flying.get(&sequence) else { return };
        let Some(chunk) = self.chunk(sequence) else { return };
        if chunk.state != ChunkState::InFlight {
            return;
        }
        let [own, other] = [(chunk.path, chunk.sent_at), (copy.path, copy.sent_at)];
        // Sooner than any round trip of its path took, a transmission was not acknowledged.
        let misfit = |(path, sent_at): (PathSlot, Time)| {
            let (age, rtts) = (now - sent_at, self.acks[path.index()].rtts);
            let fitting = rtts.filter(|rtts| age >= rtts.lowest);
            fitting.map_or(Duration::MAX, |rtts| age.abs_diff(rtts.smoothed))
        };
        let is_copy = match [own, other].map(|sent| self.came_over(now, via, sent)) {
            [false, true] => true,
            [true, false] => false,
            _ => misfit(other) < misfit(own),
        };
        if is_copy {
            self.swap_copy(sequence);
        }
        self.settle_copy(now, sequence);
    }

    /// The acknowledgement of a chunk was credited to its own transmission; if that was wrong, it
    /// arrives within a round trip.
    fn settle_copy(&mut self, now: Time, sequence: u64) {
        let Some(chunk) = self.chunk(sequence) else { return };
        let rtts = self.acks[chunk.path.index()].rtts;
        let settled_at = now + rtts.map_or(Duration::ZERO, |rtts| rtts.smoothed);
        if let Some(copy) = self.copies.flying.get_mut(&sequence) {
            copy.settled_at = settled_at;
        }
    }

    /// Whether a SACK that came over `via` was sent for what arrived there, and not sooner than any
    /// round trip took.
    pub(super) fn came_over(
        &self,
        now: Time,
        via: PathSlot,
        (path, sent_at): (PathSlot, Time),
    ) -> bool {
        let rtts = self.acks[path.index()].rtts;
        path == via && rtts.is_none_or(|rtts| now - sent_at >= rtts.lowest)
    }

    /// The chunk's own transmission and its copy change places.
    fn swap_copy(&mut self, sequence: u64) {
        let index = (sequence - self.first) as usize;
        let Some(chunk) = self.chunks.get_mut(index) else { return };
        let Some(copy) = self.copies.flying.get_mut(&sequence) else { return };
        std::mem::swap(&mut chunk.path, &mut copy.path);
        std::mem::swap(&mut chunk.transmission, &mut copy.transmission);
        std::mem::swap(&mut chunk.sent_at, &mut copy.sent_at);
        std::mem::swap(&mut chunk.snapshot, &mut copy.snapshot);
        std::mem::swap(&mut chunk.misses, &mut copy.misses);
        copy.twin = copy.twin.map(|_| chunk.path);
    }

    /// Takes the copies that a SACK reports as duplicates of what was acknowledged.
    pub(super) fn take_arrived_copies(&mut self, now: Time, sack: &Sack<'_>, via: PathSlot) {
        for tsn in sack.duplicate_tsns.iter() {
            let sequence = extend(self.cumulative_ack_point(), tsn);
            let acked = |state| state == ChunkState::Acked;
            if self.chunk(sequence).is_none_or(|chunk| acked(chunk.state))
                && let Some(copy) = self.copies.take(sequence)
            {
                self.on_copy_arrived(now, sequence, &copy, via);
            }
        }
    }

    fn on_copy_arrived(&mut self, now: Time, sequence: u64, copy: &Copy, via: PathSlot) {
        let Copy { path, transmission, sent_at, size, snapshot, twin, .. } = *copy;
        let sent = Sent { transmission, sequence };
        let is_certain = self.came_over(now, via, (path, sent_at));
        self.leave_flight(path, size);
        let retransmitted = twin.is_none();
        self.note_delivery(path, &Delivery { now, sent_at, transmission, sequence, retransmitted });
        if let Some(twin) = twin {
            self.acks[twin.index()].proves_path = true;
            self.acks[path.index()].proves_path = true;
        }
        let ack = &mut self.acks[path.index()];
        let flight = &mut self.flights[path.index()];
        ack.answered = true;
        ack.acked += size;
        ack.longest = ack.longest.max(size);
        ack.advanced |= ack.oldest_before == Some(sent);
        let is_measurable = twin.is_some() && is_certain;
        let newest =
            Transmitted { number: transmission, sent_at, sent_once: is_measurable, snapshot };
        flight.rate.on_acked(now, size, newest, &mut ack.newest);
        if flight.rtt_probe == Some(sent) {
            flight.rtt_probe = None;
            ack.rtt = is_measurable.then(|| now - sent_at);
        }
    }

    /// One of two transmissions of a chunk is lost: the other one goes on to stand for the chunk.
    /// Returns false if there was only one.
    pub(super) fn lose_copy(&mut self, path: PathSlot, sent: Sent) -> bool {
        if !self.copies.is_flying(sent.sequence) {
            return false;
        }
        if self.copies.of(path, sent).is_none() {
            self.swap_copy(sent.sequence);
        }
        let Some(copy) = self.copies.take(sent.sequence) else { return false };
        self.leave_flight(path, copy.size);
        self.forget_rtt_probe(path, sent.sequence);
        let lost = self.flights[path.index()].rate.on_lost(copy.size, &copy.snapshot);
        self.lost_chunks.push((path, LostChunk { is_covered: true, ..lost }));
        // Nothing is sent again for it, so that nothing can refute it.
        self.pass_verdict(path);
        true
    }

    /// A chunk is given up, or taken back: its copy does not count any more.
    pub(super) fn drop_copy(&mut self, sequence: u64) {
        let Some(copy) = self.copies.take(sequence) else { return };
        self.leave_flight(copy.path, copy.size);
        self.forget_rtt_probe(copy.path, sequence);
    }
}

#[cfg(test)]
mod tests {
    use anabranch_wire::{Fsn, GapAckBlock, Items, Level, Mid, Ppid, StreamId, Tsn};
    use bytes::Bytes;

    use super::super::loss_detection::LossDetection;
    use super::super::message::{Fragment, PathPreference};
    use super::super::sack::Rtts;
    use super::*;
    use crate::extensions::SupportedExtensions;

    const PATHS: [PathSlot; 2] = [PathSlot(0), PathSlot(1)];
    const RTT: Duration = Duration::from_millis(40);

    /// Chunks from sequence 0 on, in flight on the first path since time zero.
    fn outstanding(count: u64) -> (Outstanding, u64) {
        let mut outstanding =
            Outstanding::new(Tsn(100), SupportedExtensions::default(), LossDetection::Rfc9260);
        let fragment = Fragment {
            stream: StreamId(0),
            mid: Mid(0),
            fsn: Fsn(0),
            ppid: Ppid(0),
            payload: Bytes::from_static(&[0; 100]),
            unordered: false,
            beginning: true,
            ending: true,
            expires: None,
            max_retransmissions: None,
            preference: PathPreference::Any,
            level: Level::Normal,
            sack_immediately: false,
            context: None,
        };
        let first = outstanding.next_sequence();
        for _ in 0..count {
            outstanding.push(Time::ZERO, fragment.clone(), PATHS[0]);
        }
        (outstanding, first)
    }

    /// A SACK with one gap block, from the second chunk on, that came over `via`.
    fn acknowledge(outstanding: &mut Outstanding, at: Duration, end: u16, via: PathSlot) {
        let blocks = [GapAckBlock { start: 2, end }];
        let sack = Sack {
            cumulative_tsn_ack: Tsn(99),
            a_rwnd: 100_000,
            gap_ack_blocks: Items::from_slice(&blocks),
            duplicate_tsns: Items::default(),
            data_packets: 1,
        };
        let rtts = Rtts { smoothed: RTT, lowest: RTT };
        outstanding.on_sack(Time::ZERO + at, &sack, via, |_| Some(rtts)).unwrap();
    }

    #[test]
    fn miss_indications_count_for_a_copy_only_once_it_should_have_arrived() {
        let (mut outstanding, first) = outstanding(10);
        let [original, copy] = PATHS;
        (first + 1..first + 9).for_each(|chunk| outstanding.send_copy(Time::ZERO, chunk, copy));
        acknowledge(&mut outstanding, RTT, 2, original);
        for end in 3..=6 {
            acknowledge(&mut outstanding, RTT, end, copy);
        }
        assert!(outstanding.copies.is_flying(first + 1), "it may arrive yet");
        for end in 7..=8 {
            acknowledge(&mut outstanding, 2 * RTT, end, copy);
        }
        assert!(outstanding.copies.is_flying(first + 1), "two miss indications");
        acknowledge(&mut outstanding, 2 * RTT, 9, copy);
        assert!(!outstanding.copies.is_flying(first + 1), "three");
    }

    #[test]
    fn what_waits_is_looked_through_once_for_as_many_new_copies_at_most() {
        let (mut outstanding, first) = outstanding(COPIES_MAX as u64 + 1);
        let plan =
            |outstanding: &mut Outstanding, copy| outstanding.plan_copy(copy, PATHS[1], None);
        (first..first + COPIES_MAX as u64).for_each(|copy| plan(&mut outstanding, copy));
        let last = first + COPIES_MAX as u64;
        plan(&mut outstanding, last);
        assert_eq!((outstanding.copies.len(), outstanding.copies.planned), (COPIES_MAX, 0));
        for planned in 1..COPIES_MAX {
            plan(&mut outstanding, last);
            assert_eq!(outstanding.copies.planned, planned, "not looked through again");
        }
        outstanding.on_timeout(PATHS[0]);
        plan(&mut outstanding, last);
        assert_eq!(outstanding.copies.len(), 1, "what is not in flight needs no copy");
    }
}
