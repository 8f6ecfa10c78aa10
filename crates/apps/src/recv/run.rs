//! [`recv`]: the loop between the session and the output.

use std::future::ready;
use std::time::Duration;

use anabranch_driver::{Clock, Driver, Handle, Recording};
use anabranch_media::piece::Format;
use anabranch_media::playout::Released;
use anabranch_media::ts::{PACKET_LEN, Packet, PcrMeter};
use anabranch_sansio::Time;
use anabranch_session::{Disconnect, Event, Receiver, ReceiverConfig, Role, SourceFormat};
use tokio::time::{MissedTickBehavior, interval, sleep_until};

use crate::net::{Network, Plan, unpredictable_rng};
use crate::output::{Output, Sink};
use crate::service::{
    Before, Observer, Retries, Retry, Secured, ServiceError, Severity, Snapshot, Stop,
    TOKEN_OF_VIEWER, Update, Wait, sentence_of,
};
use crate::url::SessionUrl;

/// Bytes that are taken to be written at once, at least one release: what waits in the receiver
/// still can be left out when the output is slow, what was taken is written.
const TAKEN_AT_ONCE: usize = 64 << 10;

/// Arrivals that are kept for a tap.
const ARRIVALS_MAX: usize = 1 << 14;

/// How long after the playout's time its rest is waited for.
const DRAIN_EXTRA: Duration = Duration::from_secs(1);

const STATS_INTERVAL: Duration = Duration::from_secs(1);

/// What to receive, and whereto.
pub struct RecvOptions {
    /// Where the media comes from.
    pub url: SessionUrl,
    /// Where it goes; `None`: to the tap only.
    pub output: Option<Output>,
    /// Whether to wait for the next sender when one has ended.
    pub keep: bool,
    /// How often to try again when the sender cannot be reached or is lost.
    pub retries: Retries,
    /// Who else sees what happens.
    pub tap: Option<Box<dyn Tap>>,
    /// Where every packet is recorded, if that is wanted.
    pub recording: Recording,
}

/// Sees all that a receiver does: a page, for example. It is called from the service's task and
/// must not block.
pub trait Tap: Send {
    /// The service runs; the handle reaches the receiver.
    fn start(&mut self, handle: &Handle<Receiver>);

    /// Something happened in the session.
    fn on_event(&mut self, now: Time, event: &Event);

    /// Media is due at `now`.
    fn on_media(&mut self, now: Time, released: &Released);

    /// The sender is called again in so many seconds.
    fn on_countdown(&mut self, seconds: u64, reason: &str);

    /// The service ends, for this reason.
    fn end(&mut self, text: &str);
}

/// Receives until the sender has ended. Returns the final measures.
///
/// # Errors
/// Says what was wrong with the output or the URL, or why the sender could not be reached.
pub async fn recv(
    options: RecvOptions,
    stop: Stop,
    observer: &mut Observer<'_>,
) -> Result<Snapshot, ServiceError> {
    let RecvOptions { url, output, keep, retries, tap, recording } = options;
    if url.program.is_some() {
        return Err(ServiceError::Senseless(
            "program= is the sender's choice: give it to anabranch send",
        ));
    }
    if url.token.is_some() {
        return Err(ServiceError::Senseless(TOKEN_OF_VIEWER));
    }
    let sink = match &output {
        Some(output) => Some(Sink::open(output).await?),
        None => None,
    };
    let (mut sockets, plan) = Network::open(&url).await?.into_parts();
    sockets.record(recording);
    let secured = Secured::of(&url)?;
    let mut session = url.session().with_encryption(secured.encryption());
    session.confirms = true;
    let arrivals_max = if tap.is_some() { ARRIVALS_MAX } else { 0 };
    let config = ReceiverConfig { arrivals_max, ..ReceiverConfig::new(session) };
    let mut receiver = Receiver::new(config, unpredictable_rng()?);
    receiver.set_local_addresses(plan.announced());
    let clock = Clock::start();
    let handle = Driver::spawn_resting(receiver, sockets, clock)?;
    let mut run = Run {
        handle: handle.clone(),
        plan,
        sink,
        tap,
        keep,
        secured,
        retry: Retry::new(retries),
        meter: PcrMeter::new(),
        ending: None,
        is_due: false,
        before: Before::default(),
        observer,
    };
    let result = run.run(stop).await;
    if let Err(error) = &result {
        run.take_leave(error);
    }
    let finished = run.finish(&result).await;
    handle.close();
    handle.closed().await?;
    finished?;
    result
}

struct Run<'a, 'b> {
    handle: Handle<Receiver>,
    plan: Plan,
    sink: Option<Sink>,
    tap: Option<Box<dyn Tap>>,
    keep: bool,
    secured: Secured,
    retry: Retry,
    meter: PcrMeter,
    /// Why the service ends once all that came is handed on, and when it ends in any case.
    ending: Option<Ending>,
    /// Whether something is due that the output did not get yet.
    is_due: bool,
    before: Before,
    observer: &'a mut Observer<'b>,
}

/// A part of what is due, taken from the receiver at once.
struct Part {
    now: Time,
    released: Vec<Released>,
    /// Whether nothing more is due.
    is_last: bool,
    /// Whether the sender waits to hear that all is written.
    is_to_confirm: bool,
}

fn take_due(receiver: &mut Receiver, now: Time) -> Part {
    let (mut released, mut room, mut is_last) = (Vec::new(), TAKEN_AT_ONCE, false);
    while room > 0 && !is_last {
        match receiver.poll_release(now) {
            Some(items) => {
                room = room.saturating_sub(items.bytes.len());
                released.push(items);
            }
            None => is_last = true,
        }
    }
    let is_to_confirm = is_last && receiver.is_to_confirm();
    Part { now, released, is_last, is_to_confirm }
}

struct Ending {
    result: Result<(), ServiceError>,
    until: Time,
}

impl Run<'_, '_> {
    async fn run(&mut self, mut stop: Stop) -> Result<Snapshot, ServiceError> {
        let handle = self.handle.clone();
        if let Some(tap) = &mut self.tap {
            tap.start(&handle);
        }
        if self.plan.calls() {
            self.call()?;
        } else {
            self.say(Severity::Info, &format!("waiting for a sender at {}", self.listening()));
        }
        let (severity, text) = self.secured.opening(self.plan.heard_at());
        self.say(severity, &text);
        let mut ticks = interval(STATS_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let is_due = self.is_due;
            if let Some(ending) = self.ending.take_if(|ending| ending.is_over(&handle, is_due)) {
                ending.result?;
                return Ok(self.final_snapshot());
            }
            let deadline = self.ending.as_ref().map(|ending| ending.until).unwrap_or_default();
            tokio::select! {
                event = handle.next_event() => match event {
                    Some(event) => self.on_event(event).await?,
                    None => return closed_early(&handle).await,
                },
                // A part at a time: an output that never has time must not take all of it here.
                () = ready(()), if self.is_due => self.hand_on().await?,
                wait = self.retry.wait() => self.on_wait(wait)?,
                _ = ticks.tick() => self.on_tick().await?,
                () = sleep_until(handle.clock().instant(deadline).into()),
                    if self.ending.is_some() => {}
                () = stop.asked(), if self.ending.is_none() => self.on_stop(),
            }
        }
    }

    fn call(&mut self) -> Result<(), ServiceError> {
        let paths = self.plan.paths()?;
        if let Some(primary) = paths.first() {
            self.say(Severity::Info, &format!("calling the sender at {}", primary.remote));
        }
        self.handle.with(|receiver, now| receiver.connect(now, &paths))?;
        Ok(())
    }

    async fn on_event(&mut self, event: Event) -> Result<(), ServiceError> {
        let now = self.handle.clock().now();
        if let Some(tap) = &mut self.tap {
            tap.on_event(now, &event);
        }
        if event == Event::MediaDue {
            return self.hand_on().await;
        }
        self.say_event(&event);
        match event {
            Event::Connected(agreement) => {
                self.retry.on_success();
                if let Some((severity, text)) =
                    self.secured.on_connected(agreement.peer_key.as_deref())
                {
                    self.say(severity, &text);
                }
                self.begin(agreement.source.map(|source| source.format)).await
            }
            Event::SourceChanged(source) => self.begin(Some(source.format)).await,
            Event::Refused(refusal) if refusal.may_pass() => {
                self.on_failure(format!("the sender refuses: {refusal}"))
            }
            Event::Refused(refusal) => Err(self.secured.error_of(refusal)),
            Event::Disconnected(how) => self.on_disconnected(how),
            Event::TurnedAway { .. }
            | Event::Path(_)
            | Event::Writable
            | Event::RateChanged(_)
            | Event::Dropping(_)
            | Event::OutputBehind(_)
            | Event::MediaDue => Ok(()),
        }
    }

    fn say_event(&mut self, event: &Event) {
        let (is_connected, stats) =
            self.handle.with(|receiver, _| (receiver.is_connected(), receiver.stats()));
        let paths = stats.connection.map(|association| association.paths).unwrap_or_default();
        if let Some((severity, text)) = sentence_of(event, Role::Receiver, is_connected, &paths) {
            self.say(severity, &text);
        }
    }

    async fn begin(&mut self, format: Option<SourceFormat>) -> Result<(), ServiceError> {
        if let (Some(sink), Some(format)) = (&mut self.sink, format) {
            sink.begin(&format).await?;
        }
        Ok(())
    }

    /// Hands on the next part of what is due.
    async fn hand_on(&mut self) -> Result<(), ServiceError> {
        let part = self.handle.with(take_due);
        for items in &part.released {
            self.hand_on_items(part.now, items).await?;
        }
        self.is_due = !part.is_last;
        if self.is_due {
            return Ok(());
        }
        if let Some(sink) = &mut self.sink {
            sink.flush().await?;
        }
        if part.is_to_confirm { self.confirm().await } else { Ok(()) }
    }

    /// A sender that gives nothing up ends when all is written.
    async fn confirm(&mut self) -> Result<(), ServiceError> {
        if let Some(sink) = &mut self.sink {
            sink.keep().await?;
        }
        self.handle.with(|receiver, now| receiver.confirm(now));
        Ok(())
    }

    /// Tells the sender why nothing more is taken, if it is our fault.
    fn take_leave(&mut self, error: &ServiceError) {
        if let ServiceError::Output(error) = error {
            let reason = error.to_the_sender();
            self.handle.with(|receiver, now| receiver.leave(now, &reason));
        }
    }

    async fn hand_on_items(&mut self, now: Time, items: &Released) -> Result<(), ServiceError> {
        if let Some(tap) = &mut self.tap {
            tap.on_media(now, items);
        }
        if items.format() == Format::MpegTs {
            for bytes in items.bytes.as_chunks::<PACKET_LEN>().0 {
                if let Some(packet) = Packet::new(*bytes) {
                    self.meter.on_packet(now, &packet);
                }
            }
        }
        if let Some(sink) = &mut self.sink {
            sink.write(items).await?;
        }
        Ok(())
    }

    fn on_disconnected(&mut self, how: Disconnect) -> Result<(), ServiceError> {
        if self.ending.is_some() {
            return Ok(());
        }
        match how {
            Disconnect::Ended if self.keep => {
                self.say(Severity::Info, "the sender has ended; waiting for the next one");
                self.wait_for_next()
            }
            Disconnect::Ended => {
                self.say(Severity::Info, "the sender has ended");
                self.end(Ok(()));
                Ok(())
            }
            Disconnect::Lost { reason } => self.on_failure(reason),
        }
    }

    /// The next sender calls, or is called in a moment.
    fn wait_for_next(&mut self) -> Result<(), ServiceError> {
        if self.plan.calls() && self.retry.on_failure("the sender has ended".to_owned()) {
            self.announce_wait();
        }
        Ok(())
    }

    /// The sender could not be reached, or is lost.
    fn on_failure(&mut self, reason: String) -> Result<(), ServiceError> {
        if !self.plan.calls() {
            if !self.retry.is_allowed() {
                self.end(Err(ServiceError::Lost { reason }));
                return Ok(());
            }
            let text = format!("{reason}; waiting for a sender at {}", self.listening());
            self.say(Severity::Warning, &text);
            return Ok(());
        }
        if self.retry.on_failure(reason.clone()) {
            self.say(Severity::Warning, &reason);
            self.announce_wait();
        } else {
            self.end(Err(ServiceError::Lost { reason }));
        }
        Ok(())
    }

    fn announce_wait(&mut self) {
        if let Some((seconds, reason)) = self.retry.announcement() {
            (self.observer)(Update::Countdown { seconds, reason });
            if let Some(tap) = &mut self.tap {
                tap.on_countdown(seconds, reason);
            }
        }
    }

    fn on_wait(&mut self, wait: Wait) -> Result<(), ServiceError> {
        match wait {
            Wait::Left(seconds, reason) => {
                (self.observer)(Update::Countdown { seconds, reason: &reason });
                if let Some(tap) = &mut self.tap {
                    tap.on_countdown(seconds, &reason);
                }
                Ok(())
            }
            Wait::Over => self.call(),
        }
    }

    async fn on_tick(&mut self) -> Result<(), ServiceError> {
        let snapshot = self.snapshot();
        (self.observer)(Update::Stats { snapshot: &snapshot, last: false });
        if let Some(sink) = &mut self.sink {
            sink.write_gathered().await?;
        }
        Ok(())
    }

    /// The user wants the end: the sender is told, what arrived is kept.
    fn on_stop(&mut self) {
        self.handle.with(|receiver, now| receiver.leave(now, "the receiver was stopped"));
        self.end(Ok(()));
    }

    /// Ends once all that came is handed on.
    fn end(&mut self, result: Result<(), ServiceError>) {
        let (now, latency) = self.handle.with(|receiver, now| (now, receiver.latency()));
        self.ending = Some(Ending { result, until: now + latency + DRAIN_EXTRA });
    }

    /// Writes what was gathered, whatever the reason for the end.
    async fn finish(
        &mut self,
        result: &Result<Snapshot, ServiceError>,
    ) -> Result<(), ServiceError> {
        if let Some(tap) = &mut self.tap {
            match result {
                Ok(_) => tap.end("The stream has ended."),
                Err(error) => tap.end(&error.to_string()),
            }
        }
        let Some(sink) = &mut self.sink else { return Ok(()) };
        if let Some(text) = sink.finish().await? {
            self.say(Severity::Info, &text);
        }
        Ok(())
    }

    fn final_snapshot(&mut self) -> Snapshot {
        let snapshot = self.snapshot();
        (self.observer)(Update::Stats { snapshot: &snapshot, last: true });
        snapshot
    }

    fn snapshot(&mut self) -> Snapshot {
        let Self { handle, before, meter, .. } = self;
        handle.with(|receiver, now| {
            Snapshot::of_receiver(receiver, now, before, Some(meter.jitter()))
        })
    }

    fn listening(&self) -> String {
        let bound: Vec<String> = self.plan.bound().iter().map(ToString::to_string).collect();
        bound.join(", ")
    }

    fn say(&mut self, severity: Severity, text: &str) {
        (self.observer)(Update::Line { severity, text });
    }
}

async fn closed_early(handle: &Handle<Receiver>) -> Result<Snapshot, ServiceError> {
    handle.closed().await?;
    Err(ServiceError::Lost { reason: "the sockets were closed".to_owned() })
}

impl Ending {
    /// What is due is written first, however long that takes.
    fn is_over(&self, handle: &Handle<Receiver>, is_due: bool) -> bool {
        let is_late = |now| now >= self.until && !is_due;
        handle.with(|receiver, now| receiver.is_drained() || is_late(now))
    }
}
