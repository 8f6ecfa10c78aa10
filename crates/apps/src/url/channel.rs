//! [`ChannelUrl`]: `anabranch://…?channel=…`.

use std::str::FromStr;

use super::choice::Choice;
use super::error::UrlError;
use super::query::Parts;
use super::session::{SCHEME, SessionUrl, set};

const KNOWN: &str = "channel, token, latency, path, peer, key, ca, certificate, \
                     certificate_key, encryption";

/// A channel of a television server, and the way there.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelUrl {
    /// Whom to call, and how.
    pub server: SessionUrl,
    /// Which channel.
    pub channel: Choice,
    /// What entitles to channels that are not open to all.
    pub token: Option<String>,
}

impl FromStr for ChannelUrl {
    type Err = UrlError;

    fn from_str(url: &str) -> Result<Self, UrlError> {
        let (mut channel, mut token) = (None, None);
        let server = SessionUrl::parse_with(url, |name, value| {
            match name {
                "channel" => {
                    let Ok(choice) = value.parse::<Choice>();
                    set(&mut channel, name, choice)?;
                }
                "token" => set(&mut token, name, value.to_owned())?,
                "latency" | "path" | "peer" | "key" | "ca" | "certificate" | "certificate_key"
                | "encryption" => return Ok(false),
                _ => return Err(UrlError::UnknownOption { name: name.to_owned(), known: KNOWN }),
            }
            Ok(true)
        })?;
        if server.host.is_none() {
            return Err(UrlError::ChannelOfNobody);
        }
        let channel = channel.ok_or_else(|| UrlError::NoValue { name: "channel".to_owned() })?;
        Ok(Self { server, channel, token })
    }
}

impl ChannelUrl {
    /// Whether the text means to be one: other URLs of this scheme name no channel.
    #[must_use]
    pub fn is_meant_by(text: &str) -> bool {
        let Ok(parts) = Parts::of(text, SCHEME) else { return false };
        parts.options().any(|option| match option {
            Ok((name, _)) => name == "channel",
            Err(UrlError::NoValue { name }) => name == "channel",
            Err(_) => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn a_channel_is_named_with_the_way_to_it() {
        let text = "anabranch://studio.example:9000?channel=City%20News&token=abc.def&latency=400\
                    &path=192.0.2.5,wwan0&peer=198.51.100.9";
        assert!(ChannelUrl::is_meant_by(text));
        let url: ChannelUrl = text.parse().unwrap();
        assert_eq!(url.channel, Choice::Name("City News".to_owned()));
        assert_eq!(url.token.as_deref(), Some("abc.def"));
        let server = url.server;
        assert_eq!((server.host.as_deref(), server.port), (Some("studio.example"), 9000));
        assert_eq!((server.latency, server.paths.len()), (Duration::from_millis(400), 2));
        assert_eq!(server.peers.len(), 1);
        assert!(!ChannelUrl::is_meant_by("anabranch://:9100?streamid=camera"));
    }

    #[test]
    fn what_a_viewer_cannot_say_is_refused_with_what_it_can() {
        let words = |url: &str| url.parse::<ChannelUrl>().unwrap_err().to_string();
        for (url, part) in [
            ("anabranch://:9?channel=3", "give anabranch://HOST:PORT?channel=3"),
            ("anabranch://h:9?channel=3&streamid=x", "there are channel, token, latency, path"),
            ("anabranch://h:9?channel=3&channel=4", "option channel= is given twice"),
            ("anabranch://h:9?channel=", "option channel has no value"),
            ("anabranch://h?channel=3", "has no port"),
        ] {
            let error = words(url);
            assert!(error.contains(part), "{url}: {error}");
            assert!(ChannelUrl::is_meant_by(url), "{url}");
        }
    }
}
