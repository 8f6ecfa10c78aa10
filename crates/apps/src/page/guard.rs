//! [`Guard`]: who may talk to the server.
//!
//! Any site that a person visits can send requests to a port of this machine, and one that controls
//! its own name server can point its name there. The first shows in `Origin`, the second in `Host`;
//! and neither knows the token.

use std::net::SocketAddr;

use axum::http::header::{AUTHORIZATION, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};

/// Random bytes of a token.
const TOKEN_BYTES: usize = 16;

/// What the page may load, and who may show it in a frame.
pub(crate) const CONTENT_POLICY: &str = "default-src 'none'; script-src 'self'; style-src 'self'; \
     img-src 'self' data:; connect-src 'self'; worker-src 'self'; base-uri 'none'; \
     form-action 'none'; frame-ancestors 'none'";

/// What every answer carries. The page needs nothing from elsewhere, its workers included.
pub(crate) const HEADERS: [(HeaderName, HeaderValue); 4] = [
    (HeaderName::from_static("content-security-policy"), HeaderValue::from_static(CONTENT_POLICY)),
    (HeaderName::from_static("x-content-type-options"), HeaderValue::from_static("nosniff")),
    (HeaderName::from_static("referrer-policy"), HeaderValue::from_static("no-referrer")),
    (HeaderName::from_static("cache-control"), HeaderValue::from_static("no-store")),
];

/// Lets only requests pass that come from the page that the server itself gave.
#[derive(Debug)]
pub(crate) struct Guard {
    host: String,
    origin: String,
    token: String,
}

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    #[error("This server answers only under the address that the program printed.")]
    ForeignHost,
    #[error("This request comes from another site; only the page that the program serves may ask.")]
    ForeignOrigin,
    #[error("A socket is opened by the page only, and a browser says so in the header Origin.")]
    NoOrigin,
    #[error("There is nothing here. Open the address that the program printed, token included.")]
    WrongToken,
}

impl Refusal {
    pub(crate) const fn status(self) -> StatusCode {
        match self {
            Self::ForeignHost | Self::ForeignOrigin | Self::NoOrigin => StatusCode::FORBIDDEN,
            Self::WrongToken => StatusCode::NOT_FOUND,
        }
    }
}

impl Guard {
    /// For a server that listens at `listen`, with a token that nobody can guess.
    pub(crate) fn new(listen: SocketAddr) -> Result<Self, getrandom::Error> {
        let mut random = [0; TOKEN_BYTES];
        getrandom::fill(&mut random)?;
        let token = random.iter().map(|byte| format!("{byte:02x}")).collect();
        Ok(Self { host: listen.to_string(), origin: format!("http://{listen}"), token })
    }

    /// Where the page is.
    pub(crate) fn url(&self) -> String {
        format!("{}/{}/", self.origin, self.token)
    }

    /// The path below the token, if the request may be answered: none if even the slash is missing.
    pub(crate) fn admit<'a>(
        &self,
        headers: &HeaderMap,
        path: &'a str,
    ) -> Result<Option<&'a str>, Refusal> {
        if only(headers, HOST) != Some(self.host.as_bytes()) {
            return Err(Refusal::ForeignHost);
        }
        if headers.contains_key(ORIGIN) && !self.is_ours(headers) {
            return Err(Refusal::ForeignOrigin);
        }
        let path = path.strip_prefix('/').ok_or(Refusal::WrongToken)?;
        let (token, rest) = match path.split_once('/') {
            Some((token, rest)) => (token, Some(rest)),
            None => (path, None),
        };
        if !equal_in_constant_time(token, &self.token) {
            return Err(Refusal::WrongToken);
        }
        Ok(rest)
    }

    /// Whether a socket may be opened: a script of another site cannot but name its origin.
    pub(crate) fn admit_socket(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        if self.is_ours(headers) { Ok(()) } else { Err(Refusal::NoOrigin) }
    }

    fn is_ours(&self, headers: &HeaderMap) -> bool {
        only(headers, ORIGIN) == Some(self.origin.as_bytes())
    }
}

/// The value of a header that is there exactly once.
pub(crate) fn only(headers: &HeaderMap, name: HeaderName) -> Option<&[u8]> {
    let mut values = headers.get_all(name).iter();
    let value = values.next()?;
    values.next().is_none().then(|| value.as_bytes())
}

/// The token that a request brings in its header `Authorization: Bearer TOKEN`.
pub(crate) fn bearer(headers: &HeaderMap) -> Option<&str> {
    let given = std::str::from_utf8(only(headers, AUTHORIZATION)?).ok()?;
    given.strip_prefix("Bearer ").map(str::trim)
}

/// The time taken says nothing about how much of a guess was right.
pub(crate) fn equal_in_constant_time(guess: &str, token: &str) -> bool {
    let pairs = guess.bytes().zip(token.bytes());
    guess.len() == token.len() && pairs.fold(0, |difference, (a, b)| difference | (a ^ b)) == 0
}

#[cfg(test)]
mod tests {
    use super::*;

    fn guard() -> Guard {
        Guard::new(([127, 0, 0, 1], 4321).into()).unwrap()
    }

    fn headers(pairs: &[(HeaderName, &str)]) -> HeaderMap {
        let pairs = pairs.iter().map(|(name, value)| (name.clone(), value.parse().unwrap()));
        pairs.collect()
    }

    #[test]
    fn tokens_have_128_bits_and_never_repeat() {
        let (one, other) = (guard(), guard());
        assert_eq!(one.token.len(), 32);
        assert_ne!(one.token, other.token);
        assert_eq!(one.url(), format!("http://127.0.0.1:4321/{}/", one.token));
    }

    #[test]
    fn only_the_own_host_origin_and_token_pass() {
        let guard = guard();
        let path = format!("/{}/socket", guard.token);
        let ours = headers(&[(HOST, "127.0.0.1:4321"), (ORIGIN, "http://127.0.0.1:4321")]);
        assert_eq!(guard.admit(&ours, &path), Ok(Some("socket")));
        assert_eq!(guard.admit(&ours, path.trim_end_matches("/socket")), Ok(None));
        assert_eq!(guard.admit_socket(&ours), Ok(()));

        let rebound = headers(&[(HOST, "evil.example:4321")]);
        assert_eq!(guard.admit(&rebound, &path), Err(Refusal::ForeignHost));
        assert_eq!(guard.admit(&HeaderMap::new(), &path), Err(Refusal::ForeignHost));
        for origin in ["http://evil.example", "null", "https://127.0.0.1:4321", "http://127.0.0.1"]
        {
            let foreign = headers(&[(HOST, "127.0.0.1:4321"), (ORIGIN, origin)]);
            assert_eq!(guard.admit(&foreign, &path), Err(Refusal::ForeignOrigin), "{origin}");
        }
        for path in ["/", "", "/socket", "/00112233445566778899aabbccddeeff/", "//socket"] {
            assert_eq!(guard.admit(&ours, path), Err(Refusal::WrongToken), "{path}");
        }
    }

    #[test]
    fn a_socket_without_origin_or_with_two_is_refused() {
        let guard = guard();
        let none = headers(&[(HOST, "127.0.0.1:4321")]);
        assert_eq!(guard.admit_socket(&none), Err(Refusal::NoOrigin));
        let mut two = headers(&[(ORIGIN, "http://127.0.0.1:4321")]);
        two.append(ORIGIN, HeaderValue::from_static("http://127.0.0.1:4321"));
        assert_eq!(guard.admit_socket(&two), Err(Refusal::NoOrigin));
    }
}
