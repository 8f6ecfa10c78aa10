//! RACK (RFC 8985 section 6): what the deliveries on one path tell about what was sent before.
//!
//! The number of a transmission on its path takes the place of RFC 8985's pair of time and sequence
//! number: it says which of two was sent later, without ties.

use std::time::Duration;

use anabranch_sansio::Time;

/// RFC 8985 section 6.2, step 4: "RACK persists using the inflated RACK.reo_wnd for up to 16 loss
/// recoveries".
const PERSISTENCE: u32 = 16;

/// How long a smallest round-trip time holds at least, and twice that at most. RFC 8985 section
/// 6.2, step 1: "The sender SHOULD track a windowed min-filtered estimate of recent RTT
/// measurements".
const MIN_RTT_WINDOW: Duration = Duration::from_secs(10);

/// An acknowledged chunk.
#[derive(Debug, Clone, Copy)]
pub(super) struct Delivery {
    /// When the SACK came.
    pub(super) now: Time,
    /// Of the latest transmission.
    pub(super) sent_at: Time,
    pub(super) transmission: u64,
    pub(super) sequence: u64,
    /// Whether it was sent more than once, on whatever path.
    pub(super) retransmitted: bool,
}

/// The variables of RFC 8985 section 5.3 for one path.
#[derive(Debug)]
pub(super) struct Rack {
    /// The transmission of RACK.segment, the one sent last of all that were delivered, plus one.
    delivered_below: u64,
    /// The newest delivery of the SACK at hand, and its round trip.
    newest: Option<u64>,
    /// RACK.rtt.
    rtt: Option<Duration>,
    min_rtt: WindowedMin,
    /// The newest round trip of a chunk that was sent once, and when it ended.
    certain: Option<(Time, Duration)>,
    /// Whether T3-rtx expired since.
    timed_out: bool,
    /// RACK.fack: the highest TSN delivered.
    fack: u64,
    reordering_seen: bool,
    /// RACK.dsack_round: the end of the round trip in which a duplicate was reported.
    dsack_round: Option<u64>,
    reo_wnd_mult: u32,
    reo_wnd_persist: u32,
}

impl Default for Rack {
    fn default() -> Self {
        Self {
            delivered_below: 0,
            newest: None,
            rtt: None,
            min_rtt: WindowedMin::default(),
            certain: None,
            timed_out: false,
            fack: 0,
            reordering_seen: false,
            dsack_round: None,
            reo_wnd_mult: 1,
            reo_wnd_persist: PERSISTENCE,
        }
    }
}

impl Rack {
    /// What was sent before this transmission, and is neither delivered nor found lost, was
    /// overtaken.
    pub(super) const fn delivered_below(&self) -> u64 {
        self.delivered_below
    }

    pub(super) const fn rtt(&self) -> Option<Duration> {
        self.rtt
    }

    pub(super) fn min_rtt(&self) -> Option<Duration> {
        self.min_rtt.value()
    }

    /// Whether what was sent again so long ago cannot be answered yet: the answer is to an earlier
    /// transmission.
    ///
    /// Beside the smallest round trip the last one counts, for as long as it says something of now.
    /// Where a queue is longer than a timeout, what was sent again would else seem to have
    /// overtaken all that still waits, which would be sent again in turn.
    pub(super) fn is_too_soon(&self, now: Time, rtt: Duration) -> bool {
        let is_recent = |(at, certain): &(Time, Duration)| now < *at + 2 * *certain;
        let queued = self.certain.filter(is_recent).map(|(_, certain)| certain * 3 / 4);
        self.min_rtt().is_none_or(|min| rtt < min.max(queued.unwrap_or_default()))
    }

    /// A new SACK is about to be taken.
    pub(super) const fn begin_sack(&mut self) {
        self.newest = None;
    }

    /// A chunk was delivered; to be called in the order of TSNs.
    pub(super) fn on_delivered(&mut self, delivery: &Delivery) {
        let Delivery { now, transmission, sequence, retransmitted, .. } = *delivery;
        let rtt = now - delivery.sent_at;
        // RFC 8985 section 6.2, step 2: "ignore a segment as invalid if any of its sequence range
        // has been retransmitted before and" it "was last retransmitted less than RACK.min_rtt
        // ago."
        if retransmitted && (self.timed_out || self.is_too_soon(now, rtt)) {
            return;
        }
        if !retransmitted {
            self.certain = Some((now, rtt));
            self.timed_out = false;
        }
        if self.newest.is_none_or(|newest| newest < transmission) {
            self.newest = Some(transmission);
            self.rtt = Some(rtt);
            self.min_rtt.update(now, rtt);
        }
        self.delivered_below = self.delivered_below.max(transmission + 1);
        // Step 3: "If a never-retransmitted segment that's below RACK.fack is (selectively or
        // cumulatively) acknowledged, it has been delivered out of order."
        self.reordering_seen |= !retransmitted && sequence < self.fack;
        self.fack = self.fack.max(sequence);
    }

    /// T3-rtx expired: what is sent again now and what was on its way are told apart only by what
    /// was sent once (RFC 5682 section 2.1).
    pub(super) const fn on_timeout(&mut self) {
        self.timed_out = true;
    }

    /// The cumulative TSN ack point moved.
    pub(super) fn on_cumulative(&mut self, point: u64) {
        self.dsack_round = self.dsack_round.filter(|end| point < *end);
    }

    /// The peer reported a duplicate of what was retransmitted; `next` is the next new TSN.
    ///
    /// RFC 8985 section 6.2, step 4: "The RACK.reo_wnd increases linearly for every round trip in
    /// which the sender receives some DSACK option". SCTP's SACK lists duplicates by itself.
    pub(super) fn on_duplicate(&mut self, next: u64) {
        if self.dsack_round.is_none() {
            self.dsack_round = Some(next);
            self.reo_wnd_mult = self.reo_wnd_mult.saturating_add(1);
            self.reo_wnd_persist = PERSISTENCE;
        }
    }

    pub(super) const fn on_recovery_end(&mut self) {
        self.reo_wnd_persist = self.reo_wnd_persist.saturating_sub(1);
        if self.reo_wnd_persist == 0 {
            self.reo_wnd_mult = 1;
        }
    }

    /// RACK.reo_wnd: how much later than what overtook it a chunk may still arrive.
    ///
    /// RFC 8985 section 6.2, step 4: "when no reordering has been observed, the RACK.reo_wnd is set
    /// to 0 both upon entering and during fast recovery"; it is entered also "when the number of
    /// SACKed segments matches or exceeds DupThresh". `in_recovery` stands for either.
    pub(super) fn reo_wnd(&self, in_recovery: bool, srtt: Option<Duration>) -> Duration {
        if in_recovery && !self.reordering_seen {
            return Duration::ZERO;
        }
        let window = self.min_rtt().unwrap_or_default() * self.reo_wnd_mult / 4;
        window.min(srtt.unwrap_or(Duration::MAX))
    }
}

/// The smallest value of the last [`MIN_RTT_WINDOW`] or two.
#[derive(Debug, Default)]
struct WindowedMin {
    before: Option<Duration>,
    current: Option<Duration>,
    turns_at: Time,
}

impl WindowedMin {
    fn update(&mut self, now: Time, value: Duration) {
        if now >= self.turns_at {
            self.before = self.current.take();
            self.turns_at = now + MIN_RTT_WINDOW;
        }
        self.current = Some(self.current.map_or(value, |current| current.min(value)));
    }

    fn value(&self) -> Option<Duration> {
        self.before.into_iter().chain(self.current).min()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const RTT: Duration = Duration::from_millis(40);

    fn delivery(number: u64, sent_ms: u64, now_ms: u64) -> Delivery {
        Delivery {
            now: Time::from_millis(now_ms),
            sent_at: Time::from_millis(sent_ms),
            transmission: number,
            sequence: 100 + number,
            retransmitted: false,
        }
    }

    /// Ten chunks sent a millisecond apart, and delivered after 40 ms each.
    fn steady() -> Rack {
        let mut rack = Rack::default();
        for number in 0..10 {
            rack.begin_sack();
            rack.on_delivered(&delivery(number, number, number + 40));
        }
        rack
    }

    #[test]
    fn the_round_trip_is_that_of_the_chunk_sent_last_of_a_sack() {
        let mut rack = Rack::default();
        rack.on_delivered(&delivery(0, 0, 60));
        rack.on_delivered(&delivery(1, 20, 60));
        assert_eq!((rack.delivered_below(), rack.rtt()), (2, Some(RTT)));
    }

    #[test]
    fn an_ack_that_comes_too_soon_is_not_one_of_the_retransmission() {
        let mut rack = steady();
        rack.begin_sack();
        let early = Delivery { retransmitted: true, ..delivery(20, 100, 139) };
        rack.on_delivered(&early);
        assert_eq!((rack.delivered_below(), rack.min_rtt()), (10, Some(RTT)));
        rack.on_delivered(&Delivery { now: Time::from_millis(140), ..early });
        assert_eq!(rack.delivered_below(), 21);
    }

    #[test]
    fn regression_what_was_sent_again_into_a_long_queue_seemed_to_overtake_all_that_waited_there() {
        let mut rack = steady();
        rack.begin_sack();
        rack.on_delivered(&delivery(10, 50, 450));
        let answer = Delivery { retransmitted: true, ..delivery(30, 400, 500) };
        rack.on_delivered(&answer);
        assert_eq!(rack.delivered_below(), 11, "the round trip was 400 ms a moment ago");
        rack.on_delivered(&Delivery { now: Time::from_millis(700), ..answer });
        assert_eq!(rack.delivered_below(), 31);
    }

    #[test]
    fn after_a_timeout_only_what_was_sent_once_tells_what_was_overtaken() {
        let mut rack = steady();
        rack.on_timeout();
        rack.begin_sack();
        let answer = Delivery { retransmitted: true, ..delivery(30, 100, 200) };
        rack.on_delivered(&answer);
        assert_eq!(rack.delivered_below(), 10, "it may be an answer to the first transmission");
        rack.on_delivered(&delivery(31, 120, 201));
        rack.on_delivered(&Delivery { transmission: 32, ..answer });
        assert_eq!(rack.delivered_below(), 33);
    }

    #[test]
    fn without_reordering_there_is_no_window_in_recovery_and_a_quarter_of_the_rtt_else() {
        let rack = steady();
        assert_eq!(rack.reo_wnd(true, None), Duration::ZERO);
        assert_eq!(rack.reo_wnd(false, None), RTT / 4);
    }

    #[test]
    fn reordering_is_a_late_arrival_of_what_was_sent_once() {
        let mut rack = steady();
        let late = Delivery { retransmitted: true, ..delivery(3, 3, 60) };
        rack.on_delivered(&late);
        assert_eq!(rack.reo_wnd(true, None), Duration::ZERO, "a retransmission is always late");
        rack.on_delivered(&Delivery { retransmitted: false, ..late });
        assert_eq!(rack.reo_wnd(true, None), RTT / 4);
    }

    #[test]
    fn each_round_with_duplicates_widens_the_window_up_to_srtt() {
        let mut rack = steady();
        rack.on_duplicate(200);
        rack.on_duplicate(210);
        assert_eq!(rack.reo_wnd(false, None), RTT / 2, "one round");
        rack.on_cumulative(200);
        rack.on_duplicate(210);
        assert_eq!(rack.reo_wnd(false, None), RTT * 3 / 4);
        let srtt = Duration::from_millis(25);
        assert_eq!(rack.reo_wnd(false, Some(srtt)), srtt);
    }

    #[test]
    fn the_window_is_as_at_first_after_sixteen_recoveries_without_duplicates() {
        let mut rack = steady();
        rack.on_duplicate(200);
        (0..PERSISTENCE - 1).for_each(|_| rack.on_recovery_end());
        assert_eq!(rack.reo_wnd(false, None), RTT / 2);
        rack.on_recovery_end();
        assert_eq!(rack.reo_wnd(false, None), RTT / 4);
    }

    #[test]
    fn the_smallest_rtt_is_forgotten_on_a_path_that_became_longer() {
        let mut min = WindowedMin::default();
        min.update(Time::from_secs(1), RTT);
        for second in 2..11 {
            min.update(Time::from_secs(second), 2 * RTT);
        }
        assert_eq!(min.value(), Some(RTT));
        min.update(Time::from_secs(11), 2 * RTT);
        assert_eq!(min.value(), Some(RTT), "of the window before");
        min.update(Time::from_secs(21), 2 * RTT);
        assert_eq!(min.value(), Some(2 * RTT));
    }
}
