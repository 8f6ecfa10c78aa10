//! What hosts may do, and who runs the rooms.

use anabranch_sansio::Time;

use super::report::Occurrence;
use super::{GuestId, RoomId, Rooms};
use crate::protocol::{FromRoom, MemberNumber, Reason, Role};

impl Rooms {
    /// Nobody else comes in from now on, or everybody with a link again. False if there is no such
    /// room.
    pub fn set_locked(&mut self, room: RoomId, locked: bool) -> bool {
        let is_there = self.rooms.contains_key(&room);
        self.lock(room, locked, None);
        is_there
    }

    /// Somebody has to leave. False if there is nobody of this number.
    pub fn remove_member(&mut self, now: Time, room: RoomId, number: MemberNumber) -> bool {
        let is_there = self.member_mut(room, number).is_some();
        self.remove(now, room, number, None);
        is_there
    }

    /// Everybody has to leave a room, and it is no more. False if there is none.
    pub fn close_room(&mut self, now: Time, room: RoomId, text: &str) -> bool {
        let inside = self.guests.iter().filter(|(_, guest)| guest.room == room);
        for guest in inside.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.dismiss(now, guest, Reason::Closed, text.to_owned());
        }
        self.rooms.remove(&room).is_some()
    }

    /// Everybody has to leave: the program ends.
    pub fn close(&mut self, now: Time, text: &str) {
        for guest in self.guests.keys().copied().collect::<Vec<_>>() {
            self.dismiss(now, guest, Reason::Closed, text.to_owned());
        }
    }

    /// The name of a member that asks for what only a host may; who is none has to leave.
    pub(super) fn host(
        &mut self,
        now: Time,
        room: RoomId,
        id: GuestId,
        number: MemberNumber,
    ) -> Option<String> {
        let member = self.member_mut(room, number)?;
        if member.role == Role::Host {
            return Some(member.name.clone());
        }
        let text = "Only a host locks a room, or removes somebody.".to_owned();
        self.dismiss(now, id, Reason::Protocol, text);
        None
    }

    /// A host of this name, or who runs the room, locks it or unlocks it.
    pub(super) fn lock(&mut self, room_id: RoomId, locked: bool, host: Option<&str>) {
        let Some(room) = self.rooms.get_mut(&room_id) else { return };
        if std::mem::replace(&mut room.is_locked, locked) == locked {
            return;
        }
        let who = host.unwrap_or("The operator");
        let text = format!("{who} {} the room.", if locked { "locked" } else { "unlocked" });
        self.report_event(room_id, Occurrence::Locked { text: text.clone() });
        self.tell_all(room_id, &FromRoom::Locked { locked, text });
    }

    /// A host of this name, or who runs the room, removes somebody.
    pub(super) fn remove(
        &mut self,
        now: Time,
        room: RoomId,
        number: MemberNumber,
        host: Option<&str>,
    ) {
        let guest = self.member_mut(room, number).and_then(|member| member.guest());
        self.leave(room, number, &format!("was removed by {}", host.unwrap_or("the operator")));
        if let Some(guest) = guest {
            let text = format!("{} removed you from the room.", host.unwrap_or("The operator"));
            self.dismiss(now, guest, Reason::Removed, text);
        }
    }
}
