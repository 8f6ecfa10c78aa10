//! [`DirectionSettings`]: what one direction of a link is told.

use std::time::Duration;

use anabranch_sansio::Rate;
use thiserror::Error;

use super::values::{self, Queue, ReadFile, Speed, ValueError};
use crate::{LinkConfig, Loss, Medium, Preset, Probability, QueueLimit, Trace};

/// What may wait unless told otherwise, as in a home router of today.
const QUEUE: Duration = Duration::from_millis(100);
/// Even a slow link can hold some packets.
const QUEUE_BYTES_MIN: u64 = 64 << 10;

/// The keys of [`DirectionSettings::set`].
pub const KEYS: &str = "preset, rate, delay, jitter, loss, burst, reorder, hold, queue, mtu";

/// What one direction of a link is told.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct DirectionSettings {
    /// A kind of link, which the others change: ethernet, wifi, mobile, dsl, satellite,
    /// wifi-cell or wimax-cell.
    pub preset: Option<Preset>,
    /// Bits per second of IP packets, such as 500k, 10M, unlimited; or trace:FILE, which has on
    /// each line a millisecond at which 1500 bytes can leave, and is repeated (Mahimahi's format).
    pub rate: Option<Speed>,
    /// How long a packet travels one way, such as 20ms.
    pub delay: Option<Duration>,
    /// Up to this much more delay, drawn for each packet; the order stays.
    pub jitter: Option<Duration>,
    /// Share of packets lost, such as 1%.
    pub loss: Option<f64>,
    /// Losses come in bursts of this many packets on average, instead of one by one.
    pub burst: Option<f64>,
    /// Share of packets held back, so that later ones overtake them, such as 1%.
    pub reorder: Option<f64>,
    /// For how long at most they are held back, drawn for each; 10ms unless given.
    pub hold: Option<Duration>,
    /// What may wait to be sent: 100ms (at the rate, or a trace's mean), 64K (bytes) or 50p
    /// (packets). Unless given, 100ms and at least 64K where a rate is given, 1000p for a trace.
    pub queue: Option<Queue>,
    /// The longest IP packet; longer ones are dropped.
    pub mtu: Option<u16>,
}

/// Settings that make no sense.
#[derive(Debug, Clone, PartialEq, Error)]
#[non_exhaustive]
pub enum SettingsError {
    /// There is no value.
    #[error("\"{part}\" says nothing: write key=value, with commas between")]
    NoValue {
        /// What was given.
        part: String,
    },
    /// There is no such key.
    #[error("there is no key {key}: the keys are {KEYS}, each also with up. or down. in front")]
    UnknownKey {
        /// What was given.
        key: String,
    },
    /// A key is given twice.
    #[error("{key} is given twice: give it once")]
    Repeated {
        /// Which.
        key: String,
    },
    /// The value is none of this key.
    #[error("{key}: {error}")]
    Value {
        /// Which key.
        key: String,
        /// What is wrong with it.
        error: ValueError,
    },
    /// Nothing is lost that could come in bursts.
    #[error("a burst of {length} without loss: give a loss, too, such as 1%")]
    BurstWithoutLoss {
        /// Packets on average.
        length: f64,
    },
    /// So much loss comes in longer bursts.
    #[error(
        "a loss of {percent}% cannot come in bursts of {length}: give a burst of at least \
             {least:.1}, or less loss"
    )]
    BurstTooShort {
        /// The loss.
        percent: f64,
        /// Packets on average.
        length: f64,
        /// The shortest burst that there can be.
        least: f64,
    },
    /// No packet is held back.
    #[error("packets held back for {span:?}, but none are: give a share, too, such as reorder=1%")]
    HoldWithoutReorder {
        /// For how long.
        span: Duration,
    },
    /// The medium of a cell has no such rate.
    #[error("{medium} has no rate of {given}: give {}", listed(.rates))]
    RateInCell {
        /// The medium.
        medium: &'static str,
        /// What was given.
        given: String,
        /// What it has.
        rates: Vec<Rate>,
    },
    /// A queue's length in time says nothing where there is no rate.
    #[error("a queue of {span:?} needs a rate: give one, or a queue in bytes or packets")]
    QueueWithoutRate {
        /// How long.
        span: Duration,
    },
}

impl DirectionSettings {
    /// Sets what a key names. `read` reads the file that a rate may name.
    ///
    /// # Errors
    /// There is no such key, it was set before, or the value makes no sense.
    pub fn set(&mut self, key: &str, value: &str, read: ReadFile<'_>) -> Result<(), SettingsError> {
        match key {
            "preset" => put(&mut self.preset, key, values::preset(value)),
            "rate" => put(&mut self.rate, key, values::speed(value, read)),
            "delay" => put(&mut self.delay, key, values::time(value)),
            "jitter" => put(&mut self.jitter, key, values::time(value)),
            "loss" => put(&mut self.loss, key, values::loss(value)),
            "burst" => put(&mut self.burst, key, values::burst(value)),
            "reorder" => put(&mut self.reorder, key, values::loss(value)),
            "hold" => put(&mut self.hold, key, values::time(value)),
            "queue" => put(&mut self.queue, key, values::queue(value)),
            "mtu" => put(&mut self.mtu, key, values::mtu(value)),
            _ => Err(SettingsError::UnknownKey { key: key.to_owned() }),
        }
    }

    /// These, and for what they leave out `others`.
    #[must_use]
    pub fn or(self, others: Self) -> Self {
        Self {
            preset: self.preset.or(others.preset),
            rate: self.rate.or(others.rate),
            delay: self.delay.or(others.delay),
            jitter: self.jitter.or(others.jitter),
            loss: self.loss.or(others.loss),
            burst: self.burst.or(others.burst),
            reorder: self.reorder.or(others.reorder),
            hold: self.hold.or(others.hold),
            queue: self.queue.or(others.queue),
            mtu: self.mtu.or(others.mtu),
        }
    }

    /// A direction with these settings; what they leave out is the preset's if they name one, or
    /// else stays as it is.
    ///
    /// # Errors
    /// The settings do not fit each other.
    pub fn change(&self, config: LinkConfig) -> Result<LinkConfig, SettingsError> {
        let base = self.preset.map_or(config, Preset::config);
        let (rate, trace) = match self.rate.clone() {
            None => (base.rate, base.trace.clone()),
            Some(Speed::Limited(rate)) => (Some(rate), None),
            Some(Speed::Unlimited) => (None, None),
            Some(Speed::Trace(trace)) => (None, Some(trace)),
        };
        if let (Some(speed), Some(cell)) = (&self.rate, &base.cell) {
            check_rate(speed, &cell.medium)?;
        }
        let reorder = self.reorder.map_or(base.reorder, Probability::saturating);
        if let Some(span) = self.hold.filter(|_| reorder == Probability::NEVER) {
            return Err(SettingsError::HoldWithoutReorder { span });
        }
        Ok(LinkConfig {
            rate,
            delay: self.delay.unwrap_or(base.delay),
            jitter: self.jitter.unwrap_or(base.jitter),
            queue: self.queue_limit(rate, trace.as_ref(), &base)?,
            loss: self.loss_model(base.loss)?,
            reorder,
            hold_max: self.hold.unwrap_or(base.hold_max),
            mtu: self.mtu.unwrap_or(base.mtu),
            cell: base.cell,
            trace,
        })
    }

    fn queue_limit(
        &self,
        rate: Option<Rate>,
        trace: Option<&Trace>,
        base: &LinkConfig,
    ) -> Result<QueueLimit, SettingsError> {
        match (self.queue, rate.or(trace.map(Trace::mean_rate))) {
            (Some(Queue::Bytes(bytes)), _) => Ok(QueueLimit::Bytes(bytes)),
            (Some(Queue::Packets(packets)), _) => Ok(QueueLimit::Packets(packets)),
            (Some(Queue::Span(span)), Some(rate)) => Ok(QueueLimit::lasting(span, rate)),
            (Some(Queue::Span(span)), None) => Err(SettingsError::QueueWithoutRate { span }),
            // Where the rate falls to nothing for seconds, 100 ms of its mean is no queue at all.
            (None, Some(_)) if matches!(self.rate, Some(Speed::Trace(_))) => {
                Ok(QueueLimit::default())
            }
            // In a cell, the rate is not that at which the queue is emptied.
            (None, Some(rate)) if self.rate.is_some() && base.cell.is_none() => {
                Ok(QueueLimit::Bytes(rate.bytes_in(QUEUE).max(QUEUE_BYTES_MIN)))
            }
            (None, _) => Ok(base.queue),
        }
    }

    fn loss_model(&self, base: Loss) -> Result<Loss, SettingsError> {
        let Some(length) = self.burst else {
            return Ok(self.loss.map_or(base, uniform));
        };
        let share = self.loss.unwrap_or_else(|| base.mean());
        if share == 0.0 {
            return Err(SettingsError::BurstWithoutLoss { length });
        }
        // A burst and the gap after it, of one packet at least, lose length / (length + 1).
        let least = share / (1.0 - share);
        if length < least {
            let percent = share * 100.0;
            return Err(SettingsError::BurstTooShort { percent, length, least });
        }
        Ok(Loss::bursts(share, length))
    }
}

/// A frame on the air has one of some rates.
fn check_rate(speed: &Speed, medium: &Medium) -> Result<(), SettingsError> {
    let given = match speed {
        Speed::Limited(rate) if medium.rates().contains(rate) => return Ok(()),
        Speed::Limited(rate) => rate.to_string(),
        Speed::Unlimited => "unlimited".to_owned(),
        Speed::Trace(_) => "a trace".to_owned(),
    };
    Err(SettingsError::RateInCell { medium: medium.as_str(), given, rates: medium.rates() })
}

/// As they are written: `6M, 9M or 12M`.
fn listed(rates: &[Rate]) -> String {
    let mut words = rates.iter().map(|rate| format!("{}M", rate.as_mbps_f64()));
    let last = words.next_back().unwrap_or_default();
    let first: Vec<String> = words.collect();
    if first.is_empty() { last } else { format!("{} or {last}", first.join(", ")) }
}

fn uniform(share: f64) -> Loss {
    if share == 0.0 { Loss::None } else { Loss::uniform(share) }
}

fn put<T>(
    slot: &mut Option<T>,
    key: &str,
    value: Result<T, ValueError>,
) -> Result<(), SettingsError> {
    let value = value.map_err(|error| SettingsError::Value { key: key.to_owned(), error })?;
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(SettingsError::Repeated { key: key.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn config(pairs: &[(&str, &str)]) -> Result<LinkConfig, SettingsError> {
        let mut settings = DirectionSettings::default();
        for (key, value) in pairs {
            settings.set(key, value, &file)?;
        }
        settings.change(LinkConfig::default())
    }

    #[test]
    fn nothing_said_is_a_perfect_link_or_the_preset() {
        assert_eq!(config(&[]), Ok(LinkConfig::default()));
        assert_eq!(config(&[("preset", "dsl")]), Ok(LinkConfig::dsl()));
        let slower = LinkConfig { delay: Duration::from_millis(5), ..LinkConfig::wifi() };
        assert_eq!(config(&[("delay", "5ms"), ("preset", "wifi")]), Ok(slower));
    }

    #[test]
    fn every_key_that_is_named_can_be_set() {
        let values = ["wifi", "1M", "1ms", "1ms", "1%", "2", "5%", "3ms", "9p", "1400"];
        let pairs: Vec<_> = KEYS.split(", ").zip(values).collect();
        let expected = LinkConfig {
            rate: Some(Rate::mbps(1)),
            delay: Duration::from_millis(1),
            jitter: Duration::from_millis(1),
            queue: QueueLimit::Packets(9),
            loss: Loss::bursts(0.01, 2.0),
            reorder: Probability::saturating(0.05),
            hold_max: Duration::from_millis(3),
            trace: None,
            mtu: 1_400,
            cell: None,
        };
        assert_eq!(config(&pairs), Ok(expected));
    }

    #[test]
    fn a_link_in_a_cell_has_a_rate_of_its_medium() {
        let slow = LinkConfig { rate: Some(Rate::mbps(13)), ..LinkConfig::wifi_cell() };
        assert_eq!(config(&[("preset", "wifi-cell"), ("rate", "13M")]), Ok(slow));
        for (rate, given) in [("14M", "14.00 Mbit/s"), ("unlimited", "unlimited")] {
            let error = config(&[("preset", "wifi-cell"), ("rate", rate)]).unwrap_err();
            let words = format!("802.11n has no rate of {given}: give 6.5M, 13M, 19.5M, ");
            assert!(error.to_string().starts_with(&words), "{error}");
            assert!(error.to_string().ends_with(" 117M or 130M"), "{error}");
        }
    }

    #[test]
    fn a_queue_lasts_as_long_as_told_and_100_ms_otherwise() {
        let queue = |pairs: &[_]| config(pairs).unwrap().queue;
        assert_eq!(queue(&[("rate", "8M"), ("queue", "50ms")]), QueueLimit::Bytes(50_000));
        assert_eq!(queue(&[("rate", "8M")]), QueueLimit::Bytes(100_000));
        assert_eq!(queue(&[("rate", "8k")]), QueueLimit::Bytes(QUEUE_BYTES_MIN));
        let span = Duration::from_millis(50);
        assert_eq!(config(&[("queue", "50ms")]), Err(SettingsError::QueueWithoutRate { span }));
    }

    #[test]
    fn a_burst_needs_a_loss_that_it_can_make() {
        let loss = |pairs: &[_]| config(pairs).map(|config| config.loss);
        assert_eq!(loss(&[("loss", "0%"), ("preset", "wifi")]), Ok(Loss::None));
        assert_eq!(loss(&[("loss", "1%")]), Ok(Loss::uniform(0.01)));
        assert_eq!(
            loss(&[("burst", "4"), ("preset", "mobile")]),
            Ok(Loss::bursts(LinkConfig::mobile().loss.mean(), 4.0))
        );
        assert_eq!(loss(&[("burst", "4")]), Err(SettingsError::BurstWithoutLoss { length: 4.0 }));
        let short = SettingsError::BurstTooShort { percent: 75.0, length: 2.0, least: 3.0 };
        assert_eq!(loss(&[("burst", "2"), ("loss", "75%")]), Err(short));
        assert!(loss(&[("burst", "3"), ("loss", "75%")]).is_ok());
    }

    /// The only files there are.
    fn file(name: &str) -> Result<String, String> {
        match name {
            "good.txt" => Ok("1\n2\n2\n6\n".to_owned()),
            "bad.txt" => Ok("1\n2\nthree\n".to_owned()),
            _ => Err("no such file".to_owned()),
        }
    }

    #[test]
    fn a_trace_takes_the_place_of_a_rate_and_a_rate_that_of_a_trace() {
        let rate = "trace:good.txt";
        let traced = config(&[("preset", "mobile"), ("rate", rate)]).unwrap();
        assert_eq!((traced.rate, traced.queue), (None, QueueLimit::default()));
        let trace = Trace::new(vec![1, 2, 2, 6]).unwrap();
        assert_eq!(traced.trace, Some(trace));
        // 6,000 bytes in 6 ms.
        let queue = config(&[("rate", rate), ("queue", "30ms")]).unwrap().queue;
        assert_eq!(queue, QueueLimit::Bytes(30_000));
        let mut faster = DirectionSettings::default();
        faster.set("rate", "1M", &file).unwrap();
        let faster = faster.change(traced).unwrap();
        assert_eq!((faster.rate, faster.trace), (Some(Rate::mbps(1)), None));
        let error = config(&[("rate", "trace:bad.txt")]).unwrap_err().to_string();
        let expected = "rate: bad.txt: line 3: \"three\" is no millisecond";
        assert!(error.starts_with(expected), "{error}");
        let error = config(&[("rate", "trace:none.txt")]).unwrap_err().to_string();
        assert_eq!(error, "rate: none.txt cannot be read: no such file");
    }

    #[test]
    fn what_is_held_back_needs_a_share() {
        let span = Duration::from_millis(5);
        assert_eq!(config(&[("hold", "5ms")]), Err(SettingsError::HoldWithoutReorder { span }));
        let link = config(&[("reorder", "2%")]).unwrap();
        assert_eq!(link.reorder, Probability::saturating(0.02));
        assert_eq!(link.hold_max, LinkConfig::default().hold_max);
    }

    #[test]
    fn keys_are_given_once() {
        let repeated = SettingsError::Repeated { key: "rate".to_owned() };
        assert_eq!(config(&[("rate", "1M"), ("rate", "2M")]), Err(repeated));
        let unknown = config(&[("latency", "1ms")]).unwrap_err().to_string();
        assert!(unknown.contains("preset, rate, delay"), "{unknown}");
    }
}
