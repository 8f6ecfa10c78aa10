//! [`FrameAssembler`]: what a viewer sees of the units that arrive.

use std::collections::{BTreeMap, BTreeSet};

use super::CLIP_LAYERS_MAX;
use crate::{Class, Layer};

/// A base that comes this many pictures after its play time counts as late; after that it is as if
/// it had never come. At 25 pictures a second: 41 s.
pub const LATE_WINDOW_FRAMES: u64 = 1024;

/// Units of pictures that are further ahead of the play time are not kept: their sender counts
/// wrongly.
const AHEAD_FRAMES_MAX: u64 = 1024;

/// A decoded picture: which one, and up to which layer.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Picture {
    /// Its number.
    pub frame: u64,
    /// The highest layer that was decoded.
    pub layer: Layer,
}

/// What is on the screen from a picture's play time on.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// A new picture, of this quality: the base, or refined by an enhancement.
    New(Picture),
    /// The last good picture stays, because the new one did not come or could not be decoded.
    /// Before the first good one the screen is black.
    Frozen(Option<Picture>),
}

impl Shown {
    /// What is on the screen; none: it is black.
    #[must_use]
    pub const fn picture(self) -> Option<Picture> {
        match self {
            Self::New(picture) => Some(picture),
            Self::Frozen(picture) => picture,
        }
    }
}

/// What became of the pictures whose play time has come. Each is counted in exactly one of the
/// first three fields, and no field ever falls.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct FrameCounts {
    /// Decoded in time, base or refined.
    pub shown: u64,
    /// The base was not there at its play time, whether it came later or never.
    pub lost: u64,
    /// The base came in time, but a picture that it is predicted from was not decoded.
    pub undecodable: u64,
    /// How many of `lost` came later, within [`LATE_WINDOW_FRAMES`].
    pub late: u64,
    /// How many of `shown` were refined by all the layers there are.
    pub full: u64,
}

impl FrameCounts {
    /// All pictures whose play time has come.
    #[must_use]
    pub const fn played(&self) -> u64 {
        self.shown + self.lost + self.undecodable
    }
}

/// Decides, picture by picture, what a viewer sees.
///
/// It is told which units arrive and when a picture's play time has come. The rules:
///
/// - A picture is decoded at its play time from what has arrived by then: the base, and the
///   enhancements above it without a gap.
/// - An enhancement is predicted from its own base alone. Its loss costs that picture's refinement,
///   nothing else.
/// - A base picture is predicted from the base pictures before it, back to a key frame. If one of
///   them is missing at its play time, none is decoded before the next key frame: the last good
///   picture stays.
/// - What arrives after its play time is never decoded, only counted.
///
/// ```
/// use anabranch_media::clip::{FrameAssembler, Picture, Shown};
/// use anabranch_media::{Class, Layer};
///
/// let mut assembler = FrameAssembler::new(2, 0);
/// assembler.on_unit(0, Layer(0), Class::KeyFrame);
/// assembler.on_unit(0, Layer(1), Class::Disposable);
/// let full = Picture { frame: 0, layer: Layer(1) };
/// assert_eq!(assembler.play(), Shown::New(full));
/// assert_eq!(assembler.play(), Shown::Frozen(Some(full)), "nothing came of picture 1");
/// assert_eq!(assembler.counts().lost, 1);
/// ```
#[derive(Debug, Clone)]
pub struct FrameAssembler {
    layers: u8,
    next: u64,
    waiting: BTreeMap<u64, Arrived>,
    /// Pictures of the last while whose base was missing at their play time.
    missed: BTreeSet<u64>,
    /// Every base picture since the last key frame was decoded.
    chain_is_whole: bool,
    on_screen: Option<Picture>,
    counts: FrameCounts,
}

impl FrameAssembler {
    /// For pictures of `layers` layers (at most [`CLIP_LAYERS_MAX`]), the first of which to be
    /// played is `first`.
    #[must_use]
    pub fn new(layers: u8, first: u64) -> Self {
        Self {
            layers: layers.clamp(1, CLIP_LAYERS_MAX),
            next: first,
            waiting: BTreeMap::new(),
            missed: BTreeSet::new(),
            chain_is_whole: false,
            on_screen: None,
            counts: FrameCounts::default(),
        }
    }

    /// A layer of a picture arrived, in time or not. Repeats and unknown layers change nothing.
    pub fn on_unit(&mut self, frame: u64, layer: Layer, class: Class) {
        if layer.0 >= self.layers || frame >= self.next.saturating_add(AHEAD_FRAMES_MAX) {
            return;
        }
        if frame >= self.next {
            self.waiting.entry(frame).or_default().add(layer, class);
        } else if layer == Layer::BASE && self.missed.remove(&frame) {
            self.counts.late += 1;
        }
    }

    /// The play time of the next picture has come: what is on the screen from now on?
    pub fn play(&mut self) -> Shown {
        let frame = self.next;
        self.next = frame.saturating_add(1);
        self.missed = self.missed.split_off(&frame.saturating_sub(LATE_WINDOW_FRAMES));

        let arrived = self.waiting.remove(&frame).unwrap_or_default();
        let Some(class) = arrived.base else {
            return self.miss(frame);
        };
        if class == Class::KeyFrame {
            self.chain_is_whole = true;
        }
        if !self.chain_is_whole {
            self.counts.undecodable += 1;
            return Shown::Frozen(self.on_screen);
        }
        let picture = Picture { frame, layer: arrived.highest_layer() };
        self.counts.shown += 1;
        self.counts.full += u64::from(picture.layer.0 + 1 == self.layers);
        self.on_screen = Some(picture);
        Shown::New(picture)
    }

    /// The number of the picture whose play time comes next.
    #[must_use]
    pub const fn next_frame(&self) -> u64 {
        self.next
    }

    /// What became of the pictures played so far.
    #[must_use]
    pub const fn counts(&self) -> FrameCounts {
        self.counts
    }

    /// What the lost picture's class was is not known: it may have been a reference.
    fn miss(&mut self, frame: u64) -> Shown {
        self.counts.lost += 1;
        self.missed.insert(frame);
        self.chain_is_whole = false;
        Shown::Frozen(self.on_screen)
    }
}

/// What has come of a picture before its play time.
#[derive(Debug, Clone, Copy, Default)]
struct Arrived {
    base: Option<Class>,
    /// Bit n stands for layer n.
    layers: u8,
}

impl Arrived {
    fn add(&mut self, layer: Layer, class: Class) {
        self.layers |= 1 << layer.0;
        if layer == Layer::BASE {
            self.base = Some(class);
        }
    }

    /// The highest layer up to which there is no gap; the base is there.
    fn highest_layer(self) -> Layer {
        Layer(self.layers.trailing_ones().saturating_sub(1) as u8)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const KEY_INTERVAL: u64 = 4;

    fn class_of(frame: u64) -> Class {
        if frame.is_multiple_of(KEY_INTERVAL) { Class::KeyFrame } else { Class::Reference }
    }

    fn base(assembler: &mut FrameAssembler, frame: u64) {
        assembler.on_unit(frame, Layer(0), class_of(frame));
    }

    fn enhancement(assembler: &mut FrameAssembler, frame: u64) {
        assembler.on_unit(frame, Layer(1), Class::Disposable);
    }

    fn picture(frame: u64, layer: u8) -> Picture {
        Picture { frame, layer: Layer(layer) }
    }

    #[test]
    fn lost_enhancement_costs_one_picture_its_refinement() {
        let mut assembler = FrameAssembler::new(2, 0);
        for frame in 0..3 {
            base(&mut assembler, frame);
        }
        enhancement(&mut assembler, 0);
        enhancement(&mut assembler, 2);
        assert_eq!(assembler.play(), Shown::New(picture(0, 1)));
        assert_eq!(assembler.play(), Shown::New(picture(1, 0)));
        assert_eq!(assembler.play(), Shown::New(picture(2, 1)));
        assert_eq!(assembler.counts(), FrameCounts { shown: 3, full: 2, ..Default::default() });
    }

    #[test]
    fn lost_base_freezes_the_picture_until_the_next_key_frame() {
        let mut assembler = FrameAssembler::new(2, 0);
        for frame in [0, 1, 3, 4] {
            base(&mut assembler, frame);
            enhancement(&mut assembler, frame);
        }
        enhancement(&mut assembler, 2);
        let shown: Vec<_> = (0..5).map(|_| assembler.play()).collect();
        let frozen = Shown::Frozen(Some(picture(1, 1)));
        let expected = [
            Shown::New(picture(0, 1)),
            Shown::New(picture(1, 1)),
            frozen,
            frozen,
            Shown::New(picture(4, 1)),
        ];
        assert_eq!(shown, expected);
        let counts = assembler.counts();
        assert_eq!((counts.shown, counts.lost, counts.undecodable), (3, 1, 1));
        assert_eq!(counts.played(), 5);
    }

    #[test]
    fn base_after_its_play_time_is_late_once_and_breaks_the_chain() {
        let mut assembler = FrameAssembler::new(2, 0);
        base(&mut assembler, 0);
        assembler.play();
        assembler.play();
        assert_eq!(assembler.counts().lost, 1);

        base(&mut assembler, 1);
        base(&mut assembler, 1);
        base(&mut assembler, 0);
        enhancement(&mut assembler, 1);
        assert_eq!((assembler.counts().late, assembler.counts().lost), (1, 1), "lost stays lost");

        base(&mut assembler, 2);
        assert_eq!(assembler.play(), Shown::Frozen(Some(picture(0, 0))));
        assert_eq!(assembler.counts().undecodable, 1);
    }

    #[test]
    fn base_beyond_the_late_window_is_not_even_late() {
        let mut assembler = FrameAssembler::new(2, 0);
        for _ in 0..=LATE_WINDOW_FRAMES + 1 {
            assembler.play();
        }
        assert_eq!(assembler.missed.len() as u64, LATE_WINDOW_FRAMES + 1);
        base(&mut assembler, 0);
        assert_eq!(assembler.counts().late, 0);
        base(&mut assembler, 1);
        assert_eq!(assembler.counts().late, 1);
    }

    #[test]
    fn nothing_is_shown_before_the_first_key_frame() {
        let mut assembler = FrameAssembler::new(2, 6);
        base(&mut assembler, 6);
        base(&mut assembler, 8);
        assert_eq!(assembler.play(), Shown::Frozen(None));
        assert_eq!(assembler.play().picture(), None);
        assert_eq!(assembler.play(), Shown::New(picture(8, 0)));
    }

    #[test]
    fn a_gap_in_the_layers_hides_those_above_it() {
        let mut assembler = FrameAssembler::new(3, 0);
        base(&mut assembler, 0);
        assembler.on_unit(0, Layer(2), Class::Disposable);
        assembler.on_unit(0, Layer(9), Class::Disposable);
        assert_eq!(assembler.play(), Shown::New(picture(0, 0)));
        assert_eq!(assembler.counts().full, 0);
    }

    #[test]
    fn units_far_ahead_are_not_kept() {
        let mut assembler = FrameAssembler::new(2, 0);
        base(&mut assembler, AHEAD_FRAMES_MAX);
        base(&mut assembler, u64::MAX);
        assert_eq!(assembler.waiting.len(), 0);
        base(&mut assembler, AHEAD_FRAMES_MAX - 1);
        assert_eq!(assembler.waiting.len(), 1);
    }
}
