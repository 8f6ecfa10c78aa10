//! The congestion control of RFC 9260 section 7.

use anabranch_sansio::Time;

use crate::{Ack, CongestionController, ControllerMetrics, large_initial_window};

/// Slow start, congestion avoidance by `partial_bytes_acked`, halving on loss.
#[derive(Debug)]
pub struct Rfc9260 {
    pmdcs: usize,
    /// What cwnd begins with, and what idling leaves of it.
    initial: usize,
    cwnd: usize,
    ssthresh: usize,
    partial_bytes_acked: usize,
    /// T3-rtx expired, and nothing was acknowledged since.
    timed_out: bool,
    /// cwnd and ssthresh before the last reduction.
    before: Option<(usize, usize)>,
}

impl Rfc9260 {
    /// A controller for a path whose DATA chunks have at most `pmdcs` bytes.
    #[must_use]
    pub fn new(pmdcs: usize) -> Self {
        // RFC 9260 section 7.2.1: "The initial cwnd before data transmission MUST be set to
        // min(4 * PMDCS, max(2 * PMDCS, 4404)) bytes if the peer address is an IPv4 address and to
        // min(4 * PMDCS, max(2 * PMDCS, 4344)) bytes if the peer address is an IPv6 address."
        // The smaller of the two serves both.
        Self::beginning_with(pmdcs, (4 * pmdcs).min((2 * pmdcs).max(4_344)))
    }

    /// As [`new`](Self::new), with the initial window of RFC 2960 section 7.2.1: twice the MTU.
    #[must_use]
    pub const fn with_small_initial_window(pmdcs: usize) -> Self {
        Self::beginning_with(pmdcs, 2 * pmdcs)
    }

    /// As [`new`](Self::new), with the initial window of QUIC.
    #[must_use]
    pub fn with_large_initial_window(pmdcs: usize) -> Self {
        Self::beginning_with(pmdcs, large_initial_window(pmdcs))
    }

    const fn beginning_with(pmdcs: usize, initial: usize) -> Self {
        Self {
            pmdcs,
            initial,
            cwnd: initial,
            ssthresh: usize::MAX,
            partial_bytes_acked: 0,
            timed_out: false,
            before: None,
        }
    }

    /// RFC 9260 section 7.2.1: "cwnd MUST be increased by, at most, the lesser of 1. the total size
    /// of the previously outstanding DATA chunk(s) acknowledged and 2. L times the destination's
    /// PMDCS." L is 1.
    fn slow_start(&mut self, ack: &Ack) {
        // "only if the current congestion window is being fully utilized and the data sender is
        // not in Fast Recovery"
        let utilized = ack.flight_before + self.pmdcs > self.cwnd;
        if ack.advanced && utilized && !ack.in_recovery {
            self.cwnd += ack.acked.min(self.pmdcs);
        }
    }

    /// RFC 9260 section 7.2.2, the practical way. What is acknowledged in Fast Recovery does not
    /// count: it was sent under the window that proved too large.
    fn congestion_avoidance(&mut self, ack: &Ack) {
        if ack.in_recovery {
            return;
        }
        self.partial_bytes_acked += ack.acked;
        if self.partial_bytes_acked < self.cwnd {
            return;
        }
        // A window of whole packets is in use when not one more packet fits into it.
        if ack.flight_before + self.pmdcs <= self.cwnd {
            self.partial_bytes_acked = self.cwnd;
            return;
        }
        self.partial_bytes_acked -= self.cwnd;
        self.cwnd += self.pmdcs;
    }

    /// RFC 9260 section 7.2.3: "ssthresh = max(cwnd / 2, 4 * PMDCS)".
    fn reduce_threshold(&mut self) {
        // Timeouts in a row are one reduction.
        if !self.timed_out {
            self.before = Some((self.cwnd, self.ssthresh));
        }
        self.ssthresh = (self.cwnd / 2).max(4 * self.pmdcs);
        self.partial_bytes_acked = 0;
    }
}

impl CongestionController for Rfc9260 {
    /// RFC 9260 section 7.2.1: "The initial cwnd after a retransmission timeout MUST be no more
    /// than PMDCS, and only one packet is allowed to be in flight until successful
    /// acknowledgement."
    fn window(&self) -> usize {
        if self.timed_out { 1 } else { self.cwnd }
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.timed_out = false;
        if self.cwnd <= self.ssthresh {
            self.slow_start(ack);
        } else {
            self.congestion_avoidance(ack);
        }
        // RFC 9260 section 7.2.2: "When all of the data transmitted by the sender has been
        // acknowledged by the receiver, partial_bytes_acked is initialized to 0."
        if ack.flight == 0 {
            self.partial_bytes_acked = 0;
        }
    }

    fn on_loss(&mut self, _now: Time) {
        self.reduce_threshold();
        self.cwnd = self.ssthresh;
    }

    fn on_timeout(&mut self, _now: Time) {
        self.reduce_threshold();
        self.cwnd = self.pmdcs;
        self.timed_out = true;
    }

    /// RFC 4015 section 3.2 goes back to the flight and the ssthresh of before the timeout.
    fn undo_loss(&mut self, _now: Time) {
        let Some((cwnd, ssthresh)) = self.before.take() else { return };
        self.cwnd = self.cwnd.max(cwnd);
        self.ssthresh = self.ssthresh.max(ssthresh);
        self.timed_out = false;
    }

    /// RFC 9260 section 7.2.1: "While the endpoint does not transmit data on a given transport
    /// address, the cwnd of the transport address SHOULD be adjusted to max(cwnd / 2, 4 * PMDCS)
    /// once per RTO. Before the first cwnd adjustment, the ssthresh of the transport address
    /// SHOULD be set to the cwnd." A larger initial window is a larger floor.
    fn on_idle(&mut self, periods: u32) {
        let floor = self.initial.max(4 * self.pmdcs);
        if periods == 0 || self.cwnd <= floor {
            return;
        }
        self.ssthresh = self.cwnd;
        let halved = self.cwnd.checked_shr(periods).unwrap_or(0);
        self.cwnd = halved.max(floor);
    }

    fn on_mtu(&mut self, pmdcs: usize) {
        self.pmdcs = pmdcs;
    }

    fn metrics(&self) -> ControllerMetrics {
        ControllerMetrics {
            window: self.cwnd,
            ssthresh: (self.ssthresh != usize::MAX).then_some(self.ssthresh),
            slow_start: self.cwnd <= self.ssthresh,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const PMDCS: usize = 1_000;

    fn ack(acked: usize, flight_before: usize) -> Ack {
        testing::ack(Time::ZERO, acked, flight_before)
    }

    #[test]
    fn initial_window_is_four_small_or_three_full_chunks() {
        assert_eq!(Rfc9260::new(1_000).window(), 4_000);
        assert_eq!(Rfc9260::new(1_452).window(), 4_344);
        assert_eq!(Rfc9260::new(3_000).window(), 6_000);
    }

    #[test]
    fn a_small_initial_window_is_two_chunks() {
        assert_eq!(Rfc9260::with_small_initial_window(PMDCS).window(), 2 * PMDCS);
    }

    #[test]
    fn a_large_initial_window_is_ten_chunks_and_what_idling_leaves() {
        let mut controller = Rfc9260::with_large_initial_window(PMDCS);
        assert_eq!(controller.window(), 10_000);
        assert_eq!(Rfc9260::with_large_initial_window(1_500).window(), 14_720);
        controller.cwnd = 40_000;
        controller.on_idle(9);
        assert_eq!(controller.window(), 10_000);
        controller.on_timeout(Time::ZERO);
        assert_eq!(controller.metrics().window, PMDCS);
    }

    #[test]
    fn slow_start_adds_what_was_acked_up_to_one_chunk() {
        let mut controller = Rfc9260::new(PMDCS);
        controller.on_ack(&ack(2_000, 4_000));
        assert_eq!(controller.window(), 5_000, "at most L = 1 chunk");
        controller.on_ack(&ack(300, 5_000));
        assert_eq!(controller.window(), 5_300);
    }

    #[test]
    fn slow_start_needs_a_full_window_an_advance_and_no_recovery() {
        let mut controller = Rfc9260::new(PMDCS);
        controller.on_ack(&ack(1_000, 2_000));
        controller.on_ack(&Ack { advanced: false, ..ack(1_000, 4_000) });
        controller.on_ack(&Ack { in_recovery: true, ..ack(1_000, 4_000) });
        assert_eq!(controller.window(), 4_000);
    }

    #[test]
    fn congestion_avoidance_adds_one_chunk_per_window() {
        let mut controller = Rfc9260::new(PMDCS);
        controller.cwnd = 20_000;
        controller.on_loss(Time::ZERO);
        assert_eq!(controller.window(), 10_000);
        controller.cwnd += 1; // above ssthresh
        let before = controller.window();
        for _ in 0..10 {
            controller.on_ack(&ack(1_000, before));
        }
        assert_eq!(controller.window(), before, "10000 of 10001 bytes are acknowledged");
        controller.on_ack(&ack(1_000, before));
        assert_eq!(controller.window(), before + PMDCS);
    }

    #[test]
    fn congestion_avoidance_does_not_grow_a_window_that_is_not_used() {
        let mut controller = Rfc9260::new(PMDCS);
        controller.ssthresh = 8_000;
        controller.cwnd = 10_000;
        for _ in 0..50 {
            controller.on_ack(&ack(1_000, 3_000));
        }
        assert_eq!(controller.window(), 10_000);
    }

    #[test]
    fn timeout_leaves_one_chunk_and_half_the_window_as_threshold() {
        let mut controller = Rfc9260::new(PMDCS);
        controller.cwnd = 20_000;
        controller.on_timeout(Time::ZERO);
        assert_eq!(controller.window(), 1, "one packet, whatever its size");
        assert_eq!(controller.metrics().window, PMDCS);
        assert_eq!(controller.metrics().ssthresh, Some(10_000));
        controller.on_ack(&ack(500, 500));
        assert_eq!(controller.window(), PMDCS + 500);
        controller.on_timeout(Time::ZERO);
        assert_eq!(controller.metrics().ssthresh, Some(4_000), "never under four chunks");
    }

    #[test]
    fn a_reduction_without_reason_is_taken_back_once() {
        let mut controller = Rfc9260::new(PMDCS);
        controller.cwnd = 20_000;
        controller.on_timeout(Time::ZERO);
        controller.on_timeout(Time::ZERO);
        controller.undo_loss(Time::ZERO);
        assert_eq!((controller.window(), controller.metrics().ssthresh), (20_000, None));
        controller.on_loss(Time::ZERO);
        controller.on_loss(Time::ZERO);
        controller.undo_loss(Time::ZERO);
        controller.undo_loss(Time::ZERO);
        assert_eq!(controller.window(), 10_000, "the first loss was one");
    }

    #[test]
    fn idling_halves_the_window_per_timeout_down_to_four_chunks() {
        let mut controller = Rfc9260::new(PMDCS);
        controller.cwnd = 40_000;
        controller.on_idle(2);
        assert_eq!((controller.window(), controller.ssthresh), (10_000, 40_000));
        controller.on_idle(200);
        assert_eq!(controller.window(), 4_000);
    }
}
