//! [`Passphrase`]: what both ends of a session know, and nobody else.

use std::fmt;
use std::str::FromStr;

use thiserror::Error;

/// Bytes of a passphrase, as in SRT.
const LEN_MIN: usize = 10;
const LEN_MAX: usize = 79;

/// A passphrase of 10 to 79 bytes.
#[derive(Clone, PartialEq, Eq)]
pub struct Passphrase(String);

/// It is too short or too long.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("passphrase= has {len} bytes: give {LEN_MIN} to {LEN_MAX}, as hard to guess as you can")]
pub struct PassphraseLength {
    /// How long it is.
    pub len: usize,
}

impl FromStr for Passphrase {
    type Err = PassphraseLength;

    fn from_str(text: &str) -> Result<Self, PassphraseLength> {
        let len = text.len();
        if (LEN_MIN..=LEN_MAX).contains(&len) {
            Ok(Self(text.to_owned()))
        } else {
            Err(PassphraseLength { len })
        }
    }
}

/// Shows nothing of it.
impl fmt::Debug for Passphrase {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Passphrase(..)")
    }
}

impl Passphrase {
    /// Its characters.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_length_is_that_of_srt() {
        for (len, is_taken) in [(9, false), (10, true), (79, true), (80, false)] {
            assert_eq!("x".repeat(len).parse::<Passphrase>().is_ok(), is_taken, "{len} bytes");
        }
        let error = "short".parse::<Passphrase>().unwrap_err().to_string();
        assert_eq!(error, "passphrase= has 5 bytes: give 10 to 79, as hard to guess as you can");
    }

    #[test]
    fn it_is_not_shown() {
        let passphrase: Passphrase = "do not show this".parse().unwrap();
        assert_eq!(format!("{passphrase:?}"), "Passphrase(..)");
    }
}
