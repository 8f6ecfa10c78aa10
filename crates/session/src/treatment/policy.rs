//! [`Treatment`]: what the transport does with one class.

use std::fmt;
use std::time::Duration;

use anabranch_sansio::PathId;
use anabranch_transport::{Level, PathPreference};
use serde::{Deserialize, Serialize};
use thiserror::Error;

use super::MediaClass;

/// Priorities are 0 (served first) to this.
pub const PRIORITY_MAX: u8 = 7;

/// Levels are 0 (read first) to this.
pub const LEVEL_MAX: u8 = Level::ALL.len() as u8 - 1;

/// The longest lifetime: nobody waits a minute for live media.
pub const LIFETIME_MS_MAX: u32 = 60_000;

/// The most retransmissions to ask for: what was lost so often has no path.
pub const MAX_RETRANSMISSIONS_MAX: u32 = 100;

/// How hard to try.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Reliability {
    /// Until it is delivered.
    Reliable,
    /// For so many milliseconds from when it came to the sender.
    LifetimeMs(u32),
    /// For this share of the session's latency: at 100 as long as it can still arrive in time.
    LatencyPercent(u16),
    /// Not again after so many retransmissions.
    MaxRetransmissions(u32),
}

impl Reliability {
    /// What the transport is told about media that came `age` ago, in a session of this latency.
    #[must_use]
    pub fn resolve(self, latency: Duration, age: Duration) -> anabranch_transport::Reliability {
        let lifetime = match self {
            Self::Reliable => return anabranch_transport::Reliability::Reliable,
            Self::MaxRetransmissions(most) => {
                return anabranch_transport::Reliability::MaxRetransmissions(most);
            }
            Self::LifetimeMs(ms) => Duration::from_millis(ms.into()),
            Self::LatencyPercent(percent) => latency * u32::from(percent) / 100,
        };
        anabranch_transport::Reliability::Lifetime(lifetime.saturating_sub(age))
    }
}

/// What the transport does with one class.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Treatment {
    /// How hard to try.
    pub reliability: Reliability,
    /// Whether a message waits for the earlier ones of its class. The playout restores the order in
    /// any case; this only makes losses wait for each other.
    #[serde(default)]
    pub ordered: bool,
    /// Who goes first when not all can: 0 before 1 before [`PRIORITY_MAX`]; equal ones in turn.
    pub priority: u8,
    /// Number of the path to prefer while it works, in the order in which paths were given.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub path: Option<u8>,
    /// Whether it takes two paths at once, where there are two: what is lost on one comes over the
    /// other.
    #[serde(default)]
    pub twice: bool,
    /// What a receiver that cannot keep up reads first: 0 before 1 before [`LEVEL_MAX`], and what
    /// is sent again before all. `None` leaves it to the class.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub level: Option<u8>,
}

impl Treatment {
    /// Unordered, on any path.
    #[must_use]
    pub const fn new(reliability: Reliability, priority: u8) -> Self {
        Self { reliability, ordered: false, priority, path: None, twice: false, level: None }
    }

    /// What the session's own messages get.
    pub const CONTROL: Self = Self { ordered: true, ..Self::new(Reliability::Reliable, 0) };

    /// Which paths the transport is told to take.
    #[must_use]
    pub fn preference(&self) -> PathPreference {
        match self.path {
            _ if self.twice => PathPreference::Two,
            Some(path) => PathPreference::Prefer(PathId(path.into())),
            None => PathPreference::Any,
        }
    }

    /// How much it matters to a receiver that cannot keep up. Where nothing is given up, the
    /// receiver waits for all of it: what overtakes would only fill its memory.
    #[must_use]
    pub fn level_of(&self, class: MediaClass) -> Level {
        let chosen = self.level.and_then(|level| Level::ALL.get(usize::from(level)));
        match (chosen, self.reliability) {
            (Some(level), _) => *level,
            (None, Reliability::Reliable) if class != MediaClass::Control => Level::Normal,
            (None, _) => class.level(),
        }
    }

    pub(super) fn check(&self, class: MediaClass) -> Result<(), TreatmentError> {
        if class == MediaClass::Control && *self != Self::CONTROL {
            return Err(TreatmentError::Control);
        }
        if self.priority > PRIORITY_MAX {
            return Err(TreatmentError::Priority { class, priority: self.priority });
        }
        if let Some(level) = self.level.filter(|level| *level > LEVEL_MAX) {
            return Err(TreatmentError::Level { class, level });
        }
        if let Some(path) = self.path.filter(|_| self.twice) {
            return Err(TreatmentError::PathAndTwice { class, path });
        }
        match self.reliability {
            Reliability::LifetimeMs(ms) if !(1..=LIFETIME_MS_MAX).contains(&ms) => {
                Err(TreatmentError::Lifetime { class, ms })
            }
            Reliability::LatencyPercent(percent) if !(1..=100).contains(&percent) => {
                Err(TreatmentError::LatencyPercent { class, percent })
            }
            Reliability::MaxRetransmissions(most) if most > MAX_RETRANSMISSIONS_MAX => {
                Err(TreatmentError::MaxRetransmissions { class, most })
            }
            Reliability::Reliable
            | Reliability::LifetimeMs(_)
            | Reliability::LatencyPercent(_)
            | Reliability::MaxRetransmissions(_) => Ok(()),
        }
    }
}

impl fmt::Display for Reliability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let text = match self {
            Self::Reliable => "reliable".to_owned(),
            Self::LifetimeMs(ms) => format!("{ms} ms"),
            Self::LatencyPercent(percent) => format!("{percent} % of latency"),
            Self::MaxRetransmissions(1) => "1 retransmission".to_owned(),
            Self::MaxRetransmissions(most) => format!("{most} retransmissions"),
        };
        f.pad(&text)
    }
}

/// A treatment that makes no sense.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TreatmentError {
    /// Without its own messages a session does not work.
    #[error("the treatment of control is fixed: reliable, ordered, priority 0")]
    Control,
    /// No such priority.
    #[error("{class}: priority {priority} does not exist: give 0 (first) to {PRIORITY_MAX}")]
    Priority {
        /// Whose.
        class: MediaClass,
        /// What was given.
        priority: u8,
    },
    /// No such level.
    #[error("{class}: level {level} does not exist: give 0 (read first) to {LEVEL_MAX}")]
    Level {
        /// Whose.
        class: MediaClass,
        /// What was given.
        level: u8,
    },
    /// One path or two.
    #[error("{class}: it cannot prefer path {path} and take two: give path or twice")]
    PathAndTwice {
        /// Whose.
        class: MediaClass,
        /// What was given.
        path: u8,
    },
    /// Too short or too long.
    #[error("{class}: a lifetime of {ms} ms makes no sense: give 1 to {LIFETIME_MS_MAX}")]
    Lifetime {
        /// Whose.
        class: MediaClass,
        /// What was given.
        ms: u32,
    },
    /// Nothing, or more than can arrive in time.
    #[error("{class}: {percent} % of the latency makes no sense: give 1 to 100")]
    LatencyPercent {
        /// Whose.
        class: MediaClass,
        /// What was given.
        percent: u16,
    },
    /// More than helps.
    #[error(
        "{class}: {most} retransmissions make no sense: give 0 to {MAX_RETRANSMISSIONS_MAX}, or \
         reliable"
    )]
    MaxRetransmissions {
        /// Whose.
        class: MediaClass,
        /// What was given.
        most: u32,
    },
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lifetimes_count_from_when_the_media_came() {
        let (latency, age) = (Duration::from_millis(200), Duration::from_millis(30));
        let lifetime = |ms| anabranch_transport::Reliability::Lifetime(Duration::from_millis(ms));
        assert_eq!(Reliability::LatencyPercent(50).resolve(latency, age), lifetime(70));
        assert_eq!(Reliability::LifetimeMs(40).resolve(latency, age), lifetime(10));
        assert_eq!(Reliability::LifetimeMs(20).resolve(latency, age), lifetime(0));
        let reliable = Reliability::Reliable.resolve(latency, age);
        assert_eq!(reliable, anabranch_transport::Reliability::Reliable);
    }

    #[test]
    fn senseless_treatments_are_refused_with_what_would_be_right() {
        let refused = |reliability, priority| {
            Treatment::new(reliability, priority).check(MediaClass::Audio).unwrap_err().to_string()
        };
        assert_eq!(
            refused(Reliability::Reliable, 8),
            "audio: priority 8 does not exist: give 0 (first) to 7"
        );
        assert_eq!(
            refused(Reliability::LifetimeMs(0), 1),
            "audio: a lifetime of 0 ms makes no sense: give 1 to 60000"
        );
        assert!(refused(Reliability::LatencyPercent(101), 1).ends_with("give 1 to 100"));
        assert!(refused(Reliability::MaxRetransmissions(101), 1).contains("give 0 to 100"));
        let both =
            Treatment { path: Some(1), twice: true, ..Treatment::new(Reliability::Reliable, 1) };
        let error = both.check(MediaClass::KeyFrame).unwrap_err();
        assert_eq!(
            error.to_string(),
            "key-frame: it cannot prefer path 1 and take two: give path or twice"
        );
        let level = Treatment { level: Some(4), ..Treatment::new(Reliability::Reliable, 1) };
        let error = level.check(MediaClass::Audio).unwrap_err().to_string();
        assert_eq!(error, "audio: level 4 does not exist: give 0 (read first) to 3");
        let control = Treatment::new(Reliability::LifetimeMs(5), 0).check(MediaClass::Control);
        assert_eq!(control, Err(TreatmentError::Control));
    }
}
