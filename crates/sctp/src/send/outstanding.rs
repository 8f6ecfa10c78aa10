//! [`Outstanding`]: data that has TSNs and is not yet cumulatively acknowledged.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, VecDeque};

use anabranch_sansio::Time;
use anabranch_wire::{PacketWriter, StreamId, Tsn};

use super::abandonment::Abandoned;
use super::chunk::{Chunk, ChunkState, View};
use super::copies::Copies;
use super::flight::{Flight, Sent};
use super::loss_detection::{Detector, LossDetection, Losses};
use super::message::{Abandonment, Fragment, PathPreference};
use super::sack::PathAck;
use super::skips::Skips;
use super::spurious::Remembered;
use crate::extensions::SupportedExtensions;
use crate::format::DataFormat;
use crate::path_name::PathSlot;
use crate::ranges::RangeSet;
use crate::sequence::{first_sequence, tsn};
use anabranch_congestion::{LostChunk, SentData, Snapshot};

/// A retransmission that waits: which chunk, where it should go, how large it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Retransmission {
    pub(crate) sequence: u64,
    pub(crate) size: usize,
    pub(crate) last_path: PathSlot,
    pub(crate) timed_out: bool,
    pub(crate) preference: PathPreference,
}

/// The send window: every chunk from the cumulative TSN ack point on.
#[derive(Debug)]
pub(crate) struct Outstanding {
    pub(super) chunks: VecDeque<Chunk>,
    /// The extended TSN of the first chunk: the cumulative TSN ack point plus one.
    pub(super) first: u64,
    /// What gap blocks acknowledged.
    pub(super) acked: RangeSet,
    pub(super) flights: Vec<Flight>,
    pub(super) detection: LossDetection,
    pub(super) retransmit: BTreeSet<u64>,
    pub(super) remembered: Remembered,
    pub(super) copies: Copies,
    pub(super) expirations: BinaryHeap<Reverse<(Time, u64)>>,
    pub(super) bytes_in_flight: usize,
    /// RFC 3758 section 3.5, A1.
    pub(super) advanced_peer_ack_point: u64,
    /// What the peer and we know.
    extensions: SupportedExtensions,
    /// What ordered messages are skipped together with unordered ones.
    pub(super) skips: Skips,
    /// Messages given up since the last call of [`take_abandoned`](Self::take_abandoned).
    pub(super) abandoned: Vec<Abandoned>,
    /// Streams of which a message was abandoned whose end has no TSN yet.
    pub(super) unended: Vec<StreamId>,
    /// Kept to spare an allocation per SACK.
    pub(super) acks: Vec<PathAck>,
    pub(super) lost: Vec<Sent>,
    pub(super) overtaken: Vec<Sent>,
    /// What congestion control was not told yet.
    pub(super) lost_chunks: Vec<(PathSlot, LostChunk)>,
}

impl Outstanding {
    pub(crate) fn new(
        initial_tsn: Tsn,
        extensions: SupportedExtensions,
        detection: LossDetection,
    ) -> Self {
        let first = first_sequence(initial_tsn);
        Self {
            chunks: VecDeque::new(),
            first,
            acked: RangeSet::default(),
            flights: Vec::new(),
            detection,
            retransmit: BTreeSet::new(),
            remembered: Remembered::default(),
            copies: Copies::default(),
            expirations: BinaryHeap::new(),
            bytes_in_flight: 0,
            advanced_peer_ack_point: first - 1,
            extensions,
            skips: Skips::default(),
            abandoned: Vec::new(),
            unended: Vec::new(),
            acks: Vec::new(),
            lost: Vec::new(),
            overtaken: Vec::new(),
            lost_chunks: Vec::new(),
        }
    }

    /// The TSN of the next new chunk.
    pub(crate) fn next_sequence(&self) -> u64 {
        self.first + self.chunks.len() as u64
    }

    /// RFC 9260 section 1.3: the cumulative TSN ack point.
    pub(crate) const fn cumulative_ack_point(&self) -> u64 {
        self.first - 1
    }

    /// Whether all data was acknowledged or abandoned, and the peer knows.
    pub(crate) fn is_empty(&self) -> bool {
        self.chunks.is_empty()
    }

    /// Chunks that are not yet cumulatively acknowledged.
    pub(crate) fn len(&self) -> usize {
        self.chunks.len()
    }

    /// Bytes in flight on all paths, copies included.
    pub(crate) const fn bytes_in_flight(&self) -> usize {
        self.bytes_in_flight
    }

    /// Bytes in flight that take room at the peer.
    pub(crate) const fn bytes_outstanding(&self) -> usize {
        self.bytes_in_flight - self.copies.bytes()
    }

    /// Bytes in flight on one path.
    pub(crate) fn flight(&self, path: PathSlot) -> usize {
        self.flights.get(path.index()).map_or(0, |flight| flight.bytes)
    }

    /// Another path takes the number of one that failed. Data that was in flight there stays so on
    /// the new one, whose timer will find it lost.
    pub(crate) fn forget_path(&mut self, path: PathSlot) {
        if let Some(flight) = self.flights.get_mut(path.index()) {
            flight.forget_path();
        }
    }

    /// Whether the peer can be told what it shall not wait for, so that messages can be abandoned.
    pub(crate) const fn is_partially_reliable(&self) -> bool {
        self.extensions.partial_reliability()
    }

    /// What carries the data.
    pub(crate) const fn format(&self) -> DataFormat {
        self.extensions.data_format()
    }

    /// What both ends know.
    pub(crate) const fn extensions(&self) -> SupportedExtensions {
        self.extensions
    }

    /// The handshake told what both ends know.
    pub(crate) const fn set_extensions(&mut self, shared: SupportedExtensions) {
        self.extensions = shared;
    }

    /// Whether SACKs count packets (DAC of Iyengar 2006).
    pub(super) const fn counts_packets(&self) -> bool {
        self.extensions.cmt_delayed_ack
    }

    /// What the last SACK said, to be given back with [`recycle_acks`](Self::recycle_acks).
    pub(crate) fn take_acks(&mut self) -> Vec<PathAck> {
        std::mem::take(&mut self.acks)
    }

    pub(crate) fn recycle_acks(&mut self, acks: Vec<PathAck>) {
        self.acks = acks;
    }

    /// What was declared lost since the last call, to be given back with
    /// [`recycle_lost_chunks`](Self::recycle_lost_chunks).
    pub(crate) fn take_lost_chunks(&mut self) -> Vec<(PathSlot, LostChunk)> {
        std::mem::take(&mut self.lost_chunks)
    }

    pub(crate) fn recycle_lost_chunks(&mut self, mut chunks: Vec<(PathSlot, LostChunk)>) {
        chunks.clear();
        self.lost_chunks = chunks;
    }

    /// What a path's controller is told of data that is about to go out there.
    pub(crate) fn sent_data(&self, now: Time, path: PathSlot, bytes: usize) -> SentData {
        let flight = self.flights.get(path.index());
        flight.map_or(SentData { now, bytes, flight: 0, is_app_limited: false }, |flight| {
            flight.rate.sent_data(now, bytes, flight.bytes)
        })
    }

    /// There is nothing more to send on a path whose window is open.
    pub(crate) fn mark_app_limited(&mut self, path: PathSlot) {
        if let Some(flight) = self.flights.get_mut(path.index()) {
            flight.rate.mark_app_limited(flight.bytes);
        }
    }

    /// Gives a fragment the next TSN and puts it in flight on `path`; returns its extended TSN.
    pub(crate) fn push(&mut self, now: Time, fragment: Fragment, path: PathSlot) -> u64 {
        let sequence = self.next_sequence();
        let limits_hold = self.is_partially_reliable();
        let expires = fragment.expires.filter(|_| limits_hold);
        self.chunks.push_back(Chunk {
            payload: fragment.payload,
            stream: fragment.stream,
            mid: fragment.mid,
            fsn: fragment.fsn,
            ppid: fragment.ppid,
            unordered: fragment.unordered,
            beginning: fragment.beginning,
            ending: fragment.ending,
            format: self.format(),
            state: ChunkState::Lost,
            path,
            transmission: 0,
            sent_at: now,
            snapshot: Snapshot::default(),
            transmissions: 0,
            misses: 0,
            fast_retransmitted: false,
            timed_out: false,
            rerouted: false,
            verdict: None,
            arrived: false,
            copied: false,
            max_retransmissions: fragment.max_retransmissions.filter(|_| limits_hold),
            expires,
            expired: false,
            preference: fragment.preference,
            level: fragment.level,
            sack_immediately: fragment.sack_immediately,
            context: fragment.context,
        });
        if let Some(expires) = expires {
            self.expirations.push(Reverse((expires, sequence)));
        }
        self.put_in_flight(now, sequence, path);
        sequence
    }

    /// Puts a chunk that was marked for retransmission in flight again.
    pub(crate) fn retransmit(&mut self, now: Time, sequence: u64, path: PathSlot) {
        self.retransmit.remove(&sequence);
        self.put_in_flight(now, sequence, path);
    }

    pub(super) fn put_in_flight(&mut self, now: Time, sequence: u64, path: PathSlot) {
        self.add_flight(path);
        let Some(chunk) = self.chunks.get_mut((sequence - self.first) as usize) else { return };
        let flight = &mut self.flights[path.index()];
        let size = chunk.size();
        chunk.state = ChunkState::InFlight;
        chunk.rerouted |= chunk.path != path;
        chunk.path = path;
        chunk.sent_at = now;
        chunk.transmissions += 1;
        chunk.misses = 0;
        chunk.snapshot = flight.rate.on_sent(now, flight.bytes, size);
        chunk.transmission = flight.push(sequence, size);
        self.bytes_in_flight += size;
        // RFC 9260 section 6.3.1, C4: "a new RTT measurement MUST be made each round trip", and no
        // more; C5: not with a chunk that was retransmitted.
        if chunk.transmissions == 1 && flight.rtt_probe.is_none() {
            flight.rtt_probe = Some(Sent { transmission: chunk.transmission, sequence });
        }
    }

    /// Makes sure that there is a flight for a path.
    pub(super) fn add_flight(&mut self, path: PathSlot) {
        while self.flights.len() <= path.index() {
            self.flights.push(Flight::new(self.detection));
        }
    }

    /// Writes a chunk; returns its stream and its payload's length.
    pub(crate) fn write(
        &self,
        sequence: u64,
        immediate: bool,
        writer: &mut PacketWriter<'_>,
    ) -> Option<(StreamId, usize)> {
        let chunk = self.chunk(sequence)?;
        let level = chunk.mark(self.extensions.level_marks);
        chunk.write(tsn(sequence), immediate, level, writer);
        Some((chunk.stream, chunk.payload.len()))
    }

    /// The chunks marked for retransmission, lowest TSN first.
    pub(crate) fn retransmissions(&self) -> impl Iterator<Item = Retransmission> + '_ {
        self.retransmit.iter().filter_map(|&sequence| {
            let chunk = self.chunks.get((sequence - self.first) as usize)?;
            Some(Retransmission {
                sequence,
                size: chunk.size(),
                last_path: chunk.path,
                timed_out: chunk.timed_out,
                preference: chunk.preference,
            })
        })
    }

    /// Whether no chunk in flight on `path` has a lower TSN than `sequence`.
    pub(crate) fn is_earliest_on(&self, path: PathSlot, sequence: u64) -> bool {
        let mut earlier = self.first;
        while earlier < sequence {
            if let Some((_, end)) = self.acked.range_of(earlier) {
                earlier = end + 1;
                continue;
            }
            let chunk = self.chunks.get((earlier - self.first) as usize);
            if chunk.is_some_and(|c| c.state == ChunkState::InFlight && c.path == path) {
                return false;
            }
            earlier += 1;
        }
        true
    }

    /// Payload bytes of a chunk that is in flight.
    pub(crate) fn in_flight_len(&self, sequence: u64) -> Option<usize> {
        let chunk = self.chunk(sequence)?;
        (chunk.state == ChunkState::InFlight).then_some(chunk.payload.len())
    }

    /// Takes back what the peer had no room for: it is sent again, and does not count as lost.
    pub(crate) fn retract(&mut self, sequence: u64) {
        let Some(chunk) = self.chunk_mut(sequence) else { return };
        if chunk.state != ChunkState::InFlight {
            return;
        }
        chunk.state = ChunkState::Lost;
        let (size, path) = (chunk.size(), chunk.path);
        self.leave_flight(path, size);
        self.drop_copy(sequence);
        self.retransmit.insert(sequence);
        self.cancel_rtt_probes(sequence);
    }

    /// When the lifetime of a chunk's message ends.
    pub(crate) fn expires(&self, sequence: u64) -> Option<Time> {
        self.chunk(sequence)?.expires
    }

    pub(crate) fn has_retransmissions(&self) -> bool {
        !self.retransmit.is_empty()
    }

    /// T3-rtx expired for `path`: everything in flight there is marked for retransmission.
    pub(crate) fn on_timeout(&mut self, path: PathSlot) -> Losses {
        let Some(flight) = self.flights.get_mut(path.index()) else { return Losses::default() };
        let entries = flight.drain();
        let next = flight.next_transmission;
        flight.detector.on_timeout(next);
        let mut lost = std::mem::take(&mut self.lost);
        lost.extend(entries.into_iter().filter(|sent| self.view().is_live(path, *sent)));
        let losses = Losses { chunks: lost.len(), enters_recovery: true };
        self.mark_lost(path, &lost, true);
        for sent in &lost {
            if let Some(chunk) = self.chunk_mut(sent.sequence) {
                // A timeout begins anew: what was fast retransmitted before may be again.
                chunk.fast_retransmitted = false;
            }
        }
        lost.clear();
        self.lost = lost;
        losses
    }

    /// All in flight on a path is sent again, because it went where nobody is: no controller hears
    /// of it.
    pub(crate) fn take_back(&mut self, path: PathSlot) -> Losses {
        let told = self.lost_chunks.len();
        let losses = self.on_timeout(path);
        self.lost_chunks.truncate(told);
        losses
    }

    /// Marks chunks that were lost on a path for retransmission, or abandons those that may not be
    /// sent again; one of which a second copy is in flight still is not lost.
    pub(super) fn mark_lost(&mut self, path: PathSlot, lost: &[Sent], timed_out: bool) {
        for &sent in lost {
            if self.lose_copy(path, sent) {
                continue;
            }
            let sequence = sent.sequence;
            let Some(chunk) = self.chunk_mut(sequence) else { continue };
            if chunk.state != ChunkState::InFlight {
                continue;
            }
            chunk.state = ChunkState::Lost;
            chunk.misses = 0;
            chunk.timed_out |= timed_out;
            let (size, snapshot) = (chunk.size(), chunk.snapshot);
            let (exhausted, expired) = (chunk.is_exhausted(), chunk.expired);
            self.leave_flight(path, size);
            let lost = self.flights[path.index()].rate.on_lost(size, &snapshot);
            self.lost_chunks.push((path, lost));
            self.retransmit.insert(sequence);
            self.cancel_rtt_probes(sequence);
            if expired {
                self.abandon(sequence, Abandonment::Expired);
            } else if exhausted {
                self.abandon(sequence, Abandonment::Retransmissions);
            } else {
                let verdict = self.pass_verdict(path);
                if let Some(chunk) = self.chunk_mut(sequence) {
                    chunk.verdict = Some(verdict);
                }
            }
        }
    }

    /// A chunk that the peer reneged on counts as in flight, with one miss indication.
    pub(super) fn return_to_flight(&mut self, sequence: u64) {
        let Some(chunk) = self.chunks.get_mut((sequence - self.first) as usize) else { return };
        if chunk.state != ChunkState::Acked {
            return;
        }
        chunk.state = ChunkState::InFlight;
        chunk.misses = 1;
        let size = chunk.size();
        chunk.transmission = self.flights[chunk.path.index()].push(sequence, size);
        if let Some(expires) = chunk.expires {
            self.expirations.push(Reverse((expires, sequence)));
        }
        self.bytes_in_flight += size;
    }

    /// A chunk marked for retransmission was acknowledged after all.
    pub(super) fn forget_retransmission(&mut self, sequence: u64) {
        self.retransmit.remove(&sequence);
    }

    /// RFC 9260 section 6.3.1, C5: "RTT measurements SHOULD only be made using a DATA chunk with
    /// TSN r if no DATA chunk with TSN less than or equal to r was retransmitted since".
    ///
    /// A receiver that acknowledges gaps at once reports each TSN by itself; detection in time
    /// relies on that, and goes on measuring in the midst of losses.
    pub(super) fn cancel_rtt_probes(&mut self, lost: u64) {
        for flight in &mut self.flights {
            let is_left = |probe: &Sent| match flight.detector {
                Detector::Rfc9260(_) => probe.sequence < lost,
                Detector::InTime(_) => probe.sequence != lost,
            };
            flight.rtt_probe = flight.rtt_probe.filter(is_left);
        }
    }

    /// What is abandoned will never be acknowledged: another chunk shall be measured.
    pub(super) fn forget_rtt_probe(&mut self, path: PathSlot, sequence: u64) {
        let flight = &mut self.flights[path.index()];
        flight.rtt_probe = flight.rtt_probe.filter(|probe| probe.sequence != sequence);
    }

    pub(super) fn leave_flight(&mut self, path: PathSlot, size: usize) {
        self.bytes_in_flight = self.bytes_in_flight.saturating_sub(size);
        let flight = &mut self.flights[path.index()];
        flight.bytes = flight.bytes.saturating_sub(size);
    }

    pub(super) fn chunk(&self, sequence: u64) -> Option<&Chunk> {
        self.chunks.get(sequence.checked_sub(self.first)? as usize)
    }

    pub(super) fn chunk_mut(&mut self, sequence: u64) -> Option<&mut Chunk> {
        self.chunks.get_mut(sequence.checked_sub(self.first)? as usize)
    }

    pub(super) const fn view(&self) -> View<'_> {
        View { chunks: &self.chunks, first: self.first, copies: &self.copies }
    }
}
