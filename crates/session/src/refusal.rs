//! [`Refusal`]: why a peer is not served, in words.

use std::fmt;

use serde::{Deserialize, Serialize};

/// Why a peer is not served.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct Refusal {
    /// The kind of reason.
    pub code: RefusalCode,
    /// The reason in words.
    pub text: String,
}

/// The kinds of reasons.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum RefusalCode {
    /// The versions of the session protocol differ.
    Version,
    /// Both ends send, or both receive.
    Role,
    /// The stream has another name here.
    StreamId,
    /// The passphrases differ, or one end has none.
    Passphrase,
    /// Another peer is served.
    Busy,
    /// A reason of a later version.
    #[serde(other)]
    Other,
}

impl Refusal {
    pub(super) fn new(code: RefusalCode, text: String) -> Self {
        Self { code, text }
    }

    /// Both ends have a passphrase, and not the same.
    pub(super) fn other_passphrase() -> Self {
        let text = "the passphrases of both ends differ: give the same in both URLs";
        Self::new(RefusalCode::Passphrase, text.to_owned())
    }

    /// One end has a passphrase.
    pub(super) fn one_passphrase() -> Self {
        let text = "one end has a passphrase and the other has none: give passphrase= in both URLs";
        Self::new(RefusalCode::Passphrase, text.to_owned())
    }

    /// Whether it will be different later without anyone's doing at this end.
    #[must_use]
    pub fn may_pass(&self) -> bool {
        self.code == RefusalCode::Busy
    }
}

impl fmt::Display for Refusal {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.text)
    }
}
