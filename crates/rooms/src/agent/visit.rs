//! [`Visit`]: one connection of an agent to its room, and what waits for it.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_call::{EncoderRate, VIDEO_RATE_MAX};
use anabranch_sansio::{PathId, Rate, Time};
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{Connection, ConnectionId, Incoming, PathPreference, RateSignal};
use bytes::Bytes;

use super::Said;
use super::outbox::Outbox;
use super::roster::Roster;
use super::voices::Voices;
use crate::forwarding::{Forwarding, media_queued, set_priorities};
use crate::protocol::{
    FILES_STREAM, Forwarded, FromRoom, Introduction, Listeners, MemberNumber, PPID_BINARY,
    forwarded,
};

/// How often rate and paths are looked at.
const TICK: Duration = Duration::from_millis(100);

/// Looks at the clock until a second is over.
pub(super) const TICKS_A_SECOND: u32 = 10;

/// Words of the agent's own that wait for the page.
const OWN_WORDS_MAX: usize = 256;

/// Of ourselves: pieces keep the tracks that the page gave them.
const OURSELVES: MemberNumber = MemberNumber(0);

/// What the room says to the agent alone, or to both.
#[derive(Debug)]
pub(super) enum ForAgent {
    /// The page is in.
    Entered,
    /// There is one other member, an agent.
    Introduced(Introduction),
    /// There is not any more.
    Parted,
    /// The last words, for people.
    Bye(String),
}

/// One connection of an agent to its room.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) id: ConnectionId,
    outbox: Outbox,
    pub(super) forwarding: Forwarding,
    rate: EncoderRate,
    /// What the room wants the page's encoders to make at most.
    encode: Option<(u64, u64, String)>,
    /// What the agent itself says to the page.
    own_words: VecDeque<Said>,
    /// What the room said that the agent has to act on.
    for_agent: Option<ForAgent>,
    roster: Roster,
    /// Who could listen, as far as the room is concerned.
    listeners: Option<Listeners>,
    /// What goes to the only other member and not to the room makes no more than that.
    direct_rate: Option<Rate>,
    pub(super) next_tick: Time,
    ticks: u32,
    has_priorities: bool,
}

impl Visit {
    /// Begins with these words.
    pub(super) fn new(now: Time, id: ConnectionId, enter: Bytes) -> Self {
        let mut rate = EncoderRate::new(VIDEO_RATE_MAX);
        rate.begin(now);
        let mut outbox = Outbox::default();
        outbox.say(enter, PathPreference::Any);
        Self {
            id,
            outbox,
            forwarding: Forwarding::new(),
            rate,
            encode: None,
            own_words: VecDeque::new(),
            for_agent: None,
            roster: Roster::new(),
            listeners: None,
            direct_rate: None,
            next_tick: now + TICK,
            ticks: 0,
            has_priorities: false,
        }
    }

    /// What the room said that the agent has to act on, once.
    pub(super) fn take_for_agent(&mut self) -> Option<ForAgent> {
        self.for_agent.take()
    }

    /// Says something to the room, over this path if it stands.
    pub(super) fn say(&mut self, text: Bytes, path: Option<PathId>) {
        // A page that says so much at once that there is no room is let go by the room.
        let _said = self.outbox.say(text, path.map_or(PathPreference::Any, PathPreference::Prefer));
    }

    /// Takes what the page says; media is returned, for whoever gets it.
    pub(super) fn push(&mut self, said: Said) -> Option<Forwarded> {
        match said.stream {
            FILES_STREAM => self.outbox.push_block(said.payload),
            _ if said.is_text => {
                self.roster.on_page(&said.payload);
                self.say(said.payload, None);
            }
            _ => return forwarded(OURSELVES, said.payload).ok(),
        }
        None
    }

    /// Hands over what waits.
    pub(super) fn flush(&mut self, now: Time, connection: &mut dyn Connection) {
        if !std::mem::replace(&mut self.has_priorities, true) {
            set_priorities(connection);
        }
        self.outbox.flush(now, connection);
    }

    /// A message of the room's, as the page is to get it, if it is to.
    pub(super) fn on_message(
        &mut self,
        now: Time,
        message: Incoming,
        voices: &mut Voices,
    ) -> Option<Said> {
        let Incoming { stream, payload_id, payload, completed_at, .. } = message;
        let is_text = payload_id != PPID_BINARY;
        let payload = if is_text { self.on_text(now, payload)? } else { payload };
        if !is_text && stream == MediaClass::Audio.stream() {
            voices.note(completed_at.min(now), &payload);
        }
        Some(Said { stream: stream.0, is_text, payload })
    }

    /// The room knows what the others' networks take, and we know what ours do.
    fn on_text(&mut self, now: Time, payload: Bytes) -> Option<Bytes> {
        let words = FromRoom::decode(&payload);
        if let Ok(words) = &words {
            self.roster.on_room(now, words);
        }
        match words {
            Ok(FromRoom::Encode { video_bps, voice_bps, why }) => {
                self.encode = Some((video_bps, voice_bps, why));
                return self.encode_message().or(Some(payload));
            }
            Ok(FromRoom::Welcome { listeners, .. }) => {
                self.listeners = Some(listeners);
                self.for_agent = Some(ForAgent::Entered);
            }
            Ok(FromRoom::Direct(introduction)) => {
                self.for_agent = Some(ForAgent::Introduced(introduction));
                return None;
            }
            Ok(FromRoom::DirectEnd) => {
                self.for_agent = Some(ForAgent::Parted);
                return None;
            }
            Ok(FromRoom::Bye { text, .. }) => self.for_agent = Some(ForAgent::Bye(text)),
            Ok(_) | Err(_) => {}
        }
        Some(payload)
    }

    /// What the page's encoders are to make at most.
    fn encode_message(&self) -> Option<Bytes> {
        let (video_bps, voice_bps, why) = self.encode.as_ref()?;
        let ours = self.rate.rate().as_bps();
        let (video_bps, why) = match self.direct_rate {
            Some(rate) => (rate.as_bps(), "This is what the networks between you carry."),
            None if ours < *video_bps => (ours, "This is what your networks carry."),
            None => (*video_bps, why.as_str()),
        };
        let why = why.to_owned();
        Some(FromRoom::Encode { video_bps, voice_bps: *voice_bps, why }.encode())
    }

    /// Pictures go to the only other member, which takes so much, or to the room again.
    pub(super) fn follow_direct_rate(&mut self, rate: Option<Rate>) {
        if std::mem::replace(&mut self.direct_rate, rate) != rate
            && let Some(payload) = self.encode_message()
        {
            self.tell_page(payload);
        }
    }

    /// What our networks take, so far as that is known.
    pub(super) fn rate(&self) -> EncoderRate {
        self.rate.clone()
    }

    /// A key picture is needed: what the page makes goes elsewhere from there on.
    pub(super) fn want_key(&mut self) {
        self.tell_page(FromRoom::WantKey.encode());
    }

    /// What a member, or with `None` the page itself, writes to the other one of two alone.
    pub(super) fn tell_words(&mut self, now: Time, member: Option<MemberNumber>, text: String) {
        let line = self.roster.line(now, member, text);
        self.tell_page(FromRoom::Text(line).encode());
    }

    /// Who could listen from now on: with `None`, who the room says.
    pub(super) fn tell_listeners(&mut self, listeners: Option<Listeners>) {
        if let Some(listeners) = listeners.or_else(|| self.listeners.clone()) {
            self.tell_page(FromRoom::Listeners(listeners).encode());
        }
    }

    /// What the agent itself says to the page.
    pub(super) fn take_own_words(&mut self) -> Option<Said> {
        self.own_words.pop_front()
    }

    /// A tenth of a second is over; whether there are words for the page.
    pub(super) fn tick(&mut self, now: Time, connection: &dyn Connection) -> bool {
        self.next_tick = now + TICK;
        self.ticks += 1;
        if self.ticks.is_multiple_of(TICKS_A_SECOND) {
            self.forwarding.tick(now);
        }
        let signal = connection.rate();
        let signal = signal.map(|it| RateSignal { queued: media_queued(connection), ..it });
        let wait = signal.map(|it| it.carries.time_for(it.queued as u64));
        if self.rate.follow(now, signal).is_some()
            && let Some(payload) = self.encode_message()
        {
            self.tell_page(payload);
        }
        if !self.forwarding.lacking.take(now, wait).is_empty() {
            self.want_key();
        }
        !self.own_words.is_empty()
    }

    fn tell_page(&mut self, payload: Bytes) {
        if self.own_words.len() < OWN_WORDS_MAX {
            let stream = MediaClass::Control.stream().0;
            self.own_words.push_back(Said { stream, is_text: true, payload });
        }
    }
}
