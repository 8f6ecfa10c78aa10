//! [`RestartSecrets`]: what an association is restarted with by an end that has lost it
//! (draft-porfiri-tsvwg-sctp-dtls-handshake section 7).

use std::fmt;

use anabranch_sctp::{Epoch, NONCE_LEN, Restart, RestartKeys};

use crate::derivation::Material;
use crate::error::KeyError;
use crate::identity::PublicKey;
use crate::suite::Suite;

/// The form in which secrets are stored.
const VERSION: u8 = 1;

/// The secrets that an association is restarted with. Whoever has them can take the place of this
/// end in a restart; they are good for one.
#[derive(PartialEq, Eq)]
pub struct RestartSecrets {
    pub(crate) suite: Suite,
    pub(crate) epoch: Epoch,
    pub(crate) peer: PublicKey,
    pub(crate) sealing: Material,
    pub(crate) opening: Material,
}

impl RestartSecrets {
    /// Who the peer is.
    #[must_use]
    pub const fn peer(&self) -> PublicKey {
        self.peer
    }

    /// As they are stored, where only their owner can read them.
    #[must_use]
    pub fn to_bytes(&self) -> Vec<u8> {
        let Self { suite, epoch, peer, sealing, opening } = self;
        let mut bytes = vec![VERSION, suite.number()];
        bytes.extend_from_slice(&epoch.0.to_be_bytes());
        bytes.extend_from_slice(peer.as_bytes());
        for Material { key, number_key, iv } in [sealing, opening] {
            bytes.extend([&key[..], number_key, iv].concat());
        }
        bytes
    }

    /// What was stored. Delete it before it is used: a restart that seals with the same keys a
    /// second time gives away what it sealed.
    ///
    /// # Errors
    ///
    /// If it is not what [`to_bytes`](Self::to_bytes) returned.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self, KeyError> {
        Self::read(bytes).ok_or(KeyError::RestartSecrets { len: bytes.len() })
    }

    fn read(bytes: &[u8]) -> Option<Self> {
        let (&[VERSION, suite], rest) = bytes.split_first_chunk()? else { return None };
        let suite = Suite::of_number(suite)?;
        let (epoch, rest) = rest.split_first_chunk()?;
        let (peer, mut rest) = rest.split_first_chunk::<32>()?;
        let mut material = || {
            let (key, behind) = rest.split_at_checked(suite.key_len())?;
            let (number_key, behind) = behind.split_at_checked(suite.key_len())?;
            let (iv, behind) = behind.split_first_chunk::<NONCE_LEN>()?;
            rest = behind;
            Some(Material { key: key.to_vec(), number_key: number_key.to_vec(), iv: *iv })
        };
        let (sealing, opening) = (material()?, material()?);
        let peer = PublicKey::from_bytes(peer)?;
        let epoch = Epoch(u64::from_be_bytes(*epoch));
        rest.is_empty().then_some(Self { suite, epoch, peer, sealing, opening })
    }

    pub(crate) fn keys(&self) -> Option<RestartKeys> {
        let Self { suite, epoch, sealing, opening, .. } = self;
        let (sealing, opening) = (sealing.keys(*suite)?, opening.keys(*suite)?);
        Some(RestartKeys { epoch: *epoch, sealing, opening })
    }

    pub(crate) fn restart(&self) -> Option<Restart> {
        Some(Restart { keys: self.keys()?, peer_identity: self.peer.as_bytes().to_vec() })
    }
}

impl fmt::Debug for RestartSecrets {
    /// Shows no secret.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { suite, epoch, peer, .. } = self;
        f.debug_struct("RestartSecrets")
            .field("suite", suite)
            .field("epoch", epoch)
            .field("peer", peer)
            .finish_non_exhaustive()
    }
}

/// Where the secrets of restarts are kept.
pub trait RestartStore: fmt::Debug + Send + Sync {
    /// Keeps the newest secrets of an association, in place of earlier ones.
    fn keep(&self, secrets: &RestartSecrets);
}

/// Keeps nothing: the peer can restart the association, and this end cannot.
impl RestartStore for () {
    fn keep(&self, _: &RestartSecrets) {}
}

#[cfg(test)]
mod tests {
    use super::*;

    fn secrets(suite: Suite) -> RestartSecrets {
        let material = |first: u8| Material {
            key: (first..).take(suite.key_len()).collect(),
            number_key: (first + 50..).take(suite.key_len()).collect(),
            iv: [first; NONCE_LEN],
        };
        let peer = PublicKey::from_bytes(&[7; 32]).expect("32 bytes");
        let (sealing, opening) = (material(1), material(101));
        RestartSecrets { suite, epoch: Epoch(5), peer, sealing, opening }
    }

    #[test]
    fn what_was_stored_is_read_and_nothing_else() {
        for suite in Suite::by_speed() {
            let stored = secrets(suite).to_bytes();
            assert_eq!(RestartSecrets::from_bytes(&stored), Ok(secrets(suite)));
            for len in 0..stored.len() {
                let refused = RestartSecrets::from_bytes(&stored[..len]);
                assert_eq!(refused, Err(KeyError::RestartSecrets { len }));
            }
            assert!(RestartSecrets::from_bytes(&[&stored[..], &[0]].concat()).is_err());
            for at in [0, 1] {
                let mut other = stored.clone();
                other[at] = 9;
                assert!(RestartSecrets::from_bytes(&other).is_err());
            }
        }
    }

    #[test]
    fn no_secret_is_shown() {
        let shown = format!("{:?}", secrets(Suite::Aes128Gcm));
        assert!(!shown.contains("51, 52") && shown.contains("epoch"), "{shown}");
    }
}
