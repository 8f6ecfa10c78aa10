//! [`call`]: the loop between devices, page, files and the call.

mod page;
mod stats;

use std::future::pending;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use anabranch_call::exchange::Takes;
use anabranch_call::{Agent, CallConfig, Device, End, EndReason, Event, Media, Peer};
use anabranch_driver::{Clock, Driver, Handle, Recording, interface_addresses};
use anabranch_media::playout::clock::PlayoutClock;
use anabranch_sansio::{FourTuple, Time};
use anabranch_session::{Bond, Refusal, RefusalCode};
use tokio::time::{MissedTickBehavior, interval, sleep_until, timeout};

use super::media::{Captured, DeviceSource, Devices, VoiceTurns};
use super::page::CallPage;
use super::record::{Recorder, unwritable};
use crate::input::InputOptions;
use crate::net::{NetError, unpredictable_rng};
use crate::service::{
    Multihomed, Observer, Secured, ServiceError, Severity, Stop, TOKEN_OF_VIEWER, Update, Uplinks,
};
use crate::url::{Carrier, LATENCY_DEFAULT, Mode, Security, SessionUrl, is_loopback};

/// How often the page is told how things stand.
const STATS_EVERY: Duration = Duration::from_millis(200);

/// How long what is due may wait at most: a datagram may have brought it in the meantime.
const GRAIN: Duration = Duration::from_millis(5);

/// How long parting may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// A call, and what it is made with.
#[derive(Debug)]
pub struct CallOptions {
    /// Whom to call, or where to be called.
    pub url: SessionUrl,
    /// What this end calls itself.
    pub name: Option<String>,
    /// Instead of the page's camera.
    pub camera: Option<DeviceSource>,
    /// Instead of the page's microphone.
    pub microphone: Option<DeviceSource>,
    /// How their files are read.
    pub input_options: InputOptions,
    /// The silence for which a path is left, by the handoff of Chang 2010 in place of ours; from
    /// [`THRESHOLD_MIN`](anabranch_call::THRESHOLD_MIN) to
    /// [`THRESHOLD_MAX`](anabranch_call::THRESHOLD_MAX).
    pub threshold: Option<Duration>,
    /// The folder that gets what is played out.
    pub record: Option<PathBuf>,
    /// The page, if there is one.
    pub page: Option<CallPage>,
    /// Where every packet is recorded, if that is wanted.
    pub recording: Recording,
}

/// Calls until either end hangs up, or waits for calls until it is stopped.
///
/// # Errors
/// Says what was wrong with an option or the URL, or why there is no call.
pub async fn call(
    options: CallOptions,
    mut stop: Stop,
    observer: &mut Observer<'_>,
) -> Result<(), ServiceError> {
    let CallOptions { url, name, camera, microphone, input_options, record, page, .. } = options;
    let (threshold, recording) = (options.threshold, options.recording);
    check(&url)?;
    let clock = Clock::start();
    for source in [&camera, &microphone].into_iter().flatten() {
        source.check(input_options, clock).await?;
    }
    let recorder = record.as_deref().map(|folder| Recorder::create(folder, 1)).transpose();
    let recorder = recorder.map_err(|source| unwritable(record.as_ref(), source))?;
    let is_near = url.host.as_deref().is_some_and(is_loopback);
    let over_all = url.mode == Mode::Caller && url.paths.is_empty() && !is_near;
    let (mut sockets, mut uplinks) = Uplinks::open(&url, over_all).await?;
    uplinks.offer_addresses();
    sockets.record(recording);
    let secured = Secured::of(&url)?;
    let mut config = CallConfig::new(url.mode == Mode::Listener);
    config.name.clone_from(&name);
    // Without a page texts are printed, and there is nobody who would get a file.
    config.takes = Takes { text: true, files: page.is_some() };
    if let Some(threshold) = threshold {
        config = config.with_threshold(threshold);
    }
    let config = config.with_encryption(secured.encryption());
    let mut agent = Agent::new(config, unpredictable_rng()?);
    agent.set_local_addresses(uplinks.plan().announced());
    let handle = Driver::spawn_with_clock(agent, sockets, clock)?;
    let page_sends = (camera.is_none(), microphone.is_none());
    let devices = Devices::open(camera, microphone, input_options, clock);
    let mut run = Run {
        handle: handle.clone(),
        uplinks,
        secured,
        devices,
        page,
        page_sends,
        page_clock: PlayoutClock::new(Duration::ZERO),
        recorder,
        record,
        name,
        voice_turns: VoiceTurns::default(),
        peer: None,
        began: Time::ZERO,
        meter: stats::Meter::default(),
        observer,
    };
    let result = run.run(&mut stop).await;
    if result.is_err() {
        run.hang_up();
    }
    if let Some(page) = &mut run.page {
        page.say_goodbye("The program has ended.".to_owned()).await;
    }
    let finished = run.finish_recording();
    run.part().await;
    handle.close();
    handle.closed().await?;
    result.and(finished)
}

/// What of a URL makes no call.
fn check(url: &SessionUrl) -> Result<(), ServiceError> {
    if url.carrier != Carrier::Sctp {
        return Err(ServiceError::Senseless(
            "a call goes over SCTP, which alone is encrypted: give anabranch://, not \
             anabranch+dccp://",
        ));
    }
    if url.token.is_some() {
        return Err(ServiceError::Senseless(TOKEN_OF_VIEWER));
    }
    let has_stream = url.stream_id.is_some() || url.program.is_some();
    if has_stream || url.latency != LATENCY_DEFAULT || url.bond != Bond::Balance {
        return Err(ServiceError::Senseless(
            "latency=, bond=, streamid= and program= are for send and recv: a call chooses its \
             paths and its delay by itself; leave them out",
        ));
    }
    let is_near = url.host.as_deref().is_some_and(is_loopback);
    if url.security == Security::Open && !is_near {
        return Err(ServiceError::Senseless(
            "a call is always encrypted: leave encryption=off away, or give a host of this \
             machine such as 127.0.0.1",
        ));
    }
    Ok(())
}

impl Multihomed for Agent {
    fn open_path(&mut self, now: Time, path: FourTuple) {
        Self::open_path(self, now, path);
    }

    fn close_paths_from(&mut self, now: Time, local: SocketAddr) {
        Self::close_paths_from(self, now, local);
    }

    fn follow_route(&mut self, now: Time, local: SocketAddr) {
        Self::follow_route(self, now, local);
    }

    fn remotes(&self) -> Vec<SocketAddr> {
        self.stats().paths.iter().map(|path| path.report.tuple.remote).collect()
    }
}

struct Run<'a, 'b> {
    handle: Handle<Agent>,
    uplinks: Uplinks,
    secured: Secured,
    devices: Devices,
    page: Option<CallPage>,
    /// Whether camera and microphone are the page's.
    page_sends: (bool, bool),
    /// Carries the page's times over to ours.
    page_clock: PlayoutClock,
    recorder: Option<Recorder>,
    record: Option<PathBuf>,
    name: Option<String>,
    voice_turns: VoiceTurns,
    peer: Option<Box<Peer>>,
    /// When the call began.
    began: Time,
    meter: stats::Meter,
    observer: &'a mut Observer<'b>,
}

impl Run<'_, '_> {
    async fn run(&mut self, stop: &mut Stop) -> Result<(), ServiceError> {
        self.name_interfaces();
        let (severity, text) = self.secured.opening(self.uplinks.plan().heard_at());
        self.say(severity, &text);
        if self.uplinks.plan().calls() {
            self.dial()?;
        } else {
            self.wait_for_call();
        }
        let mut ticks = interval(STATS_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        loop {
            self.play()?;
            let handle = self.handle.clone();
            let deadline = handle.clock().instant(self.next_playback()).into();
            let page = &mut self.page;
            let brought = async {
                match page {
                    Some(page) => page.brought().await,
                    None => pending().await,
                }
            };
            tokio::select! {
                event = handle.next_event() => match event {
                    Some(event) => {
                        if self.on_event(event)? {
                            return Ok(());
                        }
                    }
                    None => return Ok(handle.closed().await?),
                },
                Some(captured) = self.devices.captured.recv() => self.on_captured(captured),
                Some(brought) = brought => self.on_brought(brought),
                () = sleep_until(deadline) => {}
                changed = self.uplinks.changed() => {
                    changed?;
                    self.follow_interfaces().await?;
                }
                _ = ticks.tick() => self.tell_stats(),
                () = stop.asked() => {
                    self.hang_up();
                    return Ok(());
                }
            }
        }
    }

    fn dial(&mut self) -> Result<(), ServiceError> {
        let paths = self.uplinks.paths()?;
        if let Some(primary) = paths.first() {
            let text = format!("Calling {}.", primary.remote);
            self.set_state("calling", &text);
            self.say(Severity::Info, &text);
        }
        let called = self.handle.with(|agent, now| agent.connect(now, &paths));
        called.map_err(|error| ServiceError::Lost { reason: error.to_string() })
    }

    fn wait_for_call(&mut self) {
        let port = self.uplinks.plan().bound().first().map_or(0, SocketAddr::port);
        let text = format!("Waiting for a call on port {port}.");
        self.set_state("waiting", &text);
        self.say(Severity::Info, &text);
    }

    /// What people call the paths: their interfaces.
    fn name_interfaces(&self) {
        let Ok(addresses) = interface_addresses() else { return };
        self.handle.with(|agent, _| {
            for address in addresses {
                agent.name_address(address.ip, address.interface);
            }
        });
    }

    async fn follow_interfaces(&mut self) -> Result<(), NetError> {
        self.name_interfaces();
        let told = self.uplinks.follow(&self.handle).await?;
        told.iter().for_each(|(severity, text)| self.say(*severity, text));
        Ok(())
    }

    /// True if the program is to end.
    fn on_event(&mut self, event: Event) -> Result<bool, ServiceError> {
        match event {
            Event::Began(peer) => self.on_began(peer)?,
            Event::PeerMedia(media) => {
                if let Some(recorder) = &mut self.recorder {
                    let changed = recorder.set_media(&media);
                    changed.map_err(|source| unwritable(self.record.as_ref(), source))?;
                }
                if let Some(peer) = &mut self.peer {
                    peer.media = media;
                }
                self.tell_peer();
            }
            Event::TurnedAway { remote, refusal } => {
                self.say(Severity::Warning, &format!("{remote} called and was refused: {refusal}"));
            }
            Event::Encode(rate) => self.tell_encoder(rate),
            Event::KeyWanted => self.ask_page_for_key(),
            Event::NoPath => {
                let text =
                    "Nothing is heard; the call ends after 30 s unless a network comes back.";
                self.set_state("no_path", text);
            }
            Event::PathsBack { .. } => self.tell_peer(),
            Event::Log(line) => self.log(&line),
            Event::Exchanged(exchanged) => self.on_exchanged(exchanged),
            Event::PathsChanged => {}
            Event::Ended(end) => return self.on_ended(end),
        }
        Ok(false)
    }

    fn on_began(&mut self, peer: Box<Peer>) -> Result<(), ServiceError> {
        if let Some((severity, text)) = self.secured.on_connected(peer.key.as_deref()) {
            self.say(severity, &text);
        }
        let who = peer.name.clone().unwrap_or_else(|| peer.path.remote.to_string());
        self.say(Severity::Info, &format!("In a call with {who}."));
        self.record_call(&peer.media)?;
        self.peer = Some(peer);
        self.began = self.handle.clock().now();
        self.meter = stats::Meter::default();
        self.tell_peer();
        self.tell_exchange();
        let told = self.uplinks.begin(&self.handle);
        told.iter().for_each(|(severity, text)| self.say(*severity, text));
        Ok(())
    }

    /// True if the program is to end: who called has nothing more to do, who was called waits.
    fn on_ended(&mut self, end: End) -> Result<bool, ServiceError> {
        self.tell_end(&end);
        self.peer = None;
        let is_caller = self.uplinks.plan().calls();
        if !is_caller {
            self.say(Severity::Info, &end.text);
            self.wait_for_call();
            return Ok(false);
        }
        let End { why, text } = end;
        let refusal = |code, text: String| Refusal { code, text };
        match why {
            EndReason::HungUp | EndReason::PeerHungUp => {
                self.say(Severity::Info, &text);
                Ok(true)
            }
            EndReason::Untrusted => {
                Err(self.secured.error_of(refusal(RefusalCode::Untrusted, text)))
            }
            EndReason::Key => Err(self.secured.error_of(refusal(RefusalCode::Key, text))),
            EndReason::Refused | EndReason::NoAnswer | EndReason::NoPath | EndReason::Lost => {
                Err(ServiceError::Lost { reason: text })
            }
        }
    }

    fn on_captured(&mut self, captured: Captured) {
        match captured {
            Captured::Note(text) => self.say(Severity::Warning, &text),
            Captured::Video(video) => self.set_media(|media| {
                (media.video, media.camera) = (Some(video), Device::On);
            }),
            Captured::Voice(voice) => self.set_media(|media| {
                (media.voice, media.microphone) = (Some(voice), Device::On);
            }),
            Captured::Picture(picture) => {
                self.handle.with(|agent, now| agent.push_picture(now, picture));
            }
            Captured::Frame(bytes) => {
                let turns = &mut self.voice_turns;
                self.handle.with(|agent, now| agent.push_voice(now, turns.next(now), bytes));
            }
        }
    }

    fn set_media(&self, change: impl FnOnce(&mut Media)) {
        self.handle.with(|agent, now| {
            let mut media = agent.media().clone();
            change(&mut media);
            agent.set_media(now, media);
        });
    }

    /// Hands on what is due.
    fn play(&mut self) -> Result<(), ServiceError> {
        while let Some(playback) = self.handle.with(|agent, now| agent.poll_playback(now)) {
            self.meter.on_played(&playback);
            if let Some(recorder) = &mut self.recorder {
                let taken = recorder.take(&playback);
                taken.map_err(|source| unwritable(self.record.as_ref(), source))?;
            }
            let Some(page) = &self.page else { continue };
            if page.play(&playback) {
                self.handle.with(|agent, now| agent.want_key(now));
            }
        }
        Ok(())
    }

    fn next_playback(&self) -> Time {
        self.handle.with(|agent, now| {
            let due = agent.playback_timeout(now).map(|wakeup| wakeup.at);
            let grain = if agent.is_in_call() { GRAIN } else { STATS_EVERY };
            due.map_or(now + grain, |due| due.min(now + grain))
        })
    }

    fn hang_up(&mut self) {
        let who = self.name.clone().unwrap_or_else(|| "The other end".to_owned());
        let text = format!("{who} hung up.");
        self.handle.with(|agent, now| agent.hang_up(now, &text));
    }

    /// The peer learns why the call ended, if it listens.
    async fn part(&mut self) {
        let handle = &self.handle;
        let parted = async {
            while !handle.with(|agent, _| agent.is_quiet()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _in_time = timeout(FAREWELL, parted).await;
    }

    fn record_call(&mut self, media: &Media) -> Result<(), ServiceError> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        let begun = recorder.begin(media);
        begun.map_err(|source| unwritable(self.record.as_ref(), source))
    }

    fn finish_recording(&mut self) -> Result<(), ServiceError> {
        let Some(recorder) = &mut self.recorder else { return Ok(()) };
        recorder.finish().map_err(|source| unwritable(self.record.as_ref(), source))
    }

    fn say(&mut self, severity: Severity, text: &str) {
        (self.observer)(Update::Line { severity, text });
    }
}
