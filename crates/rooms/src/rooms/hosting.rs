//! What hosts may do, and who runs the rooms.

use anabranch_sansio::Time;

use super::report::Occurrence;
use super::{GuestId, RoomId, Rooms};
use crate::protocol::{FromMember, FromRoom, MemberNumber, Reason, Role};

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

    /// Does what a member asks for, if it is a host.
    pub(super) fn handle_request_of_host(
        &mut self,
        now: Time,
        id: GuestId,
        number: MemberNumber,
        message: &FromMember,
    ) {
        let Some(room) = self.guests.get(&id).map(|guest| guest.room) else { return };
        let Some(host) = self.member_mut(room, number) else { return };
        if host.role != Role::Host {
            let text = "Only a host locks a room, or removes somebody.".to_owned();
            return self.dismiss(now, id, Reason::Protocol, text);
        }
        let host = host.name.clone();
        match *message {
            FromMember::Lock { locked } => self.lock(room, locked, Some(&host)),
            FromMember::Remove { member } if member != number => {
                self.remove(now, room, member, Some(&host));
            }
            FromMember::Remove { .. }
            | FromMember::Hello { .. }
            | FromMember::Media { .. }
            | FromMember::WantKey { .. }
            | FromMember::Text { .. }
            | FromMember::OfferFile { .. }
            | FromMember::WithdrawFile { .. }
            | FromMember::Bye
            | FromMember::Unknown => {}
        }
    }

    /// A host of this name, or who runs the room, locks it or unlocks it.
    fn lock(&mut self, room_id: RoomId, locked: bool, host: Option<&str>) {
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
    fn remove(&mut self, now: Time, room: RoomId, number: MemberNumber, host: Option<&str>) {
        let guest = self.member_mut(room, number).and_then(|member| member.guest());
        self.leave(room, number, &format!("was removed by {}", host.unwrap_or("the operator")));
        if let Some(guest) = guest {
            let text = format!("{} removed you from the room.", host.unwrap_or("The operator"));
            self.dismiss(now, guest, Reason::Removed, text);
        }
    }
}
