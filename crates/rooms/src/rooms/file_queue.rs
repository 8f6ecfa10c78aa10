//! [`FileQueue`]: what is said to a guest of files, behind all else.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_transport::{Connection, Outgoing, SendError, StreamId};
use bytes::Bytes;

use super::MEMBERS_MAX;
use crate::protocol::{
    BLOCKS_WANTED_MAX, BlockId, FILES_STREAM, FileMessage, FileNumber, PPID_BINARY,
};

/// A block that did not come may be asked for again after so long.
const WANT_AGAIN: Duration = Duration::from_secs(2);

/// Blocks that a guest may be asked for before it is told: all that all others may wait for.
pub(crate) const ASKS_MAX: usize = (MEMBERS_MAX - 1) * BLOCKS_WANTED_MAX;

/// Bytes that wait in a guest's connection, at which no file adds to them.
const WAITING_MAX: usize = 32 << 10;

/// What is said to a guest of files.
#[derive(Debug, Default)]
pub(super) struct FileQueue {
    /// Blocks of its own files that others want.
    asks: VecDeque<Bytes>,
    /// Blocks that it wanted, and that are there.
    blocks: VecDeque<Bytes>,
    /// Blocks that it wants, and that are not: since when.
    wanted: BTreeMap<BlockId, Time>,
}

impl FileQueue {
    /// The guest wants a block. False if it is asked for already, or waits for too many.
    pub(super) fn want(&mut self, now: Time, block: BlockId) -> bool {
        let is_recent = |asked: &Time| now - *asked < WANT_AGAIN;
        if self.wanted.get(&block).is_some_and(is_recent) {
            return false;
        }
        self.wanted.remove(&block);
        if self.wanted.len() + self.blocks.len() >= BLOCKS_WANTED_MAX {
            // Those that do not come are in the way of no others.
            self.wanted.retain(|_, asked| is_recent(asked));
        }
        let has_room = self.wanted.len() + self.blocks.len() < BLOCKS_WANTED_MAX;
        if has_room {
            self.wanted.insert(block, now);
        }
        has_room
    }

    /// Somebody wants a block of the guest's. One that it is not told of is asked for again.
    pub(super) fn ask(&mut self, message: &FileMessage) {
        if self.asks.len() < ASKS_MAX {
            self.asks.push_back(message.encode());
        }
    }

    /// A block is there. False if the guest does not want it.
    pub(super) fn bring(&mut self, block: BlockId, message: &FileMessage) -> bool {
        let is_wanted = self.wanted.remove(&block).is_some();
        if is_wanted {
            self.blocks.push_back(message.encode());
        }
        is_wanted
    }

    /// A file is there no more.
    pub(super) fn forget(&mut self, file: FileNumber) {
        self.wanted.retain(|block, _| block.file != file);
    }

    /// Whether nothing waits to be sent.
    pub(super) fn is_empty(&self) -> bool {
        self.asks.is_empty() && self.blocks.is_empty()
    }

    /// Hands over what waits, little at a time.
    pub(super) fn send(&mut self, now: Time, connection: &mut dyn Connection) {
        for queue in [&mut self.asks, &mut self.blocks] {
            if !send_behind(now, queue, connection) {
                return;
            }
        }
    }
}

/// Hands over what waits of files while nearly nothing else does. False if there is no room for it.
pub(crate) fn send_behind(
    now: Time,
    queue: &mut VecDeque<Bytes>,
    connection: &mut dyn Connection,
) -> bool {
    while connection.queued() < WAITING_MAX
        && let Some(payload) = queue.pop_front()
    {
        let message = Outgoing::new(StreamId(FILES_STREAM), PPID_BINARY, payload.clone());
        if connection.send(now, message) == Err(SendError::Full) {
            queue.push_front(payload);
            return false;
        }
    }
    true
}
