//! [`Television`]: the server.

mod access;
mod backpressure;
mod channel_sender;
mod liveness;
mod quality;
mod requests;
mod session;
mod stills;
mod urgent;

use std::collections::{BTreeMap, BTreeSet};
use std::fmt;
use std::time::Duration;

use anabranch_media::Unit;
use anabranch_media::decoding::{AudioInfo, VideoInfo};
use anabranch_sansio::{Time, TraceLog, TraceRecord, Wakeup};
use anabranch_transport::Connection;

use crate::channel::{Channel, ChannelId, Label};
use crate::protocol::{ChannelEntry, FromServer, Programme, Report, StreamRole, TEXT_CHARS_MAX};
pub use access::{AccessPolicy, Admission, OpenToAll, Permission};
use channel_sender::{Pause, Turn};
use session::{Phase, Session};
use urgent::Board;
pub use urgent::UrgentReport;

/// A hello may take so long.
const GREETING: Duration = Duration::from_secs(6);

/// And the end of a connection after the last words: who says no hello, and takes no goodbye, is
/// gone within ten seconds.
const FAREWELL: Duration = Duration::from_secs(3);

/// What a server allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct TelevisionConfig {
    /// Viewers at once. Default: 1,000.
    pub viewers_max: usize,
    /// Viewers at once from one address, or one network of IPv6, other machines' only. Default:
    /// 100, more than a home or a classroom has behind one address.
    pub viewers_per_address_max: usize,
    /// The smallest and largest latency budget that a viewer gets. Default: 50 ms to 10 s.
    pub budget: (Duration, Duration),
}

impl Default for TelevisionConfig {
    fn default() -> Self {
        let budget = (Duration::from_millis(50), Duration::from_secs(10));
        Self { viewers_max: 1_000, viewers_per_address_max: 100, budget }
    }
}

/// A viewer, as long as it is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct ViewerId(u64);

#[cfg(test)]
impl ViewerId {
    pub(crate) const fn of(number: u64) -> Self {
        Self(number)
    }
}

impl fmt::Display for ViewerId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "viewer {}", self.0)
    }
}

/// What carries a viewer's connection.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Carrier {
    /// UDP, by one path or several.
    Native,
    /// DTLS, behind a browser.
    Browser,
}

/// A viewer as the operator sees it.
#[derive(Debug, Clone, PartialEq)]
pub struct ViewerReport {
    /// Who.
    pub id: ViewerId,
    /// How it came.
    pub carrier: Carrier,
    /// From its token.
    pub name: Option<String>,
    /// Its program.
    pub program: String,
    /// When it came.
    pub since: Time,
    /// What it watches.
    pub channel: Option<ChannelId>,
    /// Its latency budget.
    pub budget: Duration,
    /// Channel changes.
    pub zaps: u64,
    /// Layers and frames of sound sent of this channel, left out, and bytes sent.
    pub sent: u64,
    /// Those that its network had no room for.
    pub skipped: u64,
    /// What it does without at present, because its network takes less than the channel needs.
    pub reduction: Option<&'static str>,
    /// Bytes of media sent.
    pub bytes: u64,
    /// What it says of itself.
    pub report: Report,
}

/// The server: channels, viewers, urgent messages.
///
/// The one who owns the connections tells it who came and what they said, and then, for each
/// viewer that [`poll_due`](Self::poll_due) names, [`serve`](Self::serve)s the connection.
#[derive(Debug)]
pub struct Television {
    config: TelevisionConfig,
    access: Box<dyn AccessPolicy>,
    channels: BTreeMap<ChannelId, Channel>,
    next_channel: u32,
    /// Numbers of the sources' starts: no two channels share one.
    last_session: u16,
    viewers: BTreeMap<ViewerId, Session>,
    next_viewer: u64,
    /// Who watches what.
    watching: BTreeSet<(ChannelId, ViewerId)>,
    /// Viewers for whom there may be something to do.
    due: BTreeSet<ViewerId>,
    timers: BTreeSet<(Time, ViewerId)>,
    board: Board,
    records: TraceLog,
}

impl Television {
    /// A server without channels.
    #[must_use]
    pub fn new(config: TelevisionConfig, access: Box<dyn AccessPolicy>) -> Self {
        Self {
            config,
            access,
            channels: BTreeMap::new(),
            next_channel: 1,
            last_session: 0,
            viewers: BTreeMap::new(),
            next_viewer: 1,
            watching: BTreeSet::new(),
            due: BTreeSet::new(),
            timers: BTreeSet::new(),
            board: Board::default(),
            records: TraceLog::default(),
        }
    }

    /// Adds a channel, whose source has not come yet.
    pub fn add_channel(&mut self, label: Label) -> ChannelId {
        let id = ChannelId(self.next_channel);
        self.next_channel += 1;
        self.channels.insert(id, Channel::new(id, label));
        self.announce_channels();
        id
    }

    /// Takes a channel from the list; who watches it is told.
    pub fn remove_channel(&mut self, id: ChannelId) {
        if self.channels.remove(&id).is_none() {
            return;
        }
        let text = "this channel is no longer there".to_owned();
        self.tell_watchers(id, &FromServer::OffAir { channel: id, text });
        self.watchers(id).into_iter().for_each(|viewer| self.stop(viewer));
        self.announce_channels();
    }

    /// A channel's source begins, or begins anew.
    pub fn begin(&mut self, id: ChannelId, video: Option<VideoInfo>, audio: Option<AudioInfo>) {
        self.last_session = self.last_session.wrapping_add(1);
        let session = self.last_session;
        self.change(id, |channel| channel.begin(session, video, audio));
        if let Some(channel) = self.channels.get(&id) {
            let description = FromServer::Description(Box::new(channel.description()));
            self.tell_watchers(id, &description);
        }
    }

    /// A channel's source is there, but nothing that viewers decode.
    pub fn cannot_be_played(&mut self, id: ChannelId, text: String) {
        self.change(id, |channel| channel.cannot_be_played(text.clone()));
        self.tell_watchers(id, &FromServer::OffAir { channel: id, text });
    }

    /// A channel's source is lost.
    pub fn lose(&mut self, id: ChannelId, text: String) {
        self.change(id, |channel| channel.lose(text.clone()));
        self.tell_watchers(id, &FromServer::OffAir { channel: id, text });
    }

    /// Another programme began.
    pub fn set_programme(&mut self, id: ChannelId, programme: Programme) {
        self.change(id, |channel| channel.set_programme(programme.clone()));
        self.tell_watchers(id, &FromServer::Programme { channel: id, programme });
    }

    /// A channel's media passes these servers, this one last.
    pub fn set_through(&mut self, id: ChannelId, through: Vec<String>) {
        self.change(id, |channel| channel.set_through(through));
    }

    /// Shows something to all viewers, at no particular hurry.
    pub fn guide(&mut self, text: &str) {
        for viewer in self.viewers.keys().copied().collect::<Vec<_>>() {
            let text = text.chars().take(TEXT_CHARS_MAX).collect();
            self.with_session(viewer, |session| {
                if session.admission().is_some() {
                    session.say(StreamRole::Control, &FromServer::Guidance { text });
                }
            });
        }
    }

    /// Takes the next unit of a channel's source.
    pub fn push(&mut self, id: ChannelId, unit: &Unit) {
        let Some(channel) = self.channels.get_mut(&id) else { return };
        channel.push(unit);
        let watchers = self.watchers(id);
        self.due.extend(watchers);
    }

    /// A channel.
    #[must_use]
    pub fn channel(&self, id: ChannelId) -> Option<&Channel> {
        self.channels.get(&id)
    }

    /// All channels, by number.
    #[must_use]
    pub fn channels(&self) -> Vec<ChannelEntry> {
        let mut entries: Vec<_> = self.channels.values().map(Channel::entry).collect();
        entries.sort_by_key(|entry| (entry.number, entry.id));
        entries
    }

    /// How many watch a channel.
    #[must_use]
    pub fn watched_by(&self, id: ChannelId) -> usize {
        self.watching_range(id).count()
    }

    /// How many viewers there may be.
    #[must_use]
    pub const fn viewers_max(&self) -> usize {
        self.config.viewers_max
    }

    /// How many viewers there may be from one address.
    #[must_use]
    pub const fn viewers_per_address_max(&self) -> usize {
        self.config.viewers_per_address_max
    }

    /// A viewer's connection is there; its hello must follow. `None` if there are too many.
    pub fn viewer_came(&mut self, now: Time, carrier: Carrier) -> Option<ViewerId> {
        if self.viewers.len() >= self.config.viewers_max {
            return None;
        }
        let id = ViewerId(self.next_viewer);
        self.next_viewer += 1;
        self.viewers.insert(id, Session::new(now, carrier, now + GREETING));
        self.settle(id);
        Some(id)
    }

    /// A viewer's connection has ended.
    pub fn viewer_left(&mut self, id: ViewerId) {
        self.stop(id);
        if let Some(session) = self.viewers.remove(&id) {
            session.timer.into_iter().for_each(|at| _ = self.timers.remove(&(at, id)));
        }
        self.due.remove(&id);
    }

    /// A viewer's connection has room again.
    pub fn handle_writable(&mut self, id: ViewerId) {
        if self.viewers.contains_key(&id) {
            self.due.insert(id);
        }
    }

    /// Sends a viewer away.
    pub fn dismiss(&mut self, now: Time, id: ViewerId, text: String) {
        self.stop(id);
        let text = text.chars().take(TEXT_CHARS_MAX).collect();
        self.with_session(id, |session| {
            if !matches!(session.phase, Phase::Leaving { .. }) {
                session.say(StreamRole::Control, &FromServer::Bye { text });
                session.phase = Phase::Leaving { until: now + FAREWELL };
            }
        });
    }

    /// The next viewer to [`serve`](Self::serve).
    pub fn poll_due(&mut self) -> Option<ViewerId> {
        self.due.pop_first()
    }

    /// Hands a viewer's connection what it is to send.
    pub fn serve(&mut self, now: Time, id: ViewerId, connection: &mut dyn Connection) {
        let Some(session) = self.viewers.get_mut(&id) else { return };
        let before = session.reduction();
        let has_room = session.flush(now, connection);
        let mut is_idle = false;
        if matches!(session.phase, Phase::Leaving { .. }) && has_room {
            connection.shutdown(now);
        } else if has_room {
            let pause = session.sender.as_mut().and_then(|sender| {
                let channel = self.channels.get(&sender.channel())?;
                let budget = session.budget;
                let (connection, records) = (&mut *connection, &mut self.records);
                let mut turn = Turn { now, channel, budget, connection, records, viewer: id };
                Some(sender.pump(&mut turn))
            });
            is_idle = matches!(pause, None | Some(Pause::CaughtUp));
            session.wake = match pause {
                Some(Pause::Until(at)) => Some(at),
                Some(Pause::CaughtUp | Pause::Full) | None => None,
            };
        }
        if let Some(text) = session.sender.as_mut().and_then(|it| it.poll_notice(now)) {
            session.say(StreamRole::Control, &FromServer::Guidance { text });
        }
        session.stills.pump(now, is_idle, connection);
        if let Some(reason) = session.refusal(now, connection) {
            connection.abort(reason);
        }
        let reduction = session.reduction();
        if before != reduction {
            let now_is = reduction.unwrap_or("everything is sent");
            let record = || TraceRecord::new(now, "television:reduction_updated");
            self.records.push(|| record().with("viewer", id.0).with("reduction", now_is));
        }
        self.settle(id);
    }

    /// When [`handle_timeout`](Self::handle_timeout) must be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Wakeup> {
        let (at, _) = *self.timers.first()?;
        Some(Wakeup { at, why: "television" })
    }

    /// Acts on what is due.
    pub fn handle_timeout(&mut self, now: Time) {
        while let Some(&(at, id)) = self.timers.first()
            && at <= now
        {
            self.timers.pop_first();
            self.due.insert(id);
            let Some(session) = self.viewers.get_mut(&id) else { continue };
            session.wake = session.wake.filter(|at| *at > now);
            match &session.phase {
                Phase::Greeting { until } if *until <= now => {
                    self.dismiss(now, id, "no hello came within six seconds".to_owned());
                }
                Phase::Watching(admission) if admission.until.is_some_and(|at| at <= now) => {
                    self.end_permission(id);
                }
                Phase::Greeting { .. } | Phase::Watching(_) | Phase::Leaving { .. } => {}
            }
        }
    }

    /// What is decided for viewers is recorded from now on, or no more.
    pub fn set_tracing(&mut self, on: bool) {
        self.records.set(on);
    }

    /// The next record, if any are kept.
    pub fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.records.pop()
    }

    /// Each viewer, for the operator.
    pub fn viewers(&self) -> impl Iterator<Item = ViewerReport> + '_ {
        self.viewers.iter().map(|(id, session)| {
            let counts = session
                .sender
                .as_ref()
                .map(channel_sender::ChannelSender::counts)
                .unwrap_or_default();
            ViewerReport {
                id: *id,
                carrier: session.carrier,
                name: session.admission().and_then(|admission| admission.name.clone()),
                program: session.program.clone(),
                since: session.since,
                channel: session.channel(),
                budget: session.budget,
                zaps: session.zaps,
                sent: counts.sent,
                skipped: counts.skipped,
                reduction: session.reduction(),
                bytes: counts.bytes,
                report: session.report,
            }
        })
    }

    fn change(&mut self, id: ChannelId, change: impl FnOnce(&mut Channel)) {
        let Some(channel) = self.channels.get_mut(&id) else { return };
        let before = channel.entry();
        change(channel);
        if channel.entry() != before {
            self.announce_channels();
        }
    }

    /// Tells everyone what they may watch now.
    fn announce_channels(&mut self) {
        let viewers: Vec<ViewerId> = self.viewers.keys().copied().collect();
        for viewer in viewers {
            let channels = self.channels_for(viewer);
            self.with_session(viewer, |session| {
                if session.admission().is_some() {
                    session.say(StreamRole::Control, &FromServer::Channels { channels });
                }
            });
        }
    }

    /// The list as one viewer may see it.
    fn channels_for(&self, viewer: ViewerId) -> Vec<ChannelEntry> {
        let mut entries = self.channels();
        entries.retain(|entry| self.may_watch(viewer, entry.id));
        entries
    }

    fn may_watch(&self, viewer: ViewerId, id: ChannelId) -> bool {
        let Some(channel) = self.channels.get(&id) else { return false };
        let (label, session) = (channel.label(), self.viewers.get(&viewer));
        let admission = session.and_then(Session::admission);
        admission.is_some_and(|it| label.open || it.channels.includes(label.number))
    }

    /// A viewer is left with what is open to all.
    fn end_permission(&mut self, id: ViewerId) {
        self.with_session(id, Session::end_permission);
        let watched = self.viewers.get(&id).and_then(Session::channel);
        if let Some(channel) = watched.filter(|channel| !self.may_watch(id, *channel)) {
            let text = "the permission to watch this channel has ended".to_owned();
            self.tell_watcher(id, &FromServer::OffAir { channel, text });
            self.stop(id);
        }
        let channels = self.channels_for(id);
        let list = FromServer::Channels { channels };
        let text = "This token has ended; channels that need one are no longer there.".to_owned();
        self.with_session(id, |session| {
            session.stills.stop();
            session.say(StreamRole::Control, &list);
            session.say(StreamRole::Control, &FromServer::Guidance { text });
        });
    }

    /// Who watches a channel.
    fn watchers(&self, id: ChannelId) -> Vec<ViewerId> {
        self.watching_range(id).collect()
    }

    fn watching_range(&self, id: ChannelId) -> impl Iterator<Item = ViewerId> + '_ {
        let all = (id, ViewerId(0))..=(id, ViewerId(u64::MAX));
        self.watching.range(all).map(|(_, viewer)| *viewer)
    }

    /// A viewer watches nothing any more.
    fn stop(&mut self, id: ViewerId) {
        let Some(session) = self.viewers.get_mut(&id) else { return };
        if let Some(channel) = session.stop() {
            self.watching.remove(&(channel, id));
            self.due.insert(id);
        }
        self.settle(id);
    }

    fn tell_watchers(&mut self, id: ChannelId, message: &FromServer) {
        for viewer in self.watchers(id) {
            self.tell_watcher(viewer, message);
        }
    }

    fn tell_watcher(&mut self, id: ViewerId, message: &FromServer) {
        self.with_session(id, |session| {
            let slot = session.sender.as_ref().map(channel_sender::ChannelSender::slot);
            slot.into_iter().for_each(|slot| session.say(StreamRole::Data(slot), message));
        });
    }

    /// Does something for a viewer, whose connection is to be served then.
    fn with_session(&mut self, id: ViewerId, act: impl FnOnce(&mut Session)) {
        if let Some(session) = self.viewers.get_mut(&id) {
            act(session);
            self.due.insert(id);
            self.settle(id);
        }
    }

    /// Sets the timer of a viewer anew.
    fn settle(&mut self, id: ViewerId) {
        let Some(session) = self.viewers.get_mut(&id) else { return };
        let next = session.next_timer();
        if session.timer != next {
            session.timer.take().into_iter().for_each(|at| _ = self.timers.remove(&(at, id)));
            session.timer = next;
            self.timers.extend(next.map(|at| (at, id)));
        }
    }
}
