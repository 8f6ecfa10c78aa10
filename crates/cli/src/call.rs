//! `anabranch call`: a call with another person.

use std::path::PathBuf;
use std::time::Duration;

use anabranch_apps::call::{
    CallOptions, CallPage, DeviceSource, ProgramOptions, RoomPage, THRESHOLD_MAX, THRESHOLD_MIN,
    VisitOptions, Visitor, call, visit,
};
use anabranch_apps::input::{InputOptions, Readers};
use anabranch_apps::url::{CallUrl, RoomUrl, SessionUrl};
use anabranch_netsim::settings;
use clap::Args;

use crate::failure::Failure;
use crate::output;
use crate::transfer::{Log, RecordingArgs, failure, stop_when_interrupted};

/// Where one is called that gives no URL.
const LISTEN: &str = "anabranch://:9000";

/// Calls somebody, waits to be called, or enters a room, over every network at once
///
/// Without a URL it waits, and prints what the other end has to call. Voice and pictures go both
/// ways, encrypted, over every interface; a network that dies costs no syllable. The page, whose
/// address is printed, has camera, microphone and loudspeaker; files and programs can be in their
/// place, and what is heard and seen can be recorded.
///
/// Examples:
///   anabranch call
///   anabranch call 'anabranch://peer.example:9000?key=...'
///   anabranch call 'anabranch://meet.example:9000?key=...&room=staff&token=...'
///   anabranch call --threshold 1.5s 'anabranch://peer.example:9000?key=...'
///   anabranch call --no-page --camera me.webm --microphone me.webm --record out
///   anabranch call --no-page --name Robot --record out 'anabranch://meet.example:9000?room=...'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Call {
    /// anabranch://HOST:PORT to call, anabranch://:PORT to be called there; anabranch://:9000
    /// without it. A room of anabranch meet: the link that it prints. Options: path, peer, key,
    /// allow, ca, certificate, certificate_key, passphrase, encryption, room, token.
    #[arg(default_value = LISTEN, hide_default_value = true)]
    url: CallUrl,
    /// What the others call you.
    #[arg(long)]
    name: Option<String>,
    /// Pictures of a file, in a loop, or of command:PROGRAM, which writes a transport stream, in
    /// place of the page's camera: H.264, VP9 or AV1.
    #[arg(long, value_name = "FILE|command:...")]
    camera: Option<DeviceSource>,
    /// The same in place of the page's microphone: Opus.
    #[arg(long, value_name = "FILE|command:...")]
    microphone: Option<DeviceSource>,
    /// Leaves a network when nothing came over it for so long, 500ms to 30s, and ends the call when
    /// there is no other one: the handoff of Chang 2010, over one network at a time. Without it a
    /// network is left within a few round trips, and a call without any waits for 30 s.
    #[arg(long, value_name = "TIME", value_parser = threshold)]
    threshold: Option<Duration>,
    /// Writes what is heard and seen into this folder; in a room, into a folder for each of the
    /// others.
    #[arg(long, value_name = "FOLDER")]
    record: Option<PathBuf>,
    /// Serves no page; in a room the program itself is the member then, and needs --name.
    #[arg(long)]
    no_page: bool,
    /// Serves the page at this port.
    #[arg(long, value_name = "PORT", default_value_t = 0, conflicts_with = "no_page")]
    page_port: u16,
    #[command(flatten)]
    recording: RecordingArgs,
    /// Says nothing but what is wrong.
    #[arg(short, long)]
    quiet: bool,
}

impl Call {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        match self.url.clone() {
            CallUrl::Peer(url) => self.call(url).await,
            CallUrl::Room(url) => self.visit(url).await,
        }
    }

    async fn call(self, url: SessionUrl) -> Result<(), Failure> {
        let mut log = Log::open(None, &self.recording, self.quiet)?;
        let page = if self.no_page {
            None
        } else {
            let page = CallPage::start(self.page_port).await.map_err(Failure::usage)?;
            output::print(&format!("{}\n", page.url()))?;
            Some(page)
        };
        let options = CallOptions {
            url,
            name: self.name,
            camera: self.camera,
            microphone: self.microphone,
            input_options: input_options(),
            threshold: self.threshold,
            record: self.record,
            page,
            recording: log.recording(),
        };
        let called = call(options, stop_when_interrupted(), &mut |update| log.tell(update)).await;
        log.end_recording();
        called.map_err(failure)
    }

    async fn visit(self, url: RoomUrl) -> Result<(), Failure> {
        let mut log = Log::open(None, &self.recording, self.quiet)?;
        let recording = log.recording();
        let options = VisitOptions { url, visitor: self.visitor().await?, recording };
        let visited = visit(options, stop_when_interrupted(), &mut |update| log.tell(update)).await;
        log.end_recording();
        visited.map_err(failure)
    }

    /// Who is to be in a room.
    async fn visitor(self) -> Result<Visitor, Failure> {
        if self.threshold.is_some() {
            return Err(Failure::usage(
                "--threshold is for a call between two: a room chooses its paths by itself; leave \
                 it out",
            ));
        }
        if self.no_page {
            let Some(name) = self.name else {
                return Err(Failure::usage("in a room --no-page needs --name, as others see it"));
            };
            return Ok(Visitor::Program(ProgramOptions {
                name,
                camera: self.camera,
                microphone: self.microphone,
                input_options: input_options(),
                record: self.record,
            }));
        }
        let devices = [
            ("--name", self.name.is_some()),
            ("--camera", self.camera.is_some()),
            ("--microphone", self.microphone.is_some()),
        ];
        if let Some((option, _)) = devices.iter().find(|(_, is_given)| *is_given) {
            return Err(Failure::usage(format!(
                "in a room the page asks for your name and has camera and microphone: \
                 leave {option} out, or give --no-page, too"
            )));
        }
        let page = RoomPage::start(self.page_port).await.map_err(Failure::usage)?;
        output::print(&format!("{}\n", page.url()))?;
        Ok(Visitor::Page { page, record: self.record })
    }
}

/// How long a path may be silent.
fn threshold(text: &str) -> Result<Duration, String> {
    let silence = settings::time(text).map_err(|error| error.to_string())?;
    if (THRESHOLD_MIN..=THRESHOLD_MAX).contains(&silence) {
        return Ok(silence);
    }
    let (least, most) = (THRESHOLD_MIN.as_millis(), THRESHOLD_MAX.as_secs());
    Err(format!(
        "a path that lives is silent for less than {least}ms, and a call waits for {most}s \
                 at most: give a time between them, such as 1.5s"
    ))
}

/// Films are read in processes of their own.
fn input_options() -> InputOptions {
    InputOptions { readers: Readers::Apart, ..InputOptions::default() }
}
