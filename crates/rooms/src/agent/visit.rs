//! [`Visit`]: one connection of an agent to its room, and what waits for it.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_call::{EncoderRate, VIDEO_RATE_MAX};
use anabranch_sansio::{PathId, Time, TraceLog};
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{
    Connection, ConnectionId, Incoming, Level, Outgoing, PathPreference, RateSignal, SendError,
};
use bytes::Bytes;

use super::Said;
use super::voices::Voices;
use crate::forwarding::{Forwarding, media_queued, set_priorities};
use crate::protocol::{FILES_STREAM, FromRoom, MemberNumber, PPID_BINARY, PPID_TEXT, forwarded};
use crate::rooms::{ASKS_MAX, send_behind};

/// How often rate and paths are looked at.
const TICK: Duration = Duration::from_millis(100);

/// Looks at the clock until a second is over.
const TICKS_A_SECOND: u32 = 10;

/// Texts that wait for room; a page says less.
const OUTBOX_MAX: usize = 256;

/// Of ourselves: pieces keep the tracks that the page gave them.
const OURSELVES: MemberNumber = MemberNumber(0);

/// One connection of an agent to its room.
#[derive(Debug)]
pub(super) struct Visit {
    pub(super) id: ConnectionId,
    outbox: VecDeque<(Bytes, PathPreference)>,
    files: VecDeque<Bytes>,
    pub(super) forwarding: Forwarding,
    rate: EncoderRate,
    /// What the room wants the page's encoders to make at most.
    encode: Option<(u64, u64, String)>,
    /// What the agent itself says to the page.
    own_words: VecDeque<Said>,
    bye: Option<String>,
    pub(super) next_tick: Time,
    ticks: u32,
    has_priorities: bool,
}

impl Visit {
    /// Begins with these words.
    pub(super) fn new(now: Time, id: ConnectionId, enter: Bytes) -> Self {
        let mut rate = EncoderRate::new(VIDEO_RATE_MAX);
        rate.begin(now);
        Self {
            id,
            outbox: VecDeque::from([(enter, PathPreference::Any)]),
            files: VecDeque::new(),
            forwarding: Forwarding::new(),
            rate,
            encode: None,
            own_words: VecDeque::new(),
            bye: None,
            next_tick: now + TICK,
            ticks: 0,
            has_priorities: false,
        }
    }

    /// The room's last words, once.
    pub(super) fn take_bye(&mut self) -> Option<String> {
        self.bye.take()
    }

    /// Says something to the room, over this path if it stands.
    pub(super) fn say(&mut self, text: Bytes, path: Option<PathId>) {
        if self.outbox.len() < OUTBOX_MAX {
            let path = path.map_or(PathPreference::Any, PathPreference::Prefer);
            self.outbox.push_back((text, path));
        }
    }

    /// Takes what the page says.
    pub(super) fn push(
        &mut self,
        now: Time,
        said: Said,
        connection: &mut dyn Connection,
        records: &mut TraceLog,
    ) {
        match said.stream {
            FILES_STREAM if self.files.len() < ASKS_MAX => self.files.push_back(said.payload),
            // It may be asked for again.
            FILES_STREAM => {}
            _ if said.is_text => self.say(said.payload, None),
            _ => {
                if let Ok(piece) = forwarded(OURSELVES, said.payload) {
                    self.forwarding.forward(now, piece, connection, records);
                }
            }
        }
    }

    /// Hands over what waits.
    pub(super) fn flush(&mut self, now: Time, connection: &mut dyn Connection) {
        if !std::mem::replace(&mut self.has_priorities, true) {
            set_priorities(connection);
        }
        while let Some((payload, path)) = self.outbox.front() {
            let message = Outgoing {
                level: Level::Urgent,
                path: *path,
                ..Outgoing::new(MediaClass::Control.stream(), PPID_TEXT, payload.clone())
            };
            match connection.send(now, message) {
                Err(SendError::Full) => return,
                // Whatever else stands against it: the room is gone, and its event follows.
                Ok(()) | Err(_) => self.outbox.pop_front(),
            };
        }
        send_behind(now, &mut self.files, connection);
    }

    /// A message of the room's, as the page is to get it.
    pub(super) fn on_message(&mut self, now: Time, message: Incoming, voices: &mut Voices) -> Said {
        let Incoming { stream, payload_id, payload, completed_at, .. } = message;
        let is_text = payload_id != PPID_BINARY;
        let payload = if is_text { self.on_text(payload) } else { payload };
        if !is_text && stream == MediaClass::Audio.stream() {
            voices.note(completed_at.min(now), &payload);
        }
        Said { stream: stream.0, is_text, payload }
    }

    /// The room knows what the others' networks take, and we know what ours do.
    fn on_text(&mut self, payload: Bytes) -> Bytes {
        match FromRoom::decode(&payload) {
            Ok(FromRoom::Encode { video_bps, voice_bps, why }) => {
                self.encode = Some((video_bps, voice_bps, why));
                self.encode_message().unwrap_or(payload)
            }
            Ok(FromRoom::Bye { text, .. }) => {
                self.bye = Some(text);
                payload
            }
            Ok(_) | Err(_) => payload,
        }
    }

    /// What the page's encoders are to make at most.
    fn encode_message(&self) -> Option<Bytes> {
        let (video_bps, voice_bps, why) = self.encode.as_ref()?;
        let (ours, voice_bps) = (self.rate.rate().as_bps(), *voice_bps);
        let why = if ours < *video_bps { "This is what your networks carry." } else { why };
        let video_bps = ours.min(*video_bps);
        Some(FromRoom::Encode { video_bps, voice_bps, why: why.to_owned() }.encode())
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
            self.tell_page(FromRoom::WantKey.encode());
        }
        !self.own_words.is_empty()
    }

    fn tell_page(&mut self, payload: Bytes) {
        if self.own_words.len() < OUTBOX_MAX {
            let stream = MediaClass::Control.stream().0;
            self.own_words.push_back(Said { stream, is_text: true, payload });
        }
    }
}
