//! [`Listener`]: what a member of a room hears: who is there, and the voice and pictures of each.
//!
//! It stands beside a page, or within a [`Participant`](crate::Participant): what
//! [`Agent::receive`](crate::Agent::receive) returns comes in here. It says nothing itself.

mod others;
#[cfg(test)]
pub(crate) mod tests;

use std::collections::VecDeque;

use anabranch_call::Playback;
use anabranch_media::Piece;
use anabranch_sansio::{Time, Wakeup};

use crate::Said;
use crate::protocol::{FILES_STREAM, FromRoom, MemberEntry, MemberNumber, Reason};
use others::Others;

/// Events that wait for the program around; it takes them after each input.
const EVENTS_MAX: usize = 1_024;

/// What a listener reports.
#[derive(Debug, Clone, PartialEq)]
pub enum ListenerEvent {
    /// The member is in the room.
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

/// Hears what a room says to one of its members, and plays all others out, each at its time.
#[derive(Debug, Default)]
pub struct Listener {
    others: Others,
    events: VecDeque<ListenerEvent>,
}

impl Listener {
    /// Nothing was heard yet.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// The room, or the agent, said something.
    pub fn handle(&mut self, now: Time, said: Said) {
        if let Some(words) = self.hear(now, said) {
            self.on_words(words);
        }
    }

    /// The next thing to know.
    pub fn poll_event(&mut self) -> Option<ListenerEvent> {
        self.events.pop_front()
    }

    /// What of somebody's is to be heard or seen next, if it is due at `now`.
    pub fn poll_playback(&mut self, now: Time) -> Option<(MemberNumber, Playback)> {
        self.others.poll(now)
    }

    /// The next one whose pictures cannot be decoded before a key picture: the room is to be asked
    /// for it. Each is named once in a while, after [`poll_playback`](Self::poll_playback) has
    /// nothing more.
    pub fn poll_key_wanted(&mut self, now: Time) -> Option<MemberNumber> {
        self.others.poll_key_wanted(now)
    }

    /// When [`poll_playback`](Self::poll_playback) has something to do next.
    #[must_use]
    pub fn playback_timeout(&self, now: Time) -> Option<Wakeup> {
        self.others.poll_timeout(now)
    }

    /// Takes media; words are returned, for [`on_words`](Self::on_words).
    pub(crate) fn hear(&mut self, now: Time, said: Said) -> Option<FromRoom> {
        if said.is_text {
            return FromRoom::decode(&said.payload).ok();
        }
        if said.stream != FILES_STREAM
            && let Ok(piece) = Piece::decode(said.payload)
        {
            self.others.push(now, piece);
        }
        None
    }

    pub(crate) fn on_words(&mut self, words: FromRoom) {
        match words {
            FromRoom::Welcome { room, mut members, listeners, .. } => {
                self.others.keep(&members);
                members.retain(|member| self.others.insert(member));
                self.tell(ListenerEvent::Entered { title: room.title, members });
                self.tell(ListenerEvent::Listeners(listeners.text));
            }
            FromRoom::Joined { member } => {
                if self.others.insert(&member) {
                    self.tell(ListenerEvent::Joined { name: member.name.clone() });
                    self.tell(ListenerEvent::Member(member));
                }
            }
            FromRoom::Left { member, text } => {
                self.others.remove(member);
                self.tell(ListenerEvent::Left { member, text });
            }
            FromRoom::Media { member, media, voice_frames } => {
                if let Some(entry) = self.others.set_media(member, media, voice_frames) {
                    self.tell(ListenerEvent::Member(entry));
                }
            }
            FromRoom::Text(line) => {
                self.tell(ListenerEvent::Text { name: line.name, text: line.text });
            }
            FromRoom::Listeners(listeners) => self.tell(ListenerEvent::Listeners(listeners.text)),
            FromRoom::Bye { reason, text } => self.tell(ListenerEvent::Bye { reason, text }),
            // The first two are for who sends, files are for people.
            FromRoom::Encode { .. }
            | FromRoom::WantKey
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

    fn tell(&mut self, event: ListenerEvent) {
        if self.events.len() < EVENTS_MAX {
            self.events.push_back(event);
        }
    }
}
