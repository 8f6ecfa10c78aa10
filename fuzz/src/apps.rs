//! Checks of `anabranch-apps`: whatever a foreign file says, it is refused in words or becomes what
//! it may, within bounds.

use std::backtrace::Backtrace;
use std::collections::BTreeSet;
use std::io::{Cursor, Read as _};
use std::panic;
use std::path::Path;
use std::sync::{Arc, Once};

use anabranch_apps::serve::ChannelsFile;
use anabranch_films::Film;

/// No film is read further.
const STREAM_BYTES_MAX: u64 = 1 << 20;

/// Bytes of a packet, and the first of them.
const PACKET_LEN: usize = 188;
const SYNC_BYTE: u8 = 0x47;

/// Checks `bytes` as a film that becomes a transport stream, the same in each round.
pub fn film(bytes: &[u8]) {
    let file = Cursor::new(Arc::<[u8]>::from(bytes));
    let mut film = match Film::open(&file) {
        Ok(Some(film)) => film,
        Ok(None) => return,
        Err(words) => {
            assert!(!words.is_empty());
            return;
        }
    };
    let first = stream_of(&mut film);
    if film.rewind().is_ok() {
        assert_eq!(stream_of(&mut film), first);
    }
}

/// Checks `bytes` as [`film`] does, a Matroska file. The demuxer has defects of its own, which the
/// program takes for damage of the file: its panics are not ours.
pub fn matroska(bytes: &[u8]) {
    static FORGIVE: Once = Once::new();
    FORGIVE.call_once(|| {
        let report = panic::take_hook();
        panic::set_hook(Box::new(move |panic| {
            let is_placed_there =
                panic.location().is_some_and(|at| at.file().contains("matroska-demuxer"));
            // An overflow in a function of the standard library is placed in that.
            let frames = || Backtrace::force_capture().to_string();
            if !is_placed_there && !frames().contains("matroska_demuxer") {
                report(panic);
            }
        }));
    });
    film(bytes);
}

/// How many packets a film has, as far as it can be read.
fn stream_of(film: &mut Film<Cursor<Arc<[u8]>>>) -> usize {
    let mut stream = Vec::new();
    // What could be read in front of an error is as good.
    _ = film.take(STREAM_BYTES_MAX).read_to_end(&mut stream);
    let packets = stream.chunks_exact(PACKET_LEN);
    assert!(packets.clone().all(|packet| packet[0] == SYNC_BYTE));
    packets.len()
}

/// Checks `bytes` as the text of channels.toml.
pub fn channels(bytes: &[u8]) {
    let Ok(text) = std::str::from_utf8(bytes) else { return };
    match ChannelsFile::parse(text, "channels.toml", Path::new("/films")) {
        Ok(file) => assert_sound(&file),
        Err(error) => assert!(error.to_string().starts_with("channels.toml")),
    }
}

/// Checks `bytes` as a playlist.
pub fn playlist(bytes: &[u8]) {
    let mut file = ChannelsFile::demo();
    let text = String::from_utf8_lossy(bytes);
    let untaken = file.import_text(&text, Path::new("/films"));
    let lines = text.lines().count();
    assert!(untaken.iter().all(|(line, what)| *line <= lines && !what.is_empty()));
    assert_sound(&file);
}

/// Numbers are different, and what is shown has no control characters.
fn assert_sound(file: &ChannelsFile) {
    let numbers: BTreeSet<_> = file.channels.iter().map(|channel| channel.number).collect();
    assert_eq!(numbers.len(), file.channels.len());
    for channel in &file.channels {
        let group = channel.group.as_deref().unwrap_or_default();
        assert!(!channel.name.is_empty());
        assert!(!channel.name.chars().chain(group.chars()).any(char::is_control), "{channel:?}");
    }
}
