//! [`Proof`]: that both ends know the same passphrase, shown to nobody else.
//!
//! SPAKE2 (RFC 9382's first form, by the crate of that name) gives both ends a secret that is the
//! same if their passphrases are. Who listens learns nothing to try passphrases with; who takes
//! part has one try for each connection. Each end then shows, by an HMAC under that secret over a
//! value that only the two ends of the TLS connection have, that it is the one it shares the
//! connection with: somebody in the middle has two connections.

use anabranch_sctp::{KeyFailure, KeyRole};
use aws_lc_rs::hmac;
use spake2::{Ed25519Group, Identity, Password, Spake2};

use crate::error::failure;

/// Bytes of a proof.
const PROOF_LEN: usize = 32;

/// The TLS exporter's label of what a proof is bound to.
pub(crate) const BINDING_LABEL: &[u8] = b"EXPORTER-anabranch-passphrase";

/// Both ends have a passphrase, and not the same.
const OTHER: &str = "the passphrases of both ends differ: give the same at both";
/// One end has none.
pub(crate) const ONE: &str =
    "one end has a passphrase and the other has none: give the same at both";

/// On the way to a proof.
pub(crate) struct Proof {
    role: KeyRole,
    stage: Stage,
}

enum Stage {
    /// Our share was sent.
    Shared(Spake2<Ed25519Group>),
    /// Both ends have this secret, if they have the same passphrase.
    Secret(Box<hmac::Key>),
    /// The peer has the same passphrase.
    Proved,
}

impl std::fmt::Debug for Proof {
    /// Shows no secret.
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("Proof").field("role", &self.role).finish_non_exhaustive()
    }
}

impl Proof {
    /// Begins, and returns the share that the peer is to get.
    pub(crate) fn begin(passphrase: &str, role: KeyRole) -> (Self, Vec<u8>) {
        let password = Password::new(passphrase.as_bytes());
        let [client, server] = [label(KeyRole::Client), label(KeyRole::Server)].map(Identity::new);
        let (state, share) = match role {
            KeyRole::Client => Spake2::<Ed25519Group>::start_a(&password, &client, &server),
            KeyRole::Server => Spake2::<Ed25519Group>::start_b(&password, &client, &server),
        };
        (Self { role, stage: Stage::Shared(state) }, share)
    }

    /// Takes the peer's share.
    pub(crate) fn on_share(self, share: &[u8]) -> Result<Self, KeyFailure> {
        let Stage::Shared(state) = self.stage else { return Ok(self) };
        let secret = state.finish(share).map_err(|_| failure(OTHER))?;
        let key = hmac::Key::new(hmac::HMAC_SHA256, &secret);
        Ok(Self { stage: Stage::Secret(Box::new(key)), ..self })
    }

    /// What proves to the peer that we know the passphrase.
    pub(crate) fn ours(&self, binding: &[u8]) -> Result<Vec<u8>, KeyFailure> {
        let Stage::Secret(key) = &self.stage else { return Err(failure(ONE)) };
        Ok(hmac::sign(key, &proved(self.role, binding)).as_ref()[..PROOF_LEN].to_vec())
    }

    /// Whether the peer has proved the same.
    pub(crate) fn verify(&mut self, proof: &[u8], binding: &[u8]) -> Result<(), KeyFailure> {
        let Stage::Secret(key) = &self.stage else { return Err(failure(ONE)) };
        let expected = proved(self.role.opposite(), binding);
        hmac::verify(key, &expected, proof).map_err(|_| failure(OTHER))
    }

    /// The peer has proved it.
    pub(crate) fn settle(&mut self) {
        self.stage = Stage::Proved;
    }

    pub(crate) const fn is_settled(&self) -> bool {
        matches!(self.stage, Stage::Proved)
    }
}

/// What an end in this role proves.
fn proved(role: KeyRole, binding: &[u8]) -> Vec<u8> {
    [label(role), binding].concat()
}

const fn label(role: KeyRole) -> &'static [u8] {
    match role {
        KeyRole::Client => b"anabranch client",
        KeyRole::Server => b"anabranch server",
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn both(ours: &str, theirs: &str) -> (Proof, Proof) {
        let (client, client_share) = Proof::begin(ours, KeyRole::Client);
        let (server, server_share) = Proof::begin(theirs, KeyRole::Server);
        (client.on_share(&server_share).unwrap(), server.on_share(&client_share).unwrap())
    }

    #[test]
    fn who_has_the_same_passphrase_proves_it() {
        let (mut client, mut server) = both("one and the same", "one and the same");
        assert_eq!(server.verify(&client.ours(b"binding").unwrap(), b"binding"), Ok(()));
        assert_eq!(client.verify(&server.ours(b"binding").unwrap(), b"binding"), Ok(()));
    }

    #[test]
    fn who_has_another_one_or_is_at_the_end_of_another_connection_does_not() {
        let (client, mut server) = both("the right one", "the wrong one");
        let failure = server.verify(&client.ours(b"binding").unwrap(), b"binding").unwrap_err();
        assert_eq!(failure.to_string(), OTHER);
        let (client, mut server) = both("one and the same", "one and the same");
        assert!(server.verify(&client.ours(b"binding").unwrap(), b"another").is_err());
    }

    #[test]
    fn a_proof_that_is_sent_back_proves_nothing() {
        let (mut client, _) = both("one and the same", "one and the same");
        let ours = client.ours(b"binding").unwrap();
        assert!(client.verify(&ours, b"binding").is_err());
    }

    #[test]
    fn a_share_that_is_none_is_refused() {
        let (client, _) = Proof::begin("one and the same", KeyRole::Client);
        assert!(client.on_share(b"none").is_err());
    }
}
