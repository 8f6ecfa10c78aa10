//! [`Playout`]: what arrived, in the order of decoding and in time.

#[cfg(test)]
mod tests;
mod timeline;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_media::decoding::{AccessUnit, LayerUnit, MediaTrack};
use anabranch_media::{Layer, Unit};
use anabranch_sansio::Time;

use super::{PictureOrder, ReceivedUnit};
use timeline::{Place, RESTART_AHEAD, Timeline};

/// A decoder gets what is whole so long before it is to be seen or heard.
const AHEAD: Duration = Duration::from_millis(160);

/// What is missing is waited for until so long before the time of what follows.
const GUARD: Duration = Duration::from_millis(40);

/// How long the first picture waits for what refines it.
const ENTRY_WAIT: Duration = Duration::from_millis(40);

/// Sound alone begins so late: transport streams carry a third of a second of it at once, and what
/// begins with the end of one lot must last until the next comes.
const SOUND_ALONE_AHEAD: Duration = Duration::from_millis(400);

/// What is next is farther ahead than this: the server left much out, and the time goes on there.
const STALL: Duration = Duration::from_millis(450);

/// Pictures, in the order of decoding, of which the last may be the first to be seen.
const REORDER_MAX: usize = 8;

/// Pictures and frames of sound that wait for their time, more than the longest groups of pictures
/// have; the oldest make way.
const WAITING_MAX: usize = 2_048;

/// Puts what arrived of one channel in order, and says when each picture is to be seen.
///
/// The page's engine (`web/src/television/playout`) does the same, digit for digit: both are held
/// to `tests/playout-vectors`.
#[derive(Debug)]
pub struct Playout {
    /// What can be entered: pictures, or sound where there are none.
    entry_track: MediaTrack,
    time: Timeline,
    /// The first picture.
    entry: Option<Entry>,
    waiting: BTreeMap<(MediaTrack, u64), Waiting>,
    /// What comes next of pictures and sound.
    next: [Option<u64>; 2],
    /// The last picture that was taken from what waits.
    last_picture: Option<PictureOrder>,
    /// What was handed out last.
    last: Option<Place>,
    due: VecDeque<AccessUnit>,
    counts: PlayoutCounts,
}

/// Counters.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PlayoutCounts {
    /// Pictures handed to the decoder.
    pub pictures: u64,
    /// Pictures whose number was passed over, and that did not come later.
    pub missing: u64,
    /// Pictures that came when their number had been passed over.
    pub late: u64,
}

/// Where it begins.
#[derive(Debug, Clone, Copy)]
struct Entry {
    frame: u64,
    place: Place,
}

#[derive(Debug)]
struct Waiting {
    since: Time,
    layers: BTreeMap<Layer, ReceivedUnit>,
}

impl Playout {
    /// Nothing to be seen yet.
    #[must_use]
    pub const fn new(budget: Duration) -> Self {
        Self {
            entry_track: MediaTrack::Video,
            time: Timeline::new(budget),
            entry: None,
            waiting: BTreeMap::new(),
            next: [None; 2],
            last_picture: None,
            last: None,
            due: VecDeque::new(),
            counts: PlayoutCounts { pictures: 0, missing: 0, late: 0 },
        }
    }

    /// Another server, whose clock shows `at` now.
    pub fn connect(&mut self, now: Time, at: Time, budget: Duration) {
        self.time = Timeline::new(budget);
        self.time.observe(now, at);
        self.begin(true);
    }

    /// Another latency budget, while it runs: it is reached by playing faster or slower.
    pub fn set_budget(&mut self, budget: Duration) {
        self.time.set_budget(budget, self.last);
    }

    /// Another channel, or another epoch of this one, with pictures or with sound alone.
    pub fn begin(&mut self, has_pictures: bool) {
        self.entry_track = if has_pictures { MediaTrack::Video } else { MediaTrack::Audio };
        self.time.stop();
        self.entry = None;
        self.waiting.clear();
        self.next = [None; 2];
        self.last_picture = None;
        self.last = None;
        self.due.clear();
    }

    /// Takes what arrived whole.
    pub fn push(&mut self, now: Time, received: ReceivedUnit) {
        let (track, frame) = (received.kind(), received.unit.frame);
        self.time.follow(now, Place::from(&received.unit), self.is_entry(&received));
        if self.next[track as usize].is_some_and(|next| frame < next) {
            return self.count_late(&received);
        }
        let new = || Waiting { since: now, layers: BTreeMap::new() };
        let waiting = self.waiting.entry((track, frame)).or_insert_with(new);
        waiting.layers.insert(received.unit.layer, received);
        if self.waiting.len() > WAITING_MAX {
            self.waiting.pop_first();
        }
    }

    /// What is to be seen or heard next, in the order of decoding.
    pub fn poll(&mut self, now: Time) -> Option<AccessUnit> {
        if self.due.is_empty() {
            self.enter(now);
            self.release(now);
        }
        if self.due.is_empty() && self.leap(now) {
            self.release(now);
        }
        self.due.pop_front()
    }

    /// When [`poll`](Self::poll) has something.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Time> {
        if self.entry.is_none() {
            return self.entrance().map(|(_, enters)| enters);
        }
        let next = |track| self.next_of(track).map(Next::leaves);
        [MediaTrack::Video, MediaTrack::Audio].into_iter().filter_map(next).min()
    }

    /// Counters.
    #[must_use]
    pub const fn counts(&self) -> PlayoutCounts {
        self.counts
    }

    fn is_entry(&self, received: &ReceivedUnit) -> bool {
        received.is_key()
            && received.kind() == self.entry_track
            && received.unit.layer == Layer::BASE
    }

    fn count_late(&mut self, received: &ReceivedUnit) {
        let Unit { layer, frame, .. } = received.unit;
        let is_picture = received.kind() == MediaTrack::Video && layer == Layer::BASE;
        let was_missed = self.entry.is_some_and(|entry| frame > entry.frame);
        if is_picture && was_missed && self.counts.missing > 0 {
            self.counts.missing -= 1;
            self.counts.late += 1;
        }
    }

    /// Begins with the first picture at once; what had come before it is of no use.
    fn enter(&mut self, now: Time) {
        if self.entry.is_some() {
            return;
        }
        let Some((entry, _)) = self.entrance().filter(|(_, enters)| *enters <= now) else {
            return;
        };
        let track = self.entry_track;
        let ahead = match track {
            MediaTrack::Video => Duration::ZERO,
            MediaTrack::Audio => SOUND_ALONE_AHEAD,
        };
        self.time.start(entry.place, now + ahead);
        self.entry = Some(entry);
        self.next[track as usize] = Some(entry.frame);
        self.waiting.retain(|key, _| key.0 != track || key.1 >= entry.frame);
    }

    /// Where to begin, and when.
    fn entrance(&self) -> Option<(Entry, Time)> {
        let is_entry = |waiting: &&Waiting| waiting.base().is_some_and(|base| self.is_entry(base));
        let first = self.waiting.values().find(is_entry)?;
        let unit = &first.base()?.unit;
        let wait = if first.is_whole() { Duration::ZERO } else { ENTRY_WAIT };
        Some((Entry { frame: unit.frame, place: Place::from(unit) }, first.since + wait))
    }

    fn release(&mut self, now: Time) {
        for track in [MediaTrack::Video, MediaTrack::Audio] {
            while let Some(next) = self.next_of(track).filter(|next| next.leaves() <= now) {
                self.hand_out(next);
            }
        }
    }

    /// What leaves next of a track.
    fn next_of(&self, track: MediaTrack) -> Option<Next> {
        let of_track = self.waiting.range((track, 0)..=(track, u64::MAX));
        let bases = of_track.filter_map(|(_, waiting)| Some((waiting, &waiting.base()?.unit)));
        let mut soon = bases.take(REORDER_MAX).peekable();
        let (first, base) = *soon.peek()?;
        let is_next = self.next[track as usize].is_none_or(|next| next == base.frame);
        let lead = if is_next && first.is_whole() { AHEAD } else { GUARD };
        let soonest = soon.min_by_key(|(_, base)| self.time.play_at(base.pts_us));
        let place = soonest.map(|(_, base)| Place::from(base))?;
        let due = self.time.play_at(place.pts_us)?;
        Some(Next { frame: base.frame, track, place, due, lead })
    }

    /// Takes it from what waits, and what it overtook.
    fn hand_out(&mut self, Next { track, frame, .. }: Next) {
        let Some(waiting) = self.waiting.remove(&(track, frame)) else { return };
        self.waiting.retain(|key, _| key.0 != track || key.1 > frame);
        let next = self.next[track as usize].replace(frame.saturating_add(1));
        let missing = next.map_or(0, |next| frame - next);
        let Some(base) = waiting.base() else { return };
        let (order, place) = (base.order(), Place::from(&base.unit));
        let lacks = match track {
            MediaTrack::Video => {
                self.counts.missing += missing;
                let last = self.last_picture.replace(order);
                last.is_some_and(|last| !last.is_enough_for(&order))
            }
            MediaTrack::Audio => missing > 0,
        };
        // What an open group of pictures shows before its key frame needs the group before it.
        let is_before = self.entry.is_some_and(|entry| place.pts_us < entry.place.pts_us);
        let Some(play_at) = self.time.play_at(place.pts_us).filter(|_| !is_before) else { return };
        self.counts.pictures += u64::from(track == MediaTrack::Video);
        self.last = Some(place);
        self.due.extend(waiting.into_unit(play_at, lacks));
    }

    /// Whether the time goes on elsewhere, because there is nothing to play for long.
    fn leap(&mut self, now: Time) -> bool {
        let next = [MediaTrack::Video, MediaTrack::Audio].map(|track| self.next_of(track));
        let next = next.into_iter().flatten().min_by_key(|next| next.due);
        let Some(next) = next.filter(|next| next.due > now + STALL) else { return false };
        self.time.start(next.place, now + RESTART_AHEAD);
        true
    }
}

/// What leaves next of a track.
#[derive(Debug, Clone, Copy)]
struct Next {
    track: MediaTrack,
    frame: u64,
    /// The first that is seen, of it and those after it.
    place: Place,
    due: Time,
    lead: Duration,
}

impl Next {
    fn leaves(self) -> Time {
        self.due.saturating_sub(self.lead)
    }
}

impl Waiting {
    fn base(&self) -> Option<&ReceivedUnit> {
        self.layers.get(&Layer::BASE)
    }

    /// Whether all layers came that the source has.
    fn is_whole(&self) -> bool {
        let numbered = self.layers.values().zip(0..);
        let top = numbered.take_while(|(it, place)| it.unit.layer.0 == *place).last();
        top.is_some_and(|(top, _)| top.unit.last_layer || top.kind() == MediaTrack::Audio)
    }

    /// The layers from the base upwards; nothing without a base.
    fn into_unit(self, play_at: Time, lacks_reference: bool) -> Option<AccessUnit> {
        let base = self.base()?;
        let (track, Unit { frame, pts_us, discontinuity, .. }) = (base.kind(), base.unit.clone());
        let layers = self.layers.into_values().zip(0..);
        let layers = layers.take_while(|(it, place)| it.unit.layer.0 == *place);
        let layers = layers.map(|(it, _)| LayerUnit {
            class: it.unit.class,
            delay: None,
            bytes: it.unit.bytes,
        });
        Some(AccessUnit {
            track,
            frame: frame as u32,
            pts_us,
            play_at,
            discontinuity: discontinuity || lacks_reference,
            layers: layers.collect(),
        })
    }
}
