//! What who runs rooms is told of them.

use anabranch_sansio::{Rate, Time};

use super::guest::Guest;
use super::room::{Member, Room};
use super::{GuestId, RoomId, Rooms};
use crate::protocol::{MemberNumber, Role};

/// What a room is called.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomLabel {
    /// As in its link.
    pub name: String,
    /// As people read it.
    pub title: String,
    /// How many may be there: 2 to [`MEMBERS_MAX`](super::MEMBERS_MAX).
    pub members_max: usize,
}

/// A room as who runs it sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RoomReport {
    /// What it is called.
    pub label: RoomLabel,
    /// Whether nobody else comes in.
    pub is_locked: bool,
    /// Who is there.
    pub members: Vec<MemberReport>,
}

/// A member as who runs the room sees it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct MemberReport {
    /// Its number.
    pub number: MemberNumber,
    /// What it may do.
    pub role: Role,
    /// Its connection, unless that is lost at the moment.
    pub guest: Option<GuestId>,
    /// What it calls itself.
    pub name: String,
    /// Its program.
    pub program: String,
    /// Since when it is there.
    pub since: Time,
    /// What its network takes of the pictures of all others.
    pub takes: Option<Rate>,
    /// Pictures of others that its network did not take.
    pub left_out: u64,
    /// Messages of its own that were no media, or too many.
    pub malformed: u64,
}

/// Something happened in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Event {
    /// The room's name, as in its link.
    pub room: String,
    /// What.
    pub what: Occurrence,
}

/// What happened in a room.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Occurrence {
    /// Somebody is in.
    Joined {
        /// Who.
        name: String,
    },
    /// Somebody's connection was lost.
    Away {
        /// Who.
        name: String,
    },
    /// Somebody is there again.
    Back {
        /// Who.
        name: String,
    },
    /// Somebody is gone.
    Left {
        /// What the others were told.
        text: String,
    },
    /// Somebody was not let in.
    Refused {
        /// Why.
        text: String,
    },
    /// The room was locked or unlocked.
    Locked {
        /// What those inside were told.
        text: String,
    },
}

impl Rooms {
    /// All rooms.
    pub fn rooms(&self) -> impl Iterator<Item = (RoomId, RoomReport)> + '_ {
        self.rooms.iter().map(|(id, room)| (*id, self.report(room)))
    }

    /// One of them, if it is still there.
    #[must_use]
    pub fn room(&self, id: RoomId) -> Option<RoomReport> {
        self.rooms.get(&id).map(|room| self.report(room))
    }

    fn report(&self, room: &Room) -> RoomReport {
        let members = room.members.iter();
        RoomReport {
            label: room.label.clone(),
            is_locked: room.is_locked,
            members: members.map(|(number, member)| self.report_member(*number, member)).collect(),
        }
    }

    fn report_member(&self, number: MemberNumber, member: &Member) -> MemberReport {
        let guest = member.guest().and_then(|id| self.guests.get(&id));
        MemberReport {
            number,
            role: member.role,
            guest: member.guest(),
            name: member.name.clone(),
            program: member.program.clone(),
            since: member.since,
            takes: guest.map(Guest::pictures_rate),
            left_out: guest.map_or(0, |guest| guest.forwarding.left_out()),
            malformed: member.malformed,
        }
    }
}
