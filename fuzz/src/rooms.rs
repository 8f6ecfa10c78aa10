//! Checks of `anabranch-rooms`: whatever members say, whatever their networks take and whenever
//! they come and go, a room keeps to its limits, speaks as the document has it, and gives nobody
//! their own media.

use std::time::Duration;

use anabranch_call::Media;
use anabranch_media::Piece;
use anabranch_rooms::protocol::{
    BlockId, FILES_STREAM, FileMessage, FileNumber, FromMember, FromRoom, MemberNumber,
    PPID_BINARY, PPID_TEXT, PROTOCOL_VERSION, Role,
};
use anabranch_rooms::{GuestId, RoomId, RoomLabel, Rooms, RoomsConfig, Tokens};
use anabranch_sansio::{PathId, Rate, Rng, Time};
use anabranch_transport::{
    Connection, ConnectionStats, Incoming, Outgoing, RateSignal, SendError, StreamId,
};
use bytes::Bytes;

use crate::script::Script;

/// Places in the room, and connections that there are at once.
const MEMBERS_MAX: usize = 3;
const GUESTS: usize = 5;

/// Two pieces of a member: a key picture and a frame of voice.
const PICTURE: &[u8] =
    &[0x21, 0xa1, 2, 1, 0, 0, 0, 1, 7, 0, 0, 1, 0x80, 0x89, 0x0f, 0, 0xc0, 0xc4, 7, 1, 1, 2, 3];
const VOICE: &[u8] =
    &[0x21, 0xa2, 2, 1, 0, 1, 0, 1, 7, 0, 0, 0, 0x80, 0x89, 0x0f, 0, 0xc0, 0xc4, 7, 1, 1, 2, 3];

/// Plays `bytes` as a script: who comes, says what, and goes, and how time passes.
pub fn members(bytes: &[u8]) {
    let mut script = Script(bytes);
    let mut play = Play::new();
    while !script.0.is_empty() {
        play.step(&mut script);
        play.serve();
        play.check();
    }
}

/// One end of a connection that takes what its network takes.
#[derive(Default)]
struct Line {
    sent: Vec<Outgoing>,
    /// Whether there is room.
    is_full: bool,
    carries: Option<Rate>,
    is_over: bool,
}

impl Connection for Line {
    fn send(&mut self, _: Time, message: Outgoing) -> Result<(), SendError> {
        if self.is_full {
            return Err(SendError::Full);
        }
        self.sent.push(message);
        Ok(())
    }

    fn receive(&mut self) -> Option<Incoming> {
        None
    }

    fn rate(&self) -> Option<RateSignal> {
        self.carries.map(|carries| RateSignal { carries, is_at_least: false, queued: 0 })
    }

    fn queued(&self) -> usize {
        if self.is_full { 1 << 16 } else { 0 }
    }

    fn bytes_acked(&self) -> u64 {
        0
    }

    fn is_drained(&self) -> bool {
        !self.is_full
    }

    fn whole_message_max(&self) -> usize {
        1_000
    }

    fn stats(&self) -> ConnectionStats {
        ConnectionStats::default()
    }

    fn shutdown(&mut self, _: Time) {
        self.is_over = true;
    }

    fn abort(&mut self, _: &str) {
        self.is_over = true;
    }
}

/// A guest, its connection, and what it was told.
struct Guest {
    id: GuestId,
    line: Line,
    number: Option<MemberNumber>,
    resume: Option<String>,
}

fn tokens() -> Tokens {
    Tokens { attendees: "all".to_owned(), hosts: "some".to_owned() }
}

fn label() -> RoomLabel {
    RoomLabel { name: "room".to_owned(), title: "Room".to_owned(), members_max: MEMBERS_MAX }
}

struct Play {
    rooms: Rooms,
    room: RoomId,
    guests: Vec<Guest>,
    /// What made somebody the same member, of those who are gone.
    resumes: Vec<String>,
    now: Time,
}

impl Play {
    fn new() -> Self {
        let config = RoomsConfig { program: "a check".to_owned() };
        let mut rooms = Rooms::new(config, Rng::from_u64(1));
        let room = rooms.add(label(), tokens());
        Self { rooms, room, guests: Vec::new(), resumes: Vec::new(), now: Time::ZERO }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let what = script.byte();
        let at = usize::from(script.byte());
        match what % 12 {
            0 => self.come(if what & 16 == 0 { Role::Attendee } else { Role::Host }),
            1 => self.go(at, what & 16 != 0),
            2 => self.say(at, PPID_TEXT.0, 0, script.bytes()),
            3 => self.say(at, u32::from(script.byte()), script.byte(), script.bytes()),
            4 => self.greet(at, script),
            5 => self.word(at, script),
            6 => self.say(at, PPID_BINARY.0, 2, PICTURE),
            7 => self.say(at, PPID_BINARY.0, 3, VOICE),
            8 => self.now += Duration::from_millis(1 << (script.byte() % 16)),
            9 => self.change_line(at, script.byte()),
            10 if what & 16 != 0 => self.speak_of_a_file(at, script),
            10 => self.altered(at, script),
            11 if what & 16 != 0 => self.operate(script),
            _ => self.rooms.handle_timeout(self.now),
        }
        self.rooms.handle_timeout(self.now);
    }

    fn come(&mut self, role: Role) {
        if self.guests.len() < GUESTS
            && let Some(id) = self.rooms.guest_came(self.now, self.room, role)
        {
            let line = Line::default();
            self.guests.push(Guest { id, line, number: None, resume: None });
        }
    }

    /// Wants a block of a file, or brings one.
    fn speak_of_a_file(&mut self, at: usize, script: &mut Script<'_>) {
        let file = FileNumber(u32::from(script.byte() % 4));
        let block = BlockId { file, index: u32::from(script.byte() % 4) };
        let member = MemberNumber(script.byte().into());
        let message = match script.byte() {
            0 => FileMessage::Want { block, member },
            len => {
                let bytes = Bytes::from(vec![len; usize::from(len) % 64 + 1]);
                FileMessage::Block { block, member, bytes }
            }
        };
        self.say(at, PPID_BINARY.0, FILES_STREAM as u8, &message.encode());
    }

    /// Who runs the room does something.
    fn operate(&mut self, script: &mut Script<'_>) {
        let (what, number) = (script.byte(), MemberNumber(script.byte().into()));
        match what % 8 {
            0..3 => assert!(self.rooms.set_locked(self.room, what & 16 != 0)),
            3..7 => _ = self.rooms.remove_member(self.now, self.room, number),
            _ => {
                assert!(self.rooms.close_room(self.now, self.room, "closed"));
                assert!(!self.rooms.set_locked(self.room, true), "a room that is no more");
                self.room = self.rooms.add(label(), tokens());
            }
        }
    }

    fn go(&mut self, at: usize, leaves: bool) {
        if at < self.guests.len() {
            let guest = self.guests.remove(at);
            if leaves {
                self.rooms.guest_leaves(self.now, guest.id);
            }
            self.rooms.guest_left(self.now, guest.id);
            self.resumes.extend(guest.resume);
            self.resumes.truncate(8);
        }
    }

    fn say(&mut self, at: usize, payload_id: u32, stream: u8, payload: &[u8]) {
        let Some(guest) = self.guests.get(at) else { return };
        let message = Incoming {
            stream: StreamId(stream.into()),
            payload_id: anabranch_transport::PayloadId(payload_id),
            payload: Bytes::copy_from_slice(payload),
            completed_at: self.now,
            path: PathId(0),
            fills_gap: false,
        };
        self.rooms.handle_message(self.now, guest.id, &message);
    }

    fn greet(&mut self, at: usize, script: &mut Script<'_>) {
        let choice = usize::from(script.byte());
        let hello = FromMember::Hello {
            protocol: PROTOCOL_VERSION,
            program: "a page".to_owned(),
            name: String::from_utf8_lossy(script.bytes()).into_owned(),
            media: Media::default(),
            resume: self.resumes.get(choice).cloned(),
        };
        self.say(at, PPID_TEXT.0, 0, &hello.encode());
    }

    fn word(&mut self, at: usize, script: &mut Script<'_>) {
        let word = match script.byte() % 8 {
            0 => FromMember::WantKey { member: MemberNumber(script.byte().into()) },
            1 => FromMember::Media { media: Media::default(), voice_frames: script.byte().into() },
            2 => FromMember::Bye,
            3 => FromMember::Lock { locked: script.byte() & 1 == 0 },
            5 => FromMember::OfferFile {
                name: "a file".to_owned(),
                size: u64::from(script.byte() % 64),
                sha256: format!("{:064x}", script.byte()),
            },
            6 => FromMember::WithdrawFile { file: FileNumber(u32::from(script.byte() % 4)) },
            4 => FromMember::Remove { member: MemberNumber(script.byte().into()) },
            _ => FromMember::Text { text: String::from_utf8_lossy(script.bytes()).into_owned() },
        };
        self.say(at, PPID_TEXT.0, 0, &word.encode());
    }

    fn change_line(&mut self, at: usize, how: u8) {
        let Some(guest) = self.guests.get_mut(at) else { return };
        guest.line.is_full = how & 1 != 0;
        guest.line.carries = (how & 2 != 0).then(|| Rate::kbps(1 << (how >> 4)));
        self.rooms.handle_writable(guest.id);
    }

    /// A piece of which some byte is another one.
    fn altered(&mut self, at: usize, script: &mut Script<'_>) {
        let (place, byte) = (usize::from(script.byte()), script.byte());
        let mut piece = if byte & 1 == 0 { PICTURE.to_vec() } else { VOICE.to_vec() };
        let place = place % piece.len();
        piece[place] ^= byte;
        self.say(at, PPID_BINARY.0, 4, &piece);
    }

    fn serve(&mut self) {
        let mut served = 0;
        while let Some(id) = self.rooms.poll_due() {
            served += 1;
            assert!(served <= 2 * GUESTS, "a room that never comes to rest");
            if let Some(guest) = self.guests.iter_mut().find(|guest| guest.id == id) {
                self.rooms.serve(self.now, id, &mut guest.line);
            }
        }
        while self.rooms.poll_event().is_some() {}
    }

    fn check(&mut self) {
        for guest in &mut self.guests {
            for message in guest.line.sent.drain(..) {
                if message.payload_id == PPID_TEXT {
                    let text = FromRoom::decode(&message.payload).expect("what a room says");
                    if let FromRoom::Welcome { you, role, locked, resume, members, .. } = text {
                        assert!(members.iter().all(|member| member.number != you));
                        let may_enter = role == Role::Host || self.resumes.contains(&resume);
                        assert!(may_enter || !locked, "somebody new in a locked room");
                        (guest.number, guest.resume) = (Some(you), Some(resume));
                    }
                } else if message.stream.0 == FILES_STREAM {
                    FileMessage::decode(&message.payload).expect("what a room says of files");
                    assert!(guest.number.is_some(), "a file for who is not in");
                } else {
                    let piece = Piece::decode(message.payload).expect("a piece");
                    let from = MemberNumber(piece.header.track.0 / 2);
                    assert_ne!(Some(from), guest.number, "their own media");
                    assert!(guest.number.is_some(), "media for who is not in");
                }
            }
        }
        // A connection that is over ends.
        while let Some(at) = self.guests.iter().position(|guest| guest.line.is_over) {
            self.go(at, false);
        }
        for (_, report) in self.rooms.rooms() {
            assert!(report.members.len() <= MEMBERS_MAX, "more than there are places");
        }
    }
}
