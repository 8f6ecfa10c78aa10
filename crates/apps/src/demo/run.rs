//! One loop that feeds the sender, plays what arrives, and reports.

use std::future::Future;
use std::time::Duration;

use anabranch_sansio::PathId;
use anabranch_sansio::{Rate, Time};
use anabranch_session::dropping::Notice;
use anabranch_session::{Disconnect, Event, Measures, advise};
use anabranch_transport::PathEvent;
use tokio::sync::mpsc;
use tokio::time::{Instant, sleep_until, timeout};

use super::clip::{DEMO_CLIP, DEMO_SCORES};
use super::delay::millis;
use super::narrator::{Narrator, event};
use super::report::{EventReport, Report};
use super::show::Show;
use super::source::Source;
use super::timeline::{LinkChange, Timeline};
use super::{Demo, News, Outcome, Snapshot, links, measure, treatments};
use crate::page::PageRequest;
use crate::page::protocol::{
    self as page, EventKind, FrameCounts, LevelStats, NewEvent, Request, SetLink, Severity, Stats,
};

/// How often the page gets statistics.
const STATS_INTERVAL: Duration = Duration::from_millis(200);

/// How often the terminal does.
const SNAPSHOT_INTERVAL: Duration = Duration::from_secs(1);

/// After a lost session, before the next call.
const CALL_AGAIN_AFTER: Duration = Duration::from_secs(1);

/// How long the last pictures may take beyond their latency, and then the sender's goodbye.
const GOODBYE: Duration = Duration::from_secs(1);

/// Events that a report lists.
const EVENTS_KEPT: usize = 1_000;

/// Runs the demo until its length is over or `stop` is done.
pub(super) async fn run(
    demo: &mut Demo,
    stop: impl Future<Output = ()>,
    tell: impl FnMut(News<'_>),
) -> Outcome {
    let (sender, receiver, clock) =
        (demo.ends.sender.clone(), demo.ends.receiver.clone(), demo.clock);
    let mut requests = demo.requests.take();
    let mut stage = Stage::new(demo, tell);
    let mut stop = std::pin::pin!(stop);
    let mut stopped = false;
    while !stage.is_over() {
        let wake = Instant::from_std(clock.instant(stage.next_wake()));
        tokio::select! {
            () = &mut stop, if stage.closing.is_none() => {
                stopped = true;
                stage.begin_closing();
            }
            Some(event) = sender.next_event() => stage.on_event(event),
            // The receiver's events are about the same association, and about media being due.
            Some(_) = receiver.next_event() => {}
            Some(request) = next_request(&mut requests) => stage.on_request(&request),
            () = sleep_until(wake) => {}
        }
        stage.turn();
    }
    let report = stage.report();
    stage.say_goodbye().await;
    demo.requests = requests;
    Outcome { report, stopped }
}

/// Never, if no page is served.
async fn next_request(requests: &mut Option<mpsc::Receiver<PageRequest>>) -> Option<PageRequest> {
    match requests {
        Some(requests) => requests.recv().await,
        None => std::future::pending().await,
    }
}

/// The demo while it runs.
struct Stage<'a, F> {
    demo: &'a Demo,
    tell: F,
    /// What is still to happen to the links.
    timeline: Timeline,
    /// Since the ends are connected.
    source: Option<Source>,
    show: Show,
    narrator: Narrator,
    events: Vec<EventReport>,
    /// The path that carries the data.
    data_path: PathId,
    /// When to call the lost receiver again.
    call_at: Option<Time>,
    stats_at: Time,
    snapshot_at: Time,
    /// When to end, whatever is still under way.
    closing: Option<Time>,
}

impl<'a, F: FnMut(News<'_>)> Stage<'a, F> {
    fn new(demo: &'a Demo, tell: F) -> Self {
        let now = demo.clock.now();
        Self {
            tell,
            timeline: demo.config.timeline.clone(),
            source: None,
            show: Show::new(DEMO_CLIP.header(), &DEMO_SCORES),
            narrator: Narrator::new(&demo.config.links),
            events: Vec::new(),
            data_path: PathId(0),
            call_at: None,
            stats_at: now,
            snapshot_at: now + SNAPSHOT_INTERVAL,
            closing: None,
            demo,
        }
    }

    /// Whether all that was sent is played, or has taken too long.
    fn is_over(&self) -> bool {
        let Some(deadline) = self.closing else { return false };
        let waits = self
            .demo
            .ends
            .receiver
            .with(|receiver, _| self.show.next_at(receiver, self.last_picture()));
        waits.is_none() || self.now() >= deadline
    }

    fn next_wake(&mut self) -> Time {
        let last = self.last_picture();
        let picture_at =
            self.demo.ends.receiver.with(|receiver, _| self.show.next_at(receiver, last));
        let step_at = self.timeline.next_at();
        let source = self.source.as_mut();
        let step_at = source.as_ref().zip(step_at).map(|(source, at)| source.started() + at);
        let unit_at = source.and_then(Source::next_at);
        let others = [unit_at, picture_at, step_at, self.call_at, self.closing];
        others.into_iter().flatten().fold(self.stats_at, Time::min)
    }

    /// Does all that is due.
    fn turn(&mut self) {
        let now = self.now();
        self.feed(now);
        self.play();
        while let Some(change) = self.timeline.pop(self.elapsed(now)) {
            self.change_link(now, &change);
        }
        if self.call_at.is_some_and(|at| at <= now) {
            self.call_at = None;
            self.call();
        }
        if now >= self.stats_at {
            self.stats_at = now + STATS_INTERVAL;
            self.tell_stats(now);
        }
    }

    fn feed(&mut self, now: Time) {
        let Some(source) = &mut self.source else { return };
        while let Some(unit) = source.pop(now) {
            self.demo.ends.sender.with(|sender, now| {
                if let Err(error) = sender.push_unit(now, &unit) {
                    tracing::error!(%error, "a unit of the clip was not taken");
                }
            });
        }
        if source.next_at().is_none() {
            self.begin_closing();
        }
    }

    fn play(&mut self) {
        let last = self.last_picture();
        let show = &mut self.show;
        let units = self.demo.ends.receiver.with(|receiver, now| show.take(receiver, now, last));
        let Some(page) = &self.demo.page else { return };
        for unit in &units {
            page.media(unit);
        }
    }

    fn begin_closing(&mut self) {
        let now = self.now();
        if let Some(source) = &mut self.source {
            source.stop(now);
        }
        let latency = self.demo.config.latency;
        self.closing.get_or_insert(now + latency + GOODBYE);
    }

    fn call(&mut self) {
        let paths = self.demo.ends.paths.clone();
        if let Err(error) = self.demo.ends.sender.with(|sender, now| sender.connect(now, &paths)) {
            tracing::error!(%error, "the receiver cannot be called");
        }
    }

    fn on_event(&mut self, happened: Event) {
        let told = match happened {
            Event::Connected(_) => self.on_connected(),
            Event::Path(PathEvent::StateChanged { path, to, .. }) => {
                Some(self.narrator.path_state(path, to))
            }
            Event::Path(PathEvent::DataPathChanged { from, to }) => {
                self.data_path = to;
                Some(self.narrator.data_path(from, to))
            }
            Event::Dropping(Notice::LeftOut { class, pictures, span }) => {
                Some(self.narrator.left_out(class, pictures, span, self.carried()))
            }
            Event::Dropping(Notice::WholeAgain { class }) => Some(self.narrator.whole_again(class)),
            Event::Disconnected(how) => self.on_disconnected(&how),
            Event::Refused(refusal) => {
                self.on_disconnected(&Disconnect::Lost { reason: refusal.to_string() })
            }
            Event::TurnedAway { .. }
            | Event::Path(_)
            | Event::SourceChanged(_)
            | Event::Writable
            | Event::RateChanged(_)
            | Event::OutputBehind(_)
            | Event::MediaDue => None,
        };
        told.into_iter().for_each(|event| self.tell_event(event));
    }

    /// What the network carries at the moment.
    fn carried(&self) -> Option<Rate> {
        let stats = self.demo.ends.sender.with(|sender, _| sender.stats());
        Some(stats.connection?.rate?.carries)
    }

    fn on_connected(&mut self) -> Option<NewEvent> {
        self.data_path = PathId(0);
        if let Some(page) = &self.demo.page {
            page.reconnected();
        }
        if self.source.is_none() {
            self.source = Some(Source::start(self.now(), self.demo.config.length));
            return None;
        }
        let text = "The receiver is connected again.".to_owned();
        Some(event(Severity::Good, EventKind::PeerConnected, None, text))
    }

    fn on_disconnected(&mut self, how: &Disconnect) -> Option<NewEvent> {
        let Disconnect::Lost { reason } = how else { return None };
        self.call_at = Some(self.now() + CALL_AGAIN_AFTER);
        if let Some(page) = &self.demo.page {
            page.reconnecting(CALL_AGAIN_AFTER, format!("The receiver is lost: {reason}."));
        }
        let text = format!("The receiver is lost: {reason}.");
        Some(event(Severity::Bad, EventKind::PeerLost, None, text))
    }

    fn on_request(&mut self, request: &PageRequest) {
        let done = match &request.request {
            Request::SetLink(set) => self.set_link(set),
            Request::SetTreatment(treatment) => self.set_treatment(treatment),
            Request::Preset { preset } => {
                self.set_preset(*preset);
                Ok(())
            }
            Request::SetLatency { .. } => Err("The latency is chosen at the start.".to_owned()),
            Request::Choose { .. } | Request::Seen { .. } => {
                Err("There are no channels here.".to_owned())
            }
            Request::Restart => Err("The demo runs already.".to_owned()),
            Request::PageStats(stats) => {
                tracing::debug!(?stats, "page");
                Ok(())
            }
        };
        if let (Err(text), Some(page)) = (done, &self.demo.page) {
            page.refuse(request, text);
        }
    }

    fn set_link(&mut self, set: &SetLink) -> Result<(), String> {
        let now = self.now();
        let index = set.path.checked_sub(1).and_then(|index| usize::try_from(index).ok());
        let stats = self.demo.ends.links.stats();
        let Some(link) = index.and_then(|index| stats.get(index)) else {
            return Err(format!("Path {} has no link of its own here.", set.path));
        };
        for change in links::changes_to(link, &set.link) {
            self.change_link(now, &change);
        }
        Ok(())
    }

    fn change_link(&mut self, now: Time, change: &LinkChange) {
        if let Err(error) = self.demo.ends.links.change(change) {
            tracing::error!(%error, "a link was not changed");
            return;
        }
        let elapsed = self.elapsed(now);
        match change {
            LinkChange::Cut(link) => {
                let data_link = self.demo.config.links.get(self.data_path.0 as usize);
                let carried_data = data_link.is_some_and(|data| data.name == *link);
                self.show.gaps.on_cut(link, carried_data, elapsed);
            }
            LinkChange::Restore(link) => self.show.gaps.on_restored(link, elapsed),
            LinkChange::Rebind(_) | LinkChange::Set(_) => {}
        }
        if let Some(event) = self.narrator.link(now, change) {
            self.tell_event(event);
        }
    }

    fn set_treatment(&mut self, wanted: &page::Treatment) -> Result<(), String> {
        let Some((class, treatment)) = treatments::from_page(wanted) else {
            return Err(format!("The treatment of {} cannot be that.", wanted.class));
        };
        let set = |sender: &mut anabranch_session::Sender, now| {
            sender.set_treatment(now, class, treatment)
        };
        self.demo.ends.sender.with(set).map_err(|error| error.to_string())?;
        let name = treatments::class_name(&wanted.class).unwrap_or_default();
        let order = if treatment.ordered { "ordered" } else { "in any order" };
        self.tell_treatments(format!(
            "{name}: from now on {}, {order}, priority {}.",
            treatment.reliability, treatment.priority
        ));
        Ok(())
    }

    fn set_preset(&mut self, preset: page::Preset) {
        let preset = treatments::preset_from_page(preset);
        self.demo.ends.sender.with(|sender, now| sender.set_treatments(now, preset.table()));
        self.tell_treatments(format!("Treatments: from now on {preset}, {}.", preset.purpose()));
    }

    fn tell_treatments(&mut self, text: String) {
        if let Some(page) = &self.demo.page {
            let table = self.demo.ends.sender.with(|sender, _| *sender.treatments());
            page.treatments(treatments::to_page(&table, self.demo.config.latency));
        }
        self.tell_event(event(Severity::Info, EventKind::TreatmentChanged, None, text));
    }

    fn tell_event(&mut self, event: NewEvent) {
        let elapsed = self.elapsed(self.now());
        (self.tell)(News::Event { elapsed, text: &event.text });
        if self.events.len() < EVENTS_KEPT {
            self.events.push(EventReport { at_s: elapsed.as_secs_f64(), text: event.text.clone() });
        }
        if let Some(page) = &self.demo.page {
            page.event(event);
        }
    }

    fn tell_stats(&mut self, now: Time) {
        let sender = self.demo.ends.sender.with(|sender, _| sender.stats());
        let abandoned = measure::abandoned(&sender);
        for event in self.narrator.gathered(now, &self.demo.ends.links.stats(), &abandoned) {
            self.tell_event(event);
        }
        let stats = self.stats();
        if now >= self.snapshot_at && self.source.is_some() && self.closing.is_none() {
            self.snapshot_at = now + SNAPSHOT_INTERVAL;
            let snapshot = Snapshot {
                elapsed: self.elapsed(now),
                stats: &stats,
                psnr_y_db: self.show.psnr_y_db().0,
                pages: self.demo.page.as_ref().map_or(0, crate::page::PageServer::pages),
            };
            (self.tell)(News::Second(&snapshot));
        }
        if let Some(page) = &self.demo.page {
            page.stats(stats);
        }
    }

    fn stats(&self) -> Stats {
        let sender = self.demo.ends.sender.with(|sender, _| sender.stats());
        let (receiver, latency) =
            self.demo.ends.receiver.with(|receiver, _| (receiver.stats(), receiver.latency()));
        let frames = self.show.frames();
        let connection = sender.connection.as_ref();
        let advice = connection.and_then(|connection| advise(&Measures::of(connection)));
        Stats {
            now_us: 0,
            paths: measure::paths(connection, &self.demo.ends.links.stats()),
            layers: measure::layers(&sender, &receiver),
            levels: LevelStats::of(receiver.connection.as_ref()),
            frames: FrameCounts { shown: frames.shown, late: frames.late, lost: frames.lost },
            delay_ms: self.show.delays.recent(),
            buffer_ms: self.show.buffered().map(millis),
            latency_ms: millis(latency),
            advised_latency_ms: advice.map(|advice| millis(advice.latency)),
        }
    }

    fn report(&mut self) -> Report {
        let now = self.now();
        let preset = self.demo.ends.sender.with(|sender, _| sender.treatments().preset());
        let Stats { paths, layers, latency_ms, .. } = self.stats();
        let (psnr_y_db, psnr_y_full_db) = self.show.psnr_y_db();
        let sent_until = self.source.as_ref().and_then(Source::last_picture).unwrap_or(now);
        Report {
            program: concat!("anabranch ", env!("CARGO_PKG_VERSION")),
            seed: self.demo.config.seed,
            seconds: self.elapsed(sent_until).as_secs_f64(),
            latency_ms,
            treatments: preset,
            frames: self.show.frames(),
            psnr_y_db,
            psnr_y_full_db,
            delay_ms: self.show.delays.summary(),
            longest_gap_ms: millis(self.show.gaps.longest()),
            handoffs: self.show.gaps.handoffs().to_vec(),
            paths,
            layers,
            events: std::mem::take(&mut self.events),
        }
    }

    /// Ends the session in order.
    async fn say_goodbye(&self) {
        self.demo.ends.sender.with(anabranch_session::Sender::finish);
        let sender = &self.demo.ends.sender;
        let ended = async {
            while let Some(event) = sender.next_event().await {
                if matches!(event, Event::Disconnected(_)) {
                    return;
                }
            }
        };
        // A receiver that all links are cut to cannot say goodbye.
        let _in_time = timeout(GOODBYE, ended).await;
    }

    fn last_picture(&self) -> Option<Time> {
        self.source.as_ref()?.last_picture()
    }

    /// Since the first picture.
    fn elapsed(&self, now: Time) -> Duration {
        self.source.as_ref().map_or(Duration::ZERO, |source| now - source.started())
    }

    fn now(&self) -> Time {
        self.demo.clock.now()
    }
}
