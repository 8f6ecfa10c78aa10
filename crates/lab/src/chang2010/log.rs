//! [`Log`]: what an end of a call saw.

use anabranch_sansio::Time;

use super::media::{Kind, Part};

/// What arrived of a frame.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Arrived {
    parts: u16,
    /// When it was taken, and when it was whole.
    pub(super) whole: Option<(Time, Time)>,
    /// Of its last part.
    pub(super) path: usize,
}

/// What an end of a call saw.
#[derive(Debug, Default)]
pub(super) struct Log {
    frames: [Vec<Arrived>; 2],
    /// Frames that this end took.
    pub(super) taken: [u32; 2],
    /// When this end began to send over another path.
    pub(super) switched: Vec<Time>,
    /// When it warned its user and gave the call up.
    pub(super) ended: Option<Time>,
    /// Handoff packets that arrived.
    pub(super) handoff_packets: u32,
    /// Bytes of messages that arrived.
    pub(super) bytes: [u64; 2],
}

impl Log {
    /// Takes a message that came over this path.
    pub(super) fn take(&mut self, now: Time, part: Part, len: usize, path: usize) {
        let kind = part.kind.index();
        self.bytes[kind] += len as u64;
        let (frames, number) = (&mut self.frames[kind], part.frame as usize);
        if frames.len() <= number {
            frames.resize(number + 1, Arrived::default());
        }
        let frame = &mut frames[number];
        frame.parts += 1;
        frame.path = path;
        if frame.parts == part.parts {
            frame.whole = Some((part.taken, now));
        }
    }

    /// By number.
    pub(super) fn frame(&self, kind: Kind, number: u32) -> Option<Arrived> {
        self.frames[kind.index()].get(number as usize).copied()
    }

    /// When each whole frame was taken and when it was there, in the order of the frames.
    pub(super) fn whole(&self, kind: Kind) -> impl Iterator<Item = (Time, Time)> + '_ {
        self.frames[kind.index()].iter().filter_map(|frame| frame.whole)
    }

    /// The path of the last message of video.
    pub(super) fn path_in_use(&self) -> usize {
        self.frames[Kind::Video.index()].last().map_or(0, |frame| frame.path)
    }
}
