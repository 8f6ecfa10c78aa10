//! [`Playout`]: what arrived of the peer's voice and pictures, at its time and in step.

mod pictures;
mod spread;
#[cfg(test)]
mod vectors;
mod voice;

use std::time::Duration;

use anabranch_media::playout::clock::PlayoutClock;
use anabranch_media::{Class, Layer, Piece, Track};
use anabranch_sansio::{PathId, Time, Wakeup};
use bytes::Bytes;

use crate::heard::{Heard, VoiceCounts, longest_gap};
use crate::{PictureKind, Playback};
pub use pictures::PictureCounts;
use pictures::Pictures;
use voice::Voice;

/// The track of the picture.
pub(crate) const PICTURE: Track = Track(0);

/// The track of the voice.
pub(crate) const VOICE: Track = Track(1);

/// All paths are one to the clock: voice waits for the fastest, and its target knows the others.
const ANY_PATH: PathId = PathId(0);

/// Arrivals of voice that are remembered, to tell what a handoff cost.
const ARRIVALS_MAX: usize = 256;

/// What arrived of a peer, at its time and in step: voice as early as it can go on without a gap,
/// pictures with the voice that they were captured with.
#[derive(Debug)]
pub struct Playout {
    /// The sender's start.
    session: Option<u16>,
    clock: PlayoutClock,
    voice: Voice,
    pictures: Pictures,
    malformed: u64,
    /// When the last frames of voice came, the newest last.
    arrivals: std::collections::VecDeque<Time>,
}

impl Default for Playout {
    fn default() -> Self {
        Self::new()
    }
}

impl Playout {
    /// Nothing has arrived yet.
    #[must_use]
    pub fn new() -> Self {
        Self {
            session: None,
            clock: PlayoutClock::new(Duration::ZERO),
            voice: Voice::new(),
            pictures: Pictures::default(),
            malformed: 0,
            arrivals: std::collections::VecDeque::new(),
        }
    }

    /// What became of the frames of voice.
    #[must_use]
    pub const fn voice_counts(&self) -> VoiceCounts {
        self.voice.counts()
    }

    /// What became of the pictures.
    #[must_use]
    pub const fn picture_counts(&self) -> PictureCounts {
        self.pictures.counts()
    }

    /// How long voice waits beside the way, and how long it should.
    pub(crate) const fn delay(&self) -> (Duration, Duration) {
        self.voice.delay()
    }

    /// Messages that are no media of a call.
    pub(crate) const fn malformed(&self) -> u64 {
        self.malformed
    }

    /// What the slower of two paths of voice takes longer.
    pub(crate) fn set_way_difference(&mut self, difference: Duration) {
        self.voice.set_way_difference(difference);
    }

    /// The peer is muted: frames of voice from this number on are not missing.
    pub const fn mute_from(&mut self, number: u64) {
        self.voice.mute_from(number);
    }

    pub(crate) const fn break_off(&mut self) {
        self.pictures.break_off();
    }

    /// Whether to ask the peer for a key picture now: what came cannot be decoded.
    pub fn take_key_wanted(&mut self, now: Time) -> bool {
        self.pictures.take_key_wanted(now)
    }

    /// A message of the peer's came.
    pub(crate) fn push(&mut self, now: Time, message: Bytes) {
        match Piece::decode(message) {
            Ok(piece) => self.push_piece(now, piece),
            Err(_) => self.malformed += 1,
        }
    }

    /// A piece of the peer's came: its picture is track 0, its voice track 1.
    pub fn push_piece(&mut self, now: Time, piece: Piece) {
        let at = piece.header.first_at();
        let is_new = self.session.replace(piece.header.session) != Some(piece.header.session);
        if is_new || self.clock.is_broken_by(now, at) {
            self.restart();
        }
        let is_whole = piece.header.presentation.is_some() && piece.header.layer == Layer::BASE;
        match (piece.header.track, PictureKind::of(piece.header.class)) {
            (PICTURE, Some(kind)) if is_whole => {
                self.clock.sample(now, Some(ANY_PATH), at);
                self.pictures.push(piece, kind);
            }
            (VOICE, _) if is_whole && piece.header.class == Class::Audio && piece.header.last => {
                self.push_voice(now, at, piece);
            }
            _ => self.malformed += 1,
        }
    }

    fn push_voice(&mut self, now: Time, at: Time, piece: Piece) {
        if piece.header.index > 0 {
            self.malformed += 1;
            return;
        }
        self.clock.sample(now, Some(ANY_PATH), at);
        if self.arrivals.len() >= ARRIVALS_MAX {
            self.arrivals.pop_front();
        }
        self.arrivals.push_back(now);
        let local = self.clock.local(at);
        self.voice.push(now, piece.header.frame, at, local, piece.payload);
    }

    /// What is to be heard or seen next, if anything is.
    pub fn poll(&mut self, now: Time) -> Option<Playback> {
        self.clock.advance(now);
        let Self { clock, voice, pictures, .. } = self;
        let local = |at| clock.local(at);
        let played = voice.poll(now, &local);
        let (delay, _) = voice.delay();
        let played = played.or_else(|| pictures.poll(now, delay, &local));
        if played.is_some() {
            self.clock.settle();
        }
        played
    }

    /// When [`poll`](Self::poll) has something to do next.
    #[must_use]
    pub fn poll_timeout(&self, now: Time) -> Option<Wakeup> {
        let local = |at| self.clock.local(at);
        let (delay, _) = self.voice.delay();
        let voice = self.voice.due(&local).map(|at| Wakeup { at, why: "voice" });
        let picture = self.pictures.due(now, delay, &local).map(|at| Wakeup { at, why: "picture" });
        voice.into_iter().chain(picture).min()
    }

    fn restart(&mut self) {
        self.clock = PlayoutClock::new(Duration::ZERO);
        self.voice.restart();
        self.pictures.restart();
        self.arrivals.clear();
    }
}

impl Heard for Playout {
    fn voice_counts(&self) -> VoiceCounts {
        self.voice_counts()
    }

    fn longest_gap_since(&self, since: Time) -> Option<Duration> {
        longest_gap(&self.arrivals, since)
    }
}
