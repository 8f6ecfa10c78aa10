//! [`HmacIdentifier`]: the algorithm of an HMAC.

use std::fmt;

use crate::items::sealed;

/// The algorithm of an HMAC. Displays as its name in the RFC.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct HmacIdentifier(pub u16);

impl HmacIdentifier {
    /// SHA-1, which every endpoint knows.
    pub const SHA_1: Self = Self(1);
    /// SHA-256.
    pub const SHA_256: Self = Self(3);
}

impl fmt::Display for HmacIdentifier {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::SHA_1 => f.pad("SHA-1"),
            Self::SHA_256 => f.pad("SHA-256"),
            Self(identifier) => write!(f, "identifier {identifier}"),
        }
    }
}

impl sealed::Item for HmacIdentifier {
    type Wire = [u8; 2];

    fn from_wire(wire: [u8; 2]) -> Self {
        Self(u16::from_be_bytes(wire))
    }

    fn to_wire(self) -> [u8; 2] {
        self.0.to_be_bytes()
    }
}
