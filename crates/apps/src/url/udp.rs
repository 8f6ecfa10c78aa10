//! [`UdpUrl`]: `udp://…`, as ffmpeg and OBS write it.

use std::net::IpAddr;
use std::str::FromStr;

use super::error::{Place, UrlError};
use super::query::{Parts, host_and_port};

const SCHEME: &str = "udp";

/// Seven packets of 188 bytes: what fits into Ethernet.
pub const PKT_SIZE_DEFAULT: usize = 1_316;

const PKT_SIZE_MAX: usize = 348 * 188;

const KNOWN: &str = "localaddr, source, ttl, pkt_size";

/// Where plain transport stream packets come from or go to: `udp://HOST:PORT`.
///
/// As an input, the host is a multicast group or an address of this machine; empty, or with `@` as
/// VLC writes it, any. Options, as in ffmpeg: `localaddr` (the interface's address), `ttl` and
/// `pkt_size` (outputs). `source` (inputs) takes a group's packets from this sender only, which VLC
/// writes as `udp://SENDER@GROUP:PORT` (RFC 4607).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UdpUrl {
    /// A name or an address; `None`: any address of this machine.
    pub host: Option<String>,
    /// The port.
    pub port: u16,
    /// The address of the interface to use.
    pub local_addr: Option<IpAddr>,
    /// The one sender of a multicast group to take packets from.
    pub source: Option<IpAddr>,
    /// Time to live of multicast that is sent.
    pub ttl: Option<u8>,
    /// Bytes per datagram that is sent.
    pub pkt_size: usize,
}

impl FromStr for UdpUrl {
    type Err = UrlError;

    fn from_str(url: &str) -> Result<Self, UrlError> {
        Self::parse(url, SCHEME)
    }
}

impl UdpUrl {
    /// Reads a URL of another scheme that is written alike.
    ///
    /// # Errors
    /// It is not, or has options that make no sense.
    pub fn parse(url: &str, scheme: &'static str) -> Result<Self, UrlError> {
        let parts = Parts::of(url, scheme)?;
        let (sender, authority) = match parts.authority.split_once('@') {
            Some((sender, authority)) => (Some(sender).filter(|it| !it.is_empty()), authority),
            None => (None, parts.authority),
        };
        let (host, port) = host_and_port(authority, Place::Url)?;
        let Some(port) = port else {
            return Err(UrlError::NoPort { place: Place::Url, text: authority.to_owned() });
        };
        let host = (!host.is_empty()).then(|| host.to_owned());
        let mut parsed = Self {
            host,
            port,
            local_addr: None,
            source: None,
            ttl: None,
            pkt_size: PKT_SIZE_DEFAULT,
        };
        for option in parts.options() {
            let (name, value) = option?;
            parsed.take(name, &value)?;
        }
        sender.map_or(Ok(()), |sender| parsed.take("source", sender))?;
        parsed.check_source()?;
        Ok(parsed)
    }

    /// Whether the text means to be one.
    #[must_use]
    pub fn is_meant_by(text: &str) -> bool {
        text.starts_with("udp://")
    }

    /// A sender is chosen among those of a group of its family.
    fn check_source(&self) -> Result<(), UrlError> {
        let Some(source) = self.source else { return Ok(()) };
        let group = self.host.as_deref().and_then(|host| host.parse::<IpAddr>().ok());
        match group.filter(IpAddr::is_multicast) {
            None => Err(UrlError::SourceWithoutGroup),
            Some(group) if group.is_ipv6() || source.is_ipv6() => Err(UrlError::SourceOfIpv6),
            Some(_) => Ok(()),
        }
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), UrlError> {
        match name {
            "localaddr" => {
                let addr = value.parse();
                let failed = |_| UrlError::LocalAddr { value: value.to_owned() };
                self.local_addr = Some(addr.map_err(failed)?);
            }
            "source" => {
                let sender = source(value)?;
                if self.source.replace(sender).is_some() {
                    return Err(UrlError::Repeated { name: name.to_owned() });
                }
            }
            "ttl" => {
                let ttl = value.parse().ok().filter(|ttl| *ttl > 0);
                self.ttl = Some(ttl.ok_or_else(|| UrlError::Ttl { value: value.to_owned() })?);
            }
            "pkt_size" => {
                let size = value.parse().ok();
                let fits =
                    |size: &usize| *size > 0 && size.is_multiple_of(188) && *size <= PKT_SIZE_MAX;
                let size = size.filter(fits);
                self.pkt_size =
                    size.ok_or_else(|| UrlError::PktSize { value: value.to_owned() })?;
            }
            _ => return Err(UrlError::UnknownOption { name: name.to_owned(), known: KNOWN }),
        }
        Ok(())
    }
}

/// RFC 4607 section 1: a channel is "the combination of an IP unicast source address and an SSM
/// destination address".
fn source(value: &str) -> Result<IpAddr, UrlError> {
    let bare = value.strip_prefix('[').and_then(|it| it.strip_suffix(']')).unwrap_or(value);
    let is_sender = |addr: &IpAddr| !addr.is_multicast() && !addr.is_unspecified();
    let addr = bare.parse().ok().filter(is_sender);
    addr.ok_or_else(|| UrlError::MulticastSource { value: value.to_owned() })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_ffmpeg_and_vlc_write_is_understood() {
        let url: UdpUrl =
            "udp://239.1.2.3:1234?localaddr=192.0.2.5&ttl=4&pkt_size=564".parse().unwrap();
        assert_eq!((url.host.as_deref(), url.port), (Some("239.1.2.3"), 1234));
        assert_eq!((url.local_addr, url.ttl), (Some([192, 0, 2, 5].into()), Some(4)));
        assert_eq!(url.pkt_size, 564);
        for any in ["udp://:1234", "udp://@:1234"] {
            let url: UdpUrl = any.parse().unwrap();
            assert_eq!((url.host, url.port, url.pkt_size), (None, 1234, PKT_SIZE_DEFAULT));
        }
        let url: UdpUrl = "udp://@[ff15::1]:1234".parse().unwrap();
        assert_eq!(url.host.as_deref(), Some("ff15::1"));
    }

    #[test]
    fn a_group_may_be_taken_from_one_sender_only() {
        for text in ["udp://232.1.2.3:5000?source=192.0.2.1", "udp://192.0.2.1@232.1.2.3:5000"] {
            let url: UdpUrl = text.parse().unwrap();
            assert_eq!((url.host.as_deref(), url.port), (Some("232.1.2.3"), 5000));
            assert_eq!(url.source, Some([192, 0, 2, 1].into()));
        }
    }

    #[test]
    fn senseless_options_are_refused_with_what_would_be_right() {
        let words = |url: &str| url.parse::<UdpUrl>().unwrap_err().to_string();
        assert!(words("udp://h").contains("has no port"));
        assert!(words("udp://h:1?pkt_size=1300").contains("a multiple of 188"));
        assert!(words("udp://h:1?ttl=0").contains("give 1 to 255"));
        assert!(words("udp://h:1?localaddr=eth0").contains("is not an address"));
        assert!(words("udp://h:1?fifo_size=3").contains("there are localaddr, source, ttl"));
        let group = "udp://232.1.2.3:5000?source=";
        assert!(words(&format!("{group}studio")).contains("give the address of one sender"));
        assert!(words(&format!("{group}232.1.2.3")).contains("give the address of one sender"));
        assert!(words("udp://192.0.2.1@:5000").contains("source= chooses a sender of a group"));
        assert!(words("udp://[ff35::1]:5000?source=2001:db8::1").contains("for IPv4 only"));
        let twice = words("udp://192.0.2.1@232.1.2.3:5000?source=192.0.2.1");
        assert!(twice.contains("option source= is given twice"), "{twice}");
    }
}
