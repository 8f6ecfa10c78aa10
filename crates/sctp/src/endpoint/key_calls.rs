//! [`KeyCalls`]: how many callers may have us agree on keys. Whoever brings a cookie back has us do
//! the work of a handshake, and may try a secret.

use std::net::IpAddr;

use anabranch_sansio::{Rng, Time};

use super::address_rate::AddressRate;

/// Calls from one IPv4 address or /64 of IPv6 at once, and each second: a house whose viewers all
/// come back at the same time.
const CALLS: (f32, f32) = (100.0, 10.0);

/// The same where each call tries a secret that people think up: 14,400 a day.
const GUESSES: (f32, f32) = (10.0, 1.0 / 6.0);

/// Token buckets for all and for each address. A call that meets a limit is not answered: its
/// caller repeats it.
#[derive(Debug)]
pub(super) struct KeyCalls {
    per_second: u32,
    tokens: f64,
    filled_at: Time,
    calls: AddressRate,
    guesses: AddressRate,
}

impl KeyCalls {
    pub(super) fn new(per_second: u32) -> Self {
        Self {
            per_second,
            tokens: per_second.into(),
            filled_at: Time::ZERO,
            calls: AddressRate::new(CALLS.0, CALLS.1),
            guesses: AddressRate::new(GUESSES.0, GUESSES.1),
        }
    }

    /// Whether one more call from this address may be answered now, by which somebody tries a
    /// secret or not. What is on this machine counts for all calls alone.
    pub(super) fn take(&mut self, now: Time, from: IpAddr, is_guess: bool, rng: &mut Rng) -> bool {
        let elapsed = now.saturating_since(self.filled_at);
        self.filled_at = self.filled_at.max(now);
        let limit = f64::from(self.per_second);
        self.tokens = (self.tokens + limit * elapsed.as_secs_f64()).min(limit);
        let of_address = if is_guess { &mut self.guesses } else { &mut self.calls };
        let is_own = from.to_canonical().is_loopback();
        if self.tokens < 1.0 || !(is_own || of_address.take(now, from, rng)) {
            return false;
        }
        self.tokens -= 1.0;
        true
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    fn taken(calls: &mut KeyCalls, at: Duration, from: &str, is_guess: bool) -> usize {
        let (mut rng, from) = (Rng::from_u64(1), from.parse().unwrap());
        (0..1_000).filter(|_| calls.take(Time::ZERO + at, from, is_guess, &mut rng)).count()
    }

    #[test]
    fn calls_are_limited_for_all_and_for_each_address_but_this_machines() {
        let mut calls = KeyCalls::new(150);
        let second = Duration::from_secs(1);
        assert_eq!(taken(&mut calls, Duration::ZERO, "192.0.2.1", false), 100);
        assert_eq!(taken(&mut calls, Duration::ZERO, "192.0.2.2", false), 50, "those of all");
        assert_eq!(taken(&mut calls, second, "192.0.2.1", false), 10);
        assert_eq!(taken(&mut calls, second, "127.0.0.1", false), 140);
    }

    #[test]
    fn a_secret_is_tried_ten_times_a_minute_from_one_address() {
        let mut calls = KeyCalls::new(1_000);
        assert_eq!(taken(&mut calls, Duration::ZERO, "2001:db8::1", true), 10);
        assert_eq!(taken(&mut calls, Duration::ZERO, "2001:db8::2", true), 0, "the same network");
        assert_eq!(taken(&mut calls, Duration::from_secs(30), "2001:db8::1", true), 5);
        assert_eq!(taken(&mut calls, Duration::from_secs(30), "192.0.2.1", true), 10);
    }
}
