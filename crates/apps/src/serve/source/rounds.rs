//! Files, in a loop: each begins where the one before ends, as if it were one that never does.

use std::collections::BTreeSet;
use std::io;
use std::path::{Path, PathBuf};

use anabranch_driver::Clock;
use anabranch_media::ts::Packet;
use anabranch_sansio::Time;
use anabranch_session::SourceFormat;

use super::film::Film;
use super::player::{Ending, Player};
use super::{Listener, SourceEvent};
use crate::demo::clip::DEMO_CLIP;
use crate::input::{Feed, Media, PacketCutter, Timing};
use crate::input::{Input, InputError, InputOptions};
use crate::service::{Retries, Retry, Wait};

/// Files of a folder that are looked at.
const FILES_MAX: usize = 10_000;

/// What the files of a folder must be called.
const EXTENSIONS: [&str; 13] =
    ["ts", "m2ts", "mts", "trp", "mp4", "m4v", "mov", "webm", "mkv", "m4a", "mka", "mp3", "aac"];

/// Plays a file for ever.
pub(super) async fn play_file<L: Listener>(
    path: PathBuf,
    options: InputOptions,
    clock: Clock,
    listener: &mut L,
) {
    play(|| Ok(vec![path.clone()]), options, clock, listener).await;
}

/// Opens a file, as it is to be played, and closes it again.
pub(super) async fn check(
    path: PathBuf,
    options: InputOptions,
    clock: Clock,
) -> Result<(), InputError> {
    open(path, options, clock).await.map(drop)
}

/// Plays the films of a folder in the order of their names for ever. What is put there
/// meanwhile is played in the next round.
pub(super) async fn play_folder<L: Listener>(
    path: PathBuf,
    options: InputOptions,
    clock: Clock,
    listener: &mut L,
) {
    play(|| files_in(&path), options, clock, listener).await;
}

/// Plays a transport stream in memory for ever.
pub(super) async fn play_embedded<L: Listener>(
    name: &str,
    media: &[u8],
    clock: Clock,
    listener: &mut L,
) {
    let packets = match packets_of(name, media, clock) {
        Ok(packets) => packets,
        Err(error) => return listener.tell(SourceEvent::Lost(error.to_string())),
    };
    let mut player = Player::new(clock, listener);
    loop {
        player.play_packets(&packets).await;
        player.end_round();
    }
}

/// Plays the clip of the demo for ever.
pub(super) async fn play_demo_clip<L: Listener>(clock: Clock, listener: &mut L) {
    Player::new(clock, listener).play_clip(&DEMO_CLIP).await;
}

async fn play<L: Listener>(
    list: impl Fn() -> Result<Vec<PathBuf>, String>,
    options: InputOptions,
    clock: Clock,
    listener: &mut L,
) {
    let mut retry = Retry::new(Retries::Unlimited);
    loop {
        let (has_come, reason) = play_rounds(&list, options, clock, listener).await;
        if has_come {
            retry.on_success();
        }
        listener.tell(SourceEvent::Lost(reason.clone()));
        retry.on_failure(reason);
        while retry.wait().await != Wait::Over {}
    }
}

/// Plays until none of the files can be played; answers with whether any could be before, and why
/// the first one cannot.
async fn play_rounds<L: Listener>(
    list: impl Fn() -> Result<Vec<PathBuf>, String>,
    options: InputOptions,
    clock: Clock,
    listener: &mut L,
) -> (bool, String) {
    let mut player = Player::new(clock, listener);
    let mut rounds = 0;
    let mut said = BTreeSet::new();
    loop {
        let files = match list() {
            Ok(files) => files,
            Err(reason) => return (rounds > 0, reason),
        };
        let (mut has_come, mut errors) = (false, Vec::new());
        for file in files {
            let ending = match open(file, options, clock).await {
                Ok(Opened::Feed(feed)) => player.play(feed).await,
                Ok(Opened::Film(film)) => player.play_film(film).await,
                Err(error) => Ending { has_come: false, error: Some(error) },
            };
            errors.extend(ending.error.map(|error| error.to_string()));
            has_come |= ending.has_come;
            player.end_round();
        }
        if !has_come {
            let first = errors.into_iter().next();
            return (rounds > 0, first.unwrap_or_else(|| "there is nothing in it".to_owned()));
        }
        if said.len() > FILES_MAX {
            said.clear();
        }
        // The same is wrong in every round.
        let news = errors.into_iter().filter(|error| said.insert(error.clone()));
        news.for_each(|error| player.note(error));
        rounds += 1;
    }
}

/// A file that can be played.
enum Opened {
    Feed(Feed),
    Film(Film),
}

/// A clip can loop by itself.
async fn open(file: PathBuf, options: InputOptions, clock: Clock) -> Result<Opened, InputError> {
    if let Some(film) = Film::open(&file, options.readers).await {
        return Ok(Opened::Film(film));
    }
    let input = Input::File(file);
    let feed = Feed::open(&input, options, clock).await?;
    if feed.format == SourceFormat::MpegTs {
        return Ok(Opened::Feed(feed));
    }
    let looped = InputOptions { looped: true, ..options };
    Ok(Opened::Feed(Feed::open(&input, looped, clock).await?))
}

fn files_in(folder: &Path) -> Result<Vec<PathBuf>, String> {
    let failed = |error: io::Error| format!("cannot read {}: {error}", folder.display());
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder).map_err(failed)?.take(FILES_MAX) {
        let path = entry.map_err(failed)?.path();
        let extension = path.extension().and_then(|it| it.to_str()).map(str::to_ascii_lowercase);
        if extension.is_some_and(|it| EXTENSIONS.contains(&&*it)) && path.is_file() {
            files.push(path);
        }
    }
    if files.is_empty() {
        let wanted = EXTENSIONS.map(|it| format!(".{it}")).join(", ");
        return Err(format!("{} has no film ({wanted})", folder.display()));
    }
    files.sort();
    Ok(files)
}

fn packets_of(name: &str, media: &[u8], clock: Clock) -> Result<Vec<(Time, Packet)>, InputError> {
    let options = InputOptions::default();
    let mut cutter = PacketCutter::new(name.to_owned(), options, Timing::Media, clock)?;
    cutter.push(media)?;
    cutter.finish()?;
    let items = std::iter::from_fn(|| cutter.take_batch()).flatten();
    let packet = |item: crate::input::Item| match item.media {
        Media::Packet(packet) => Some((item.at, packet)),
        Media::Unit(_) => None,
    };
    Ok(items.filter_map(packet).collect())
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    /// Keeps what it is told.
    #[derive(Default)]
    struct Told(Vec<SourceEvent>);

    impl Listener for Told {
        fn tell(&mut self, event: SourceEvent) {
            self.0.push(event);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn regression_what_is_wrong_with_a_file_was_told_twice_each_time_that_it_was_tried() {
        let mut told = Told::default();
        let playing =
            play_file("/nowhere.ts".into(), InputOptions::default(), Clock::start(), &mut told);
        assert!(tokio::time::timeout(Duration::from_secs(30), playing).await.is_err());
        let lost = told.0.iter().filter(|event| matches!(event, SourceEvent::Lost(_))).count();
        assert!(lost > 3, "it is tried again and again");
        assert!(!told.0.iter().any(|event| matches!(event, SourceEvent::Note(_))), "{:?}", told.0);
    }
}
