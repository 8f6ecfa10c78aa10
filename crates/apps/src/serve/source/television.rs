//! A channel of another anabranch server.

use std::time::Duration;

use anabranch_driver::{Clock, Recording};
use anabranch_sansio::Time;
use anabranch_television::channel::ChannelId;
use anabranch_television::protocol::{ChannelEntry, Description, Programme};
use anabranch_television::{NativeEvent, NativeViewer, ViewerEvent};
use anabranch_transport::CloseReason;
use tokio::time::{MissedTickBehavior, sleep_until};

use super::resequencer::Resequencer;
use super::{Listener, SILENCE_MAX, SourceEvent};
use crate::service::{LevelSnapshot, Retries, Retry, ServiceError, Wait};
use crate::url::ChannelUrl;
use crate::watch::{Hello, Line, Whom, urgent};

/// Media passes at most so many servers: each adds its latency.
const SERVERS_MAX: usize = 8;

/// How often what waits to be read is looked at.
const STATS_INTERVAL: Duration = Duration::from_secs(1);

/// How long a channel is left alone that somebody has to mend first.
const LONG_PAUSE: Duration = Duration::from_secs(60);

/// Why a session ended.
#[derive(Debug)]
enum End {
    /// It is worth another call soon.
    Lost(String),
    /// Another call would bring the same until somebody mends it: the other server is not who it
    /// should be, only one of both encrypts, or the channel comes from here.
    NeedsMending(String),
}

/// Watches the channel for ever; `own` is the name of this server.
pub(super) async fn relay<L: Listener>(
    url: &ChannelUrl,
    own: &str,
    clock: Clock,
    listener: &mut L,
) {
    listener.tell(SourceEvent::NoStream);
    let mut retry = Retry::new(Retries::Unlimited);
    loop {
        let end = match Session::open(url, own, clock, listener).await {
            Ok(mut session) => {
                let end = session.run().await;
                if session.was_welcome {
                    retry.on_success();
                }
                end
            }
            Err(error) => End::Lost(error.to_string()),
        };
        match end {
            End::Lost(reason) => {
                listener.tell(SourceEvent::Lost(reason.clone()));
                retry.on_failure(reason);
                while retry.wait().await != Wait::Over {}
            }
            End::NeedsMending(reason) => {
                listener.tell(SourceEvent::Lost(reason));
                tokio::time::sleep(LONG_PAUSE).await;
            }
        }
    }
}

/// One session with the other server.
struct Session<'a, L> {
    url: &'a ChannelUrl,
    own: &'a str,
    line: Line,
    /// What a person calls the channel.
    name: String,
    clock: Clock,
    listener: &'a mut L,
    was_welcome: bool,
    /// What it is called in the session, while it is watched.
    id: Option<ChannelId>,
    resequencer: Option<Resequencer>,
    /// What was described last; media follows it.
    description: Option<Box<Description>>,
    is_on_air: bool,
    last_unit: Time,
    programme: Programme,
    goodbye: Option<String>,
}

impl<L> Drop for Session<'_, L> {
    fn drop(&mut self) {
        // The other server need not find out by itself.
        self.line.handle().with(NativeViewer::leave);
    }
}

impl<'a, L: Listener> Session<'a, L> {
    async fn open(
        url: &'a ChannelUrl,
        own: &'a str,
        clock: Clock,
        listener: &'a mut L,
    ) -> Result<Self, ServiceError> {
        let program = concat!("anabranch serve ", env!("CARGO_PKG_VERSION")).to_owned();
        let budget = url.server.latency;
        let hello = Hello { program, token: url.token.clone(), budget };
        let whom =
            Whom { url: &url.server, over_all_interfaces: false, recording: Recording::default() };
        let line = Line::open(whom, hello, clock).await?;
        let remote = line.call()?;
        let server = remote.map_or_else(String::new, |remote| format!(" of {remote}"));
        Ok(Self {
            url,
            own,
            line,
            name: format!("channel {}{server}", url.channel),
            clock,
            listener,
            was_welcome: false,
            id: None,
            resequencer: None,
            description: None,
            is_on_air: false,
            last_unit: Time::ZERO,
            programme: Programme::default(),
            goodbye: None,
        })
    }

    /// Until it ends.
    async fn run(&mut self) -> End {
        let handle = self.line.handle().clone();
        let mut ticks = tokio::time::interval(STATS_INTERVAL);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            let silent_at = self.is_on_air.then(|| self.last_unit + SILENCE_MAX);
            let due = self.resequencer.as_ref().and_then(Resequencer::poll_timeout);
            let wakeup = silent_at.into_iter().chain(due).min();
            let at = self.clock.instant(wakeup.unwrap_or_default());
            tokio::select! {
                event = handle.next_event() => match event {
                    Some(NativeEvent::Session(event)) => {
                        if let Some(end) = self.on_event(event) {
                            return end;
                        }
                    }
                    Some(NativeEvent::Closed(reason)) => return self.closed(&reason),
                    None => return End::Lost("its sockets were closed".to_owned()),
                },
                () = sleep_until(at.into()), if wakeup.is_some() => {}
                _ = ticks.tick() => self.measure(),
            }
            self.hand_on();
        }
    }

    fn measure(&mut self) {
        let network = self.line.handle().with(|viewer, _| viewer.network());
        let levels = network.map_or_else(Vec::new, |it| LevelSnapshot::all(&it));
        self.listener.tell(SourceEvent::Levels(levels));
    }

    fn on_event(&mut self, event: ViewerEvent) -> Option<End> {
        let now = self.clock.now();
        match event {
            ViewerEvent::Welcome { now: theirs, budget, channels, .. } => {
                self.was_welcome = true;
                if let Some((_, text)) = self.line.on_welcome() {
                    self.listener.tell(SourceEvent::Note(text));
                }
                self.resequencer = Some(Resequencer::new(now, theirs, budget));
                return self.look_for(&channels);
            }
            ViewerEvent::Channels(channels) => return self.look_for(&channels),
            ViewerEvent::Description(description) => self.begin(now, description),
            ViewerEvent::OffAir { text, .. } => {
                self.description = None;
                self.lose(format!("{} is off air: {text}", self.name));
            }
            // What is still under way of a channel that is off air comes for nothing.
            ViewerEvent::Unit(_) if self.description.is_none() => {}
            ViewerEvent::Unit(unit) => {
                self.last_unit = now;
                if let Some(resequencer) = &mut self.resequencer {
                    resequencer.push(now, unit);
                }
                self.come_back();
            }
            ViewerEvent::Error(text) => {
                self.description = None;
                self.lose(format!("{}: {text}", self.name));
            }
            ViewerEvent::Urgent(message) => {
                // Whoever runs this server decides what its viewers are shown.
                let text = format!("{} tells its viewers, {}", self.name, urgent(&message));
                self.listener.tell(SourceEvent::Note(text));
            }
            ViewerEvent::Bye(text) => self.goodbye = Some(text),
            // The list of channels says it, too.
            ViewerEvent::Programme { .. }
            | ViewerEvent::Over { .. }
            | ViewerEvent::Guidance(_)
            | ViewerEvent::Still { .. } => {}
        }
        None
    }

    /// Watches the channel wherever it is in the list now.
    fn look_for(&mut self, channels: &[ChannelEntry]) -> Option<End> {
        let entry = match self.url.channel.find(channels) {
            Ok(entry) => entry,
            Err(error) => {
                (self.id, self.description) = (None, None);
                self.lose(error.to_string());
                return None;
            }
        };
        if entry.through.iter().any(|server| server == self.own) {
            let name = &self.name;
            let text = format!("{name} comes from this server itself: give the source it has here");
            return Some(End::NeedsMending(text));
        }
        if entry.through.len() >= SERVERS_MAX {
            let text = format!(
                "{} came through {SERVERS_MAX} servers already: take it from an earlier one",
                self.name
            );
            return Some(End::NeedsMending(text));
        }
        self.listener.tell(SourceEvent::Through(entry.through.clone()));
        if self.programme != entry.programme {
            self.programme = entry.programme.clone();
            self.listener.tell(SourceEvent::Programme(entry.programme.clone()));
        }
        if self.id.replace(entry.id) != Some(entry.id) {
            let id = entry.id;
            self.line.act(|viewer, now| viewer.tune(now, id));
        }
        None
    }

    fn begin(&mut self, now: Time, description: Box<Description>) {
        if let Some(resequencer) = &mut self.resequencer {
            resequencer.begin();
        }
        self.last_unit = now;
        self.is_on_air = false;
        self.description = Some(description);
        self.come_back();
    }

    /// Tells what follows, if it is to be told.
    fn come_back(&mut self) {
        let Some(description) = self.description.as_ref().filter(|_| !self.is_on_air) else {
            return;
        };
        let (video, audio) = (description.video.clone(), description.audio.clone());
        self.listener.tell(SourceEvent::Begin { video, audio });
        self.is_on_air = true;
    }

    /// Hands on what is due, and reports if nothing comes any more.
    fn hand_on(&mut self) {
        let now = self.clock.now();
        if self.is_on_air
            && let Some(resequencer) = &mut self.resequencer
        {
            while let Some(unit) = resequencer.poll(now) {
                self.listener.tell(SourceEvent::Unit(unit));
            }
        }
        if self.is_on_air && now >= self.last_unit + SILENCE_MAX {
            self.lose(format!("nothing has come of {} for 3 seconds", self.name));
        }
    }

    fn lose(&mut self, reason: String) {
        self.is_on_air = false;
        if let Some(resequencer) = &mut self.resequencer {
            resequencer.begin();
        }
        self.listener.tell(SourceEvent::Lost(reason));
    }

    fn closed(&mut self, reason: &CloseReason) -> End {
        if let Some(refusal) = self.line.refusal(reason) {
            return End::NeedsMending(format!(
                "the server of {} is not taken: {refusal}",
                self.name
            ));
        }
        End::Lost(match self.goodbye.take() {
            Some(text) => format!("the server of {} says goodbye: {text}", self.name),
            None => format!("the server of {} is lost: {reason}", self.name),
        })
    }
}
