//! [`Trust`]: whose keys are taken.

use crate::identity::PublicKey;

/// Which peers are taken for who they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Whoever has a key: who it was can be asked afterwards.
    Anyone,
    /// These, and nobody else.
    Only(Vec<PublicKey>),
}

impl Trust {
    /// Whether a peer is taken.
    #[must_use]
    pub fn accepts(&self, key: &PublicKey) -> bool {
        match self {
            Self::Anyone => true,
            Self::Only(keys) => keys.contains(key),
        }
    }
}
