//! Addresses of servers as people write them: `192.0.2.1:8080`, `:8080` and `8080`.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use serde::de::Error as _;
use serde::{Deserialize as _, Deserializer};

use super::addresses::{HTTP_PORT, UDP_PORT};
use super::error::SiteError;

/// Where the page is served. A port alone is one of this machine only, as the usual one is; with a
/// colon, of all addresses.
///
/// # Errors
/// It is no address; says what would be one.
pub fn http_address(text: &str) -> Result<SocketAddr, SiteError> {
    address(text, Ipv4Addr::LOCALHOST.into(), Ipv4Addr::UNSPECIFIED.into(), HTTP_PORT)
}

/// Where the page is served by HTTPS, which is for other machines: a port alone is one of all
/// addresses.
///
/// # Errors
/// It is no address; says what would be one.
pub fn https_address(text: &str) -> Result<SocketAddr, SiteError> {
    address(text, Ipv4Addr::UNSPECIFIED.into(), Ipv4Addr::UNSPECIFIED.into(), HTTPS_PORT)
}

/// Where viewers are served: a port alone is one of all addresses of both families.
///
/// # Errors
/// It is no address; says what would be one.
pub fn udp_address(text: &str) -> Result<SocketAddr, SiteError> {
    address(text, Ipv6Addr::UNSPECIFIED.into(), Ipv6Addr::UNSPECIFIED.into(), UDP_PORT)
}

/// A port for the words about HTTPS, which has no usual one.
const HTTPS_PORT: u16 = 8_443;

fn address(
    text: &str,
    alone: IpAddr,
    with_colon: IpAddr,
    usual: u16,
) -> Result<SocketAddr, SiteError> {
    let (ip, port) = match text.strip_prefix(':') {
        Some(port) => (with_colon, port),
        None => (alone, text),
    };
    if let Ok(port) = port.parse() {
        return Ok(SocketAddr::new(ip, port));
    }
    text.parse().map_err(|_| SiteError::Address { text: text.to_owned(), usual })
}

pub(crate) fn http_place<'de, D>(deserializer: D) -> Result<Option<SocketAddr>, D::Error>
where
    D: Deserializer<'de>,
{
    place(deserializer, http_address)
}

pub(crate) fn https_place<'de, D>(deserializer: D) -> Result<Option<SocketAddr>, D::Error>
where
    D: Deserializer<'de>,
{
    place(deserializer, https_address)
}

pub(crate) fn udp_place<'de, D>(deserializer: D) -> Result<Option<SocketAddr>, D::Error>
where
    D: Deserializer<'de>,
{
    place(deserializer, udp_address)
}

fn place<'de, D>(
    deserializer: D,
    read: fn(&str) -> Result<SocketAddr, SiteError>,
) -> Result<Option<SocketAddr>, D::Error>
where
    D: Deserializer<'de>,
{
    let text = String::deserialize(deserializer)?;
    read(&text).map(Some).map_err(D::Error::custom)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_port_may_stand_alone_or_behind_a_colon() {
        let http = |text: &str| http_address(text).unwrap().to_string();
        assert_eq!(http("8081"), "127.0.0.1:8081");
        assert_eq!(http(":8081"), "0.0.0.0:8081");
        assert_eq!(http("[::1]:8081"), "[::1]:8081");
        assert_eq!(http("0"), "127.0.0.1:0");
        assert_eq!(https_address("8443").unwrap().to_string(), "0.0.0.0:8443");
        assert_eq!(https_address(":8443").unwrap().to_string(), "0.0.0.0:8443");
        assert_eq!(udp_address("9001").unwrap().to_string(), "[::]:9001");
        assert_eq!(udp_address(":9001").unwrap().to_string(), "[::]:9001");
    }

    #[test]
    fn what_is_no_address_is_told_with_what_would_be_one() {
        for text in ["", ":", "localhost", "192.0.2.1", "65536", ":-1"] {
            let words = http_address(text).unwrap_err().to_string();
            let right = "give 127.0.0.1:8080, :8080 for all addresses, or 8080";
            assert_eq!(words, format!("\"{text}\" is no address to serve at: {right}"));
        }
    }
}
