//! [`AssociationKeys`]: the association shared keys, and the HMACs they make.

use std::fmt;

use anabranch_wire::{Auth, Chunk, ChunkType, HmacIdentifier, Packet};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::Sha256;

use super::announced::Announced;
use super::config::{Authentication, SharedKey};

/// Zeros in the place of an HMAC.
const ZEROS: [u8; 32] = [0; 32];

/// A hash function that HMACs are made of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Algorithm {
    Sha256,
    Sha1,
}

impl Algorithm {
    /// What we can verify, the best first.
    pub(super) const ALL: [Self; 2] = [Self::Sha256, Self::Sha1];

    pub(super) const fn of(id: HmacIdentifier) -> Option<Self> {
        match id {
            HmacIdentifier::SHA_256 => Some(Self::Sha256),
            HmacIdentifier::SHA_1 => Some(Self::Sha1),
            _ => None,
        }
    }

    pub(super) const fn id(self) -> HmacIdentifier {
        match self {
            Self::Sha256 => HmacIdentifier::SHA_256,
            Self::Sha1 => HmacIdentifier::SHA_1,
        }
    }

    const fn hmac_len(self) -> usize {
        match self {
            Self::Sha256 => 32,
            Self::Sha1 => 20,
        }
    }
}

/// What authentication says of a packet.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Standing {
    /// It has an AUTH chunk that holds; what follows that one is authenticated.
    Genuine,
    /// It has none, and chunks that need none.
    Plain,
    /// It has nothing that may be used.
    Worthless,
    /// It has an AUTH chunk by an algorithm that we do not know.
    Unsupported(HmacIdentifier),
}

impl Standing {
    pub(crate) const fn is_usable(self) -> bool {
        matches!(self, Self::Genuine | Self::Plain)
    }
}

/// The keys of one association, ready for use.
pub(crate) struct AssociationKeys {
    /// Of our keys; the first signs.
    keys: Vec<Key>,
    algorithm: Algorithm,
    /// What the peer takes authenticated only.
    signed: ChunkSet,
    /// What we take authenticated only.
    demanded: ChunkSet,
}

/// An association shared key: HMACs that have taken it in already.
struct Key {
    id: u16,
    sha256: Hmac<Sha256>,
    sha1: Hmac<Sha1>,
}

impl AssociationKeys {
    /// The keys that follow from what both ends announced.
    pub(crate) fn new(authentication: &Authentication, ours: &Announced, peer: &Announced) -> Self {
        let (own, theirs) = (ours.key_vector(), peer.key_vector());
        let keys = authentication.keys().iter();
        Self {
            keys: keys.filter_map(|key| Key::new(key, &own, &theirs)).collect(),
            algorithm: peer.preferred_algorithm().unwrap_or(Algorithm::Sha1),
            signed: ChunkSet::of(peer.chunks.as_deref().unwrap_or_default()),
            demanded: ChunkSet::of(authentication.chunks()),
        }
    }

    /// Whether the peer takes chunks of this type authenticated only.
    pub(crate) const fn signs(&self, ty: ChunkType) -> bool {
        self.signed.contains(ty)
    }

    /// Whether nearly every packet is signed, because data or acknowledgements are.
    pub(crate) fn signs_traffic(&self) -> bool {
        let traffic = [
            ChunkType::DATA,
            ChunkType::I_DATA,
            ChunkType::SACK,
            ChunkType::FORWARD_TSN,
            ChunkType::I_FORWARD_TSN,
        ];
        traffic.into_iter().any(|ty| self.signs(ty))
    }

    /// Whether we take chunks of this type authenticated only.
    pub(crate) const fn demands(&self, ty: ChunkType) -> bool {
        self.demanded.contains(ty)
    }

    /// The length of our AUTH chunks.
    pub(crate) const fn auth_len(&self) -> usize {
        Auth::HEADER_LEN + self.algorithm.hmac_len()
    }

    pub(crate) const fn hmac_len(&self) -> usize {
        self.algorithm.hmac_len()
    }

    /// An AUTH chunk whose HMAC is still to be filled in.
    pub(crate) fn blank(&self) -> Option<Auth<'static>> {
        let (hmac, _) = ZEROS.split_at_checked(self.algorithm.hmac_len())?;
        let shared_key_identifier = self.keys.first()?.id;
        Some(Auth { shared_key_identifier, hmac_identifier: self.algorithm.id(), hmac })
    }

    /// Writes the HMAC of `covered`: a blank AUTH chunk and what follows it.
    pub(crate) fn sign(&self, covered: &[u8], hmac: &mut [u8]) {
        let Some(key) = self.keys.first() else { return };
        match self.algorithm {
            Algorithm::Sha256 => write(key.sha256.clone(), covered, hmac),
            Algorithm::Sha1 => write(key.sha1.clone(), covered, hmac),
        }
    }

    /// Looks at a packet before anything of it is used.
    pub(crate) fn judge(&self, packet: &Packet<'_>) -> Standing {
        let mut chunks = packet.chunks();
        let mut standing = Standing::Worthless;
        loop {
            let covered = chunks.rest();
            match chunks.next() {
                Some(Ok(Chunk::Auth(auth))) => return self.verify(&auth, covered, standing),
                Some(Ok(chunk)) if !self.demands(chunk.ty()) => standing = Standing::Plain,
                Some(Ok(_)) => {}
                Some(Err(_)) | None => return standing,
            }
        }
    }

    /// RFC 4895 section 6.3: "If the field does not match the result of the calculation, all the
    /// chunks following the AUTH chunk MUST be silently discarded." What stood before may be used.
    fn verify(&self, auth: &Auth<'_>, covered: &[u8], before: Standing) -> Standing {
        let Some(algorithm) = Algorithm::of(auth.hmac_identifier) else {
            return Standing::Unsupported(auth.hmac_identifier);
        };
        // "If no endpoint pair shared key has been configured for that Shared Key Identifier, all
        // authenticated chunks MUST be silently discarded."
        let key = self.keys.iter().find(|key| key.id == auth.shared_key_identifier);
        let is_genuine = key.is_some_and(|key| match algorithm {
            Algorithm::Sha256 => holds(key.sha256.clone(), covered, auth.hmac, 32),
            Algorithm::Sha1 => holds(key.sha1.clone(), covered, auth.hmac, 20),
        });
        if is_genuine { Standing::Genuine } else { before }
    }
}

/// Shows nothing of the keys.
impl fmt::Debug for AssociationKeys {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ids: Vec<u16> = self.keys.iter().map(|key| key.id).collect();
        f.debug_struct("AssociationKeys").field("ids", &ids).finish_non_exhaustive()
    }
}

impl Key {
    /// RFC 4895 section 6.1: "selecting the numerically smaller key vector and concatenating it to
    /// the endpoint pair shared key, and then concatenating the numerically larger key vector to
    /// that."
    fn new(shared: &SharedKey, own: &[u8], theirs: &[u8]) -> Option<Self> {
        let (smaller, larger) =
            if as_number(own) <= as_number(theirs) { (own, theirs) } else { (theirs, own) };
        let secret = [shared.secret(), smaller, larger].concat();
        let sha256 = Hmac::new_from_slice(&secret).ok()?;
        let sha1 = Hmac::new_from_slice(&secret).ok()?;
        Some(Self { id: shared.id(), sha256, sha1 })
    }
}

/// What byte vectors are compared by, as numbers in network byte order. Each one begins with the
/// type of RANDOM, which is not zero, so that the longer one is larger.
const fn as_number(vector: &[u8]) -> (usize, &[u8]) {
    (vector.len(), vector)
}

fn write(mut mac: impl Mac, covered: &[u8], hmac: &mut [u8]) {
    mac.update(covered);
    let result = mac.finalize().into_bytes();
    if result.len() == hmac.len() {
        hmac.copy_from_slice(&result);
    }
}

/// Compares in constant time whether `hmac` is that of `covered`, which holds it itself.
fn holds(mut mac: impl Mac, covered: &[u8], hmac: &[u8], len: usize) -> bool {
    let Some((header, rest)) = covered.split_at_checked(Auth::HEADER_LEN) else { return false };
    let Some(rest) = rest.get(len..).filter(|_| hmac.len() == len) else { return false };
    mac.update(header);
    mac.update(&ZEROS[..len]);
    mac.update(rest);
    mac.verify_slice(hmac).is_ok()
}

/// A set of chunk types.
#[derive(Debug, Clone, Copy, Default)]
struct ChunkSet([u128; 2]);

impl ChunkSet {
    /// RFC 4895 section 3.2: "if a CHUNKS parameter is received then the types for INIT, INIT-ACK,
    /// SHUTDOWN-COMPLETE, and AUTH chunks MUST be ignored."
    fn of(types: &[ChunkType]) -> Self {
        let mut set = Self::default();
        for ty in types {
            let is_ignored = matches!(
                *ty,
                ChunkType::INIT
                    | ChunkType::INIT_ACK
                    | ChunkType::SHUTDOWN_COMPLETE
                    | ChunkType::AUTH
            );
            if !is_ignored {
                set.0[usize::from(ty.0 >> 7)] |= 1 << (ty.0 & 127);
            }
        }
        set
    }

    const fn contains(&self, ty: ChunkType) -> bool {
        self.0[(ty.0 >> 7) as usize] >> (ty.0 & 127) & 1 == 1
    }
}

#[cfg(test)]
mod tests {
    use anabranch_wire::{
        ChecksumField, ChecksumMode, CommonHeader, CookieAck, PacketWriter, VerificationTag,
    };

    use super::*;
    use crate::authentication::Protection;

    fn authentication(secret: &[u8]) -> Authentication {
        let keys = vec![SharedKey::new(5, secret), SharedKey::new(6, b"another")];
        Authentication::new(keys, Protection::Everything).unwrap()
    }

    /// The keys of both ends, as each computes them.
    fn both(ours: &[u8], theirs: &[u8]) -> [AssociationKeys; 2] {
        let (one, other) = (authentication(ours), authentication(theirs));
        let a = Announced::ours(&one, [1; 32]);
        let mut b = Announced::ours(&other, [2; 32]);
        b.chunks = Some(vec![ChunkType::COOKIE_ACK, ChunkType::AUTH]);
        [AssociationKeys::new(&one, &a, &b), AssociationKeys::new(&other, &b, &a)]
    }

    /// A packet with a COOKIE ACK, signed.
    fn signed(keys: &AssociationKeys) -> Vec<u8> {
        let header = CommonHeader {
            source_port: 1,
            destination_port: 2,
            verification_tag: VerificationTag(3),
        };
        let mut bytes = Vec::new();
        let mut writer = PacketWriter::new(&mut bytes, header);
        let at = writer.len();
        writer.push(&keys.blank().unwrap());
        writer.push(&CookieAck);
        writer.sign(at, keys.hmac_len(), |covered, hmac| keys.sign(covered, hmac));
        writer.finish(ChecksumField::Fill);
        bytes
    }

    fn judge(keys: &AssociationKeys, bytes: &[u8]) -> Standing {
        keys.judge(&Packet::decode(bytes, ChecksumMode::Ignore).unwrap())
    }

    #[test]
    fn both_ends_compute_the_same_keys_and_others_none_that_hold() {
        let [one, other] = both(b"secret", b"secret");
        assert_eq!(judge(&other, &signed(&one)), Standing::Genuine);
        assert_eq!(judge(&one, &signed(&other)), Standing::Genuine);
        let [stranger, _] = both(b"guess", b"guess");
        assert_eq!(judge(&other, &signed(&stranger)), Standing::Worthless);
    }

    #[test]
    fn any_changed_bit_behind_the_header_is_a_forgery() {
        let [one, other] = both(b"secret", b"secret");
        let bytes = signed(&one);
        for bit in CommonHeader::LEN * 8..bytes.len() * 8 {
            let mut damaged = bytes.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_ne!(judge(&other, &damaged), Standing::Genuine, "bit {bit}");
        }
    }

    #[test]
    fn what_the_peer_lists_is_signed_and_what_cannot_be_is_not() {
        let [one, other] = both(b"secret", b"secret");
        assert!(one.signs(ChunkType::COOKIE_ACK) && !one.signs(ChunkType::DATA));
        assert!(!one.signs(ChunkType::AUTH) && !one.signs_traffic());
        assert!(other.signs(ChunkType::DATA) && other.signs_traffic());
        assert!(one.demands(ChunkType::ASCONF) && !one.demands(ChunkType::ERROR));
    }

    #[test]
    fn an_algorithm_that_is_not_known_is_told_by_its_number() {
        let [one, other] = both(b"secret", b"secret");
        let mut bytes = signed(&one);
        bytes[CommonHeader::LEN + 7] = 2;
        assert_eq!(judge(&other, &bytes), Standing::Unsupported(HmacIdentifier(2)));
    }

    #[test]
    fn the_association_key_is_what_rfc_4895_says() {
        // The secret, the vector that is smaller because it is shorter, the larger one.
        let authentication = authentication(b"k");
        let (a, b) = ([0x80, 2, 0, 5, 9], [0x80, 2, 0, 6, 1, 1]);
        let shared = &authentication.keys()[0];
        let [one, other] = [Key::new(shared, &a, &b), Key::new(shared, &b, &a)].map(Option::unwrap);
        let expected = Hmac::<Sha1>::new_from_slice(b"k\x80\x02\0\x05\x09\x80\x02\0\x06\x01\x01");
        let mut expected = expected.unwrap();
        expected.update(b"data");
        let expected = expected.finalize().into_bytes();
        for mut key in [one, other] {
            key.sha1.update(b"data");
            assert_eq!(key.sha1.finalize().into_bytes(), expected);
        }
    }
}
