//! Values as people write them: rates, times, losses, queues.

use std::time::Duration;

use anabranch_sansio::Rate;
use thiserror::Error;

use crate::{Preset, Trace, TraceError};

/// The longest delay of a link, as in a scenario file.
const DELAY_MAX: Duration = Duration::from_secs(3_600);
/// The highest rate of a link, as in a scenario file: 1 Tbit/s.
const RATE_MAX: Rate = Rate::mbps(1_000_000);
/// The longest queue, 64 GiB: more than any link here can hold.
const QUEUE_BYTES_MAX: u64 = 64 << 30;
/// RFC 791 section 3.2: "Every internet module must be able to forward a datagram of 68 octets
/// without further fragmentation."
const MTU_MIN: u16 = 68;

const PRESETS: [(&str, Preset); Preset::ALL.len()] = [
    ("ethernet", Preset::Ethernet),
    ("wifi", Preset::Wifi),
    ("mobile", Preset::Mobile),
    ("dsl", Preset::Dsl),
    ("satellite", Preset::Satellite),
    ("wifi-cell", Preset::WifiCell),
    ("wimax-cell", Preset::WimaxCell),
];

/// In front of a file that says when a link may send.
const TRACE: &str = "trace:";

/// Reads the text of a file by its name, or says why not: nothing here reads files by itself.
pub type ReadFile<'a> = &'a dyn Fn(&str) -> Result<String, String>;

/// How fast a link sends.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Speed {
    /// At this rate of IP packets.
    Limited(Rate),
    /// At once.
    Unlimited,
    /// When a trace says so.
    Trace(Trace),
}

impl Speed {
    /// The rate, or the mean of a trace; none where there is no limit.
    #[must_use]
    pub fn mean(&self) -> Option<Rate> {
        match self {
            Self::Limited(rate) => Some(*rate),
            Self::Unlimited => None,
            Self::Trace(trace) => Some(trace.mean_rate()),
        }
    }
}

/// How much may wait in front of a link.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Queue {
    /// What the link sends in this time.
    Span(Duration),
    /// So many bytes.
    Bytes(u64),
    /// So many packets.
    Packets(u32),
}

/// A text that is not the value it should be.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ValueError {
    /// Not a rate.
    #[error("\"{0}\" is no rate: write 500k, 10M or 1.5G (bit/s), unlimited, or trace:FILE")]
    Rate(String),
    /// A rate that no link has.
    #[error("no link sends at {0}: give 1 bit/s to 1000G, or unlimited")]
    RateRange(String),
    /// A file that is no trace.
    #[error("{file}: {error}")]
    Trace {
        /// Its name.
        file: String,
        /// What is wrong with it.
        error: TraceError,
    },
    /// A file that cannot be read.
    #[error("{file} cannot be read: {reason}")]
    File {
        /// Its name.
        file: String,
        /// Why.
        reason: String,
    },
    /// Not a time.
    #[error("\"{0}\" is no time: write 500us, 20ms or 1.5s")]
    Time(String),
    /// Too long a time.
    #[error("{0} is too long: give at most an hour, 3600s")]
    TimeRange(String),
    /// Not a share of packets.
    #[error("\"{0}\" is no loss: write 0% to 100%, such as 1% or 0.05%")]
    Loss(String),
    /// Not a number of packets in a row.
    #[error("\"{0}\" is no burst: give how many packets are lost in a row on average, 1 or more")]
    Burst(String),
    /// Not a length of a queue.
    #[error("\"{0}\" is no queue: write 100ms (at the link's rate), 64K (bytes) or 50p (packets)")]
    Queue(String),
    /// Too long a queue.
    #[error("a queue of {0} is too long: give at most 64G, or 4294967295p")]
    QueueRange(String),
    /// Not a number of bytes.
    #[error("\"{0}\" is no size: write 1500B, 64K or 1M (bytes, by 1024)")]
    Size(String),
    /// Not an MTU.
    #[error("\"{0}\" is no MTU: give 68 to 65535 bytes")]
    Mtu(String),
    /// No preset of this name.
    #[error(
        "there is no preset \"{0}\": give ethernet, wifi, mobile, dsl, satellite, wifi-cell or \
         wimax-cell"
    )]
    Preset(String),
}

/// `10M`, `1.5G`, `500k`, in bit/s by thousands; `unlimited`; `trace:FILE`.
///
/// # Errors
/// The text is no rate of a link.
pub fn speed(text: &str, read: ReadFile<'_>) -> Result<Speed, ValueError> {
    if text == "unlimited" {
        return Ok(Speed::Unlimited);
    }
    if let Some(file) = text.strip_prefix(TRACE) {
        return trace(file, read).map(Speed::Trace);
    }
    let wrong = || ValueError::Rate(text.to_owned());
    let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
    let factor = match unit.trim_end_matches("bit/s") {
        "k" | "K" => 1e3,
        "M" => 1e6,
        "G" => 1e9,
        "" if !unit.is_empty() => 1.0,
        _ => return Err(wrong()),
    };
    let rate = Rate::bps((number * factor).round() as u64);
    if rate == Rate::ZERO || rate > RATE_MAX {
        return Err(ValueError::RateRange(text.to_owned()));
    }
    Ok(Speed::Limited(rate))
}

/// The trace in a file that `read` reads.
///
/// # Errors
/// The file cannot be read, or is no trace.
pub fn trace(file: &str, read: ReadFile<'_>) -> Result<Trace, ValueError> {
    let name = || file.to_owned();
    let text = read(file).map_err(|reason| ValueError::File { file: name(), reason })?;
    text.parse().map_err(|error| ValueError::Trace { file: name(), error })
}

/// `20ms`, `1.5s`, `500us`, `0`.
///
/// # Errors
/// The text is no time, or more than an hour.
pub fn time(text: &str) -> Result<Duration, ValueError> {
    let wrong = || ValueError::Time(text.to_owned());
    let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
    let nanos = match unit {
        "us" => number * 1e3,
        "ms" => number * 1e6,
        "s" => number * 1e9,
        "" if number == 0.0 => 0.0,
        _ => return Err(wrong()),
    };
    let span = Duration::from_nanos(nanos.round() as u64);
    if span > DELAY_MAX {
        return Err(ValueError::TimeRange(text.to_owned()));
    }
    Ok(span)
}

/// `1%`, `0.05%`, `0`: as a share from 0 to 1.
///
/// # Errors
/// The text is no share.
pub fn loss(text: &str) -> Result<f64, ValueError> {
    let wrong = || ValueError::Loss(text.to_owned());
    let (percent, unit) = number_and_unit(text).ok_or_else(wrong)?;
    let is_percent = unit == "%" || (unit.is_empty() && percent == 0.0);
    if !is_percent || percent > 100.0 {
        return Err(wrong());
    }
    Ok(percent / 100.0)
}

/// How many packets are lost in a row on average.
///
/// # Errors
/// The text is no such number, or less than one.
pub fn burst(text: &str) -> Result<f64, ValueError> {
    match number_and_unit(text) {
        Some((length, "")) if length >= 1.0 => Ok(length),
        _ => Err(ValueError::Burst(text.to_owned())),
    }
}

/// `100ms`, `64K` (bytes, by 1,024), `50p` (packets).
///
/// # Errors
/// The text is no length of a queue, or too much.
pub fn queue(text: &str) -> Result<Queue, ValueError> {
    let wrong = || ValueError::Queue(text.to_owned());
    let (number, unit) = number_and_unit(text).ok_or_else(wrong)?;
    let too_long = || ValueError::QueueRange(text.to_owned());
    match unit {
        "us" | "ms" | "s" => return time(text).map(Queue::Span),
        "p" if number.fract() != 0.0 => return Err(wrong()),
        "p" if number > f64::from(u32::MAX) => return Err(too_long()),
        "p" => return Ok(Queue::Packets(number as u32)),
        _ => {}
    }
    let bytes = bytes(number, unit).ok_or_else(wrong)?;
    if bytes > QUEUE_BYTES_MAX {
        return Err(too_long());
    }
    Ok(Queue::Bytes(bytes))
}

/// `64K`, `1M` (by 1,024), `1500B`, in bytes.
///
/// # Errors
/// The text is no size.
pub fn size(text: &str) -> Result<u64, ValueError> {
    let size = number_and_unit(text).and_then(|(number, unit)| bytes(number, unit));
    size.ok_or_else(|| ValueError::Size(text.to_owned()))
}

fn bytes(number: f64, unit: &str) -> Option<u64> {
    let factor = match unit {
        "B" => 1.0,
        "k" | "K" => 1024.0,
        "M" => 1024.0 * 1024.0,
        "G" => 1024.0 * 1024.0 * 1024.0,
        _ => return None,
    };
    Some((number * factor).round() as u64)
}

/// The longest IP packet, in bytes.
///
/// # Errors
/// The text is no length of a packet, or too short.
pub fn mtu(text: &str) -> Result<u16, ValueError> {
    let bytes = text.parse().ok().filter(|bytes| *bytes >= MTU_MIN);
    bytes.ok_or_else(|| ValueError::Mtu(text.to_owned()))
}

/// A kind of link by name.
///
/// # Errors
/// There is none of this name.
pub fn preset(name: &str) -> Result<Preset, ValueError> {
    let found = PRESETS.iter().find(|(known, _)| *known == name);
    found.map(|(_, preset)| *preset).ok_or_else(|| ValueError::Preset(name.to_owned()))
}

/// The number in front, 0 or more, and what follows it.
fn number_and_unit(text: &str) -> Option<(f64, &str)> {
    let end = text.find(|c: char| !c.is_ascii_digit() && c != '.').unwrap_or(text.len());
    let (number, unit) = text.split_at(end);
    Some((number.parse().ok()?, unit))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn no_files(_: &str) -> Result<String, String> {
        Err("there is none".to_owned())
    }

    #[test]
    fn rates_count_by_thousands() {
        for (text, bps) in
            [("10M", 10_000_000), ("1.5G", 1_500_000_000), ("500k", 500_000), ("8bit/s", 8)]
        {
            assert_eq!(speed(text, &no_files), Ok(Speed::Limited(Rate::bps(bps))), "{text}");
        }
        assert_eq!(speed("2.5Mbit/s", &no_files), Ok(Speed::Limited(Rate::kbps(2_500))));
        assert_eq!(speed("unlimited", &no_files), Ok(Speed::Unlimited));
    }

    #[test]
    fn a_rate_needs_a_unit_and_a_sensible_size() {
        for text in ["10", "", "M", "-1M", "fast", "10MB", "1e3k", "1.2.3M"] {
            assert_eq!(speed(text, &no_files), Err(ValueError::Rate(text.to_owned())));
        }
        for text in ["0M", "1001G", "0.0001bit/s"] {
            assert_eq!(speed(text, &no_files), Err(ValueError::RateRange(text.to_owned())));
        }
    }

    #[test]
    fn times_have_units_up_to_an_hour() {
        assert_eq!(time("20ms"), Ok(Duration::from_millis(20)));
        assert_eq!(time("1.5s"), Ok(Duration::from_millis(1_500)));
        assert_eq!(time("500us"), Ok(Duration::from_micros(500)));
        assert_eq!(time("0"), Ok(Duration::ZERO));
        assert_eq!(time("3600s"), Ok(DELAY_MAX));
        assert_eq!(time("3601s"), Err(ValueError::TimeRange("3601s".to_owned())));
        for text in ["20", "-1ms", "ms", "1h", "20 ms"] {
            assert_eq!(time(text), Err(ValueError::Time(text.to_owned())));
        }
    }

    #[test]
    fn losses_are_percentages() {
        assert_eq!(loss("1%"), Ok(0.01));
        assert_eq!(loss("100%"), Ok(1.0));
        assert_eq!(loss("0"), Ok(0.0));
        for text in ["1", "0.01", "101%", "-1%", "%"] {
            assert_eq!(loss(text), Err(ValueError::Loss(text.to_owned())));
        }
    }

    #[test]
    fn bursts_are_at_least_one_packet() {
        assert_eq!(burst("3.5"), Ok(3.5));
        for text in ["0", "0.9", "3p", ""] {
            assert_eq!(burst(text), Err(ValueError::Burst(text.to_owned())));
        }
    }

    #[test]
    fn queues_are_spans_bytes_or_packets() {
        assert_eq!(queue("100ms"), Ok(Queue::Span(Duration::from_millis(100))));
        assert_eq!(queue("64K"), Ok(Queue::Bytes(65_536)));
        assert_eq!(queue("1500B"), Ok(Queue::Bytes(1_500)));
        assert_eq!(queue("50p"), Ok(Queue::Packets(50)));
        for text in ["64", "1.5p", "K", "64Q"] {
            assert_eq!(queue(text), Err(ValueError::Queue(text.to_owned())));
        }
        for text in ["65G", "5000000000p"] {
            assert_eq!(queue(text), Err(ValueError::QueueRange(text.to_owned())));
        }
        assert_eq!(queue("2h"), Err(ValueError::Queue("2h".to_owned())));
    }

    #[test]
    fn sizes_count_by_1024_and_need_a_unit() {
        assert_eq!((size("64K"), size("1M"), size("1500B")), (Ok(65_536), Ok(1 << 20), Ok(1_500)));
        for text in ["64", "1.5p", "K", "20ms"] {
            assert_eq!(size(text), Err(ValueError::Size(text.to_owned())));
        }
    }

    #[test]
    fn an_mtu_carries_at_least_what_every_internet_module_forwards() {
        assert_eq!((mtu("68"), mtu("65535")), (Ok(68), Ok(65_535)));
        for text in ["67", "65536", "-1", "big"] {
            assert_eq!(mtu(text), Err(ValueError::Mtu(text.to_owned())));
        }
    }

    #[test]
    fn every_preset_has_a_name_and_no_other_does() {
        assert_eq!(PRESETS.map(|(_, preset)| preset), Preset::ALL);
        assert_eq!(preset("wifi"), Ok(Preset::Wifi));
        assert_eq!(preset("wlan"), Err(ValueError::Preset("wlan".to_owned())));
    }
}
