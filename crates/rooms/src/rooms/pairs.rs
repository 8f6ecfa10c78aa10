//! Pairs: agents that are alone in a room, and can talk to each other without it.

use std::net::SocketAddr;

use super::{GuestId, Rooms};
use crate::protocol::{CANDIDATES_MAX, FromRoom, Introduction};

impl Rooms {
    /// Whether somebody came, went, or said where it may be found, since this was asked last.
    pub(crate) const fn take_roster_change(&mut self) -> bool {
        std::mem::replace(&mut self.is_roster_changed, false)
    }

    /// Both of each room's two members, where there are no more, and both said where they may be
    /// found.
    pub(crate) fn pairs(&self) -> Vec<(GuestId, GuestId)> {
        let pair = |members: Vec<Option<GuestId>>| match *members {
            [Some(one), Some(other)] => Some((one, other)),
            _ => None,
        };
        let rooms = self.rooms.values().filter(|room| room.members.len() == 2);
        let pairs =
            rooms.filter_map(|room| pair(room.members.values().map(|it| it.guest()).collect()));
        pairs.filter(|(one, other)| self.may_be_found(*one) && self.may_be_found(*other)).collect()
    }

    /// Where a guest may be found: where its packets come from, and where it says itself.
    pub(crate) fn addresses_of(&self, guest: GuestId, seen_at: Vec<SocketAddr>) -> Vec<SocketAddr> {
        let own = self.guests.get(&guest).and_then(|guest| guest.candidates.as_deref());
        let mut addresses = seen_at;
        for address in own.unwrap_or_default() {
            if !addresses.contains(address) {
                addresses.push(*address);
            }
        }
        addresses.truncate(CANDIDATES_MAX);
        addresses
    }

    /// Tells a guest how to find the other one of its pair, which has proved to have this key.
    pub(crate) fn introduce(
        &mut self,
        guest: GuestId,
        peer: GuestId,
        key: Option<Vec<u8>>,
        addresses: Vec<SocketAddr>,
    ) {
        let Some(member) = self.guests.get(&peer).and_then(|peer| peer.member()) else { return };
        let key = key.map(|key| key.iter().map(|byte| format!("{byte:02x}")).collect());
        // One of the two has to call the other.
        let calls = guest > peer;
        self.say(guest, &FromRoom::Direct(Introduction { member, key, addresses, calls }));
    }

    /// Tells a guest that all media goes to the room again.
    pub(crate) fn part(&mut self, guest: GuestId) {
        self.say(guest, &FromRoom::DirectEnd);
    }

    /// A guest says where it may be found.
    pub(super) fn note_candidates(&mut self, id: GuestId, addresses: Vec<SocketAddr>) {
        if let Some(guest) = self.guests.get_mut(&id) {
            guest.candidates = Some(addresses);
            self.is_roster_changed = true;
        }
    }

    fn may_be_found(&self, id: GuestId) -> bool {
        self.guests.get(&id).is_some_and(|guest| guest.candidates.is_some())
    }
}
