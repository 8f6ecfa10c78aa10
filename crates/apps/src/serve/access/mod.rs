//! [`Access`]: who may watch channels that are not open to all.

mod key;
mod token;

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_television::{AccessPolicy, Admission, Permission};
use axum::http::request::Parts;
use jiff::Timestamp;
use percent_encoding::percent_decode_str;

use crate::page::guard::bearer;
pub use key::{AccessKey, KeyError};
pub use token::{All, Ticket, TicketChannels, TicketError, TokenError};

/// What became of tokens, as metrics name it.
const OUTCOMES: [&str; 4] = ["taken", "expired", "forged", "senseless"];

/// Looks at tokens, and counts what they were.
#[derive(Debug, Default)]
pub(super) struct Access {
    key: Option<AccessKey>,
    counts: [AtomicU64; OUTCOMES.len()],
}

impl Access {
    pub(super) fn new(key: Option<AccessKey>) -> Self {
        Self { key, ..Self::default() }
    }

    /// Whether there can be tokens at all.
    pub(super) const fn has_key(&self) -> bool {
        self.key.is_some()
    }

    /// What a token says.
    pub(super) fn check(&self, token: &str) -> Result<Ticket, TokenError> {
        let checked = match &self.key {
            Some(key) => Ticket::verify(token, key, Timestamp::now()),
            None => Err(TokenError::NoKey),
        };
        let outcome = match &checked {
            Ok(_) => 0,
            Err(TokenError::Expired { .. }) => 1,
            Err(TokenError::Forged | TokenError::Algorithm) => 2,
            Err(
                TokenError::NoToken
                | TokenError::Incomplete
                | TokenError::OtherAudience
                | TokenError::Early { .. }
                | TokenError::NoKey,
            ) => 3,
        };
        if let Some(count) = self.counts.get(outcome) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        checked
    }

    /// What the token of a request says; none if it has none.
    pub(super) fn check_request(&self, request: &Parts) -> Result<Option<Ticket>, TokenError> {
        token_of(request).map(|token| self.check(&token)).transpose()
    }

    /// How many tokens were what.
    pub(super) fn counts(&self) -> impl Iterator<Item = (&'static str, u64)> {
        OUTCOMES.into_iter().zip(self.counts.iter().map(|count| count.load(Ordering::Relaxed)))
    }
}

impl Ticket {
    /// How long it is still good.
    pub(super) fn left(&self) -> Duration {
        Duration::try_from(self.until.duration_since(Timestamp::now())).unwrap_or_default()
    }
}

/// The token that a request has in its header, or else in its address.
pub(super) fn token_of(request: &Parts) -> Option<String> {
    if let Some(token) = bearer(&request.headers) {
        return Some(token.to_owned());
    }
    let mut options = request.uri.query().unwrap_or_default().split('&');
    let token = options.find_map(|option| option.strip_prefix("token="))?;
    Some(percent_decode_str(token).decode_utf8_lossy().into_owned())
}

/// The gate of the television server.
#[derive(Debug)]
pub(super) struct TokenAccess(pub(super) Arc<Access>);

impl AccessPolicy for TokenAccess {
    fn admit(&mut self, now: Time, token: Option<&str>) -> Result<Admission, String> {
        let Some(token) = token else { return Ok(Admission::default()) };
        let ticket = self.0.check(token).map_err(|error| error.to_string())?;
        let until = Some(now + ticket.left());
        let channels = match ticket.channels {
            TicketChannels::Numbers(numbers) => Permission::Numbers(numbers),
            TicketChannels::All(All::All) => Permission::Everything,
        };
        Ok(Admission { name: Some(ticket.who), channels, until })
    }
}

#[cfg(test)]
mod tests {
    use axum::http::Request;
    use axum::http::header::AUTHORIZATION;
    use jiff::SignedDuration;

    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    fn token(key: &str, seconds: i64) -> String {
        let channels = TicketChannels::Numbers([1, 7].into());
        let until = Timestamp::now() + SignedDuration::from_secs(seconds);
        let ticket = Ticket { who: "alice".to_owned(), channels, until };
        ticket.sign(&AccessKey::of(key)).unwrap()
    }

    #[test]
    fn the_gate_lets_in_by_token_until_it_ends_and_counts_what_it_saw() {
        let access = Arc::new(Access::new(Some(AccessKey::of(KEY))));
        let mut gate = TokenAccess(access.clone());
        let now = Time::from_millis(5_000);
        assert_eq!(gate.admit(now, None), Ok(Admission::default()));
        let admission = gate.admit(now, Some(&token(KEY, 60))).unwrap();
        assert_eq!(admission.name.as_deref(), Some("alice"));
        assert!(admission.channels.includes(7) && !admission.channels.includes(2));
        let until = admission.until.unwrap();
        assert!(until > now + Duration::from_secs(50) && until <= now + Duration::from_secs(60));
        let refused =
            |token: &str| TokenAccess(access.clone()).admit(now, Some(token)).unwrap_err();
        assert!(refused(&token(KEY, -60)).starts_with("this token was good until "));
        let forged = refused(&token(&KEY.replace('0', "1"), 60));
        assert!(forged.starts_with("this token was not made with this server's key"), "{forged}");
        assert!(refused("secret").starts_with("this is no token"));
        let counts: Vec<_> = access.counts().collect();
        assert_eq!(counts, [("taken", 1), ("expired", 1), ("forged", 1), ("senseless", 1)]);
        let keyless = Access::default().check(&token(KEY, 60));
        assert_eq!(keyless, Err(TokenError::NoKey));
    }

    #[test]
    fn a_request_brings_its_token_in_the_header_or_the_address() {
        let token = |uri: &str, header: Option<&str>| {
            let mut request = Request::get(uri);
            if let Some(header) = header {
                request = request.header(AUTHORIZATION, header);
            }
            token_of(&request.body(()).unwrap().into_parts().0)
        };
        assert_eq!(token("/ch/1.ts", None), None);
        assert_eq!(token("/ch/1.ts?x=1&token=a.b%2Ec", None).as_deref(), Some("a.b.c"));
        assert_eq!(token("/ch/1.ts?token=a", Some("Bearer b ")).as_deref(), Some("b"));
        assert_eq!(token("/ch/1.ts?token=a", Some("Basic b")).as_deref(), Some("a"));
    }
}
