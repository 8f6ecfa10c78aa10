//! [`CookieJar`]: Init Cookies, RFC 4340 section 8.1.4.

use std::time::Duration;

use anabranch_sansio::{Rng, Time};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::connection::Flow;
use crate::wire::{
    Kind, OPTION_DATA_MAX, Options, Packet, PacketOption, SequenceNumber, ServiceCode,
};

type HmacSha256 = Hmac<Sha256>;

/// Bytes of the code at the end: half of the hash.
const MAC_LEN: usize = 16;
/// Time, our number, the client's number, the service code.
const FIELDS_LEN: usize = 8 + 8 + 8 + 4;
/// Options of a Request that a cookie holds; one with more is not answered by a cookie.
const OPTIONS_LEN_MAX: usize = 384;

/// Wraps up what a server must know of a Request, so that it need not remember it.
#[derive(Debug)]
pub(super) struct CookieJar {
    key: [u8; 32],
    life: Duration,
}

/// What a cookie held.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Remembered {
    /// When our Response was sent.
    pub(super) at: Time,
    /// ISS.
    pub(super) first: SequenceNumber,
    /// The Request's number.
    pub(super) request: SequenceNumber,
    pub(super) service_code: ServiceCode,
    /// The Request's options.
    pub(super) options: Vec<u8>,
}

impl CookieJar {
    pub(super) fn new(rng: &mut Rng, life: Duration) -> Self {
        let mut key = [0; 32];
        rng.fill(&mut key);
        Self { key, life }
    }

    /// The cookies for a Response to this Request. `None`: it is too long for them.
    pub(super) fn seal(
        &self,
        now: Time,
        flow: Flow,
        first: SequenceNumber,
        request: &Packet<'_>,
    ) -> Option<Vec<Vec<u8>>> {
        let Kind::Request { service_code } = request.kind else { return None };
        let options = request.options.as_bytes();
        if options.len() > OPTIONS_LEN_MAX {
            return None;
        }
        let mut bytes = Vec::with_capacity(FIELDS_LEN + options.len() + MAC_LEN);
        bytes.extend(now.as_nanos().to_be_bytes());
        bytes.extend(first.value().to_be_bytes());
        bytes.extend(request.sequence_number.value().to_be_bytes());
        bytes.extend(service_code.0.to_be_bytes());
        bytes.extend_from_slice(options);
        let mac = self.mac(flow, &bytes)?.finalize().into_bytes();
        bytes.extend_from_slice(mac.get(..MAC_LEN)?);
        // RFC 4340 section 8.1.4: "Each individual Init Cookie option can hold at most 253 bytes of
        // data, but a server can send multiple Init Cookie options to gain more space."
        Some(bytes.chunks(OPTION_DATA_MAX).map(<[u8]>::to_vec).collect())
    }

    /// What the cookies of a packet held, if they are ours and not too old.
    pub(super) fn open(&self, now: Time, flow: Flow, packet: &Packet<'_>) -> Option<Remembered> {
        let bytes = cookies(packet);
        let (content, mac) = bytes.split_at_checked(bytes.len().checked_sub(MAC_LEN)?)?;
        self.mac(flow, content)?.verify_truncated_left(mac).ok()?;
        let (at, rest) = content.split_first_chunk()?;
        let (first, rest) = rest.split_first_chunk()?;
        let (request, rest) = rest.split_first_chunk()?;
        let (service_code, options) = rest.split_first_chunk()?;
        let at = Time::from_nanos(u64::from_be_bytes(*at));
        let is_fresh = at <= now && now - at <= self.life;
        is_fresh.then(|| Remembered {
            at,
            first: SequenceNumber::new(u64::from_be_bytes(*first)),
            request: SequenceNumber::new(u64::from_be_bytes(*request)),
            service_code: ServiceCode(u32::from_be_bytes(*service_code)),
            options: options.to_vec(),
        })
    }

    /// The code covers the flow too: a cookie is good for nobody else.
    fn mac(&self, flow: Flow, content: &[u8]) -> Option<HmacSha256> {
        let mut mac = HmacSha256::new_from_slice(&self.key).ok()?;
        let Flow { path, local_port, remote_port } = flow;
        mac.update(format!("{path} {local_port} {remote_port} ").as_bytes());
        mac.update(content);
        Some(mac)
    }
}

/// All cookies of a packet in their order.
fn cookies(packet: &Packet<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    for entry in packet.options.iter().flatten() {
        if let Ok(PacketOption::InitCookie(cookie)) = entry.decode() {
            bytes.extend_from_slice(cookie);
        }
    }
    bytes
}

/// Whether a packet has a cookie.
pub(super) fn has_cookie(packet: &Packet<'_>) -> bool {
    !cookies(packet).is_empty()
}

impl Remembered {
    /// The Request as it came, less its data.
    pub(super) fn request(&self, flow: Flow) -> Packet<'_> {
        Packet {
            source_port: flow.remote_port,
            destination_port: flow.local_port,
            ccval: 0,
            checksum_coverage: 0,
            sequence_number: self.request,
            is_short: false,
            kind: Kind::Request { service_code: self.service_code },
            options: Options::new(&self.options),
            data: &[],
        }
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::FourTuple;

    use super::*;
    use crate::wire::OptionsBuf;

    const LIFE: Duration = Duration::from_secs(60);

    fn flow() -> Flow {
        let path = FourTuple::new(([10, 0, 0, 2], 9).into(), ([10, 0, 0, 1], 8).into());
        Flow { path, local_port: 9, remote_port: 8 }
    }

    fn packet<'a>(kind: Kind, options: &'a OptionsBuf) -> Packet<'a> {
        Packet {
            source_port: 8,
            destination_port: 9,
            ccval: 0,
            checksum_coverage: 0,
            sequence_number: SequenceNumber::new(77),
            is_short: false,
            kind,
            options: options.as_options(),
            data: &[],
        }
    }

    fn request(options_len: usize) -> OptionsBuf {
        let mut options = OptionsBuf::new();
        while options.len() < options_len {
            options.push(&PacketOption::InitCookie(&[7; 30]));
        }
        options
    }

    fn echo(cookies: &[Vec<u8>]) -> OptionsBuf {
        let mut options = OptionsBuf::new();
        cookies.iter().for_each(|cookie| assert!(options.push(&PacketOption::InitCookie(cookie))));
        options
    }

    #[test]
    fn a_request_comes_back_out_of_its_cookies() {
        let jar = CookieJar::new(&mut Rng::from_u64(1), LIFE);
        let (now, first) = (Time::from_secs(100), SequenceNumber::new(5));
        let service_code = ServiceCode(9);
        for len in [0, 32, 320] {
            let options = request(len);
            let sent = packet(Kind::Request { service_code }, &options);
            let cookies = jar.seal(now, flow(), first, &sent).unwrap();
            let echoed = echo(&cookies);
            let ack = Kind::Ack { acknowledgement_number: first };
            let answer = packet(ack, &echoed);
            let found = jar.open(now + LIFE, flow(), &answer).unwrap();
            assert_eq!((found.at, found.first), (now, first));
            assert_eq!(found.request(flow()), sent);
            // Not for another one, not later, not by another server.
            let other = Flow { remote_port: 7, ..flow() };
            assert_eq!(jar.open(now, other, &answer), None);
            assert_eq!(jar.open(now + LIFE + Duration::from_nanos(1), flow(), &answer), None);
            let foreign = CookieJar::new(&mut Rng::from_u64(2), LIFE);
            assert_eq!(foreign.open(now, flow(), &answer), None);
        }
    }

    #[test]
    fn a_changed_cookie_is_refused_whichever_byte_it_is() {
        let jar = CookieJar::new(&mut Rng::from_u64(1), LIFE);
        let options = request(0);
        let sent = packet(Kind::Request { service_code: ServiceCode(9) }, &options);
        let first = SequenceNumber::new(5);
        let [cookie] = &jar.seal(Time::ZERO, flow(), first, &sent).unwrap()[..] else { panic!() };
        let ack = Kind::Ack { acknowledgement_number: first };
        for at in 0..cookie.len() {
            let mut changed = cookie.clone();
            changed[at] ^= 1;
            let echoed = echo(&[changed, Vec::new()]);
            assert_eq!(jar.open(Time::ZERO, flow(), &packet(ack, &echoed)), None, "byte {at}");
            let echoed = echo(&[cookie[..at].to_vec()]);
            assert_eq!(jar.open(Time::ZERO, flow(), &packet(ack, &echoed)), None, "cut at {at}");
        }
    }

    #[test]
    fn a_request_with_too_many_options_gets_no_cookie() {
        let jar = CookieJar::new(&mut Rng::from_u64(1), LIFE);
        let options = request(OPTIONS_LEN_MAX + 1);
        let sent = packet(Kind::Request { service_code: ServiceCode(9) }, &options);
        assert_eq!(jar.seal(Time::ZERO, flow(), SequenceNumber::new(5), &sent), None);
    }
}
