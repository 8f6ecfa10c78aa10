//! Processing of SACKs (RFC 9260 section 6.2.1): what is acknowledged, what is lost.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{GapAckBlock, Sack};
use thiserror::Error;

use super::chunk::{Chunk, ChunkState, View};
use super::flight::Sent;
use super::loss_detection::{Detector, Losses};
use super::message::Abandonment;
use super::miss_indications::Overtaking;
use super::outstanding::Outstanding;
use super::rack::Delivery;
use super::spurious::Undone;
use crate::path_name::PathSlot;
use crate::sequence::{extend, tsn};
use anabranch_congestion::{RateSample, Transmitted};

/// A SACK that cannot be true.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum SackError {
    #[error("SACK acknowledges TSN {acked}, but the highest one sent is {highest}")]
    AcksUnsentTsn { acked: u32, highest: u32 },
    #[error("SACK has a gap block {start}-{end}, whose start is beyond its end")]
    MalformedGapBlock { start: u16, end: u16 },
}

/// Round-trip times of a path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Rtts {
    pub(crate) smoothed: Duration,
    pub(crate) lowest: Duration,
}

/// What a SACK said about one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct PathAck {
    pub(crate) path: PathSlot,
    /// Bytes acknowledged for the first time.
    pub(crate) acked: usize,
    /// Bytes of the longest chunk among them.
    pub(crate) longest: usize,
    pub(crate) flight_before: usize,
    /// Whether the oldest chunk in flight was acknowledged.
    pub(crate) advanced: bool,
    pub(crate) in_recovery: bool,
    pub(crate) rtt: Option<Duration>,
    pub(crate) losses: Losses,
    /// Retransmissions that turned out to have had no reason.
    pub(crate) spurious: u64,
    /// Whether the last reduction of the window turned out to have had none.
    pub(crate) undone: Option<Undone>,
    /// The oldest transmission in flight before the SACK.
    pub(super) oldest_before: Option<Sent>,
    /// Whether the peer answered anything that was sent on this path, and be it abandoned since.
    pub(crate) answered: bool,
    /// Whether something was acknowledged that was sent on this path only.
    pub(crate) proves_path: bool,
    /// The highest transmission newly acknowledged, plus one: HTNA of this path.
    acked_below: u64,
    /// The lowest transmission newly acknowledged; 0 if it is unknown which of several it was.
    acked_from: Option<u64>,
    /// Bytes acknowledged on the path so far.
    pub(crate) delivered: u64,
    pub(crate) sample: Option<RateSample>,
    pub(super) newest: Option<Transmitted>,
    /// The path's, once one was measured.
    pub(super) rtts: Option<Rtts>,
}

/// The gap blocks of a SACK that leave a gap: the TSN behind the Cumulative TSN Ack is missing, or
/// that would be higher. A block that begins there or sooner contradicts this and is passed over.
fn gap_ack_blocks<'a>(sack: &Sack<'a>) -> impl Iterator<Item = GapAckBlock> + use<'a> {
    sack.gap_ack_blocks.iter().filter(|block| block.start >= 2)
}

impl Outstanding {
    /// Takes a SACK that came over the path `via`. What it says about each path that ever carried
    /// data is then to be had from [`take_acks`](Self::take_acks).
    ///
    /// Losses are looked for per path: a chunk counts as missing only when one sent later on the
    /// same path was newly acknowledged (split fast retransmit, Iyengar 2006, section IV-A). With
    /// one path in use this is the HTNA rule of RFC 9260 section 7.2.4.
    ///
    /// Returns false if the SACK is older than the last one: all that it reports is which copies
    /// arrived.
    pub(crate) fn on_sack(
        &mut self,
        now: Time,
        sack: &Sack<'_>,
        via: PathSlot,
        rtts: impl Fn(PathSlot) -> Option<Rtts>,
    ) -> Result<bool, SackError> {
        let cumulative = extend(self.cumulative_ack_point(), sack.cumulative_tsn_ack);
        self.acks.clear();
        // RFC 9260 section 6.2.1, D i: "If Cumulative TSN Ack is less than the Cumulative TSN Ack
        // Point, then drop the SACK chunk."
        let point = self.cumulative_ack_point();
        if cumulative < point {
            self.take_late_sack(now, sack, via, rtts);
            return Ok(false);
        }
        self.check(cumulative, sack)?;
        self.begin_acks(cumulative, rtts);
        self.take_duplicates(sack);
        self.acknowledge_through(now, cumulative, via);
        for block in gap_ack_blocks(sack) {
            self.acknowledge_block(now, cumulative, block, via);
        }
        self.take_arrived_copies(now, sack, via);
        self.sample_rates(now);
        self.take_back_reneged(now);
        self.find_all_losses(now, sack.data_packets);
        self.advance();
        self.prune_expirations();
        Ok(true)
    }

    /// A SACK was overtaken by a newer one. What arrived twice it reports all the same: where paths
    /// differ, those of the slower one are always late.
    fn take_late_sack(
        &mut self,
        now: Time,
        sack: &Sack<'_>,
        via: PathSlot,
        rtts: impl Fn(PathSlot) -> Option<Rtts>,
    ) {
        if sack.duplicate_tsns.is_empty() || !self.copies.any_flies() {
            return;
        }
        let point = self.cumulative_ack_point();
        self.begin_acks(point, rtts);
        self.take_arrived_copies(now, sack, via);
        self.sample_rates(now);
        self.find_all_losses(now, 1);
    }

    /// A SACK that claims what was never sent changes nothing.
    fn check(&self, cumulative: u64, sack: &Sack<'_>) -> Result<(), SackError> {
        let highest = self.next_sequence() - 1;
        let unsent =
            |acked: u64| SackError::AcksUnsentTsn { acked: tsn(acked).0, highest: tsn(highest).0 };
        if cumulative > highest {
            return Err(unsent(cumulative));
        }
        for GapAckBlock { start, end } in gap_ack_blocks(sack) {
            if start > end {
                return Err(SackError::MalformedGapBlock { start, end });
            }
            if cumulative + u64::from(end) > highest {
                return Err(unsent(cumulative + u64::from(end)));
            }
        }
        Ok(())
    }

    fn begin_acks(&mut self, cumulative: u64, rtts: impl Fn(PathSlot) -> Option<Rtts>) {
        let view = View { chunks: &self.chunks, first: self.first, copies: &self.copies };
        for (index, flight) in self.flights.iter_mut().enumerate() {
            let path = PathSlot(index as u8);
            if let Some(in_time) = flight.detector.in_time_mut() {
                in_time.rack.begin_sack();
                in_time.rack.on_cumulative(cumulative);
            }
            self.acks.push(PathAck {
                path,
                acked: 0,
                longest: 0,
                flight_before: flight.bytes,
                advanced: false,
                in_recovery: flight.detector.in_recovery(),
                rtt: None,
                losses: Losses::default(),
                spurious: 0,
                undone: None,
                oldest_before: flight.oldest(|sent| view.is_live(path, sent)),
                answered: false,
                proves_path: false,
                acked_below: 0,
                acked_from: None,
                delivered: 0,
                sample: None,
                newest: None,
                rtts: rtts(path),
            });
        }
    }

    fn acknowledge_through(&mut self, now: Time, cumulative: u64, via: PathSlot) {
        while self.first <= cumulative {
            self.acknowledge(now, self.first, via, false);
            self.chunks.pop_front();
            self.first += 1;
        }
        self.acked.remove_through(cumulative);
    }

    fn acknowledge_block(&mut self, now: Time, cumulative: u64, block: GapAckBlock, via: PathSlot) {
        let range = cumulative + u64::from(block.start)..=cumulative + u64::from(block.end);
        let mut acked = std::mem::take(&mut self.acked);
        acked.insert(range, |sequence| self.acknowledge(now, sequence, via, true));
        self.acked = acked;
    }

    /// One chunk is acknowledged, if it was not before. A gap block says that even an abandoned
    /// one arrived; the cumulative TSN may pass it by without.
    fn acknowledge(&mut self, now: Time, sequence: u64, via: PathSlot, by_block: bool) {
        self.attribute(now, sequence, via);
        let Some(chunk) = self.chunk_mut(sequence) else { return };
        let (state, size, path) = (chunk.state, chunk.size(), chunk.path);
        let (sent_at, rerouted, snapshot) = (chunk.sent_at, chunk.rerouted, chunk.snapshot);
        let sent = Sent { transmission: chunk.transmission, sequence };
        let retransmitted = chunk.transmissions > 1;
        let copied = chunk.copied;
        let counts = matches!(state, ChunkState::InFlight | ChunkState::Lost);
        if counts {
            // The payload stays: the peer may renege on it.
            chunk.state = ChunkState::Acked;
        }
        let is_certain = !copied || self.came_over(now, via, (path, sent_at));
        let transmission = sent.transmission;
        let delivery = Delivery { now, sent_at, transmission, sequence, retransmitted };
        self.acks[path.index()].answered |= state != ChunkState::Acked;
        if counts || (by_block && state == ChunkState::Abandoned) {
            self.note_delivery(path, &delivery);
        }
        if !counts {
            return;
        }
        if state == ChunkState::InFlight {
            self.leave_flight(path, size);
        } else {
            self.forget_retransmission(sequence);
        }
        let ack = &mut self.acks[path.index()];
        let flight = &mut self.flights[path.index()];
        ack.acked += size;
        ack.longest = ack.longest.max(size);
        let sent_once = !retransmitted && is_certain;
        let newest = Transmitted { number: transmission, sent_at, sent_once, snapshot };
        flight.rate.on_acked(now, size, newest, &mut ack.newest);
        ack.advanced |= ack.oldest_before == Some(sent);
        ack.proves_path |= !rerouted;
        if flight.rtt_probe == Some(sent) {
            flight.rtt_probe = None;
            ack.rtt = is_certain.then(|| now - sent_at);
        }
        self.review_verdict(now, sequence, state);
    }

    /// Notes which transmission of a path arrived.
    pub(super) fn note_delivery(&mut self, path: PathSlot, delivery: &Delivery) {
        let ack = &mut self.acks[path.index()];
        match &mut self.flights[path.index()].detector {
            // Which transmission of a retransmitted chunk arrived is unknown: only chunks sent once
            // tell about what was sent before them.
            Detector::Rfc9260(_) if delivery.retransmitted => ack.acked_from = Some(0),
            Detector::Rfc9260(_) => {
                let transmission = delivery.transmission;
                ack.acked_below = ack.acked_below.max(transmission + 1);
                let from = ack.acked_from.map_or(transmission, |from| from.min(transmission));
                ack.acked_from = Some(from);
            }
            Detector::InTime(in_time) => in_time.on_delivered(delivery),
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
    ///
    /// What outlived its lifetime while the peer had it is given up.
    fn take_back_reneged(&mut self, now: Time) {
        let Some(last) = self.acked.take_first_if_at(self.first) else { return };
        for sequence in self.first..=last {
            let has_expired =
                |chunk: &Chunk| chunk.state == ChunkState::Acked && chunk.has_expired(now);
            if self.chunk(sequence).is_some_and(has_expired) {
                self.abandon(sequence, Abandonment::Expired);
            } else {
                self.return_to_flight(sequence);
            }
        }
    }

    fn find_all_losses(&mut self, now: Time, data_packets: u8) {
        // DAC of Iyengar 2006, section V: a SACK that newly acknowledges data of several paths is
        // one miss indication; of one path alone, each packet that it reports is one.
        let acknowledging = self.acks.iter().filter(|ack| ack.acked_from.is_some()).count();
        let counts = self.counts_packets() && acknowledging == 1;
        let data_packets = if counts { data_packets } else { 1 };
        for index in 0..self.flights.len() {
            let path = PathSlot(index as u8);
            self.find_losses(now, path, data_packets);
        }
    }

    fn find_losses(&mut self, now: Time, path: PathSlot, data_packets: u8) {
        let PathAck { acked_below, acked_from, answered, rtts, .. } = self.acks[path.index()];
        let srtt = rtts.map(|rtts| rtts.smoothed);
        let found = match self.flights[path.index()].detector {
            Detector::Rfc9260(_) => {
                let from = acked_from.unwrap_or(0);
                self.find_missing(now, path, Overtaking { from, below: acked_below, data_packets })
            }
            // Without news from the path, its reordering timer decides.
            Detector::InTime(_) if !answered => return,
            Detector::InTime(_) => self.detect_losses(now, path, srtt),
        };
        let losses = &mut self.acks[path.index()].losses;
        losses.chunks += found.chunks;
        losses.enters_recovery |= found.enters_recovery;
    }
}
