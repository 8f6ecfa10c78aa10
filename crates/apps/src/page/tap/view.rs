//! [`View`]: what a receiver's page shows.

use std::collections::VecDeque;

use anabranch_media::broadcast::{BroadcastScreen, Formats};
use anabranch_media::clip::ClipHeader;
use anabranch_media::codec::Codec;
use anabranch_media::decoding::{AccessUnit, MediaTrack};
use anabranch_media::playout::Released;
use anabranch_sansio::PathId;
use anabranch_sansio::Time;
use anabranch_session::treatment::MediaClass;
use anabranch_session::{ClassArrivals, Receiver, ReceiverStats, Source, SourceFormat};
use anabranch_transport::{ConnectionStats, PathReport, PathState};

use super::super::protocol::{
    self as page, FrameCounts, Hello, LayerStats, LevelStats, Mode, Named, PathInfo, PathStats,
    Stats, Tally,
};
use super::super::screen::{ClipScreen, not_before};

/// Pictures and frames of sound that wait until the pages know what they are.
const WAITING_MAX: usize = 2_048;

/// What a receiver's page shows.
#[derive(Debug, Default)]
pub(super) struct View {
    /// The sender's start.
    session: Option<u16>,
    screen: Screen,
    /// What the pages were told of a broadcast.
    formats: Option<Formats>,
    /// The pages must be greeted anew.
    is_new: bool,
    /// How many codecs that the page does not play were told.
    told_not_played: usize,
    /// What had come before the pages were greeted last.
    before: [ClassArrivals; MediaClass::ALL.len()],
    ready: VecDeque<AccessUnit>,
    /// Where media came last.
    data_path: Option<PathId>,
    newest_arrival: Option<Time>,
    last_released: Option<Time>,
}

/// Who turns what comes into pictures and sound.
#[derive(Debug, Default)]
enum Screen {
    #[default]
    Nothing,
    Clip {
        screen: Box<ClipScreen>,
        header: Box<ClipHeader>,
    },
    Broadcast(Box<BroadcastScreen>),
}

/// A row of the statistics: its id, its name, and what of the treatment table belongs to it.
type Row = (&'static str, &'static str, &'static [MediaClass]);

const CLIP_ROWS: [Row; 3] = [
    ("base", "Base picture", &[MediaClass::KeyFrame, MediaClass::Reference]),
    ("enhancement", "Enhancement", &[MediaClass::Enhancement]),
    ("audio", "Sound", &[MediaClass::Audio]),
];

const BROADCAST_ROWS: [Row; 3] = [
    ("picture", "Picture", &[MediaClass::KeyFrame, MediaClass::Reference, MediaClass::Disposable]),
    ("audio", "Sound", &[MediaClass::Audio]),
    ("other", "Tables and the rest", &[MediaClass::Tables, MediaClass::Data, MediaClass::Padding]),
];

impl View {
    /// The sender said what it sends. One that comes back goes on.
    pub(super) fn begin(&mut self, source: &Source) {
        if self.session.replace(source.session) == Some(source.session) {
            return;
        }
        self.screen = match &source.format {
            SourceFormat::MpegTs => Screen::Broadcast(Box::default()),
            SourceFormat::Clip(header) => Screen::Clip {
                screen: Box::new(ClipScreen::new(header)),
                header: Box::new(header.clone()),
            },
        };
        self.formats = None;
        self.told_not_played = 0;
        self.is_new = true;
        self.ready.clear();
    }

    /// Takes note of what arrived.
    pub(super) fn take_arrivals(&mut self, receiver: &mut Receiver) {
        while let Some(arrival) = receiver.poll_arrival() {
            self.data_path = Some(arrival.path);
            self.newest_arrival = self.newest_arrival.max(Some(arrival.sent));
            match &mut self.screen {
                Screen::Nothing => {}
                Screen::Clip { screen, .. } => drop(screen.on_arrival(&arrival)),
                Screen::Broadcast(screen) => {
                    screen.on_arrival(arrival.track, arrival.frame, arrival.timeliness);
                }
            }
        }
    }

    /// The time of some media has come.
    pub(super) fn on_released(&mut self, now: Time, released: &Released) {
        self.last_released = Some(released.sent);
        match &mut self.screen {
            Screen::Nothing => {}
            Screen::Clip { screen, .. } => {
                self.ready.extend(screen.on_released(released).map(|unit| not_before(unit, now)));
            }
            Screen::Broadcast(screen) => {
                screen.on_released(released);
                let units = std::iter::from_fn(|| screen.poll_unit());
                self.ready.extend(units.map(|unit| not_before(unit, now)));
                let formats = screen.formats();
                self.is_new |= formats.is_some() && formats != self.formats;
            }
        }
        if self.is_waiting() {
            self.keep_the_newest();
        }
    }

    /// Plays the pictures of a clip whose time has come.
    pub(super) fn play(&mut self, receiver: &Receiver, now: Time) {
        let Screen::Clip { screen, .. } = &mut self.screen else { return };
        while let Some(played) = screen.play_due(receiver, now, self.newest_arrival) {
            self.ready.extend(played.unit.map(|unit| not_before(unit, now)));
        }
    }

    /// What to show next. Nothing before the pages know what it is.
    pub(super) fn poll_unit(&mut self) -> Option<AccessUnit> {
        if self.is_waiting() { None } else { self.ready.pop_front() }
    }

    /// A codec that the page does not play, each once.
    pub(super) fn poll_not_played(&mut self) -> Option<Codec> {
        let Screen::Broadcast(screen) = &self.screen else { return None };
        let codec = screen.not_played().get(self.told_not_played)?;
        self.told_not_played += 1;
        Some(*codec)
    }

    fn is_waiting(&self) -> bool {
        self.is_new || matches!(&self.screen, Screen::Broadcast(_) if self.formats.is_none())
    }

    /// Pages that are greeted in a moment can begin with the last key frame.
    fn keep_the_newest(&mut self) {
        let is_picture = |unit: &AccessUnit| unit.track == MediaTrack::Video && unit.is_key();
        if let Some(key) = self.ready.iter().rposition(is_picture) {
            self.ready.drain(..key);
        }
        if self.ready.len() > WAITING_MAX {
            self.ready.clear();
        }
    }

    /// What to greet the pages with, if they must be.
    pub(super) fn new_hello(&mut self, receiver: &Receiver) -> Option<Hello> {
        if !std::mem::take(&mut self.is_new) {
            return None;
        }
        let stats = receiver.stats();
        self.before = stats.classes;
        let paths = stats.connection.iter().flat_map(ConnectionStats::shown_paths);
        let mut hello = Hello {
            latency_ms: receiver.latency().as_secs_f64() * 1e3,
            paths: paths.map(path_info).collect(),
            layers: self.rows().iter().map(|(id, name, _)| named(id, name)).collect(),
            ..Hello::new(Mode::Recv)
        };
        match &self.screen {
            Screen::Nothing => {}
            Screen::Clip { header, .. } => hello.describe_clip(header),
            Screen::Broadcast(screen) => {
                self.formats = screen.formats();
                if let Some(Formats { video, audio }) = self.formats.clone() {
                    hello.video = video;
                    hello.audio = audio;
                    let names = screen.not_played().iter().map(ToString::to_string);
                    hello.not_played = names.collect();
                }
            }
        }
        Some(hello)
    }

    /// How things stand.
    pub(super) fn stats(&self, receiver: &Receiver) -> Stats {
        let stats = receiver.stats();
        let paths = stats.connection.iter().flat_map(ConnectionStats::shown_paths);
        let buffer = self.newest_arrival.zip(self.last_released);
        Stats {
            now_us: 0,
            paths: paths.map(|path| path_stats(path, self.data_path == Some(path.id))).collect(),
            layers: self.rows().iter().map(|row| self.layer_stats(row, &stats)).collect(),
            levels: LevelStats::of(stats.connection.as_ref()),
            frames: self.frames(),
            delay_ms: None,
            buffer_ms: buffer.map(|(newest, last)| (newest - last).as_secs_f64() * 1e3),
            latency_ms: receiver.latency().as_secs_f64() * 1e3,
            advised_latency_ms: stats.advice().map(|it| it.latency.as_secs_f64() * 1e3),
        }
    }

    fn frames(&self) -> FrameCounts {
        match &self.screen {
            Screen::Nothing => FrameCounts::default(),
            Screen::Clip { screen, .. } => {
                let counts = screen.counts();
                let lost = counts.lost + counts.undecodable;
                FrameCounts { shown: counts.shown, late: counts.late, lost }
            }
            Screen::Broadcast(screen) => {
                let counts = screen.counts();
                FrameCounts { shown: counts.shown, late: counts.late, lost: counts.lost }
            }
        }
    }

    const fn rows(&self) -> &'static [Row] {
        match &self.screen {
            Screen::Nothing => &[],
            Screen::Clip { .. } => &CLIP_ROWS,
            Screen::Broadcast(_) => &BROADCAST_ROWS,
        }
    }

    fn layer_stats(&self, (id, _, classes): &Row, stats: &ReceiverStats) -> LayerStats {
        let mut in_time = Tally::default();
        let mut late = Tally::default();
        for class in *classes {
            let (now, before) = (stats.class(*class), &self.before[class.index()]);
            in_time = in_time
                + Tally {
                    messages: now.in_time - before.in_time,
                    bytes: now.in_time_bytes - before.in_time_bytes,
                };
            late = late
                + Tally {
                    messages: now.late - before.late,
                    bytes: now.late_bytes - before.late_bytes,
                };
        }
        let id = (*id).to_owned();
        LayerStats { id, sent: None, in_time, late, retransmitted: None, abandoned: None }
    }
}

/// What a receiver knows of a path: what the sender put on it is not among that.
pub(crate) fn path_stats(path: &PathReport, carries_data: bool) -> PathStats {
    PathStats {
        info: path_info(path),
        state: match path.state {
            PathState::Active => page::PathState::Active,
            PathState::PotentiallyFailed => page::PathState::PotentiallyFailed,
            PathState::Inactive => page::PathState::Inactive,
            PathState::Unconfirmed => page::PathState::Unconfirmed,
        },
        primary: carries_data,
        rtt_ms: path.srtt.map(|rtt| rtt.as_secs_f64() * 1e3),
        cwnd_bytes: None,
        flight_bytes: None,
        sent_packets: None,
        lost_packets: None,
        sent_bytes: None,
        delivered_bytes: Some(path.bytes_received),
        link: None,
    }
}

pub(crate) fn path_info(path: &PathReport) -> PathInfo {
    PathInfo {
        id: path.id.0,
        name: None,
        local: path.tuple.local.to_string(),
        remote: path.tuple.remote.to_string(),
    }
}

fn named(id: &str, name: &str) -> Named {
    Named { id: id.to_owned(), name: name.to_owned() }
}

#[cfg(test)]
mod tests {
    use anabranch_media::Class;
    use bytes::Bytes;

    use super::*;
    use anabranch_media::decoding::LayerUnit;

    fn picture(frame: u32, class: Class) -> AccessUnit {
        AccessUnit {
            track: MediaTrack::Video,
            frame,
            pts_us: 0,
            play_at: Time::ZERO,
            discontinuity: false,
            layers: vec![LayerUnit { class, delay: None, bytes: Bytes::new() }],
        }
    }

    #[test]
    fn what_waits_for_the_pages_to_be_greeted_begins_with_the_last_key_frame() {
        let class = |frame| if frame % 10 == 0 { Class::KeyFrame } else { Class::Reference };
        let mut view = View { is_new: true, ..View::default() };
        view.ready.extend((5..25).map(|frame| picture(frame, class(frame))));
        view.keep_the_newest();
        assert_eq!(view.poll_unit(), None);
        view.is_new = false;
        assert_eq!(view.poll_unit().map(|unit| unit.frame), Some(20));
        assert_eq!(view.ready.len(), 4);
    }

    #[test]
    fn what_waits_is_bounded_without_a_key_frame() {
        let mut view = View { is_new: true, ..View::default() };
        for frame in 0..=WAITING_MAX as u32 {
            view.ready.push_back(picture(frame, Class::Reference));
            view.keep_the_newest();
        }
        assert!(view.ready.is_empty());
    }
}
