//! [`Delivery`]: what a path carried lately.

use std::time::Duration;

use anabranch_sansio::Time;

use crate::Ack;

/// It is counted over one to two of these, in which a path may stand still for a moment.
const SPAN: Duration = Duration::from_millis(250);

/// What was delivered lately.
#[derive(Debug, Default)]
pub(super) struct Delivery {
    /// When this span and the one before it began, and what had been delivered by then.
    spans: Option<[(Time, u64); 2]>,
    delivered: u64,
}

impl Delivery {
    pub(super) fn on_ack(&mut self, ack: &Ack) {
        self.delivered = ack.delivered;
        let [current, before] = *self.spans.get_or_insert([(ack.now, ack.delivered); 2]);
        if ack.now >= current.0 + SPAN {
            self.spans = Some([(ack.now, ack.delivered), current]);
        } else if ack.now > before.0 + 4 * SPAN {
            self.spans = Some([current, current]);
        }
    }

    /// Bytes that were delivered in as long a time as `span`, on average.
    pub(super) fn in_span(&self, now: Time, span: Duration) -> usize {
        let Some([_, (since, before)]) = self.spans else { return 0 };
        let elapsed = now.saturating_since(since).max(SPAN);
        let share = span.as_secs_f64() / elapsed.as_secs_f64();
        (self.delivered.saturating_sub(before) as f64 * share) as usize
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;

    const MS: Duration = Duration::from_millis(1);

    #[test]
    fn a_path_that_stands_still_for_a_moment_carries_as_much_on_average() {
        let mut delivery = Delivery::default();
        let mut delivered = 0;
        // 1,000 bytes in 10 ms, but for 50 ms in 100 nothing and then twice as many.
        for at in (0..2_000).filter(|at| at % 5 == 0 && at % 100 >= 50) {
            delivered += 1_000;
            let ack = testing::ack(Time::from_millis(at), 1_000, 10_000);
            delivery.on_ack(&testing_with(ack, delivered));
            let carried = delivery.in_span(Time::from_millis(at), 100 * MS);
            assert!(at < 500 || (7_500..=12_500).contains(&carried), "{carried} at {at}");
        }
    }

    const fn testing_with(ack: Ack, delivered: u64) -> Ack {
        Ack { delivered, ..ack }
    }

    #[test]
    fn what_was_long_ago_counts_no_more() {
        let mut delivery = Delivery::default();
        let mut ack = |at, delivered| {
            let ack = testing::ack(Time::from_millis(at), 0, 0);
            delivery.on_ack(&testing_with(ack, delivered));
            delivery.in_span(Time::from_millis(at), 100 * MS)
        };
        assert_eq!([ack(0, 0), ack(100, 50_000)], [0, 20_000]);
        assert_eq!(ack(5_000, 51_000), 1_020);
        assert_eq!(ack(5_100, 52_000), 400);
    }
}
