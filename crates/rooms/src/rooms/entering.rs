//! Who comes in, and who does not.

use anabranch_sansio::Time;

use super::guest::Phase;
use super::report::Occurrence;
use super::room::{Member, Place};
use super::{GuestId, RoomId, Rooms};
use crate::protocol::{
    FromMember, FromRoom, Listeners, MemberNumber, PROTOCOL_VERSION, Reason, Role, RoomEntry,
};

impl Rooms {
    /// Lets a guest in: as a new member, or as the one that it was.
    pub(super) fn greet(&mut self, now: Time, id: GuestId, hello: FromMember) {
        let FromMember::Hello { program, name, media, resume, .. } = hello else { return };
        let Some((room_id, role)) = self.guests.get(&id).map(|guest| (guest.room, guest.role))
        else {
            return;
        };
        let Some(room) = self.rooms.get_mut(&room_id) else { return };
        let back = resume.and_then(|resume| room.holder(&resume));
        if back.is_none() && room.is_locked && role != Role::Host {
            return self.knock(now, id, room_id, name);
        }
        // Who is here goes before who may come back.
        if back.is_none()
            && room.is_full()
            && let Some(away) = room.longest_away()
        {
            self.leave(room_id, away, "made way for somebody who is here");
        }
        let Some(room) = self.rooms.get_mut(&room_id) else { return };
        if back.is_none() && room.is_full() {
            let text = format!("This room is full: {} are there.", room.members.len());
            self.report_event(room_id, Occurrence::Refused { text: text.clone() });
            return self.dismiss(now, id, Reason::Full, text);
        }
        let number = back.unwrap_or_else(|| room.free_number());
        let before = room.members.remove(&number);
        let resume = before.as_ref().map_or_else(
            || format!("{:016x}{:016x}", self.rng.next_u64(), self.rng.next_u64()),
            |member| member.resume.clone(),
        );
        let member = Member {
            name: name.clone(),
            role,
            program,
            media,
            voice_frames: 0,
            resume,
            place: Place::Here(id),
            since: before.as_ref().map_or(now, |member| member.since),
            is_key_wanted: false,
            key_asked: None,
            told: None,
            malformed: 0,
        };
        let entry = member.entry(number);
        room.members.insert(number, member);
        self.is_roster_changed = true;
        if let Some(guest) = self.guests.get_mut(&id) {
            guest.phase = Phase::In(number);
        }
        if let Some(old) = before.as_ref().and_then(Member::guest) {
            let text = "You came back over another connection.".to_owned();
            self.dismiss(now, old, Reason::Elsewhere, text);
        }
        self.welcome(now, id, room_id, number);
        if before.is_some() {
            self.report_event(room_id, Occurrence::Back { name });
            self.tell_others(room_id, number, &FromRoom::Back { member: number });
            let news = FromRoom::Media { member: number, media: entry.media, voice_frames: 0 };
            self.tell_others(room_id, number, &news);
        } else {
            self.report_event(room_id, Occurrence::Joined { name });
            self.tell_others(room_id, number, &FromRoom::Joined { member: entry });
        }
        self.ask_keys(now, room_id, number);
        self.tell_rates(room_id);
    }

    fn welcome(&mut self, now: Time, id: GuestId, room_id: RoomId, number: MemberNumber) {
        let Some(room) = self.rooms.get(&room_id) else { return };
        let Some(member) = room.members.get(&number) else { return };
        let others = room.members.iter().filter(|(other, _)| **other != number);
        let welcome = FromRoom::Welcome {
            protocol: PROTOCOL_VERSION,
            program: self.config.program.clone(),
            room: RoomEntry { name: room.label.name.clone(), title: room.label.title.clone() },
            you: number,
            role: member.role,
            locked: room.is_locked,
            resume: member.resume.clone(),
            now_us: now.as_micros(),
            members: others.map(|(number, member)| member.entry(*number)).collect(),
            texts: room.texts.iter().cloned().collect(),
            files: room.files.list(),
            listeners: Listeners {
                is: "room".to_owned(),
                text: "Encrypted on its way. Who runs this room could listen.".to_owned(),
            },
        };
        self.say(id, &welcome);
    }

    /// Nobody comes into a locked room; hosts who are there are told who would.
    fn knock(&mut self, now: Time, id: GuestId, room_id: RoomId, name: String) {
        let Some(room) = self.rooms.get_mut(&room_id) else { return };
        let hosts: Vec<_> = room.hosts().collect();
        let text = if hosts.is_empty() {
            "This room is locked, and no host of it is there."
        } else {
            "This room is locked. Its host was told that you are here: try again in a moment."
        };
        if room.may_knock(now) {
            self.report_event(
                room_id,
                Occurrence::Refused { text: format!("{name} knocks: the room is locked") },
            );
            for host in hosts {
                self.say(host, &FromRoom::Knocked { name: name.clone() });
            }
        }
        self.dismiss(now, id, Reason::Locked, text.to_owned());
    }
}
