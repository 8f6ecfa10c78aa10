//! What all URLs have in common: `SCHEME://HOST:PORT?NAME=VALUE&...`.

use std::net::Ipv6Addr;

use percent_encoding::percent_decode_str;

use super::error::{Place, UrlError};

/// A URL taken apart, nothing decoded.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Parts<'a> {
    /// What stands before the options.
    pub(super) authority: &'a str,
    query: &'a str,
}

impl<'a> Parts<'a> {
    pub(super) fn of(url: &'a str, scheme: &'static str) -> Result<Self, UrlError> {
        let rest = url.strip_prefix(scheme).and_then(|rest| rest.strip_prefix("://"));
        let Some(rest) = rest else {
            return Err(UrlError::Scheme { url: url.to_owned(), scheme });
        };
        let (place, query) = rest.split_once('?').unwrap_or((rest, ""));
        let (authority, path) = place.split_once('/').unwrap_or((place, ""));
        if !path.is_empty() {
            return Err(UrlError::Path { path: format!("/{path}") });
        }
        Ok(Self { authority, query })
    }

    /// The options in order: name and decoded value.
    pub(super) fn options(&self) -> impl Iterator<Item = Result<(&'a str, String), UrlError>> {
        self.query.split('&').filter(|option| !option.is_empty()).map(|option| {
            let Some((name, value)) = option.split_once('=').filter(|(_, value)| !value.is_empty())
            else {
                let name = option.trim_end_matches('=').to_owned();
                return Err(UrlError::NoValue { name });
            };
            Ok((name, decode(value)?))
        })
    }
}

fn decode(text: &str) -> Result<String, UrlError> {
    let failed = || UrlError::Encoding { text: text.to_owned() };
    let is_sound = text.split('%').skip(1).all(|after| {
        after.get(..2).is_some_and(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()))
    });
    if !is_sound {
        return Err(failed());
    }
    let decoded = percent_decode_str(text).decode_utf8().map_err(|_| failed())?;
    Ok(decoded.into_owned())
}

/// Host and port of `HOST:PORT`, the port left out only where that is allowed. The host of an IPv6
/// address comes without its brackets.
pub(super) fn host_and_port(text: &str, place: Place) -> Result<(&str, Option<u16>), UrlError> {
    let failed = || UrlError::Host { place, text: text.to_owned() };
    let (host, port) = match text.strip_prefix('[') {
        Some(bracketed) => {
            let (host, rest) = bracketed.split_once(']').ok_or_else(failed)?;
            host.parse::<Ipv6Addr>().map_err(|_| failed())?;
            match rest.strip_prefix(':') {
                Some(port) => (host, Some(port)),
                None if rest.is_empty() => (host, None),
                None => return Err(failed()),
            }
        }
        None => match text.rsplit_once(':') {
            Some((host, _)) if host.contains(':') => return Err(failed()),
            Some((host, port)) => (host, Some(port)),
            None => (text, None),
        },
    };
    if host.contains(|c: char| c.is_whitespace() || "@[]<>\"".contains(c)) {
        return Err(failed());
    }
    Ok((host, port.map(port_number).transpose()?))
}

fn port_number(text: &str) -> Result<u16, UrlError> {
    let port = text.parse().ok().filter(|port| *port > 0);
    port.ok_or_else(|| UrlError::Port { port: text.to_owned() })
}
