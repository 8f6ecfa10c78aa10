//! [`PageQueue`]: what waits for one page to take it.
//!
//! A page that reads slowly, or not at all because it is hidden, loses media, never the program's
//! memory: pictures are dropped until a key frame fits again, statistics and lists of channels are
//! replaced by newer ones, and a page that does not even take its few texts is given up.

use std::collections::VecDeque;

use anabranch_media::decoding::{AccessUnit, MediaTrack};
use bytes::Bytes;

use super::protocol::{encode_unit, encoded_len};

/// Media bytes that wait for one page.
pub(super) const MEDIA_BYTES_MAX: usize = 4 << 20;

/// Of those, bytes that only sound may take: it goes on when pictures have to stop. Ten seconds.
const SOUND_RESERVE_BYTES: usize = 256 << 10;

/// Texts that wait for one page, but for those of which only the newest is worth sending.
const TEXTS_MAX: usize = 256;

/// What is to be sent to the page next.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Outgoing {
    Text(String),
    Media(Bytes),
    /// The last one.
    Close(Farewell),
}

/// Why the socket is closed.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Farewell {
    /// The stream is over, which the last text said.
    Ended,
    /// The page did not take its texts.
    TooSlow,
    /// The page broke the protocol too often, or in earnest.
    Misbehaved,
}

/// What waits for one page to take it.
#[derive(Debug)]
pub(super) struct PageQueue {
    texts: VecDeque<String>,
    channels: Option<String>,
    stats: Option<String>,
    media: VecDeque<Bytes>,
    media_bytes: usize,
    video: Gate,
    sound: Gate,
    farewell: Option<Farewell>,
}

/// Whether units of a track pass.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Gate {
    Open,
    /// Only a unit that decoding can begin with passes, and opens.
    WaitsForKey {
        /// Units before it were sent, others after those were not.
        broken: bool,
    },
}

impl PageQueue {
    /// A queue that begins with a hello.
    pub(super) fn new(hello: String) -> Self {
        let mut queue = Self {
            texts: VecDeque::new(),
            channels: None,
            stats: None,
            media: VecDeque::new(),
            media_bytes: 0,
            video: Gate::WaitsForKey { broken: false },
            sound: Gate::WaitsForKey { broken: false },
            farewell: None,
        };
        queue.push_hello(hello);
        queue
    }

    /// A hello: what waits from before is void.
    pub(super) fn push_hello(&mut self, hello: String) {
        self.stats = None;
        self.media.clear();
        self.media_bytes = 0;
        self.video = Gate::WaitsForKey { broken: false };
        self.sound = Gate::WaitsForKey { broken: false };
        self.push_text(hello);
    }

    /// A text that must not be lost.
    pub(super) fn push_text(&mut self, text: String) {
        if self.farewell.is_some() {
            return;
        }
        if self.texts.len() >= TEXTS_MAX {
            return self.give_up(Farewell::TooSlow);
        }
        self.texts.push_back(text);
    }

    /// Nothing more is sent to this page.
    pub(super) fn give_up(&mut self, why: Farewell) {
        self.farewell = Some(why);
        self.texts.clear();
        self.channels = None;
        self.stats = None;
        self.media.clear();
        self.media_bytes = 0;
    }

    /// What there is to choose from: only the newest list is worth sending.
    pub(super) fn push_channels(&mut self, channels: String) {
        if self.farewell.is_none() {
            self.channels = Some(channels);
        }
    }

    /// Statistics: only the newest are worth sending.
    pub(super) fn push_stats(&mut self, stats: String) {
        if self.farewell.is_none() {
            self.stats = Some(stats);
        }
    }

    /// A picture or a frame of sound: whole or not at all.
    pub(super) fn push_media(&mut self, unit: &AccessUnit) {
        if self.farewell.is_some() {
            return;
        }
        let room = match unit.track {
            MediaTrack::Video => MEDIA_BYTES_MAX - SOUND_RESERVE_BYTES,
            MediaTrack::Audio => MEDIA_BYTES_MAX,
        };
        let len = encoded_len(unit);
        let fits = self.media_bytes + len <= room;
        let gate = match unit.track {
            MediaTrack::Video => &mut self.video,
            MediaTrack::Audio => &mut self.sound,
        };
        let Some(broken) = gate.pass(unit.is_key(), fits) else { return };
        self.media.extend(encode_unit(unit, broken));
        self.media_bytes += len;
    }

    /// What was queued is still sent, then this last text.
    pub(super) fn end(&mut self, text: String) {
        self.push_text(text);
        self.farewell.get_or_insert(Farewell::Ended);
    }

    /// The next to send. Texts go first, so that the page learns of trouble before it sees it.
    pub(super) fn pop(&mut self) -> Option<Outgoing> {
        // The text that says that the stream ended is to be the last.
        let is_last_text = self.farewell == Some(Farewell::Ended) && self.texts.len() == 1;
        if !is_last_text && let Some(text) = self.texts.pop_front() {
            return Some(Outgoing::Text(text));
        }
        if let Some(newest) = self.channels.take().or_else(|| self.stats.take()) {
            return Some(Outgoing::Text(newest));
        }
        if let Some(media) = self.media.pop_front() {
            self.media_bytes -= media.len();
            return Some(Outgoing::Media(media));
        }
        let last = self.texts.pop_front().map(Outgoing::Text);
        last.or_else(|| self.farewell.clone().map(Outgoing::Close))
    }
}

impl Gate {
    /// Whether a unit passes, and if so, whether units before it were left out.
    const fn pass(&mut self, is_key: bool, fits: bool) -> Option<bool> {
        match *self {
            Self::Open if fits => Some(false),
            Self::Open => {
                *self = Self::WaitsForKey { broken: true };
                None
            }
            Self::WaitsForKey { broken } if fits && is_key => {
                *self = Self::Open;
                Some(broken)
            }
            Self::WaitsForKey { .. } => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use anabranch_media::Class;
    use anabranch_sansio::Time;

    use super::*;
    use anabranch_media::decoding::LayerUnit;

    const DISCONTINUITY: u8 = 8;

    fn picture(frame: u32, len: usize) -> AccessUnit {
        let class = if frame.is_multiple_of(10) { Class::KeyFrame } else { Class::Reference };
        let base = LayerUnit { class, delay: None, bytes: vec![0; len / 2].into() };
        AccessUnit {
            track: MediaTrack::Video,
            frame,
            pts_us: 0,
            play_at: Time::ZERO,
            discontinuity: false,
            layers: vec![base.clone(), LayerUnit { class: Class::Disposable, ..base }],
        }
    }

    fn sound(frame: u32) -> AccessUnit {
        let mut unit = picture(frame, 200);
        unit.track = MediaTrack::Audio;
        unit.layers.truncate(1);
        unit
    }

    /// Frame number and flags of every media unit that is left.
    fn drain(queue: &mut PageQueue) -> Vec<(u8, u8)> {
        let mut units = Vec::new();
        while let Some(outgoing) = queue.pop() {
            match outgoing {
                Outgoing::Media(bytes) => units.push((bytes[7], bytes[3])),
                Outgoing::Text(_) => {}
                Outgoing::Close(why) => panic!("{why:?}"),
            }
        }
        units
    }

    #[test]
    fn media_starts_at_a_key_frame() {
        let mut queue = PageQueue::new("hello".into());
        for frame in 7..13 {
            queue.push_media(&picture(frame, 100));
        }
        let frames: Vec<_> = drain(&mut queue).into_iter().map(|(frame, _)| frame).collect();
        assert_eq!(frames, [10, 10, 11, 11, 12, 12]);
    }

    #[test]
    fn a_page_that_does_not_read_loses_whole_pictures_until_a_key_frame() {
        let mut queue = PageQueue::new("hello".into());
        let len = (MEDIA_BYTES_MAX - SOUND_RESERVE_BYTES) / 6;
        for frame in 0..100 {
            queue.push_media(&picture(frame, len));
            assert!(queue.media_bytes <= MEDIA_BYTES_MAX);
        }
        assert_eq!(drain(&mut queue).len(), 2 * 5, "pictures 0 to 4, the headers take the sixth");
        for frame in 105..112 {
            queue.push_media(&picture(frame, len));
        }
        let units = drain(&mut queue);
        assert_eq!(units.len(), 2 * 2);
        assert_eq!(units[0].0, 110);
        assert_eq!(units.iter().filter(|(_, flags)| flags & DISCONTINUITY != 0).count(), 1);
        assert_ne!(units[0].1 & DISCONTINUITY, 0);
    }

    #[test]
    fn sound_goes_on_when_pictures_have_to_stop() {
        let mut queue = PageQueue::new("hello".into());
        while queue.video != (Gate::WaitsForKey { broken: true }) {
            queue.push_media(&picture(0, 100_000));
        }
        let before = queue.media.len();
        queue.push_media(&sound(1));
        assert_eq!(queue.media.len(), before + 1);
    }

    #[test]
    fn statistics_and_lists_of_channels_do_not_pile_up() {
        let mut queue = PageQueue::new("hello".into());
        queue.push_stats("old".into());
        queue.push_channels("two channels".into());
        queue.push_stats("new".into());
        queue.push_channels("three channels".into());
        for text in ["hello", "three channels", "new"] {
            assert_eq!(queue.pop(), Some(Outgoing::Text(text.into())));
        }
        assert_eq!(queue.pop(), None);
    }

    #[test]
    fn a_second_hello_voids_what_waits() {
        let mut queue = PageQueue::new("hello".into());
        queue.push_media(&picture(0, 100));
        queue.push_hello("again".into());
        queue.push_media(&picture(11, 100));
        assert_eq!(drain(&mut queue), []);
        assert_eq!(queue.media_bytes, 0);
    }

    #[test]
    fn a_page_that_takes_no_texts_is_given_up() {
        let mut queue = PageQueue::new("hello".into());
        for _ in 0..2 * TEXTS_MAX {
            queue.push_text("event".into());
        }
        assert_eq!(queue.pop(), Some(Outgoing::Close(Farewell::TooSlow)));
        queue.push_media(&picture(0, 100));
        assert!(queue.media.is_empty());
    }

    #[test]
    fn the_end_comes_after_all_that_was_queued() {
        let mut queue = PageQueue::new("hello".into());
        queue.push_media(&sound(0));
        queue.push_text("event".into());
        queue.end("ended".into());
        queue.push_text("too late".into());
        let text = |text: &str| Some(Outgoing::Text(text.into()));
        assert_eq!(queue.pop(), text("hello"));
        assert_eq!(queue.pop(), text("event"));
        assert!(matches!(queue.pop(), Some(Outgoing::Media(_))));
        assert_eq!(queue.pop(), text("ended"));
        assert_eq!(queue.pop(), Some(Outgoing::Close(Farewell::Ended)));
    }
}
