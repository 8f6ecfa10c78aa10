//! [`Rate`]: bits per second.

use std::fmt;
use std::time::Duration;

/// A data rate in bits per second.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct Rate(u64);

impl Rate {
    /// Nothing at all.
    pub const ZERO: Self = Self(0);

    /// `bits` bits per second.
    #[must_use]
    pub const fn bps(bits: u64) -> Self {
        Self(bits)
    }

    /// `kilobits` thousand bits per second.
    #[must_use]
    pub const fn kbps(kilobits: u64) -> Self {
        Self(kilobits.saturating_mul(1_000))
    }

    /// `megabits` million bits per second.
    #[must_use]
    pub const fn mbps(megabits: u64) -> Self {
        Self(megabits.saturating_mul(1_000_000))
    }

    /// The mean rate of `bytes` in `span`; zero for an empty span.
    #[must_use]
    pub fn of(bytes: u64, span: Duration) -> Self {
        let nanos = span.as_nanos();
        if nanos == 0 {
            return Self::ZERO;
        }
        // As in `time_for`.
        if let (Some(scaled), Ok(nanos)) = (bytes.checked_mul(8_000_000_000), u64::try_from(nanos))
        {
            return Self(scaled / nanos);
        }
        Self(u64::try_from(u128::from(bytes) * 8_000_000_000 / nanos).unwrap_or(u64::MAX))
    }

    /// Bits per second.
    #[must_use]
    pub const fn as_bps(self) -> u64 {
        self.0
    }

    /// Millions of bits per second.
    #[must_use]
    pub const fn as_mbps_f64(self) -> f64 {
        self.0 as f64 / 1e6
    }

    /// How long `bytes` take to send, to the nanosecond below; [`Duration::MAX`] at rate zero.
    #[must_use]
    pub fn time_for(self, bytes: u64) -> Duration {
        if self.0 == 0 {
            return Duration::MAX;
        }
        // What goes out in less than two gigabytes needs no wider division.
        if let Some(scaled) = bytes.checked_mul(8_000_000_000) {
            return Duration::from_nanos(scaled / self.0);
        }
        let nanos = u128::from(bytes) * 8_000_000_000 / u128::from(self.0);
        Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX))
    }

    /// How many whole bytes fit into `span`.
    #[must_use]
    pub fn bytes_in(self, span: Duration) -> u64 {
        let nanos = span.as_nanos();
        // As in `time_for`.
        let narrow = u64::try_from(nanos).ok().and_then(|nanos| self.0.checked_mul(nanos));
        if let Some(scaled) = narrow {
            return scaled / 8_000_000_000;
        }
        let bytes = u128::from(self.0).saturating_mul(nanos) / 8_000_000_000;
        u64::try_from(bytes).unwrap_or(u64::MAX)
    }
}

impl fmt::Display for Rate {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.0 {
            0..1_000 => write!(f, "{} bit/s", self.0),
            1_000..1_000_000 => write!(f, "{:.1} kbit/s", self.0 as f64 / 1e3),
            _ => write!(f, "{:.2} Mbit/s", self.as_mbps_f64()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_full_packet_on_ten_megabits_takes_1200_microseconds() {
        assert_eq!(Rate::mbps(10).time_for(1_500), Duration::from_micros(1_200));
        assert_eq!(Rate::mbps(10).bytes_in(Duration::from_micros(1_200)), 1_500);
        assert_eq!(Rate::of(1_500, Duration::from_micros(1_200)), Rate::mbps(10));
    }

    #[test]
    fn the_ends_of_the_range_do_not_overflow() {
        assert_eq!(Rate::ZERO.time_for(1), Duration::MAX);
        assert_eq!(Rate::bps(8).time_for(1 << 32), Duration::from_secs(1 << 32));
        assert_eq!(Rate::of(1, Duration::ZERO), Rate::ZERO);
        assert_eq!(Rate::bps(u64::MAX).bytes_in(Duration::MAX), u64::MAX);
        assert_eq!(Rate::mbps(u64::MAX), Rate::bps(u64::MAX));
    }
}
