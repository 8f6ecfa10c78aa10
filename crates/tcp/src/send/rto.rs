//! The retransmission timeout (RFC 6298).

use std::time::Duration;

use crate::Config;

/// SRTT, RTTVAR and RTO.
#[derive(Debug, Clone)]
pub(crate) struct Rto {
    min: Duration,
    max: Duration,
    /// SRTT and RTTVAR; absent before the first measurement.
    smoothed: Option<(Duration, Duration)>,
    rto: Duration,
}

impl Rto {
    pub(crate) fn new(config: &Config) -> Self {
        let Config { rto_initial, rto_min, rto_max, .. } = *config;
        Self { min: rto_min, max: rto_max, smoothed: None, rto: rto_initial }
    }

    /// Takes a measurement. Undoes any back-off.
    pub(crate) fn on_sample(&mut self, rtt: Duration) {
        let (srtt, rttvar) = match self.smoothed {
            // RFC 6298, 2.2: "SRTT <- R", "RTTVAR <- R/2".
            None => (rtt, rtt / 2),
            // RFC 6298, 2.3: "The above SHOULD be computed using alpha=1/8 and beta=1/4".
            Some((srtt, rttvar)) => {
                (srtt * 7 / 8 + rtt / 8, rttvar * 3 / 4 + srtt.abs_diff(rtt) / 4)
            }
        };
        self.smoothed = Some((srtt, rttvar));
        // RFC 6298, 2.3: "RTO <- SRTT + max (G, K*RTTVAR)", with a clock that has no grain.
        self.rto = (srtt + 4 * rttvar).max(self.min).min(self.max);
    }

    /// RFC 6298, 5.5: "The host MUST set RTO <- RTO * 2 ("back off the timer")."
    pub(crate) fn back_off(&mut self) {
        self.rto = (self.rto * 2).min(self.max);
    }

    pub(crate) const fn rto(&self) -> Duration {
        self.rto
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|(srtt, _)| srtt)
    }

    /// The timer expired while the SYN was not acknowledged, and data is about to be sent.
    ///
    /// RFC 6298, 5.7: "If the timer expires awaiting the ACK of a SYN segment and the TCP
    /// implementation is using an RTO less than 3 seconds, the RTO MUST be re-initialized to 3
    /// seconds when data transmission begins".
    pub(crate) fn reinitialize(&mut self) {
        self.rto = self.rto.max(Duration::from_secs(3)).min(self.max);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn rto() -> Rto {
        Rto::new(&Config { rto_min: millis(10), ..Config::default() })
    }

    #[test]
    fn measurements_are_smoothed_by_an_eighth_and_a_quarter() {
        let mut rto = rto();
        assert_eq!(rto.rto(), millis(1_000));
        rto.on_sample(millis(100));
        assert_eq!(rto.rto(), millis(300));
        rto.on_sample(millis(180));
        // SRTT = 7/8 * 100 + 1/8 * 180, RTTVAR = 3/4 * 50 + 1/4 * 80
        assert_eq!((rto.srtt(), rto.rto()), (Some(millis(110)), millis(340)));
    }

    #[test]
    fn the_timeout_stays_in_its_bounds_and_a_measurement_ends_the_back_off() {
        let mut rto = rto();
        rto.on_sample(Duration::from_micros(50));
        assert_eq!(rto.rto(), millis(10));
        (0..20).for_each(|_| rto.back_off());
        assert_eq!(rto.rto(), millis(60_000));
        rto.on_sample(Duration::from_micros(50));
        assert_eq!(rto.rto(), millis(10));
    }
}
