//! [`Gauge`]: how fast an output takes what is due.

use std::time::Duration;

use anabranch_sansio::{Rate, Time};

/// What is taken later than this was waiting for the output: no timer is that late.
const BUSY_FROM: Duration = Duration::from_millis(20);

/// How long is measured.
const SPAN: Duration = Duration::from_millis(500);

/// Measures an output for which something waits most of the time.
///
/// Nobody says how long writing lasts; between two times that it asks, it was busy if something was
/// overdue the second time. All that it takes counts, as if it took it while it was busy: one that
/// stands still now and then, and takes what has gathered at once, takes it all.
#[derive(Debug, Default)]
pub(super) struct Gauge {
    /// When it asked last and got something.
    taken: Option<Time>,
    since: Time,
    busy: Duration,
    bytes: u64,
    takes: Option<Rate>,
}

impl Gauge {
    /// The output asks, for what was due so long ago.
    pub(super) fn on_poll(&mut self, now: Time, behind: Duration) {
        if let Some(at) = self.taken.take_if(|at| *at < now)
            && behind >= BUSY_FROM
        {
            self.busy += now - at;
        }
        if now - self.since >= SPAN {
            let is_busy = self.busy >= (now - self.since) / 2;
            self.takes = is_busy.then(|| Rate::of(self.bytes, self.busy));
            (self.since, self.busy, self.bytes) = (now, Duration::ZERO, 0);
        }
    }

    /// It got so much.
    pub(super) const fn on_taken(&mut self, now: Time, bytes: usize) {
        self.taken = Some(now);
        self.bytes += bytes as u64;
    }

    /// What it takes, if something waited for it most of the time.
    pub(super) const fn takes(&self) -> Option<Rate> {
        self.takes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn ms(millis: u64) -> Time {
        Time::from_millis(millis)
    }

    /// Takes 1000 bytes each 10 ms for a second, of which so many are overdue by so much.
    fn after_a_second(overdue: impl Fn(u64) -> u64) -> Option<Rate> {
        let mut gauge = Gauge::default();
        for n in 0..=100 {
            gauge.on_poll(ms(10 * n), Duration::from_millis(overdue(n)));
            gauge.on_taken(ms(10 * n), 400);
            gauge.on_taken(ms(10 * n), 600);
        }
        gauge.takes()
    }

    #[test]
    fn what_an_output_takes_is_measured_while_something_waits_for_it() {
        assert_eq!(after_a_second(|_| 20), Some(Rate::kbps(800)));
        assert_eq!(after_a_second(|_| 19), None, "it keeps up");
        assert_eq!(after_a_second(|n| 30 * (n % 2)), Some(Rate::kbps(1_600)), "it may take more");
        assert_eq!(after_a_second(|n| if n % 3 == 0 { 30 } else { 0 }), None, "it mostly does");
    }

    #[test]
    fn what_was_measured_is_forgotten_once_it_keeps_up() {
        let mut gauge = Gauge::default();
        (0..60).for_each(|n| {
            gauge.on_poll(ms(10 * n), Duration::from_millis(50));
            gauge.on_taken(ms(10 * n), 100);
        });
        assert!(gauge.takes().is_some());
        gauge.on_poll(ms(1_200), Duration::ZERO);
        assert_eq!(gauge.takes(), None);
    }
}
