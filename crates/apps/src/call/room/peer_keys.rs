//! [`OwnKeys`]: how the user of this machine encrypts to other agents.

use anabranch_keys::{Identity, PublicKey, Trust};
use anabranch_rooms::{PeerKeys, Sealed};
use sha2::{Digest as _, Sha256};

use crate::service::keys_of;

/// Digits of a code, and of each group of them. Who stands between two people chooses a key for
/// each of them: with 99 bits it takes 2^50 tries on both sides to find two that make one code.
const DIGITS: usize = 30;
const GROUP: usize = 5;

/// The user's own key.
pub(super) struct OwnKeys(pub(super) Identity);

impl std::fmt::Debug for OwnKeys {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "OwnKeys({}, ..)", self.0.public_key())
    }
}

impl PeerKeys for OwnKeys {
    fn of_peer(&self, key: &[u8]) -> Option<Sealed> {
        let peer = PublicKey::from_bytes(key)?;
        let keys = keys_of(&self.0, Trust::Only(vec![peer]), None).ok()?;
        Some(Sealed { encryption: keys.required(), code: code(self.0.public_key(), peer) })
    }
}

/// What both ends of an association see, if each has the other one's key.
fn code(own: PublicKey, peer: PublicKey) -> String {
    let mut both = [*own.as_bytes(), *peer.as_bytes()];
    both.sort_unstable();
    let hash = Sha256::digest(both.concat());
    let number = hash.iter().take(16).fold(0_u128, |number, byte| number << 8 | u128::from(*byte));
    let digits = format!("{:0DIGITS$}", number % 10_u128.pow(DIGITS as u32));
    let groups: Vec<_> = (0..DIGITS).step_by(GROUP).map(|at| &digits[at..at + GROUP]).collect();
    groups.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_see_one_code_and_with_another_key_another_one() {
        let [one, other, third] = [(); 3].map(|()| Identity::generate().unwrap().public_key());
        let shown = code(one, other);
        assert_eq!(shown, code(other, one));
        assert_ne!(shown, code(one, third));
        let groups: Vec<_> = shown.split(' ').collect();
        assert!(groups.len() == 6 && groups.iter().all(|group| group.len() == 5), "{shown}");
        assert!(OwnKeys(Identity::generate().unwrap()).of_peer(b"no key").is_none());
    }
}
