//! The demo: a sender and a receiver in one program, two emulated networks between them, and a page
//! that plays what arrives.
//!
//! ```text
//!            +-- wifi ----+
//! sender --->|            |---> receiver ---> page
//!            +-- mobile --+
//! ```
//!
//! Both ends are what `anabranch send` and `anabranch recv` run, one multi-homed SCTP association
//! over UDP sockets on this machine. The links are the simulator's, in real time.

pub(crate) mod clip;
mod delay;
mod handoff;
mod links;
mod measure;
mod narrator;
mod report;
mod run;
mod show;
mod source;
mod table;
#[cfg(test)]
mod tests;
mod timeline;
mod treatments;

use std::future::Future;
use std::net::{Ipv4Addr, SocketAddr};
use std::time::Duration;

use anabranch_driver::emulator::EmulatorError;
use anabranch_driver::{BindError, Clock, Driver, Handle, Recording, SocketSet, SpawnError};
use anabranch_netsim::NamedLink;
use anabranch_sansio::{FourTuple, Rng};
use anabranch_session::treatment::TreatmentTable;
use anabranch_session::{
    Bond, CallError, Receiver, ReceiverConfig, Sender, SenderConfig, SessionConfig, SourceFormat,
};
use thiserror::Error;
use tokio::sync::mpsc;

use clip::{ClipLayer, DEMO_CLIP};
use links::Links;

pub use delay::DelaySummary;
pub use handoff::Handoff;
pub use links::{mobile, wifi};
pub use report::{EventReport, FramesReport, Report};
pub use timeline::{Cut, LinkChange, Step, Timeline, TimelineError};

use crate::page::protocol::{Controls, Hello, Mode, PathInfo, Request, Stats};
use crate::page::{PageError, PageRequest, PageServer};

/// Pieces that may arrive between two looks at the receiver: a second of 16 Mbit/s in full packets.
const ARRIVALS_MAX: usize = 2_048;

/// What the pages are told at the end.
const ENDED: &str = "The demo has ended.";

/// How long a page may take to be loaded anew.
const RELOAD: Duration = Duration::from_secs(3);

/// The demo's links may be so many: an association has no more paths.
pub const LINKS_MAX: usize = 8;

/// What the demo is told.
#[derive(Debug, Clone)]
pub struct DemoConfig {
    /// The links, each a path; the first is the primary.
    pub links: Vec<NamedLink>,
    /// What happens to them.
    pub timeline: Timeline,
    /// Decides which packets they lose.
    pub seed: u64,
    /// From the sender's hand to the screen.
    pub latency: Duration,
    /// How several paths are used.
    pub bond: Bond,
    /// How media is sent.
    pub treatments: TreatmentTable,
    /// How long; without end if none.
    pub length: Option<Duration>,
    /// The port of the page, 0 for any; no page if none.
    pub page_port: Option<u16>,
    /// Where every packet of both ends is recorded, if that is wanted.
    pub recording: Recording,
}

impl Default for DemoConfig {
    fn default() -> Self {
        Self {
            links: vec![wifi(), mobile()],
            timeline: Timeline::default(),
            seed: 1,
            latency: Duration::from_millis(200),
            bond: Bond::default(),
            treatments: TreatmentTable::default(),
            length: None,
            page_port: None,
            recording: Recording::default(),
        }
    }
}

/// Why the demo cannot start.
#[derive(Debug, Error)]
#[non_exhaustive]
pub enum DemoError {
    /// The number of links makes no sense.
    #[error("the demo runs over {links} links: give 1 to {LINKS_MAX}")]
    Links {
        /// How many were given.
        links: usize,
    },
    /// What is to happen to the links makes no sense.
    #[error(transparent)]
    Timeline(#[from] TimelineError),
    /// No socket.
    #[error(transparent)]
    Bind(#[from] BindError),
    /// No driver.
    #[error(transparent)]
    Spawn(#[from] SpawnError),
    /// No links.
    #[error(transparent)]
    Emulator(#[from] EmulatorError),
    /// No call.
    #[error(transparent)]
    Call(#[from] CallError),
    /// No page.
    #[error(transparent)]
    Page(#[from] PageError),
}

/// What the demo reports while it runs.
#[derive(Debug)]
pub enum News<'a> {
    /// Something happened.
    Event {
        /// When, from the start of the media.
        elapsed: Duration,
        /// What, in one whole sentence.
        text: &'a str,
    },
    /// Another second has passed.
    Second(&'a Snapshot<'a>),
}

/// How a run of the demo ended.
#[derive(Debug)]
pub struct Outcome {
    /// What was measured.
    pub report: Report,
    /// Whether it was stopped, rather than over.
    pub stopped: bool,
}

/// How things stand.
#[derive(Debug)]
pub struct Snapshot<'a> {
    /// From the start of the media.
    pub elapsed: Duration,
    /// What the page is told.
    pub stats: &'a Stats,
    /// Mean PSNR-Y of what was on the screen.
    pub psnr_y_db: Option<f64>,
    /// Pages that are open.
    pub pages: usize,
}

/// The demo, started.
#[derive(Debug)]
pub struct Demo {
    config: DemoConfig,
    clock: Clock,
    ends: Ends,
    page: Option<PageServer>,
    requests: Option<mpsc::Receiver<PageRequest>>,
}

impl Demo {
    /// Starts both ends, the links and the page. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The configuration makes no sense, or the system refuses; then nothing runs.
    pub async fn start(config: DemoConfig) -> Result<Self, DemoError> {
        if !(1..=LINKS_MAX).contains(&config.links.len()) {
            return Err(DemoError::Links { links: config.links.len() });
        }
        config.timeline.check(&config.links)?;
        let clock = Clock::start();
        let ends = Ends::start(&config, clock)?;
        let mut demo = Self { clock, ends, page: None, requests: None, config };
        if let Some(port) = demo.config.page_port {
            let (page, requests) = match PageServer::start(port, clock, demo.hello()).await {
                Ok(served) => served,
                Err(error) => {
                    demo.ends.close().await;
                    return Err(error.into());
                }
            };
            page.treatments(treatments::to_page(&demo.config.treatments, demo.config.latency));
            demo.page = Some(page);
            demo.requests = Some(requests);
        }
        demo.ends.call()?;
        Ok(demo)
    }

    /// Where the page is, if there is one.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        self.page.as_ref().map(PageServer::url)
    }

    /// How many pages are open.
    #[must_use]
    pub fn pages(&self) -> usize {
        self.page.as_ref().map_or(0, PageServer::pages)
    }

    /// Runs until its length is over or `stop` is done, and reports as it goes.
    pub async fn run(
        &mut self,
        stop: impl Future<Output = ()>,
        tell: impl FnMut(News<'_>),
    ) -> Outcome {
        let outcome = run::run(self, stop, tell).await;
        self.ends.close().await;
        outcome
    }

    /// Waits until a page asks for it, then starts all but the page anew, to be run again. False:
    /// no page is open, or `stop` is done.
    ///
    /// # Errors
    /// The system refuses.
    pub async fn start_again(&mut self, stop: impl Future<Output = ()>) -> Result<bool, DemoError> {
        let (Some(page), Some(requests)) = (&self.page, &mut self.requests) else {
            return Ok(false);
        };
        page.finished(ENDED.to_owned());
        tokio::select! {
            () = stop => return Ok(false),
            () = page.left(RELOAD) => return Ok(false),
            () = restart_asked(page, requests) => {}
        }
        self.ends = Ends::start(&self.config, self.clock)?;
        page.begin_again(self.hello());
        page.treatments(treatments::to_page(&self.config.treatments, self.config.latency));
        self.ends.call()?;
        Ok(true)
    }

    /// Tells the pages that the demo has ended, and serves them no more.
    pub async fn end(self) {
        if let Some(page) = &self.page {
            page.say_goodbye(ENDED.to_owned());
            page.told().await;
        }
    }

    fn hello(&self) -> Hello {
        let names = self.ends.links.names().iter().zip(&self.ends.paths);
        let paths = (1..).zip(names).map(|(id, (name, path))| PathInfo {
            id,
            name: Some(name.clone()),
            local: path.local.to_string(),
            remote: path.remote.to_string(),
        });
        let mut hello = Hello {
            latency_ms: delay::millis(self.config.latency),
            paths: paths.collect(),
            layers: ClipLayer::ALL.into_iter().map(ClipLayer::named).collect(),
            classes: treatments::class_names(),
            controls: Controls {
                links: Some(links::RANGES),
                treatments: Some(treatments::RANGES),
                ..Controls::default()
            },
            ..Hello::new(Mode::Demo)
        };
        hello.describe_clip(DEMO_CLIP.header());
        hello
    }
}

/// Returns when a page asks for a restart; all else comes too late.
async fn restart_asked(page: &PageServer, requests: &mut mpsc::Receiver<PageRequest>) {
    while let Some(asked) = requests.recv().await {
        match asked.request {
            Request::Restart => return,
            Request::PageStats(_) => {}
            Request::SetLink(_)
            | Request::SetTreatment(_)
            | Request::Preset { .. }
            | Request::SetLatency { .. }
            | Request::Choose { .. }
            | Request::Seen { .. } => page.refuse(&asked, ENDED.to_owned()),
        }
    }
    std::future::pending().await
}

/// Both ends, and what lies between them.
#[derive(Debug)]
struct Ends {
    sender: Handle<Sender>,
    receiver: Handle<Receiver>,
    links: Links,
    paths: Vec<FourTuple>,
}

impl Ends {
    fn start(config: &DemoConfig, clock: Clock) -> Result<Self, DemoError> {
        // Nobody but this program is spoken to: one seed decides all.
        let mut rng = Rng::from_u64(config.seed);
        let (receiver, targets) = start_receiver(config, clock, rng.fork())?;
        let links = Links::spawn(&config.links, &targets, config.seed)?;
        let (sender, paths) = start_sender(config, clock, rng.fork(), &links)?;
        Ok(Self { sender, receiver, links, paths })
    }

    /// Lets the sender call the receiver.
    fn call(&self) -> Result<(), CallError> {
        self.sender.with(|sender, now| sender.connect(now, &self.paths)).map(drop)
    }

    async fn close(&self) {
        self.sender.close();
        self.receiver.close();
        self.links.close();
        let ends = [self.sender.closed().await, self.receiver.closed().await];
        for error in ends.into_iter().chain([self.links.closed().await]).filter_map(Result::err) {
            tracing::warn!(%error, "the demo did not end in order");
        }
    }
}

/// A listening receiver with one address for each link, and those addresses.
fn start_receiver(
    config: &DemoConfig,
    clock: Clock,
    rng: Rng,
) -> Result<(Handle<Receiver>, Vec<SocketAddr>), DemoError> {
    let (mut sockets, addresses) = bind(config.links.len())?;
    sockets.record(config.recording.labelled("receiver"));
    let session = SessionConfig::new(true, config.latency);
    let receiver = ReceiverConfig { arrivals_max: ARRIVALS_MAX, ..ReceiverConfig::new(session) };
    let mut receiver = Receiver::new(receiver, rng);
    receiver.set_local_addresses(addresses.clone());
    Ok((Driver::spawn_with_clock(receiver, sockets, clock)?, addresses))
}

/// A sender with one address for each link, and its path through each.
fn start_sender(
    config: &DemoConfig,
    clock: Clock,
    rng: Rng,
    links: &Links,
) -> Result<(Handle<Sender>, Vec<FourTuple>), DemoError> {
    let (mut sockets, addresses) = bind(config.links.len())?;
    sockets.record(config.recording.labelled("sender"));
    let paths = addresses.iter().zip(links.listen_addresses());
    let paths = paths.map(|(local, remote)| FourTuple::new(*local, remote)).collect();
    let sender = SenderConfig {
        format: SourceFormat::Clip(DEMO_CLIP.header().clone()),
        treatments: config.treatments,
        ..SenderConfig::mpeg_ts(SessionConfig::new(false, config.latency).with_bond(config.bond))
    };
    let sender = Sender::new(sender, rng);
    Ok((Driver::spawn_with_clock(sender, sockets, clock)?, paths))
}

/// As many sockets on this machine, at any free ports.
fn bind(count: usize) -> Result<(SocketSet, Vec<SocketAddr>), BindError> {
    let mut sockets = SocketSet::new();
    let any = SocketAddr::from((Ipv4Addr::LOCALHOST, 0));
    let addresses = (0..count).map(|_| sockets.bind(any)).collect::<Result<_, _>>()?;
    Ok((sockets, addresses))
}
