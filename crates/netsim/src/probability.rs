//! [`Probability`]: a number from 0 to 1.

use std::fmt;

use thiserror::Error;

/// A number from 0 (never) to 1 (always).
#[derive(Clone, Copy, Default, PartialEq, PartialOrd)]
#[cfg_attr(
    feature = "serde",
    derive(serde::Serialize, serde::Deserialize),
    serde(try_from = "f64", into = "f64")
)]
pub struct Probability(f64);

impl Probability {
    /// Probability 0.
    pub const NEVER: Self = Self(0.0);
    /// Probability 1.
    pub const ALWAYS: Self = Self(1.0);

    /// Checks the range.
    ///
    /// # Errors
    /// `value` is below 0, above 1 or not a number.
    pub fn new(value: f64) -> Result<Self, ProbabilityError> {
        if (0.0..=1.0).contains(&value) { Ok(Self(value)) } else { Err(ProbabilityError { value }) }
    }

    /// The nearest probability; 0 for what is not a number.
    #[must_use]
    pub fn saturating(value: f64) -> Self {
        if value.is_nan() { Self::NEVER } else { Self(value.clamp(0.0, 1.0)) }
    }

    /// The value.
    #[must_use]
    pub const fn as_f64(self) -> f64 {
        self.0
    }
}

impl TryFrom<f64> for Probability {
    type Error = ProbabilityError;

    fn try_from(value: f64) -> Result<Self, ProbabilityError> {
        Self::new(value)
    }
}

impl From<Probability> for f64 {
    fn from(probability: Probability) -> Self {
        probability.0
    }
}

impl fmt::Debug for Probability {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}

/// A number that is no probability.
#[derive(Debug, Clone, Copy, PartialEq, Error)]
#[error("{value} is not a probability: it must be from 0 to 1, so 2 % is 0.02")]
pub struct ProbabilityError {
    /// The number.
    pub value: f64,
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_zero_to_one_is_a_probability() {
        assert_eq!(Probability::new(0.0), Ok(Probability::NEVER));
        assert_eq!(Probability::new(1.0), Ok(Probability::ALWAYS));
        assert_eq!(Probability::new(2.0), Err(ProbabilityError { value: 2.0 }));
        assert!(Probability::new(-0.1).is_err() && Probability::new(f64::NAN).is_err());
    }

    #[test]
    fn saturating_takes_any_number() {
        assert_eq!(Probability::saturating(7.0), Probability::ALWAYS);
        assert_eq!(Probability::saturating(-7.0), Probability::NEVER);
        assert_eq!(Probability::saturating(f64::NAN), Probability::NEVER);
        assert_eq!(Probability::saturating(0.25).as_f64(), 0.25);
    }
}
