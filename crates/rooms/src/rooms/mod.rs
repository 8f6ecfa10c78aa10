//! [`Rooms`]: who is where, what each says and sends, and who gets it.

mod entering;
mod files;
mod guest;
mod hosting;
mod pairs;
mod report;
mod room;
mod tokens;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::time::Duration;

use anabranch_call::VIDEO_RATE_MAX;
use anabranch_sansio::{Rate, Rng, Time, TraceLog, TraceRecord, Wakeup};
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{Connection, Incoming};
use bytes::Bytes;

use crate::protocol::{
    FILES_STREAM, Forwarded, FromMember, FromRoom, Kind, MemberNumber, PPID_BINARY,
    PROTOCOL_VERSION, Reason, Role, TextLine, forwarded,
};
use guest::{Guest, PathWish, Phase};
pub use report::{Event, MemberReport, Occurrence, RoomLabel, RoomReport};
use room::{Member, Place, Room};
pub use tokens::Tokens;

/// People in one room.
pub const MEMBERS_MAX: usize = 16;

/// A hello may take so long.
const GREETING: Duration = Duration::from_secs(6);

/// And the end of a connection after the last words.
const FAREWELL: Duration = Duration::from_secs(3);

/// Who lost its connection may come back for so long.
const AWAY_MAX: Duration = Duration::from_secs(30);

/// How often rates are looked at, and a beat is sent.
const TICK: Duration = Duration::from_millis(100);

/// A member is asked for a key picture so often at most.
const KEY_EVERY: Duration = Duration::from_millis(300);

/// What an encoder of voice is asked for.
const VOICE_BPS: u64 = 32_000;

/// A smaller change of a rate is not told.
const TOLD: f64 = 0.05;

/// Connections to a room beside its members: those that come, and those that go.
const BESIDE_MAX: usize = 8;

/// A room. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct RoomId(u32);

/// A connection to a room. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct GuestId(u64);

impl fmt::Display for GuestId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "guest {}", self.0)
    }
}

/// What [`Rooms`] are told.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomsConfig {
    /// The program, in its own words.
    pub program: String,
}

/// Rooms and those who are in them.
///
/// The one who owns the connections reports who came and what they said, and then, for each guest
/// that [`poll_due`](Self::poll_due) names, [`serve`](Self::serve)s the connection.
#[derive(Debug)]
pub struct Rooms {
    config: RoomsConfig,
    rng: Rng,
    rooms: BTreeMap<RoomId, Room>,
    guests: BTreeMap<GuestId, Guest>,
    next_room: u32,
    next_guest: u64,
    /// Guests for whom there may be something to do.
    due: BTreeSet<GuestId>,
    /// Guests to whom something about files is to be said.
    with_files: BTreeSet<GuestId>,
    /// Whether somebody came, went, or said where it may be found.
    is_roster_changed: bool,
    next_tick: Option<Time>,
    events: VecDeque<Event>,
    records: TraceLog,
}

impl Rooms {
    /// No room yet. The generator must be unpredictable on real networks: members prove by what it
    /// draws that they are the same who come back.
    #[must_use]
    pub fn new(config: RoomsConfig, rng: Rng) -> Self {
        Self {
            config,
            rng,
            rooms: BTreeMap::new(),
            guests: BTreeMap::new(),
            next_room: 1,
            next_guest: 1,
            due: BTreeSet::new(),
            with_files: BTreeSet::new(),
            is_roster_changed: false,
            next_tick: None,
            events: VecDeque::new(),
            records: TraceLog::default(),
        }
    }

    /// Adds a room that these tokens open.
    pub fn add(&mut self, label: RoomLabel, tokens: Tokens) -> RoomId {
        let id = RoomId(self.next_room);
        self.next_room += 1;
        let members_max = label.members_max.clamp(2, MEMBERS_MAX);
        self.rooms.insert(id, Room::new(RoomLabel { members_max, ..label }, tokens));
        id
    }

    /// Whether a room has no place for one more connection, beside so many that are to come.
    #[must_use]
    pub fn is_crowded(&self, id: RoomId, expected: usize) -> bool {
        let guests = self.guests.values().filter(|guest| guest.room == id).count();
        guests + expected >= self.connections_max(id)
    }

    /// Connections that a room takes: of its members, and of those who come and go.
    #[must_use]
    pub fn connections_max(&self, id: RoomId) -> usize {
        self.rooms.get(&id).map_or(0, |room| room.label.members_max + BESIDE_MAX)
    }

    /// A connection to a room is there; its hello must follow. `None` if there is no place for it.
    pub fn guest_came(&mut self, now: Time, room: RoomId, role: Role) -> Option<GuestId> {
        if self.is_crowded(room, 0) {
            return None;
        }
        let id = GuestId(self.next_guest);
        self.next_guest += 1;
        self.guests.insert(id, Guest::new(now, room, role, now + GREETING));
        self.next_tick.get_or_insert(now + TICK);
        self.due.insert(id);
        Some(id)
    }

    /// A connection has ended.
    pub fn guest_left(&mut self, now: Time, id: GuestId) {
        self.due.remove(&id);
        let Some(guest) = self.guests.remove(&id) else { return };
        let Some(number) = guest.member() else { return };
        let Some(room) = self.rooms.get_mut(&guest.room) else { return };
        let Some(member) = room.members.get_mut(&number) else { return };
        member.place = Place::Away { until: now + AWAY_MAX, last: id };
        self.is_roster_changed = true;
        let name = member.name.clone();
        self.report_event(guest.room, Occurrence::Away { name });
        self.tell_others(guest.room, number, &FromRoom::Away { member: number });
    }

    /// Who is, or was, behind a connection leaves its room for good.
    pub fn guest_leaves(&mut self, now: Time, id: GuestId) {
        let here = self.guests.get(&id).and_then(|guest| Some((guest.room, guest.member()?)));
        if let Some((room, number)) = here.or_else(|| self.absentee(id)) {
            self.leave(room, number, "left");
        }
        self.dismiss(now, id, Reason::Closed, "You left.".to_owned());
    }

    /// Whether a connection that has ended was that of a member who may come back.
    #[must_use]
    pub fn is_away(&self, id: GuestId) -> bool {
        self.absentee(id).is_some()
    }

    /// A connection has room again.
    pub fn handle_writable(&mut self, id: GuestId) {
        if self.guests.contains_key(&id) {
            self.due.insert(id);
        }
    }

    /// Something left: there may be room for what goes behind all else.
    pub fn handle_progress(&mut self) {
        let guests = &self.guests;
        self.with_files.retain(|id| guests.get(id).is_some_and(|guest| !guest.files.is_empty()));
        self.due.extend(&self.with_files);
    }

    /// A guest's message.
    pub fn handle_message(&mut self, now: Time, id: GuestId, message: &Incoming) {
        let Some(guest) = self.guests.get_mut(&id) else { return };
        match guest.phase {
            Phase::In(number) if message.stream.0 == FILES_STREAM => {
                self.handle_file_message(now, id, number, &message.payload);
            }
            Phase::In(number) if message.payload_id == PPID_BINARY => {
                self.handle_media(now, id, number, message.payload.clone());
            }
            Phase::In(_) | Phase::Greeting { .. }
                if message.stream == MediaClass::Control.stream() =>
            {
                self.handle_text(now, id, message);
            }
            Phase::In(_) | Phase::Greeting { .. } | Phase::Leaving { .. } => {}
        }
    }

    /// The next guest to [`serve`](Self::serve).
    pub fn poll_due(&mut self) -> Option<GuestId> {
        self.due.pop_first()
    }

    /// Hands a guest's connection what it is to send.
    pub fn serve(&mut self, now: Time, id: GuestId, connection: &mut dyn Connection) {
        let Some(guest) = self.guests.get_mut(&id) else { return };
        if let Some(reason) = guest.serve(now, connection, &mut self.records) {
            connection.abort(reason);
        }
        let (room, keys) = (guest.room, guest.take_wanted_keys());
        for member in keys {
            self.ask_key(now, room, member);
        }
    }

    /// Does what the time asks for.
    pub fn handle_timeout(&mut self, now: Time) {
        if self.next_tick.is_none_or(|at| at > now) {
            return;
        }
        let is_empty =
            self.guests.is_empty() && self.rooms.values().all(|it| it.members.is_empty());
        self.next_tick = (!is_empty).then_some(now + TICK);
        self.end_absences(now);
        self.ask_wanted_keys(now);
        for (id, guest) in &mut self.guests {
            guest.tick();
            self.due.insert(*id);
        }
        for room in self.rooms.keys().copied().collect::<Vec<_>>() {
            self.tell_rates(room);
        }
    }

    /// When there is something to do next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Wakeup> {
        self.next_tick.map(|at| Wakeup { at, why: "look at rooms" })
    }

    /// What happened.
    pub fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }

    pub(crate) fn set_tracing(&mut self, on: bool) {
        self.records.set(on);
    }

    pub(crate) fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.records.pop()
    }

    fn handle_media(&mut self, now: Time, id: GuestId, number: MemberNumber, payload: Bytes) {
        let Some(guest) = self.guests.get_mut(&id) else { return };
        let Some(room) = self.rooms.get_mut(&guest.room) else { return };
        let piece = forwarded(number, payload).ok();
        let may_pass = |piece: &Forwarded| piece.kind == Kind::Picture || guest.may_speak(now);
        let Some(piece) = piece.filter(may_pass) else {
            room.members.entry(number).and_modify(|member| member.malformed += 1);
            return;
        };
        for other in room.others(number) {
            if let Some(guest) = self.guests.get_mut(&other) {
                guest.push(piece.clone());
                self.due.insert(other);
            }
        }
    }

    fn handle_text(&mut self, now: Time, id: GuestId, message: &Incoming) {
        let Some(guest) = self.guests.get_mut(&id) else { return };
        if !guest.may_ask(now) {
            return self.dismiss(
                now,
                id,
                Reason::Protocol,
                "You said too much at once.".to_owned(),
            );
        }
        match (guest.member(), FromMember::decode(&message.payload)) {
            (_, Err(error)) => self.dismiss(now, id, Reason::Protocol, error.to_string()),
            (None, Ok(FromMember::Hello { protocol, .. })) if protocol != PROTOCOL_VERSION => {
                let text = format!(
                    "This room speaks version {PROTOCOL_VERSION}, and you {protocol}: reload the \
                     page."
                );
                self.dismiss(now, id, Reason::Version, text);
            }
            (None, Ok(hello @ FromMember::Hello { .. })) => self.greet(now, id, hello),
            (Some(_), Ok(FromMember::Path { r#use, local, remote })) => {
                guest.wish_path(PathWish { wanted: r#use, local, remote, over: message.path });
                self.due.insert(id);
            }
            (Some(number), Ok(message)) => self.handle_words(now, id, number, message),
            (None, Ok(_)) => {
                let text = "The first words have to be a hello.".to_owned();
                self.dismiss(now, id, Reason::Protocol, text);
            }
        }
    }

    fn handle_words(&mut self, now: Time, id: GuestId, number: MemberNumber, message: FromMember) {
        let Some(room_id) = self.guests.get(&id).map(|guest| guest.room) else { return };
        match message {
            FromMember::Media { media, voice_frames } => {
                let Some(member) = self.member_mut(room_id, number) else { return };
                (member.media, member.voice_frames) = (media.clone(), voice_frames);
                let news = FromRoom::Media { member: number, media, voice_frames };
                self.tell_others(room_id, number, &news);
            }
            FromMember::WantKey { member } => self.ask_key(now, room_id, member),
            FromMember::Text { text } if !text.is_empty() => {
                self.publish(now, room_id, number, text)
            }
            FromMember::OfferFile { name, size, sha256 } => {
                self.offer_file(room_id, id, number, (name, size, sha256));
            }
            FromMember::WithdrawFile { file } => self.withdraw_file(room_id, number, file),
            FromMember::Lock { locked } => {
                if let Some(host) = self.host(now, room_id, id, number) {
                    self.lock(room_id, locked, Some(&host));
                }
            }
            FromMember::Remove { member } => {
                if let Some(host) = self.host(now, room_id, id, number)
                    && member != number
                {
                    self.remove(now, room_id, member, Some(&host));
                }
            }
            FromMember::Candidates { addresses } => self.note_candidates(id, addresses),
            FromMember::Bye => self.guest_leaves(now, id),
            FromMember::Hello { .. }
            | FromMember::Text { .. }
            | FromMember::Path { .. }
            | FromMember::Unknown => {}
        }
    }

    /// Nobody can decode anything of the others before a key picture.
    fn ask_keys(&mut self, now: Time, room_id: RoomId, but: MemberNumber) {
        let Some(room) = self.rooms.get(&room_id) else { return };
        let seen = room.members.iter().filter(|(number, it)| **number != but && it.is_seen());
        for number in seen.map(|(number, _)| *number).collect::<Vec<_>>() {
            self.ask_key(now, room_id, number);
        }
    }

    fn ask_key(&mut self, now: Time, room_id: RoomId, number: MemberNumber) {
        let Some(member) = self.member_mut(room_id, number) else { return };
        member.is_key_wanted = true;
        if member.key_asked.is_some_and(|at| now - at < KEY_EVERY) {
            // It is asked when it may be.
            return;
        }
        (member.is_key_wanted, member.key_asked) = (false, Some(now));
        if let Some(guest) = member.guest() {
            self.say(guest, &FromRoom::WantKey);
        }
    }

    /// Asks for the key pictures that could not be asked for when they were wanted.
    fn ask_wanted_keys(&mut self, now: Time) {
        let mut wanted = Vec::new();
        for (id, room) in &self.rooms {
            let members = room.members.iter().filter(|(_, member)| member.is_key_wanted);
            wanted.extend(members.map(|(number, _)| (*id, *number)));
        }
        for (room_id, number) in wanted {
            self.ask_key(now, room_id, number);
        }
    }

    fn publish(&mut self, now: Time, room_id: RoomId, number: MemberNumber, text: String) {
        let Some(room) = self.rooms.get_mut(&room_id) else { return };
        let Some(member) = room.members.get(&number) else { return };
        let at_us = now.as_micros();
        let line = TextLine { name: member.name.clone(), member: number, at_us, text };
        room.keep(line.clone());
        self.tell_all(room_id, &FromRoom::Text(line));
    }

    fn absentee(&self, id: GuestId) -> Option<(RoomId, MemberNumber)> {
        self.rooms.iter().find_map(|(room_id, room)| Some((*room_id, room.absentee(id)?)))
    }

    /// Members whose connection was lost for too long are gone.
    fn end_absences(&mut self, now: Time) {
        let mut gone = Vec::new();
        for (id, room) in &self.rooms {
            for (number, member) in &room.members {
                if matches!(member.place, Place::Away { until, .. } if until <= now) {
                    gone.push((*id, *number));
                }
            }
        }
        for (id, number) in gone {
            self.leave(id, number, "did not come back");
        }
    }

    fn leave(&mut self, room_id: RoomId, number: MemberNumber, how: &str) {
        let Some(room) = self.rooms.get_mut(&room_id) else { return };
        let Some(member) = room.members.remove(&number) else { return };
        self.is_roster_changed = true;
        room.files.forget(number);
        if room.members.is_empty() {
            // Who comes later has not been there.
            room.forget();
        }
        for guest in self.guests.values_mut().filter(|guest| guest.room == room_id) {
            guest.forwarding.lacking.forget(number);
        }
        let text = format!("{} {how}.", member.name);
        self.report_event(room_id, Occurrence::Left { text: text.clone() });
        self.tell_others(room_id, number, &FromRoom::Left { member: number, text });
        self.tell_rates(room_id);
    }

    /// Sends a guest away, and its member out of the room unless that is behind another connection.
    fn dismiss(&mut self, now: Time, id: GuestId, reason: Reason, text: String) {
        let Some(guest) = self.guests.get_mut(&id) else { return };
        if matches!(guest.phase, Phase::Leaving { .. }) {
            return;
        }
        let (room, member) = (guest.room, guest.member());
        guest.say(&FromRoom::Bye { reason, text });
        guest.phase = Phase::Leaving { until: now + FAREWELL };
        self.due.insert(id);
        let is_its = |number| {
            let member = self.rooms.get(&room)?.members.get(&number)?;
            (member.guest() == Some(id)).then_some(number)
        };
        if let Some(number) = member.and_then(is_its) {
            self.leave(room, number, "had to leave");
        }
    }

    fn report_event(&mut self, room: RoomId, what: Occurrence) {
        if let Some(room) = self.rooms.get(&room) {
            self.events.push_back(Event { room: room.label.name.clone(), what });
        }
    }

    /// Tells each member's encoder what the others' networks take, where that changed.
    fn tell_rates(&mut self, room_id: RoomId) {
        let Some(room) = self.rooms.get_mut(&room_id) else { return };
        let guests = &self.guests;
        let takes = |id| guests.get(&id).map_or(Rate::ZERO, Guest::pictures_rate);
        let mut news = Vec::new();
        let numbers: Vec<_> = room.members.keys().copied().collect();
        for number in numbers {
            let rate = room.pictures_of(number, takes);
            let Some(member) = room.members.get_mut(&number) else { continue };
            let Some(guest) = member.guest() else { continue };
            let is_told = member.told.is_some_and(|told| {
                let (told, rate) = (told.as_bps() as f64, rate.as_bps() as f64);
                (told - rate).abs() <= told * TOLD
            });
            if !is_told {
                member.told = Some(rate);
                news.push((guest, rate));
            }
        }
        for (guest, rate) in news {
            let (video_bps, voice_bps) = (rate.as_bps(), VOICE_BPS);
            self.say(guest, &FromRoom::Encode { video_bps, voice_bps, why: why(rate).to_owned() });
        }
    }

    fn tell_others(&mut self, room_id: RoomId, number: MemberNumber, message: &FromRoom) {
        let Some(room) = self.rooms.get(&room_id) else { return };
        for guest in room.others(number).collect::<Vec<_>>() {
            self.say(guest, message);
        }
    }

    fn tell_all(&mut self, room_id: RoomId, message: &FromRoom) {
        let Some(room) = self.rooms.get(&room_id) else { return };
        let all: Vec<_> = room.members.values().filter_map(Member::guest).collect();
        for guest in all {
            self.say(guest, message);
        }
    }

    fn say(&mut self, id: GuestId, message: &FromRoom) {
        if let Some(guest) = self.guests.get_mut(&id) {
            guest.say(message);
            self.due.insert(id);
        }
    }

    fn member_mut(&mut self, room: RoomId, number: MemberNumber) -> Option<&mut Member> {
        self.rooms.get_mut(&room)?.members.get_mut(&number)
    }
}

/// Why an encoder is to make so much.
fn why(rate: Rate) -> &'static str {
    match rate {
        Rate::ZERO => "Nobody else is there.",
        VIDEO_RATE_MAX => "The networks of the others take all that is of use.",
        _ => "This is what the networks of the others take.",
    }
}
