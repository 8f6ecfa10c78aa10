//! Where a channel's media comes from: files, networks, pipes, programs, and what comes with
//! anabranch. A source is read once, whatever the number of viewers, tells what it finds as
//! [`SourceEvent`]s, and tries again by itself when it is lost.

mod broadcast;
mod clip;
mod command;
mod contribution;
mod demo;
mod matroska;
mod packets;
mod player;
mod resequencer;
mod rounds;
mod television;
mod timeline;

use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use anabranch_driver::Clock;
use anabranch_media::codec::Codec;
use anabranch_media::decoding::{AudioInfo, VideoInfo};
use anabranch_media::ts::Packet;
use anabranch_television::channel::ChannelUnit;
use anabranch_television::protocol::Programme;
use tokio::task::JoinHandle;

use crate::send::Input;
use crate::url::{ChannelUrl, SessionUrl};
pub use demo::DemoChannel;

/// Who hears nothing for so long from a source that comes as it likes takes it for lost.
const SILENCE_MAX: Duration = Duration::from_secs(3);

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

/// What a source tells.
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
    Unit(ChannelUnit),
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
    /// Numbers of packets begin again from 0: another stream.
    NewStream,
}

/// Whom a source tells. It is called from the source's task and should be short.
pub(crate) trait Listener: Send {
    fn tell(&mut self, event: SourceEvent);
}

/// Reads a source for the server of this name, until the task is aborted or nothing can come any
/// more.
pub(crate) fn spawn(
    source: Source,
    program: Option<u16>,
    clock: Clock,
    own: Arc<str>,
    mut listener: impl Listener + 'static,
) -> JoinHandle<()> {
    tokio::spawn(async move {
        match source {
            Source::Demo(DemoChannel::Clip) => rounds::play_demo_clip(clock, &mut listener).await,
            Source::Demo(demo) => {
                let media = demo.transport_stream().unwrap_or_default();
                rounds::play_embedded(demo.name(), media, clock, &mut listener).await;
            }
            Source::Input(Input::File(path)) => {
                rounds::play_file(path, program, clock, &mut listener).await;
            }
            Source::Folder(path) => {
                rounds::play_folder(path, program, clock, &mut listener).await;
            }
            Source::Channel(url) => {
                television::relay(&url, &own, clock, &mut listener).await;
            }
            Source::Session(url) => {
                contribution::receive(&url, program, clock, &mut listener).await;
            }
            Source::Input(input) => {
                packets::receive(&input, program, clock, &mut listener).await;
            }
            Source::Command(command) => {
                command::run(&command, program, clock, &mut listener).await;
            }
        }
    })
}
