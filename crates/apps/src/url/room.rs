//! [`CallUrl`]: whom `anabranch call` calls, a person or a room.

use std::str::FromStr;

use super::error::UrlError;
use super::query::Parts;
use super::session::{SCHEME, Security, SessionUrl, is_loopback, set};

const KNOWN: &str = "room, token, path, peer, key, ca, certificate, certificate_key, encryption";

/// Whom to call.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum CallUrl {
    /// Somebody, or whoever calls us.
    Peer(SessionUrl),
    /// A room.
    Room(RoomUrl),
}

/// A room, and the way there: `anabranch://HOST:PORT?key=KEY&room=NAME&token=TOKEN`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomUrl {
    /// Whom to call, and how.
    pub server: SessionUrl,
    /// The room, as in its link.
    pub room: String,
    /// What opens it.
    pub token: String,
}

impl FromStr for CallUrl {
    type Err = UrlError;

    fn from_str(url: &str) -> Result<Self, UrlError> {
        if url.starts_with("http://") || url.starts_with("https://") {
            return Err(UrlError::PageOfRoom);
        }
        if RoomUrl::is_meant_by(url) {
            return url.parse().map(Self::Room);
        }
        url.parse().map(Self::Peer)
    }
}

impl FromStr for RoomUrl {
    type Err = UrlError;

    fn from_str(url: &str) -> Result<Self, UrlError> {
        let (mut room, mut token) = (None, None);
        let server = SessionUrl::parse_with(url, |name, value| {
            match name {
                "room" => set(&mut room, name, value.to_owned())?,
                "token" => set(&mut token, name, value.to_owned())?,
                "path" | "peer" | "key" | "ca" | "certificate" | "certificate_key"
                | "encryption" => return Ok(false),
                _ => return Err(UrlError::UnknownOption { name: name.to_owned(), known: KNOWN }),
            }
            Ok(true)
        })?;
        let Some(host) = &server.host else { return Err(UrlError::RoomOfNobody) };
        if server.security == Security::Open && !is_loopback(host) {
            return Err(UrlError::OpenRoom);
        }
        let lacks = |name: &str| UrlError::NoValue { name: name.to_owned() };
        let room = room.ok_or_else(|| lacks("room"))?;
        Ok(Self { server, room, token: token.ok_or_else(|| lacks("token"))? })
    }
}

impl RoomUrl {
    /// Whether the text means to be one: other URLs of this scheme name no room.
    fn is_meant_by(text: &str) -> bool {
        let Ok(parts) = Parts::of(text, SCHEME) else { return false };
        parts.options().any(|option| match option {
            Ok((name, _)) => name == "room",
            Err(UrlError::NoValue { name }) => name == "room",
            Err(_) => false,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_room_is_named_with_the_way_to_it_and_a_person_without() {
        let text =
            "anabranch://meet.example:9000?room=staff&token=0123456789abcdef&path=eth0,wlan0";
        let Ok(CallUrl::Room(room)) = text.parse() else { panic!("no room") };
        assert_eq!((room.room.as_str(), room.token.as_str()), ("staff", "0123456789abcdef"));
        assert_eq!(
            (room.server.host.as_deref(), room.server.paths.len()),
            (Some("meet.example"), 2)
        );
        assert!(matches!("anabranch://:9000".parse(), Ok(CallUrl::Peer(_))));
    }

    #[test]
    fn what_names_no_room_is_refused_with_what_would() {
        for (url, part) in [
            ("anabranch://:9?room=a&token=b", "give anabranch://HOST:PORT?room=NAME&token=TOKEN"),
            ("anabranch://h:9?room=a", "option token has no value"),
            ("anabranch://h:9?room=&token=b", "option room has no value"),
            ("anabranch://h:9?room=a&token=b&latency=9", "there are room, token, path"),
            ("anabranch://h:9?room=a&token=b&room=c", "option room= is given twice"),
            ("anabranch://h:9?room=a&token=b&encryption=off", "a room is entered encrypted"),
            ("https://meet.example:8443/r/staff#0123", "opens in a browser"),
        ] {
            let error = url.parse::<CallUrl>().unwrap_err().to_string();
            assert!(error.contains(part), "{url}: {error}");
        }
    }
}
