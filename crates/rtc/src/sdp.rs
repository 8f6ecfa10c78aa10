//! SDP (RFC 8866) of exactly one thing: data channels over SCTP over DTLS (RFC 8841).

use std::fmt::Write as _;
use std::net::SocketAddr;

use thiserror::Error;

/// Bytes that an offer may have.
const OFFER_MAX: usize = 64 << 10;

/// The SCTP port inside DTLS where an offer names none: what browsers use.
const SCTP_PORT: u16 = 5_000;

/// What we need of an offer.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Offer {
    pub(crate) ufrag: String,
    /// The SHA-256 of the certificate that the peer will show.
    pub(crate) fingerprint: [u8; 32],
    pub(crate) mid: String,
    pub(crate) sctp_port: u16,
    /// The longest message that the peer takes; 0 stands for any.
    pub(crate) max_message_size: usize,
}

/// Why an offer is refused: what the HTTP answer says, with status 400.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum OfferError {
    /// Longer than any browser's.
    #[error("the offer has {len} bytes, but at most {OFFER_MAX} are read")]
    TooLong {
        /// Its length.
        len: usize,
    },
    /// No section for data channels.
    #[error("the offer has no line `m=application … UDP/DTLS/SCTP webrtc-datachannel`")]
    NoDataChannels,
    /// Sections beside the one for data channels.
    #[error("the offer has the section `{0}`, but only data channels are served")]
    OtherMedia(String),
    /// A line that is needed is missing.
    #[error("the offer has no line `a={0}:…`")]
    Missing(&'static str),
    /// A line that cannot be read.
    #[error("the offer has the line `a={name}:{value}`; {right} would be right")]
    Bad {
        /// Which line.
        name: &'static str,
        /// What it says.
        value: String,
        /// What it should say.
        right: &'static str,
    },
    /// The peer wants to wait for our handshake; we wait for its.
    #[error("the offer has `a=setup:passive`, but so has the answer: `actpass` would be right")]
    Passive,
    /// Nobody would begin the connectivity checks.
    #[error("the offer has `a=ice-lite`, but so has the answer: a full agent would be right")]
    IceLite,
}

impl Offer {
    pub(crate) fn parse(sdp: &str) -> Result<Self, OfferError> {
        if sdp.len() > OFFER_MAX {
            return Err(OfferError::TooLong { len: sdp.len() });
        }
        let lines = || sdp.lines().map(str::trim_end);
        let mut sections = lines().filter_map(|line| line.strip_prefix("m="));
        let is_data = |section: &str| {
            let mut words = section.split(' ');
            words.next() == Some("application") && words.any(|word| word == "webrtc-datachannel")
        };
        let first = sections.next().ok_or(OfferError::NoDataChannels)?;
        if let Some(other) = std::iter::once(first).chain(sections).find(|m| !is_data(m)) {
            return Err(OfferError::OtherMedia(other.chars().take(60).collect()));
        }
        // Attributes of the session hold for its only section.
        let attribute = |name: &'static str| {
            lines().find_map(|line| {
                line.strip_prefix("a=")?.strip_prefix(name)?.strip_prefix(':').map(str::trim)
            })
        };
        if lines().any(|line| line == "a=ice-lite") {
            return Err(OfferError::IceLite);
        }
        if attribute("setup").ok_or(OfferError::Missing("setup"))? == "passive" {
            return Err(OfferError::Passive);
        }
        attribute("ice-pwd").ok_or(OfferError::Missing("ice-pwd"))?;
        let fingerprint = attribute("fingerprint").ok_or(OfferError::Missing("fingerprint"))?;
        Ok(Self {
            ufrag: ufrag(attribute("ice-ufrag").ok_or(OfferError::Missing("ice-ufrag"))?)?,
            fingerprint: parse_fingerprint(fingerprint)?,
            mid: token(attribute("mid").unwrap_or("0"))?,
            sctp_port: number(attribute("sctp-port"), "sctp-port", SCTP_PORT)?,
            max_message_size: number(
                attribute("max-message-size"),
                "max-message-size",
                // RFC 8841 section 6.1: "If the SDP "max-message-size" attribute is not present,
                // the default value is 64K."
                64 << 10,
            )?,
        })
    }
}

/// What we answer.
#[derive(Debug)]
pub(crate) struct Answer<'a> {
    pub(crate) session: u64,
    pub(crate) ufrag: &'a str,
    pub(crate) password: &'a str,
    pub(crate) fingerprint: &'a [u8; 32],
    pub(crate) candidates: &'a [SocketAddr],
    pub(crate) max_message_size: usize,
}

impl Answer<'_> {
    /// The answer to an offer.
    pub(crate) fn write(&self, offer: &Offer) -> String {
        let mut sdp = format!("v=0\r\no=- {} 1 IN IP4 127.0.0.1\r\ns=-\r\nt=0 0\r\n", self.session);
        let mid = &offer.mid;
        // RFC 8839 section 4.2.3: "The "ice-lite" attribute indicates that an agent is a lite
        // implementation."
        write_line(&mut sdp, format_args!("a=group:BUNDLE {mid}\r\na=ice-lite"));
        let (address, port) = self.candidates.first().map_or_else(
            || ("0.0.0.0".to_owned(), 9),
            |candidate| (candidate.ip().to_string(), candidate.port()),
        );
        let family = if address.contains(':') { "IP6" } else { "IP4" };
        write_line(&mut sdp, format_args!("m=application {port} UDP/DTLS/SCTP webrtc-datachannel"));
        write_line(&mut sdp, format_args!("c=IN {family} {address}"));
        for (index, candidate) in self.candidates.iter().enumerate() {
            let (ip, port, foundation) = (candidate.ip(), candidate.port(), index + 1);
            // RFC 8445 section 5.1.2.1, with the type preference of host candidates, 126.
            let priority = (126_u32 << 24) | (0xffff - (index as u32).min(0xffff)) << 8 | 255;
            write_line(
                &mut sdp,
                format_args!("a=candidate:{foundation} 1 udp {priority} {ip} {port} typ host"),
            );
        }
        let fingerprint = format_fingerprint(self.fingerprint);
        let (ufrag, password) = (self.ufrag, self.password);
        write_line(&mut sdp, format_args!("a=end-of-candidates"));
        write_line(&mut sdp, format_args!("a=ice-ufrag:{ufrag}\r\na=ice-pwd:{password}"));
        write_line(&mut sdp, format_args!("a=fingerprint:sha-256 {fingerprint}"));
        write_line(&mut sdp, format_args!("a=setup:passive\r\na=mid:{mid}"));
        write_line(&mut sdp, format_args!("a=sctp-port:{}", offer.sctp_port));
        write_line(&mut sdp, format_args!("a=max-message-size:{}", self.max_message_size));
        sdp
    }
}

fn write_line(sdp: &mut String, line: std::fmt::Arguments<'_>) {
    // A String takes all that is written to it.
    let _infallible = write!(sdp, "{line}\r\n");
}

/// RFC 8839 section 5.4: an ice-ufrag has 4 to 256 characters of a small alphabet.
fn ufrag(value: &str) -> Result<String, OfferError> {
    let is_ice_char = |c: char| c.is_ascii_alphanumeric() || c == '+' || c == '/';
    let is_good = (4..=256).contains(&value.len()) && value.chars().all(is_ice_char);
    let bad = || bad("ice-ufrag", value, "4 to 256 letters, digits, `+` or `/`");
    is_good.then(|| value.to_owned()).ok_or_else(bad)
}

/// The mid comes back in our answer: it must not bring lines of its own.
fn token(value: &str) -> Result<String, OfferError> {
    let is_good = (1..=64).contains(&value.len())
        && value.chars().all(|c| c.is_ascii_alphanumeric() || "-_.+".contains(c));
    is_good.then(|| value.to_owned()).ok_or_else(|| bad("mid", value, "a token of 1 to 64 letters"))
}

fn number<T: std::str::FromStr>(
    value: Option<&str>,
    name: &'static str,
    default: T,
) -> Result<T, OfferError> {
    let Some(value) = value else { return Ok(default) };
    value.parse().map_err(|_| bad(name, value, "a number"))
}

fn parse_fingerprint(value: &str) -> Result<[u8; 32], OfferError> {
    let refusal = || bad("fingerprint", value, "`sha-256` and 32 bytes in hexadecimal");
    let (algorithm, digits) = value.split_once(' ').ok_or_else(refusal)?;
    if !algorithm.eq_ignore_ascii_case("sha-256") {
        return Err(refusal());
    }
    let bytes: Option<Vec<u8>> = digits
        .split(':')
        .map(|pair| u8::from_str_radix(pair, 16).ok().filter(|_| pair.len() == 2))
        .collect();
    bytes.and_then(|bytes| bytes.try_into().ok()).ok_or_else(refusal)
}

fn format_fingerprint(fingerprint: &[u8; 32]) -> String {
    fingerprint.map(|byte| format!("{byte:02X}")).join(":")
}

fn bad(name: &'static str, value: &str, right: &'static str) -> OfferError {
    OfferError::Bad { name, value: value.chars().take(100).collect(), right }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINGERPRINT: &str = "sha-256 00:01:02:03:04:05:06:07:08:09:0A:0B:0C:0D:0E:0F:10:11:12:\
        13:14:15:16:17:18:19:1A:1B:1C:1D:1E:1f";

    fn offer(lines: &[&str]) -> String {
        let fingerprint = format!("a=fingerprint:{FINGERPRINT}");
        let common = [
            "v=0",
            "o=- 1 2 IN IP4 127.0.0.1",
            "s=-",
            "t=0 0",
            "a=group:BUNDLE data",
            "m=application 9 UDP/DTLS/SCTP webrtc-datachannel",
            "c=IN IP4 0.0.0.0",
            "a=ice-ufrag:Ab+/",
            "a=ice-pwd:0123456789012345678901",
            &fingerprint,
        ];
        common.iter().chain(lines).map(|line| format!("{line}\r\n")).collect()
    }

    const CHROMIUM: [&str; 4] =
        ["a=setup:actpass", "a=mid:data", "a=sctp-port:5000", "a=max-message-size:262144"];

    #[test]
    fn an_offer_of_chromium_is_read() {
        let read = Offer::parse(&offer(&CHROMIUM)).unwrap();
        assert_eq!((&*read.ufrag, &*read.mid, read.sctp_port), ("Ab+/", "data", 5_000));
        assert_eq!(read.max_message_size, 262_144);
        assert_eq!(read.fingerprint, std::array::from_fn(|n| n as u8));
    }

    #[test]
    fn the_answer_says_what_a_lite_agent_must() {
        let read = Offer::parse(&offer(&CHROMIUM)).unwrap();
        let candidates = ["192.0.2.7:9000".parse().unwrap(), "[2001:db8::7]:9000".parse().unwrap()];
        let answer = Answer {
            session: 7,
            ufrag: "ours",
            password: "secret",
            fingerprint: &read.fingerprint,
            candidates: &candidates,
            max_message_size: 65_536,
        };
        let sdp = answer.write(&read);
        for line in [
            "a=ice-lite",
            "m=application 9000 UDP/DTLS/SCTP webrtc-datachannel",
            "c=IN IP4 192.0.2.7",
            "a=candidate:1 1 udp 2130706431 192.0.2.7 9000 typ host",
            "a=candidate:2 1 udp 2130706175 2001:db8::7 9000 typ host",
            "a=setup:passive",
            "a=mid:data",
        ] {
            assert!(sdp.contains(&format!("{line}\r\n")), "{line} in\n{sdp}");
        }
    }

    #[test]
    fn an_offer_that_cannot_work_is_refused_by_what_is_wrong() {
        let refused = |sdp: &str| Offer::parse(sdp).unwrap_err();
        assert_eq!(refused("v=0\r\n"), OfferError::NoDataChannels);
        let audio = offer(&["a=setup:actpass", "m=audio 9 UDP/TLS/RTP/SAVPF 111"]);
        let other = OfferError::OtherMedia("audio 9 UDP/TLS/RTP/SAVPF 111".into());
        assert_eq!(refused(&audio), other);
        assert_eq!(refused(&offer(&[])), OfferError::Missing("setup"));
        assert_eq!(refused(&offer(&["a=setup:passive"])), OfferError::Passive);
        assert_eq!(refused(&offer(&["a=setup:actpass", "a=ice-lite"])), OfferError::IceLite);
        let sdp = offer(&CHROMIUM).replace("Ab+/", "a b c");
        assert!(matches!(refused(&sdp), OfferError::Bad { name: "ice-ufrag", .. }));
        let sdp = offer(&CHROMIUM).replace("sha-256", "sha-1");
        assert!(matches!(refused(&sdp), OfferError::Bad { name: "fingerprint", .. }));
        let sdp = offer(&CHROMIUM).replace("a=mid:data", "a=mid:\"<");
        assert!(matches!(refused(&sdp), OfferError::Bad { name: "mid", .. }));
        let sdp = "v".repeat(OFFER_MAX + 1);
        assert_eq!(refused(&sdp), OfferError::TooLong { len: OFFER_MAX + 1 });
    }
}
