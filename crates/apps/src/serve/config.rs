//! [`ChannelsFile`]: `channels.toml`, which says what there is to watch and how it is served.
//! `docs/serve.md` describes every key.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::{Path, PathBuf};

use anabranch_keys::PublicKey;
use anabranch_television::protocol::Programme;
use serde::de::Error as _;
use serde::{Deserialize, Deserializer};
use toml::Spanned;

use super::error::ServeError;
use super::source::{DemoChannel, Source};
use crate::input::Input;
use crate::site::{
    ConfigError, Network, TextFile, http_place, https_place, line_of, read_toml, udp_place,
};
use crate::url::{ChannelUrl, Credentials, EncryptionSwitch, SessionUrl};

/// Channels of one server.
pub(super) const CHANNELS_MAX: usize = 1_000;

/// The largest number of a channel: five keys to press.
pub(super) const NUMBER_MAX: u32 = 99_999;

/// Characters of a name, a group or a title.
const TEXT_CHARS_MAX: usize = 100;

/// The key for tokens where none is named, beside the file.
const ACCESS_KEY: &str = "access.key";

/// What `channels.toml` says.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct ChannelsFile {
    /// Where it lies: files that are made lie beside it.
    pub folder: Option<PathBuf>,
    /// How it is served.
    pub server: ServerSection,
    /// What there is to watch.
    pub channels: Vec<ChannelConfig>,
}

/// The section `[server]`. Arguments of the command go before it.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct ServerSection {
    /// Where the page is served.
    #[serde(default, deserialize_with = "http_place")]
    pub http: Option<SocketAddr>,
    /// Where viewers are served.
    #[serde(default, deserialize_with = "udp_place")]
    pub udp: Option<SocketAddr>,
    /// Where viewers find the server, if it cannot know by itself.
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
    /// Whether native viewers' sessions are encrypted; they are unless it says "off".
    pub encryption: Option<EncryptionSwitch>,
    /// The keys of native viewers that may watch, if not all may.
    #[serde(default, deserialize_with = "public_keys")]
    pub allow: Vec<PublicKey>,
    /// The file with the CAs whose certificates entitle native viewers to watch, beside those keys.
    pub ca: Option<PathBuf>,
    /// The certificate that native viewers are shown, and those that lead to the CA's, in PEM.
    pub certificate: Option<PathBuf>,
    /// Its key.
    pub certificate_key: Option<PathBuf>,
    /// Viewers at once.
    pub viewers_max: Option<usize>,
    /// Viewers at once from one address, players among them.
    pub viewers_per_address_max: Option<usize>,
    /// Players at once.
    pub players_max: Option<usize>,
    /// Proxies whose word is taken about who asks.
    #[serde(default)]
    pub trusted_proxies: Vec<Network>,
    /// The file with the key for tokens, which is made if it is not there. Always given where a
    /// channel is watched by token.
    pub access_key: Option<PathBuf>,
}

impl ServerSection {
    /// By what native viewers and this server know each other; nothing in the open.
    ///
    /// # Errors
    /// Something that is given would be without effect.
    pub(super) fn credentials(
        &self,
        switch: EncryptionSwitch,
    ) -> Result<Option<Credentials>, ServeError> {
        let pair = Credentials::pair(self.certificate.clone(), self.certificate_key.clone());
        let certificate = pair.ok_or(ServeError::HalfCertificate)?;
        let (allowed, authority) = (self.allow.clone(), self.ca.clone());
        let credentials = Credentials { allowed, authority, certificate };
        match switch {
            EncryptionSwitch::On => Ok(Some(credentials)),
            EncryptionSwitch::Off if credentials == Credentials::default() => Ok(None),
            EncryptionSwitch::Off => Err(ServeError::CredentialsInTheOpen),
        }
    }
}

fn public_keys<'de, D>(deserializer: D) -> Result<Vec<PublicKey>, D::Error>
where
    D: Deserializer<'de>,
{
    let texts = Vec::<String>::deserialize(deserializer)?;
    texts.iter().map(|text| text.parse().map_err(D::Error::custom)).collect()
}

/// Who may watch a channel.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum ChannelAccess {
    /// All.
    #[default]
    Open,
    /// Who has a token for it.
    Token,
}

/// A channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ChannelConfig {
    /// The key to press.
    pub number: u32,
    /// Its name.
    pub name: String,
    /// Channels of one group are shown together.
    pub group: Option<String>,
    /// Where its media comes from.
    pub source: Source,
    /// The one program of a transport stream with several.
    pub program: Option<u16>,
    /// Now and next.
    pub programme: Programme,
    /// Who may watch it.
    pub access: ChannelAccess,
}

#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct RawFile {
    #[serde(default)]
    server: ServerSection,
    #[serde(default, rename = "channel")]
    channels: Vec<Spanned<ChannelText>>,
}

/// A channel as it is written, in the file or to the operator's interface.
#[derive(Debug, Clone, PartialEq, Eq, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ChannelText {
    pub(super) number: Option<u32>,
    pub(super) name: String,
    pub(super) group: Option<String>,
    pub(super) source: Option<String>,
    pub(super) command: Option<String>,
    pub(super) program: Option<u16>,
    pub(super) now: Option<String>,
    pub(super) next: Option<String>,
    #[serde(default)]
    pub(super) access: ChannelAccess,
}

/// A key and what is wrong with it.
pub(super) type Wrong = (&'static str, String);

impl ChannelConfig {
    /// Only one can.
    pub(super) fn reads_stdin(&self) -> bool {
        self.source == Source::Input(Input::Stdin)
    }
}

impl ChannelsFile {
    /// Reads a file; the paths in it are relative to its folder.
    ///
    /// # Errors
    /// Says where it makes no sense, and what would.
    pub fn read(path: &Path) -> Result<Self, ConfigError> {
        let TextFile { name, text, folder } = TextFile::read(path)?;
        Self::parse(&text, &name, &folder)
    }

    /// The channels that there are without a file.
    #[must_use]
    pub fn demo() -> Self {
        let channel = |demo, number, name: &str, now: &str| ChannelConfig {
            number,
            name: name.to_owned(),
            group: Some("Demo".to_owned()),
            source: Source::Demo(demo),
            program: None,
            programme: Programme { now: Some(now.to_owned()), next: None },
            access: ChannelAccess::Open,
        };
        let channels = vec![
            channel(
                DemoChannel::Clip,
                1,
                "Big Buck Bunny",
                "Big Buck Bunny, © 2008 Blender Foundation, www.bigbuckbunny.org, CC BY 3.0",
            ),
            channel(DemoChannel::Clock, 2, "Clock", "A test picture with a clock"),
            channel(DemoChannel::Bars, 3, "Bars", "Colour bars"),
        ];
        Self { channels, ..Self::default() }
    }

    /// Reads the text of a file of this name; the paths in it are relative to this folder.
    ///
    /// # Errors
    /// Says where it makes no sense, and what would.
    pub fn parse(text: &str, file: &str, folder: &Path) -> Result<Self, ConfigError> {
        let raw: RawFile = read_toml(text, file)?;
        let mut taken = BTreeMap::new();
        let mut channels = Vec::new();
        for entry in raw.channels {
            let line = line_of(text, entry.span().start);
            let wrong =
                |(key, what): Wrong| ConfigError::Entry { file: file.to_owned(), line, key, what };
            let channel = entry.into_inner().check(folder, &taken).map_err(wrong)?;
            if channels.len() == CHANNELS_MAX {
                let what = format!("there are more than {CHANNELS_MAX} channels");
                return Err(wrong(("name", what)));
            }
            if channel.reads_stdin() && channels.iter().any(ChannelConfig::reads_stdin) {
                let what = "another channel reads the standard input already".to_owned();
                return Err(wrong(("source", what)));
            }
            taken.insert(channel.number, channel.name.clone());
            channels.push(channel);
        }
        let needs_key = channels.iter().any(|it| it.access == ChannelAccess::Token);
        let key = raw.server.access_key.clone().or(needs_key.then(|| ACCESS_KEY.into()));
        let here = |file: PathBuf| folder.join(file);
        let server = ServerSection {
            access_key: key.map(here),
            tls_certificate: raw.server.tls_certificate.map(here),
            tls_key: raw.server.tls_key.map(here),
            ca: raw.server.ca.map(here),
            certificate: raw.server.certificate.map(here),
            certificate_key: raw.server.certificate_key.map(here),
            ..raw.server
        };
        Ok(Self { folder: Some(folder.to_owned()), server, channels })
    }
}

impl ChannelText {
    /// Whether it names a program to run.
    pub(super) const fn has_command(&self) -> bool {
        self.command.is_some()
    }

    /// Makes sense of it, beside the channels whose numbers are taken.
    ///
    /// # Errors
    /// The key that makes no sense, and what would be right.
    pub(super) fn check(
        self,
        folder: &Path,
        taken: &BTreeMap<u32, String>,
    ) -> Result<ChannelConfig, Wrong> {
        let number = self.number.unwrap_or_else(|| {
            taken.last_key_value().map_or(1, |(number, _)| number.saturating_add(1))
        });
        if number == 0 || number > NUMBER_MAX {
            return Err(("number", format!("{number} is none: give 1 to {NUMBER_MAX}")));
        }
        if let Some(other) = taken.get(&number) {
            let what = format!("{number} is the number of \"{other}\" already: give another one");
            return Err(("number", what));
        }
        if self.name.trim().is_empty() {
            return Err(("name", "it is empty: give the channel a name".to_owned()));
        }
        let texts = [
            ("name", Some(&self.name)),
            ("group", self.group.as_ref()),
            ("now", self.now.as_ref()),
            ("next", self.next.as_ref()),
        ];
        for (key, text) in texts {
            if text.is_some_and(|text| text.chars().count() > TEXT_CHARS_MAX) {
                let what = format!("it is too long: give at most {TEXT_CHARS_MAX} characters");
                return Err((key, what));
            }
        }
        for (key, text) in texts {
            if text.is_some_and(|text| text.contains(char::is_control)) {
                let what = "there is a line break or another sign in it that cannot be shown: \
                            leave it out";
                return Err((key, what.to_owned()));
            }
        }
        let source = source(self.source, self.command, folder)?;
        if self.program.is_some() && matches!(source, Source::Demo(_) | Source::Channel(_)) {
            return Err(("program", "such a channel has one only: leave it out".to_owned()));
        }
        Ok(ChannelConfig {
            number,
            name: self.name,
            group: self.group,
            source,
            program: self.program,
            programme: Programme { now: self.now, next: self.next },
            access: self.access,
        })
    }
}

fn source(source: Option<String>, command: Option<String>, folder: &Path) -> Result<Source, Wrong> {
    let text = match (source, command) {
        (Some(source), None) => source,
        (None, Some(command)) if !command.trim().is_empty() => return Ok(Source::Command(command)),
        (None, Some(_)) => {
            return Err(("command", "it is empty: give a program that writes MPEG-TS".to_owned()));
        }
        (Some(_), Some(_)) => {
            let what = "there is a source, too: give one of both; a program can read it itself";
            return Err(("command", what.to_owned()));
        }
        (None, None) => {
            let what = "there is none: give a file, a folder, udp://, rtp://, anabranch://, - or \
                        demo:clip, or a command";
            return Err(("source", what.to_owned()));
        }
    };
    if let Some(name) = text.strip_prefix("demo:") {
        let names = DemoChannel::ALL.map(DemoChannel::name).join(", ");
        let unknown = || ("source", format!("there is no demo \"{name}\": give one of {names}"));
        return DemoChannel::by_name(name).map(Source::Demo).ok_or_else(unknown);
    }
    if text.starts_with("anabranch://") {
        return session(&text, folder);
    }
    if text.contains("://") && !text.starts_with("udp://") && !text.starts_with("rtp://") {
        let what = format!(
            "\"{text}\" is not read: give udp://, rtp://, anabranch:// or a file; for others a command, as in \
             command = \"ffmpeg -i '{text}' -c copy -f mpegts -\""
        );
        return Err(("source", what));
    }
    let input: Input = text.parse().map_err(|error| ("source", format!("{error}")))?;
    Ok(match input {
        Input::File(path) => {
            let path = folder.join(path);
            if path.is_dir() { Source::Folder(path) } else { Source::Input(Input::File(path)) }
        }
        Input::Stdin | Input::Udp(_) | Input::Rtp(_) => Source::Input(input),
    })
}

/// A channel of another server, or what `anabranch send` brings.
fn session(text: &str, folder: &Path) -> Result<Source, Wrong> {
    let wrong = |error: &dyn std::fmt::Display| ("source", error.to_string());
    if ChannelUrl::is_meant_by(text) {
        let mut url: ChannelUrl = text.parse().map_err(|error| wrong(&error))?;
        url.server = url.server.relative_to(folder);
        return Ok(Source::Channel(Box::new(url)));
    }
    let url: SessionUrl = text.parse().map_err(|error| wrong(&error))?;
    if url.program.is_some() {
        return Err(("source", "program= is a key of its own: write program = 2".to_owned()));
    }
    Ok(Source::Session(Box::new(url.relative_to(folder))))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::url::Security;

    fn parse(text: &str) -> Result<ChannelsFile, String> {
        let parsed = ChannelsFile::parse(text, "channels.toml", Path::new("/tv"));
        parsed.map_err(|error| error.to_string())
    }

    #[test]
    fn a_file_says_what_there_is_to_watch() {
        let text = "[server]\nhttp = '0.0.0.0:80'\nnames = ['tv.example']\n\
                    [[channel]]\nnumber = 7\nname = 'News'\ngroup = 'A'\nsource = 'news.ts'\n\
                    program = 2\nnow = 'Today'\n\
                    [[channel]]\nname = 'Camera'\ncommand = 'ffmpeg -i x -f mpegts -'\n\
                    [[channel]]\nname = 'Bars'\nsource = 'demo:bars'\n\
                    [[channel]]\nname = 'Group'\nsource = 'udp://239.1.2.3:5000'\n";
        let file = parse(text).unwrap();
        assert_eq!(file.server.http, Some(([0, 0, 0, 0], 80).into()));
        let numbers: Vec<_> = file.channels.iter().map(|channel| channel.number).collect();
        assert_eq!(numbers, [7, 8, 9, 10], "the next one where none is given");
        let news = &file.channels[0];
        assert_eq!(news.source, Source::Input(Input::File("/tv/news.ts".into())));
        assert_eq!((news.program, news.programme.now.as_deref()), (Some(2), Some("Today")));
        assert!(matches!(file.channels[1].source, Source::Command(_)));
        assert_eq!(file.channels[2].source, Source::Demo(DemoChannel::Bars));
        assert!(matches!(file.channels[3].source, Source::Input(Input::Udp(_))));
    }

    #[test]
    fn a_channel_by_token_needs_a_key_beside_the_file_or_where_it_says() {
        let key = |text: &str| parse(text).unwrap().server.access_key;
        let open = "[[channel]]\nname = 'A'\nsource = 'a.ts'\n";
        assert_eq!(key(open), None);
        assert_eq!(key(&format!("{open}access = 'open'")), None);
        let by_token = format!("{open}access = 'token'");
        assert_eq!(key(&by_token), Some("/tv/access.key".into()));
        assert_eq!(parse(&by_token).unwrap().channels[0].access, ChannelAccess::Token);
        let named = format!("[server]\naccess_key = 'keys/tv'\n{by_token}");
        assert_eq!(key(&named), Some("/tv/keys/tv".into()));
        let error = parse(&format!("{open}access = 'secret'")).unwrap_err();
        assert!(error.contains("line 4: unknown variant `secret`, expected `open` or"), "{error}");
    }

    #[test]
    fn what_makes_no_sense_is_named_with_its_line_and_what_would() {
        let channel = |rest: &str| parse(&format!("# mine\n\n[[channel]]\nname = 'A'\n{rest}\n"));
        let two = "source = 'a.ts'\nnumber = 3\n[[channel]]\nname = 'B'\nnumber = 3\nsource = '-'";
        let stdin = "source = '-'\n[[channel]]\nname = 'B'\nsource = '-'";
        for (rest, expected) in [
            ("", "channels.toml, line 3, source: there is none: give a file"),
            ("group = \"A\\nB\"\nsource = 'a.ts'", "line 3, group: there is a line break or"),
            ("now = \"\\u001b[2J\"\nsource = 'a.ts'", "line 3, now: there is a line break or"),
            ("sorce = 'a.ts'", "channels.toml, line 5: unknown field `sorce`, expected one of"),
            ("source = 'a.ts'\nnumber = 0", "line 3, number: 0 is none: give 1 to 99999"),
            (two, "line 7, number: 3 is the number of \"A\" already"),
            (stdin, "line 6, source: another channel reads the standard input already"),
            ("source = 'srt://h:1'", "line 3, source: \"srt://h:1\" is not read: give udp://"),
            ("source = 'udp://h'", "has no port"),
            ("source = 'anabranch://:9?channel=3'", "a channel is one of another server"),
            ("source = 'anabranch://h:9?channel=3&bond=dup'", "there are channel, token, latency"),
            ("source = 'anabranch://h:9?channel=3'\nprogram = 1", "program: such a channel has"),
            ("source = 'anabranch://:9?program=2'", "program= is a key of its own"),
            ("source = 'demo:cat'", "no demo \"cat\": give one of clip, clock, bars"),
            ("source = 'a.ts'\ncommand = 'x'", "line 3, command: there is a source, too"),
            ("source = 'a.ts'\nprogram = 'x'", "channels.toml, line 6: invalid type: string"),
            ("source = 'demo:bars'\nprogram = 1", "program: such a channel has one only"),
        ] {
            let error = channel(rest).unwrap_err();
            assert!(error.contains(expected), "{rest}: {error}");
        }
        let error = parse("[server]\nhtp = '1'").unwrap_err();
        assert!(error.contains("channels.toml, line 2: unknown field `htp`"), "{error}");
    }

    #[test]
    fn certificates_are_files_beside_the_channels() {
        let section = |text: &str| parse(&format!("[server]\n{text}")).unwrap().server;
        let credentials = |text: &str| section(text).credentials(EncryptionSwitch::On);
        let text = "ca = 'ca.pem'\ncertificate = 'tv.pem'\ncertificate_key = '/keys/tv.key'";
        let given = credentials(text).unwrap().unwrap();
        assert_eq!(given.authority, Some("/tv/ca.pem".into()));
        let files = given.certificate.unwrap();
        assert_eq!((files.certificate, files.key), ("/tv/tv.pem".into(), "/keys/tv.key".into()));
        let words = credentials("certificate = 'tv.pem'").unwrap_err().to_string();
        assert!(words.contains("certificate and certificate_key go together"), "{words}");
        let off = |text: &str| section(text).credentials(EncryptionSwitch::Off);
        assert_eq!(off("").unwrap(), None);
        let words = off("ca = 'ca.pem'").unwrap_err().to_string();
        assert!(words.contains("have no effect with encryption off"), "{words}");
        let source = "[[channel]]\nname = 'A'\nsource = 'anabranch://h:9?channel=3&ca=ca.pem'";
        let channel = parse(source).unwrap().channels.remove(0);
        let Source::Channel(url) = channel.source else { panic!("{:?}", channel.source) };
        let Security::Encrypted(credentials) = url.server.security else { panic!("encrypted") };
        assert_eq!(credentials.authority, Some("/tv/ca.pem".into()));
    }

    #[test]
    fn without_a_file_there_are_three_channels() {
        let demo = ChannelsFile::demo();
        let numbers: Vec<_> = demo.channels.iter().map(|channel| channel.number).collect();
        assert_eq!(numbers, [1, 2, 3]);
    }
}
