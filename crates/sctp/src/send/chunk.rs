//! [`Chunk`]: what a sender keeps of a chunk of data that has a TSN, and [`View`], which tells what
//! is in flight.

use std::collections::VecDeque;

use anabranch_congestion::Snapshot;
use anabranch_sansio::Time;
use anabranch_wire::{
    Data, FragmentPlace, Fsn, IData, Level, Mid, PacketWriter, Ppid, Ssn, StreamId, Tsn,
};
use bytes::Bytes;

use super::copies::Copies;
use super::flight::Sent;
use super::message::PathPreference;
use super::spurious::Verdict;
use crate::format::{DataFormat, ssn_of};
use crate::path_name::PathSlot;

/// Why a chunk goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Occasion {
    /// For the first time.
    New,
    /// Because it was lost, or as a probe.
    Again,
    /// A second time beside the other.
    Copy,
}

/// What is known of one chunk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ChunkState {
    InFlight,
    /// Acknowledged by a gap block; the cumulative acknowledgement has not reached it.
    Acked,
    /// Marked for retransmission.
    Lost,
    /// RFC 3758 section 3.5, A2: "treat the data chunk as being finally acked and no longer
    /// outstanding".
    Abandoned,
}

#[derive(Debug)]
pub(super) struct Chunk {
    pub(super) payload: Bytes,
    pub(super) stream: StreamId,
    pub(super) mid: Mid,
    pub(super) fsn: Fsn,
    pub(super) ppid: Ppid,
    pub(super) unordered: bool,
    pub(super) beginning: bool,
    pub(super) ending: bool,
    pub(super) format: DataFormat,
    pub(super) state: ChunkState,
    pub(super) path: PathSlot,
    /// Of the latest transmission.
    pub(super) transmission: u64,
    pub(super) sent_at: Time,
    /// What its path had delivered when it was last sent.
    pub(super) snapshot: Snapshot,
    pub(super) transmissions: u32,
    pub(super) misses: u8,
    pub(super) fast_retransmitted: bool,
    /// Whether it was T3-rtx that declared it lost.
    pub(super) timed_out: bool,
    /// Whether it was sent on more than one path, so that an acknowledgement proves none of them.
    pub(super) rerouted: bool,
    /// Where it was declared lost last.
    pub(super) verdict: Option<Verdict>,
    /// Whether the peer reported a duplicate of it before its acknowledgement came.
    pub(super) arrived: bool,
    /// Whether a second copy of it was sent, so that the peer may report it as a duplicate.
    pub(super) copied: bool,
    pub(super) max_retransmissions: Option<u32>,
    /// When the lifetime of its message ends.
    pub(super) expires: Option<Time>,
    /// Whether the lifetime of its message ended while it was on its way or lost: it is not sent
    /// again.
    pub(super) expired: bool,
    pub(super) preference: PathPreference,
    pub(super) level: Level,
    pub(super) sack_immediately: bool,
    pub(super) context: Option<u64>,
}

impl Chunk {
    /// Bytes of the chunk with header and padding.
    pub(super) fn size(&self) -> usize {
        self.format.chunk_size(self.payload.len())
    }

    /// What tells its message from all others that are outstanding.
    pub(super) const fn message(&self) -> (StreamId, bool, u32) {
        (self.stream, self.unordered, self.mid.0)
    }

    /// Whether its message is never given up.
    pub(super) const fn is_reliable(&self) -> bool {
        self.expires.is_none() && self.max_retransmissions.is_none()
    }

    /// What its flags say of its level: what was sent before goes out as urgent (Huseynli 2023,
    /// table 2), and between peers that did not agree on marks the flags are zero.
    pub(super) fn mark(&self, is_marked: bool) -> Level {
        if is_marked && self.transmissions <= 1 { self.level } else { Level::Urgent }
    }

    /// Writes the chunk as it goes on the wire.
    pub(super) fn write(
        &self,
        tsn: Tsn,
        immediate: bool,
        level: Level,
        writer: &mut PacketWriter<'_>,
    ) {
        let &Self { stream, mid, ppid, unordered, beginning, ending, ref payload, .. } = self;
        // RFC 7053 section 5.1: "The application requests to set the I bit of the last DATA chunk
        // of a user message when providing the user message to the SCTP implementation".
        let immediate = immediate || (ending && self.sack_immediately);
        match self.format {
            DataFormat::Data => {
                let ssn = if unordered { Ssn(0) } else { ssn_of(mid) };
                writer.push(&Data {
                    tsn,
                    stream,
                    ssn,
                    ppid,
                    unordered,
                    beginning,
                    ending,
                    immediate,
                    level,
                    payload,
                });
            }
            DataFormat::IData => {
                let fragment = match beginning {
                    true => FragmentPlace::First(ppid),
                    false => FragmentPlace::Later(self.fsn),
                };
                writer.push(&IData {
                    tsn,
                    stream,
                    mid,
                    unordered,
                    fragment,
                    ending,
                    immediate,
                    level,
                    payload,
                });
            }
        }
    }

    /// RFC 7496 section 3.1: "The sender MUST abandon a user message if the number of
    /// retransmissions of any of the DATA chunks of the user message would exceed the provided
    /// limit."
    pub(super) fn is_exhausted(&self) -> bool {
        self.max_retransmissions.is_some_and(|max| self.transmissions > max)
    }

    /// Whether the lifetime of its message is over, though nobody may have looked at it since.
    pub(super) fn has_expired(&self, now: Time) -> bool {
        self.expired || self.expires.is_some_and(|expires| expires <= now)
    }

    pub(super) fn may_be_sent_again(&self) -> bool {
        !self.expired && !self.is_exhausted()
    }
}

/// Chunks and copies, on borrowed parts: to look at them while a flight is borrowed too.
#[derive(Clone, Copy)]
pub(super) struct View<'a> {
    pub(super) chunks: &'a VecDeque<Chunk>,
    /// The extended TSN of the first chunk.
    pub(super) first: u64,
    pub(super) copies: &'a Copies,
}

impl<'a> View<'a> {
    pub(super) fn chunk(&self, sequence: u64) -> Option<&'a Chunk> {
        self.chunks.get(sequence.checked_sub(self.first)? as usize)
    }

    /// When an entry of a flight was sent, if it still stands for something in flight.
    pub(super) fn sent_at(&self, path: PathSlot, sent: Sent) -> Option<Time> {
        let chunk = self.chunk(sent.sequence).filter(|chunk| {
            chunk.state == ChunkState::InFlight
                && chunk.path == path
                && chunk.transmission == sent.transmission
        });
        let copy = || self.copies.of(path, sent).map(|copy| copy.sent_at);
        chunk.map(|chunk| chunk.sent_at).or_else(copy)
    }

    pub(super) fn is_live(&self, path: PathSlot, sent: Sent) -> bool {
        self.sent_at(path, sent).is_some()
    }

    /// Whether the chunk of an entry arrived, and the entry stands for nothing in flight.
    pub(super) fn is_delivered(&self, path: PathSlot, sent: Sent) -> bool {
        let acked = self.chunk(sent.sequence).is_none_or(|chunk| chunk.state == ChunkState::Acked);
        acked && self.copies.of(path, sent).is_none()
    }
}
