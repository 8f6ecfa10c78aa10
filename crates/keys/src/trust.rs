//! [`Trust`]: whose keys are taken.

use crate::certificate::Authority;
use crate::identity::PublicKey;

/// Which peers are taken for who they should be.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Trust {
    /// Whoever has a key: who it was can be asked afterwards.
    Anyone,
    /// These, and nobody else.
    Only(Vec<PublicKey>),
    /// Those who have a certificate that these CAs issued; and who has one of these keys.
    Certified(Authority, Vec<PublicKey>),
}

impl Trust {
    /// Whether a peer is taken for its key alone.
    #[must_use]
    pub fn accepts(&self, key: &PublicKey) -> bool {
        match self {
            Self::Anyone => true,
            Self::Only(keys) | Self::Certified(_, keys) => keys.contains(key),
        }
    }

    /// The CAs whose certificates are taken.
    pub(crate) const fn authority(&self) -> Option<&Authority> {
        match self {
            Self::Anyone | Self::Only(_) => None,
            Self::Certified(authority, _) => Some(authority),
        }
    }
}
