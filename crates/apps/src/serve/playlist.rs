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
        let group = channel.group.as_deref().unwrap_or_default().replace('"', "'");
        let (number, name) = (channel.number, channel.name.replace(['\r', '\n'], " "));
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
