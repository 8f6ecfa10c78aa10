//! Why a call is not taken or ends, in words.

use anabranch_session::{Refusal, RefusalCode, printable};
use anabranch_transport::{CloseReason, RefusedCallReason};

use crate::message::PROTOCOL_VERSION;
use crate::{End, EndReason};

pub(super) fn version(theirs: u32) -> Refusal {
    let text = format!(
        "the call protocol has version {PROTOCOL_VERSION} here and {theirs} there: install the \
         same version of anabranch at both ends"
    );
    Refusal { code: RefusalCode::Version, text }
}

pub(super) fn no_call() -> Refusal {
    let text = "this is a call: give anabranch call this address, not send, recv or watch";
    Refusal { code: RefusalCode::Role, text: text.to_owned() }
}

pub(super) fn refused_call(why: RefusedCallReason) -> Refusal {
    let text = match why {
        RefusedCallReason::Key => "it has no key, and one is demanded here",
        RefusedCallReason::RightKey => "it has another key than is known here",
        RefusedCallReason::Encryption => {
            "one end encrypts and the other does not: leave encryption=off away"
        }
        RefusedCallReason::Protocol => "it calls over DCCP, and calls are made over SCTP",
    };
    Refusal { code: RefusalCode::Key, text: text.to_owned() }
}

/// The peer did not take the call.
pub(super) fn refused(refusal: &Refusal) -> End {
    let text = format!("The call was not taken: {refusal}.");
    End { why: EndReason::Refused, text }
}

/// The connection ended without a word of the peer.
pub(super) fn end_of(reason: &CloseReason) -> End {
    if let Some(refusal) = Refusal::of_close_reason(reason) {
        let is_stranger = refusal.code == RefusalCode::Untrusted;
        let why = if is_stranger { EndReason::Untrusted } else { EndReason::Key };
        return End { why, text: format!("The call was not taken: {refusal}.") };
    }
    let (why, text) = match reason {
        CloseReason::HandshakeTimeout => (
            EndReason::NoAnswer,
            "Nobody answers there: is the other end running, and its port reachable by UDP?"
                .to_owned(),
        ),
        CloseReason::Shutdown => {
            (EndReason::PeerHungUp, "The other end ended the call.".to_owned())
        }
        CloseReason::PeerLeft { reason } => {
            (EndReason::Lost, format!("The other end left: {}.", printable(reason)))
        }
        CloseReason::PeerUnreachable => {
            (EndReason::NoPath, "The other end stopped answering on every path.".to_owned())
        }
        CloseReason::Aborted
        | CloseReason::PeerForgot
        | CloseReason::AbortedByPeer { .. }
        | CloseReason::KeyRefused { .. }
        | CloseReason::PeerNotAuthenticated
        | CloseReason::NoKeys { .. }
        | CloseReason::KeysTimeout
        | CloseReason::PeerUntrusted { .. }
        | CloseReason::PeerNotEncrypted
        | CloseReason::PeerDemandsEncryption
        | CloseReason::ProtocolRefused
        | CloseReason::ShutdownTimeout
        | CloseReason::PeerMisbehaved { .. }
        | _ => (EndReason::Lost, format!("The call was lost: {}.", printable(&reason.to_string()))),
    };
    End { why, text }
}
