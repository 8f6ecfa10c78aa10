//! Links as people set them, the same for every command: `rate=10M,delay=20ms,down.loss=1%`.

mod direction;
mod values;

pub use direction::{DirectionSettings, KEYS, SettingsError};
pub use values::{
    Queue, ReadFile, Speed, ValueError, burst, loss, mtu, preset, queue, size, speed, time, trace,
};

use crate::LinkConfig;

/// A link's settings: for both directions, and what differs in one.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct LinkSettings {
    both: DirectionSettings,
    up: DirectionSettings,
    down: DirectionSettings,
}

impl LinkSettings {
    /// The same for both directions.
    #[must_use]
    pub fn alike(both: DirectionSettings) -> Self {
        Self { both, ..Self::default() }
    }

    /// Sets what a key names, `up.` or `down.` in front of it for one direction only.
    ///
    /// # Errors
    /// As [`DirectionSettings::set`].
    pub fn set(&mut self, key: &str, value: &str, read: ReadFile<'_>) -> Result<(), SettingsError> {
        match key.split_once('.') {
            Some(("up", key)) => self.up.set(key, value, read),
            Some(("down", key)) => self.down.set(key, value, read),
            Some(_) | None => self.both.set(key, value, read),
        }
    }

    /// Settings as one text: `rate=10M,delay=20ms,down.loss=1%`.
    ///
    /// # Errors
    /// A part says nothing; or as [`DirectionSettings::set`].
    pub fn parse(text: &str, read: ReadFile<'_>) -> Result<Self, SettingsError> {
        let mut settings = Self::default();
        for part in text.split(',') {
            let (key, value) = key_and_value(part)?;
            settings.set(key, value, read)?;
        }
        Ok(settings)
    }

    /// The way to the target and the way back; what the settings leave out stays.
    ///
    /// # Errors
    /// The settings do not fit each other.
    pub fn directions(
        &self,
        up: LinkConfig,
        down: LinkConfig,
    ) -> Result<(LinkConfig, LinkConfig), SettingsError> {
        let of = |one: &DirectionSettings| one.clone().or(self.both.clone());
        Ok((of(&self.up).change(up)?, of(&self.down).change(down)?))
    }
}

/// The two sides of `key=value`.
///
/// # Errors
/// There is only one.
pub fn key_and_value(part: &str) -> Result<(&str, &str), SettingsError> {
    part.split_once('=').ok_or_else(|| SettingsError::NoValue { part: part.to_owned() })
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use anabranch_sansio::Rate;

    use super::*;
    use crate::{Loss, NamedLink, QueueLimit};

    fn wifi() -> NamedLink {
        let forward = LinkConfig { rate: Some(Rate::mbps(20)), ..LinkConfig::wifi() };
        NamedLink { name: "wifi".to_owned(), forward, backward: None }
    }

    fn changed(text: &str) -> Result<NamedLink, SettingsError> {
        LinkSettings::parse(text, &|_| Err("there is none".to_owned()))?.change(wifi())
    }

    #[test]
    fn what_is_left_out_stays() {
        let link = changed("rate=2.5M,down.delay=40ms,loss=1%,up.queue=9p").unwrap();
        let forward = LinkConfig {
            rate: Some(Rate::kbps(2_500)),
            loss: Loss::uniform(0.01),
            queue: QueueLimit::Packets(9),
            ..wifi().forward
        };
        assert_eq!(link.forward, forward);
        let backward = link.backward.unwrap();
        assert_eq!(backward.delay, Duration::from_millis(40));
        assert_eq!(backward.rate, forward.rate);
        assert_eq!(changed("preset=dsl").unwrap().forward, LinkConfig::dsl());
    }

    #[test]
    fn what_makes_no_sense_is_refused_in_words() {
        for (text, words) in [
            ("", "\"\" says nothing"),
            ("fast", "\"fast\" says nothing"),
            ("speed=1M", "there is no key speed: the keys are preset, rate"),
            ("left.rate=1M", "there is no key left.rate"),
            ("rate=1M,rate=2M", "rate is given twice"),
            ("delay=40", "delay: \"40\" is no time: write 500us, 20ms or 1.5s"),
            ("rate=unlimited,queue=10ms", "needs a rate"),
        ] {
            let error = changed(text).unwrap_err().to_string();
            assert!(error.contains(words), "{text}: {error}");
        }
    }
}
