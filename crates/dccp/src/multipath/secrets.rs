//! [`Secrets`]: the keys of a multipath connection, and what is proved by them.

use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::wire::{HMAC_LEN, PLAIN_KEY_LEN};

type HmacSha256 = Hmac<Sha256>;

pub(super) type Key = [u8; PLAIN_KEY_LEN];

/// The keys of both ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Secrets {
    pub(super) own: Key,
    pub(super) peer: Key,
}

impl Secrets {
    /// What proves that we have sent this.
    pub(super) fn prove(&self, message: &[&[u8]]) -> [u8; HMAC_LEN] {
        let mut proof = [0; HMAC_LEN];
        if let Some(mac) = mac(&self.own, &self.peer, message) {
            let bytes = mac.finalize().into_bytes();
            // RFC 9897 section 3.2.6: "with the output in big-endian format truncated to the
            // leftmost 160 bits (20 bytes)."
            proof.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
        }
        proof
    }

    /// Whether the peer has proved that it sent this.
    pub(super) fn is_proved(&self, message: &[&[u8]], proof: &[u8; HMAC_LEN]) -> bool {
        let mac = mac(&self.peer, &self.own, message);
        mac.is_some_and(|mac| mac.verify_truncated_left(proof).is_ok())
    }
}

/// RFC 9897 section 3.2.4: "the derived key (d-key) by concatenating the two parts with the local
/// key in front", local to who proves.
fn mac(first: &Key, second: &Key, message: &[&[u8]]) -> Option<HmacSha256> {
    let mut mac = HmacSha256::new_from_slice(&[first.as_slice(), second].concat()).ok()?;
    message.iter().for_each(|part| mac.update(part));
    Some(mac)
}

#[cfg(test)]
mod tests {
    use super::*;

    const A: Secrets = Secrets { own: *b"key of A", peer: *b"key of B" };
    const B: Secrets = Secrets { own: A.peer, peer: A.own };

    #[test]
    fn a_proof_is_good_for_the_other_end_this_message_and_this_direction() {
        let proof = A.prove(&[b"message", &[1]]);
        assert!(B.is_proved(&[b"message", &[1]], &proof));
        assert!(B.is_proved(&[b"messag", b"e", &[1]], &proof), "parts follow each other");
        assert!(!B.is_proved(&[b"message", &[2]], &proof));
        assert!(!A.is_proved(&[b"message", &[1]], &proof), "what we said ourselves");
        let stranger = Secrets { own: *b"key of C", peer: B.own };
        assert!(!B.is_proved(&[b"message"], &stranger.prove(&[b"message"])));
    }

    /// By Python's hmac: `hmac.new(b"key of Akey of B", b"\0\0\0\1\0\0\0\2", "sha256")`.
    #[test]
    fn a_proof_is_the_one_of_another_implementation() {
        let proof = A.prove(&[&1_u32.to_be_bytes(), &2_u32.to_be_bytes()]);
        assert_eq!(proof, PYTHON);
    }

    const PYTHON: [u8; HMAC_LEN] = [
        0x03, 0x4d, 0x92, 0xd1, 0xed, 0xd6, 0x6e, 0x00, 0x83, 0xe5, 0x91, 0xaa, 0x79, 0xc1, 0xc7,
        0x7d, 0xb9, 0x5e, 0x55, 0x3c,
    ];
}
