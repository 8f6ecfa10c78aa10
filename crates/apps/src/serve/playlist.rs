//! Playlists in M3U, as VLC, mpv and Kodi read them: ours, and those of others.

use std::fmt::Write as _;

use super::config::{ChannelAccess, ChannelConfig};

/// The channels, each at its address under this site (`http://tv.example`), with the token where it
/// needs one.
pub(super) fn write<'a>(
    channels: impl Iterator<Item = &'a ChannelConfig>,
    site: &str,
    token: Option<&str>,
) -> String {
    let mut text = "#EXTM3U\n".to_owned();
    for channel in channels {
        let group = in_a_line(channel.group.as_deref().unwrap_or_default()).replace('"', "'");
        let (number, name) = (channel.number, in_a_line(&channel.name));
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
        let text = write(std::iter::once(&channel), "http://tv.example", None);
        let expected = "#EXTM3U\n#EXTINF:-1 tvg-chno=\"1\" group-title=\"B http://evil.example/b \",\
                        A  http://evil.example/a\nhttp://tv.example/ch/1.ts\n";
        assert_eq!(text, expected);
    }
}
