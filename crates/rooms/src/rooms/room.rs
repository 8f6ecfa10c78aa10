//! [`Room`]: who is there, and what was written.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_call::{Device, Media, VIDEO_RATE_MAX, VIDEO_RATE_MIN};
use anabranch_sansio::{Rate, Time};

use super::files::Files;
use super::{GuestId, RoomLabel, Tokens};
use crate::protocol::{MemberEntry, MemberNumber, Role, TextLine};

/// Texts that who comes later gets to read.
const TEXTS_MAX: usize = 200;

/// Hosts are told so often at most that somebody would come in.
const KNOCK_EVERY: Duration = Duration::from_secs(2);

/// A room and those who are in it.
#[derive(Debug)]
pub(super) struct Room {
    pub(super) label: RoomLabel,
    pub(super) tokens: Tokens,
    pub(super) members: BTreeMap<MemberNumber, Member>,
    pub(super) texts: VecDeque<TextLine>,
    pub(super) files: Files,
    /// Whether nobody comes in but hosts, and who was there.
    pub(super) is_locked: bool,
    /// When hosts were last told of somebody who would come in.
    knocked: Option<Time>,
    last_number: MemberNumber,
}

/// Somebody in a room.
#[derive(Debug)]
pub(super) struct Member {
    pub(super) name: String,
    pub(super) role: Role,
    pub(super) program: String,
    pub(super) media: Media,
    pub(super) voice_frames: u64,
    /// What proves that it is the same one who comes back.
    pub(super) resume: String,
    pub(super) place: Place,
    pub(super) since: Time,
    /// Whether somebody wants a key picture that it was not asked for yet.
    pub(super) is_key_wanted: bool,
    /// When it was last asked for one.
    pub(super) key_asked: Option<Time>,
    /// What its encoder was last told to make at most.
    pub(super) told: Option<Rate>,
    /// Messages that were no media.
    pub(super) malformed: u64,
}

/// Where a member is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Place {
    /// Behind this connection.
    Here(GuestId),
    /// Its connection was lost; until then it may come back.
    Away {
        /// After that it is gone.
        until: Time,
        /// Which one that was.
        last: GuestId,
    },
}

impl Member {
    pub(super) const fn guest(&self) -> Option<GuestId> {
        match self.place {
            Place::Here(guest) => Some(guest),
            Place::Away { .. } => None,
        }
    }

    pub(super) fn is_seen(&self) -> bool {
        self.guest().is_some() && self.media.camera == Device::On
    }

    pub(super) fn entry(&self, number: MemberNumber) -> MemberEntry {
        MemberEntry {
            number,
            name: self.name.clone(),
            role: self.role,
            media: self.media.clone(),
            away: self.guest().is_none(),
        }
    }
}

impl Room {
    pub(super) fn new(label: RoomLabel, tokens: Tokens) -> Self {
        Self {
            label,
            tokens,
            members: BTreeMap::new(),
            texts: VecDeque::new(),
            files: Files::default(),
            is_locked: false,
            knocked: None,
            last_number: MemberNumber(0),
        }
    }

    /// Everybody has left.
    pub(super) fn forget(&mut self) {
        self.texts.clear();
        (self.is_locked, self.knocked) = (false, None);
    }

    /// The connections of hosts.
    pub(super) fn hosts(&self) -> impl Iterator<Item = GuestId> + '_ {
        let hosts = self.members.values().filter(|member| member.role == Role::Host);
        hosts.filter_map(Member::guest)
    }

    /// Whether hosts are told of one more who would come in; then that is noted.
    pub(super) fn may_knock(&mut self, now: Time) -> bool {
        let may = self.knocked.is_none_or(|at| now - at >= KNOCK_EVERY);
        if may {
            self.knocked = Some(now);
        }
        may
    }

    pub(super) fn is_full(&self) -> bool {
        self.members.len() >= self.label.members_max
    }

    /// A number that nobody has; 0 is nobody's.
    pub(super) fn free_number(&mut self) -> MemberNumber {
        loop {
            self.last_number = MemberNumber(self.last_number.0.wrapping_add(1));
            // A member's tracks have to fit into 16 bits.
            let is_taken = self.members.contains_key(&self.last_number);
            if !is_taken && (1..u16::MAX / 2).contains(&self.last_number.0) {
                return self.last_number;
            }
        }
    }

    /// The member whose secret this is.
    pub(super) fn holder(&self, resume: &str) -> Option<MemberNumber> {
        let found = self.members.iter().find(|(_, member)| member.resume == resume);
        found.map(|(number, _)| *number)
    }

    /// The member whose connection this was before it was lost.
    pub(super) fn absentee(&self, guest: GuestId) -> Option<MemberNumber> {
        let was = |place| matches!(place, Place::Away { last, .. } if last == guest);
        let found = self.members.iter().find(|(_, member)| was(member.place));
        found.map(|(number, _)| *number)
    }

    /// Who has been away for the longest time.
    pub(super) fn longest_away(&self) -> Option<MemberNumber> {
        let away = self.members.iter().filter_map(|(number, member)| match member.place {
            Place::Away { until, .. } => Some((until, *number)),
            Place::Here(_) => None,
        });
        away.min().map(|(_, number)| number)
    }

    /// Keeps a text for who comes later.
    pub(super) fn keep(&mut self, line: TextLine) {
        if self.texts.len() >= TEXTS_MAX {
            self.texts.pop_front();
        }
        self.texts.push_back(line);
    }

    /// The connections of all but one.
    pub(super) fn others(&self, but: MemberNumber) -> impl Iterator<Item = GuestId> + '_ {
        let others = self.members.iter().filter(move |(number, _)| **number != but);
        others.filter_map(|(_, member)| member.guest())
    }

    /// What a member's encoder is to make: what the network of the one in the middle takes. Those
    /// with less get fewer of its pictures.
    pub(super) fn pictures_of(
        &self,
        sender: MemberNumber,
        takes: impl Fn(GuestId) -> Rate,
    ) -> Rate {
        let seen = self.members.values().filter(|member| member.is_seen()).count() as u64;
        let mut shares: Vec<u64> = (self.members.iter())
            .filter(|(number, _)| **number != sender)
            .filter_map(|(_, member)| {
                let others = seen - u64::from(member.is_seen());
                Some(takes(member.guest()?).as_bps() / others.max(1))
            })
            .collect();
        shares.sort_unstable();
        let middle = shares.get(shares.len().saturating_sub(1) / 2).copied();
        middle.map_or(Rate::ZERO, |bps| Rate::bps(bps).clamp(VIDEO_RATE_MIN, VIDEO_RATE_MAX))
    }
}
