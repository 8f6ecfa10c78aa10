//! [`WatchPage`]: what is watched, on a page of this machine.

use std::time::Duration;

use anabranch_driver::Clock;
use anabranch_media::decoding::{AccessUnit, MediaTrack};
use anabranch_sctp::AssociationStats;
use anabranch_television::PlayoutCounts;
use anabranch_television::protocol::Description;

use crate::page::protocol::{
    EventKind, FrameCounts, Hello, LayerStats, Mode, Named, NewEvent, Severity, Stats, Tally,
};
use crate::page::{PageError, PageServer, path_info, path_stats, sentence};

/// The rows of the statistics.
const ROWS: [(&str, &str); 3] =
    [("base", "Base picture"), ("enhancement", "Enhancement"), ("audio", "Sound")];

/// A page of this machine that shows the channel that is watched.
#[derive(Debug)]
pub struct WatchPage {
    page: PageServer,
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
        // There is nothing to control, so there are no requests to wait for.
        let (page, _requests) = PageServer::start(port, clock, Hello::new(Mode::Recv)).await?;
        let tallies = [Tally::default(); ROWS.len()];
        let (budget, before) = (Duration::ZERO, PlayoutCounts::default());
        Ok(Self { page, clock, budget, tallies, before })
    }

    /// Where the page is.
    #[must_use]
    pub fn url(&self) -> &str {
        self.page.url()
    }

    /// Whose times it tells.
    pub(super) const fn clock(&self) -> Clock {
        self.clock
    }

    pub(super) const fn set_budget(&mut self, budget: Duration) {
        self.budget = budget;
    }

    /// Another channel, or its source began anew.
    pub(super) fn begin(
        &mut self,
        title: String,
        description: &Description,
        network: Option<&AssociationStats>,
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
            paths: network.iter().flat_map(|it| &it.paths).map(path_info).collect(),
            layers: ROWS.iter().map(named).collect(),
            ..Hello::new(Mode::Recv)
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

    pub(super) fn stats(&self, network: Option<&AssociationStats>, counts: PlayoutCounts) {
        let layer = |((id, _), in_time): (&(&str, &str), &Tally)| LayerStats {
            id: (*id).to_owned(),
            sent: None,
            in_time: *in_time,
            late: Tally::default(),
            retransmitted: None,
            abandoned: None,
        };
        let paths = network.iter().flat_map(|it| &it.paths);
        self.page.stats(Stats {
            now_us: 0,
            paths: paths.map(|path| path_stats(path, path.is_current)).collect(),
            layers: ROWS.iter().zip(&self.tallies).map(layer).collect(),
            frames: FrameCounts {
                shown: counts.pictures - self.before.pictures,
                late: 0,
                lost: counts.missing - self.before.missing,
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

    pub(super) fn reconnected(&self) {
        self.page.reconnected();
    }

    /// Says the last words, and waits until the pages know.
    pub(super) async fn end(&self, text: &str) {
        self.page.say_goodbye(sentence(text));
        self.page.told().await;
    }
}
