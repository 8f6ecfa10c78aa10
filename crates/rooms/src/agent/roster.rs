//! [`Roster`]: who is in the room, as it has said.

use std::collections::BTreeMap;

use anabranch_sansio::Time;

use crate::protocol::{FromMember, FromRoom, MemberNumber, TextLine};

/// Who is in the room, and what its clock says.
#[derive(Debug)]
pub(super) struct Roster {
    /// What the page calls itself.
    own_name: Option<String>,
    you: MemberNumber,
    names: BTreeMap<MemberNumber, String>,
    /// When the room's clock said how many microseconds.
    clock: (Time, u64),
}

impl Roster {
    pub(super) const fn new() -> Self {
        Self {
            own_name: None,
            you: MemberNumber(0),
            names: BTreeMap::new(),
            clock: (Time::ZERO, 0),
        }
    }

    /// The page says something to the room.
    pub(super) fn on_page(&mut self, payload: &[u8]) {
        if self.own_name.is_none()
            && let Ok(FromMember::Hello { name, .. }) = FromMember::decode(payload)
        {
            self.own_name = Some(name);
        }
    }

    /// The room says something.
    pub(super) fn on_room(&mut self, now: Time, words: &FromRoom) {
        if let FromRoom::Welcome { you, now_us, members, .. } = words {
            let names = members.iter().map(|member| (member.number, member.name.clone()));
            self.names = names.collect();
            self.names.insert(*you, self.own_name.clone().unwrap_or_default());
            (self.you, self.clock) = (*you, (now, *now_us));
        } else if let FromRoom::Joined { member } = words {
            self.names.insert(member.number, member.name.clone());
        } else if let FromRoom::Left { member, .. } = words {
            self.names.remove(member);
        }
    }

    /// What a member, or with `None` the page itself, writes, as the room would tell it.
    pub(super) fn line(&self, now: Time, member: Option<MemberNumber>, text: String) -> TextLine {
        let member = member.unwrap_or(self.you);
        let (at, us) = self.clock;
        let passed = u64::try_from((now - at).as_micros()).unwrap_or_default();
        let name = self.names.get(&member).cloned().unwrap_or_default();
        TextLine { name, member, at_us: us + passed, text }
    }
}
