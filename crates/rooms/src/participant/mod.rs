//! [`Participant`]: a member without a page, for machines without a screen.
//!
//! It says and understands what a page does (`docs/meet.md`), and stands in the place of one: what
//! it says goes into [`Agent::push`](crate::Agent::push), what
//! [`Agent::receive`](crate::Agent::receive) returns comes in here.

mod others;
#[cfg(test)]
mod tests;

use std::collections::VecDeque;

use anabranch_call::{Device, Media, Picture, PictureKind, Playback, picture_unit, voice_unit};
use anabranch_media::cutter::UnitCutter;
use anabranch_media::{Layer, Piece, Unit};
use anabranch_sansio::{Time, Wakeup};
use anabranch_session::treatment::MediaClass;
use bytes::Bytes;

use crate::Said;
use crate::protocol::{
    FILES_STREAM, FromMember, FromRoom, MemberEntry, MemberNumber, PROTOCOL_VERSION, Reason,
};
use others::Others;

/// Messages that wait for the agent, which takes them after each input.
const SAID_MAX: usize = 4_096;

/// Events that wait for the program around; it takes them after each input.
const EVENTS_MAX: usize = 1_024;

/// What a participant reports.
#[derive(Debug, Clone, PartialEq)]
pub enum ParticipantEvent {
    /// It is in the room.
    Entered {
        /// The room's title.
        title: String,
        /// Who else is there.
        members: Vec<MemberEntry>,
    },
    /// Somebody is in, sends something else from now on, or is there again.
    Member(MemberEntry),
    /// Somebody came.
    Joined {
        /// What it calls itself.
        name: String,
    },
    /// Somebody is gone.
    Left {
        /// Who.
        member: MemberNumber,
        /// A sentence about it.
        text: String,
    },
    /// Somebody wrote something.
    Text {
        /// What it calls itself.
        name: String,
        /// The words.
        text: String,
    },
    /// Who could listen, in a sentence.
    Listeners(String),
    /// The room's last words.
    Bye {
        /// For programs.
        reason: Reason,
        /// For people.
        text: String,
    },
}

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
    others: Others,
    said: VecDeque<Said>,
    events: VecDeque<ParticipantEvent>,
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
            others: Others::default(),
            said: VecDeque::new(),
            events: VecDeque::new(),
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
        if said.is_text {
            if let Ok(words) = FromRoom::decode(&said.payload) {
                self.on_words(words);
            }
        } else if said.stream != FILES_STREAM
            && let Ok(piece) = Piece::decode(said.payload)
        {
            self.others.push(now, piece);
        }
    }

    /// The next message to the room.
    pub fn poll_said(&mut self) -> Option<Said> {
        self.said.pop_front()
    }

    /// The next thing to know.
    pub fn poll_event(&mut self) -> Option<ParticipantEvent> {
        self.events.pop_front()
    }

    /// What of somebody's is to be heard or seen next, if it is due at `now`.
    pub fn poll_playback(&mut self, now: Time) -> Option<(MemberNumber, Playback)> {
        let played = self.others.poll(now);
        if played.is_none() {
            for member in self.others.take_keys_wanted(now) {
                self.say(&FromMember::WantKey { member });
            }
        }
        played
    }

    /// When [`poll_playback`](Self::poll_playback) has something to do next.
    #[must_use]
    pub fn playback_timeout(&self, now: Time) -> Option<Wakeup> {
        self.others.poll_timeout(now)
    }

    fn on_words(&mut self, words: FromRoom) {
        match words {
            FromRoom::Welcome { room, resume, mut members, listeners, .. } => {
                (self.is_inside, self.resume) = (true, Some(resume));
                self.say_media();
                self.others.keep(&members);
                members.retain(|member| self.others.insert(member));
                self.tell(ParticipantEvent::Entered { title: room.title, members });
                self.tell(ParticipantEvent::Listeners(listeners.text));
            }
            FromRoom::Joined { member } => {
                if self.others.insert(&member) {
                    self.tell(ParticipantEvent::Joined { name: member.name.clone() });
                    self.tell(ParticipantEvent::Member(member));
                }
            }
            FromRoom::Left { member, text } => {
                self.others.remove(member);
                self.tell(ParticipantEvent::Left { member, text });
            }
            FromRoom::Media { member, media, voice_frames } => {
                if let Some(entry) = self.others.set_media(member, media, voice_frames) {
                    self.tell(ParticipantEvent::Member(entry));
                }
            }
            FromRoom::Encode { video_bps, .. } => self.is_seen = video_bps > 0,
            FromRoom::Text(line) => {
                self.tell(ParticipantEvent::Text { name: line.name, text: line.text });
            }
            FromRoom::Listeners(listeners) => {
                self.tell(ParticipantEvent::Listeners(listeners.text));
            }
            FromRoom::Bye { reason, text } => {
                self.is_inside = false;
                self.tell(ParticipantEvent::Bye { reason, text });
            }
            // A film makes no key picture when somebody wants one; files are for people.
            FromRoom::WantKey
            | FromRoom::Away { .. }
            | FromRoom::Back { .. }
            | FromRoom::File(_)
            | FromRoom::FileRefused { .. }
            | FromRoom::FileGone { .. }
            | FromRoom::Locked { .. }
            | FromRoom::Knocked { .. }
            | FromRoom::Direct(_)
            | FromRoom::DirectEnd
            | FromRoom::Beat
            | FromRoom::Unknown => {}
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

    fn tell(&mut self, event: ParticipantEvent) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        }
    }
}
