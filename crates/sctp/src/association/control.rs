//! [`ControlQueue`]: control chunks that wait for their packet.

use std::collections::VecDeque;

use anabranch_wire::{ChunkType, EncodeChunk, VerificationTag};

use crate::path_name::PathSlot;

/// Control chunks that may wait. Beyond, what the peer provokes (HEARTBEAT ACK, ERROR) is dropped:
/// it asks again if it matters.
const WAITING_MAX: usize = 64;

/// How a control chunk travels.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bundling {
    /// With others, and with data behind it.
    Bundled,
    /// The same, and with data even before the handshake is done: COOKIE ECHO.
    WithData,
    /// In a packet of its own with this verification tag.
    Alone(VerificationTag),
    /// In a packet of its own, padded to so many bytes: a probe of the path MTU.
    Padded(usize),
}

/// A control chunk, encoded.
#[derive(Debug)]
pub(super) struct ControlChunk {
    pub(super) path: PathSlot,
    pub(super) bundling: Bundling,
    bytes: Vec<u8>,
}

impl ControlChunk {
    /// Whether it is to find out what a path carries.
    pub(super) const fn is_probe(&self) -> bool {
        matches!(self.bundling, Bundling::Padded(_))
    }

    pub(super) fn ty(&self) -> ChunkType {
        ChunkType(self.bytes.first().copied().unwrap_or_default())
    }
}

impl EncodeChunk for ControlChunk {
    fn encoded_len(&self) -> usize {
        self.bytes.len()
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        buf.extend_from_slice(&self.bytes);
    }
}

/// Control chunks in the order they were made.
#[derive(Debug, Default)]
pub(super) struct ControlQueue {
    waiting: VecDeque<ControlChunk>,
}

impl ControlQueue {
    /// Adds a chunk; false if there is no room for it.
    #[must_use]
    pub(super) fn push(
        &mut self,
        path: PathSlot,
        bundling: Bundling,
        chunk: &impl EncodeChunk,
    ) -> bool {
        if self.waiting.len() >= WAITING_MAX {
            return false;
        }
        let mut bytes = Vec::with_capacity(chunk.encoded_len());
        chunk.encode(&mut bytes);
        self.waiting.push_back(ControlChunk { path, bundling, bytes });
        true
    }

    /// Puts a chunk in front of all others, those last in the queue making room for it.
    pub(super) fn push_first(&mut self, path: PathSlot, chunk: &impl EncodeChunk) {
        self.waiting.truncate(WAITING_MAX - 1);
        let mut bytes = Vec::with_capacity(chunk.encoded_len());
        chunk.encode(&mut bytes);
        self.waiting.push_front(ControlChunk { path, bundling: Bundling::Bundled, bytes });
    }

    pub(super) fn front(&self) -> Option<&ControlChunk> {
        self.waiting.front()
    }

    /// Whether a chunk of such a type waits for a path.
    pub(super) fn has_for(&self, path: PathSlot, is_meant: impl Fn(ChunkType) -> bool) -> bool {
        self.waiting.iter().any(|chunk| chunk.path == path && is_meant(chunk.ty()))
    }

    pub(super) fn pop(&mut self) -> Option<ControlChunk> {
        self.waiting.pop_front()
    }

    /// Forgets what was for a path that is gone.
    pub(super) fn forget_path(&mut self, path: PathSlot) {
        self.waiting.retain(|chunk| chunk.path != path);
    }

    pub(super) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Forgets all that waits: a new phase has no use for the chunks of the old one.
    pub(super) fn clear(&mut self) {
        self.waiting.clear();
    }
}

#[cfg(test)]
mod tests {
    use anabranch_wire::HeartbeatAck;

    use super::*;

    #[test]
    fn a_flood_of_heartbeats_is_answered_up_to_a_bound() {
        let mut queue = ControlQueue::default();
        let ack = HeartbeatAck { info: &[0; 40] };
        let taken = (0..1_000).filter(|_| queue.push(PathSlot(0), Bundling::Bundled, &ack)).count();
        assert_eq!(taken, WAITING_MAX);
    }
}
