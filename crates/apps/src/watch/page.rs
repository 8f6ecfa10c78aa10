//! [`WatchPage`]: what is watched, on a page of this machine.

use std::time::Duration;

use anabranch_driver::Clock;
use anabranch_media::decoding::{AccessUnit, MediaTrack};
use anabranch_television::PlayoutCounts;
use anabranch_television::protocol::{ChannelEntry, Description, Urgent};
use anabranch_transport::ConnectionStats;
use tokio::sync::mpsc;

use crate::page::protocol::{
    Controls, EventKind, FrameCounts, Hello, LayerStats, LevelStats, Mode, Named, NewEvent,
    Severity, Stats, Tally, Tuned, TunedState,
};
use crate::page::{PageError, PageRequest, PageServer, path_info, path_stats, sentence};

/// The rows of the statistics.
const ROWS: [(&str, &str); 3] =
    [("base", "Base picture"), ("enhancement", "Enhancement"), ("audio", "Sound")];

/// A page of this machine that shows the channel that is watched, and chooses another.
#[derive(Debug)]
pub struct WatchPage {
    page: PageServer,
    requests: mpsc::Receiver<PageRequest>,
    clock: Clock,
    budget: Duration,
    tallies: [Tally; ROWS.len()],
    /// Counters when the pages were greeted last.
    before: PlayoutCounts,
}

impl WatchPage {
    /// Starts to serve at `port`, any free one if it is 0. Must be called within a tokio runtime.
    ///
    /// # Errors
    /// The port cannot be had.
    pub async fn start(port: u16) -> Result<Self, PageError> {
        let clock = Clock::start();
        let (page, requests) = PageServer::start(port, clock, hello()).await?;
        let tallies = [Tally::default(); ROWS.len()];
        let (budget, before) = (Duration::ZERO, PlayoutCounts::default());
        Ok(Self { page, requests, clock, budget, tallies, before })
    }

    /// Where the page is.
    #[must_use]
    pub fn url(&self) -> &str {
        self.page.url()
    }

    /// Whose times it reports.
    pub(super) const fn clock(&self) -> Clock {
        self.clock
    }

    /// Whether somebody looks.
    pub(super) fn is_open(&self) -> bool {
        self.page.pages() > 0
    }

    /// What a page asks for next.
    pub(super) async fn next_request(&mut self) -> PageRequest {
        match self.requests.recv().await {
            Some(request) => request,
            // Nobody can ask any more.
            None => std::future::pending().await,
        }
    }

    /// Answers a request that cannot be met.
    pub(super) fn refuse(&self, request: &PageRequest, why: &str) {
        self.page.refuse(request, sentence(why));
    }

    /// What there is to choose from.
    pub(super) fn set_channels(&self, channels: &[ChannelEntry]) {
        // Where they come from is between servers.
        let listed = |it: &ChannelEntry| ChannelEntry { through: Vec::new(), ..it.clone() };
        self.page.channels(channels.iter().map(listed).collect());
    }

    /// Which channel is watched, and how it fares.
    pub(super) fn tuned(&self, number: u32, state: TunedState, text: Option<&str>) {
        self.page.tuned(Tuned { number, state, text: text.map(sentence) });
    }

    pub(super) fn urgent(&self, urgent: &Urgent) {
        self.page.urgent(urgent.clone());
    }

    /// An urgent message holds no more, or with the server all are gone.
    pub(super) fn end_urgent(&self, id: Option<u32>) {
        self.page.end_urgent(id);
    }

    pub(super) const fn set_budget(&mut self, budget: Duration) {
        self.budget = budget;
    }

    /// Another channel, or its source began anew.
    pub(super) fn begin(
        &mut self,
        title: String,
        description: &Description,
        network: Option<&ConnectionStats>,
        counts: PlayoutCounts,
    ) {
        self.tallies = [Tally::default(); ROWS.len()];
        self.before = counts;
        let named =
            |(id, name): &(&str, &str)| Named { id: (*id).to_owned(), name: (*name).to_owned() };
        self.page.hello(Hello {
            title: Some(title),
            latency_ms: self.budget.as_secs_f64() * 1e3,
            video: description.video.clone(),
            audio: description.audio.clone(),
            paths: network
                .into_iter()
                .flat_map(ConnectionStats::shown_paths)
                .map(path_info)
                .collect(),
            layers: ROWS.iter().map(named).collect(),
            ..hello()
        });
    }

    pub(super) fn show(&mut self, unit: &AccessUnit) {
        let first = match unit.track {
            MediaTrack::Video => 0,
            MediaTrack::Audio => 2,
        };
        for (layer, tally) in unit.layers.iter().zip(self.tallies.iter_mut().skip(first)) {
            tally.add(layer.bytes.len() as u64);
        }
        self.page.media(unit);
    }

    pub(super) fn stats(&self, network: Option<&ConnectionStats>, counts: PlayoutCounts) {
        let layer = |((id, _), in_time): (&(&str, &str), &Tally)| LayerStats {
            id: (*id).to_owned(),
            sent: None,
            in_time: *in_time,
            late: Tally::default(),
            retransmitted: None,
            abandoned: None,
        };
        let paths = network.into_iter().flat_map(ConnectionStats::shown_paths);
        self.page.stats(Stats {
            now_us: 0,
            paths: paths.map(|path| path_stats(path, path.is_current)).collect(),
            layers: ROWS.iter().zip(&self.tallies).map(layer).collect(),
            levels: LevelStats::of(network),
            frames: FrameCounts {
                shown: counts.pictures - self.before.pictures,
                late: counts.late - self.before.late,
                lost: counts.missing.saturating_sub(self.before.missing),
            },
            delay_ms: None,
            buffer_ms: None,
            latency_ms: self.budget.as_secs_f64() * 1e3,
            advised_latency_ms: None,
        });
    }

    pub(super) fn tell(&self, is_warning: bool, text: &str) {
        let severity = if is_warning { Severity::Warning } else { Severity::Info };
        let (kind, text) = (EventKind::Note, sentence(text));
        self.page.event(NewEvent { severity, kind, path: None, text });
    }

    pub(super) fn reconnecting(&self, after: Duration, why: &str) {
        self.page.reconnecting(after, sentence(why));
    }

    /// The server is there, be it again: who waited for it does so no more.
    pub(super) fn connected(&self, text: &str) {
        self.page.reconnected();
        let (severity, kind) = (Severity::Good, EventKind::PeerConnected);
        self.page.event(NewEvent { severity, kind, path: None, text: sentence(text) });
    }

    /// Says the last words, and waits until the pages know.
    pub(super) async fn end(&self, text: &str) {
        self.page.say_goodbye(sentence(text));
        self.page.told().await;
    }
}

/// Nothing to see yet, but channels to choose from.
fn hello() -> Hello {
    let controls = Controls { channels: true, ..Controls::default() };
    Hello { controls, ..Hello::new(Mode::Watch) }
}
