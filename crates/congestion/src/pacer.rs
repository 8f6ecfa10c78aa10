//! [`Pacer`]: spreads what the window allows over the round trip.

use std::time::Duration;

use anabranch_sansio::{Rate, Time};

/// How long a quantum lasts: the time that one system call with segmentation offload may fill.
const QUANTUM: Duration = Duration::from_millis(1);

/// A quantum is at most as long as a transmission with segmentation offload can be.
const QUANTUM_BYTES_MAX: usize = 64 << 10;

/// How much of a pause is made up for: twice the resolution of usual timers, and two quanta at
/// most.
const PAUSE_MAX: Duration = Duration::from_millis(2);

/// How much a late wakeup is made up for while data waited for it: on a busy machine each may be as
/// late as this, and the path would carry a part of its rate only.
const LATENESS_MAX: Duration = Duration::from_millis(20);

/// Lets data out in quanta, at the rate of the path's congestion controller.
#[derive(Debug, Default)]
pub struct Pacer {
    /// When all that was sent has gone out at the rate.
    drained: Time,
    /// Whether a quantum is used up, so that nothing goes out before `drained`.
    is_closed: bool,
    /// Whether data waits for `drained`.
    holds_data: bool,
}

impl Pacer {
    /// Whether data may go out now.
    #[must_use]
    pub fn is_open(&self, now: Time) -> bool {
        !self.is_closed || now >= self.drained
    }

    /// When data may go out again, if a quantum is used up.
    #[must_use]
    pub fn opens_at(&self) -> Option<Time> {
        self.is_closed.then_some(self.drained)
    }

    /// Whether data waits that would go out if the pacer were open.
    pub const fn set_holds_data(&mut self, holds_data: bool) {
        self.holds_data = holds_data;
    }

    /// Time has passed: [`opens_at`](Self::opens_at) never tells what is over.
    pub fn on_time(&mut self, now: Time) {
        self.is_closed &= now < self.drained;
    }

    /// What was sent at one rate counts at a higher one from now on.
    pub fn speed_up(&mut self, now: Time, before: Rate, after: Rate) {
        let left = self.drained.saturating_since(now);
        let share = before.as_bps() as f64 / after.as_bps().max(1) as f64;
        self.drained = self.drained.min(now + left.mul_f64(share.min(1.0)));
    }

    /// `bytes` of data go out. Two packets of `packet` bytes make the smallest quantum, so that the
    /// peer acknowledges each without delay.
    pub fn on_sent(&mut self, now: Time, bytes: usize, packet: usize, rate: Rate) {
        self.on_time(now);
        let quantum = (rate.bytes_in(QUANTUM) as usize).min(QUANTUM_BYTES_MAX).max(2 * packet);
        let quantum = rate.time_for(quantum as u64);
        let lateness = match self.holds_data {
            true => LATENESS_MAX,
            false => PAUSE_MAX.min(quantum.saturating_mul(2)),
        };
        let start = self.drained.max(now.saturating_sub(lateness));
        self.drained = start + rate.time_for(bytes as u64);
        // A packet that fits no more goes out with the next quantum, and not alone.
        let left = (now + quantum) - self.drained;
        self.is_closed = left < rate.time_for(packet as u64);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// 1,000 bytes take a millisecond.
    const RATE: Rate = Rate::mbps(8);

    /// Sends packets until the pacer closes; returns how many.
    fn send_all(pacer: &mut Pacer, now: Time, rate: Rate) -> u32 {
        let mut packets = 0;
        while pacer.is_open(now) && packets < 1_000 {
            pacer.on_sent(now, 1_000, 1_000, rate);
            packets += 1;
        }
        packets
    }

    #[test]
    fn regression_a_path_that_was_found_faster_waited_as_long_as_when_it_was_slow() {
        let mut pacer = Pacer::default();
        let now = Time::from_secs(1);
        send_all(&mut pacer, now, Rate::kbps(80));
        let waits = |pacer: &Pacer| pacer.opens_at().map(|at| at - now);
        assert!(waits(&pacer) > Some(Duration::from_millis(90)), "{:?}", waits(&pacer));
        pacer.speed_up(now, Rate::kbps(80), RATE);
        assert!(waits(&pacer) < Some(Duration::from_millis(3)), "{:?}", waits(&pacer));
        let before = waits(&pacer);
        pacer.speed_up(now, RATE, Rate::kbps(80));
        assert_eq!(waits(&pacer), before, "it is never made slower");
    }

    #[test]
    fn a_slow_path_gets_two_packets_at_a_time_at_the_rate() {
        let mut pacer = Pacer::default();
        let (mut now, mut sent) = (Time::from_secs(1), 0);
        send_all(&mut pacer, now, RATE);
        while now < Time::from_secs(2) {
            now = pacer.opens_at().unwrap();
            let packets = send_all(&mut pacer, now, RATE);
            assert_eq!(packets, 2, "at {now}");
            sent += packets;
        }
        assert!((998..=1_002).contains(&sent), "{sent} packets in a second");
    }

    #[test]
    fn regression_the_lateness_of_a_rate_of_nothing_overflowed() {
        let mut pacer = Pacer::default();
        pacer.on_sent(Time::from_secs(1), 1_000, 1_000, Rate::ZERO);
        assert!(!pacer.is_open(Time::from_secs(1_000_000)), "nothing more goes out at no rate");
    }

    #[test]
    fn a_fast_path_gets_a_millisecond_at_once_and_64_kib_at_most() {
        let mut pacer = Pacer::default();
        send_all(&mut pacer, Time::from_secs(1), Rate::mbps(160));
        let open = pacer.opens_at().unwrap();
        assert_eq!(send_all(&mut pacer, open, Rate::mbps(160)), 20);
        let mut pacer = Pacer::default();
        send_all(&mut pacer, Time::from_secs(1), Rate::mbps(8_000));
        let open = pacer.opens_at().unwrap();
        assert_eq!(send_all(&mut pacer, open, Rate::mbps(8_000)), 65);
    }

    #[test]
    fn a_late_wakeup_is_made_up_for_and_a_pause_is_not() {
        let late = |by: Duration| {
            let mut pacer = Pacer::default();
            send_all(&mut pacer, Time::from_secs(1), Rate::mbps(80));
            let open = pacer.opens_at().unwrap() + by;
            send_all(&mut pacer, open, Rate::mbps(80))
        };
        assert_eq!(late(Duration::ZERO), 10);
        assert_eq!(late(Duration::from_millis(1)), 20);
        assert_eq!(late(Duration::from_secs(1)), 30, "two milliseconds and a quantum");
    }

    #[test]
    fn regression_a_machine_that_woke_each_ten_milliseconds_sent_at_a_third_of_the_rate() {
        let mut pacer = Pacer::default();
        let sent: u32 = (0..100)
            .map(|n| {
                let packets = send_all(&mut pacer, Time::from_millis(1_000 + 10 * n), RATE);
                pacer.set_holds_data(true);
                packets
            })
            .sum();
        assert!((990..=1_000).contains(&sent), "{sent} packets in a second");
    }

    #[test]
    fn data_that_waited_for_a_sleeping_machine_does_not_go_out_all_at_once() {
        let mut pacer = Pacer::default();
        send_all(&mut pacer, Time::from_secs(1), RATE);
        pacer.set_holds_data(true);
        assert_eq!(send_all(&mut pacer, Time::from_secs(2), RATE), 22, "20 ms and a quantum");
    }

    #[test]
    fn once_no_data_waits_a_pause_is_a_pause() {
        let mut pacer = Pacer::default();
        send_all(&mut pacer, Time::from_secs(1), RATE);
        pacer.set_holds_data(true);
        pacer.on_sent(Time::from_secs(2), 1_000, 1_000, RATE);
        pacer.set_holds_data(false);
        assert_eq!(send_all(&mut pacer, Time::from_secs(3), RATE), 4, "2 ms and a quantum");
    }

    #[test]
    fn what_is_over_is_not_told() {
        let mut pacer = Pacer::default();
        send_all(&mut pacer, Time::from_secs(1), RATE);
        let open = pacer.opens_at().unwrap();
        pacer.on_time(open);
        assert_eq!(pacer.opens_at(), None);
    }
}
