//! [`Sessions`]: connections of browsers that can be ended by HTTP.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch_rtc::ConnectionId;

use super::random_hex;

/// Those of the last ones that came.
const SESSIONS_MAX: usize = 4_096;

/// Random bytes of a session's name.
const NAME_BYTES: usize = 16;

/// Names that nobody guesses, each for a connection of a browser.
#[derive(Debug, Default)]
pub(crate) struct Sessions(Mutex<VecDeque<(String, ConnectionId)>>);

impl Sessions {
    /// The name of a connection. Without randomness it is empty: nobody can then end the session by
    /// HTTP; the browser still can.
    pub(crate) fn name(&self, id: ConnectionId) -> String {
        let name = match random_hex::<NAME_BYTES>() {
            Ok(name) => name,
            Err(error) => {
                tracing::warn!(%error, "a session has no name");
                return String::new();
            }
        };
        let mut sessions = self.lock();
        if sessions.len() >= SESSIONS_MAX {
            sessions.pop_front();
        }
        sessions.push_back((name.clone(), id));
        name
    }

    /// The connection of this name.
    pub(crate) fn find(&self, name: &str) -> Option<ConnectionId> {
        let sessions = self.lock();
        sessions.iter().find(|(known, _)| known == name).map(|(_, id)| *id)
    }

    /// The connection of this name, which is forgotten.
    pub(crate) fn take(&self, name: &str) -> Option<ConnectionId> {
        let mut sessions = self.lock();
        let place = sessions.iter().position(|(known, _)| known == name)?;
        sessions.remove(place).map(|(_, id)| id)
    }

    fn lock(&self) -> MutexGuard<'_, VecDeque<(String, ConnectionId)>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
