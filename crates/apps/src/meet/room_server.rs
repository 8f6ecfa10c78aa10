//! [`RoomServer`]: the rooms' machine, and what opens each.

use std::collections::BTreeMap;
use std::net::IpAddr;

use anabranch_driver::Handle;
use anabranch_rooms::{JoinError, RoomId, RoomLabel, Server};
use anabranch_rtc::RestartError;
use anabranch_television::address_group;

use super::config::RoomConfig;
use crate::site::Sessions;

/// The rooms' machine, and what opens each.
#[derive(Debug)]
pub(super) struct RoomServer {
    server: Handle<Server>,
    entrances: BTreeMap<String, Entrance>,
    sessions: Sessions,
}

/// A room, and what opens it.
#[derive(Debug, Clone)]
pub(super) struct Entrance {
    pub(super) room: RoomId,
    pub(super) title: String,
    pub(super) token: String,
}

impl RoomServer {
    /// Opens the rooms, each with its token.
    pub(super) fn new(server: Handle<Server>, rooms: Vec<(RoomConfig, String)>) -> Self {
        let open = |(config, token): (RoomConfig, String)| {
            let RoomConfig { name, title, members_max, .. } = config;
            let label = RoomLabel { name: name.clone(), title: title.clone(), members_max };
            let room = server.with(|server, _| server.act(|rooms| rooms.add(label)));
            (name, Entrance { room, title, token })
        };
        let entrances = rooms.into_iter().map(open).collect();
        Self { server, entrances, sessions: Sessions::default() }
    }

    pub(super) fn entrance(&self, name: &str) -> Option<&Entrance> {
        self.entrances.get(name)
    }

    /// Each room by its name.
    pub(super) fn entrances(&self) -> impl Iterator<Item = (&str, &Entrance)> {
        self.entrances.iter().map(|(name, entrance)| (name.as_str(), entrance))
    }

    pub(super) const fn server(&self) -> &Handle<Server> {
        &self.server
    }

    /// Answers a browser's offer; also with the name of its session.
    pub(super) fn accept(
        &self,
        room: RoomId,
        offer: &str,
        from: IpAddr,
    ) -> Result<(String, String), JoinError> {
        let accepted =
            self.server.with(|server, now| server.accept(now, room, offer, address_group(from)));
        let (id, answer) = accepted?;
        Ok((self.sessions.name(id), answer))
    }

    /// Answers the offer of a browser whose network changed; `None` if there is no session of this
    /// name.
    pub(super) fn restart(&self, name: &str, offer: &str) -> Option<Result<String, RestartError>> {
        let id = self.sessions.find(name)?;
        Some(self.server.with(|server, now| server.restart(now, id, offer)))
    }

    /// Ends a browser's session, whose member leaves for good or may come back. False if there is
    /// none of this name.
    pub(super) fn hang_up(&self, name: &str, leaves: bool) -> bool {
        let Some(id) = self.sessions.take(name) else { return false };
        self.server.with(|server, now| server.hang_up(now, id, leaves));
        true
    }

    /// Everybody has to leave.
    pub(super) fn close(&self) {
        let text = "This room closes: the server ends.";
        self.server.with(|server, now| server.act(|rooms| rooms.close(now, text)));
    }
}
