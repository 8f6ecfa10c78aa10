//! [`Proxies`]: who speaks for others, and for whom.

use std::net::{IpAddr, SocketAddr};
use std::str::FromStr;

use axum::http::HeaderMap;
use serde::Deserialize;
use thiserror::Error;

/// Where a proxy says for whom it asks.
const FORWARDED_FOR: &str = "x-forwarded-for";

/// How the proxy was asked itself.
const FORWARDED_PROTO: &str = "x-forwarded-proto";

/// Addresses whose word about others is taken.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) struct Proxies(Vec<Network>);

/// An address, or all that begin like it: `192.0.2.1`, `10.0.0.0/8`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Deserialize)]
#[serde(try_from = "String")]
pub struct Network {
    address: IpAddr,
    bits: u8,
}

/// No such network.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("\"{text}\" is no address or network: give one as in 192.0.2.1 or 10.0.0.0/8")]
pub struct NoNetwork {
    text: String,
}

impl Proxies {
    pub(crate) const fn new(networks: Vec<Network>) -> Self {
        Self(networks)
    }

    /// Whether its word is taken.
    pub(crate) fn trusts(&self, address: IpAddr) -> bool {
        self.0.iter().any(|network| network.includes(address.to_canonical()))
    }

    /// Who asks: the one whom the last proxy that we trust says it heard from.
    pub(crate) fn asker(&self, peer: IpAddr, headers: &HeaderMap) -> IpAddr {
        let mut asker = peer.to_canonical();
        let said = headers.get_all(FORWARDED_FOR).iter().rev();
        // What is no text says nothing.
        let said = said.filter_map(|value| value.to_str().ok());
        for text in said.flat_map(|value| value.rsplit(',')) {
            if !self.trusts(asker) {
                break;
            }
            let Some(address) = address(text.trim()) else { break };
            asker = address.to_canonical();
        }
        asker
    }

    /// `http` or `https`, as the browser sees it.
    pub(crate) fn scheme(
        &self,
        peer: IpAddr,
        own: &'static str,
        headers: &HeaderMap,
    ) -> &'static str {
        let said = headers.get(FORWARDED_PROTO).and_then(|value| value.to_str().ok());
        match said.filter(|_| self.trusts(peer)) {
            Some("https") => "https",
            Some("http") => "http",
            Some(_) | None => own,
        }
    }
}

fn address(text: &str) -> Option<IpAddr> {
    // Some write the port, too.
    let socket = || text.parse().ok().map(|addr: SocketAddr| addr.ip());
    text.parse().ok().or_else(socket)
}

/// The first `bits` of `of`.
const fn mask(bits: u8, of: u8) -> u128 {
    let rest = of - bits;
    if rest >= 128 { 0 } else { u128::MAX << rest }
}

impl Network {
    fn includes(self, address: IpAddr) -> bool {
        match (self.address, address) {
            (IpAddr::V4(own), IpAddr::V4(other)) => {
                let differs = u128::from(own.to_bits() ^ other.to_bits());
                differs & mask(self.bits, 32) == 0
            }
            (IpAddr::V6(own), IpAddr::V6(other)) => {
                (own.to_bits() ^ other.to_bits()) & mask(self.bits, 128) == 0
            }
            (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => false,
        }
    }
}

impl FromStr for Network {
    type Err = NoNetwork;

    fn from_str(text: &str) -> Result<Self, NoNetwork> {
        let wrong = || NoNetwork { text: text.to_owned() };
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse().map_err(|_| wrong())?)),
            None => (text, None),
        };
        let address: IpAddr = address.parse().map_err(|_| wrong())?;
        let most = if address.is_ipv4() { 32 } else { 128 };
        let bits = bits.unwrap_or(most);
        if bits > most { Err(wrong()) } else { Ok(Self { address, bits }) }
    }
}

impl TryFrom<String> for Network {
    type Error = NoNetwork;

    fn try_from(text: String) -> Result<Self, NoNetwork> {
        text.parse()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn proxies(networks: &[&str]) -> Proxies {
        Proxies::new(networks.iter().map(|text| text.parse().unwrap()).collect())
    }

    fn asker(proxies: &Proxies, peer: &str, said: &[&str]) -> String {
        let said = said.iter().map(|text| (FORWARDED_FOR.parse().unwrap(), text.parse().unwrap()));
        proxies.asker(peer.parse().unwrap(), &said.collect::<HeaderMap>()).to_string()
    }

    #[test]
    fn only_proxies_that_we_trust_speak_for_others() {
        let none = Proxies::default();
        assert_eq!(asker(&none, "192.0.2.1", &["198.51.100.7"]), "192.0.2.1");
        let some = proxies(&["192.0.2.1", "10.0.0.0/8", "::1"]);
        assert_eq!(asker(&some, "192.0.2.2", &["198.51.100.7"]), "192.0.2.2");
        assert_eq!(asker(&some, "192.0.2.1", &["198.51.100.7"]), "198.51.100.7");
        assert_eq!(asker(&some, "::ffff:192.0.2.1", &["198.51.100.7:4000"]), "198.51.100.7");
        // What stands before the first stranger is only what the stranger says.
        assert_eq!(asker(&some, "::1", &["127.0.0.1, 198.51.100.7, 10.9.8.7"]), "198.51.100.7");
        assert_eq!(asker(&some, "::1", &["127.0.0.1", "198.51.100.7", "10.1.1.1"]), "198.51.100.7");
        assert_eq!(asker(&some, "::1", &["198.51.100.7, unknown"]), "::1");
        assert_eq!(asker(&some, "::1", &[]), "::1");
    }

    #[test]
    fn only_proxies_that_we_trust_say_how_they_were_asked() {
        let some = proxies(&["10.0.0.0/8"]);
        let headers =
            HeaderMap::from_iter([(FORWARDED_PROTO.parse().unwrap(), "https".parse().unwrap())]);
        let scheme = |peer: &str| some.scheme(peer.parse().unwrap(), "http", &headers);
        assert_eq!((scheme("10.1.2.3"), scheme("11.1.2.3")), ("https", "http"));
    }

    #[test]
    fn what_is_no_network_is_refused_with_what_is() {
        for text in ["", "10.0.0.0/33", "::/129", "example.org", "10.0.0.0/x", "/8"] {
            let error = text.parse::<Network>().unwrap_err().to_string();
            assert!(error.ends_with("give one as in 192.0.2.1 or 10.0.0.0/8"), "{error}");
        }
        assert!(proxies(&["0.0.0.0/0"]).trusts("203.0.113.9".parse().unwrap()));
        assert!(!proxies(&["0.0.0.0/0"]).trusts("::1".parse().unwrap()));
    }
}
