//! ICE as a lite agent (RFC 8445 section 2.5): connectivity checks are answered, none is sent.

use std::net::SocketAddr;

use anabranch_sansio::Rng;
use is::stun::{StunError, StunMessage};
use is::{DefaultSha1HmacProvider, Sha1HmacProvider as _};

/// The longest answer to a check: header, mapped address, integrity, fingerprint.
const ANSWER_MAX: usize = 128;

/// RFC 8445 section 5.3: "The ice-ufrag and ice-pwd attributes MUST be chosen randomly at the
/// beginning of a session"; the password has at least 128 bits.
const UFRAG_LEN: usize = 8;
const PASSWORD_LEN: usize = 24;

/// What one side of a session proves itself with.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Credentials {
    pub(crate) ufrag: String,
    pub(crate) password: String,
}

impl Credentials {
    pub(crate) fn random(rng: &mut Rng) -> Self {
        Self { ufrag: text(rng, UFRAG_LEN), password: text(rng, PASSWORD_LEN) }
    }
}

/// Six bits a character.
fn text(rng: &mut Rng, len: usize) -> String {
    const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
    (0..len).map(|_| char::from(ALPHABET[rng.range(0..64) as usize])).collect()
}

/// A Binding request that may belong to one of our sessions.
#[derive(Debug)]
pub(crate) struct Check<'a> {
    message: StunMessage<'a>,
    /// The session: our own ufrag.
    pub(crate) ufrag: &'a str,
    /// The ufrag of who asks.
    pub(crate) peer_ufrag: &'a str,
    /// Whether the peer chose this pair of addresses.
    pub(crate) nominates: bool,
}

impl<'a> Check<'a> {
    /// Reads a check; nothing if it is none.
    pub(crate) fn read(bytes: &'a [u8]) -> Option<Self> {
        let message = StunMessage::parse(bytes).ok().filter(StunMessage::is_binding_request)?;
        // RFC 8445 section 7.2.2: "the username ... is formed by concatenating the username
        // fragment provided by the peer with the username fragment of the ICE agent sending the
        // request, separated by a colon (":")."
        let (ufrag, peer_ufrag) = message.username()?.split_once(':')?;
        Some(Self { ufrag, peer_ufrag, nominates: message.use_candidate(), message })
    }

    /// Whether who asks knows our password.
    pub(crate) fn is_authentic(&self, own: &Credentials) -> bool {
        self.message.verify(own.password.as_bytes(), hmac)
    }

    /// The answer: where the check came from, as we see it.
    pub(crate) fn answer(&self, own: &Credentials, from: SocketAddr) -> Option<Vec<u8>> {
        let trans_id = self.message.trans_id();
        // RFC 8445 section 7.3.1.1: "If the agent is in the controlled role, and the ICE-CONTROLLED
        // attribute is present in the request" and we do not switch, the answer is 487; a lite
        // agent never controls a full one.
        let reply = if self.message.ice_controlled().is_some() {
            StunMessage::binding_role_conflict_reply(trans_id)
        } else {
            StunMessage::binding_reply(trans_id, from)
        };
        let mut bytes = vec![0; ANSWER_MAX];
        let written: Result<usize, StunError> =
            reply.to_bytes(Some(own.password.as_bytes()), &mut bytes, hmac);
        bytes.truncate(written.ok()?);
        Some(bytes)
    }
}

fn hmac(key: &[u8], parts: &[&[u8]]) -> [u8; 20] {
    DefaultSha1HmacProvider.sha1_hmac(key, parts)
}

#[cfg(test)]
mod tests {
    use is::stun::TransId;

    use super::*;

    fn request(username: &str, password: &str, nominates: bool) -> Vec<u8> {
        let message = StunMessage::binding_request(username, TransId::new(), true, 1, 2, nominates);
        let mut bytes = vec![0; 256];
        let len = message.to_bytes(Some(password.as_bytes()), &mut bytes, hmac).unwrap();
        bytes.truncate(len);
        bytes
    }

    fn own() -> Credentials {
        Credentials { ufrag: "ours".into(), password: "secret".into() }
    }

    #[test]
    fn a_check_with_our_password_is_answered_with_its_address() {
        let bytes = request("ours:peer", "secret", true);
        let check = Check::read(&bytes).unwrap();
        assert_eq!((check.ufrag, check.peer_ufrag, check.nominates), ("ours", "peer", true));
        assert!(check.is_authentic(&own()));
        let from = "203.0.113.9:4321".parse().unwrap();
        let answer = check.answer(&own(), from).unwrap();
        let answer = StunMessage::parse(&answer).unwrap();
        assert!(answer.is_successful_binding_response());
        assert_eq!(answer.mapped_address(), Some(from));
        assert!(answer.verify(b"secret", hmac));
    }

    #[test]
    fn a_check_with_another_password_or_a_changed_byte_is_not_authentic() {
        let bytes = request("ours:peer", "guessed", false);
        assert!(!Check::read(&bytes).unwrap().is_authentic(&own()));
        let mut bytes = request("ours:peer", "secret", false);
        bytes[24] ^= 1;
        assert!(Check::read(&bytes).is_none_or(|check| !check.is_authentic(&own())));
    }

    #[test]
    fn credentials_are_long_and_differ() {
        let mut rng = Rng::from_u64(1);
        let (a, b) = (Credentials::random(&mut rng), Credentials::random(&mut rng));
        assert_ne!(a, b);
        assert_eq!((a.ufrag.len(), a.password.len()), (UFRAG_LEN, PASSWORD_LEN));
    }

    #[test]
    fn what_is_no_check_is_none() {
        assert!(Check::read(b"").is_none());
        assert!(Check::read(&[0; 20]).is_none());
        assert!(Check::read(&request("nocolon", "secret", false)).is_none());
    }
}
