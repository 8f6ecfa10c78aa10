//! [`Timeout`]: round-trip times and the transmit timeout, as in TCP (RFC 6298).

use std::time::Duration;

/// RFC 4341 section 5: "Because DCCP does not retransmit data, DCCP does not require TCP's
/// recommended minimum timeout of one second." This one is longer than a delayed acknowledgement.
const TIMEOUT_MIN: Duration = Duration::from_millis(300);
/// RFC 6298 section 2: "A maximum value MAY be placed on RTO provided it is at least 60 seconds."
const TIMEOUT_MAX: Duration = Duration::from_secs(60);
/// RFC 6298 section 2.1: "Until a round-trip time (RTT) measurement has been made for a segment
/// sent between the sender and receiver, the sender SHOULD set RTO <- 1 second".
const TIMEOUT_INITIAL: Duration = Duration::from_secs(1);
/// G: timers are exact.
const GRANULARITY: Duration = Duration::from_millis(1);

/// Round-trip times, and how long to wait for an acknowledgement.
#[derive(Debug)]
pub(super) struct Timeout {
    /// SRTT and RTTVAR.
    smoothed: Option<(Duration, Duration)>,
    backoff: u32,
}

impl Timeout {
    pub(super) const fn new() -> Self {
        Self { smoothed: None, backoff: 0 }
    }

    pub(super) fn on_sample(&mut self, sample: Duration) {
        self.backoff = 0;
        self.smoothed = Some(match self.smoothed {
            // RFC 6298 section 2.2: "SRTT <- R, RTTVAR <- R/2".
            None => (sample, sample / 2),
            // RFC 6298 section 2.3: "RTTVAR <- (1 - beta) * RTTVAR + beta * |SRTT - R'|, SRTT <- (1
            // - alpha) * SRTT + alpha * R'", where "alpha=1/8 and beta=1/4".
            Some((srtt, rttvar)) => {
                (srtt * 7 / 8 + sample / 8, rttvar * 3 / 4 + srtt.abs_diff(sample) / 4)
            }
        });
    }

    pub(super) fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|(srtt, _)| srtt)
    }

    /// TO.
    pub(super) fn timeout(&self) -> Duration {
        let timeout = self
            .smoothed
            .map_or(TIMEOUT_INITIAL, |(srtt, rttvar)| srtt + GRANULARITY.max(rttvar * 4));
        // RFC 4341 section 5: "The exponential backoff of the timer is exactly as in TCP."
        let backed_off = timeout.max(TIMEOUT_MIN).saturating_mul(1 << self.backoff);
        backed_off.min(TIMEOUT_MAX)
    }

    /// Data arrived that were sent after the last timeout. Nothing is sent twice, so this is
    /// certain even where it gives no round-trip time.
    pub(super) const fn on_progress(&mut self) {
        self.backoff = 0;
    }

    pub(super) fn back_off(&mut self) {
        self.backoff = (self.backoff + 1).min(16);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn the_timeout_follows_rfc_6298_above_its_least() {
        let mut timeout = Timeout::new();
        assert_eq!(timeout.timeout(), TIMEOUT_INITIAL);
        timeout.on_sample(200 * MS);
        assert_eq!((timeout.srtt(), timeout.timeout()), (Some(200 * MS), 600 * MS));
        // RTTVAR = 75 + 20, SRTT = 175 + 35.
        timeout.on_sample(280 * MS);
        assert_eq!((timeout.srtt(), timeout.timeout()), (Some(210 * MS), 590 * MS));
        (0..100).for_each(|_| timeout.on_sample(10 * MS));
        assert_eq!(timeout.timeout(), TIMEOUT_MIN);
    }

    #[test]
    fn it_backs_off_to_a_minute_until_something_is_heard() {
        let mut timeout = Timeout::new();
        timeout.on_sample(200 * MS);
        let backed_off: Vec<_> = (0..8)
            .map(|_| {
                timeout.back_off();
                timeout.timeout().as_millis()
            })
            .collect();
        assert_eq!(backed_off[..3], [1_200, 2_400, 4_800]);
        assert_eq!(backed_off[6..], [60_000, 60_000]);
        timeout.on_sample(200 * MS);
        assert!(timeout.timeout() < Duration::from_secs(1));
    }
}
