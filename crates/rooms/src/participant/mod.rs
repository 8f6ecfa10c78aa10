//! [`Participant`]: a member without a page, for machines without a screen.
//!
//! It says and understands what a page does (`docs/meet.md`), and stands in the place of one: what
//! it says goes into [`Agent::push`](crate::Agent::push), what
//! [`Agent::receive`](crate::Agent::receive) returns comes in here.

#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use anabranch_call::{Device, Media, Picture, PictureKind, Playback, picture_unit, voice_unit};
use anabranch_media::cutter::UnitCutter;
use anabranch_media::{Layer, Unit};
use anabranch_sansio::{Time, Wakeup};
use anabranch_session::treatment::MediaClass;
use bytes::Bytes;

use crate::protocol::{FromMember, FromRoom, MemberNumber, PROTOCOL_VERSION};
use crate::{Listener, ListenerEvent, Said};

/// Messages that wait for the agent, which takes them after each input.
const SAID_MAX: usize = 4_096;

/// A member of a room whose voice and pictures are encoded elsewhere, and who plays those of all
/// others out, each at its time.
#[derive(Debug)]
pub struct Participant {
    name: String,
    media: Media,
    /// What the room knows of that.
    told: Media,
    cutter: UnitCutter,
    voice_frames: u64,
    pictures: u64,
    /// Whether the next picture has to be one that decoding can begin with.
    awaits_key: bool,
    /// Whether somebody sees pictures.
    is_seen: bool,
    is_inside: bool,
    /// What to say to come back as the same member.
    resume: Option<String>,
    /// When the room was heard last.
    heard: Time,
    listener: Listener,
    said: VecDeque<Said>,
}

impl Participant {
    /// One that calls itself `name`; `session` is a number that another start has seldom.
    #[must_use]
    pub fn new(name: String, session: u16) -> Self {
        Self {
            name,
            media: Media::default(),
            told: Media::default(),
            cutter: UnitCutter::new(session),
            voice_frames: 0,
            pictures: 0,
            awaits_key: true,
            is_seen: false,
            is_inside: false,
            resume: None,
            heard: Time::ZERO,
            listener: Listener::new(),
            said: VecDeque::new(),
        }
    }

    /// A visit begins, the first one or another one as the same member.
    pub fn enter(&mut self, now: Time) {
        self.is_inside = false;
        self.awaits_key = true;
        self.heard = now;
        self.said.clear();
        self.told.clone_from(&self.media);
        self.say(&FromMember::Hello {
            protocol: PROTOCOL_VERSION,
            program: concat!("anabranch ", env!("CARGO_PKG_VERSION")).to_owned(),
            name: self.name.clone(),
            media: self.media.clone(),
            resume: self.resume.clone(),
        });
    }

    /// Whether the room has taken it in, in this visit.
    #[must_use]
    pub const fn is_inside(&self) -> bool {
        self.is_inside
    }

    /// Whether it was taken in by this visit or an earlier one.
    #[must_use]
    pub const fn was_inside(&self) -> bool {
        self.resume.is_some()
    }

    /// When the room was heard last.
    #[must_use]
    pub const fn heard(&self) -> Time {
        self.heard
    }

    /// It sends something else from now on.
    pub fn set_media(&mut self, change: impl FnOnce(&mut Media)) {
        change(&mut self.media);
        if self.is_inside {
            self.say_media();
        }
    }

    /// Takes a frame of voice of 20 ms that was captured at `at`. Outside the room it goes nowhere.
    pub fn push_voice(&mut self, at: Time, bytes: Bytes) {
        if !self.is_inside || self.media.microphone != Device::On {
            return;
        }
        if let Some(unit) = voice_unit(self.voice_frames, at, bytes) {
            self.voice_frames += 1;
            self.send(&unit);
        }
    }

    /// Takes the next picture, in decoding order. Those before the first key picture go nowhere,
    /// nor do those that nobody sees.
    pub fn push_picture(&mut self, picture: Picture) {
        let goes = self.is_inside && self.is_seen && self.media.camera == Device::On;
        self.awaits_key = !goes || (self.awaits_key && picture.kind != PictureKind::Key);
        if self.awaits_key {
            return;
        }
        if let Some(unit) = picture_unit(self.pictures, picture) {
            self.pictures += 1;
            self.send(&unit);
        }
    }

    /// The room, or the agent, said something.
    pub fn handle(&mut self, now: Time, said: Said) {
        self.heard = now;
        if let Some(words) = self.listener.hear(now, said) {
            self.obey(&words);
            self.listener.on_words(words);
        }
    }

    /// The next message to the room.
    pub fn poll_said(&mut self) -> Option<Said> {
        self.said.pop_front()
    }

    /// The next thing to know.
    pub fn poll_event(&mut self) -> Option<ListenerEvent> {
        self.listener.poll_event()
    }

    /// What of somebody's is to be heard or seen next, if it is due at `now`.
    pub fn poll_playback(&mut self, now: Time) -> Option<(MemberNumber, Playback)> {
        let played = self.listener.poll_playback(now);
        if played.is_none() {
            while let Some(member) = self.listener.poll_key_wanted(now) {
                self.say(&FromMember::WantKey { member });
            }
        }
        played
    }

    /// When [`poll_playback`](Self::poll_playback) has something to do next.
    #[must_use]
    pub fn playback_timeout(&self, now: Time) -> Option<Wakeup> {
        self.listener.playback_timeout(now)
    }

    /// Does what the words ask of who sends; a film makes no key picture when somebody wants one.
    fn obey(&mut self, words: &FromRoom) {
        if let FromRoom::Welcome { resume, .. } = words {
            (self.is_inside, self.resume) = (true, Some(resume.clone()));
            self.say_media();
        } else if let FromRoom::Encode { video_bps, .. } = words {
            self.is_seen = *video_bps > 0;
        } else if let FromRoom::Bye { .. } = words {
            self.is_inside = false;
        }
    }

    /// Says what it sends, if the room does not know that.
    fn say_media(&mut self) {
        if self.media != self.told {
            self.told.clone_from(&self.media);
            let (media, voice_frames) = (self.media.clone(), self.voice_frames);
            self.say(&FromMember::Media { media, voice_frames });
        }
    }

    fn send(&mut self, unit: &Unit) {
        let stream = MediaClass::of(unit.class, Layer::BASE).stream().0;
        for piece in self.cutter.cut(unit) {
            if self.said.len() < SAID_MAX {
                let payload = piece.encode().into();
                self.said.push_back(Said { stream, is_text: false, payload });
            }
        }
    }

    fn say(&mut self, words: &FromMember) {
        let stream = MediaClass::Control.stream().0;
        self.said.push_back(Said { stream, is_text: true, payload: words.encode() });
    }
}
