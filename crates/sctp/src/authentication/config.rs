//! [`Authentication`]: what a user decides.

use std::fmt;
use std::sync::Arc;

use anabranch_wire::{ChunkType, SALT_LEN};
use thiserror::Error;

/// Keys that one end may have.
const KEYS_MAX: usize = 16;

/// Bytes of a key's secret. A longer one adds nothing: the hash functions are shorter.
const SECRET_LEN_MAX: usize = 1_024;

/// The endpoint pair shared keys, and what they protect.
///
/// Both ends hold the same keys. Nothing is encrypted: chunks are proved to come from one who has a
/// key, unchanged.
#[derive(Debug, Clone)]
pub struct Authentication {
    keys: Arc<[SharedKey]>,
    protection: Protection,
    /// What callers are told for making the same keys.
    salt: Option<[u8; SALT_LEN]>,
    /// How a caller makes its key once it knows the listener's salt.
    derivation: Option<Derivation>,
}

/// Makes a key of a salt.
#[derive(Clone)]
struct Derivation(Arc<Derive>);

type Derive = dyn Fn(&[u8; SALT_LEN]) -> SharedKey + Send + Sync;

impl fmt::Debug for Derivation {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Derivation(..)")
    }
}

/// An endpoint pair shared key (RFC 4895 section 6.1).
#[derive(Clone)]
pub struct SharedKey {
    id: u16,
    secret: Arc<[u8]>,
}

/// Which chunks are taken authenticated only.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Protection {
    /// Those that change addresses (RFC 5061), and no others. Peers that do not authenticate
    /// anything are served; their addresses cannot be changed by request.
    Addresses,
    /// All that act on an association; peers without a key are refused. Of those that exist, ERROR
    /// is left, which tells strangers why they are refused and has no effect once an association is
    /// set up, and INIT, INIT ACK and SHUTDOWN COMPLETE, which cannot be authenticated.
    Everything,
}

/// Why keys cannot be used.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum AuthenticationError {
    /// Too many.
    #[error("{count} keys were given, but there may be at most {KEYS_MAX}")]
    TooManyKeys {
        /// How many.
        count: usize,
    },
    /// Two of one number.
    #[error("two keys have the identifier {id}: give each one of its own")]
    Repeated {
        /// The number.
        id: u16,
    },
    /// Without a secret, anybody who saw the handshake can forge.
    #[error("key {id} is empty: protecting everything needs a secret")]
    Empty {
        /// Its number.
        id: u16,
    },
    /// Too long.
    #[error("key {id} has {len} bytes, but there may be at most {SECRET_LEN_MAX}")]
    TooLong {
        /// Its number.
        id: u16,
        /// Its length.
        len: usize,
    },
}

impl SharedKey {
    /// A key that both ends know by `id`.
    #[must_use]
    pub fn new(id: u16, secret: &[u8]) -> Self {
        Self { id, secret: secret.into() }
    }

    pub(super) const fn id(&self) -> u16 {
        self.id
    }

    pub(super) fn secret(&self) -> &[u8] {
        &self.secret
    }
}

/// Shows nothing of the secret.
impl fmt::Debug for SharedKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("SharedKey").field("id", &self.id).finish_non_exhaustive()
    }
}

impl Authentication {
    /// Authenticates by `keys`, of which the first signs what we send. Without any, only who saw no
    /// packet of the handshake is kept from forging (RFC 4895 section 9).
    ///
    /// # Errors
    ///
    /// Says which rule for keys is broken.
    pub fn new(
        mut keys: Vec<SharedKey>,
        protection: Protection,
    ) -> Result<Self, AuthenticationError> {
        if keys.is_empty() {
            // RFC 4895 section 6.2: "If the endpoint has no endpoint pair shared key for the peer,
            // it MUST use Shared Key Identifier zero with an empty endpoint pair shared key."
            keys.push(SharedKey::new(0, &[]));
        }
        if keys.len() > KEYS_MAX {
            return Err(AuthenticationError::TooManyKeys { count: keys.len() });
        }
        for (nth, key) in keys.iter().enumerate() {
            let (id, len) = (key.id, key.secret.len());
            if keys.iter().take(nth).any(|other| other.id == id) {
                return Err(AuthenticationError::Repeated { id });
            }
            if len > SECRET_LEN_MAX {
                return Err(AuthenticationError::TooLong { id, len });
            }
            if len == 0 && protection == Protection::Everything {
                return Err(AuthenticationError::Empty { id });
            }
        }
        Ok(Self { keys: keys.into(), protection, salt: None, derivation: None })
    }

    /// For a listener whose keys were made of a passphrase and this salt: callers are told the salt
    /// in INIT ACK.
    #[must_use]
    pub fn with_salt(mut self, salt: [u8; SALT_LEN]) -> Self {
        self.salt = Some(salt);
        self
    }

    /// For a caller that makes its key of a passphrase and of the salt that the listener announces;
    /// everything is protected. A key is made at most once for each INIT ACK that is taken, and one
    /// is taken for each INIT and each stale cookie. It should remember the last one: listeners
    /// keep their salt.
    #[must_use]
    pub fn derived(derive: impl Fn(&[u8; SALT_LEN]) -> SharedKey + Send + Sync + 'static) -> Self {
        let derivation = Some(Derivation(Arc::new(derive)));
        Self { keys: Arc::new([]), protection: Protection::Everything, salt: None, derivation }
    }

    pub(crate) const fn salt(&self) -> Option<[u8; SALT_LEN]> {
        self.salt
    }

    /// Whether there is no key before the listener tells its salt.
    pub(crate) const fn needs_salt(&self) -> bool {
        self.derivation.is_some()
    }

    /// Makes the key that follows from a listener's salt, where one is needed.
    pub(crate) fn take_salt(&mut self, salt: &[u8; SALT_LEN]) {
        if let Some(Derivation(derive)) = &self.derivation {
            self.keys = Arc::new([derive(salt)]);
        }
    }

    pub(crate) fn keys(&self) -> &[SharedKey] {
        &self.keys
    }

    /// Whether peers that do not authenticate are refused.
    pub(crate) fn is_demanded(&self) -> bool {
        self.protection == Protection::Everything
    }

    /// Whether who has our keys knows more than who saw a handshake.
    pub(crate) fn has_secret(&self) -> bool {
        !self.keys.is_empty() && self.keys.iter().all(|key| !key.secret.is_empty())
    }

    /// The chunks that are taken authenticated only: our CHUNKS parameter.
    pub(crate) const fn chunks(&self) -> &'static [ChunkType] {
        match self.protection {
            Protection::Addresses => &ADDRESS_CHUNKS,
            Protection::Everything => &ALL_CHUNKS,
        }
    }
}

/// RFC 5061 sections 4.1.1 and 4.1.2: "This chunk MUST be sent in an authenticated way".
const ADDRESS_CHUNKS: [ChunkType; 2] = [ChunkType::ASCONF, ChunkType::ASCONF_ACK];

const ALL_CHUNKS: [ChunkType; 17] = [
    ChunkType::DATA,
    ChunkType::SACK,
    ChunkType::HEARTBEAT,
    ChunkType::HEARTBEAT_ACK,
    ChunkType::ABORT,
    ChunkType::SHUTDOWN,
    ChunkType::SHUTDOWN_ACK,
    ChunkType::COOKIE_ECHO,
    ChunkType::COOKIE_ACK,
    ChunkType::ECNE,
    ChunkType::CWR,
    ChunkType::FORWARD_TSN,
    ChunkType::ASCONF,
    ChunkType::ASCONF_ACK,
    ChunkType::RE_CONFIG,
    ChunkType::I_DATA,
    ChunkType::I_FORWARD_TSN,
];

#[cfg(test)]
mod tests {
    use super::*;

    fn refusal(keys: Vec<SharedKey>, protection: Protection) -> AuthenticationError {
        Authentication::new(keys, protection).unwrap_err()
    }

    #[test]
    fn keys_that_protect_nothing_are_refused_by_the_rule_they_break() {
        let key = |id| SharedKey::new(id, b"secret");
        let many = (0..17).map(key).collect();
        assert_eq!(
            refusal(many, Protection::Addresses),
            AuthenticationError::TooManyKeys { count: 17 }
        );
        let twice = refusal(vec![key(1), key(2), key(1)], Protection::Everything);
        assert_eq!(twice, AuthenticationError::Repeated { id: 1 });
        let empty = AuthenticationError::Empty { id: 0 };
        assert_eq!(refusal(Vec::new(), Protection::Everything), empty);
        let long = SharedKey::new(3, &[0; 1_025]);
        let error = refusal(vec![long], Protection::Everything);
        assert_eq!(error, AuthenticationError::TooLong { id: 3, len: 1_025 });
    }

    #[test]
    fn a_secret_is_not_shown() {
        let key = SharedKey::new(7, b"hush");
        assert_eq!(format!("{key:?}"), "SharedKey { id: 7, .. }");
    }

    #[test]
    fn what_cannot_be_authenticated_is_never_demanded() {
        // RFC 4895 section 3.2: "The chunk types for INIT, INIT-ACK, SHUTDOWN-COMPLETE, and AUTH
        // chunks MUST NOT be listed in the CHUNKS parameter."
        for ty in [
            ChunkType::INIT,
            ChunkType::INIT_ACK,
            ChunkType::SHUTDOWN_COMPLETE,
            ChunkType::AUTH,
            ChunkType::ERROR,
        ] {
            assert!(!ALL_CHUNKS.contains(&ty), "{ty}");
        }
    }
}
