//! [`send`]: the loop between the input and the session.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::ops::ControlFlow;
use std::time::Duration;

use anabranch_driver::{Clock, Driver, Handle, Recording};
use anabranch_media::Unit;
use anabranch_sansio::{FourTuple, Time};
use anabranch_session::treatment::TreatmentTable;
use anabranch_session::{Disconnect, Event, Role, Sender, SenderConfig};
use anabranch_transport::RateSignal;
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use crate::input::{Batch, Feed, Input, InputOptions, Item, Media, Pace, Reading, Timing};
use crate::net::{NetError, unpredictable_rng};
use crate::service::{
    Before, Multihomed, Observer, RateLine, Retries, Retry, Secured, ServiceError, Severity,
    Snapshot, Stop, TOKEN_OF_VIEWER, Update, Uplinks, Wait, sentence_of,
};
use crate::url::SessionUrl;

/// Media that is so late goes on from where it is: the machine slept, or nobody was there.
const LAG_MAX: Duration = Duration::from_secs(1);

/// Packets pushed while the machine is locked.
const PUSHES_AT_ONCE: usize = 256;

/// How long what is under way may take when the user wants the end.
const FAREWELL: Duration = Duration::from_secs(5);

const STATS_INTERVAL: Duration = Duration::from_secs(1);

/// What to send, whereto and how.
#[derive(Debug, Clone)]
pub struct SendOptions {
    /// Where the media comes from.
    pub input: Input,
    /// How it is read.
    pub input_options: InputOptions,
    /// Where it goes.
    pub url: SessionUrl,
    /// Whether to call over every interface that reaches the receiver, as interfaces come and go.
    pub over_all_interfaces: bool,
    /// How it is treated.
    pub treatments: TreatmentTable,
    /// How often to try again when the receiver cannot be reached or is lost.
    pub retries: Retries,
    /// Where every packet is recorded, if that is wanted.
    pub recording: Recording,
}

/// Sends until the input has ended and all is delivered or given up. Returns the final measures.
///
/// # Errors
/// Says what was wrong with the input or the URL, or why the receiver could not be reached.
pub async fn send(
    options: SendOptions,
    stop: Stop,
    observer: &mut Observer<'_>,
) -> Result<Snapshot, ServiceError> {
    let SendOptions {
        input,
        input_options,
        url,
        over_all_interfaces,
        treatments,
        retries,
        recording,
    } = options;
    if input_options.pace == Pace::Fast && !treatments.is_complete() {
        return Err(ServiceError::Senseless(
            "what is sent as fast as the network takes it must be reliable: give --treatment \
             reliable with --fast",
        ));
    }
    if url.token.is_some() {
        return Err(ServiceError::Senseless(TOKEN_OF_VIEWER));
    }
    let input_options =
        InputOptions { program: input_options.program.or(url.program), ..input_options };
    let clock = Clock::start();
    let feed = Feed::open(&input, input_options, clock).await?;
    let (mut sockets, uplinks) = Uplinks::open(&url, over_all_interfaces).await?;
    sockets.record(recording);
    let secured = Secured::of(&url)?;
    let session = url.session().with_encryption(secured.encryption());
    let config =
        SenderConfig { format: feed.format.clone(), treatments, ..SenderConfig::mpeg_ts(session) };
    let mut sender = Sender::new(config, unpredictable_rng()?);
    sender.set_local_addresses(uplinks.plan().announced());
    let handle = Driver::spawn_resting(sender, sockets, clock)?;
    let run = Run {
        handle: handle.clone(),
        uplinks,
        feed,
        pending: VecDeque::new(),
        feed_has_ended: false,
        start: None,
        was_connected: false,
        secured,
        retry: Retry::new(retries),
        farewell: None,
        before: Before::default(),
        observer,
    };
    let result = run.run(stop).await;
    handle.close();
    handle.closed().await?;
    result
}

impl Multihomed for Sender {
    fn open_path(&mut self, now: Time, path: FourTuple) {
        Self::open_path(self, now, path);
    }

    fn close_paths_from(&mut self, now: Time, local: SocketAddr) {
        Self::close_paths_from(self, now, local);
    }
}

struct Run<'a, 'b> {
    handle: Handle<Sender>,
    uplinks: Uplinks,
    feed: Feed,
    /// Media that was read and not pushed.
    pending: VecDeque<Item>,
    feed_has_ended: bool,
    /// When the media's own time began, on the clock.
    start: Option<Time>,
    was_connected: bool,
    secured: Secured,
    retry: Retry,
    /// Until when what is under way may take, once the user wants the end.
    farewell: Option<Time>,
    before: Before,
    observer: &'a mut Observer<'b>,
}

/// Whether media could be pushed, and when more is to be.
enum Pushed {
    /// The next item is due then.
    NextAt(Time),
    /// More is to be pushed at once, when others had their turn.
    More,
    /// An event or the input must come first.
    Nothing,
}

impl Run<'_, '_> {
    async fn run(mut self, mut stop: Stop) -> Result<Snapshot, ServiceError> {
        if self.uplinks.plan().calls() {
            self.call()?;
        } else {
            self.say(Severity::Info, &format!("waiting for a receiver at {}", self.listening()));
        }
        let (severity, text) = self.secured.opening(self.uplinks.plan().heard_at());
        self.say(severity, &text);
        let mut ticks = interval(STATS_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let wake = match self.push_due() {
                Pushed::NextAt(at) => Some(at),
                Pushed::More => Some(Time::ZERO),
                Pushed::Nothing => None,
            };
            let deadline = self.handle.clock().instant(wake.unwrap_or_default()).into();
            let wants_input = self.wants_input();
            let handle = self.handle.clone();
            tokio::select! {
                event = handle.next_event() => match event {
                    Some(event) => {
                        if self.on_event(event)?.is_break() {
                            return Ok(self.final_snapshot());
                        }
                    }
                    None => return self.closed_early().await,
                },
                batch = self.feed.next(), if wants_input => self.on_batch(batch)?,
                () = sleep_until(deadline), if wake.is_some() => {}
                wait = self.retry.wait() => self.on_wait(wait)?,
                changed = self.uplinks.changed() => {
                    changed?;
                    self.follow_interfaces().await?;
                }
                _ = ticks.tick() => {
                    if self.on_tick() {
                        return Ok(self.final_snapshot());
                    }
                }
                () = stop.asked(), if self.farewell.is_none() => {
                    if self.on_stop() {
                        return Ok(self.final_snapshot());
                    }
                }
            }
        }
    }

    fn call(&mut self) -> Result<(), ServiceError> {
        let paths = match self.uplinks.paths() {
            // Somebody was there, and will be again when the network is.
            Err(error @ NetError::NoRoute { .. }) if self.was_connected => {
                return self.on_failure(error.to_string());
            }
            paths => paths?,
        };
        if let Some(primary) = paths.first() {
            self.say(Severity::Info, &format!("calling the receiver at {}", primary.remote));
        }
        self.handle.with(|sender, now| sender.connect(now, &paths))?;
        Ok(())
    }

    /// Paths come and go with the interfaces.
    async fn follow_interfaces(&mut self) -> Result<(), ServiceError> {
        for (severity, text) in self.uplinks.follow(&self.handle).await? {
            self.say(severity, &text);
        }
        Ok(())
    }

    /// Pushes what is due, if it may be.
    fn push_due(&mut self) -> Pushed {
        if self.pending.is_empty() {
            return Pushed::Nothing;
        }
        let Self { feed, pending, start, .. } = self;
        let (timing, can_wait) = (feed.timing, feed.can_wait);
        self.handle.with(|sender, now| {
            if can_wait && !sender.is_connected() {
                return Pushed::Nothing;
            }
            let waits_for_room = can_wait && sender.treatments().is_complete();
            for _ in 0..PUSHES_AT_ONCE {
                let Some(item) = pending.front() else {
                    if timing == Timing::Arrival {
                        sender.end_batch(now);
                    }
                    return Pushed::Nothing;
                };
                let at = match timing {
                    Timing::Arrival => item.at,
                    Timing::None => now,
                    Timing::Media => due(start, item.at, now),
                };
                if at > now {
                    return Pushed::NextAt(at);
                }
                if waits_for_room && !sender.has_room() {
                    return Pushed::Nothing;
                }
                if let Some(item) = pending.pop_front() {
                    push(sender, now, at, item.media);
                }
            }
            Pushed::More
        })
    }

    /// Whether the input is to be read now.
    fn wants_input(&self) -> bool {
        let may_go_on = !self.feed.can_wait || self.handle.with(|sender, _| sender.is_connected());
        self.pending.is_empty() && !self.feed_has_ended && self.farewell.is_none() && may_go_on
    }

    fn on_batch(&mut self, batch: Option<Batch>) -> Result<(), ServiceError> {
        match batch {
            // Nothing was pending: see `wants_input`.
            Some(Ok(Reading::Items(items))) => self.pending = items.into(),
            Some(Ok(Reading::Note(text))) => self.say(Severity::Warning, &text),
            Some(Err(error)) => return Err(error.into()),
            None if !self.was_connected => return Err(ServiceError::NobodyCame),
            None => {
                self.feed_has_ended = true;
                self.finish_if_connected();
            }
        }
        self.tell_notices();
        Ok(())
    }

    /// Says that the media has ended, now or to the receiver that comes back.
    fn finish_if_connected(&self) {
        self.handle.with(|sender, now| {
            if sender.is_connected() {
                sender.finish(now);
            }
        });
    }

    /// What the tracks are is said as they are found.
    fn tell_notices(&mut self) {
        while let Some(notice) = self.handle.with(|sender, _| sender.poll_notice()) {
            self.say(Severity::Info, &notice.to_string());
        }
    }

    fn on_event(&mut self, event: Event) -> Result<ControlFlow<()>, ServiceError> {
        self.say_event(&event);
        match event {
            Event::Connected(agreement) => {
                self.was_connected = true;
                self.retry.on_success();
                if let Some((severity, text)) =
                    self.secured.on_connected(agreement.peer_key.as_deref())
                {
                    self.say(severity, &text);
                }
                if self.feed_has_ended {
                    self.finish_if_connected();
                }
            }
            Event::Refused(refusal) if refusal.may_pass() => {
                let reason = format!("the receiver refuses: {refusal}");
                self.on_failure(reason)?;
            }
            Event::Refused(refusal) => return Err(self.secured.error_of(refusal)),
            Event::Disconnected(Disconnect::Ended) => return Ok(ControlFlow::Break(())),
            Event::Disconnected(Disconnect::Lost { reason }) => {
                if self.farewell.is_some() {
                    return Ok(ControlFlow::Break(()));
                }
                // What is lost now was to be given up nowhere, and cannot be read again.
                let is_complete = self.handle.with(|sender, _| sender.treatments().is_complete());
                if self.feed_has_ended && is_complete {
                    return Err(ServiceError::Lost { reason });
                }
                if self.feed.can_wait {
                    // The media stands still until somebody is there, and goes on from then.
                    self.start = None;
                }
                self.on_failure(reason)?;
            }
            Event::RateChanged(signal) => self.tell_rate(signal),
            Event::TurnedAway { .. }
            | Event::Path(_)
            | Event::SourceChanged(_)
            | Event::Writable
            | Event::Dropping(_)
            | Event::OutputBehind(_)
            | Event::MediaDue => {}
        }
        Ok(ControlFlow::Continue(()))
    }

    fn tell_rate(&mut self, signal: RateSignal) {
        let at_ms = self.handle.clock().now().as_millis();
        (self.observer)(Update::Rate(RateLine::of(at_ms, &signal)));
    }

    fn say_event(&mut self, event: &Event) {
        let (is_connected, stats) =
            self.handle.with(|sender, _| (sender.is_connected(), sender.stats()));
        let paths = stats.connection.map(|association| association.paths).unwrap_or_default();
        if let Some((severity, text)) = sentence_of(event, Role::Sender, is_connected, &paths) {
            self.say(severity, &text);
        }
    }

    /// The receiver could not be reached, or is lost.
    fn on_failure(&mut self, reason: String) -> Result<(), ServiceError> {
        if !self.uplinks.plan().calls() {
            if !self.retry.is_allowed() {
                return Err(ServiceError::Lost { reason });
            }
            let text = format!("{reason}; waiting for a receiver at {}", self.listening());
            self.say(Severity::Warning, &text);
            return Ok(());
        }
        if !self.retry.on_failure(reason.clone()) {
            return Err(ServiceError::Lost { reason });
        }
        self.say(Severity::Warning, &reason);
        if let Some((seconds, reason)) = self.retry.announcement() {
            (self.observer)(Update::Countdown { seconds, reason });
        }
        Ok(())
    }

    fn on_wait(&mut self, wait: Wait) -> Result<(), ServiceError> {
        match wait {
            Wait::Left(seconds, reason) => {
                (self.observer)(Update::Countdown { seconds, reason: &reason });
                Ok(())
            }
            Wait::Over => self.call(),
        }
    }

    /// True if the end has taken too long.
    fn on_tick(&mut self) -> bool {
        self.tell_notices();
        let snapshot = self.snapshot();
        (self.observer)(Update::Stats { snapshot: &snapshot, last: false });
        let now = self.handle.clock().now();
        let is_over = self.farewell.is_some_and(|until| until <= now);
        if is_over {
            self.handle.with(|sender, now| sender.leave(now, "the sender was stopped"));
        }
        is_over
    }

    /// The user wants the end. True if nobody must be told.
    fn on_stop(&mut self) -> bool {
        self.farewell = Some(self.handle.clock().now() + FAREWELL);
        self.pending.clear();
        self.handle.with(|sender, now| {
            let is_connected = sender.is_connected();
            if is_connected {
                sender.finish(now);
            } else {
                sender.leave(now, "the sender was stopped");
            }
            !is_connected
        })
    }

    async fn closed_early(&mut self) -> Result<Snapshot, ServiceError> {
        self.handle.closed().await?;
        Err(ServiceError::Lost { reason: "the sockets were closed".to_owned() })
    }

    fn final_snapshot(&mut self) -> Snapshot {
        let snapshot = self.snapshot();
        (self.observer)(Update::Stats { snapshot: &snapshot, last: true });
        snapshot
    }

    fn snapshot(&mut self) -> Snapshot {
        let before = &mut self.before;
        self.handle.with(|sender, now| Snapshot::of_sender(sender, now, before))
    }

    fn listening(&self) -> String {
        let bound: Vec<String> =
            self.uplinks.plan().bound().iter().map(ToString::to_string).collect();
        bound.join(", ")
    }

    fn say(&mut self, severity: Severity, text: &str) {
        (self.observer)(Update::Line { severity, text });
    }
}

/// When an item of a file is due. What is too late, or the first, is due now.
fn due(start: &mut Option<Time>, at: Time, now: Time) -> Time {
    let offset = at - Time::ZERO;
    let on_time = start.map(|start| start + offset).filter(|due| now - *due <= LAG_MAX);
    on_time.unwrap_or_else(|| {
        *start = Some(now.saturating_sub(offset));
        now
    })
}

/// The format was announced as the feed's, and the session is open until the feed ends: neither
/// error can come.
fn push(sender: &mut Sender, now: Time, at: Time, media: Media) {
    let pushed = match media {
        Media::Packet(packet) => sender.push_packet(now, at, &packet),
        Media::Unit(unit) => sender.push_unit(now, &Unit { at, ..unit }),
    };
    if let Err(error) = pushed {
        tracing::error!(%error, "media not taken");
    }
}
