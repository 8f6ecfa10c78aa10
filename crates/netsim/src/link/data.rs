//! [`LinkData`]: a [`LinkConfig`] as it is written down.

use std::time::Duration;

use anabranch_sansio::Rate;
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::{LinkConfig, Loss, Preset, QueueLimit, Trace};
use crate::{CellConfig, Probability, millis};

/// Delays and jitters are at most this long: an hour.
const MAX_DELAY: Duration = Duration::from_secs(3_600);
/// Rates are at most this high: 1 Tbit/s.
const MAX_RATE: Rate = Rate::mbps(1_000_000);

/// Data that describe no link.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[non_exhaustive]
pub enum LinkConfigError {
    /// The rate is negative, not a number or beyond what the simulator counts.
    #[error("rate_mbps = {mbps} is no rate: give 0 to 1000000 Mbit/s, or \"unlimited\"")]
    Rate {
        /// The number given.
        mbps: f64,
    },
    /// A delay is negative, not a number or beyond what the simulator counts.
    #[error("{field} = {ms} is no delay: give 0 to 3600000 milliseconds")]
    Delay {
        /// Which field: `delay_ms`, `jitter_ms` or `hold_max_ms`.
        field: &'static str,
        /// The number given.
        ms: f64,
    },
    /// A link cannot follow both.
    #[error("rate_mbps and trace_ms both say how fast the link is: give one of them")]
    RateAndTrace,
}

/// A [`LinkConfig`] as it is written down.
#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct LinkData {
    #[serde(skip_serializing_if = "Option::is_none")]
    preset: Option<Preset>,
    #[serde(skip_serializing_if = "Option::is_none")]
    rate_mbps: Option<RateData>,
    #[serde(skip_serializing_if = "Option::is_none")]
    trace_ms: Option<Trace>,
    delay_ms: Option<f64>,
    jitter_ms: Option<f64>,
    queue: Option<QueueLimit>,
    loss: Option<Loss>,
    reorder: Option<Probability>,
    hold_max_ms: Option<f64>,
    mtu_bytes: Option<u16>,
    #[serde(skip_serializing_if = "Option::is_none")]
    cell: Option<CellConfig>,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(untagged, expecting = "rate_mbps must be a number of Mbit/s or \"unlimited\"")]
enum RateData {
    Mbps(f64),
    Word(RateWord),
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
enum RateWord {
    Unlimited,
}

impl TryFrom<LinkData> for LinkConfig {
    type Error = LinkConfigError;

    fn try_from(data: LinkData) -> Result<Self, LinkConfigError> {
        let base = data.preset.map_or_else(Self::default, Preset::config);
        if data.rate_mbps.is_some() && data.trace_ms.is_some() {
            return Err(LinkConfigError::RateAndTrace);
        }
        let rate = base.rate.filter(|_| data.trace_ms.is_none());
        let span =
            |field, ms: Option<f64>, base| ms.map_or(Ok(base), |ms| duration_from(field, ms));
        Ok(Self {
            rate: data.rate_mbps.map_or(Ok(rate), rate_from)?,
            trace: data.trace_ms,
            delay: span("delay_ms", data.delay_ms, base.delay)?,
            jitter: span("jitter_ms", data.jitter_ms, base.jitter)?,
            queue: data.queue.unwrap_or(base.queue),
            loss: data.loss.unwrap_or(base.loss),
            reorder: data.reorder.unwrap_or(base.reorder),
            hold_max: span("hold_max_ms", data.hold_max_ms, base.hold_max)?,
            mtu: data.mtu_bytes.unwrap_or(base.mtu),
            cell: data.cell.or(base.cell),
        })
    }
}

impl From<LinkConfig> for LinkData {
    fn from(config: LinkConfig) -> Self {
        let rate = match config.rate {
            Some(rate) => RateData::Mbps(rate.as_mbps_f64()),
            None => RateData::Word(RateWord::Unlimited),
        };
        Self {
            preset: None,
            rate_mbps: config.trace.is_none().then_some(rate),
            trace_ms: config.trace,
            delay_ms: Some(millis::from_duration(config.delay)),
            jitter_ms: Some(millis::from_duration(config.jitter)),
            queue: Some(config.queue),
            loss: Some(config.loss),
            reorder: Some(config.reorder),
            hold_max_ms: Some(millis::from_duration(config.hold_max)),
            mtu_bytes: Some(config.mtu),
            cell: config.cell,
        }
    }
}

fn rate_from(data: RateData) -> Result<Option<Rate>, LinkConfigError> {
    let RateData::Mbps(mbps) = data else { return Ok(None) };
    if !(0.0..=MAX_RATE.as_mbps_f64()).contains(&mbps) {
        return Err(LinkConfigError::Rate { mbps });
    }
    Ok(Some(Rate::bps((mbps * 1e6).round() as u64)))
}

fn duration_from(field: &'static str, ms: f64) -> Result<Duration, LinkConfigError> {
    let delay = millis::to_duration(ms).filter(|delay| *delay <= MAX_DELAY);
    delay.ok_or(LinkConfigError::Delay { field, ms })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(json: &str) -> Result<LinkConfig, String> {
        serde_json::from_str(json).map_err(|error| error.to_string())
    }

    #[test]
    fn every_config_survives_being_written_down() {
        let gilbert_elliott = LinkConfig { loss: Loss::bursts(0.1, 7.0), ..LinkConfig::dsl() };
        let odd = LinkConfig {
            rate: Some(Rate::bps(1_234_567_891)),
            delay: Duration::from_nanos(1),
            ..LinkConfig::default()
        };
        let traced = LinkConfig {
            trace: Some(Trace::new(vec![0, 3, 3, 12]).unwrap()),
            reorder: Probability::saturating(0.01),
            hold_max: Duration::from_millis(7),
            ..LinkConfig::default()
        };
        let others = [LinkConfig::default(), gilbert_elliott, odd, traced];
        for config in Preset::ALL.map(Preset::config).into_iter().chain(others) {
            let json = serde_json::to_string(&config).unwrap();
            assert_eq!(parse(&json), Ok(config), "{json}");
        }
    }

    #[test]
    fn fields_left_out_are_the_default_or_the_preset() {
        assert_eq!(parse("{}"), Ok(LinkConfig::default()));
        assert_eq!(
            parse(r#"{"preset": "wifi", "rate_mbps": "unlimited", "delay_ms": 2.5}"#),
            Ok(LinkConfig {
                rate: None,
                delay: Duration::from_micros(2_500),
                ..LinkConfig::wifi()
            })
        );
        assert_eq!(
            parse(r#"{"loss": {"gilbert_elliott": {"p": 0.01, "r": 0.25}}}"#).unwrap().loss,
            Loss::GilbertElliott {
                p: crate::Probability::saturating(0.01),
                r: crate::Probability::saturating(0.25),
                loss_good: crate::Probability::NEVER,
                loss_bad: crate::Probability::ALWAYS,
                tick: None,
            }
        );
    }

    #[test]
    fn a_trace_takes_the_place_of_the_rate_of_a_preset() {
        let config = parse(r#"{"preset": "mobile", "trace_ms": [5, 9]}"#).unwrap();
        assert_eq!(config.trace, Some(Trace::new(vec![5, 9]).unwrap()));
        assert_eq!(config.rate, None);
        let toml = "preset = \"mobile\"\ntrace_ms = [5, 9]\n";
        assert_eq!(toml::from_str(toml), Ok(config));
    }

    #[test]
    fn errors_say_what_would_be_right() {
        let rejected = [
            (r#"{"rate_mbps": -1}"#, "give 0 to 1000000 Mbit/s"),
            (r#"{"rate_mbps": "fast"}"#, "a number of Mbit/s or \"unlimited\""),
            (r#"{"delay_ms": -3}"#, "delay_ms = -3 is no delay: give 0 to 3600000"),
            (r#"{"jitter_ms": 1e9}"#, "jitter_ms = 1000000000 is no delay"),
            (r#"{"delay": 3}"#, "unknown field `delay`, expected one of `preset`, `rate_mbps`"),
            (r#"{"preset": "wlan"}"#, "expected one of `ethernet`, `wifi`"),
            (r#"{"loss": {"uniform": {"probability": 2}}}"#, "from 0 to 1, so 2 % is 0.02"),
            (r#"{"queue": {"seconds": 1}}"#, "expected `packets` or `bytes`"),
            (r#"{"mtu_bytes": 70000}"#, "u16"),
            (r#"{"trace_ms": [5, 3]}"#, "line 2: 3 is before 5: give milliseconds in rising"),
            (r#"{"trace_ms": [5], "rate_mbps": 1}"#, "both say how fast the link is: give one"),
            (r#"{"reorder": 2}"#, "from 0 to 1, so 2 % is 0.02"),
            (r#"{"hold_max_ms": -1}"#, "hold_max_ms = -1 is no delay"),
        ];
        for (json, expected) in rejected {
            let error = parse(json).unwrap_err();
            assert!(error.contains(expected), "{json}: {error}");
        }
    }
}
