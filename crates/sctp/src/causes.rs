//! [`PeerCauses`]: what the peer says is wrong, as data and in words.

use std::fmt;

use anabranch_wire::{DecodeError, ErrorCause, ErrorCauses};
use bytes::Bytes;

/// The error causes of the peer's ABORT or ERROR. Displays in words; empty if the peer gave none.
#[derive(Clone, PartialEq, Eq, Default)]
pub struct PeerCauses {
    bytes: Bytes,
}

impl PeerCauses {
    pub(crate) fn of(causes: ErrorCauses<'_>) -> Self {
        Self { bytes: Bytes::copy_from_slice(causes.as_bytes()) }
    }

    /// The causes in order. One that cannot be read is the last.
    pub fn iter(&self) -> impl Iterator<Item = Result<ErrorCause<'_>, DecodeError>> {
        ErrorCauses::from_bytes(&self.bytes).iter()
    }

    /// Whether the peer gave no cause.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.bytes.is_empty()
    }

    /// What the peer's user gave as the reason (RFC 9260 section 3.3.10.12), if it was the user who
    /// aborted.
    #[must_use]
    pub fn user_reason(&self) -> Option<&[u8]> {
        self.iter().find_map(|cause| match cause {
            Ok(ErrorCause::UserInitiatedAbort(reason)) => Some(reason),
            _ => None,
        })
    }
}

impl fmt::Display for PeerCauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (number, cause) in self.iter().enumerate() {
            if number > 0 {
                f.write_str("; ")?;
            }
            match cause {
                Ok(cause) => cause.fmt(f)?,
                Err(error) => write!(f, "unreadable cause ({error})")?,
            }
        }
        Ok(())
    }
}

impl fmt::Debug for PeerCauses {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.iter()).finish()
    }
}
