//! What an acknowledgment or its absence means to the sender.

use std::ops::Range;

use anabranch_congestion::Ack;
use anabranch_sansio::Time;

use super::scoreboard::{DUP_THRESH, Delivery};
use super::{Phase, Sender};
use crate::FastRecovery;

/// What a segment acknowledges, as positions.
#[derive(Debug, Clone)]
pub(crate) struct Acknowledgment<'a> {
    /// SEG.SEQ, of the peer's numbers.
    pub(crate) sequence: u64,
    /// SEG.ACK.
    pub(crate) position: u64,
    /// SEG.WND, scaled.
    pub(crate) window: u64,
    /// The SACK blocks.
    pub(crate) blocks: &'a [Range<u64>],
    /// Whether the segment has data or a FIN.
    pub(crate) carries_data: bool,
}

impl Sender {
    /// Returns false for one that acknowledges what was not sent.
    #[must_use]
    pub(crate) fn on_ack(&mut self, now: Time, ack: &Acknowledgment<'_>) -> bool {
        if ack.position > self.next {
            return false;
        }
        if ack.position < self.una {
            return true;
        }
        let flight_before = self.flight();
        let acked = ack.position - self.una;
        let window_changed = self.update_window(ack);
        let mut delivery = self.board.acknowledge(now, ack.position);
        let sacked = self.take_blocks(now, ack.blocks, &mut delivery);
        if self.has_rack {
            self.board.lose_retransmissions(&delivery);
        }
        if let Some(sent_at) = delivery.sampled() {
            self.rto.on_sample(now - sent_at);
        }
        // RFC 5681 section 2 tells what a duplicate acknowledgment is; with SACK it is one with
        // news of what arrived (RFC 6675 section 2).
        let is_plain = acked == 0 && self.una < self.next && !ack.carries_data && !window_changed;
        let is_duplicate = if self.has_sack { sacked > 0 } else { is_plain };
        let was_recovering = matches!(self.phase, Phase::FastRecovery { .. });
        if acked > 0 {
            self.advance(now, ack.position);
        }
        self.tell_controller(now, &delivery, acked, flight_before, was_recovering);
        self.recover_from(now, acked, is_duplicate);
        self.tell_losses(now);
        true
    }

    /// RFC 9293 section 3.10.7.4: an older segment does not bring an older window back.
    fn update_window(&mut self, ack: &Acknowledgment<'_>) -> bool {
        let update = (ack.sequence, ack.position);
        if update < self.peer_window.updated_by {
            return false;
        }
        self.peer_window.updated_by = update;
        let edge = ack.position + ack.window;
        let was_closed = self.peer_window.edge <= self.una;
        let has_changed = edge != self.peer_window.edge;
        self.peer_window.edge = edge;
        self.peer_window.max = self.peer_window.max.max(ack.window);
        if was_closed {
            // RFC 9293 section 3.8.6.1: who answers probes is there, however long the window is
            // closed.
            self.retries = 0;
            if ack.window > 0 && ack.position == self.una {
                self.board.lose_first();
                self.must_resend = true;
            }
        }
        has_changed
    }

    fn take_blocks(&mut self, now: Time, blocks: &[Range<u64>], delivery: &mut Delivery) -> u64 {
        let before = delivery.octets;
        if self.has_sack {
            let (una, next) = (self.una, self.next);
            let sound = blocks.iter().filter(|b| una < b.start && b.start < b.end && b.end <= next);
            sound.for_each(|block| self.board.sack(now, block.clone(), delivery));
        }
        delivery.octets - before
    }

    fn advance(&mut self, now: Time, position: u64) {
        self.una = position;
        self.retries = 0;
        self.buffer.release(position);
        if self.una == self.next {
            // RFC 6298, 5.2: "When all outstanding data has been acknowledged, turn off the
            // retransmission timer."
            self.retransmit_at = None;
            return;
        }
        // RFC 6582 section 3.2: "For the first partial ACK that arrives during fast recovery, also
        // reset the retransmit timer."
        let is_late_partial = matches!(self.phase, Phase::FastRecovery { partial: true, point, .. }
            if position < point);
        if self.has_sack || !is_late_partial {
            // RFC 6298, 5.3: "When an ACK is received that acknowledges new data, restart the
            // retransmission timer so that it will expire after RTO seconds".
            self.retransmit_at = Some(now + self.rto.rto());
        }
    }

    fn tell_controller(
        &mut self,
        now: Time,
        delivery: &Delivery,
        acked: u64,
        flight_before: usize,
        in_recovery: bool,
    ) {
        let (delivered, sample) = self.board.sample_rate(now, delivery);
        let acked_now = if self.has_sack { delivery.octets } else { acked };
        self.controller.on_ack(&Ack {
            now,
            acked: acked_now as usize,
            flight_before,
            flight: self.flight(),
            advanced: acked > 0,
            in_recovery,
            rtt: delivery.sampled().map(|sent_at| now - sent_at),
            delivered,
            sample,
        });
    }

    fn tell_losses(&mut self, now: Time) {
        for lost in self.board.take_lost() {
            self.controller.on_chunk_lost(now, &lost);
        }
    }

    /// RFC 6675 section 5, or without selective acknowledgments RFC 6582 section 3.2.
    fn recover_from(&mut self, now: Time, acked: u64, is_duplicate: bool) {
        if acked > 0 {
            self.dup_acks = 0;
        }
        self.dup_acks += u32::from(is_duplicate);
        let first_is_lost = self.has_sack && self.board.find_losses(self.smss);
        match &mut self.phase {
            Phase::FastRecovery { point, .. } | Phase::AfterTimeout { point }
                if self.una >= *point =>
            {
                (self.phase, self.inflation) = (Phase::Open, 0);
            }
            // RFC 5681 section 3.2: "When the next ACK arrives that acknowledges previously
            // unacknowledged data, a TCP MUST set cwnd to ssthresh".
            Phase::FastRecovery { .. }
                if acked > 0 && !self.has_sack && self.fast_recovery == FastRecovery::Reno =>
            {
                (self.phase, self.inflation) = (Phase::Open, 0);
            }
            Phase::FastRecovery { partial, .. } if !self.has_sack => {
                *partial |= acked > 0;
                self.inflate(acked, is_duplicate);
            }
            Phase::FastRecovery { .. } | Phase::AfterTimeout { .. } => {}
            Phase::Open if self.dup_acks >= DUP_THRESH || first_is_lost => {
                self.fast_retransmit(now);
            }
            // RFC 5681 section 3.2: "On the first and second duplicate ACKs received at a sender, a
            // TCP SHOULD send a segment of previously unsent data". With SACK, the pipe says so.
            Phase::Open if !self.has_sack => {
                self.inflation = u64::from(self.dup_acks) * self.smss as u64;
            }
            Phase::Open => {}
        }
    }

    /// RFC 6582 section 3.2, in fast recovery.
    fn inflate(&mut self, acked: u64, is_duplicate: bool) {
        let smss = self.smss as u64;
        if acked > 0 {
            // "In this case, retransmit the first unacknowledged segment. Deflate the congestion
            // window by the amount of new data acknowledged by the Cumulative Acknowledgment field.
            // If the partial ACK acknowledges at least one SMSS of new data, then add back SMSS
            // bytes to the congestion window."
            self.board.lose_first();
            self.must_resend = true;
            let back = if acked >= smss { smss } else { 0 };
            self.inflation = self.inflation.saturating_sub(acked) + back;
        }
        if is_duplicate {
            // RFC 5681 section 3.2: "A TCP MAY therefore limit the number of times cwnd is
            // artificially inflated during loss recovery to the number of outstanding segments".
            self.inflation = (self.inflation + smss).min(self.flight() as u64);
        }
    }

    fn fast_retransmit(&mut self, now: Time) {
        // RFC 6582 section 3.2: "If not, the TCP does not enter fast retransmit and does not reset
        // ssthresh": the acknowledgments are for what was sent before the last recovery ended.
        if !self.has_sack && self.una <= self.recover {
            return;
        }
        self.controller.on_loss(now);
        self.stats.recoveries += 1;
        self.recover = self.next;
        self.board.lose_first();
        self.must_resend = true;
        if !self.has_sack {
            // RFC 5681 section 3.2: "The lost segment starting at SND.UNA MUST be retransmitted and
            // cwnd set to ssthresh plus 3*SMSS."
            self.inflation = u64::from(DUP_THRESH) * self.smss as u64;
        }
        // RFC 6675 section 5, 4.1 and 4.3: "RecoveryPoint = HighData", and "set both HighRxt and
        // RescueRxt to the highest sequence number in the retransmitted segment."
        let rescue = self.board.first().map_or(self.una, |first| first.end);
        self.phase = Phase::FastRecovery { point: self.next, rescue, partial: false };
    }

    /// Returns whether the connection is to be given up.
    #[must_use]
    pub(crate) fn handle_timeout(&mut self, now: Time) -> bool {
        self.pacer.on_time(now);
        if self.probe_at.is_some_and(|at| at <= now) {
            self.rto.back_off();
            (self.probe_at, self.must_probe) = (None, true);
        }
        if self.retransmit_at.is_none_or(|at| at > now) {
            return false;
        }
        self.retries += 1;
        self.rto.back_off();
        self.retransmit_at = Some(now + self.rto.rto());
        self.must_resend = true;
        if self.peer_window.edge <= self.una {
            // What the peer has no room for was not lost by the network.
            self.board.lose_first();
        } else {
            self.lose_all(now);
        }
        self.tell_losses(now);
        self.retries > self.retries_max
    }

    fn lose_all(&mut self, now: Time) {
        self.stats.timeouts += 1;
        self.controller.on_timeout(now);
        self.board.lose_all();
        (self.dup_acks, self.inflation) = (0, 0);
        // RFC 6675 section 5.1: "RecoveryPoint MUST be set to HighData", and "a new recovery phase
        // (as described in Section 5) MUST NOT be initiated until HighACK is greater than or equal
        // to the new value of RecoveryPoint."
        self.recover = self.next;
        self.phase = Phase::AfterTimeout { point: self.next };
    }
}
