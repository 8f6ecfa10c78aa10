//! Spurious retransmissions: noticed, and what they brought about undone.
//!
//! Three things tell that a chunk was not lost: it is acknowledged before it was sent again; sooner
//! after that than a round trip takes (Eifel detection, RFC 3522, with RACK's check in the place of
//! timestamps); or the peer reports it as a duplicate (RFC 3708).

use std::collections::BTreeMap;

use anabranch_sansio::Time;
use anabranch_wire::Sack;

use super::chunk::ChunkState;
use super::in_time::Probe;
use super::outstanding::Outstanding;
use crate::path_name::PathSlot;
use crate::sequence::extend;

/// Chunks that were sent more than once and are acknowledged, of which a duplicate may yet be
/// reported. Beyond, the oldest are forgotten.
const REMEMBERED_MAX: usize = 1_024;

/// Where and when a chunk was declared lost last.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Verdict {
    path: PathSlot,
    episode: u32,
}

/// What one reduction of a path's window is based on.
#[derive(Debug, Default)]
pub(super) struct Episode {
    number: u32,
    /// Chunks declared lost that have not turned out to have arrived.
    unproven: usize,
    /// Whether T3-rtx declared them lost.
    timeout: bool,
}

impl Episode {
    pub(super) const fn begin(&mut self, timeout: bool) {
        *self = Self { number: self.number.wrapping_add(1), unproven: 0, timeout };
    }

    const fn note_lost(&mut self) -> u32 {
        self.unproven += 1;
        self.number
    }

    /// A chunk of this episode had not been lost; `original` says whether its first transmission
    /// was seen to arrive. Returns whether that refutes the episode.
    ///
    /// RFC 3708 section 3 asks for the proof that all retransmissions of a window were spurious.
    /// After a timeout, when the path fell silent as a whole, the first answer to what was sent
    /// before it is enough (F-RTO, RFC 5682 section 3).
    const fn refute(&mut self, number: u32, original: bool) -> bool {
        if self.number != number || self.unproven == 0 {
            return false;
        }
        self.unproven -= 1;
        if self.timeout && original {
            self.unproven = 0;
        }
        self.unproven == 0
    }
}

/// A reduction of a path's window that turned out to have had no reason.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Undone {
    /// Whether T3-rtx had caused it.
    pub(crate) timeout: bool,
}

/// Acknowledged chunks that were sent more than once.
#[derive(Debug, Default)]
pub(super) struct Remembered(BTreeMap<u64, Verdict>);

impl Remembered {
    fn insert(&mut self, sequence: u64, verdict: Verdict) {
        if self.0.len() >= REMEMBERED_MAX {
            self.0.pop_first();
        }
        self.0.insert(sequence, verdict);
    }
}

impl Outstanding {
    /// Notes on which path, and in which episode, a chunk is declared lost.
    pub(super) fn pass_verdict(&mut self, path: PathSlot) -> Verdict {
        let flight = &mut self.flights[path.index()];
        let in_time = flight.detector.in_time_mut();
        let episode = in_time.map_or(0, |in_time| in_time.episode.note_lost());
        Verdict { path, episode }
    }

    /// Takes the duplicates that a SACK reports; to be called before what it acknowledges is taken.
    pub(super) fn take_duplicates(&mut self, sack: &Sack<'_>) {
        for tsn in sack.duplicate_tsns.iter() {
            let sequence = extend(self.cumulative_ack_point(), tsn);
            if self.copies.is_flying(sequence) {
                continue;
            }
            if let Some(verdict) = self.take_duplicated(sequence) {
                self.acks[verdict.path.index()].spurious += 1;
                let next = self.next_sequence();
                let detector = &mut self.flights[verdict.path.index()].detector;
                if let Some(in_time) = detector.in_time_mut() {
                    in_time.rack.on_duplicate(next);
                }
                self.refute(verdict, false);
            }
        }
    }

    /// The verdict on a duplicate that we caused: the network may double packets too.
    fn take_duplicated(&mut self, sequence: u64) -> Option<Verdict> {
        if let Some(verdict) = self.remembered.0.remove(&sequence) {
            return Some(verdict);
        }
        let chunk = self.chunk_mut(sequence)?;
        let counts = chunk.transmissions > 1 && chunk.state != ChunkState::Acked && !chunk.arrived;
        if !counts || chunk.copied {
            return None;
        }
        chunk.arrived = true;
        let path = chunk.path;
        let probed = Verdict { path, episode: 0 };
        Some(chunk.verdict.unwrap_or(probed))
    }

    /// A chunk that had been declared lost, or sent again as a probe, is acknowledged: was that
    /// right?
    pub(super) fn review_verdict(&mut self, now: Time, sequence: u64, was: ChunkState) {
        let Some(chunk) = self.chunk(sequence) else { return };
        let (path, verdict, arrived) = (chunk.path, chunk.verdict, chunk.arrived);
        let (sent_at, transmissions) = (chunk.sent_at, chunk.transmissions);
        let was_sent_again = transmissions > 1;
        if arrived || (verdict.is_none() && !was_sent_again) {
            return;
        }
        let detector = &self.flights[path.index()].detector;
        let is_too_soon = detector.in_time().is_some_and(|in_time| {
            in_time.rack.min_rtt().is_some() && in_time.rack.is_too_soon(now, now - sent_at)
        });
        let too_soon = was == ChunkState::InFlight && is_too_soon;
        match verdict {
            Some(verdict) if !was_sent_again => self.refute(verdict, true),
            _ if too_soon => {
                let verdict = verdict.unwrap_or(Verdict { path, episode: 0 });
                self.acks[verdict.path.index()].spurious += 1;
                self.refute(verdict, true);
            }
            Some(verdict) => self.remember(sequence, verdict),
            None => self.on_repair(path, sequence),
        }
    }

    /// A chunk that was sent again as a probe is acknowledged.
    ///
    /// RFC 8985 section 7.4.2: without a sign that both arrived "it MUST assume that the original
    /// data segment, the TLP retransmission, or a corresponding ACK was lost for congestion control
    /// purposes". A duplicate that is reported later undoes it.
    fn on_repair(&mut self, path: PathSlot, sequence: u64) {
        let Some(transmission) = self.chunk(sequence).map(|chunk| chunk.transmission) else {
            return;
        };
        let detector = &self.flights[path.index()].detector;
        let probe = detector.in_time().and_then(|in_time| in_time.probe);
        let is_probe = matches!(probe, Some(Probe::Again(sent)) if sent.sequence == sequence);
        if is_probe && self.reduce(path, transmission, false) {
            let verdict = self.pass_verdict(path);
            self.acks[path.index()].losses.enters_recovery = true;
            self.remember(sequence, verdict);
        }
    }

    /// A duplicate may yet tell that a chunk was sent again for nothing; one that was sent twice
    /// on purpose has a duplicate in any case.
    fn remember(&mut self, sequence: u64, verdict: Verdict) {
        if self.chunk(sequence).is_some_and(|chunk| !chunk.copied) {
            self.remembered.insert(sequence, verdict);
        }
    }

    fn refute(&mut self, verdict: Verdict, original: bool) {
        let Verdict { path, episode } = verdict;
        let Some(in_time) = self.flights[path.index()].detector.in_time_mut() else { return };
        if !in_time.episode.refute(episode, original) {
            return;
        }
        in_time.forget_reduction();
        let timeout = in_time.episode.timeout;
        self.acks[path.index()].undone = Some(Undone { timeout });
        if timeout {
            self.return_timed_out(path);
        }
    }

    /// The timeout of a path had no reason: what it marked and was not sent again yet counts as in
    /// flight. RFC 5682 section 3 goes on with new data for the same end.
    fn return_timed_out(&mut self, path: PathSlot) {
        let Self { retransmit, chunks, first, flights, bytes_in_flight, .. } = self;
        let flight = &mut flights[path.index()];
        retransmit.retain(|&sequence| {
            let Some(chunk) = chunks.get_mut((sequence - *first) as usize) else { return false };
            if !chunk.timed_out || chunk.path != path {
                return true;
            }
            let size = chunk.size();
            chunk.state = ChunkState::InFlight;
            chunk.transmission = flight.push(sequence, size);
            *bytes_in_flight += size;
            false
        });
    }
}
