//! [`PageQueue`]: what waits for one page to take it.
//!
//! A page that reads slowly, or not at all because it is hidden, loses media, what matters least
//! first, and never takes more of the program's memory: statistics and lists of channels are
//! replaced by newer ones, and a page that does not even take its few texts is given up.

mod media;

use std::collections::VecDeque;

use anabranch_media::decoding::AccessUnit;
use anabranch_sansio::Time;
use bytes::Bytes;

use media::WaitingMedia;

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
    media: WaitingMedia,
    farewell: Option<Farewell>,
}

impl PageQueue {
    /// A queue that begins with a hello.
    pub(super) fn new(hello: String) -> Self {
        let mut queue = Self {
            texts: VecDeque::new(),
            channels: None,
            stats: None,
            media: WaitingMedia::new(),
            farewell: None,
        };
        queue.push_hello(hello);
        queue
    }

    /// A hello: what waits from before is void.
    pub(super) fn push_hello(&mut self, hello: String) {
        self.stats = None;
        self.media = WaitingMedia::new();
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
        self.media = WaitingMedia::new();
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

    /// A picture or a frame of sound.
    pub(super) fn push_media(&mut self, now: Time, unit: &AccessUnit) {
        if self.farewell.is_none() {
            self.media.push(now, unit);
        }
    }

    /// What was queued is still sent, then this last text.
    pub(super) fn end(&mut self, text: String) {
        self.push_text(text);
        self.farewell.get_or_insert(Farewell::Ended);
    }

    /// The next to send. Texts go first, so that the page learns of trouble before it sees it.
    pub(super) fn pop(&mut self, now: Time) -> Option<Outgoing> {
        // The text that says that the stream ended is to be the last.
        let is_last_text = self.farewell == Some(Farewell::Ended) && self.texts.len() == 1;
        if !is_last_text && let Some(text) = self.texts.pop_front() {
            return Some(Outgoing::Text(text));
        }
        if let Some(newest) = self.channels.take().or_else(|| self.stats.take()) {
            return Some(Outgoing::Text(newest));
        }
        if let Some(media) = self.media.pop(now) {
            return Some(Outgoing::Media(media));
        }
        let last = self.texts.pop_front().map(Outgoing::Text);
        last.or_else(|| self.farewell.clone().map(Outgoing::Close))
    }
}

#[cfg(test)]
mod tests {
    use anabranch_media::Class;
    use anabranch_media::decoding::{LayerUnit, MediaTrack};

    use super::*;

    fn sound() -> AccessUnit {
        let bytes = Bytes::from_static(&[0; 100]);
        AccessUnit {
            track: MediaTrack::Audio,
            frame: 0,
            pts_us: 0,
            play_at: Time::ZERO,
            discontinuity: false,
            layers: vec![LayerUnit { class: Class::Audio, delay: None, bytes }],
        }
    }

    fn picture(class: Class) -> AccessUnit {
        let mut unit = sound();
        unit.layers[0].class = class;
        AccessUnit { track: MediaTrack::Video, ..unit }
    }

    #[test]
    fn statistics_and_lists_of_channels_do_not_pile_up() {
        let mut queue = PageQueue::new("hello".into());
        queue.push_stats("old".into());
        queue.push_channels("two channels".into());
        queue.push_stats("new".into());
        queue.push_channels("three channels".into());
        for text in ["hello", "three channels", "new"] {
            assert_eq!(queue.pop(Time::ZERO), Some(Outgoing::Text(text.into())));
        }
        assert_eq!(queue.pop(Time::ZERO), None);
    }

    #[test]
    fn a_second_hello_voids_what_waits() {
        let mut queue = PageQueue::new("hello".into());
        queue.push_media(Time::ZERO, &picture(Class::KeyFrame));
        queue.push_hello("again".into());
        queue.push_media(Time::ZERO, &picture(Class::Reference));
        for text in ["hello", "again"] {
            assert_eq!(queue.pop(Time::ZERO), Some(Outgoing::Text(text.into())));
        }
        assert_eq!(queue.pop(Time::ZERO), None, "no key frame came since");
    }

    #[test]
    fn a_page_that_takes_no_texts_is_given_up() {
        let mut queue = PageQueue::new("hello".into());
        for _ in 0..2 * TEXTS_MAX {
            queue.push_text("event".into());
        }
        assert_eq!(queue.pop(Time::ZERO), Some(Outgoing::Close(Farewell::TooSlow)));
        queue.push_media(Time::ZERO, &picture(Class::KeyFrame));
        assert_eq!(queue.pop(Time::ZERO), Some(Outgoing::Close(Farewell::TooSlow)));
    }

    #[test]
    fn the_end_comes_after_all_that_was_queued() {
        let mut queue = PageQueue::new("hello".into());
        queue.push_media(Time::ZERO, &sound());
        queue.push_text("event".into());
        queue.end("ended".into());
        queue.push_text("too late".into());
        let text = |text: &str| Some(Outgoing::Text(text.into()));
        assert_eq!(queue.pop(Time::ZERO), text("hello"));
        assert_eq!(queue.pop(Time::ZERO), text("event"));
        assert!(matches!(queue.pop(Time::ZERO), Some(Outgoing::Media(_))));
        assert_eq!(queue.pop(Time::ZERO), text("ended"));
        assert_eq!(queue.pop(Time::ZERO), Some(Outgoing::Close(Farewell::Ended)));
    }
}
