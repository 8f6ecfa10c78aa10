//! [`UdpUrl`]: `udp://…`, as ffmpeg and OBS write it.

use std::net::IpAddr;
use std::str::FromStr;

use super::error::{Place, UrlError};
use super::query::{Parts, host_and_port};

const SCHEME: &str = "udp";

/// Seven packets of 188 bytes: what fits into Ethernet.
pub const PKT_SIZE_DEFAULT: usize = 1_316;

const PKT_SIZE_MAX: usize = 348 * 188;

const KNOWN: &str = "localaddr, ttl, pkt_size";

/// Where plain transport stream packets come from or go to: `udp://HOST:PORT`.
///
/// As an input, the host is a multicast group or an address of this machine; empty, or with `@` as
/// VLC writes it, any. Options, as in ffmpeg: `localaddr` (the interface's address), `ttl` and
/// `pkt_size` (outputs).
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct UdpUrl {
    /// A name or an address; `None`: any address of this machine.
    pub host: Option<String>,
    /// The port.
    pub port: u16,
    /// The address of the interface to use.
    pub local_addr: Option<IpAddr>,
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
        let authority = parts.authority.strip_prefix('@').unwrap_or(parts.authority);
        let (host, port) = host_and_port(authority, Place::Url)?;
        let Some(port) = port else {
            return Err(UrlError::NoPort { place: Place::Url, text: authority.to_owned() });
        };
        let host = (!host.is_empty()).then(|| host.to_owned());
        let mut parsed =
            Self { host, port, local_addr: None, ttl: None, pkt_size: PKT_SIZE_DEFAULT };
        for option in parts.options() {
            let (name, value) = option?;
            parsed.take(name, &value)?;
        }
        Ok(parsed)
    }

    /// Whether the text means to be one.
    #[must_use]
    pub fn is_meant_by(text: &str) -> bool {
        text.starts_with("udp://")
    }

    fn take(&mut self, name: &str, value: &str) -> Result<(), UrlError> {
        match name {
            "localaddr" => {
                let addr = value.parse();
                let failed = |_| UrlError::LocalAddr { value: value.to_owned() };
                self.local_addr = Some(addr.map_err(failed)?);
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
    fn senseless_options_are_refused_with_what_would_be_right() {
        let words = |url: &str| url.parse::<UdpUrl>().unwrap_err().to_string();
        assert!(words("udp://h").contains("has no port"));
        assert!(words("udp://h:1?pkt_size=1300").contains("a multiple of 188"));
        assert!(words("udp://h:1?ttl=0").contains("give 1 to 255"));
        assert!(words("udp://h:1?localaddr=eth0").contains("is not an address"));
        assert!(words("udp://h:1?fifo_size=3").contains("there are localaddr, ttl, pkt_size"));
    }
}
