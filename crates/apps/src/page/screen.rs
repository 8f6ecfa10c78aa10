//! [`ClipScreen`]: what a viewer sees and hears of a clip that arrives.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_media::clip::{
    AUDIO_TRACK, ClipHeader, FrameAssembler, FrameCounts, Shown, VIDEO_TRACK,
};
use anabranch_media::cutter::UnitJoiner;
use anabranch_media::decoding::{AccessUnit, LayerUnit, MediaTrack};
use anabranch_media::playout::{LATE_TOLERANCE, Released, Timeliness};
use anabranch_media::{Layer, Track, Unit};
use anabranch_sansio::Time;
use anabranch_session::{Arrival, Receiver};

/// After its play time, a picture of which something is missing is waited for so long: as long as
/// the playout takes what is late, and a wakeup.
const PLAY_GRACE: Duration = LATE_TOLERANCE.saturating_add(Duration::from_millis(2));

/// Units of which some pieces came. Above it the oldest is forgotten: it is lost long since.
const OPEN_UNITS_MAX: usize = 4_096;

/// Pictures that were released and wait for those before them.
const WAITING_PICTURES_MAX: usize = 256;

/// Puts the units of a clip together to pictures and sound, at their time.
///
/// Of a picture that nothing came of in time, and of one that refers to such a one, nothing is
/// shown: the last good one stays until the next key frame, as [`FrameAssembler`] says.
#[derive(Debug)]
pub struct ClipScreen {
    layers: u8,
    /// Nanoseconds in which so many pictures pass.
    frame_rate: (u64, u64),
    joiner: UnitJoiner,
    open: BTreeMap<UnitKey, OpenUnit>,
    pictures: Option<Pictures>,
}

/// Frame, track and layer: the oldest comes first.
type UnitKey = (u64, Track, Layer);

/// A unit arrived, whole.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Complete {
    /// Its number in its track.
    pub frame: u64,
    /// Its track.
    pub track: Track,
    /// Its layer.
    pub layer: Layer,
    /// When it came to the sender, on the sender's clock.
    pub sent: Time,
    /// When its last missing piece arrived, on ours.
    pub at: Time,
    /// Whether all of it came in time.
    pub in_time: bool,
}

/// A picture's play time has come.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Played {
    /// Its number.
    pub frame: u64,
    /// What is on the screen from now on.
    pub shown: Shown,
    /// What to show, if it is a new one.
    pub unit: Option<AccessUnit>,
}

/// The pieces of a unit as they arrive.
#[derive(Debug, Clone, Copy)]
struct OpenUnit {
    pieces: u64,
    /// How many there are, once the last one came.
    of: Option<u64>,
    in_time: bool,
}

/// The pictures since the first one.
#[derive(Debug)]
struct Pictures {
    assembler: FrameAssembler,
    /// The first picture and when it came to the sender: from it follow the times of all.
    first: (u64, Time),
    waiting: BTreeMap<u64, Vec<LayerUnit>>,
    last_shown: Option<u64>,
}

impl ClipScreen {
    /// Waits for the first picture.
    #[must_use]
    pub fn new(header: &ClipHeader) -> Self {
        let video = &header.video;
        let second = u64::from(video.frame_rate_denominator) * 1_000_000_000;
        Self {
            layers: video.layers,
            frame_rate: (second, video.frame_rate_numerator.into()),
            joiner: UnitJoiner::new(),
            open: BTreeMap::new(),
            pictures: None,
        }
    }

    /// A piece arrived; answers with the unit that it completes.
    pub fn on_arrival(&mut self, arrival: &Arrival) -> Option<Complete> {
        if arrival.timeliness == Timeliness::Unused {
            return None;
        }
        let key = (arrival.frame, arrival.track, arrival.layer);
        let unit = self.open.entry(key).or_insert(OpenUnit { pieces: 0, of: None, in_time: true });
        unit.pieces += 1;
        unit.in_time &= arrival.timeliness == Timeliness::InTime;
        if arrival.last {
            unit.of = Some(arrival.index + 1);
        }
        let OpenUnit { pieces, of, in_time } = *unit;
        if of != Some(pieces) {
            self.forget_oldest();
            return None;
        }
        self.open.remove(&key);
        if arrival.track == VIDEO_TRACK
            && let Some(pictures) = &mut self.pictures
        {
            pictures.note_late(arrival);
        }
        let Arrival { frame, track, layer, sent, at, .. } = *arrival;
        Some(Complete { frame, track, layer, sent, at, in_time })
    }

    /// The time of a piece has come; answers with the sound that it completes.
    pub fn on_released(&mut self, released: &Released) -> Option<AccessUnit> {
        let unit = self.joiner.push(released)?;
        match unit.track {
            VIDEO_TRACK => self.add_picture(unit),
            AUDIO_TRACK => return Some(sound(unit, released.due)),
            _ => {}
        }
        None
    }

    /// The next picture, if its play time has come; `last` is when the last one came to the sender,
    /// if that is known.
    pub fn play_due(
        &mut self,
        receiver: &Receiver,
        now: Time,
        last: Option<Time>,
    ) -> Option<Played> {
        let due = self.next_due(receiver, last)?;
        self.is_ready(receiver, due, now).then(|| self.play(due))?
    }

    /// When [`play_due`](Self::play_due) must be asked again for a picture of which something is
    /// missing.
    #[must_use]
    pub fn next_at(&self, receiver: &Receiver, last: Option<Time>) -> Option<Time> {
        if waits(receiver) {
            return None;
        }
        Some(self.next_due(receiver, last)? + PLAY_GRACE)
    }

    /// When the next picture came to the sender, or should have, on the sender's clock. None before
    /// the first.
    #[must_use]
    pub fn next_sent(&self) -> Option<Time> {
        let pictures = self.pictures.as_ref()?;
        let (frame, sent) = pictures.first;
        let frames = u128::from(pictures.assembler.next_frame().saturating_sub(frame));
        let nanos = frames * u128::from(self.frame_rate.0) / u128::from(self.frame_rate.1.max(1));
        Some(sent + Duration::from_nanos(u64::try_from(nanos).unwrap_or(u64::MAX)))
    }

    /// Pictures by what became of them.
    #[must_use]
    pub fn counts(&self) -> FrameCounts {
        self.pictures.as_ref().map(|pictures| pictures.assembler.counts()).unwrap_or_default()
    }

    fn next_due(&self, receiver: &Receiver, last: Option<Time>) -> Option<Time> {
        let sent = self.next_sent().filter(|sent| last.is_none_or(|last| *sent <= last))?;
        Some(receiver.playout().clock().local(sent) + receiver.latency())
    }

    fn is_ready(&self, receiver: &Receiver, due: Time, now: Time) -> bool {
        if waits(receiver) {
            return self.next_is_settled();
        }
        due <= now && (self.next_is_settled() || due + PLAY_GRACE <= now)
    }

    /// Whether nothing more of the next picture can be released: it is whole, or something of a
    /// later one was released.
    fn next_is_settled(&self) -> bool {
        let Some(pictures) = &self.pictures else { return false };
        let next = pictures.assembler.next_frame();
        let layers = pictures.waiting.get(&next).map_or(0, Vec::len);
        let later = pictures.waiting.last_key_value().is_some_and(|(frame, _)| *frame > next);
        layers == usize::from(self.layers) || later
    }

    /// The play time of the next picture, `due`, has come. None before the first.
    fn play(&mut self, due: Time) -> Option<Played> {
        let sent = self.next_sent()?;
        Some(self.pictures.as_mut()?.play(sent, due))
    }

    fn forget_oldest(&mut self) {
        if self.open.len() > OPEN_UNITS_MAX {
            self.open.pop_first();
        }
    }

    fn add_picture(&mut self, unit: Unit) {
        let layers = self.layers;
        let pictures = self.pictures.get_or_insert_with(|| Pictures {
            assembler: FrameAssembler::new(layers, unit.frame),
            first: (unit.frame, unit.at),
            waiting: BTreeMap::new(),
            last_shown: None,
        });
        if unit.layer.0 < layers {
            pictures.add(unit);
        }
    }
}

impl Pictures {
    fn add(&mut self, unit: Unit) {
        if unit.frame < self.assembler.next_frame() || self.waiting.len() >= WAITING_PICTURES_MAX {
            return;
        }
        self.assembler.on_unit(unit.frame, unit.layer, unit.class);
        let layers = self.waiting.entry(unit.frame).or_default();
        // What lies above a gap cannot be decoded.
        if layers.len() == usize::from(unit.layer.0) {
            layers.push(LayerUnit { class: unit.class, delay: None, bytes: unit.bytes });
        }
    }

    /// A picture that came after its time was lost, and counts as late too.
    fn note_late(&mut self, arrival: &Arrival) {
        if arrival.frame < self.assembler.next_frame() {
            self.assembler.on_unit(arrival.frame, arrival.layer, arrival.class);
        }
    }

    fn play(&mut self, sent: Time, due: Time) -> Played {
        let frame = self.assembler.next_frame();
        let shown = self.assembler.play();
        let layers = self.waiting.remove(&frame).unwrap_or_default();
        let Shown::New(_) = shown else { return Played { frame, shown, unit: None } };
        let before = self.last_shown.replace(frame);
        let unit = AccessUnit {
            track: MediaTrack::Video,
            frame: frame as u32,
            pts_us: pts_us(sent),
            play_at: due,
            discontinuity: before.is_some_and(|before| before + 1 != frame),
            layers,
        };
        Played { frame, shown, unit: Some(unit) }
    }
}

/// Nothing is given up: what is late is waited for.
fn waits(receiver: &Receiver) -> bool {
    receiver.source().is_some_and(|source| source.complete)
}

/// What was waited for is shown when it is there: pages drop what is too late.
#[must_use]
pub fn not_before(unit: AccessUnit, now: Time) -> AccessUnit {
    let is_late = unit.play_at + PLAY_GRACE < now;
    AccessUnit { play_at: if is_late { now } else { unit.play_at }, ..unit }
}

fn sound(unit: Unit, due: Time) -> AccessUnit {
    AccessUnit {
        track: MediaTrack::Audio,
        frame: unit.frame as u32,
        pts_us: pts_us(unit.at),
        play_at: due,
        discontinuity: false,
        layers: vec![LayerUnit { class: unit.class, delay: None, bytes: unit.bytes }],
    }
}

/// A clip comes to its sender at the speed at which it is to be seen: both times differ by the
/// moment of its start.
fn pts_us(sent: Time) -> i64 {
    i64::try_from(sent.as_micros()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use anabranch_media::Class;
    use anabranch_media::clip::{Attribution, AudioFormat, Picture, VideoFormat};
    use anabranch_media::piece::Presentation;
    use anabranch_sansio::PathId;

    use super::*;

    const LATENCY: Duration = Duration::from_millis(200);

    fn header() -> ClipHeader {
        let text = String::new;
        ClipHeader {
            title: text(),
            video: VideoFormat {
                codec: text(),
                width: 16,
                height: 16,
                frame_rate_numerator: 25,
                frame_rate_denominator: 1,
                layers: 2,
            },
            audio: AudioFormat { codec: text(), sample_rate: 48_000, channels: 2 },
            attribution: Attribution {
                text: text(),
                url: text(),
                license: text(),
                license_url: text(),
            },
            loop_duration_us: 1,
        }
    }

    /// Each tenth picture is a key frame.
    fn released(frame: u64, layer: u8) -> Released {
        let class = match (frame % 10, layer) {
            (0, 0) => Class::KeyFrame,
            (_, 0) => Class::Reference,
            _ => Class::Disposable,
        };
        let sent = Time::from_millis(1_000 + 40 * frame);
        Released {
            presentation: Some(Presentation::default()),
            position: 2 * frame + u64::from(layer),
            items: 1,
            skipped: 0,
            due: sent + LATENCY,
            sent,
            track: VIDEO_TRACK,
            layer: Layer(layer),
            class,
            frame,
            index: 0,
            last: true,
            bytes: vec![frame as u8].into(),
        }
    }

    fn arrival(frame: u64, index: u64, last: bool, timeliness: Timeliness) -> Arrival {
        let Released { sent, track, layer, class, .. } = released(frame, 0);
        let at = sent + Duration::from_millis(30 + index);
        let (path, len) = (PathId(0), 100);
        Arrival { at, sent, path, track, layer, class, frame, index, last, len, timeliness }
    }

    fn play(screen: &mut ClipScreen) -> Played {
        let due = screen.next_sent().unwrap() + LATENCY;
        screen.play(due).unwrap()
    }

    #[test]
    fn pictures_come_whole_at_their_time_and_lost_ones_keep_theirs() {
        let mut screen = ClipScreen::new(&header());
        assert_eq!((screen.next_sent(), screen.play(Time::ZERO)), (None, None));
        for (frame, layer) in [(0, 0), (0, 1), (1, 0), (3, 0), (10, 0), (10, 1)] {
            assert_eq!(screen.on_released(&released(frame, layer)), None);
        }
        let first = play(&mut screen).unit.unwrap();
        assert_eq!((first.frame, first.layers.len(), first.discontinuity), (0, 2, false));
        assert_eq!(first.play_at, Time::from_millis(1_200));
        assert_eq!(play(&mut screen).unit.unwrap().layers.len(), 1);

        let frozen = Shown::Frozen(Some(Picture { frame: 1, layer: Layer::BASE }));
        for frame in 2..10 {
            let played = play(&mut screen);
            assert_eq!((played.frame, played.shown, played.unit), (frame, frozen, None));
        }
        assert_eq!(screen.next_sent(), Some(Time::from_millis(1_400)));
        let key = play(&mut screen).unit.unwrap();
        assert_eq!((key.frame, key.pts_us, key.discontinuity), (10, 1_400_000, true));
        let counts = screen.counts();
        assert_eq!((counts.shown, counts.lost, counts.undecodable), (3, 7, 1));
    }

    #[test]
    fn an_enhancement_without_its_base_is_not_shown() {
        let mut screen = ClipScreen::new(&header());
        screen.on_released(&released(0, 0));
        screen.on_released(&released(1, 1));
        assert_eq!(play(&mut screen).unit.unwrap().layers.len(), 1);
        assert_eq!(play(&mut screen).unit, None);
    }

    #[test]
    fn the_next_picture_is_settled_when_it_is_whole_or_overtaken() {
        let mut screen = ClipScreen::new(&header());
        screen.on_released(&released(0, 0));
        assert!(!screen.next_is_settled());
        screen.on_released(&released(0, 1));
        assert!(screen.next_is_settled());
        play(&mut screen);
        assert!(!screen.next_is_settled());
        screen.on_released(&released(2, 0));
        assert!(screen.next_is_settled());
    }

    #[test]
    fn a_unit_is_complete_with_its_last_missing_piece() {
        let mut screen = ClipScreen::new(&header());
        for index in [1, 0] {
            let piece = arrival(0, index, false, Timeliness::InTime);
            assert_eq!(screen.on_arrival(&piece), None);
        }
        let again = arrival(0, 0, false, Timeliness::Unused);
        assert_eq!(screen.on_arrival(&again), None);
        let complete = screen.on_arrival(&arrival(0, 2, true, Timeliness::Late)).unwrap();
        assert_eq!((complete.frame, complete.in_time), (0, false));
        assert_eq!(complete.at - complete.sent, Duration::from_millis(32));
    }

    #[test]
    fn a_base_after_its_time_is_late_and_stays_lost() {
        let mut screen = ClipScreen::new(&header());
        screen.on_released(&released(0, 0));
        play(&mut screen);
        play(&mut screen);
        assert_eq!((screen.counts().late, screen.counts().lost), (0, 1));
        screen.on_arrival(&arrival(1, 0, true, Timeliness::Late)).unwrap();
        assert_eq!((screen.counts().late, screen.counts().lost), (1, 1));
    }

    #[test]
    fn units_that_never_end_are_forgotten() {
        let mut screen = ClipScreen::new(&header());
        for frame in 0..2 * OPEN_UNITS_MAX as u64 {
            screen.on_arrival(&arrival(frame, 0, false, Timeliness::InTime));
        }
        assert_eq!(screen.open.len(), OPEN_UNITS_MAX);
    }

    #[test]
    fn sound_is_played_as_it_is_released() {
        let mut screen = ClipScreen::new(&header());
        let piece = Released { track: AUDIO_TRACK, class: Class::Audio, ..released(7, 0) };
        let unit = screen.on_released(&piece).unwrap();
        assert_eq!((unit.track, unit.frame, unit.play_at), (MediaTrack::Audio, 7, piece.due));
        assert_eq!(screen.next_sent(), None);
    }
}
