//! [`FileQueue`]: what is said to somebody of files, behind all else.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_transport::{Connection, Outgoing, SendError, StreamId};
use bytes::Bytes;

use super::PPID_BINARY;
use super::blocks::{BLOCKS_WANTED_MAX, BlockId, FILES_STREAM, FileMessage, FileNumber};

/// A block that did not come may be asked for again after so long.
const WANT_AGAIN: Duration = Duration::from_secs(2);

/// Blocks that somebody may be asked for before it is told: all that 15 others may wait for.
pub const ASKS_MAX: usize = 15 * BLOCKS_WANTED_MAX;

/// Bytes that wait in a connection, at which no file adds to them.
const WAITING_MAX: usize = 32 << 10;

/// What is said to somebody of files.
#[derive(Debug, Default)]
pub struct FileQueue {
    /// Blocks of its own files that others want.
    asks: VecDeque<Bytes>,
    /// Blocks that it wanted, and that are there.
    blocks: VecDeque<Bytes>,
    /// Blocks that it wants, and that are not: since when.
    wanted: BTreeMap<BlockId, Time>,
}

impl FileQueue {
    /// It wants a block. False if it is asked for already, or waits for too many.
    pub fn want(&mut self, now: Time, block: BlockId) -> bool {
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

    /// Somebody wants a block of its own. One that it is not told of is asked for again.
    pub fn ask(&mut self, message: &FileMessage) {
        if self.asks.len() < ASKS_MAX {
            self.asks.push_back(message.encode());
        }
    }

    /// Whether a block is asked for that is not there.
    #[must_use]
    pub fn wants(&self, block: BlockId) -> bool {
        self.wanted.contains_key(&block)
    }

    /// A block is there. False if it is not wanted.
    pub fn bring(&mut self, block: BlockId, message: &FileMessage) -> bool {
        let is_wanted = self.wanted.remove(&block).is_some();
        if is_wanted {
            self.blocks.push_back(message.encode());
        }
        is_wanted
    }

    /// A file is there no more.
    pub fn forget(&mut self, file: FileNumber) {
        self.wanted.retain(|block, _| block.file != file);
    }

    /// A block that was wanted and is there, for who takes it otherwise than over a connection.
    pub fn next_block(&mut self) -> Option<Bytes> {
        self.blocks.pop_front()
    }

    /// Whether nothing waits to be sent.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.asks.is_empty() && self.blocks.is_empty()
    }

    /// Hands over what waits, little at a time, blocks in parts.
    pub fn send_in_parts(&mut self, now: Time, connection: &mut dyn Connection) {
        for queue in [&mut self.asks, &mut self.blocks] {
            if !send_parts(now, queue, connection) {
                return;
            }
        }
    }

    /// Hands over what waits, little at a time.
    pub fn send(&mut self, now: Time, connection: &mut dyn Connection) {
        for queue in [&mut self.asks, &mut self.blocks] {
            if !send_behind(now, queue, connection) {
                return;
            }
        }
    }
}

/// Hands over what waits of files while nearly nothing else does. False if there is no room for it.
pub fn send_behind(
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

/// Hands over the same in parts of one packet.
fn send_parts(now: Time, queue: &mut VecDeque<Bytes>, connection: &mut dyn Connection) -> bool {
    while connection.queued() < WAITING_MAX
        && let Some(message) = queue.pop_front()
    {
        let (part, rest) = FileMessage::first_part(&message);
        let outgoing = Outgoing::new(StreamId(FILES_STREAM), PPID_BINARY, part);
        if connection.send(now, outgoing) == Err(SendError::Full) {
            queue.push_front(message);
            return false;
        }
        rest.into_iter().for_each(|rest| queue.push_front(rest));
    }
    true
}
