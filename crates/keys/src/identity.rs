//! [`Identity`]: who one is, as a key.

use std::fmt;
use std::str::FromStr;

use aws_lc_rs::signature::{Ed25519KeyPair, KeyPair};

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;

use crate::error::KeyError;

/// Bytes of an Ed25519 public key.
const PUBLIC_KEY_LEN: usize = 32;

/// The DER that stands in front of an Ed25519 key in a SubjectPublicKeyInfo (RFC 8410 section 4).
const SPKI_HEAD: [u8; 12] = [0x30, 0x2a, 0x30, 0x05, 0x06, 0x03, 0x2b, 0x65, 0x70, 0x03, 0x21, 0];

/// Who one is to others: an Ed25519 public key. Displays as base64url, which URLs take as it is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey([u8; PUBLIC_KEY_LEN]);

impl PublicKey {
    /// Its bytes.
    #[must_use]
    pub const fn as_bytes(&self) -> &[u8; PUBLIC_KEY_LEN] {
        &self.0
    }

    /// The key of these bytes.
    #[must_use]
    pub fn from_bytes(bytes: &[u8]) -> Option<Self> {
        bytes.try_into().ok().map(Self)
    }

    /// As RFC 7250 has it in TLS: a SubjectPublicKeyInfo.
    pub(crate) fn to_spki(self) -> Vec<u8> {
        [&SPKI_HEAD[..], &self.0].concat()
    }

    /// `None` if it is no Ed25519 key.
    pub(crate) fn from_spki(spki: &[u8]) -> Option<Self> {
        Self::from_bytes(spki.strip_prefix(&SPKI_HEAD)?)
    }
}

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&URL_SAFE_NO_PAD.encode(self.0))
    }
}

impl FromStr for PublicKey {
    type Err = KeyError;

    fn from_str(text: &str) -> Result<Self, KeyError> {
        let bytes = URL_SAFE_NO_PAD.decode(text).ok().and_then(|bytes| Self::from_bytes(&bytes));
        bytes.ok_or_else(|| KeyError::PublicKey { found: text.to_owned() })
    }
}

/// Who one is: an Ed25519 key pair.
pub struct Identity {
    pkcs8: Vec<u8>,
    public: PublicKey,
}

impl Identity {
    /// A new one.
    ///
    /// # Errors
    ///
    /// If the system gives no randomness.
    pub fn generate() -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::generate().map_err(|_| KeyError::Randomness)?;
        Self::of_pair(&pair)
    }

    /// One that was kept, in the form PKCS #8 (RFC 5958).
    ///
    /// # Errors
    ///
    /// If it is no Ed25519 key.
    pub fn from_pkcs8(bytes: &[u8]) -> Result<Self, KeyError> {
        let pair = Ed25519KeyPair::from_pkcs8_maybe_unchecked(bytes);
        Self::of_pair(&pair.map_err(|_| KeyError::PrivateKey)?)
    }

    fn of_pair(pair: &Ed25519KeyPair) -> Result<Self, KeyError> {
        let public = PublicKey::from_bytes(pair.public_key().as_ref());
        let pkcs8 = pair.to_pkcs8v1().map_err(|_| KeyError::PrivateKey)?;
        let public = public.ok_or(KeyError::PrivateKey)?;
        Ok(Self { pkcs8: pkcs8.as_ref().to_vec(), public })
    }

    /// To keep it, in the form PKCS #8: who has it is us.
    #[must_use]
    pub fn to_pkcs8(&self) -> &[u8] {
        &self.pkcs8
    }

    /// Who one is to others.
    #[must_use]
    pub const fn public_key(&self) -> PublicKey {
        self.public
    }
}

impl fmt::Debug for Identity {
    /// Shows the public key only.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("Identity").field(&self.public.to_string()).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_identity_that_was_kept_is_the_same() {
        let identity = Identity::generate().unwrap();
        let again = Identity::from_pkcs8(identity.to_pkcs8()).unwrap();
        assert_eq!(again.public_key(), identity.public_key());
        assert_eq!(Identity::from_pkcs8(b"none").unwrap_err(), KeyError::PrivateKey);
    }

    #[test]
    fn a_public_key_is_read_as_it_is_shown() {
        let key = Identity::generate().unwrap().public_key();
        let shown = key.to_string();
        assert_eq!((shown.len(), shown.parse()), (43, Ok(key)));
        assert!("ab12".parse::<PublicKey>().is_err());
        assert_eq!(PublicKey::from_spki(&key.to_spki()), Some(key));
    }

    #[test]
    fn no_private_key_is_shown() {
        let identity = Identity::generate().unwrap();
        let shown = format!("{identity:?}");
        assert_eq!(shown, format!("Identity({:?})", identity.public_key().to_string()));
    }
}
