//! [`Agent`]: one end of a call.

mod exchange;
mod inputs;
mod stats;
mod watch;

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anabranch_sansio::{
    Datagram, FourTuple, Machine, PathId, Rate, Rng, Time, TraceRecord, Transmit, Wakeup,
};
use anabranch_transport::{PathPreference, Transport};
use bytes::Bytes;

use crate::ledger::Ledger;
use crate::link::Link;
use crate::losses::Losses;
use crate::message::{Message, Report};
use crate::outgoing::Outgoing;
use crate::paths::{Paths, route_moved};
use crate::playout::Playout;
use crate::rate::EncoderRate;
use crate::{
    CallConfig, CallError, Device, Event, LogKind, Media, PathError, PathUse, Picture, Playback,
};
pub use stats::{CallPath, CallStats};
use watch::Watch;

/// How often rate, paths and silence are looked at.
const TICK: Duration = Duration::from_millis(100);

/// How often the ends tell each other what they heard.
const REPORT_EVERY: u64 = 10;

/// How often our encoder is asked for a key picture at most.
const KEY_EVERY: Duration = Duration::from_millis(300);

/// One end of a call: it calls, or waits to be called, and has one peer at a time.
///
/// Voice and pictures are pushed as they are captured; what the peer sent comes out of
/// [`poll_playback`](Self::poll_playback) at its time.
#[derive(Debug)]
pub struct Agent {
    link: Link,
    rng: Rng,
    outgoing: Outgoing,
    playout: Playout,
    paths: Paths,
    rate: EncoderRate,
    losses: Losses,
    /// What the two of a call write, and their files.
    ledger: Option<Ledger>,
    ticks: u64,
    next_tick: Option<Time>,
    /// Since when nothing was heard, if that was said.
    silent_since: Option<Time>,
    key_asked: Option<Time>,
    /// Whether the peer wants a key picture.
    key_wanted: bool,
    theirs: Option<Report>,
    /// The silence for which a path is left, if the user chose one.
    threshold: Option<Duration>,
    /// What listens for it during a call.
    watch: Option<Watch>,
}

impl Agent {
    /// An end without a call, over SCTP. The generator must be unpredictable on real networks.
    #[must_use]
    pub fn new(config: CallConfig, mut rng: Rng) -> Self {
        let transport = config.transport(rng.fork());
        Self::over(transport, config, rng)
    }

    /// An end without a call, over any transport.
    #[must_use]
    pub fn over(transport: Box<dyn Transport>, config: CallConfig, mut rng: Rng) -> Self {
        let CallConfig { listen, name, media, takes, video_rate_max, threshold, .. } = config;
        let mut outgoing = Outgoing::new(&mut rng);
        // The paper's calls take one path at a time.
        outgoing.voice_twice = threshold.is_none();
        Self {
            link: Link::new(listen, name, (media, takes), transport),
            outgoing,
            rng,
            playout: Playout::new(),
            paths: Paths::default(),
            rate: EncoderRate::new(video_rate_max),
            losses: Losses::default(),
            ledger: None,
            ticks: 0,
            next_tick: None,
            silent_since: None,
            key_asked: None,
            key_wanted: false,
            theirs: None,
            threshold,
            watch: None,
        }
    }

    /// Tells a listener which of its addresses callers may use beside the one they called.
    pub fn set_local_addresses(&mut self, locals: Vec<SocketAddr>) {
        self.link.transport_mut().set_local_addresses(locals);
    }

    /// What people call the interface with this address.
    pub fn name_address(&mut self, address: IpAddr, name: String) {
        self.paths.name_address(address, name);
    }

    /// Calls the other end of `paths`, the first of which is the primary.
    ///
    /// # Errors
    /// There is a call already, or the transport refuses.
    pub fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<(), CallError> {
        self.link.connect(now, paths)
    }

    /// Whether a call runs.
    #[must_use]
    pub fn is_in_call(&self) -> bool {
        self.link.is_active()
    }

    /// Whether a call runs or begins.
    #[must_use]
    pub const fn has_peer(&self) -> bool {
        self.link.has_peer()
    }

    /// Whether nothing is left to say to anybody: the program may end.
    #[must_use]
    pub fn is_quiet(&self) -> bool {
        self.link.is_quiet()
    }

    /// Takes a frame of voice of 20 ms that was captured at `at`. Without a call it goes nowhere.
    pub fn push_voice(&mut self, now: Time, at: Time, bytes: Bytes) {
        if !self.link.is_active() || self.link.media.microphone != Device::On {
            return;
        }
        if let Some(connection) = self.link.connection_mut() {
            self.outgoing.push_voice(now, at, bytes, connection);
        }
    }

    /// Takes the next picture, in decoding order. Without a call it goes nowhere.
    pub fn push_picture(&mut self, now: Time, picture: Picture) {
        if !self.link.is_active() || self.link.media.camera != Device::On {
            return;
        }
        if let Some(connection) = self.link.connection_mut() {
            self.outgoing.push_picture(now, picture, connection);
        }
        self.ask_encoder(now);
    }

    /// What this end sends.
    #[must_use]
    pub const fn media(&self) -> &Media {
        &self.link.media
    }

    /// This end sends something else from now on, or is muted.
    pub fn set_media(&mut self, now: Time, media: Media) {
        if self.link.media == media {
            return;
        }
        let has_camera = self.link.media.camera != Device::On && media.camera == Device::On;
        self.link.media = media.clone();
        if self.link.is_active() {
            let voice_frames = self.outgoing.voice_frames();
            self.link.send(now, &Message::Media { media, voice_frames });
            self.key_wanted |= has_camera;
            self.ask_encoder(now);
        }
    }

    /// Our decoder lost track: the peer is asked for a key picture.
    pub fn want_key(&mut self, now: Time) {
        self.playout.break_off();
        self.ask_peer(now);
    }

    /// What is to be heard or seen next, if it is due at `now`.
    ///
    /// Invalidates the answers of all polls.
    #[must_use]
    pub fn poll_playback(&mut self, now: Time) -> Option<Playback> {
        let playback = self.playout.poll(now);
        if playback.is_none() {
            self.ask_peer(now);
        }
        playback
    }

    /// When [`poll_playback`](Self::poll_playback) has something to do next.
    #[must_use]
    pub fn playback_timeout(&self, now: Time) -> Option<Wakeup> {
        self.playout.poll_timeout(now)
    }

    /// Ends the call in order; `text` is for people at the other end.
    pub fn hang_up(&mut self, now: Time, text: &str) {
        self.link.hang_up(now, text);
        self.turn(now);
    }

    /// How a path is to be used from now on, by both ends.
    ///
    /// # Errors
    /// There is no such path, or no other one that stands.
    pub fn set_path_use(
        &mut self,
        now: Time,
        path: PathId,
        wanted: PathUse,
    ) -> Result<(), PathError> {
        let connection = self.link.connection_mut().ok_or(PathError::NoCall)?;
        let report = self.paths.set_use(now, path, wanted, connection)?;
        self.tell_peer_of(now, (path, report.tuple), wanted);
        Ok(())
    }

    /// Leaves a path without any gap: new data goes elsewhere at once, in both directions, and the
    /// path is closed when nothing is under way on it.
    ///
    /// # Errors
    /// There is no such path, or no other one that stands.
    pub fn leave_path(&mut self, now: Time, path: PathId) -> Result<(), PathError> {
        let counts = self.playout.voice_counts();
        let connection = self.link.connection_mut().ok_or(PathError::NoCall)?;
        let report = self.paths.leave(now, path, counts, connection)?;
        self.tell_peer_of(now, (path, report.tuple), PathUse::Spare);
        Ok(())
    }

    /// Pictures take this path alone while it stands; with `None`, all that are in use again.
    pub fn set_primary(&mut self, path: Option<PathId>) {
        self.outgoing.primary = path;
        if let Some(path) = path
            && let Some(connection) = self.link.connection_mut()
        {
            connection.set_primary(path);
            if self.watch.is_some() {
                connection.spare_path(path, false);
            }
        }
        if let (Some(path), Some(watch)) = (path, &mut self.watch) {
            watch.set_primary(path);
        }
    }

    /// The machine's routes to the peer, or its default route, moved to the interface with this
    /// address, while the one that they led over before stays: pictures go over, as by
    /// [`set_primary`](Self::set_primary), and the log says so. Nothing happens if no path leads
    /// from there.
    pub fn follow_route(&mut self, now: Time, local: SocketAddr) {
        let paths = self.reports();
        let from_there = paths.iter().filter(|path| path.tuple.local == local);
        let Some(path) = from_there.min_by_key(|path| path.state) else { return };
        self.set_primary(Some(path.id));
        let text = route_moved(&self.paths.name(path.id, path.tuple));
        self.log(now, LogKind::PathUse, Some(path.id), text);
    }

    /// Whether voice takes two paths while there are two.
    pub const fn set_voice_twice(&mut self, twice: bool) {
        self.outgoing.voice_twice = twice;
    }

    /// Opens a further path to the peer. `None` if there is no peer or no room for it.
    pub fn open_path(&mut self, now: Time, tuple: FourTuple) -> Option<PathId> {
        self.link.connection_mut()?.open_path(now, tuple)
    }

    /// Nothing can be sent from this address any more.
    pub fn close_paths_from(&mut self, now: Time, local: SocketAddr) {
        if let Some(connection) = self.link.connection_mut() {
            connection.close_paths_from(now, local);
        }
        self.turn(now);
    }

    /// What the encoder of pictures is asked for.
    #[must_use]
    pub fn video_rate(&self) -> Rate {
        if self.link.is_active() { self.rate.rate() } else { Rate::ZERO }
    }

    /// The peer learns on the path itself how it is to be used: a NAT hides our address.
    fn tell_peer_of(&mut self, now: Time, (path, tuple): (PathId, FourTuple), wanted: PathUse) {
        let (local, remote) = (tuple.local.to_string(), tuple.remote.to_string());
        let message = Message::Path { r#use: wanted, local, remote };
        // What is closed carries nothing.
        let over = match wanted {
            PathUse::Never => PathPreference::Any,
            PathUse::Use | PathUse::Spare => PathPreference::Prefer(path),
        };
        self.link.send_over(now, &message, over);
        let name = self.paths.name(path, tuple);
        let text = match wanted {
            PathUse::Use => format!("{name} carries data."),
            PathUse::Spare => format!("{name} is spared while another path stands."),
            PathUse::Never => format!("{name} is not used any more."),
        };
        self.log(now, LogKind::PathUse, Some(path), text);
    }
}

impl Machine for Agent {
    type Event = Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.link.handle_datagram(now, datagram);
        self.turn(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.link.handle_timeout(now);
        if self.next_tick.is_some_and(|at| at <= now) {
            self.tick(now);
        }
        self.turn(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.link.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let tick = self.next_tick.map(|at| Wakeup { at, why: "look at rate and paths" });
        self.link.poll_timeout().into_iter().chain(tick).min()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.link.poll_event()
    }

    fn set_tracing(&mut self, on: bool) {
        self.link.set_tracing(on);
        self.outgoing.records.set(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.outgoing.records.pop().or_else(|| self.link.poll_trace())
    }
}
