//! [`Ticket`]: what a token says. A token is a JSON Web Token (RFC 7519) with HMAC and SHA-256, so
//! that a site of the operator's can make them, too.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jsonwebtoken::errors::ErrorKind;
use jsonwebtoken::{Algorithm, DecodingKey, EncodingKey, Header, Validation};
use serde::{Deserialize, Serialize};
use serde_json::Value;
use thiserror::Error;

use super::key::AccessKey;

/// A token for hundreds of channels is shorter.
const TOKEN_BYTES_MAX: usize = 4 << 10;

/// Characters of a viewer's name.
const NAME_CHARS_MAX: usize = 100;

/// Who makes tokens and who takes them have the same key.
const ALGORITHM: Algorithm = Algorithm::HS256;

/// Who may watch which channels until when.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Ticket {
    /// Who, as the operator knows them.
    pub who: String,
    /// Which channels.
    pub channels: TicketChannels,
    /// Until when.
    pub until: Timestamp,
}

/// Channels of a token.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(untagged)]
pub enum TicketChannels {
    /// Those of these numbers.
    Numbers(BTreeSet<u32>),
    /// All.
    All(All),
}

/// The word for all channels.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum All {
    /// `"all"`.
    All,
}

/// Why a token does not let anybody in.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TokenError {
    /// It is none.
    #[error("this is no token: one looks like xxx.yyy.zzz, and `anabranch token` makes them")]
    NoToken,
    /// It is signed in another way, or needs to be understood in a way that this is not.
    #[error("this token is signed in another way than this server's: with HS256")]
    Algorithm,
    /// The signature does not fit.
    #[error("this token was not made with this server's key, or was changed since")]
    Forged,
    /// It does not say what it must.
    #[error("this token does not say who (sub), which channels (channels) and until when (exp)")]
    Incomplete,
    /// It is for another server.
    #[error("this token is meant for another server (aud)")]
    OtherAudience,
    /// Its time has not come.
    #[error("this token is good from {from} on")]
    Early {
        /// When its time begins.
        from: Timestamp,
    },
    /// Its time is over.
    #[error("this token was good until {until}: ask for another one")]
    Expired {
        /// When it ended.
        until: Timestamp,
    },
    /// This server has no key.
    #[error("this server takes no tokens: come without one")]
    NoKey,
}

/// RFC 7519 section 4.1, and the channels.
#[derive(Serialize, Deserialize)]
struct Claims {
    sub: String,
    channels: TicketChannels,
    exp: Date,
    #[serde(skip_serializing_if = "Option::is_none")]
    nbf: Option<Date>,
    #[serde(skip_serializing_if = "Option::is_none")]
    aud: Option<Value>,
}

/// Seconds since 1970. RFC 7519 section 2: "non-integer values can be represented".
#[derive(Clone, Copy, Serialize, Deserialize)]
#[serde(untagged)]
enum Date {
    Whole(i64),
    Broken(f64),
}

impl Ticket {
    /// Whether it is for the channel of this number.
    #[must_use]
    pub fn includes(&self, number: u32) -> bool {
        match &self.channels {
            TicketChannels::Numbers(numbers) => numbers.contains(&number),
            TicketChannels::All(All::All) => true,
        }
    }

    /// The token that says this.
    ///
    /// # Errors
    /// What makes no sense, and what would.
    ///
    /// # Panics
    /// Never: there is no key that HMAC does not take.
    pub fn sign(&self, key: &AccessKey) -> Result<String, TicketError> {
        if !is_name(&self.who) {
            return Err(TicketError::Name);
        }
        let claims = Claims {
            sub: self.who.clone(),
            channels: self.channels.clone(),
            exp: Date::Whole(self.until.as_second()),
            nbf: None,
            aud: None,
        };
        let (header, key) = (Header::new(ALGORITHM), EncodingKey::from_secret(key.bytes()));
        let token = jsonwebtoken::encode(&header, &claims, &key);
        let token = token.expect("plain values become JSON, and HMAC takes keys of any length");
        if token.len() > TOKEN_BYTES_MAX {
            return Err(TicketError::TooLong);
        }
        Ok(token)
    }

    /// Reads a token that must be signed with this key and be good now.
    ///
    /// # Errors
    /// Why it does not let anybody in.
    pub fn verify(token: &str, key: &AccessKey, now: Timestamp) -> Result<Self, TokenError> {
        let claims = verified(token, key.bytes())?;
        // RFC 7519 section 4.1.3: "If the principal processing the claim does not identify itself
        // with a value in the "aud" claim when this claim is present, then the JWT MUST be
        // rejected."
        if claims.aud.is_some() {
            return Err(TokenError::OtherAudience);
        }
        let until = claims.exp.timestamp().ok_or(TokenError::Incomplete)?;
        if !is_name(&claims.sub) {
            return Err(TokenError::Incomplete);
        }
        // RFC 7519 section 4.1.4: "The processing of the "exp" claim requires that the current
        // date/time MUST be before the expiration date/time listed in the "exp" claim."
        if now >= until {
            return Err(TokenError::Expired { until });
        }
        if let Some(from) = claims.nbf.and_then(Date::timestamp)
            && now < from
        {
            return Err(TokenError::Early { from });
        }
        Ok(Self { who: claims.sub, channels: claims.channels, until })
    }
}

/// What a token cannot say.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum TicketError {
    /// No name.
    #[error("a name has 1 to {NAME_CHARS_MAX} characters, and none that moves the cursor")]
    Name,
    /// Too many channels.
    #[error("there are too many channels for one token: give fewer, or all")]
    TooLong,
}

impl Date {
    fn timestamp(self) -> Option<Timestamp> {
        let seconds = match self {
            Self::Whole(seconds) => seconds,
            // What is out of range becomes the nearest that is not, and is then no time.
            Self::Broken(seconds) => seconds.floor() as i64,
        };
        Timestamp::from_second(seconds).ok()
    }
}

fn is_name(text: &str) -> bool {
    (1..=NAME_CHARS_MAX).contains(&text.chars().count()) && !text.contains(char::is_control)
}

/// What a token says, once its signature is found to be this key's.
fn verified(token: &str, key: &[u8]) -> Result<Claims, TokenError> {
    if token.len() > TOKEN_BYTES_MAX {
        return Err(TokenError::NoToken);
    }
    let header = jsonwebtoken::decode_header(token).map_err(|error| {
        // A header in JSON that says something else than the library knows.
        let is_other = matches!(error.kind(), ErrorKind::Json(json) if json.is_data());
        if is_other { TokenError::Algorithm } else { TokenError::NoToken }
    })?;
    // RFC 7515 section 4.1.11: "If any of the listed extension Header Parameters are not understood
    // and supported by the recipient, then the JWS is invalid."
    if header.alg != ALGORITHM || header.crit.is_some() {
        return Err(TokenError::Algorithm);
    }
    let mut signature_alone = Validation::new(ALGORITHM);
    signature_alone.required_spec_claims.clear();
    signature_alone.validate_exp = false;
    signature_alone.validate_aud = false;
    let key = DecodingKey::from_secret(key);
    let token = jsonwebtoken::decode(token, &key, &signature_alone);
    token.map(|token| token.claims).map_err(|error| {
        if matches!(error.kind(), ErrorKind::InvalidSignature) {
            return TokenError::Forged;
        }
        let is_of_claims = matches!(error.kind(), ErrorKind::Json(_));
        if is_of_claims { TokenError::Incomplete } else { TokenError::NoToken }
    })
}

#[cfg(test)]
mod tests {
    use base64::Engine as _;
    use base64::engine::general_purpose::URL_SAFE_NO_PAD;

    use super::*;

    const KEY: &str = "0123456789abcdef0123456789abcdef";

    /// What RFC 7515 appendix A.1 signs, and its key.
    const EXAMPLE: &str = concat!(
        "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.",
        "eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxl",
        "LmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk",
    );
    const EXAMPLE_KEY: &str =
        "AyM1SysPpbyDfgZld3umj1qzKObwVMkoqQ-EstJQLr_T-1qS0gZH75aKtMN3Yj0iPS4hcgUuTwjAzZr1Z9CAow";

    fn at(second: i64) -> Timestamp {
        Timestamp::from_second(second).unwrap()
    }

    fn ticket(channels: &[u32]) -> Ticket {
        let channels = TicketChannels::Numbers(channels.iter().copied().collect());
        Ticket { who: "alice".to_owned(), channels, until: at(1_000) }
    }

    /// A token with any header and claims, signed with our key.
    fn token(header: &str, claims: &str) -> String {
        let [header, claims] = [header, claims].map(|text| URL_SAFE_NO_PAD.encode(text));
        let signed = format!("{header}.{claims}");
        let key = EncodingKey::from_secret(KEY.as_bytes());
        let signature = jsonwebtoken::crypto::sign(signed.as_bytes(), &key, ALGORITHM).unwrap();
        format!("{signed}.{signature}")
    }

    fn verify(token: &str) -> Result<Ticket, TokenError> {
        Ticket::verify(token, &AccessKey::of(KEY), at(999))
    }

    #[test]
    fn what_is_signed_is_read_again_until_its_time_is_over() {
        let key = AccessKey::of(KEY);
        for ticket in
            [ticket(&[1, 7]), Ticket { channels: TicketChannels::All(All::All), ..ticket(&[]) }]
        {
            let token = ticket.sign(&key).unwrap();
            assert_eq!(Ticket::verify(&token, &key, at(999)), Ok(ticket));
            let expired = Ticket::verify(&token, &key, at(1_000)).unwrap_err();
            let words = "this token was good until 1970-01-01T00:16:40Z: ask for another one";
            assert_eq!(expired.to_string(), words);
        }
        assert!(ticket(&[1, 7]).includes(7) && !ticket(&[1, 7]).includes(2));
    }

    #[test]
    fn a_token_of_other_hands_is_verified() {
        let key = URL_SAFE_NO_PAD.decode(EXAMPLE_KEY).unwrap();
        let refused = |key: &[u8]| verified(EXAMPLE, key).err();
        assert_eq!(refused(&key), Some(TokenError::Incomplete), "it names no channels");
        assert_eq!(refused(&key[1..]), Some(TokenError::Forged));
    }

    #[test]
    fn not_one_bit_can_be_changed() {
        let token = ticket(&[1]).sign(&AccessKey::of(KEY)).unwrap();
        for place in (0..token.len()).filter(|place| token.as_bytes()[*place] != b'.') {
            let mut changed = token.clone().into_bytes();
            changed[place] = if changed[place] == b'A' { b'Q' } else { b'A' };
            let changed = String::from_utf8(changed).unwrap();
            assert!(changed == token || verify(&changed).is_err(), "{changed}");
        }
        let other = ticket(&[1]).sign(&AccessKey::of(&KEY.replace('0', "1"))).unwrap();
        assert_eq!(verify(&other), Err(TokenError::Forged));
    }

    #[test]
    fn no_other_signature_is_taken_for_ours() {
        let claims = r#"{"sub":"a","channels":"all","exp":2000}"#;
        verify(&token(r#"{"alg":"HS256"}"#, claims)).unwrap();
        for header in [
            r#"{"alg":"none"}"#,
            r#"{"alg":"hs256"}"#,
            r#"{"alg":"RS256"}"#,
            r#"{"alg":"HS256","crit":["b64"],"b64":false}"#,
        ] {
            assert_eq!(verify(&token(header, claims)), Err(TokenError::Algorithm), "{header}");
        }
        let signed = token(r#"{"alg":"HS256"}"#, claims);
        let (unsigned, _) = signed.rsplit_once('.').unwrap();
        assert_eq!(verify(&format!("{unsigned}.")), Err(TokenError::Forged));
    }

    #[test]
    fn what_is_no_token_or_says_too_little_is_refused_in_words() {
        let long = "x".repeat(TOKEN_BYTES_MAX);
        for text in ["", "secret", "a.b", "a.b.c", "..", "a.b.c.d", &format!("{long}.{long}.x")] {
            assert_eq!(verify(text), Err(TokenError::NoToken), "{text}");
        }
        let said = |claims: &str| verify(&token(r#"{"alg":"HS256"}"#, claims));
        for claims in [
            r#"{"channels":[1],"exp":2000}"#,
            r#"{"sub":"a","exp":2000}"#,
            r#"{"sub":"a","channels":[1]}"#,
            r#"{"sub":"a","channels":"some","exp":2000}"#,
            r#"{"sub":"","channels":[1],"exp":2000}"#,
            r#"{"sub":"a\u001b[2J","channels":[1],"exp":2000}"#,
            r#"{"sub":"a","channels":[1],"exp":1e300}"#,
            "[]",
        ] {
            assert_eq!(said(claims), Err(TokenError::Incomplete), "{claims}");
        }
        let early = said(r#"{"sub":"a","channels":[1],"exp":2000,"nbf":1500.5}"#);
        assert_eq!(early, Err(TokenError::Early { from: at(1_500) }));
        let other = said(r#"{"sub":"a","channels":[1],"exp":2000,"aud":"radio"}"#);
        assert_eq!(other, Err(TokenError::OtherAudience));
        assert!(said(r#"{"sub":"a","channels":[1],"exp":1999.5,"nbf":10,"aud":null}"#).is_ok());
    }

    #[test]
    fn a_ticket_that_no_token_can_hold_is_refused_in_words() {
        let key = AccessKey::of(KEY);
        let nameless = Ticket { who: String::new(), ..ticket(&[1]) };
        assert_eq!(nameless.sign(&key), Err(TicketError::Name));
        let many: Vec<u32> = (10_000..12_000).collect();
        assert_eq!(ticket(&many).sign(&key), Err(TicketError::TooLong));
    }
}
