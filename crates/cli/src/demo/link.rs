//! Links as people set them: `rate=20M,delay=10ms`.

use anabranch_apps::demo::LinkSpec;
use thiserror::Error;

use crate::values::{self, Speed, ValueError};

/// Settings that make no sense.
#[derive(Debug, Clone, PartialEq, Error)]
pub(super) enum SettingsError {
    #[error("\"{part}\" says nothing: write key=value, with commas between")]
    NoValue { part: String },
    #[error("there is no key {key}: the keys are rate, delay, jitter, loss")]
    UnknownKey { key: String },
    #[error("{key} is given twice: give it once")]
    Repeated { key: String },
    #[error("{key}: {error}")]
    Value { key: String, error: ValueError },
    #[error("a link of the demo has a rate: give one, such as 100M")]
    Unlimited,
}

/// `rate=20M,delay=10ms,jitter=2ms,loss=1%`; what is left out stays as it is.
pub(super) fn settings(text: &str) -> Result<LinkSpec, SettingsError> {
    let mut spec = LinkSpec::default();
    for part in text.split(',') {
        let no_value = || SettingsError::NoValue { part: part.to_owned() };
        let (key, value) = part.split_once('=').ok_or_else(no_value)?;
        let wrong = |error| SettingsError::Value { key: key.to_owned(), error };
        match key {
            "rate" => match values::speed(value).map_err(wrong)? {
                Speed::Limited(rate) => once(&mut spec.rate, key, rate)?,
                Speed::Unlimited => return Err(SettingsError::Unlimited),
            },
            "delay" => once(&mut spec.delay, key, values::time(value).map_err(wrong)?)?,
            "jitter" => once(&mut spec.jitter, key, values::time(value).map_err(wrong)?)?,
            "loss" => once(&mut spec.loss, key, values::loss(value).map_err(wrong)?)?,
            _ => return Err(SettingsError::UnknownKey { key: key.to_owned() }),
        }
    }
    Ok(spec)
}

fn once<T>(slot: &mut Option<T>, key: &str, value: T) -> Result<(), SettingsError> {
    match slot.replace(value) {
        None => Ok(()),
        Some(_) => Err(SettingsError::Repeated { key: key.to_owned() }),
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_sansio::Rate;

    use super::*;

    #[test]
    fn settings_are_read_one_by_one() {
        let spec = settings("rate=2.5M,delay=40ms,loss=1%").unwrap();
        let expected = LinkSpec {
            rate: Some(Rate::kbps(2_500)),
            delay: Some(Duration::from_millis(40)),
            jitter: None,
            loss: Some(0.01),
        };
        assert_eq!(spec, expected);
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        for (text, words) in [
            ("fast", "\"fast\" says nothing"),
            ("speed=1M", "there is no key speed"),
            ("rate=1M,rate=2M", "rate is given twice"),
            ("delay=40", "delay: \"40\" is no time: write 500us, 20ms or 1.5s"),
            ("rate=unlimited", "give one, such as 100M"),
        ] {
            let error = settings(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
