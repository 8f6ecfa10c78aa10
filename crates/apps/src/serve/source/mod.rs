//! Where a channel's media comes from: files, networks, pipes, programs, and what comes with
//! anabranch. A source is read once, whatever the number of viewers, tells what it finds as
//! [`SourceEvent`]s, and tries again by itself when it is lost.

mod broadcast;
mod clip;
mod command;
mod demo;
mod packets;
mod player;
mod rounds;
mod timeline;

use std::path::PathBuf;

use anabranch_driver::Clock;
use anabranch_media::codec::Codec;
use anabranch_media::decoding::{AudioInfo, VideoInfo};
use anabranch_media::ts::Packet;
use anabranch_television::channel::ChannelUnit;
use tokio::task::JoinHandle;

use crate::send::Input;
pub use demo::DemoChannel;

/// Where a channel's media comes from.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Source {
    /// A file, a pipe or packets from a network. Files are shown in a loop.
    Input(Input),
    /// The transport streams of a folder by name, in a loop.
    Folder(PathBuf),
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
    /// Something that whoever runs the server should know.
    Note(String),
    /// Numbers of packets begin again from 0: another stream.
    NewStream,
}

/// Whom a source tells. It is called from the source's task and should be short.
pub(crate) trait Listener: Send + 'static {
    fn tell(&mut self, event: SourceEvent);
}

/// Reads a source until the task is aborted, or until nothing can come any more.
pub(crate) fn spawn(
    source: Source,
    program: Option<u16>,
    clock: Clock,
    mut listener: impl Listener,
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
            Source::Input(input) => {
                packets::receive(&input, program, clock, &mut listener).await;
            }
            Source::Command(command) => {
                command::run(&command, program, clock, &mut listener).await;
            }
        }
    })
}
