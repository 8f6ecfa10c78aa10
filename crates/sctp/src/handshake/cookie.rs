//! The State Cookie (RFC 9260 section 5.1.3): what a listener needs to know of a half-open
//! association, kept by the caller, signed by the listener.

use std::collections::VecDeque;
use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anabranch_sansio::{FourTuple, Rng, Time};
use anabranch_wire::{Parameter, Parameters, Tsn, VerificationTag};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;
use thiserror::Error;

use crate::authentication::{Announced, RANDOM_LEN, Random};
use crate::dtls::{KeyOffer, Offers};
use crate::extensions::SupportedExtensions;

type HmacSha256 = Hmac<Sha256>;

/// Bytes of the signature in front of a cookie: half of an HMAC's, which is as short as RFC 2104
/// section 5 allows. Each byte makes an INIT ACK longer than the INIT that asks for it.
const SIGNATURE_LEN: usize = 16;

/// A byte of its own: tie-tags follow.
const HAS_TIE_TAGS: u8 = 1;

/// How long a signing key is used. RFC 9260 section 5.1.3: "The secret key SHOULD be changed
/// reasonably frequently (e.g., hourly)".
const KEY_LIFE: Duration = Duration::from_secs(3_600);

/// Cookies of ended associations that are remembered until they expire.
const SPENT_MAX: usize = 4_096;

/// What a cookie repeats of an association that exists already (RFC 9260 section 5.2.2).
///
/// Numbers of their own, not the verification tags: who asks for a cookie shall not learn those.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TieTags {
    pub(crate) local: u32,
    pub(crate) peer: u32,
}

impl TieTags {
    /// There is no association.
    pub(crate) const NONE: Self = Self { local: 0, peer: 0 };

    /// RFC 9260 section 5.2.2: "Only when a TCB exists and the association is not in a COOKIE-WAIT
    /// or SHUTDOWN-ACK-SENT state are the Tie-Tags populated with a random value other than 0."
    pub(crate) fn random(rng: &mut Rng) -> Self {
        Self { local: rng.next_u32().max(1), peer: rng.next_u32().max(1) }
    }
}

/// Everything that both sides agreed on, as the listener sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Cookie {
    pub(crate) created: Time,
    pub(crate) life: Duration,
    pub(crate) local_tag: VerificationTag,
    pub(crate) peer_tag: VerificationTag,
    pub(crate) tie_tags: TieTags,
    pub(crate) local_port: u16,
    pub(crate) peer_port: u16,
    pub(crate) local_initial_tsn: Tsn,
    pub(crate) peer_initial_tsn: Tsn,
    pub(crate) peer_a_rwnd: u32,
    /// What the peer announced.
    pub(crate) peer_outbound_streams: u16,
    pub(crate) peer_inbound_streams: u16,
    pub(crate) extensions: SupportedExtensions,
    /// Our random number and what the peer announced, if both ends authenticate. RFC 4895 section
    /// 6.3: "the cookie contained in an INIT-ACK chunk and in a COOKIE-ECHO chunk MUST NOT contain
    /// any endpoint pair shared keys."
    pub(crate) authentication: Option<(Random, Announced)>,
    /// Both ends' offers of the DTLS chunk, if it is used.
    pub(crate) offers: Option<Offers>,
    /// Where the INIT ACK went.
    pub(crate) path: FourTuple,
    pub(crate) peer_addresses: Vec<IpAddr>,
}

/// Why a cookie is not accepted.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
pub(crate) enum CookieError {
    #[error("the cookie is not one of ours")]
    Forged,
    #[error("the cookie expired {} ms ago", staleness.as_millis())]
    Stale { staleness: Duration },
    #[error("the cookie was used before")]
    Spent,
}

/// Signs cookies and checks them.
#[derive(Debug)]
pub(crate) struct CookieJar {
    rng: Rng,
    current: [u8; 32],
    previous: [u8; 32],
    rotate_at: Time,
    spent: VecDeque<(Time, VerificationTag)>,
}

impl CookieJar {
    pub(crate) fn new(mut rng: Rng) -> Self {
        let (mut current, mut previous) = ([0; 32], [0; 32]);
        rng.fill(&mut current);
        rng.fill(&mut previous);
        Self { rng, current, previous, rotate_at: Time::ZERO + KEY_LIFE, spent: VecDeque::new() }
    }

    /// The signed bytes of a cookie.
    pub(crate) fn seal(&mut self, now: Time, cookie: &Cookie) -> Vec<u8> {
        self.rotate(now);
        let mut bytes = vec![0; SIGNATURE_LEN];
        cookie.encode(&mut bytes);
        if let Some(mac) = mac(&self.current, &bytes[SIGNATURE_LEN..]) {
            let full = mac.finalize().into_bytes();
            bytes[..SIGNATURE_LEN].copy_from_slice(&full[..SIGNATURE_LEN]);
        }
        bytes
    }

    /// Checks a cookie's signature and reads it; its age is [`check_age`](Self::check_age)'s
    /// matter.
    pub(crate) fn open(&mut self, now: Time, bytes: &[u8]) -> Result<Cookie, CookieError> {
        self.rotate(now);
        let (signature, content) =
            bytes.split_at_checked(SIGNATURE_LEN).ok_or(CookieError::Forged)?;
        let signed_by =
            |key| mac(key, content).is_some_and(|m| m.verify_truncated_left(signature).is_ok());
        if !signed_by(&self.current) && !signed_by(&self.previous) {
            return Err(CookieError::Forged);
        }
        Cookie::decode(content).ok_or(CookieError::Forged)
    }

    /// RFC 9260 section 5.1.5, step 4: "If the elapsed time is longer than the lifespan carried in
    /// the State Cookie, then the packet ... SHOULD be discarded".
    pub(crate) fn check_age(&self, now: Time, cookie: &Cookie) -> Result<(), CookieError> {
        let expires = cookie.created + cookie.life;
        if now > expires {
            return Err(CookieError::Stale { staleness: now - expires });
        }
        if self.spent.iter().any(|(_, tag)| *tag == cookie.local_tag) {
            return Err(CookieError::Spent);
        }
        Ok(())
    }

    /// The association with this tag ended: its cookie, if it is still fresh, must not raise it
    /// again.
    pub(crate) fn spend(&mut self, now: Time, tag: VerificationTag, life: Duration) {
        while self.spent.front().is_some_and(|(expires, _)| *expires < now) {
            self.spent.pop_front();
        }
        if self.spent.len() == SPENT_MAX {
            self.spent.pop_front();
        }
        self.spent.push_back((now + life, tag));
    }

    fn rotate(&mut self, now: Time) {
        while now >= self.rotate_at {
            self.previous = self.current;
            self.rng.fill(&mut self.current);
            self.rotate_at = (self.rotate_at + KEY_LIFE).max(now.saturating_sub(KEY_LIFE));
        }
    }
}

fn mac(key: &[u8; 32], content: &[u8]) -> Option<HmacSha256> {
    let mut mac = HmacSha256::new_from_slice(key).ok()?;
    mac.update(content);
    Some(mac)
}

impl Cookie {
    fn encode(&self, out: &mut Vec<u8>) {
        out.extend(self.created.as_nanos().to_be_bytes());
        out.extend((self.life.as_millis() as u32).to_be_bytes());
        for tag in [self.local_tag.0, self.peer_tag.0] {
            out.extend(tag.to_be_bytes());
        }
        out.extend(self.local_port.to_be_bytes());
        out.extend(self.peer_port.to_be_bytes());
        out.extend(self.local_initial_tsn.0.to_be_bytes());
        out.extend(self.peer_initial_tsn.0.to_be_bytes());
        out.extend(self.peer_a_rwnd.to_be_bytes());
        out.extend(self.peer_outbound_streams.to_be_bytes());
        out.extend(self.peer_inbound_streams.to_be_bytes());
        out.extend(self.extensions.to_bits().to_be_bytes());
        if self.tie_tags == TieTags::NONE {
            out.push(0);
        } else {
            out.push(HAS_TIE_TAGS);
            out.extend(self.tie_tags.local.to_be_bytes());
            out.extend(self.tie_tags.peer.to_be_bytes());
        }
        encode_authentication(self.authentication.as_ref(), out);
        encode_offers(self.offers.as_ref(), out);
        for end in [self.path.local, self.path.remote] {
            encode_address(end.ip(), out);
            out.extend(end.port().to_be_bytes());
        }
        for address in &self.peer_addresses {
            encode_address(*address, out);
        }
    }

    fn decode(bytes: &[u8]) -> Option<Self> {
        let mut reader = Reader(bytes);
        // Fields are read in the order in which they stand here.
        let created = Time::from_nanos(u64::from_be_bytes(reader.take()?));
        let life = Duration::from_millis(reader.u32()?.into());
        let (local_tag, peer_tag) = (reader.tag()?, reader.tag()?);
        let (local_port, peer_port) = (reader.u16()?, reader.u16()?);
        let (local_initial_tsn, peer_initial_tsn) = (Tsn(reader.u32()?), Tsn(reader.u32()?));
        let peer_a_rwnd = reader.u32()?;
        let (peer_outbound_streams, peer_inbound_streams) = (reader.u16()?, reader.u16()?);
        let bits = reader.u16()?;
        let [has_tie_tags] = reader.take()?;
        let tie_tags = if has_tie_tags != HAS_TIE_TAGS {
            TieTags::NONE
        } else {
            TieTags { local: reader.u32()?, peer: reader.u32()? }
        };
        let authentication = reader.authentication()?;
        let offers = reader.offers()?;
        let path = FourTuple::new(reader.socket_address()?, reader.socket_address()?);
        let peer_addresses = std::iter::from_fn(|| reader.address()).collect();
        Some(Self {
            created,
            life,
            local_tag,
            peer_tag,
            tie_tags,
            local_port,
            peer_port,
            local_initial_tsn,
            peer_initial_tsn,
            peer_a_rwnd,
            peer_outbound_streams,
            peer_inbound_streams,
            extensions: SupportedExtensions::from_bits(bits),
            authentication,
            offers,
            path,
            peer_addresses,
        })
    }
}

/// The length of what the peer announced, that, and our random number.
fn encode_authentication(authentication: Option<&(Random, Announced)>, out: &mut Vec<u8>) {
    let Some((random, peer)) = authentication else { return out.extend([0, 0]) };
    let mut announced = Vec::new();
    peer.encode(&mut announced);
    out.extend((announced.len() as u16).to_be_bytes());
    out.extend(announced);
    out.extend(random);
}

/// Both parameters as they are, behind a byte that says whether there are any.
fn encode_offers(offers: Option<&Offers>, out: &mut Vec<u8>) {
    out.push(u8::from(offers.is_some()));
    for offer in offers.iter().flat_map(|offers| [&offers.own, &offers.peers]) {
        let parameter = offer.derivation_input();
        out.extend((parameter.len() as u16).to_be_bytes());
        out.extend(parameter);
    }
}

fn encode_address(address: IpAddr, out: &mut Vec<u8>) {
    match address {
        IpAddr::V4(address) => {
            out.push(4);
            out.extend(address.octets());
        }
        IpAddr::V6(address) => {
            out.push(6);
            out.extend(address.octets());
        }
    }
}

struct Reader<'a>(&'a [u8]);

impl Reader<'_> {
    fn take<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>()?;
        self.0 = rest;
        Some(*head)
    }

    fn u16(&mut self) -> Option<u16> {
        self.take().map(u16::from_be_bytes)
    }

    fn u32(&mut self) -> Option<u32> {
        self.take().map(u32::from_be_bytes)
    }

    /// The outer `None` says that it cannot be read.
    fn authentication(&mut self) -> Option<Option<(Random, Announced)>> {
        let len = usize::from(self.u16()?);
        if len == 0 {
            return Some(None);
        }
        let (announced, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        let peer = Announced::decode(announced)?;
        Some(Some((self.take::<RANDOM_LEN>()?, peer)))
    }

    /// The outer `None` says that it cannot be read.
    fn offers(&mut self) -> Option<Option<Offers>> {
        match self.take::<1>()? {
            [0] => Some(None),
            _ => Some(Some(Offers { own: self.offer()?, peers: self.offer()? })),
        }
    }

    fn offer(&mut self) -> Option<KeyOffer> {
        let len = usize::from(self.u16()?);
        let (bytes, rest) = self.0.split_at_checked(len)?;
        self.0 = rest;
        let parameter = Parameters::from_bytes(bytes).iter().next()?.ok()?;
        let Parameter::DtlsKeyManagement(offer) = parameter else { return None };
        Some(KeyOffer::read(&offer))
    }

    fn tag(&mut self) -> Option<VerificationTag> {
        self.u32().map(VerificationTag)
    }

    fn address(&mut self) -> Option<IpAddr> {
        match self.take::<1>()? {
            [4] => self.take::<4>().map(IpAddr::from),
            [6] => self.take::<16>().map(IpAddr::from),
            _ => None,
        }
    }

    fn socket_address(&mut self) -> Option<SocketAddr> {
        Some(SocketAddr::new(self.address()?, self.u16()?))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::authentication::{Authentication, Protection};

    fn cookie() -> Cookie {
        Cookie {
            created: Time::from_secs(5),
            life: Duration::from_secs(60),
            local_tag: VerificationTag(1),
            peer_tag: VerificationTag(2),
            tie_tags: TieTags { local: 3, peer: 4 },
            local_port: 5,
            peer_port: 6,
            local_initial_tsn: Tsn(7),
            peer_initial_tsn: Tsn(8),
            peer_a_rwnd: 9,
            peer_outbound_streams: 10,
            peer_inbound_streams: 11,
            extensions: SupportedExtensions {
                forward_tsn: true,
                cmt_delayed_ack: true,
                spaced_sacks: true,
                level_marks: true,
                re_config: true,
                asconf: true,
                i_data: true,
                i_forward_tsn: true,
                zero_checksum: true,
                zero_checksum_of_sealed: true,
            },
            authentication: None,
            offers: None,
            path: FourTuple::new("10.0.0.1:9".parse().unwrap(), "[fd00::2]:9".parse().unwrap()),
            peer_addresses: vec!["10.0.0.2".parse().unwrap(), "fd00::2".parse().unwrap()],
        }
    }

    fn jar() -> CookieJar {
        CookieJar::new(Rng::from_u64(1))
    }

    #[test]
    fn a_cookie_comes_back_as_it_was_sealed() {
        let (mut jar, now) = (jar(), Time::from_secs(6));
        let sealed = jar.seal(now, &cookie());
        assert_eq!(jar.open(now, &sealed), Ok(cookie()));
    }

    #[test]
    fn what_both_ends_announced_of_authentication_comes_back() {
        let (mut jar, now) = (jar(), Time::from_secs(6));
        let authentication = Authentication::new(Vec::new(), Protection::Addresses).unwrap();
        let peer = Announced::ours(&authentication, [7; 32]);
        let cookie = Cookie { authentication: Some(([8; 32], peer)), ..cookie() };
        let sealed = jar.seal(now, &cookie);
        assert_eq!(jar.open(now, &sealed), Ok(cookie));
    }

    #[test]
    fn what_both_ends_offered_of_the_dtls_chunk_comes_back() {
        let (mut jar, now) = (jar(), Time::from_secs(6));
        let mut rng = Rng::from_u64(2);
        let own = KeyOffer::of_listener(192, &mut rng);
        let peers = KeyOffer::of_caller(192, &mut rng);
        let cookie = Cookie { offers: Some(Offers { own, peers }), ..cookie() };
        let sealed = jar.seal(now, &cookie);
        assert_eq!(jar.open(now, &sealed), Ok(cookie));
    }

    #[test]
    fn any_changed_bit_and_any_other_jar_is_a_forgery() {
        let (mut jar, now) = (jar(), Time::from_secs(6));
        let sealed = jar.seal(now, &cookie());
        for bit in 0..sealed.len() * 8 {
            let mut damaged = sealed.clone();
            damaged[bit / 8] ^= 1 << (bit % 8);
            assert_eq!(jar.open(now, &damaged), Err(CookieError::Forged), "bit {bit}");
        }
        for len in 0..sealed.len() {
            assert_eq!(jar.open(now, &sealed[..len]), Err(CookieError::Forged), "{len} bytes");
        }
        let mut other = CookieJar::new(Rng::from_u64(2));
        assert_eq!(other.open(now, &sealed), Err(CookieError::Forged));
    }

    #[test]
    fn a_cookie_expires_to_the_millisecond() {
        let jar = jar();
        assert_eq!(jar.check_age(Time::from_secs(65), &cookie()), Ok(()));
        let staleness = Duration::from_millis(1);
        let stale = jar.check_age(Time::from_millis(65_001), &cookie());
        assert_eq!(stale, Err(CookieError::Stale { staleness }));
    }

    #[test]
    fn a_cookie_outlives_one_change_of_keys_but_not_two() {
        let mut jar = jar();
        let sealed = jar.seal(Time::from_secs(3_599), &cookie());
        assert!(jar.open(Time::from_secs(3_601), &sealed).is_ok());
        assert_eq!(jar.open(Time::from_secs(7_300), &sealed), Err(CookieError::Forged));
    }

    #[test]
    fn a_spent_cookie_is_refused_while_it_would_be_fresh_and_memory_is_bounded() {
        let (mut jar, now) = (jar(), Time::from_secs(6));
        jar.spend(now, VerificationTag(1), Duration::from_secs(60));
        assert_eq!(jar.check_age(now, &cookie()), Err(CookieError::Spent));
        for tag in 2..10_000 {
            jar.spend(now, VerificationTag(tag), Duration::from_secs(60));
        }
        assert_eq!(jar.spent.len(), SPENT_MAX);
        jar.spend(Time::from_secs(100), VerificationTag(1), Duration::from_secs(60));
        assert_eq!(jar.spent.len(), 1, "expired ones are forgotten");
    }
}
