//! [`Tokens`]: what opens a room.

use std::fmt;

use subtle::ConstantTimeEq as _;

use super::{RoomId, Rooms};
use crate::protocol::Role;

/// What opens a room, and as what.
#[derive(Clone, PartialEq, Eq)]
pub struct Tokens {
    /// For whoever is to be there.
    pub attendees: String,
    /// For those who may lock the room and remove others, too.
    pub hosts: String,
}

impl Tokens {
    /// What who has this token may do inside; nothing where it opens nothing. The time taken says
    /// nothing about how much of a guess was right.
    fn role(&self, token: &str) -> Option<Role> {
        let opens = |own: &String| bool::from(own.as_bytes().ct_eq(token.as_bytes()));
        if opens(&self.hosts) {
            return Some(Role::Host);
        }
        opens(&self.attendees).then_some(Role::Attendee)
    }
}

impl fmt::Debug for Tokens {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Tokens(..)")
    }
}

impl Rooms {
    /// The room of this name, and what who has this token may do in it.
    #[must_use]
    pub fn admission(&self, name: &str, token: &str) -> Option<(RoomId, Role)> {
        let (id, room) = self.rooms.iter().find(|(_, room)| room.label.name == name)?;
        Some((*id, room.tokens.role(token)?))
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::Rng;

    use super::*;
    use crate::{RoomLabel, RoomsConfig};

    #[test]
    fn a_token_opens_its_own_room_and_no_other() {
        let mut rooms = Rooms::new(RoomsConfig { program: String::new() }, Rng::from_u64(1));
        let mut add = |name: &str| {
            let label = RoomLabel { name: name.to_owned(), title: name.to_owned(), members_max: 4 };
            let tokens = Tokens { attendees: format!("{name}-all"), hosts: format!("{name}-few") };
            rooms.add(label, tokens)
        };
        let (lab, staff) = (add("lab"), add("staff"));
        assert_eq!(rooms.admission("lab", "lab-all"), Some((lab, Role::Attendee)));
        assert_eq!(rooms.admission("staff", "staff-few"), Some((staff, Role::Host)));
        for (name, token) in
            [("lab", "staff-all"), ("lab", "lab-al"), ("lab", ""), ("x", "lab-all")]
        {
            assert_eq!(rooms.admission(name, token), None, "{name} {token}");
        }
    }
}
