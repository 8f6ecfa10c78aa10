//! Where a channel's media comes from: files, networks, pipes, programs, and what comes with
//! anabranch. A source is read once, whatever the number of viewers, tells what it finds as
//! [`SourceEvent`]s, and tries again by itself when it is lost.

mod broadcast;
mod clip;
mod command;
mod contribution;
mod demo;
mod film;
mod packets;
mod player;
mod resequencer;
mod rounds;
mod television;
mod timeline;

use std::panic::AssertUnwindSafe;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anabranch_driver::Clock;
use anabranch_media::Unit;
use anabranch_media::codec::Codec;
use anabranch_media::decoding::{AudioInfo, VideoInfo};
use anabranch_media::ts::Packet;
use anabranch_television::protocol::Programme;
use futures_util::FutureExt as _;
use tokio::task::JoinHandle;

use crate::input::{Input, InputError, InputOptions};
use crate::service::LevelSnapshot;
use crate::url::{ChannelUrl, SessionUrl};
pub use demo::DemoChannel;

/// Who hears nothing for so long from a source that comes as it likes takes it for lost.
const SILENCE_MAX: Duration = Duration::from_secs(3);

/// Before a source is read anew whose reader failed.
const RECOVERY: Duration = Duration::from_secs(5);

/// Where a channel's media comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, a pipe or packets from a network. Files are shown in a loop.
    Input(Input),
    /// The films of a folder by name, in a loop.
    Folder(PathBuf),
    /// A channel of another anabranch server.
    Channel(Box<ChannelUrl>),
    /// What `anabranch send` brings.
    Session(Box<SessionUrl>),
    /// A program that writes a transport stream to its standard output, run by the shell.
    Command(String),
    /// What comes with anabranch.
    Demo(DemoChannel),
}

/// What a source reports.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum SourceEvent {
    /// It begins, or begins anew.
    Begin {
        /// The picture.
        video: Option<VideoInfo>,
        /// The sound.
        audio: Option<AudioInfo>,
    },
    /// A layer of a picture, or a frame of sound.
    Unit(Unit),
    /// It is there, but sent as something that browsers do not decode.
    NotDecodable(Vec<Codec>),
    /// It is lost, and why.
    Lost(String),
    /// Packets of a transport stream, as they came.
    Packets(Vec<Packet>),
    /// A key frame begins at the packet with this number, which came already.
    Entry(u64),
    /// Now and next, as the source says.
    Programme(Programme),
    /// The servers that its media passed.
    Through(Vec<String>),
    /// Something that whoever runs the server should know.
    Note(String),
    /// What waited and waits of it at its receiver, by level, the most important one first; none
    /// where the sender marks none. Told once a second.
    Levels(Vec<LevelSnapshot>),
    /// Numbers of packets begin again from 0: another stream.
    NewStream,
    /// What comes is no transport stream, and brings no packets.
    NoStream,
}

/// Whom a source reports to. It is called from the source's task and should be short.
pub(crate) trait Listener: Send {
    fn tell(&mut self, event: SourceEvent);
}

/// Reads a source for the server of this name, until the task is aborted or nothing can come any
/// more.
pub(crate) fn spawn(
    source: Source,
    options: InputOptions,
    clock: Clock,
    own: Arc<str>,
    mut listener: impl Listener + 'static,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        loop {
            let reading = read(source.clone(), options, clock, &own, &mut listener);
            if AssertUnwindSafe(reading).catch_unwind().await.is_ok() {
                return;
            }
            // A channel whose reader fails must not stay as it was, without a word.
            let reason = "reading it failed by a defect of this program; it is read anew";
            listener.tell(SourceEvent::Lost(reason.to_owned()));
            tokio::time::sleep(RECOVERY).await;
        }
    })
}

/// Whether a file can be played at all.
///
/// # Errors
/// It cannot; says why.
pub(crate) async fn check_file(
    path: PathBuf,
    options: InputOptions,
    clock: Clock,
) -> Result<(), InputError> {
    rounds::check(path, options, clock).await
}

async fn read(
    source: Source,
    options: InputOptions,
    clock: Clock,
    own: &Arc<str>,
    listener: &mut impl Listener,
) {
    let program = options.program;
    match source {
        Source::Demo(DemoChannel::Clip) => rounds::play_demo_clip(clock, listener).await,
        Source::Demo(demo) => {
            let media = demo.transport_stream().unwrap_or_default();
            rounds::play_embedded(demo.name(), media, clock, listener).await;
        }
        Source::Input(Input::File(path)) => {
            rounds::play_file(path, options, clock, listener).await;
        }
        Source::Folder(path) => rounds::play_folder(path, options, clock, listener).await,
        Source::Channel(url) => television::relay(&url, own, clock, listener).await,
        Source::Session(url) => contribution::receive(&url, program, clock, listener).await,
        Source::Input(input) => packets::receive(&input, program, clock, listener).await,
        Source::Command(command) => command::run(&command, program, clock, listener).await,
    }
}

#[cfg(test)]
mod tests {
    use tokio::sync::mpsc;

    use super::*;

    /// Fails at the first unit, and hands on what it is told otherwise.
    struct Clumsy {
        told: mpsc::UnboundedSender<SourceEvent>,
        has_failed: bool,
    }

    impl Listener for Clumsy {
        fn tell(&mut self, event: SourceEvent) {
            if matches!(event, SourceEvent::Unit(_)) && !self.has_failed {
                self.has_failed = true;
                panic!("a defect");
            }
            // The test may have seen enough.
            _ = self.told.send(event);
        }
    }

    #[tokio::test(start_paused = true)]
    async fn a_reader_that_fails_is_off_air_in_words_and_begins_anew() {
        let (told, mut events) = mpsc::unbounded_channel();
        let listener = Clumsy { told, has_failed: false };
        let source = Source::Demo(DemoChannel::Clip);
        let reading =
            spawn(source, InputOptions::default(), Clock::start(), "here".into(), listener);
        let mut lost = None;
        loop {
            match events.recv().await.unwrap() {
                SourceEvent::Lost(reason) => lost = Some(reason),
                SourceEvent::Unit(_) => break,
                SourceEvent::Begin { .. }
                | SourceEvent::NotDecodable(_)
                | SourceEvent::Packets(_)
                | SourceEvent::Entry(_)
                | SourceEvent::Programme(_)
                | SourceEvent::Through(_)
                | SourceEvent::Note(_)
                | SourceEvent::NewStream
                | SourceEvent::Levels(_)
                | SourceEvent::NoStream => {}
            }
        }
        assert!(lost.unwrap().contains("by a defect of this program"));
        reading.abort();
    }
}
