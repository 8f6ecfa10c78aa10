//! Playlists in M3U, as VLC, mpv and Kodi read them: ours, and those of others.

use std::fmt::Write as _;

use super::config::{ChannelAccess, ChannelConfig};

/// A channel of a list.
#[derive(Debug, Clone, Copy)]
pub(super) struct Entry<'a> {
    pub(super) channel: &'a ChannelConfig,
    /// Whether players can have it; else the list says why it is not there.
    pub(super) is_stream: bool,
}

/// The channels, each at its address under this site (`http://tv.example`), with the token where it
/// needs one.
pub(super) fn write<'a>(
    entries: impl Iterator<Item = Entry<'a>>,
    site: &str,
    token: Option<&str>,
) -> String {
    let mut text = "#EXTM3U\n".to_owned();
    for Entry { channel, is_stream } in entries {
        let group = in_a_line(channel.group.as_deref().unwrap_or_default()).replace('"', "'");
        let (number, name) = (channel.number, in_a_line(&channel.name));
        if !is_stream {
            _ = writeln!(
                text,
                "# {number} {name} is left out, for it comes as no transport stream: \
                 {site}/ shows it"
            );
            continue;
        }
        let token = token.filter(|_| channel.access == ChannelAccess::Token);
        let query = token.map_or_else(String::new, |token| format!("?token={token}"));
        _ = writeln!(
            text,
            "#EXTINF:-1 tvg-chno=\"{number}\" group-title=\"{group}\",{name}\n\
             {site}/ch/{number}.ts{query}"
        );
    }
    text
}

/// A name with a line break in it would write lines of its own.
fn in_a_line(text: &str) -> String {
    text.replace(char::is_control, " ")
}

#[cfg(test)]
mod tests {
    use anabranch_television::protocol::Programme;

    use super::super::source::{DemoChannel, Source};
    use super::*;

    #[test]
    fn regression_a_line_break_in_a_group_wrote_a_line_of_its_own() {
        let channel = ChannelConfig {
            number: 1,
            name: "A\r\nhttp://evil.example/a".to_owned(),
            group: Some("B\nhttp://evil.example/b\u{2}".to_owned()),
            source: Source::Demo(DemoChannel::Bars),
            program: None,
            programme: Programme::default(),
            access: ChannelAccess::Open,
        };
        let write = |is_stream| {
            let entries = std::iter::once(Entry { channel: &channel, is_stream });
            write(entries, "http://tv.example", None)
        };
        let expected = "#EXTM3U\n#EXTINF:-1 tvg-chno=\"1\" group-title=\"B http://evil.example/b \",\
                        A  http://evil.example/a\nhttp://tv.example/ch/1.ts\n";
        assert_eq!(write(true), expected);
        let left_out = write(false);
        assert_eq!(left_out.lines().count(), 2, "{left_out}");
        assert!(left_out.contains("\n# 1 A  http://evil.example/a is left out"), "{left_out}");
    }
}
