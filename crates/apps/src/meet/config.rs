//! [`RoomsFile`]: `rooms.toml`, which says what rooms there are and how they are served.
//! `docs/meet.md` describes every key.

use std::collections::BTreeSet;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anabranch_rooms::MEMBERS_MAX;
use serde::Deserialize;
use toml::Spanned;

use crate::site::{
    ConfigError, Network, TextFile, http_place, https_place, line_of, read_toml, udp_place,
};

/// Rooms of one server.
pub(super) const ROOMS_MAX: usize = 1_000;

/// Characters of a room's name and title.
const NAME_CHARS_MAX: usize = 40;
const TITLE_CHARS_MAX: usize = 100;

/// Nobody guesses so many letters and digits.
const TOKEN_LEN_MIN: usize = 16;

/// What `rooms.toml` says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct RoomsFile {
    /// Where it lies: files that are made lie beside it.
    pub folder: Option<PathBuf>,
    /// How they are served.
    pub server: MeetSection,
    /// The rooms.
    pub rooms: Vec<RoomConfig>,
}

/// The section `[server]`. Arguments of the command go before it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct MeetSection {
    /// Where the page is served.
    #[serde(default, deserialize_with = "http_place")]
    pub http: Option<SocketAddr>,
    /// Where media passes.
    #[serde(default, deserialize_with = "udp_place")]
    pub udp: Option<SocketAddr>,
    /// Where members find the server, if it cannot know by itself.
    pub advertise: Option<String>,
    /// Names under which browsers may ask for the page.
    #[serde(default)]
    pub names: Vec<String>,
    /// Where the page is served by HTTPS.
    #[serde(default, deserialize_with = "https_place")]
    pub https: Option<SocketAddr>,
    /// The certificate for it, and those that vouch for it, in PEM.
    pub tls_certificate: Option<PathBuf>,
    /// Its key.
    pub tls_key: Option<PathBuf>,
    /// Proxies whose word is taken about who asks.
    #[serde(default)]
    pub trusted_proxies: Vec<Network>,
}

/// A room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomConfig {
    /// As in its link.
    pub name: String,
    /// As people read it.
    pub title: String,
    /// How many may be there.
    pub members_max: usize,
    /// What opens it; one is drawn where none is given.
    pub token: Option<String>,
    /// What opens it to hosts; one is drawn where none is given.
    pub host_token: Option<String>,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    server: MeetSection,
    #[serde(default, rename = "room")]
    rooms: Vec<Spanned<RoomText>>,
}

/// A room as it is written, in the file or to the operator's interface.
#[derive(Debug, Default, Deserialize)]
#[cfg_attr(test, derive(serde::Serialize))]
#[serde(deny_unknown_fields)]
pub(super) struct RoomText {
    name: String,
    title: Option<String>,
    members_max: Option<usize>,
    token: Option<String>,
    host_token: Option<String>,
}

impl RoomsFile {
    /// Reads a file; the paths in it are relative to its folder.
    ///
    /// # Errors
    /// Says where it makes no sense, and what would.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let TextFile { name, text, folder } = TextFile::read(path)?;
        Self::parse(&text, &name, &folder)
    }

    /// The room that there is without a file.
    #[must_use]
    pub fn one_room() -> Self {
        let (name, title) = ("room".to_owned(), "Room".to_owned());
        let room =
            RoomConfig { name, title, members_max: MEMBERS_MAX, token: None, host_token: None };
        Self { rooms: vec![room], ..Self::default() }
    }

    /// Reads the text of a file of this name; the paths in it are relative to this folder.
    ///
    /// # Errors
    /// Says where it makes no sense, and what would.
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Self, ConfigError> {
        let raw: RawFile = read_toml(text, file)?;
        let mut names = BTreeSet::new();
        let mut rooms = Vec::new();
        for entry in raw.rooms {
            let line = line_of(text, entry.span().start);
            let wrong = |(key, what)| ConfigError::Entry { file: file.to_owned(), line, key, what };
            let room = entry.into_inner().check().map_err(wrong)?;
            if !names.insert(room.name.clone()) {
                let what = format!("\"{}\" is another room's already: give another one", room.name);
                return Err(wrong(("name", what)));
            }
            if rooms.len() == ROOMS_MAX {
                return Err(wrong(("name", format!("there are more than {ROOMS_MAX} rooms"))));
            }
            rooms.push(room);
        }
        if rooms.is_empty() {
            let what = "there is no room: give one as [[room]] with a name".to_owned();
            let file = file.to_owned();
            return Err(ConfigError::Entry { file, line: 1, key: "room", what });
        }
        let here = |file: PathBuf| folder.join(file);
        let server = MeetSection {
            tls_certificate: raw.server.tls_certificate.map(here),
            tls_key: raw.server.tls_key.map(here),
            ..raw.server
        };
        Ok(Self { folder: Some(folder.to_owned()), server, rooms })
    }
}

impl RoomText {
    /// Makes sense of it, or says which key makes none, and what would be right.
    pub(super) fn check(self) -> Result<RoomConfig, (&'static str, String)> {
        let Self { name, title, members_max, token, host_token } = self;
        if name.is_empty() || name.len() > NAME_CHARS_MAX || !name.chars().all(stands_in_a_link) {
            let what = format!(
                "\"{}\" stands in a link: give 1 to {NAME_CHARS_MAX} letters, digits, - and _",
                name.escape_debug()
            );
            return Err(("name", what));
        }
        let title = title.unwrap_or_else(|| name.clone());
        let is_short = (1..=TITLE_CHARS_MAX).contains(&title.trim().chars().count());
        if !is_short || title.contains(char::is_control) {
            let what = format!("give it 1 to {TITLE_CHARS_MAX} characters on one line");
            return Err(("title", what));
        }
        let members_max = members_max.unwrap_or(MEMBERS_MAX);
        if !(2..=MEMBERS_MAX).contains(&members_max) {
            let what = format!("a room is for 2 to {MEMBERS_MAX} people, not for {members_max}");
            return Err(("members_max", what));
        }
        for (key, token) in [("token", &token), ("host_token", &host_token)] {
            if token.as_ref().is_some_and(|token| !is_token(token)) {
                let what = format!(
                    "it opens the room, and stands in its link: give at least {TOKEN_LEN_MIN} \
                     letters, digits, - and _, as openssl rand -hex 16 makes them, or leave it out"
                );
                return Err((key, what));
            }
        }
        if token.is_some() && token == host_token {
            let what = "it is the token of all: give hosts another one, or leave it out".to_owned();
            return Err(("host_token", what));
        }
        Ok(RoomConfig { name, title, members_max, token, host_token })
    }
}

const fn stands_in_a_link(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '-' || c == '_'
}

fn is_token(text: &str) -> bool {
    text.len() >= TOKEN_LEN_MIN && text.chars().all(stands_in_a_link)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn parse(text: &str) -> Result<RoomsFile, String> {
        let parsed = RoomsFile::parse(text, "rooms.toml", Path::new("/meet"));
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_says_what_rooms_there_are() {
        let text = "[server]\nhttps = '8443'\ntls_key = 'a.key'\n[[room]]\nname = 'lab'\n\
                    title = 'The lab'\nmembers_max = 4\ntoken = '0123456789abcdef'\n\
                    host_token = 'fedcba9876543210'\n[[room]]\nname = 'staff-2'\n";
        let file = parse(text).unwrap();
        assert_eq!(file.server.https, Some(([0, 0, 0, 0], 8_443).into()));
        assert_eq!(file.server.tls_key, Some("/meet/a.key".into()));
        let [lab, staff] = &file.rooms[..] else { panic!("two rooms") };
        assert_eq!((lab.title.as_str(), lab.members_max), ("The lab", 4));
        assert_eq!(lab.token.as_deref(), Some("0123456789abcdef"));
        assert_eq!(lab.host_token.as_deref(), Some("fedcba9876543210"));
        let expected = ("staff-2", MEMBERS_MAX, None);
        assert_eq!((staff.title.as_str(), staff.members_max, staff.token.as_deref()), expected);
    }

    #[test]
    fn what_makes_no_sense_is_named_with_its_line_and_what_would() {
        let room = |rest: &str| parse(&format!("# mine\n\n[[room]]\nname = 'a'\n{rest}\n"));
        for (rest, expected) in [
            ("members_max = 1", "rooms.toml, line 3, members_max: a room is for 2 to 16 people"),
            ("members_max = 17", "not for 17"),
            ("title = ''", "line 3, title: give it 1 to 100 characters"),
            ("title = \"a\\nb\"", "line 3, title: give it 1 to 100 characters"),
            ("token = 'short'", "line 3, token: it opens the room"),
            ("token = '0123456789 abcdef'", "line 3, token: it opens the room"),
            ("host_token = 'short'", "line 3, host_token: it opens the room"),
            (
                "token = '0123456789abcdef'\nhost_token = '0123456789abcdef'",
                "line 3, host_token: it is the token of all",
            ),
            ("[[room]]\nname = 'a'", "line 5, name: \"a\" is another room's already"),
            ("[[room]]\nname = 'a/b'", "line 5, name: \"a/b\" stands in a link: give 1 to 40"),
            ("[[room]]\ntitle = 'x'", "line 5: missing field `name`"),
            ("color = 1", "line 5: unknown field `color`, expected one of"),
        ] {
            let error = room(rest).unwrap_err();
            assert!(error.contains(expected), "{rest}: {error}");
        }
        let error = parse("[server]\nhttp = '1'").unwrap_err();
        assert!(error.contains("rooms.toml, line 1, room: there is no room"), "{error}");
        let error = parse("[server]\nhtp = '1'").unwrap_err();
        assert!(error.contains("rooms.toml, line 2: unknown field `htp`"), "{error}");
    }
}
