//! [`Watcher`]: the end that watches.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_media::decoding::{AccessUnit, MediaTrack};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_television::protocol::{ChannelEntry, Report};
use anabranch_television::{NativeEvent, NativeViewer, Playout, ReceivedUnit, Viewer, ViewerEvent};

use crate::scenario::delays::Delays;
use crate::scenario::end::{Received, Seen};
use crate::scenario::frames::FlowFrames;
use crate::scenario::options::TelevisionOptions;
use crate::scenario::stillness::Stillness;

/// How long it waits before it calls again, as `anabranch watch` does.
const CALL_AGAIN: Duration = Duration::from_secs(1);
/// How often it tells the server what it sees.
const REPORTS: Duration = Duration::from_secs(1);
/// Pictures whose times are kept until they are shown: more than wait.
const AHEAD_MAX: usize = 4_096;

/// A native viewer, whose picture is judged.
#[derive(Debug)]
pub(in crate::scenario) struct Watcher {
    viewer: NativeViewer,
    playout: Playout,
    paths: Vec<FourTuple>,
    latency: Duration,
    stop: Time,
    calls_at: Option<Time>,
    reports_at: Option<Time>,
    /// When it last did something: what was due by then is done.
    attended: Time,
    /// When it asked for the channel.
    asked: Time,
    /// When pictures that wait to be shown were ready.
    ready: BTreeMap<u64, Time>,
    /// All that the next pictures refer to was there.
    is_whole: bool,
    interval: Duration,
    /// When pictures were to be shown, and how long that is after the last of them was ready.
    shown: Vec<Time>,
    behind: Duration,
    came: u64,
    late: u64,
    bytes_in_time: u64,
    first: Option<Time>,
    delays: Delays,
    ended: Option<String>,
    frames: Option<FlowFrames>,
}

impl Watcher {
    pub(in crate::scenario) fn new(
        options: &TelevisionOptions,
        paths: Vec<FourTuple>,
        (start, stop): (Time, Time),
        rng: Rng,
    ) -> Self {
        let viewer = NativeViewer::new(viewer(options.latency), options.encryption.clone(), rng);
        Self {
            viewer,
            playout: Playout::new(options.latency),
            paths,
            latency: options.latency,
            stop,
            calls_at: Some(start),
            reports_at: None,
            attended: Time::ZERO,
            asked: start,
            ready: BTreeMap::new(),
            is_whole: false,
            interval: options.programme.interval(),
            shown: Vec::new(),
            behind: Duration::ZERO,
            came: 0,
            late: 0,
            bytes_in_time: 0,
            first: None,
            delays: Delays::new(),
            ended: None,
            frames: None,
        }
    }

    /// Has every unit told to a table.
    pub(in crate::scenario) fn record(&mut self, frames: FlowFrames) {
        self.frames = Some(frames);
    }

    /// What came, now that the run is over.
    pub(in crate::scenario) fn received(&mut self) -> Received<'_> {
        // Pictures are decoded before others that are shown before them.
        self.shown.sort_unstable();
        let mut stillness = Stillness::new(self.interval);
        self.shown.iter().for_each(|at| stillness.on_shown(*at));
        stillness.on_end(self.stop + self.behind);
        Received {
            arrived: self.came - self.late,
            bytes_in_time: self.bytes_in_time,
            first: self.first,
            delays: &self.delays,
            seen: Some(Seen {
                late: self.late,
                freezes: stillness.freezes,
                frozen: stillness.frozen,
            }),
            ended: self.ended.clone(),
        }
    }

    fn attend(&mut self, now: Time) {
        self.attended = now;
        while let Some(event) = self.viewer.poll_event() {
            match event {
                NativeEvent::Session(event) => self.on_event(now, event),
                NativeEvent::Closed(reason) => self.lose(now, reason.to_string()),
            }
        }
        while let Some(unit) = self.playout.poll(now) {
            self.show(&unit);
        }
    }

    fn on_event(&mut self, now: Time, event: ViewerEvent) {
        match event {
            ViewerEvent::Welcome { now: at, budget, channels, .. } => {
                self.playout.connect(now, at, budget);
                self.reports_at = Some(now + REPORTS);
                self.tune(now, &channels);
            }
            ViewerEvent::Description(description) => {
                self.playout.begin(description.video.is_some());
                self.is_whole = false;
            }
            ViewerEvent::Unit(unit) => self.take(now, unit),
            ViewerEvent::Error(text) | ViewerEvent::Bye(text) => {
                self.ended.get_or_insert(text);
            }
            ViewerEvent::Channels(_)
            | ViewerEvent::OffAir { .. }
            | ViewerEvent::Programme { .. }
            | ViewerEvent::Urgent(_)
            | ViewerEvent::Still { .. }
            | ViewerEvent::Over { .. }
            | ViewerEvent::Guidance(_) => {}
        }
    }

    fn tune(&mut self, now: Time, channels: &[ChannelEntry]) {
        if let Some(channel) = channels.first() {
            self.asked = now;
            self.viewer.act(now, |viewer| viewer.tune(now, channel.id));
        }
    }

    fn take(&mut self, now: Time, received: ReceivedUnit) {
        let unit = &received.unit;
        let key = (unit.track, unit.frame, unit.layer);
        self.came += 1;
        // What was on air before it asked was not for it until then.
        self.delays.record(now.saturating_since(unit.at.max(self.asked)));
        if now <= self.stop + self.latency {
            self.bytes_in_time += unit.bytes.len() as u64;
        }
        if received.kind() == MediaTrack::Video && self.ready.len() < AHEAD_MAX {
            self.ready.insert(unit.frame, unit.at);
        }
        let late = self.playout.counts().late;
        self.playout.push(now, received);
        let was_late = self.playout.counts().late > late;
        self.late += u64::from(was_late);
        if let Some(frames) = &self.frames {
            frames.on_complete(key, now, was_late);
        }
    }

    fn show(&mut self, unit: &AccessUnit) {
        if unit.track == MediaTrack::Audio {
            return;
        }
        self.is_whole = unit.is_key() || (self.is_whole && !unit.discontinuity);
        if let Some(ready) = self.ready.get(&unit.frame.into()) {
            self.behind = unit.play_at.saturating_since(*ready);
        }
        self.ready = self.ready.split_off(&unit.frame.into());
        if self.is_whole {
            self.first.get_or_insert(unit.play_at);
            self.shown.push(unit.play_at);
        }
    }

    fn lose(&mut self, now: Time, reason: String) {
        self.ended.get_or_insert(reason);
        self.reports_at = None;
        self.viewer.renew(viewer(self.latency));
        self.calls_at = (now + CALL_AGAIN < self.stop).then_some(now + CALL_AGAIN);
    }

    fn call(&mut self, now: Time) {
        if let Err(error) = self.viewer.connect(now, &self.paths) {
            self.ended.get_or_insert(error.to_string());
        }
    }

    fn report(&mut self, now: Time) {
        let counts = self.playout.counts();
        let (shown, late, lost) = (counts.pictures, counts.late, counts.missing);
        let zap = self.viewer.viewer().stats().zap;
        let zap_ms = zap.map(|zap| zap.as_secs_f64() * 1e3);
        self.viewer.act(now, |viewer| viewer.report(Report { shown, late, lost, zap_ms }));
        self.reports_at = Some(now + REPORTS);
    }
}

fn viewer(latency: Duration) -> Viewer {
    Viewer::new("anabranch lab".to_owned(), None, latency)
}

impl Machine for Watcher {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.viewer.handle_datagram(now, datagram);
        self.attend(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        if self.calls_at.take_if(|at| *at <= now).is_some() {
            self.call(now);
        }
        if self.reports_at.is_some_and(|at| at <= now) {
            self.report(now);
        }
        self.viewer.handle_timeout(now);
        self.attend(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.viewer.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let call = self.calls_at.map(|at| Wakeup { at, why: "a call" });
        let report = self.reports_at.map(|at| Wakeup { at, why: "a report" });
        let due = self.playout.poll_timeout().filter(|at| *at > self.attended);
        let due = due.map(|at| Wakeup { at, why: "a picture is to be seen" });
        let own = [call, report, due].into_iter().flatten();
        own.chain(self.viewer.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }

    fn set_tracing(&mut self, on: bool) {
        self.viewer.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.viewer.poll_trace()
    }
}
