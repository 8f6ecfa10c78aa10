//! [`DeliveryRate`]: how fast a path delivers (draft-ietf-ccwg-bbr, section "Delivery Rate
//! Samples").

use std::time::Duration;

use anabranch_sansio::Time;

use crate::{LostChunk, RateSample, SentData};

/// What a chunk remembers of the moment it was sent, so that its acknowledgement gives a sample.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct Snapshot {
    delivered: u64,
    delivered_at: Time,
    first_sent_at: Time,
    lost: u64,
    in_flight: usize,
    is_app_limited: bool,
}

/// A transmission of a chunk that was acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Transmitted {
    /// Its place in the order of all transmissions on the path.
    pub number: u64,
    /// When it went out.
    pub sent_at: Time,
    /// Whether the chunk was sent only once, so that its round trip is certain.
    pub sent_once: bool,
    /// What [`DeliveryRate::on_sent`] gave.
    pub snapshot: Snapshot,
}

/// The delivery-rate sampling of one path, whichever protocol sends there.
#[derive(Debug, Default)]
pub struct DeliveryRate {
    /// Bytes acknowledged so far.
    delivered: u64,
    /// Bytes declared lost so far.
    lost: u64,
    delivered_at: Time,
    first_sent_at: Time,
    /// What `delivered` must exceed for the path to be no longer limited by the application.
    app_limited_until: Option<u64>,
    lowest_rtt: Option<Duration>,
}

impl DeliveryRate {
    /// Bytes acknowledged so far.
    #[must_use]
    pub const fn delivered(&self) -> u64 {
        self.delivered
    }

    /// Whether the application had nothing more to send at some time since all that was delivered
    /// by now went out.
    #[must_use]
    pub const fn is_app_limited(&self) -> bool {
        self.app_limited_until.is_some()
    }

    /// A chunk of `size` bytes goes out while `flight` bytes are in flight.
    pub fn on_sent(&mut self, now: Time, flight: usize, size: usize) -> Snapshot {
        if flight == 0 {
            self.first_sent_at = now;
            self.delivered_at = now;
        }
        Snapshot {
            delivered: self.delivered,
            delivered_at: self.delivered_at,
            first_sent_at: self.first_sent_at,
            lost: self.lost,
            in_flight: flight + size,
            is_app_limited: self.is_app_limited(),
        }
    }

    /// A chunk was acknowledged; `newest` is the one of this SACK that was sent last.
    pub fn on_acked(
        &mut self,
        now: Time,
        size: usize,
        sent: Transmitted,
        newest: &mut Option<Transmitted>,
    ) {
        self.delivered += size as u64;
        self.delivered_at = now;
        if newest.is_none_or(|newest| newest.number < sent.number) {
            self.first_sent_at = sent.sent_at;
            *newest = Some(sent);
        }
    }

    /// A chunk was declared lost.
    pub const fn on_lost(&mut self, size: usize, snapshot: &Snapshot) -> LostChunk {
        self.lost += size as u64;
        LostChunk {
            size,
            in_flight: snapshot.in_flight,
            lost_since_sent: self.lost - snapshot.lost,
            delivered: self.delivered,
            is_app_limited: snapshot.is_app_limited,
            is_covered: false,
        }
    }

    /// All of a SACK is processed: the sample that its newest chunk gives.
    pub fn sample(&mut self, now: Time, newest: Option<Transmitted>) -> Option<RateSample> {
        if self.app_limited_until.is_some_and(|until| self.delivered > until) {
            self.app_limited_until = None;
        }
        let Transmitted { sent_at, sent_once, snapshot, .. } = newest?;
        let rtt = sent_once.then(|| now - sent_at);
        if let Some(rtt) = rtt {
            self.lowest_rtt = Some(self.lowest_rtt.map_or(rtt, |lowest| lowest.min(rtt)));
        }
        let send_elapsed = sent_at - snapshot.first_sent_at;
        let ack_elapsed = now - snapshot.delivered_at;
        let interval = send_elapsed.max(ack_elapsed);
        // "Normally we expect interval >= MinRTT. Note that rate may still be overestimated when a
        // spuriously retransmitted skb was first (s)acked because "interval" is under-estimated".
        // Before the first round trip was measured, nothing is known.
        let is_plausible = self.lowest_rtt.is_some_and(|lowest| interval >= lowest);
        let is_reliable = !interval.is_zero() && is_plausible;
        Some(RateSample {
            delivered: self.delivered - snapshot.delivered,
            prior_delivered: snapshot.delivered,
            send_elapsed,
            ack_elapsed,
            is_reliable,
            is_app_limited: snapshot.is_app_limited,
            in_flight: snapshot.in_flight,
            lost: self.lost - snapshot.lost,
            rtt,
        })
    }

    /// Nothing is left to send although more might be: what goes out until all of `flight` is
    /// delivered says something of the application, not of the path.
    pub fn mark_app_limited(&mut self, flight: usize) {
        self.app_limited_until = Some((self.delivered + flight as u64).max(1));
    }

    /// What a controller is told of data that went out.
    #[must_use]
    pub const fn sent_data(&self, now: Time, bytes: usize, flight: usize) -> SentData {
        SentData { now, bytes, flight, is_app_limited: self.is_app_limited() }
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Rate;

    use super::*;

    const fn at(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    fn ack(
        rate: &mut DeliveryRate,
        now: Time,
        chunks: &[(u64, Time, Snapshot)],
    ) -> Option<RateSample> {
        let mut newest = None;
        for &(number, sent_at, snapshot) in chunks {
            let sent = Transmitted { number, sent_at, sent_once: true, snapshot };
            rate.on_acked(now, 1_000, sent, &mut newest);
        }
        rate.sample(now, newest)
    }

    #[test]
    fn the_longer_of_sending_and_acknowledging_gives_the_rate() {
        let mut rate = DeliveryRate::default();
        // Ten chunks in one burst; SACKs come back at one chunk a millisecond.
        let sent: Vec<_> =
            (0..10).map(|n| (n, at(0), rate.on_sent(at(0), n as usize * 1_000, 1_000))).collect();
        for (n, chunk) in sent.iter().enumerate() {
            let sample = ack(&mut rate, at(50 + n as u64), &[*chunk]).unwrap();
            assert_eq!(sample.delivered, 1_000 * (n as u64 + 1));
            assert_eq!(sample.interval(), Duration::from_millis(50 + n as u64));
        }
        // The next chunk was sent when the first was acknowledged: its interval begins there.
        let second = rate.on_sent(at(60), 0, 1_000);
        let third = rate.on_sent(at(61), 1_000, 1_000);
        ack(&mut rate, at(110), &[(10, at(60), second)]);
        let sample = ack(&mut rate, at(111), &[(11, at(61), third)]).unwrap();
        assert_eq!(sample.rate(), Some(Rate::of(2_000, Duration::from_millis(51))));
    }

    #[test]
    fn the_newest_chunk_of_a_sack_is_the_one_that_counts() {
        let mut rate = DeliveryRate::default();
        let first = (0, at(0), rate.on_sent(at(0), 0, 1_000));
        let second = (1, at(5), rate.on_sent(at(5), 1_000, 1_000));
        let sample = ack(&mut rate, at(55), &[second, first]).unwrap();
        assert_eq!(sample.in_flight, 2_000);
        assert_eq!(sample.rtt, Some(Duration::from_millis(50)));
        assert_eq!(sample.send_elapsed, Duration::from_millis(5));
    }

    #[test]
    fn an_interval_below_the_lowest_round_trip_gives_no_rate() {
        let mut rate = DeliveryRate::default();
        let first = (0, at(0), rate.on_sent(at(0), 0, 1_000));
        ack(&mut rate, at(50), &[first]).unwrap();
        let again = rate.on_sent(at(60), 0, 1_000);
        let mut newest = None;
        // A chunk sent twice: it is the first transmission that is acknowledged.
        let sent = Transmitted { number: 1, sent_at: at(60), sent_once: false, snapshot: again };
        rate.on_acked(at(62), 1_000, sent, &mut newest);
        let sample = rate.sample(at(62), newest).unwrap();
        assert_eq!((sample.rate(), sample.rtt), (None, None));
    }

    #[test]
    fn regression_data_that_moved_to_an_unmeasured_path_gave_it_a_rate() {
        let mut rate = DeliveryRate::default();
        let moved = rate.on_sent(at(10), 0, 1_000);
        let mut newest = None;
        // What another path had lost goes out here, and the first transmission is acknowledged.
        let sent = Transmitted { number: 0, sent_at: at(10), sent_once: false, snapshot: moved };
        rate.on_acked(at(11), 1_000, sent, &mut newest);
        assert_eq!(rate.sample(at(11), newest).unwrap().rate(), None);
    }

    #[test]
    fn samples_are_app_limited_until_the_bubble_is_delivered() {
        let mut rate = DeliveryRate::default();
        let first = (0, at(0), rate.on_sent(at(0), 0, 1_000));
        rate.mark_app_limited(1_000);
        let second = (1, at(10), rate.on_sent(at(10), 1_000, 1_000));
        assert!(!ack(&mut rate, at(50), &[first]).unwrap().is_app_limited);
        assert!(rate.is_app_limited(), "1000 bytes are delivered, and must be exceeded");
        assert!(ack(&mut rate, at(60), &[second]).unwrap().is_app_limited);
        assert!(!rate.is_app_limited());
    }

    #[test]
    fn a_lost_chunk_tells_what_was_lost_since_it_was_sent() {
        let mut rate = DeliveryRate::default();
        let first = rate.on_sent(at(0), 0, 1_000);
        let second = rate.on_sent(at(0), 1_000, 1_000);
        rate.on_lost(1_000, &first);
        let lost = rate.on_lost(1_000, &second);
        assert_eq!((lost.lost_since_sent, lost.in_flight), (2_000, 2_000));
    }
}
