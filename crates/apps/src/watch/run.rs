//! [`watch`]: the loop between the server and the page.

mod events;

use std::collections::BTreeSet;
use std::future::pending;
use std::time::Duration;

use anabranch_driver::{Clock, Recording};
use anabranch_sansio::Time;
use anabranch_television::channel::ChannelId;
use anabranch_television::protocol::{ChannelEntry, Report};
use anabranch_television::{NativeEvent, NativeViewer, Playout, PlayoutCounts, Viewer};
use anabranch_transport::{CloseReason, ConnectionStats};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use super::titles::{listed, title};
use super::{Hello, Line, WatchPage, Whom};
use crate::net::NetError;
use crate::page::PageRequest;
use crate::page::protocol::{Request, TunedState};
use crate::service::{
    BeforeWatching, Observer, Retries, Retry, Seen, ServiceError, Severity, Stop, Update, Wait,
    Watching,
};
use crate::url::{Carrier, Choice, Mode, NoSuchChannel, SessionUrl};

/// How often the page gets statistics.
const TICK: Duration = Duration::from_millis(200);

/// Ticks between two reports to the server.
const REPORT_TICKS: u32 = 5;

/// Urgent messages that wait to be shown: as many as a server keeps.
const UNSEEN_MAX: usize = 16;

/// How long the last words may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// What to watch, and how.
pub struct WatchOptions {
    /// Whom to call.
    pub url: SessionUrl,
    /// Whether to call over every interface that reaches the server, as interfaces come and go.
    pub over_all_interfaces: bool,
    /// What to watch first; else the first channel that is on air.
    pub channel: Option<Choice>,
    /// What entitles to channels that are not open to all.
    pub token: Option<String>,
    /// Only learns what channels there are.
    pub only_list: bool,
    /// How long to watch.
    pub span: Option<Duration>,
    /// How often to try again when the server cannot be reached or is lost.
    pub retries: Retries,
    /// Where every packet is recorded, if that is wanted.
    pub recording: Recording,
    /// Where it is shown.
    pub page: Option<WatchPage>,
    /// Channels that the user types.
    pub choices: mpsc::Receiver<Choice>,
}

/// What was watched.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Watched {
    /// Each channel, as a line for people.
    pub channels: Vec<String>,
    /// Pictures that were shown.
    pub pictures: u64,
    /// Pictures that never came, or not whole.
    pub missing: u64,
    /// From the last choice of a channel to its first picture.
    pub zap: Option<Duration>,
}

/// Watches until it is stopped.
///
/// # Errors
/// Says what was wrong with the URL, or why the server could not be reached.
pub async fn watch(
    options: WatchOptions,
    stop: Stop,
    observer: &mut Observer<'_>,
) -> Result<Watched, ServiceError> {
    check(&options.url)?;
    let clock = options.page.as_ref().map_or_else(Clock::start, WatchPage::clock);
    let program = concat!("anabranch watch ", env!("CARGO_PKG_VERSION")).to_owned();
    let hello = Hello { program, token: options.token, budget: options.url.latency };
    let playout = Playout::new(hello.budget);
    let whom = Whom {
        url: &options.url,
        over_all_interfaces: options.over_all_interfaces,
        recording: options.recording,
    };
    let line = Line::open(whom, hello, clock).await?;
    let handle = line.handle().clone();
    let mut run = Run {
        line,
        playout,
        wanted: options.channel,
        only_list: options.only_list,
        until: options.span.map(|span| clock.now() + span),
        channels: Vec::new(),
        retry: Retry::new(options.retries),
        page: options.page,
        goodbye: None,
        was_welcome: false,
        unseen: BTreeSet::new(),
        ticks: 0,
        leaving: None,
        zap: None,
        before: BeforeWatching::default(),
        observer,
    };
    let result = run.run(stop, options.choices).await;
    run.measure(run.network().as_ref(), true);
    let last = result.as_ref().map_or_else(ToString::to_string, |_| "the end".to_owned());
    if let Some(page) = &run.page {
        page.end(&last).await;
    }
    handle.close();
    handle.closed().await?;
    result
}

fn check(url: &SessionUrl) -> Result<(), ServiceError> {
    let senseless = if url.mode == Mode::Listener {
        "a viewer calls its server: give anabranch://HOST:PORT"
    } else if url.carrier != Carrier::Sctp {
        "a television server speaks SCTP: give anabranch://HOST:PORT"
    } else if url.program.is_some() || url.stream_id.is_some() {
        "program= and streamid= are for anabranch send: give --channel"
    } else if url.passphrase.is_some() {
        "a television server knows no passphrase=: leave it out"
    } else {
        return Ok(());
    };
    Err(ServiceError::Senseless(senseless))
}

struct Run<'a, 'b> {
    line: Line,
    playout: Playout,
    /// What the user wants to watch.
    wanted: Option<Choice>,
    only_list: bool,
    until: Option<Time>,
    channels: Vec<ChannelEntry>,
    retry: Retry,
    page: Option<WatchPage>,
    /// Why the server ended the session.
    goodbye: Option<String>,
    was_welcome: bool,
    /// Urgent messages that a page has not shown yet.
    unseen: BTreeSet<u32>,
    ticks: u32,
    /// When the end is no longer waited for.
    leaving: Option<Time>,
    zap: Option<Duration>,
    before: BeforeWatching,
    observer: &'a mut Observer<'b>,
}

impl Run<'_, '_> {
    async fn run(
        &mut self,
        mut stop: Stop,
        mut choices: mpsc::Receiver<Choice>,
    ) -> Result<Watched, ServiceError> {
        let handle = self.line.handle().clone();
        let (severity, text) = self.line.opening();
        self.say(severity, &text);
        self.call()?;
        let mut ticks = interval(TICK);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
        let mut has_keys = true;
        loop {
            let now = handle.clock().now();
            if self.leaving.is_some_and(|until| until <= now) {
                return Ok(self.watched());
            }
            if self.leaving.is_none() && self.until.is_some_and(|until| until <= now) {
                self.leave(now);
            }
            let wakeup = [self.playout.poll_timeout(), self.until, self.leaving];
            let wakeup = wakeup.into_iter().flatten().filter(|at| *at > now).min();
            tokio::select! {
                event = handle.next_event() => match event {
                    Some(NativeEvent::Session(event)) => self.on_event(event)?,
                    Some(NativeEvent::Closed(reason)) => {
                        if self.leaving.is_some() {
                            return Ok(self.watched());
                        }
                        self.on_closed(&reason)?;
                    }
                    None => return Ok(self.watched()),
                },
                wait = self.retry.wait() => self.on_wait(wait)?,
                _ = ticks.tick() => self.on_tick(),
                choice = choices.recv(), if has_keys => match choice {
                    Some(choice) => self.on_typed(choice),
                    None => has_keys = false,
                },
                changed = self.line.changed() => {
                    changed?;
                    self.follow_interfaces().await?;
                }
                request = next_request(&mut self.page) => self.on_request(&request),
                () = sleep_until(handle.clock().instant(wakeup.unwrap_or_default()).into()),
                    if wakeup.is_some() => {}
                () = stop.asked(), if self.leaving.is_none() => self.leave(now),
            }
            self.show();
        }
    }

    fn call(&mut self) -> Result<(), ServiceError> {
        match self.line.call() {
            // It was there, and will be again when the network is.
            Err(ServiceError::Net(error @ NetError::NoRoute { .. })) if self.was_welcome => {
                self.on_failure(error.to_string())
            }
            Err(error) => Err(error),
            Ok(remote) => {
                if let Some(remote) = remote {
                    self.say(Severity::Info, &format!("calling the server at {remote}"));
                }
                Ok(())
            }
        }
    }

    /// Paths come and go with the interfaces.
    async fn follow_interfaces(&mut self) -> Result<(), ServiceError> {
        for (severity, text) in self.line.follow().await? {
            self.say(severity, &text);
        }
        Ok(())
    }

    fn on_request(&mut self, asked: &PageRequest) {
        match asked.request {
            Request::Choose { number } => {
                if let Err(error) = self.choose(Choice::Number(number)) {
                    self.on_page(|page| page.refuse(asked, &error.to_string()));
                }
            }
            Request::Seen { id } => {
                // Several pages show it, and it may hold no more by now.
                if self.unseen.remove(&id) {
                    self.act(|viewer, _| viewer.seen(id));
                }
            }
            Request::PageStats(_) => {}
            // The page was offered nothing of that kind: such requests were refused before.
            Request::SetLink(_)
            | Request::SetTreatment(_)
            | Request::Preset { .. }
            | Request::SetLatency { .. }
            | Request::Restart => {}
        }
    }

    /// The user typed what to watch.
    fn on_typed(&mut self, choice: Choice) {
        if let Err(error) = self.choose(choice) {
            self.say(Severity::Warning, &error.to_string());
        }
    }

    fn choose(&mut self, choice: Choice) -> Result<(), NoSuchChannel> {
        let id = choice.find(&self.channels)?.id;
        self.wanted = Some(choice);
        self.tune(id);
        Ok(())
    }

    fn tune(&mut self, id: ChannelId) {
        let text = format!("watching {}", self.name(id));
        self.say(Severity::Info, &text);
        self.tell_tuned(id, TunedState::Asked, None);
        self.zap = None;
        self.playout.begin(true);
        self.act(|viewer, now| viewer.tune(now, id));
    }

    /// Shows what is due.
    fn show(&mut self) {
        let now = self.line.handle().clock().now();
        while let Some(unit) = self.playout.poll(now) {
            self.tell_zap();
            if let Some(page) = &mut self.page {
                page.show(&unit);
            }
        }
    }

    fn tell_zap(&mut self) {
        if self.zap.is_some() {
            return;
        }
        self.zap = self.line.handle().with(|viewer, _| viewer.viewer().stats().zap);
        if let Some(zap) = self.zap {
            let text = format!("the first picture came after {} ms", zap.as_millis());
            self.say(Severity::Info, &text);
        }
    }

    fn on_tick(&mut self) {
        let (network, counts) = (self.network(), self.playout.counts());
        if let Some(page) = &self.page {
            page.stats(network.as_ref(), counts);
        }
        self.ticks += 1;
        if self.ticks.is_multiple_of(REPORT_TICKS) {
            self.measure(network.as_ref(), false);
        }
        if self.ticks.is_multiple_of(REPORT_TICKS) && network.is_some() {
            let zap_ms = self.zap.map(|zap| zap.as_secs_f64() * 1e3);
            let PlayoutCounts { pictures: shown, late, missing: lost } = counts;
            self.act(|viewer, _| viewer.report(Report { shown, late, lost, zap_ms }));
        }
    }

    /// Tells how it goes.
    fn measure(&mut self, network: Option<&ConnectionStats>, last: bool) {
        let tuned = self.line.handle().with(|viewer, _| viewer.viewer().channel());
        let watching = Watching::new(
            &Seen {
                now: self.line.handle().clock().now(),
                channel: self.channels.iter().find(|entry| Some(entry.id) == tuned),
                budget: self.line.budget(),
                counts: self.playout.counts(),
                zap: self.zap,
                network,
            },
            &mut self.before,
        );
        (self.observer)(Update::Watching { watching: &watching, last });
    }

    fn on_closed(&mut self, reason: &CloseReason) -> Result<(), ServiceError> {
        self.playout.begin(true);
        // Those that hold are told anew.
        self.unseen.clear();
        self.on_page(|page| page.end_urgent(None));
        if let Some(refusal) = self.line.refusal(reason) {
            return Err(refusal);
        }
        let reason = match self.goodbye.take() {
            Some(text) => format!("the server says goodbye: {text}"),
            None => format!("the server is lost: {reason}"),
        };
        self.on_failure(reason)
    }

    /// The server is lost, or cannot be reached.
    fn on_failure(&mut self, reason: String) -> Result<(), ServiceError> {
        self.say(Severity::Warning, &reason);
        if !self.retry.on_failure(reason.clone()) {
            return Err(ServiceError::Lost { reason });
        }
        if let Some((seconds, reason)) = self.retry.announcement() {
            let reason = reason.to_owned();
            self.count_down(seconds, &reason);
        }
        Ok(())
    }

    fn on_wait(&mut self, wait: Wait) -> Result<(), ServiceError> {
        match wait {
            Wait::Left(seconds, reason) => {
                self.count_down(seconds, &reason);
                Ok(())
            }
            Wait::Over => self.call(),
        }
    }

    fn count_down(&mut self, seconds: u64, reason: &str) {
        if let Some(page) = &self.page {
            page.reconnecting(Duration::from_secs(seconds), reason);
        }
        (self.observer)(Update::Countdown { seconds, reason });
    }

    fn leave(&mut self, now: Time) {
        self.leaving = Some(now + FAREWELL);
        self.line.handle().with(NativeViewer::leave);
    }

    fn watched(&self) -> Watched {
        let counts = self.playout.counts();
        Watched {
            channels: self.channels.iter().map(listed).collect(),
            pictures: counts.pictures,
            missing: counts.missing + counts.late,
            zap: self.zap,
        }
    }

    fn name(&self, id: ChannelId) -> String {
        let entry = self.channels.iter().find(|entry| entry.id == id);
        entry.map_or_else(|| format!("channel {}", id.0), title)
    }

    fn tell_tuned(&self, id: ChannelId, state: TunedState, text: Option<&str>) {
        if let Some(entry) = self.channels.iter().find(|entry| entry.id == id) {
            self.on_page(|page| page.tuned(entry.number, state, text));
        }
    }

    fn network(&self) -> Option<ConnectionStats> {
        self.line.handle().with(|viewer, _| viewer.network())
    }

    fn act(&self, act: impl FnOnce(&mut Viewer, Time)) {
        self.line.act(act);
    }

    fn on_page(&self, act: impl FnOnce(&WatchPage)) {
        if let Some(page) = &self.page {
            act(page);
        }
    }

    fn say(&mut self, severity: Severity, text: &str) {
        if let Some(page) = &self.page {
            page.tell(severity == Severity::Warning, text);
        }
        (self.observer)(Update::Line { severity, text });
    }
}

/// What a page asks for next; nothing, ever, where there is none.
async fn next_request(page: &mut Option<WatchPage>) -> PageRequest {
    match page {
        Some(page) => page.next_request().await,
        None => pending().await,
    }
}
