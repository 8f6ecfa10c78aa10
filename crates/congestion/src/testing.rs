//! Acknowledgements for the controllers' unit tests.

use std::time::Duration;

use anabranch_sansio::Time;

use crate::{Ack, RateSample};

/// A SACK of `acked` bytes out of `flight_before`, which says nothing of time.
pub(crate) fn ack(now: Time, acked: usize, flight_before: usize) -> Ack {
    Ack {
        now,
        acked,
        flight_before,
        flight: flight_before.saturating_sub(acked),
        advanced: true,
        in_recovery: false,
        rtt: None,
        delivered: acked as u64,
        sample: None,
    }
}

/// A SACK of 1,000 bytes, with which `delivered` are, out of a steady flight, after `rtt`.
pub(crate) fn ack_with_rtt(now: Time, delivered: u64, flight: usize, rtt: Duration) -> Ack {
    let sample = RateSample {
        delivered: flight as u64,
        prior_delivered: delivered.saturating_sub(flight as u64),
        send_elapsed: rtt,
        ack_elapsed: rtt,
        is_reliable: true,
        is_app_limited: false,
        in_flight: flight,
        lost: 0,
        rtt: Some(rtt),
    };
    Ack { delivered, flight, sample: Some(sample), rtt: Some(rtt), ..ack(now, 1_000, flight) }
}
