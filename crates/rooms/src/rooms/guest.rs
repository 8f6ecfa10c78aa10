//! [`Guest`]: one connection, and what waits for it.

use std::collections::VecDeque;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_call::exchange::{Allowance, FileQueue, REQUEST_EVERY, REQUESTS_BURST};
use anabranch_call::{EncoderRate, PathUse, Paths};
use anabranch_sansio::{PathId, Rate, Time, TraceLog};
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{Connection, Outgoing, RateSignal, Reliability, SendError};
use bytes::Bytes;

use super::RoomId;
use crate::forwarding::{Forwarding, media_queued, set_priorities};
use crate::protocol::{Forwarded, FromRoom, MemberNumber, PPID_TEXT, Role};

/// Texts that wait for one guest; one that takes none of so many is gone.
const OUTBOX_MAX: usize = 256;

/// Pieces that wait to be handed over, which happens at once.
const PIECES_MAX: usize = 1_024;

/// Frames of voice that a guest may send at once, and in a second: it makes 50.
const VOICE_BURST: u32 = 100;
const VOICE_EVERY: Duration = Duration::from_millis(10);

/// A beat is of no use when the next one is there.
const BEAT_LIFETIME: Duration = Duration::from_millis(100);

/// The most that the pictures of all others take together.
const PICTURES_MAX: Rate = Rate::mbps(12);

/// Looks at the clock, ten a second, until a second is over.
const TICKS_A_SECOND: u32 = 10;

/// One connection to a room.
#[derive(Debug)]
pub(super) struct Guest {
    pub(super) room: RoomId,
    pub(super) role: Role,
    pub(super) phase: Phase,
    outbox: VecDeque<Bytes>,
    pieces: VecDeque<Forwarded>,
    pub(super) files: FileQueue,
    pub(super) forwarding: Forwarding,
    /// Of whom a key picture is to be asked for.
    wanted_keys: Vec<MemberNumber>,
    rate: EncoderRate,
    ticks: u32,
    /// Whether the clock was looked at, and nothing was done about it yet.
    is_ticking: bool,
    has_priorities: bool,
    /// How an agent uses its paths, and what it said of them last.
    paths: Paths,
    path_wishes: Vec<PathWish>,
    /// Where an agent says that another one may find it.
    pub(super) candidates: Option<Vec<SocketAddr>>,
    requests: Allowance,
    voice: Allowance,
    is_overwhelmed: bool,
}

/// How an agent wants a path used.
#[derive(Debug)]
pub(super) struct PathWish {
    pub(super) wanted: PathUse,
    /// The path's addresses, as the agent sees them.
    pub(super) local: String,
    pub(super) remote: String,
    /// The path that its words came over.
    pub(super) over: PathId,
}

/// How far a guest is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// Its hello has not come.
    Greeting {
        /// And must by then.
        until: Time,
    },
    /// It is a member of the room.
    In(MemberNumber),
    /// The last words are said.
    Leaving {
        /// When that has taken too long.
        until: Time,
    },
}

impl Guest {
    pub(super) fn new(now: Time, room: RoomId, role: Role, greeting_until: Time) -> Self {
        let mut rate = EncoderRate::new(PICTURES_MAX);
        rate.begin(now);
        Self {
            room,
            role,
            phase: Phase::Greeting { until: greeting_until },
            outbox: VecDeque::new(),
            pieces: VecDeque::new(),
            files: FileQueue::default(),
            forwarding: Forwarding::new(),
            wanted_keys: Vec::new(),
            rate,
            ticks: 0,
            is_ticking: false,
            has_priorities: false,
            paths: Paths::default(),
            path_wishes: Vec::new(),
            candidates: None,
            requests: Allowance::new(now, REQUEST_EVERY, REQUESTS_BURST),
            voice: Allowance::new(now, VOICE_EVERY, VOICE_BURST),
            is_overwhelmed: false,
        }
    }

    pub(super) const fn member(&self) -> Option<MemberNumber> {
        match self.phase {
            Phase::In(number) => Some(number),
            Phase::Greeting { .. } | Phase::Leaving { .. } => None,
        }
    }

    /// What its network takes of the pictures of all others.
    pub(super) const fn pictures_rate(&self) -> Rate {
        self.rate.rate()
    }

    /// Says something; a guest that takes nothing is given up.
    pub(super) fn say(&mut self, message: &FromRoom) {
        if self.outbox.len() < OUTBOX_MAX {
            self.outbox.push_back(message.encode());
        } else {
            self.is_overwhelmed = true;
        }
    }

    /// Media of another member is to be sent.
    pub(super) fn push(&mut self, piece: Forwarded) {
        if self.pieces.len() >= PIECES_MAX {
            self.pieces.pop_front();
            self.forwarding.break_off();
        }
        self.pieces.push_back(piece);
    }

    /// Of whom a key picture is to be asked for now.
    pub(super) fn take_wanted_keys(&mut self) -> Vec<MemberNumber> {
        std::mem::take(&mut self.wanted_keys)
    }

    /// An agent wants a path used so.
    pub(super) fn wish_path(&mut self, wish: PathWish) {
        self.path_wishes.push(wish);
    }

    /// A tenth of a second is over.
    pub(super) const fn tick(&mut self) {
        self.is_ticking = true;
    }

    /// Counts a request; false if there were too many.
    pub(super) fn may_ask(&mut self, now: Time) -> bool {
        self.requests.take(now)
    }

    /// Counts a frame of voice; false if there were too many.
    pub(super) fn may_speak(&mut self, now: Time) -> bool {
        self.voice.take(now)
    }

    /// Hands the connection what waits. Returns why it must end, if it must.
    pub(super) fn serve(
        &mut self,
        now: Time,
        connection: &mut dyn Connection,
        records: &mut TraceLog,
    ) -> Option<&'static str> {
        if !std::mem::replace(&mut self.has_priorities, true) {
            set_priorities(connection);
        }
        if self.is_overwhelmed {
            return Some("what the member had to be told was not taken");
        }
        let patience = match self.phase {
            Phase::Leaving { until } | Phase::Greeting { until } => Some(until),
            Phase::In(_) => None,
        };
        if patience.is_some_and(|until| until <= now) {
            return Some("the member did not greet, or take its leave, in time");
        }
        for PathWish { wanted, local, remote, over } in self.path_wishes.drain(..) {
            let addresses = (local.as_str(), remote.as_str());
            self.paths.on_peer_use(now, wanted, (addresses, over), connection);
        }
        let has_room = self.flush(now, connection);
        match self.phase {
            Phase::Greeting { .. } => {}
            Phase::Leaving { .. } if has_room => connection.shutdown(now),
            Phase::Leaving { .. } => {}
            Phase::In(_) => {
                if has_room && std::mem::take(&mut self.is_ticking) {
                    self.look(now, connection);
                }
                while let Some(piece) = self.pieces.pop_front() {
                    self.forwarding.forward(now, piece, connection, records);
                }
                self.files.send(now, connection);
            }
        }
        None
    }

    /// Hands over the texts that wait. False if they do not fit.
    fn flush(&mut self, now: Time, connection: &mut dyn Connection) -> bool {
        while let Some(payload) = self.outbox.front() {
            let stream = MediaClass::Control.stream();
            match connection.send(now, Outgoing::new(stream, PPID_TEXT, payload.clone())) {
                Err(SendError::Full) => return false,
                // Whatever else stands against it: the guest is gone.
                Ok(()) | Err(_) => self.outbox.pop_front(),
            };
        }
        true
    }

    fn look(&mut self, now: Time, connection: &mut dyn Connection) {
        let signal = connection.rate();
        let signal = signal.map(|it| RateSignal { queued: media_queued(connection), ..it });
        let wait = signal.map(|it| it.carries.time_for(it.queued as u64));
        self.wanted_keys = self.forwarding.lacking.take(now, wait);
        // What it is shows when members are told what to send.
        let _told = self.rate.follow(now, signal);
        self.ticks += 1;
        if self.ticks.is_multiple_of(TICKS_A_SECOND) {
            self.forwarding.tick(now);
        }
        let beat = Outgoing {
            ordered: false,
            reliability: Reliability::Lifetime(BEAT_LIFETIME),
            ..Outgoing::new(MediaClass::Control.stream(), PPID_TEXT, FromRoom::Beat.encode())
        };
        // Where there is no room for it, enough is sent to be heard.
        let _full = connection.send(now, beat);
    }
}
