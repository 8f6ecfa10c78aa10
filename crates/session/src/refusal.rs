//! [`Refusal`]: why a peer is not served, in words.

use std::fmt;

use anabranch_transport::CloseReason;
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
    /// A key or a passphrase is not the one expected, or only one end encrypts.
    Key,
    /// The other end has proved to be somebody who is not trusted here.
    Untrusted,
    /// One end speaks DCCP, which the other does not take.
    Protocol,
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

    /// Why a peer without the right key is not served, or does not serve us.
    pub(super) fn of_keys(what: &str) -> Self {
        Self::new(RefusalCode::Key, what.to_owned())
    }

    /// Why there is no session, if it is for want of the right key or protocol.
    #[must_use]
    pub fn of_close_reason(reason: &CloseReason) -> Option<Self> {
        use CloseReason::{
            KeyRefused, NoKeys, PeerDemandsEncryption, PeerNotAuthenticated, PeerNotEncrypted,
            PeerUntrusted,
        };
        if *reason == CloseReason::ProtocolRefused {
            return Some(Self::dccp_not_taken());
        }
        if let NoKeys { what } = reason {
            return Some(Self::of_keys(what));
        }
        if let PeerUntrusted { what } = reason {
            return Some(Self::new(RefusalCode::Untrusted, what.clone()));
        }
        if matches!(reason, PeerNotEncrypted | PeerDemandsEncryption) {
            return Some(Self::one_encrypts());
        }
        let other = "the other end has another key than is known here, or none";
        matches!(reason, KeyRefused { .. } | PeerNotAuthenticated).then(|| Self::of_keys(other))
    }

    /// One end encrypts and the other does not.
    pub(super) fn one_encrypts() -> Self {
        let text = "one end encrypts and the other does not: leave encryption=off away, or give it \
                    in both URLs";
        Self::new(RefusalCode::Key, text.to_owned())
    }

    /// We call over DCCP, and the other end takes no such calls.
    fn dccp_not_taken() -> Self {
        let text = "the other end takes no calls over DCCP, which does not encrypt: call \
                    anabranch://, or let it listen with encryption=off";
        Self::new(RefusalCode::Protocol, text.to_owned())
    }

    /// The other end calls over DCCP, and such calls are not taken here.
    pub(super) fn calls_over_dccp() -> Self {
        let text = "it calls over DCCP, which neither encrypts nor has bond=dup: listen with \
                    encryption=off and another bond, or have it call anabranch://";
        Self::new(RefusalCode::Protocol, text.to_owned())
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
