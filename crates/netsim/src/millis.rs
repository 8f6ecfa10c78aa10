//! Durations as milliseconds with a fraction, the way people write them.

use std::time::Duration;

const NANOS_PER_MILLI: f64 = 1e6;

/// What is exact to the nanosecond up to 104 days.
pub(crate) fn from_duration(span: Duration) -> f64 {
    span.as_nanos() as f64 / NANOS_PER_MILLI
}

/// `None` for what is negative, not a number or beyond 584 years.
pub(crate) fn to_duration(ms: f64) -> Option<Duration> {
    let nanos = (ms * NANOS_PER_MILLI).round();
    (0.0..u64::MAX as f64).contains(&nanos).then(|| Duration::from_nanos(nanos as u64))
}

/// A duration in data, as milliseconds.
pub(crate) mod duration {
    use std::time::Duration;

    use serde::de::Error as _;
    use serde::{Deserialize, Deserializer, Serializer};

    pub(crate) fn serialize<S: Serializer>(span: &Duration, to: S) -> Result<S::Ok, S::Error> {
        to.serialize_f64(super::from_duration(*span))
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
        let ms = f64::deserialize(from)?;
        super::to_duration(ms)
            .ok_or_else(|| D::Error::custom(format!("{ms} ms is no span: give 0 or more")))
    }
}

/// A duration in data that may be missing, as milliseconds.
pub(crate) mod optional {
    use std::time::Duration;

    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    #[derive(Serialize, Deserialize)]
    #[serde(transparent)]
    struct Millis(#[serde(with = "super::duration")] Duration);

    pub(crate) fn serialize<S: Serializer>(
        span: &Option<Duration>,
        to: S,
    ) -> Result<S::Ok, S::Error> {
        span.map(Millis).serialize(to)
    }

    pub(crate) fn deserialize<'de, D: Deserializer<'de>>(
        from: D,
    ) -> Result<Option<Duration>, D::Error> {
        Ok(Option::<Millis>::deserialize(from)?.map(|Millis(span)| span))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nanoseconds_survive_the_way_there_and_back() {
        for nanos in [0, 1, 999_999, 1_000_001, 86_400_000_000_001] {
            let span = Duration::from_nanos(nanos);
            assert_eq!(to_duration(from_duration(span)), Some(span));
        }
    }

    #[test]
    fn what_is_no_duration_is_none() {
        for ms in [-1.0, f64::NAN, f64::INFINITY, 1e300] {
            assert_eq!(to_duration(ms), None);
        }
    }
}
