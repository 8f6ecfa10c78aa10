//! [`Elementary`]: the access units of one track out of its packets.

use anabranch_sansio::Time;

use crate::Class;
use crate::playout::Released;
use crate::ts::{Packet, PesHeader, Pid};

/// A unit has at most so many bytes: a page takes no longer messages.
const UNIT_BYTES_MAX: usize = 4 << 20;

/// Continuity counters have four bits (ISO/IEC 13818-1 section 2.4.3.3).
const COUNTERS: u8 = 16;

/// One track: a PID of the stream.
#[derive(Debug)]
pub(super) struct Elementary {
    pid: Pid,
    open: Option<PesUnit>,
    last_counter: Option<u8>,
}

/// What one PES packet held: a picture, or some frames of sound.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct PesUnit {
    /// Number of the unit in its track.
    pub(super) frame: u64,
    pub(super) class: Class,
    /// When to show it: 90 kHz, 33 bits.
    pub(super) pts: Option<u64>,
    /// When to decode it, if that is earlier.
    pub(super) dts: Option<u64>,
    /// When its last packet was due.
    pub(super) due: Time,
    pub(super) data: Vec<u8>,
    /// Nothing of it is missing.
    pub(super) is_whole: bool,
    /// Bytes that are still to come, if that was said.
    left: Option<usize>,
    /// Number of the last piece in the unit.
    index: u64,
}

impl Elementary {
    pub(super) const fn new(pid: Pid) -> Self {
        Self { pid, open: None, last_counter: None }
    }

    pub(super) const fn pid(&self) -> Pid {
        self.pid
    }

    /// Takes a packet of this track; answers with the units that it ends.
    pub(super) fn push(&mut self, packet: &Packet, from: &Released) -> [Option<PesUnit>; 2] {
        if !packet.has_payload() || packet.is_scrambled() || self.is_repeated(packet) {
            return [None, None];
        }
        let before = if packet.payload_unit_start() { self.begin(packet, from) } else { None };
        if !packet.payload_unit_start()
            && let Some(open) = &mut self.open
        {
            open.extend(packet.payload(), from);
        }
        let is_complete = self.open.as_ref().is_some_and(|open| open.left == Some(0));
        [before, if is_complete { self.open.take() } else { None }]
    }

    /// The unit has ended.
    pub(super) fn finish(&mut self) -> Option<PesUnit> {
        let mut unit = self.open.take()?;
        unit.is_whole &= unit.left.is_none_or(|left| left == 0);
        Some(unit)
    }

    fn begin(&mut self, packet: &Packet, from: &Released) -> Option<PesUnit> {
        let before = self.finish();
        let payload = packet.payload();
        let Some(header) = PesHeader::parse(payload) else { return before };
        let data = payload.get(header.header_len..);
        self.open = Some(PesUnit {
            frame: from.frame,
            class: from.class,
            pts: header.pts,
            dts: header.dts,
            due: from.due,
            data: data.unwrap_or_default().to_vec(),
            // A header that goes on in the next packet is not followed.
            is_whole: data.is_some(),
            left: header.packet_len.map(|len| len.saturating_sub(payload.len())),
            index: from.index,
        });
        before
    }

    /// ISO/IEC 13818-1 section 2.4.3.3: a packet may be sent twice, with the same counter. One that
    /// skips shows that packets are missing.
    fn is_repeated(&mut self, packet: &Packet) -> bool {
        let counter = packet.continuity_counter();
        let before = self.last_counter.replace(counter);
        let Some(before) = before.filter(|_| !packet.discontinuity()) else { return false };
        if before == counter {
            return true;
        }
        if (before + 1) % COUNTERS != counter
            && let Some(open) = &mut self.open
        {
            open.is_whole = false;
        }
        false
    }
}

impl PesUnit {
    fn extend(&mut self, payload: &[u8], from: &Released) {
        self.due = from.due;
        // Sixteen packets that are missing do not show in the continuity counters.
        self.is_whole &= from.frame == self.frame && from.index <= self.index + 1;
        self.index = from.index;
        let payload = match self.left {
            Some(left) => payload.get(..left.min(payload.len())).unwrap_or_default(),
            None => payload,
        };
        if self.data.len() + payload.len() > UNIT_BYTES_MAX {
            self.is_whole = false;
            return;
        }
        self.data.extend_from_slice(payload);
        self.left = self.left.map(|left| left.saturating_sub(payload.len()));
    }
}
