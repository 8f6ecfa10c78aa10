//! [`RoomServer`]: the rooms' machine, and what opens each.

use std::collections::BTreeMap;
use std::net::IpAddr;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch_driver::Handle;
use anabranch_rooms::protocol::Role;
use anabranch_rooms::{JoinError, RoomId, RoomLabel, Rooms, Server, Tokens};
use anabranch_rtc::RestartError;
use anabranch_television::address_group;
use thiserror::Error;

use super::config::{ROOMS_MAX, RoomConfig};
use crate::site::{Sessions, SiteError, random_token};

/// What became of those who wanted to come in, as metrics name it.
const OUTCOMES: [&str; 3] = ["answered", "wrong_token", "refused"];

/// The rooms' machine, and what opens each.
#[derive(Debug)]
pub(super) struct RoomServer {
    server: Handle<Server>,
    entrances: Mutex<BTreeMap<String, Entrance>>,
    sessions: Sessions,
    joins: [AtomicU64; OUTCOMES.len()],
}

/// A room, and what opens it.
#[derive(Debug, Clone)]
pub(super) struct Entrance {
    pub(super) room: RoomId,
    pub(super) title: String,
    pub(super) tokens: Tokens,
}

/// Why there is no such room now.
#[derive(Debug, Error)]
pub(super) enum OpenError {
    #[error("name: \"{0}\" is another room's already: give another one")]
    Taken(String),
    #[error("there are {ROOMS_MAX} rooms, which is the limit: remove one")]
    Full,
    #[error(transparent)]
    Site(#[from] SiteError),
}

/// Why nobody comes in.
#[derive(Debug, Error)]
pub(super) enum RefusedJoin {
    #[error("This link opens no room here. Ask for a new one.")]
    WrongToken,
    #[error(transparent)]
    Join(#[from] JoinError),
}

impl RoomServer {
    pub(super) fn new(server: Handle<Server>) -> Self {
        Self {
            server,
            entrances: Mutex::default(),
            sessions: Sessions::default(),
            joins: Default::default(),
        }
    }

    /// Opens a room; tokens that it does not have are drawn.
    pub(super) fn open(&self, config: RoomConfig) -> Result<Entrance, OpenError> {
        let RoomConfig { name, title, members_max, token, host_token } = config;
        let tokens = Tokens {
            attendees: token.map_or_else(random_token, Ok)?,
            hosts: host_token.map_or_else(random_token, Ok)?,
        };
        let mut entrances = self.lock();
        if entrances.contains_key(&name) {
            return Err(OpenError::Taken(name));
        }
        if entrances.len() >= ROOMS_MAX {
            return Err(OpenError::Full);
        }
        let label = RoomLabel { name: name.clone(), title: title.clone(), members_max };
        let add = |rooms: &mut Rooms| rooms.add(label, tokens.clone());
        let room = self.server.with(|server, _| server.act(add));
        let entrance = Entrance { room, title, tokens };
        entrances.insert(name, entrance.clone());
        Ok(entrance)
    }

    /// Closes a room, which everybody has to leave. False if there is none of this name.
    pub(super) fn close_room(&self, name: &str) -> bool {
        let Some(entrance) = self.lock().remove(name) else { return false };
        let text = "This room was closed by its operator.";
        self.server
            .with(|server, now| server.act(|rooms| rooms.close_room(now, entrance.room, text)))
    }

    pub(super) fn entrance(&self, name: &str) -> Option<Entrance> {
        self.lock().get(name).cloned()
    }

    /// Each room by its name.
    pub(super) fn entrances(&self) -> BTreeMap<String, Entrance> {
        self.lock().clone()
    }

    pub(super) const fn server(&self) -> &Handle<Server> {
        &self.server
    }

    /// Answers a browser's offer; also with the name of its session.
    pub(super) fn accept(
        &self,
        name: &str,
        token: Option<&str>,
        offer: &str,
        from: IpAddr,
    ) -> Result<(String, String), RefusedJoin> {
        let accepted = self.admission(name, token).and_then(|(room, role)| {
            let from = address_group(from);
            let answer =
                self.server.with(|server, now| server.accept(now, room, role, offer, from));
            let (id, answer) = answer?;
            Ok((self.sessions.name(id), answer))
        });
        let outcome = match &accepted {
            Ok(_) => 0,
            Err(RefusedJoin::WrongToken) => 1,
            Err(RefusedJoin::Join(_)) => 2,
        };
        if let Some(count) = self.joins.get(outcome) {
            count.fetch_add(1, Ordering::Relaxed);
        }
        accepted
    }

    /// The room of this name, and what who has this token may do in it.
    pub(super) fn admission(
        &self,
        name: &str,
        token: Option<&str>,
    ) -> Result<(RoomId, Role), RefusedJoin> {
        let opened = token
            .and_then(|token| self.server.with(|server, _| server.rooms().admission(name, token)));
        opened.ok_or(RefusedJoin::WrongToken)
    }

    /// What became of those who wanted to come in, and how many they were.
    pub(super) fn joins(&self) -> impl Iterator<Item = (&'static str, u64)> {
        OUTCOMES.into_iter().zip(self.joins.iter().map(|count| count.load(Ordering::Relaxed)))
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

    fn lock(&self) -> MutexGuard<'_, BTreeMap<String, Entrance>> {
        self.entrances.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
