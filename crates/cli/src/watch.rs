//! `anabranch watch`: a channel of a television server on a page of this machine.

use std::convert::Infallible;
use std::io::{self, BufRead as _, Write as _};
use std::str::FromStr as _;
use std::time::Duration;

use anabranch_apps::service::Retries;
use anabranch_apps::url::Choice;
use anabranch_apps::url::SessionUrl;
use anabranch_apps::watch::{WatchOptions, WatchPage, Watched, watch};
use clap::Args;
use tokio::sync::mpsc;

use crate::failure::Failure;
use crate::output;
use crate::transfer::{Log, Paths, RecordingArgs, failure, stop_when_interrupted};

/// Channels typed faster than they can be asked for.
const CHOICES_MAX: usize = 16;

/// Watches the channels of a television server
///
/// Prints the address of a page of this machine that shows the channel, and the others to choose
/// from: by number keys, arrows, search or a click. Or type the number of a channel, or how its
/// name begins, and Enter, here. Urgent messages are shown over the picture, and printed. If the
/// server is lost, it is called again.
///
/// Examples:
///   anabranch watch anabranch://tv.example:9000
///   anabranch watch --paths auto anabranch://tv.example:9000
///   anabranch watch --list anabranch://tv.example:9000
///   anabranch watch --channel 2 'anabranch://tv.example:9000?path=eth0,wlan0&latency=500'
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Watch {
    /// anabranch://HOST:PORT. Options: latency (of the whole way to the screen), path, peer, token.
    url: SessionUrl,
    /// auto: a path over every interface that reaches the server, as interfaces come and go,
    /// instead of path= in the URL.
    #[arg(long, value_name = "auto")]
    paths: Option<Paths>,
    /// The channel to begin with: its number, or how its name begins. Without it, the first one
    /// that is on air.
    #[arg(long, value_name = "CHANNEL", value_parser = choice)]
    channel: Option<Choice>,
    /// Prints the channels and ends.
    #[arg(long, conflicts_with_all = ["channel", "headless", "seconds"])]
    list: bool,
    /// What entitles to channels that are not open to all; or token= in the URL.
    #[arg(long)]
    token: Option<String>,
    /// Writes how it goes, once a second, as JSON lines; - is stdout, and the page's address is
    /// on stderr then. docs/stats.md says what the fields mean.
    #[arg(long, value_name = "FILE", conflicts_with = "list")]
    stats: Option<String>,
    #[command(flatten)]
    recording: RecordingArgs,
    /// Serves no page.
    #[arg(long)]
    headless: bool,
    /// Serves the page at this port.
    #[arg(long, value_name = "PORT", default_value_t = 0, conflicts_with = "headless")]
    page_port: u16,
    /// Ends after so long.
    #[arg(long, value_name = "S")]
    seconds: Option<u32>,
    /// How often in a row to try again when the server cannot be reached or is lost; 0 gives up at
    /// once, as --list does. Without it, there is no end to trying.
    #[arg(long, value_name = "N")]
    retries: Option<u32>,
    /// Says nothing but what is wrong.
    #[arg(short, long)]
    quiet: bool,
}

impl Watch {
    pub(crate) async fn run(mut self) -> Result<(), Failure> {
        if self.token.is_some() && self.url.token.is_some() {
            return Err(Failure::usage("there are two tokens: give --token, or token= in the URL"));
        }
        let token = self.token.take().or(self.url.token.take());
        let mut log = Log::open(self.stats.as_deref(), &self.recording, self.quiet || self.list)?;
        let is_measured_here = self.stats.as_deref() == Some("-");
        let page = if self.list || self.headless {
            None
        } else {
            let page = WatchPage::start(self.page_port).await.map_err(Failure::usage)?;
            tell(&format!("{}\n", page.url()), is_measured_here)?;
            Some(page)
        };
        // Who asks for a list waits for an answer, not for a server.
        let usual = if self.list { Retries::AtMost(0) } else { Retries::Unlimited };
        let retries = self.retries.map_or(usual, Retries::AtMost);
        let options = WatchOptions {
            url: self.url,
            over_all_interfaces: self.paths.is_some(),
            channel: self.channel,
            token,
            only_list: self.list,
            span: self.seconds.map(|seconds| Duration::from_secs(seconds.into())),
            retries,
            recording: log.recording(),
            page,
            choices: typed(),
        };
        let stop = stop_when_interrupted();
        let watched = watch(options, stop, &mut |update| log.tell(update)).await;
        log.end_recording();
        let watched = watched.map_err(failure)?;
        drop(log);
        let told = if self.list { list(&watched) } else { summary(&watched) };
        if self.quiet && !self.list { Ok(()) } else { tell(&told, is_measured_here) }
    }
}

/// On stdout, if that is not for measures.
fn tell(text: &str, is_measured_there: bool) -> Result<(), Failure> {
    if is_measured_there {
        return Ok(io::stderr().lock().write_all(text.as_bytes())?);
    }
    Ok(output::print(text)?)
}

fn choice(text: &str) -> Result<Choice, Infallible> {
    Choice::from_str(text)
}

/// Lines of stdin. Nobody waits for the thread: the program may end while it reads.
fn typed() -> mpsc::Receiver<Choice> {
    let (sender, receiver) = mpsc::channel(CHOICES_MAX);
    std::thread::spawn(move || {
        for line in std::io::stdin().lock().lines() {
            let Ok(line) = line else { return };
            if line.trim().is_empty() {
                continue;
            }
            let Ok(choice) = Choice::from_str(&line);
            if sender.blocking_send(choice).is_err() {
                return;
            }
        }
    });
    receiver
}

fn list(watched: &Watched) -> String {
    watched.channels.iter().map(|channel| format!("{channel}\n")).collect()
}

fn summary(watched: &Watched) -> String {
    let Watched { pictures, missing, zap, .. } = watched;
    let mut text = format!("{pictures} pictures shown, {missing} missing");
    if let Some(zap) = zap {
        text.push_str(&format!("; the last channel came after {} ms", zap.as_millis()));
    }
    text.push('\n');
    text
}
