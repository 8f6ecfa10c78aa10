//! [`OriginGuard`]: which requests are answered.
//!
//! Any site that a person visits can send requests here, and one that controls its own name server
//! can point its name here. The first shows in `Origin`, the second in `Host`: an address cannot be
//! pointed anywhere, so addresses are answered, and of names those that the operator names.

use std::net::IpAddr;

use axum::http::header::{HOST, ORIGIN};
use axum::http::{HeaderMap, Method};

use crate::page::guard::only;

/// Lets requests pass that name us by an address or a known name, and come from our own page.
#[derive(Debug)]
pub(crate) struct OriginGuard {
    names: Vec<String>,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error(
        "This server answers under its addresses, and under names that it was told: the key names \
         of [server] in channels.toml, or --name."
    )]
    ForeignHost,
    #[error("This request comes from another site; only this server's own pages may ask.")]
    ForeignOrigin,
}

impl OriginGuard {
    pub(crate) const fn new(names: Vec<String>) -> Self {
        Self { names }
    }

    pub(crate) fn admit(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = only(headers, HOST).and_then(|host| std::str::from_utf8(host).ok());
        let host = host.filter(|host| self.is_ours(host)).ok_or(Refusal::ForeignHost)?;
        if !headers.contains_key(ORIGIN) {
            return Ok(());
        }
        let origin = only(headers, ORIGIN).and_then(|origin| std::str::from_utf8(origin).ok());
        let site = origin
            .and_then(|it| it.strip_prefix("http://").or_else(|| it.strip_prefix("https://")));
        // Players in pages of others may read what a link leads to; they may change nothing.
        if site == Some(host) || method == Method::GET {
            return Ok(());
        }
        Err(Refusal::ForeignOrigin)
    }

    fn is_ours(&self, host: &str) -> bool {
        let name = match host.strip_prefix('[') {
            Some(bracketed) => bracketed.split_once(']').map_or("", |(address, _)| address),
            None => host.rsplit_once(':').map_or(host, |(name, _)| name),
        };
        let is_known = |known: &String| known.eq_ignore_ascii_case(name);
        name.parse::<IpAddr>().is_ok()
            || name.eq_ignore_ascii_case("localhost")
            || self.names.iter().any(is_known)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_and_known_names_are_answered_and_only_to_our_own_pages() {
        let guard = OriginGuard::new(vec!["tv.example".to_owned()]);
        let ask = |method: Method, host: &str, origin: Option<&str>| {
            let mut headers = HeaderMap::new();
            headers.insert(HOST, host.parse().unwrap());
            origin.map(|origin| headers.insert(ORIGIN, origin.parse().unwrap()));
            guard.admit(&method, &headers)
        };
        for host in ["127.0.0.1:8080", "[::1]:8080", "192.0.2.1", "localhost:1", "TV.example:8080"]
        {
            assert_eq!(ask(Method::GET, host, None), Ok(()), "{host}");
            assert_eq!(ask(Method::POST, host, Some(&format!("http://{host}"))), Ok(()));
            let foreign = ask(Method::POST, host, Some("http://evil.example"));
            assert_eq!(foreign, Err(Refusal::ForeignOrigin));
            assert_eq!(ask(Method::POST, host, Some("null")), Err(Refusal::ForeignOrigin));
        }
        for host in ["evil.example:8080", "evil.example", "", "[evil]:1", "127.0.0.1.evil:1"] {
            assert_eq!(ask(Method::GET, host, None), Err(Refusal::ForeignHost), "{host}");
        }
        assert_eq!(guard.admit(&Method::GET, &HeaderMap::new()), Err(Refusal::ForeignHost));
    }
}
