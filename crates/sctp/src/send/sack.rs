//! Processing of SACKs (RFC 9260 section 6.2.1): what is acknowledged, what is lost.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{GapAckBlock, Sack};
use thiserror::Error;

use super::delivery_rate::Newest;
use super::flight::Sent;
use super::outstanding::{ChunkState, Outstanding, is_live};
use crate::congestion::RateSample;
use crate::path::PathId;
use crate::sequence::{extend, tsn};

/// RFC 9260 section 7.2.4: "wait for two further miss indications ... for a total of three".
const MISS_INDICATIONS: u8 = 3;

/// A SACK that cannot be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum SackError {
    #[error("SACK acknowledges TSN {acked}, but the highest one sent is {highest}")]
    AcksUnsentTsn { acked: u32, highest: u32 },
    #[error("SACK has a gap block {start}-{end}, whose start is under 2 or beyond its end")]
    MalformedGapBlock { start: u16, end: u16 },
}

/// What a SACK said about one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathAck {
    pub(crate) path: PathId,
    /// Bytes acknowledged for the first time.
    pub(crate) acked: usize,
    pub(crate) flight_before: usize,
    /// Whether the oldest chunk in flight was acknowledged.
    pub(crate) advanced: bool,
    pub(crate) in_recovery: bool,
    pub(crate) rtt: Option<Duration>,
    /// Chunks now marked for retransmission.
    pub(crate) lost: usize,
    /// Whether Fast Recovery begins.
    pub(crate) enters_recovery: bool,
    /// The oldest transmission in flight before the SACK.
    oldest_before: Option<Sent>,
    /// Whether the peer answered anything that was sent on this path, and be it abandoned since.
    pub(crate) answered: bool,
    /// Whether something was acknowledged that was sent on this path only.
    pub(crate) proves_path: bool,
    /// The highest transmission newly acknowledged, plus one: HTNA of this path.
    acked_below: u64,
    /// Bytes acknowledged on the path so far.
    pub(crate) delivered: u64,
    pub(crate) sample: Option<RateSample>,
    newest: Option<Newest>,
}

impl Outstanding {
    /// Takes a SACK. What it says about each path that ever carried data is then to be had from
    /// [`take_acks`](Self::take_acks).
    ///
    /// Losses are looked for per path: a chunk counts as missing only when one sent later on the
    /// same path was newly acknowledged (split fast retransmit, Iyengar 2006, section IV-A). With
    /// one path in use this is the HTNA rule of RFC 9260 section 7.2.4.
    ///
    /// Returns false if the SACK is older than the last one, and says nothing.
    pub(crate) fn on_sack(&mut self, now: Time, sack: &Sack<'_>) -> Result<bool, SackError> {
        let cumulative = extend(self.cumulative_ack_point(), sack.cumulative_tsn_ack);
        self.acks.clear();
        // RFC 9260 section 6.2.1, D i: "If Cumulative TSN Ack is less than the Cumulative TSN Ack
        // Point, then drop the SACK chunk."
        if cumulative < self.cumulative_ack_point() {
            return Ok(false);
        }
        self.check(cumulative, sack)?;
        self.begin_acks();
        let advanced = cumulative > self.cumulative_ack_point();
        self.acknowledge_through(now, cumulative);
        for block in sack.gap_ack_blocks.iter() {
            self.acknowledge_block(now, cumulative, block);
        }
        self.sample_rates(now);
        self.take_back_reneged();
        self.find_losses(cumulative, advanced);
        self.advance();
        self.prune_expirations();
        Ok(true)
    }

    /// A SACK that claims what was never sent changes nothing.
    fn check(&self, cumulative: u64, sack: &Sack<'_>) -> Result<(), SackError> {
        let highest = self.next_sequence() - 1;
        let unsent =
            |acked: u64| SackError::AcksUnsentTsn { acked: tsn(acked).0, highest: tsn(highest).0 };
        if cumulative > highest {
            return Err(unsent(cumulative));
        }
        for GapAckBlock { start, end } in sack.gap_ack_blocks.iter() {
            if start < 2 || start > end {
                return Err(SackError::MalformedGapBlock { start, end });
            }
            if cumulative + u64::from(end) > highest {
                return Err(unsent(cumulative + u64::from(end)));
            }
        }
        Ok(())
    }

    fn begin_acks(&mut self) {
        let (chunks, first) = (&self.chunks, self.first);
        for (index, flight) in self.flights.iter_mut().enumerate() {
            let path = PathId(index as u8);
            self.acks.push(PathAck {
                path,
                acked: 0,
                flight_before: flight.bytes,
                advanced: false,
                in_recovery: flight.recovery_exit.is_some(),
                rtt: None,
                lost: 0,
                enters_recovery: false,
                oldest_before: flight.oldest(|sent| is_live(chunks, first, path, sent)),
                answered: false,
                proves_path: false,
                acked_below: 0,
                delivered: 0,
                sample: None,
                newest: None,
            });
        }
    }

    fn acknowledge_through(&mut self, now: Time, cumulative: u64) {
        while self.first <= cumulative {
            self.acknowledge(now, self.first);
            self.chunks.pop_front();
            self.first += 1;
        }
        self.acked.remove_through(cumulative);
    }

    fn acknowledge_block(&mut self, now: Time, cumulative: u64, block: GapAckBlock) {
        let range = cumulative + u64::from(block.start)..=cumulative + u64::from(block.end);
        let mut acked = std::mem::take(&mut self.acked);
        acked.insert(range, |sequence| self.acknowledge(now, sequence));
        self.acked = acked;
    }

    /// One chunk is acknowledged, if it was not before.
    fn acknowledge(&mut self, now: Time, sequence: u64) {
        let Some(chunk) = self.chunk_mut(sequence) else { return };
        let (state, size, path) = (chunk.state, chunk.size(), chunk.path);
        self.acks[path.index()].answered |= state != ChunkState::Acked;
        let Some(chunk) = self.chunk_mut(sequence) else { return };
        if !matches!(state, ChunkState::InFlight | ChunkState::Lost) {
            return;
        }
        // The payload stays: the peer may renege on it.
        chunk.state = ChunkState::Acked;
        let sent = Sent { transmission: chunk.transmission, sequence };
        let (transmissions, sent_at) = (chunk.transmissions, chunk.sent_at);
        let (rerouted, snapshot) = (chunk.rerouted, chunk.snapshot);
        if state == ChunkState::InFlight {
            self.leave_flight(path, size);
        } else {
            self.forget_retransmission(sequence);
        }
        let ack = &mut self.acks[path.index()];
        let flight = &mut self.flights[path.index()];
        ack.acked += size;
        let sent_once = transmissions == 1;
        let newest = (sent.transmission, sent_at, sent_once, snapshot);
        flight.rate.on_acked(now, size, newest, &mut ack.newest);
        ack.advanced |= ack.oldest_before == Some(sent);
        ack.proves_path |= !rerouted;
        // Which transmission of a retransmitted chunk arrived is unknown: only chunks sent once
        // tell about what was sent before them.
        if sent_once {
            ack.acked_below = ack.acked_below.max(sent.transmission + 1);
            flight.acked_below = flight.acked_below.max(sent.transmission + 1);
        }
        if flight.rtt_probe == Some(sent) {
            flight.rtt_probe = None;
            ack.rtt = Some(now - sent_at);
        }
    }

    /// Each path's delivery rate, as this SACK shows it.
    fn sample_rates(&mut self, now: Time) {
        for (ack, flight) in self.acks.iter_mut().zip(&mut self.flights) {
            ack.sample = flight.rate.sample(now, ack.newest);
            ack.delivered = flight.rate.delivered();
        }
    }

    /// RFC 9260 section 6.2.1, D iii: "If the SACK chunk is missing a TSN that was previously
    /// acknowledged via a Gap Ack Block (e.g., the data receiver reneged on the data), then
    /// consider the corresponding DATA that might be possibly missing".
    ///
    /// The peer reneged for certain when the first TSN that it says it lacks is one it had
    /// reported. A block that is absent further up proves nothing: a peer may report fewer blocks
    /// than it has (dcSCTP stops at 20).
    fn take_back_reneged(&mut self) {
        let Some(last) = self.acked.take_first_if_at(self.first) else { return };
        for sequence in self.first..=last {
            self.return_to_flight(sequence);
        }
    }

    fn find_losses(&mut self, cumulative: u64, advanced: bool) {
        for index in 0..self.flights.len() {
            let path = PathId(index as u8);
            // RFC 9260 section 6.2.1, D iv: "If the Cumulative TSN Ack matches or exceeds the Fast
            // Recovery exit point (Section 7.2.4), Fast Recovery is exited."
            let flight = &mut self.flights[index];
            let was_in_recovery = flight.recovery_exit.is_some();
            flight.recovery_exit = flight.recovery_exit.filter(|exit| cumulative < *exit);
            // RFC 9260 section 7.2.4: "If an endpoint is in Fast Recovery and a SACK chunks arrives
            // that advances the Cumulative TSN Ack Point, the miss indications are incremented for
            // all TSNs reported missing in the SACK chunk."
            let all_missing = was_in_recovery && advanced;
            let below = if all_missing { flight.acked_below } else { self.acks[index].acked_below };
            if below > 0 {
                self.count_misses(path, below);
            }
        }
    }

    /// Counts a miss for each chunk of `path` sent before the transmission `below`, and marks those
    /// with the third one.
    fn count_misses(&mut self, path: PathId, below: u64) {
        let mut lost = std::mem::take(&mut self.lost);
        let mut overtaken = std::mem::take(&mut self.overtaken);
        let (chunks, first) = (&self.chunks, self.first);
        let flight = &mut self.flights[path.index()];
        flight.review(below, |sent| is_live(chunks, first, path, sent), |s| overtaken.push(s));
        for sent in overtaken.drain(..) {
            let Some(chunk) = self.chunk_mut(sent.sequence) else { continue };
            chunk.misses = chunk.misses.saturating_add(1);
            if chunk.misses >= MISS_INDICATIONS && !chunk.fast_retransmitted {
                // "Mark the DATA chunk(s) as being fast retransmitted and thus ineligible for a
                // subsequent Fast Retransmit."
                chunk.fast_retransmitted = true;
                chunk.timed_out = false;
                lost.push(sent.sequence);
            }
        }
        self.overtaken = overtaken;
        self.mark_lost(&lost);
        let highest = self.next_sequence() - 1;
        let (ack, flight) = (&mut self.acks[path.index()], &mut self.flights[path.index()]);
        ack.lost = lost.len();
        // "If not in Fast Recovery, enter Fast Recovery and mark the highest outstanding TSN as the
        // Fast Recovery exit point."
        if !lost.is_empty() && flight.recovery_exit.is_none() {
            flight.recovery_exit = Some(highest);
            ack.enters_recovery = true;
        }
        lost.clear();
        self.lost = lost;
    }

    /// Something sent on `path` was lost although no SACK's miss indications said so: enters Fast
    /// Recovery. Returns false if the path was in it already.
    pub(crate) fn enter_recovery(&mut self, path: PathId) -> bool {
        let highest = self.next_sequence() - 1;
        let Some(flight) = self.flights.get_mut(path.index()) else { return false };
        let enters = flight.recovery_exit.is_none();
        flight.recovery_exit.get_or_insert(highest);
        enters
    }
}
