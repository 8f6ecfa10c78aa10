//! Round-trip time and retransmission timeout (RFC 9260 section 6.3.1).

use std::time::Duration;

use crate::config::AssociationConfig;
use crate::send::Rtts;

/// SRTT, RTTVAR and RTO of one path.
#[derive(Debug, Clone)]
pub(crate) struct RttEstimator {
    min: Duration,
    max: Duration,
    /// How long the peer may delay a SACK.
    sack_delay: Duration,
    /// What four times RTTVAR counts at least in the RTO.
    variation_min: Duration,
    /// SRTT and RTTVAR; absent before the first sample.
    smoothed: Option<(Duration, Duration)>,
    latest: Option<Duration>,
    lowest: Option<Duration>,
    rto: Duration,
    /// What repeats as often as T1 does, for now: see [`rto_of_handshake`](Self::rto_of_handshake).
    t1: Option<Duration>,
}

impl RttEstimator {
    /// RFC 9260 section 6.3.1, C1: "Until an RTT measurement has been made for a packet sent to the
    /// given destination transport address, set RTO to the protocol parameter 'RTO.Initial'."
    pub(crate) fn new(config: &AssociationConfig) -> Self {
        Self {
            min: config.timers.rto_min,
            max: config.timers.rto_max,
            sack_delay: config.sack_delay(),
            variation_min: config.timers.rto_variation_min,
            smoothed: None,
            latest: None,
            lowest: None,
            rto: config.timers.rto_initial,
            t1: None,
        }
    }

    /// From here on the RTO is that of a handshake whose T1 is given, or no longer is.
    pub(crate) const fn follow_t1(&mut self, t1: Option<Duration>) {
        self.t1 = t1;
    }

    /// The bounds changed. A back-off stays, within them.
    pub(crate) fn set_bounds(&mut self, config: &AssociationConfig) {
        (self.min, self.max) = (config.timers.rto_min, config.timers.rto_max);
        self.sack_delay = config.sack_delay();
        self.variation_min = config.timers.rto_variation_min;
        self.rto = self.rto.max(self.computed_rto()).min(self.max);
    }

    /// Takes a sample (C2, C3, C6, C7). Undoes any back-off.
    pub(crate) fn on_sample(&mut self, rtt: Duration) {
        let (srtt, rttvar) = match self.smoothed {
            None => (rtt, rtt / 2),
            Some((srtt, rttvar)) => {
                // RTO.Alpha is 1/8 and RTO.Beta 1/4 (RFC 9260 section 16).
                let rttvar = rttvar * 3 / 4 + srtt.abs_diff(rtt) / 4;
                (srtt * 7 / 8 + rtt / 8, rttvar)
            }
        };
        self.smoothed = Some((srtt, rttvar));
        self.latest = Some(rtt);
        self.lowest = Some(self.lowest.map_or(rtt, |lowest| lowest.min(rtt)));
        self.rto = self.computed_rto();
    }

    /// RFC 9260 section 6.3.1, C3: "RTO = SRTT + 4 * RTTVAR", within its bounds.
    fn computed_rto(&self) -> Duration {
        self.expected_within(self.variation_min).max(self.min).min(self.max)
    }

    /// How long an acknowledgement usually takes at most, be it delayed. Zero before the first
    /// sample.
    ///
    /// While data flows, SACKs come at once and the variation goes towards nothing; the next SACK
    /// may be delayed all the same. RFC 9002 section 6.2.1 adds that delay; here it is what the
    /// variation counts at least.
    pub(crate) fn patience(&self) -> Duration {
        self.expected_within(self.sack_delay)
    }

    fn expected_within(&self, variation_min: Duration) -> Duration {
        let within = |(srtt, rttvar): (Duration, Duration)| {
            srtt.saturating_add((4 * rttvar).max(variation_min))
        };
        self.smoothed.map_or(Duration::ZERO, within)
    }

    /// RFC 9260 section 6.3.3, E2: "set RTO = RTO * 2 ("back off the timer")."
    pub(crate) fn back_off(&mut self) {
        self.rto = self.rto.saturating_mul(2).min(self.max);
    }

    /// The timeout had no reason: the RTO is as before it.
    pub(crate) fn undo_back_off(&mut self) {
        if self.smoothed.is_some() {
            self.rto = self.computed_rto();
        }
    }

    pub(crate) fn rto(&self) -> Duration {
        self.t1.map_or(self.rto, |t1| self.rto_of_handshake(t1))
    }

    /// The RTO of what is repeated as often as T1, but no sooner than its answer can be there: a
    /// first sample counts three times in the RTO, which is long where all waits for one packet.
    pub(crate) fn rto_of_handshake(&self, t1: Duration) -> Duration {
        let answered = self.srtt().map_or(t1, |srtt| srtt * 5 / 4 + self.sack_delay);
        self.rto.min(answered.max(t1))
    }

    /// The smoothed and the smallest round trip.
    pub(crate) fn round_trips(&self) -> Option<Rtts> {
        let (smoothed, _) = self.smoothed?;
        Some(Rtts { smoothed, lowest: self.lowest? })
    }

    pub(crate) fn srtt(&self) -> Option<Duration> {
        self.smoothed.map(|(srtt, _)| srtt)
    }

    pub(crate) fn rttvar(&self) -> Option<Duration> {
        self.smoothed.map(|(_, rttvar)| rttvar)
    }

    pub(crate) const fn latest(&self) -> Option<Duration> {
        self.latest
    }

    pub(crate) const fn lowest(&self) -> Option<Duration> {
        self.lowest
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const fn millis(millis: u64) -> Duration {
        Duration::from_millis(millis)
    }

    fn estimator() -> RttEstimator {
        RttEstimator::new(&AssociationConfig::default().with(|config| {
            config.timers.rto_initial = millis(1_000);
            config.timers.rto_min = millis(10);
            config.timers.rto_max = millis(60_000);
            config.timers.sack_delay = millis(5);
        }))
    }

    /// The delay of our own SACKs was silently added to the RTO.
    #[test]
    fn regression_the_rto_of_a_steady_path_was_above_that_of_the_rfc() {
        let mut rtt = estimator();
        (0..200).for_each(|_| rtt.on_sample(millis(300)));
        assert_eq!((rtt.rto(), rtt.patience()), (millis(300), millis(305)));
    }

    #[test]
    fn a_steady_path_leaves_room_for_a_delayed_sack_where_that_is_wanted() {
        let mut rtt = RttEstimator { variation_min: millis(20), ..estimator() };
        (0..200).for_each(|_| rtt.on_sample(millis(300)));
        assert_eq!(rtt.rto(), millis(320));
        rtt.on_sample(millis(400));
        assert!(rtt.rto() > millis(400), "a larger variation counts as it is: {:?}", rtt.rto());
    }

    #[test]
    fn the_first_sample_sets_rto_to_three_times_itself() {
        let mut rtt = estimator();
        assert_eq!(rtt.rto(), millis(1_000));
        rtt.on_sample(millis(100));
        assert_eq!(rtt.rto(), millis(300));
    }

    #[test]
    fn later_samples_are_smoothed_by_an_eighth_and_a_quarter() {
        let mut rtt = estimator();
        rtt.on_sample(millis(100));
        rtt.on_sample(millis(180));
        assert_eq!(rtt.srtt(), Some(millis(110)));
        // RTTVAR = 3/4 * 50 + 1/4 * 80
        assert_eq!(rtt.rttvar(), Some(Duration::from_micros(57_500)));
        assert_eq!(rtt.rto(), millis(340));
    }

    #[test]
    fn rto_stays_between_its_bounds_and_a_sample_ends_the_back_off() {
        let mut rtt = estimator();
        rtt.on_sample(Duration::from_micros(50));
        assert_eq!(rtt.rto(), millis(10));
        (0..20).for_each(|_| rtt.back_off());
        assert_eq!(rtt.rto(), millis(60_000));
        rtt.on_sample(Duration::from_micros(50));
        assert_eq!(rtt.rto(), millis(10));
    }

    #[test]
    fn a_handshake_is_repeated_as_t1_has_it_and_no_sooner_than_it_can_be_answered() {
        let mut rtt = estimator();
        rtt.follow_t1(Some(millis(60)));
        assert_eq!(rtt.rto(), millis(60));
        rtt.on_sample(millis(20));
        assert_eq!(rtt.rto(), millis(60));
        rtt.on_sample(millis(180));
        assert_eq!(rtt.srtt(), Some(millis(40)));
        rtt.follow_t1(Some(millis(20)));
        assert_eq!(rtt.rto(), millis(50 + 5), "with the delay of a SACK");
        rtt.follow_t1(None);
        assert!(rtt.rto() > millis(200));
    }
}
