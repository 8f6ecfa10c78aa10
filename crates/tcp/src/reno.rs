//! Slow start and congestion avoidance (RFC 5681).

use anabranch_congestion::{Ack, CongestionController, ControllerMetrics, SentData};
use anabranch_sansio::Time;

/// RFC 5681's controller: one segment more per round trip, half of it after a loss.
///
/// It counts bytes, so that its growth does not depend on how many segments one acknowledgment
/// answers: under independent losses of probability p its rate is 1.31 SMSS / (RTT sqrt p) (Mathis
/// 1997 with b = 1).
#[derive(Debug)]
pub struct Reno {
    smss: usize,
    /// IW, in bytes.
    initial: usize,
    cwnd: usize,
    ssthresh: usize,
    /// Bytes acknowledged since cwnd last grew in congestion avoidance.
    bytes_acked: usize,
    /// FlightSize, as far as it was told.
    flight: usize,
    /// The timer expired, and nothing was acknowledged since.
    timed_out: bool,
}

impl Reno {
    /// A controller for segments of `smss` bytes that begins with a window of so many of them.
    #[must_use]
    pub fn new(smss: usize, initial_window: usize) -> Self {
        let initial = initial_window.max(1) * smss;
        Self {
            smss,
            initial,
            cwnd: initial,
            ssthresh: usize::MAX,
            bytes_acked: 0,
            flight: 0,
            timed_out: false,
        }
    }

    fn is_in_slow_start(&self) -> bool {
        self.cwnd < self.ssthresh
    }

    /// RFC 5681 section 3.1: "ssthresh = max (FlightSize / 2, 2*SMSS)". What Limited Transmit sent
    /// beyond the window does not count (section 3.2, step 2).
    fn halve(&mut self) {
        self.ssthresh = (self.flight.min(self.cwnd) / 2).max(2 * self.smss);
        self.bytes_acked = 0;
    }
}

impl CongestionController for Reno {
    fn window(&self) -> usize {
        self.cwnd
    }

    fn on_sent(&mut self, sent: &SentData) {
        self.flight = sent.flight + sent.bytes;
    }

    fn on_ack(&mut self, ack: &Ack) {
        self.flight = ack.flight;
        if ack.acked == 0 {
            return;
        }
        self.timed_out = false;
        // A window that was not filled says nothing about a larger one.
        if ack.in_recovery || ack.flight_before + self.smss <= self.cwnd {
            return;
        }
        if self.is_in_slow_start() {
            // RFC 5681 section 3.1: "cwnd += min (N, SMSS)", where N is the number of bytes that
            // the ACK acknowledges.
            self.cwnd += ack.acked.min(self.smss);
            return;
        }
        // RFC 5681 section 3.1: "When the number of bytes acknowledged reaches cwnd, then cwnd can
        // be incremented by up to SMSS bytes."
        self.bytes_acked += ack.acked;
        if self.bytes_acked >= self.cwnd {
            self.bytes_acked -= self.cwnd;
            self.cwnd += self.smss;
        }
    }

    fn on_loss(&mut self, _now: Time) {
        self.halve();
        self.cwnd = self.ssthresh;
    }

    fn on_timeout(&mut self, _now: Time) {
        // RFC 5681 section 3.1: "when a TCP sender detects segment loss using the retransmission
        // timer and the given segment has already been retransmitted by way of the retransmission
        // timer at least once, the value of ssthresh is held constant."
        if !self.timed_out {
            self.halve();
        }
        self.timed_out = true;
        // RFC 5681 section 3.1: "cwnd MUST be set to no more than the loss window, LW, which equals
        // 1 full-sized segment".
        self.cwnd = self.smss;
    }

    fn on_idle(&mut self, periods: u32) {
        // RFC 5681 section 4.1: "we define RW = min(IW,cwnd)."
        if periods > 0 {
            self.cwnd = self.cwnd.min(self.initial);
        }
    }

    fn metrics(&self) -> ControllerMetrics {
        ControllerMetrics {
            window: self.cwnd,
            ssthresh: (self.ssthresh != usize::MAX).then_some(self.ssthresh),
            slow_start: self.is_in_slow_start(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const SMSS: usize = 1_000;

    fn ack(acked: usize, flight_before: usize) -> Ack {
        Ack {
            now: Time::ZERO,
            acked,
            flight_before,
            flight: flight_before - acked,
            advanced: true,
            in_recovery: false,
            rtt: None,
            delivered: 0,
            sample: None,
        }
    }

    fn with_flight(segments: usize) -> Reno {
        let mut reno = Reno::new(SMSS, segments);
        let (now, bytes) = (Time::ZERO, SMSS);
        let flight = (segments - 1) * SMSS;
        reno.on_sent(&SentData { now, bytes, flight, is_app_limited: false });
        reno
    }

    #[test]
    fn slow_start_grows_by_one_segment_per_acknowledgment() {
        let mut reno = with_flight(10);
        reno.on_ack(&ack(2 * SMSS, 10 * SMSS));
        assert_eq!(reno.window(), 11 * SMSS);
    }

    #[test]
    fn congestion_avoidance_grows_by_one_segment_per_window() {
        let mut reno = with_flight(20);
        reno.on_loss(Time::ZERO);
        assert_eq!(reno.window(), 10 * SMSS);
        (0..4).for_each(|_| reno.on_ack(&ack(2 * SMSS, 10 * SMSS)));
        assert_eq!(reno.window(), 10 * SMSS);
        reno.on_ack(&ack(2 * SMSS, 10 * SMSS));
        assert_eq!(reno.window(), 11 * SMSS);
    }

    #[test]
    fn a_loss_leaves_half_of_what_was_in_flight_and_two_segments_at_least() {
        let mut reno = Reno::new(SMSS, 30);
        reno.on_ack(&ack(SMSS, 13 * SMSS));
        reno.on_loss(Time::ZERO);
        assert_eq!(reno.window(), 6 * SMSS);
        let mut small = with_flight(2);
        small.on_loss(Time::ZERO);
        assert_eq!(small.window(), 2 * SMSS);
    }

    #[test]
    fn a_second_timeout_in_a_row_leaves_the_threshold() {
        let mut reno = with_flight(20);
        reno.on_timeout(Time::ZERO);
        assert_eq!((reno.window(), reno.metrics().ssthresh), (SMSS, Some(10 * SMSS)));
        reno.on_timeout(Time::ZERO);
        assert_eq!(reno.metrics().ssthresh, Some(10 * SMSS));
        reno.on_ack(&ack(SMSS, SMSS));
        reno.on_timeout(Time::ZERO);
        assert_eq!(reno.metrics().ssthresh, Some(2 * SMSS));
    }

    #[test]
    fn a_window_that_is_not_filled_does_not_grow() {
        let mut reno = with_flight(10);
        reno.on_ack(&ack(SMSS, 9 * SMSS));
        assert_eq!(reno.window(), 10 * SMSS);
    }

    #[test]
    fn idling_leaves_the_initial_window() {
        let mut reno = with_flight(10);
        (0..5).for_each(|n| reno.on_ack(&ack(SMSS, (10 + n) * SMSS)));
        reno.on_idle(1);
        assert_eq!(reno.window(), 10 * SMSS);
    }
}
