//! Files: members have them, others ask for blocks of them. The room keeps none.

use anabranch_call::exchange::FileList;
use anabranch_sansio::Time;
use bytes::Bytes;

use super::room::Place;
use super::{GuestId, RoomId, Rooms};
use crate::protocol::{BlockId, FileEntry, FileMessage, FileNumber, FromRoom, MemberNumber};

/// The files of a room.
#[derive(Debug, Default)]
pub(super) struct Files {
    list: FileList,
    last: u32,
}

impl Files {
    pub(super) fn list(&self) -> Vec<FileEntry> {
        self.list.list()
    }

    /// Takes a file of a member; says what is wrong with it.
    fn add(
        &mut self,
        member: MemberNumber,
        name: String,
        size: u64,
        sha256: String,
    ) -> Result<FileEntry, String> {
        let file = FileNumber(self.last + 1);
        let entry = self.list.add(FileEntry { file, member, name, size, sha256 })?;
        self.last = self.last.max(entry.file.0);
        Ok(entry)
    }

    /// Forgets the files of who left.
    pub(super) fn forget(&mut self, member: MemberNumber) {
        self.list.forget(member);
    }
}

impl Rooms {
    /// A member has a file of this name, size and SHA-256.
    pub(super) fn offer_file(
        &mut self,
        room_id: RoomId,
        id: GuestId,
        number: MemberNumber,
        (name, size, sha256): (String, u64, String),
    ) {
        let Some(room) = self.rooms.get_mut(&room_id) else { return };
        match room.files.add(number, name.clone(), size, sha256) {
            Ok(entry) => self.tell_all(room_id, &FromRoom::File(entry)),
            Err(text) => self.say(id, &FromRoom::FileRefused { name, text }),
        }
    }

    /// A member has a file of its own no longer.
    pub(super) fn withdraw_file(
        &mut self,
        room_id: RoomId,
        number: MemberNumber,
        file: FileNumber,
    ) {
        let Some(room) = self.rooms.get_mut(&room_id) else { return };
        if room.files.list.remove(file, number) {
            self.forget_file(room_id, file);
            self.tell_all(room_id, &FromRoom::FileGone { file });
        }
    }

    /// A message on the stream of files.
    pub(super) fn handle_file_message(
        &mut self,
        now: Time,
        id: GuestId,
        number: MemberNumber,
        payload: &Bytes,
    ) {
        let Some(room_id) = self.guests.get(&id).map(|guest| guest.room) else { return };
        let is_right = match FileMessage::decode(payload) {
            Ok(FileMessage::Want { block, .. }) => self.want(now, room_id, id, number, block),
            Ok(FileMessage::Block { block, member, bytes }) => {
                self.bring(room_id, number, block, member, bytes)
            }
            Err(_) => false,
        };
        if !is_right && let Some(member) = self.member_mut(room_id, number) {
            member.malformed += 1;
        }
    }

    /// Asks who has a block for it. False if there is no such block.
    fn want(
        &mut self,
        now: Time,
        room_id: RoomId,
        id: GuestId,
        number: MemberNumber,
        block: BlockId,
    ) -> bool {
        let Some(room) = self.rooms.get(&room_id) else { return false };
        let Some((owner, Some(_))) = room.files.list.owner(block) else { return false };
        let Some(owner) = room.members.get(&owner).map(|member| member.place) else {
            return false;
        };
        // Who is away is asked when it is back.
        let Place::Here(owner) = owner else { return true };
        let Some(guest) = self.guests.get_mut(&id) else { return false };
        if guest.files.want(now, block)
            && let Some(guest) = self.guests.get_mut(&owner)
        {
            guest.files.ask(&FileMessage::Want { block, member: number });
            self.has_files(owner);
        }
        true
    }

    /// Hands a block to who waits for it. False if that is not what the sender has, or not all.
    fn bring(
        &mut self,
        room_id: RoomId,
        number: MemberNumber,
        block: BlockId,
        to: MemberNumber,
        bytes: Bytes,
    ) -> bool {
        let Some(room) = self.rooms.get(&room_id) else { return false };
        // It may have been withdrawn, and who wanted it may have left, while it was under way.
        let Some((owner, len)) = room.files.list.owner(block) else { return true };
        if owner != number || len != Some(bytes.len()) {
            return false;
        }
        let Some(guest_id) = room.members.get(&to).and_then(|member| member.guest()) else {
            return true;
        };
        let Some(guest) = self.guests.get_mut(&guest_id) else { return true };
        if guest.files.bring(block, &FileMessage::Block { block, member: number, bytes }) {
            self.has_files(guest_id);
        }
        true
    }

    fn has_files(&mut self, id: GuestId) {
        self.due.insert(id);
        self.with_files.insert(id);
    }

    /// Nobody waits for its blocks any more.
    fn forget_file(&mut self, room_id: RoomId, file: FileNumber) {
        for guest in self.guests.values_mut().filter(|guest| guest.room == room_id) {
            guest.files.forget(file);
        }
    }
}
