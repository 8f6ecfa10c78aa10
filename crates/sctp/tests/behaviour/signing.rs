//! Authenticated chunks as a test computes them: a second reading of RFC 4895.

use anabranch_sctp::{AssociationConfig, Authentication, Protection, SharedKey};
use anabranch_wire::{
    Auth, Chunk, ChunkType, CookieEcho, EncodeChunk, HmacIdentifier, Init, Items, Parameter,
    VerificationTag,
};
use hmac::{Hmac, KeyInit, Mac};
use sha1::Sha1;
use sha2::Sha256;

use crate::packets::{Sent, packet_of_bytes};
use crate::raw_peer::{RawPeer, TAG, cookie_of, init};

/// The secret that both ends of most tests share, and its number.
pub(crate) const SECRET: &[u8] = b"a secret of two";
pub(crate) const KEY: u16 = 1;

/// A configuration with one key.
pub(crate) fn keyed(
    secret: &[u8],
    protection: Protection,
    config: AssociationConfig,
) -> AssociationConfig {
    let keys = vec![SharedKey::new(KEY, secret)];
    let authentication = Authentication::new(keys, protection).expect("a sound key");
    config.with(|config| config.extensions.authentication = Some(authentication))
}

/// A configuration that protects everything by [`SECRET`].
pub(crate) fn strict() -> AssociationConfig {
    keyed(SECRET, Protection::Everything, AssociationConfig::default())
}

/// One end's part of an association's keys.
#[derive(Clone)]
pub(crate) struct Signer {
    pub(crate) id: u16,
    pub(crate) algorithm: HmacIdentifier,
    pub(crate) key: Vec<u8>,
}

impl Signer {
    /// From the parameters of both ends, as they stand in INIT and INIT ACK.
    pub(crate) fn new(secret: &[u8], ours: &[u8], theirs: &[u8]) -> Self {
        let (ours, theirs) = (vector(ours), vector(theirs));
        let is_ours_smaller = (ours.len(), &ours) <= (theirs.len(), &theirs);
        let (first, second) = if is_ours_smaller { (ours, theirs) } else { (theirs, ours) };
        let key = [secret, &first, &second].concat();
        Self { id: KEY, algorithm: HmacIdentifier::SHA_256, key }
    }

    fn hmac(&self, covered: &[u8]) -> Vec<u8> {
        if self.algorithm == HmacIdentifier::SHA_1 {
            let mut mac = Hmac::<Sha1>::new_from_slice(&self.key).expect("any length");
            mac.update(covered);
            return mac.finalize().into_bytes().to_vec();
        }
        let mut mac = Hmac::<Sha256>::new_from_slice(&self.key).expect("any length");
        mac.update(covered);
        mac.finalize().into_bytes().to_vec()
    }

    fn auth<'a>(&self, hmac: &'a [u8]) -> Auth<'a> {
        Auth { shared_key_identifier: self.id, hmac_identifier: self.algorithm, hmac }
    }

    /// The bytes of chunks behind an AUTH chunk that covers them, it included.
    pub(crate) fn sign(&self, chunks: &[Chunk<'_>]) -> Vec<u8> {
        let len = if self.algorithm == HmacIdentifier::SHA_1 { 20 } else { 32 };
        let mut covered = Vec::new();
        self.auth(&vec![0; len]).encode(&mut covered);
        chunks.iter().for_each(|chunk| chunk.encode(&mut covered));
        let hmac = self.hmac(&covered);
        let mut bytes = Vec::new();
        self.auth(&hmac).encode(&mut bytes);
        chunks.iter().for_each(|chunk| chunk.encode(&mut bytes));
        bytes
    }

    /// Whether a packet begins with an AUTH chunk that holds.
    pub(crate) fn has_signed(&self, sent: &Sent) -> bool {
        let chunks = sent.chunks();
        let Some((Chunk::Auth(auth), rest)) = chunks.split_first() else { return false };
        let signer = Self { algorithm: auth.hmac_identifier, ..self.clone() };
        let mut covered = Vec::new();
        signer.auth(&vec![0; auth.hmac.len()]).encode(&mut covered);
        rest.iter().for_each(|chunk| chunk.encode(&mut covered));
        signer.hmac(&covered) == auth.hmac && auth.shared_key_identifier == self.id
    }
}

/// RANDOM, CHUNKS and HMAC-ALGO among some parameters, in this order and without padding.
fn vector(parameters: &[u8]) -> Vec<u8> {
    let mut found = [const { Vec::new() }; 3];
    let mut rest = parameters;
    while let [t0, t1, l0, l1, ..] = *rest {
        let len = usize::from(u16::from_be_bytes([l0, l1]));
        if let Some(place) =
            [0x8002, 0x8003, 0x8004].iter().position(|ty| *ty == u16::from_be_bytes([t0, t1]))
        {
            found[place] = rest[..len].to_vec();
        }
        rest = rest.get(len.next_multiple_of(4)..).unwrap_or_default();
    }
    found.concat()
}

/// What a peer announces that takes these chunks authenticated only.
pub(crate) fn offer(chunks: &[ChunkType], algorithms: &[HmacIdentifier]) -> Vec<u8> {
    let mut bytes = Vec::new();
    Parameter::ForwardTsnSupported.encode(&mut bytes);
    let extensions = [ChunkType::ASCONF, ChunkType::ASCONF_ACK, ChunkType::AUTH];
    Parameter::SupportedExtensions(Items::from_slice(&extensions)).encode(&mut bytes);
    Parameter::Random(&[9; 32]).encode(&mut bytes);
    Parameter::ChunkList(Items::from_slice(chunks)).encode(&mut bytes);
    Parameter::HmacAlgorithms(Items::from_slice(algorithms)).encode(&mut bytes);
    bytes
}

/// What most peers announce.
pub(crate) fn usual_offer() -> Vec<u8> {
    let chunks = [ChunkType::ASCONF, ChunkType::ASCONF_ACK];
    offer(&chunks, &[HmacIdentifier::SHA_256, HmacIdentifier::SHA_1])
}

/// A scripted peer that has called a listening endpoint, up to its INIT ACK.
pub(crate) struct Call {
    pub(crate) peer: RawPeer,
    pub(crate) signer: Signer,
    pub(crate) cookie: Vec<u8>,
}

impl Call {
    pub(crate) fn of(config: AssociationConfig, secret: &[u8], parameters: &[u8]) -> Self {
        let peer = RawPeer::facing_listener(config);
        Self::again(peer, secret, init(TAG, parameters))
    }

    /// The peer of before calls anew.
    pub(crate) fn again(mut peer: RawPeer, secret: &[u8], init: Init<'_>) -> Self {
        peer.take();
        let mut chunk = Vec::new();
        init.encode(&mut chunk);
        peer.deliver_as(peer.path, VerificationTag(0), &[Chunk::Init(init)]);
        let sent = peer.take();
        let [reply] = &sent[..] else { panic!("one answer to INIT, not {sent:?}") };
        let [Chunk::InitAck(init_ack)] = reply.chunks()[..] else {
            panic!("an INIT ACK, not {:?}", reply.chunks())
        };
        peer.tag = init_ack.initiate_tag;
        peer.their_first_tsn = init_ack.initial_tsn;
        // The parameters stand behind the header of the chunk and 16 bytes of fixed fields, those
        // of a packet behind the common header too.
        let signer = Signer::new(secret, &chunk[20..], &reply.bytes[12 + 20..]);
        let cookie = cookie_of(&init_ack).expect("an INIT ACK has a cookie");
        Self { peer, signer, cookie }
    }

    /// Echoes the cookie, signed.
    pub(crate) fn connect(mut self) -> (RawPeer, Signer) {
        let echo = Chunk::CookieEcho(CookieEcho { cookie: &self.cookie });
        deliver_signed(&mut self.peer, &self.signer, &[echo]);
        (self.peer, self.signer)
    }
}

/// A peer that is connected, nothing of what was sent so far left to look at.
pub(crate) fn connected(config: AssociationConfig, parameters: &[u8]) -> (RawPeer, Signer) {
    let (mut peer, signer) = Call::of(config, SECRET, parameters).connect();
    assert!(peer.is_established());
    peer.take();
    (peer, signer)
}

/// Delivers chunks behind an AUTH chunk.
pub(crate) fn deliver_signed(peer: &mut RawPeer, signer: &Signer, chunks: &[Chunk<'_>]) {
    let path = peer.path;
    deliver_signed_from(peer, path, signer, chunks);
}

/// The same, from elsewhere.
pub(crate) fn deliver_signed_from(
    peer: &mut RawPeer,
    path: anabranch_sansio::FourTuple,
    signer: &Signer,
    chunks: &[Chunk<'_>],
) {
    let bytes = packet_of_bytes(peer.ports, peer.tag, &signer.sign(chunks));
    peer.deliver_bytes(path, &bytes);
}
