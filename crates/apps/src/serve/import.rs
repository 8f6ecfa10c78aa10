//! Channels from a playlist in M3U, as players and providers of television write it.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::config::{CHANNELS_MAX, ChannelText, ChannelsFile, NUMBER_MAX};
use crate::service::{printable, sanitized};
use crate::site::ConfigError;

/// Bytes of a playlist: tens of thousands of channels.
const PLAYLIST_BYTES_MAX: u64 = 16 << 20;

/// What ffmpeg reads by these, and passes on as it is.
const BY_FFMPEG: [&str; 6] = ["http://", "https://", "rtsp://", "rtmp://", "srt://", "rtsps://"];

/// What a line `#EXTINF` says of the next entry.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
struct Entry {
    name: Option<String>,
    group: Option<String>,
    number: Option<u32>,
}

impl ChannelsFile {
    /// Adds the channels of a playlist. Says line by line what could not be taken.
    ///
    /// # Errors
    /// The playlist cannot be read, or nothing in it is a channel.
    pub fn import(&mut self, path: &Path) -> Result<Vec<String>, ConfigError> {
        let file = path.display().to_string();
        let unreadable = |message: String| ConfigError::Unreadable { file: file.clone(), message };
        let len = fs::metadata(path).map_err(|error| unreadable(error.to_string()))?.len();
        if len > PLAYLIST_BYTES_MAX {
            return Err(unreadable(format!("it is longer than {PLAYLIST_BYTES_MAX} bytes")));
        }
        // Playlists are older than UTF-8.
        let bytes = fs::read(path).map_err(|error| unreadable(error.to_string()))?;
        let text = String::from_utf8_lossy(&bytes);
        let before = self.channels.len();
        let untaken = self.import_text(&text, path.parent().unwrap_or(Path::new("")));
        let untaken: Vec<_> = untaken
            .into_iter()
            .map(|(line, what)| format!("{file}, line {line}: {what}"))
            .collect();
        if self.channels.len() == before {
            let message = match untaken.first() {
                Some(first) => format!("there is no channel in it that can be taken; {first}"),
                None => "there is no channel in it".to_owned(),
            };
            return Err(unreadable(message));
        }
        Ok(untaken)
    }

    /// Adds the channels of a playlist's text; paths in it are relative to this folder. Says by
    /// number of the line what could not be taken.
    pub fn import_text(&mut self, text: &str, folder: &Path) -> Vec<(usize, String)> {
        let (mut untaken, mut entry) = (Vec::new(), Entry::default());
        let lines = text.trim_start_matches('\u{feff}').lines().map(str::trim);
        for (number, line) in (1..).zip(lines) {
            if line.starts_with("#EXT-X-TARGETDURATION") {
                let what = "this is one stream in pieces (HLS), no list of channels: give its \
                            address to a command in channels.toml";
                return vec![(number, what.to_owned())];
            }
            if let Some(said) = line.strip_prefix("#EXTINF:") {
                entry = Entry::parse(said);
            } else if let Some(group) = line.strip_prefix("#EXTGRP:") {
                entry.group = Some(printable(group.trim()));
            } else if !line.is_empty() && !line.starts_with('#') {
                if self.channels.len() >= CHANNELS_MAX {
                    let what = format!("there are {CHANNELS_MAX} channels already: the rest stays");
                    untaken.push((number, what));
                    return untaken;
                }
                let said = std::mem::take(&mut entry);
                match self.take_entry(said, line, folder) {
                    Ok(note) => untaken.extend(note.map(|note| (number, note))),
                    Err(what) => untaken.push((number, what)),
                }
            }
        }
        untaken
    }

    /// Adds one entry; there may be something to say about its number.
    fn take_entry(
        &mut self,
        entry: Entry,
        place: &str,
        folder: &Path,
    ) -> Result<Option<String>, String> {
        let name = entry.name.unwrap_or_else(|| sanitized(place));
        let taken: BTreeMap<_, _> =
            self.channels.iter().map(|it| (it.number, it.name.clone())).collect();
        let wanted = entry.number.filter(|number| (1..=NUMBER_MAX).contains(number));
        let is_free = wanted.is_some_and(|number| !taken.contains_key(&number));
        let (source, command) = source_of(place)?;
        let text = ChannelText {
            number: wanted.filter(|_| is_free),
            name,
            group: entry.group,
            source,
            command,
            ..ChannelText::default()
        };
        let channel = text.check(folder, &taken).map_err(|(key, what)| format!("{key}: {what}"))?;
        if channel.reads_stdin() {
            return Err("standard input is no entry of a playlist".to_owned());
        }
        let note = match entry.number {
            Some(number) if number != channel.number => {
                let own = channel.number;
                Some(format!("number {number} is taken or none: \"{}\" gets {own}", channel.name))
            }
            Some(_) | None => None,
        };
        self.channels.push(channel);
        Ok(note)
    }
}

/// The source or the command that reads what an entry names.
fn source_of(place: &str) -> Result<(Option<String>, Option<String>), String> {
    let is_of = |scheme: &&str| {
        place.get(..scheme.len()).is_some_and(|start| start.eq_ignore_ascii_case(scheme))
    };
    if BY_FFMPEG.iter().any(is_of) {
        if place.contains('|') {
            return Err("options of a player, after |, are not known here: leave them out".into());
        }
        if place.contains(char::is_control) {
            return Err("there are signs in it that no address has".to_owned());
        }
        // Nothing in single quotes means anything to the shell, but such a quote.
        let quoted = place.replace('\'', r"'\''");
        let command = format!("exec ffmpeg -nostdin -v error -i '{quoted}' -c copy -f mpegts -");
        return Ok((None, Some(command)));
    }
    if let Some(path) = place.strip_prefix("file://") {
        return Ok((Some(path.to_owned()), None));
    }
    // VLC writes an @ before a group, or before nothing.
    let bare = |scheme: &str| place.strip_prefix(scheme)?.strip_prefix('@');
    let source = ["udp://", "rtp://"]
        .into_iter()
        .find_map(|scheme| bare(scheme).map(|rest| format!("{scheme}{rest}")));
    Ok((Some(source.unwrap_or_else(|| place.to_owned())), None))
}

impl Entry {
    /// `-1 tvg-name="One" tvg-chno="1" group-title="News",The first`
    fn parse(said: &str) -> Self {
        let mut entry = Self::default();
        let mut rest = said.trim_start_matches(|c: char| !c.is_whitespace() && c != ',');
        let mut by_attribute = None;
        loop {
            rest = rest.trim_start();
            if let Some(name) = rest.strip_prefix(',') {
                entry.name = Some(printable(name.trim())).filter(|name| !name.is_empty());
                break;
            }
            let Some((key, after)) = rest.split_once("=\"") else { break };
            let Some((value, after)) = after.split_once('"') else { break };
            let value = Some(printable(value.trim())).filter(|value| !value.is_empty());
            match key.trim() {
                "tvg-name" => by_attribute = value,
                "group-title" => entry.group = value,
                "tvg-chno" => entry.number = value.and_then(|value| value.parse().ok()),
                _ => {}
            }
            rest = after;
        }
        entry.name = entry.name.or(by_attribute);
        entry
    }
}

#[cfg(test)]
mod tests {
    use super::super::config::{ChannelAccess, ChannelConfig};
    use super::super::playlist;
    use super::super::source::Source;
    use super::*;
    use crate::input::Input;

    fn import(text: &str) -> (Vec<ChannelConfig>, Vec<(usize, String)>) {
        let mut file = ChannelsFile::default();
        let untaken = file.import_text(text, Path::new("/lists"));
        (file.channels, untaken)
    }

    /// Other bytes at each place in turn, which often are no text.
    fn damaged(text: &str) -> impl Iterator<Item = String> {
        let replacements = [0x1b, b'\n', b'"', b',', b'=', b'#', 0xff, b'9'];
        let places = 0..text.len();
        places.flat_map(move |at| replacements.map(|byte| (at, byte))).map(|(at, byte)| {
            let mut bytes = text.as_bytes().to_vec();
            bytes[at] = byte;
            String::from_utf8_lossy(&bytes).into_owned()
        })
    }

    #[test]
    fn a_damaged_playlist_or_channels_file_never_panics_and_names_stay_printable() {
        let list = "#EXTM3U\n#EXTINF:-1 tvg-chno=\"7\" group-title=\"News\",First\n\
                    udp://@239.1.2.3:5000\n#EXTGRP:Films\nrtsp://u:p@camera/1\n";
        for text in damaged(list) {
            for channel in import(&text).0 {
                let names = [Some(&channel.name), channel.group.as_ref()];
                assert!(!names.into_iter().flatten().any(|name| name.contains(char::is_control)));
            }
        }
        let file = "[server]\nhttp = '0.0.0.0:80'\n[[channel]]\nnumber = 7\nname = \"News\"\n\
                    group = 'A'\nsource = 'udp://239.1.2.3:5000'\nprogram = 2\naccess = 'token'\n";
        let path = std::env::temp_dir().join(format!("anabranch-{}-damaged", std::process::id()));
        for text in damaged(file) {
            std::fs::write(&path, text).unwrap();
            if let Err(error) = ChannelsFile::read(&path) {
                assert!(error.to_string().contains("line "), "{error}");
            }
        }
        std::fs::remove_file(&path).unwrap();
    }

    #[test]
    fn names_of_a_playlist_have_nothing_that_a_terminal_acts_on_and_no_password() {
        let (channels, untaken) = import(
            "#EXTINF:-1 group-title=\"A\u{1b}[31mB\",Ne\u{9b}2Jws\nudp://239.1.2.3:5000\n\
             rtsp://me:secret@camera/1\n",
        );
        assert_eq!(untaken, []);
        assert_eq!(
            (channels[0].name.as_str(), channels[0].group.as_deref()),
            ("Ne2Jws", Some("A[31mB"))
        );
        assert_eq!(channels[1].name, "rtsp://***@camera/1");
    }

    #[test]
    fn entries_become_channels_with_their_names_groups_and_numbers() {
        let (channels, untaken) = import(
            "\u{feff}#EXTM3U url-tvg=\"http://guide.example\"\n\
             #EXTINF:-1 tvg-id=\"\" tvg-name=\"1, HD\" tvg-chno=\"7\" group-title=\"News\",First\n\
             udp://@239.1.2.3:5000\n\
             #EXTINF:-1 tvg-name=\"By attribute\",\n\
             #EXTVLCOPT:network-caching=1000\n\
             rtp://239.1.2.3:5004\r\n\n\
             #EXTINF:120,A film\n\
             #EXTGRP:Films\n\
             film.ts\n\
             file:///tv/other.ts\n",
        );
        assert_eq!(untaken, []);
        let said = channels.iter().map(|it| (it.number, it.name.as_str(), it.group.as_deref()));
        let expected = [
            (7, "First", Some("News")),
            (8, "By attribute", None),
            (9, "A film", Some("Films")),
            (10, "file:///tv/other.ts", None),
        ];
        assert!(said.eq(expected), "{channels:?}");
        assert!(matches!(&channels[0].source, Source::Input(Input::Udp(_))));
        assert!(matches!(&channels[1].source, Source::Input(Input::Rtp(_))));
        assert_eq!(channels[2].source, Source::Input(Input::File("/lists/film.ts".into())));
        assert_eq!(channels[3].source, Source::Input(Input::File("/tv/other.ts".into())));
    }

    #[test]
    fn what_ffmpeg_reads_becomes_a_command_in_which_nothing_else_runs() {
        let command = |place: &str| {
            let (mut channels, untaken) = import(place);
            assert_eq!(untaken, []);
            let Some(Source::Command(command)) = channels.pop().map(|it| it.source) else {
                unreachable!("{place} is read by a command");
            };
            command
        };
        let plain = command("https://tv.example/1.m3u8?a=b&c=$d");
        let expected = "exec ffmpeg -nostdin -v error -i 'https://tv.example/1.m3u8?a=b&c=$d' \
                        -c copy -f mpegts -";
        assert_eq!(plain, expected);
        let evil = command("http://tv.example/';touch /tmp/x;'");
        assert!(evil.contains(r"-i 'http://tv.example/'\'';touch /tmp/x;'\''' -c copy"), "{evil}");
    }

    #[test]
    fn what_cannot_be_taken_is_told_by_line_and_the_rest_is_taken() {
        let (channels, untaken) = import(
            "#EXTM3U\n#EXTINF:-1 tvg-chno=\"3\",A\na.ts\n#EXTINF:-1 tvg-chno=\"3\",B\nb.ts\n\
             mms://tv.example/1\n-\nhttp://tv.example/1|User-Agent=x\nudp://nowhere\n",
        );
        assert_eq!(channels.iter().map(|it| it.number).collect::<Vec<_>>(), [3, 4]);
        let expected = [
            (5, "number 3 is taken or none: \"B\" gets 4"),
            (6, "source: \"mms://tv.example/1\" is not read"),
            (7, "standard input is no entry"),
            (8, "options of a player, after |"),
            (9, "has no port"),
        ];
        assert_eq!(untaken.len(), expected.len(), "{untaken:?}");
        for ((line, what), (expected_line, words)) in untaken.iter().zip(expected) {
            assert!(*line == expected_line && what.contains(words), "{line}: {what}");
        }
        let (channels, untaken) = import("#EXTM3U\n#EXT-X-TARGETDURATION:6\n#EXTINF:6,\n1.ts\n");
        assert!(channels.is_empty() && untaken[0].1.contains("(HLS)"), "{untaken:?}");
    }

    #[test]
    fn a_playlist_has_no_more_channels_than_a_server() {
        let text: String = (0..CHANNELS_MAX + 5).map(|number| format!("{number}.ts\n")).collect();
        let (channels, untaken) = import(&text);
        assert_eq!((channels.len(), untaken.len()), (CHANNELS_MAX, 1));
        assert!(untaken[0].1.contains("1000 channels already"), "{untaken:?}");
    }

    #[test]
    fn our_own_playlist_is_read_again() {
        let list = "#EXTINF:-1 tvg-chno=\"5\" group-title=\"City\",News\na.ts\nb.webm\n";
        let (channels, _) = import(list);
        let entry = |channel| playlist::Entry { channel, is_stream: channel.number == 5 };
        let text = playlist::write(channels.iter().map(entry), "http://tv.example:8080", None);
        assert!(text.contains("\n# 6 b.webm is left out, for it comes as no transport"), "{text}");
        let (again, untaken) = import(&text);
        assert_eq!(untaken, []);
        let [news] = &again[..] else { unreachable!("one channel") };
        assert_eq!((news.number, news.name.as_str()), (5, "News"));
        assert_eq!((news.group.as_deref(), news.access), (Some("City"), ChannelAccess::Open));
        let Source::Command(command) = &news.source else { unreachable!("a command") };
        assert!(command.contains("'http://tv.example:8080/ch/5.ts'"), "{command}");
    }
}
