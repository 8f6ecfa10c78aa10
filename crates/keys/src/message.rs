//! Messages about keys (draft-porfiri-tsvwg-sctp-dtls-handshake section 4).
//!
//! ```text
//!  0                   1                   2                   3
//!  0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1 2 3 4 5 6 7 8 9 0 1
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! |T|   Epoch     |                                               |
//! +-+-+-+-+-+-+-+-+            Payload                            |
//! |                                                               |
//! |                               +-------------------------------+
//! |                               |
//! +-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+-+
//! ```

use anabranch_sctp::Epoch;
use bytes::Bytes;

/// The T bit: the payload is a control message.
const CONTROL: u8 = 0b1000_0000;
const EPOCH_BITS: u8 = 0b0111_1111;

/// The Ctrl Type of "Protection Established".
const PROTECTION_ESTABLISHED: u8 = 0x01;
/// Our own: see [`Message::PassphraseShare`] and [`Message::PassphraseProof`]. The draft has no
/// types for private use.
const PASSPHRASE_SHARE: u8 = 0xa0;
const PASSPHRASE_PROOF: u8 = 0xa1;

/// A message about keys.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Message<'a> {
    /// "one or more complete TLS records".
    Records(&'a [u8]),
    /// "Signals that DTLS chunk protection has been enforced".
    ProtectionEstablished,
    /// One half of what both ends make a secret of, if they have the same passphrase.
    PassphraseShare(&'a [u8]),
    /// That they have.
    PassphraseProof(&'a [u8]),
    /// A control message that this draft does not have.
    UnknownControl(u8),
}

impl<'a> Message<'a> {
    /// The message, and the lowest bits of the epoch that it is about.
    pub(crate) fn decode(bytes: &'a [u8]) -> Option<(Self, u8)> {
        let (&first, payload) = bytes.split_first()?;
        if first & CONTROL == 0 {
            return Some((Self::Records(payload), first & EPOCH_BITS));
        }
        let (&ty, data) = payload.split_first()?;
        let message = match ty {
            PROTECTION_ESTABLISHED => Self::ProtectionEstablished,
            PASSPHRASE_SHARE => Self::PassphraseShare(data),
            PASSPHRASE_PROOF => Self::PassphraseProof(data),
            _ => Self::UnknownControl(ty),
        };
        Some((message, first & EPOCH_BITS))
    }

    pub(crate) fn encode(&self, epoch: Epoch) -> Bytes {
        let epoch = epoch_bits(epoch);
        let (head, data): (&[u8], &[u8]) = match *self {
            Self::Records(records) => (&[epoch], records),
            Self::ProtectionEstablished => (&[CONTROL | epoch, PROTECTION_ESTABLISHED], &[]),
            Self::PassphraseShare(share) => (&[CONTROL | epoch, PASSPHRASE_SHARE], share),
            Self::PassphraseProof(proof) => (&[CONTROL | epoch, PASSPHRASE_PROOF], proof),
            Self::UnknownControl(ty) => (&[CONTROL | epoch, ty], &[]),
        };
        [head, data].concat().into()
    }
}

/// "The 7 lowest bits of the DTLS Key Context epoch that this message corresponds to".
pub(crate) const fn epoch_bits(epoch: Epoch) -> u8 {
    epoch.0 as u8 & EPOCH_BITS
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_have_the_form_of_the_draft() {
        for (message, epoch, bytes) in [
            (Message::Records(b"\x16\x03"), Epoch(3), &b"\x03\x16\x03"[..]),
            (Message::ProtectionEstablished, Epoch(3), b"\x83\x01"),
            (Message::PassphraseShare(b"xy"), Epoch(3), b"\x83\xa0xy"),
            (Message::PassphraseProof(b"z"), Epoch(3), b"\x83\xa1z"),
            (Message::UnknownControl(9), Epoch(0x185), b"\x85\x09"),
        ] {
            assert_eq!(message.encode(epoch), bytes);
            assert_eq!(Message::decode(bytes), Some((message, epoch_bits(epoch))));
        }
    }

    #[test]
    fn a_message_without_its_type_is_none() {
        assert_eq!(Message::decode(b""), None);
        assert_eq!(Message::decode(b"\x83"), None);
    }
}
