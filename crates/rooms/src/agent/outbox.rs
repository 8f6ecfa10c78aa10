//! [`Outbox`]: words and blocks of files that wait for room on a connection.

use std::collections::VecDeque;

use anabranch_call::exchange::{ASKS_MAX, send_behind};
use anabranch_sansio::Time;
use anabranch_session::treatment::MediaClass;
use anabranch_transport::{Connection, Level, Outgoing, PathPreference, SendError};
use bytes::Bytes;

use crate::protocol::PPID_TEXT;

/// Sentences that wait; a page says less.
pub(super) const WORDS_MAX: usize = 256;

/// Words, which go before all else, and blocks of files, which go behind it.
#[derive(Debug, Default)]
pub(super) struct Outbox {
    words: VecDeque<(Bytes, PathPreference)>,
    blocks: VecDeque<Bytes>,
}

impl Outbox {
    /// Takes a sentence, over this path if it stands; false if there is no room.
    pub(super) fn say(&mut self, text: Bytes, path: PathPreference) -> bool {
        let has_room = self.words.len() < WORDS_MAX;
        if has_room {
            self.words.push_back((text, path));
        }
        has_room
    }

    /// Takes a message about a file; one that finds no room is asked for again.
    pub(super) fn push_block(&mut self, message: Bytes) {
        if self.blocks.len() < ASKS_MAX {
            self.blocks.push_back(message);
        }
    }

    /// Hands over what the connection has room for.
    pub(super) fn flush(&mut self, now: Time, connection: &mut dyn Connection) {
        while let Some((payload, path)) = self.words.front() {
            let message = Outgoing {
                level: Level::Urgent,
                path: *path,
                ..Outgoing::new(MediaClass::Control.stream(), PPID_TEXT, payload.clone())
            };
            match connection.send(now, message) {
                Err(SendError::Full) => return,
                // Whatever else stands against it: the other end is gone, and its event follows.
                Ok(()) | Err(_) => self.words.pop_front(),
            };
        }
        send_behind(now, &mut self.blocks, connection);
    }

    /// The next message about a file.
    #[cfg(test)]
    pub(super) fn pop_block(&mut self) -> Option<Bytes> {
        self.blocks.pop_front()
    }
}
