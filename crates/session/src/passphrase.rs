//! [`Passphrase`]: what both ends of a session know, and nobody else.

use std::fmt;
use std::str::FromStr;
use std::sync::{Mutex, PoisonError};

use anabranch_sctp::{Authentication, Protection, SharedKey};
use anabranch_wire::SALT_LEN;
use sha2::Sha256;
use thiserror::Error;

/// Bytes of a passphrase, as in SRT.
const LEN_MIN: usize = 10;
const LEN_MAX: usize = 79;

/// The identifier of the only key that a session has.
const KEY_ID: u16 = 1;

/// Rounds of PBKDF2. Who recorded a handshake can try passphrases against it: each try costs so
/// many, and a session as many once, which is about a tenth of a second.
const ROUNDS: u32 = 200_000;

/// What the listener's salt is joined with, so that no other use of a passphrase leads to the key.
const PURPOSE: &[u8] = b"anabranch session key 2";

/// What a listener draws at its start, and tells its callers.
pub type Salt = [u8; SALT_LEN];

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
    /// What the transport of a listener needs: everything is authenticated by the key that follows
    /// from this and a salt, which is made here and now, and not for each caller.
    ///
    /// # Panics
    ///
    /// Never: one key with a secret of 32 bytes breaks none of the rules for keys.
    #[must_use]
    pub fn of_listener(&self, salt: Salt) -> Authentication {
        let keys = vec![self.key(&salt)];
        let authentication = Authentication::new(keys, Protection::Everything);
        authentication.expect("one key that is not empty").with_salt(salt)
    }

    /// The same for a caller, which makes the key when the listener has told its salt: once for
    /// each other salt than the last.
    #[must_use]
    pub fn of_caller(&self) -> Authentication {
        let (passphrase, last) = (self.clone(), Mutex::new(None));
        Authentication::derived(move |salt| {
            let mut last = last.lock().unwrap_or_else(PoisonError::into_inner);
            match &*last {
                Some((known, key)) if known == salt => SharedKey::clone(key),
                _ => {
                    let key = passphrase.key(salt);
                    *last = Some((*salt, key.clone()));
                    key
                }
            }
        })
    }

    fn key(&self, salt: &Salt) -> SharedKey {
        let (mut secret, salt) = ([0; 32], [PURPOSE, salt].concat());
        pbkdf2::pbkdf2_hmac::<Sha256>(self.0.as_bytes(), &salt, ROUNDS, &mut secret);
        SharedKey::new(KEY_ID, &secret)
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
