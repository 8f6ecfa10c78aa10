//! [`Packetizer`]: transport stream packets in, [`Piece`]s out, no later than [`HOLD`] after.
//!
//! Packets of one track and one access unit share pieces, so that a lost piece hits one frame of
//! one track. A piece leaves when its access unit is known to end, when it is full, or when its
//! first packet was held for [`HOLD`]: a picture that takes 40 ms to arrive leaves in eight pieces,
//! not 40 ms late. An access unit is what one PES packet carries, a section what starts in one
//! packet. What a picture is worth is found out from its first packets, see
//! [`Classifier`](crate::codec::Classifier).

mod notice;
mod track;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};

pub use notice::Notice;

use crate::piece::{MAX_HEADER, MAX_MESSAGE};
use crate::ts::{PACKET_LEN, Packet, Pid, Role, Tables};
use crate::{PerClass, Piece};
use track::{Flow, TrackState};

/// The longest that a packet waits for others of its access unit.
pub const HOLD: Duration = Duration::from_millis(5);

/// A stream without a program association table for so long has none: ETSI TR 101 290 section 5.2.1
/// wants one every half second.
const TABLES_PATIENCE: Duration = Duration::from_secs(2);

/// The shortest limit on pieces: one packet behind any header fits.
pub const PIECE_LEN_MIN: usize = PACKET_LEN + MAX_HEADER;

/// What a [`Packetizer`] did.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct PacketizerStats {
    /// Packets taken in.
    pub packets: u64,
    /// Pieces made, by class.
    pub pieces: PerClass<u64>,
    /// Bytes of transport stream packets in those pieces, by class. Null packets count though their
    /// bytes are not sent.
    pub bytes: PerClass<u64>,
    /// Bytes of the pieces' headers.
    pub header_bytes: u64,
    /// Access units begun.
    pub units: u64,
    /// Times that the input skipped a continuity counter: it had lost packets before it came here.
    pub continuity_errors: u64,
    /// Packets that the input itself marks as damaged.
    pub damaged_packets: u64,
    /// Table sections whose CRC was wrong.
    pub damaged_sections: u64,
}

/// Cuts a transport stream into pieces along its media.
#[derive(Debug)]
pub struct Packetizer {
    session: u16,
    piece_len_max: usize,
    position: u64,
    tables: Tables,
    table_changes: u64,
    tracks: BTreeMap<(Pid, Lane), TrackState>,
    /// Nothing is held until before this.
    next_due: Time,
    pieces: VecDeque<Piece>,
    notices: VecDeque<Notice>,
    /// When tables are no longer waited for, from the first packet until they come.
    tables_due: Option<Time>,
    stats: PacketizerStats,
}

impl Packetizer {
    /// A packetizer for one start of a sender. `session` must differ from that of the last start:
    /// draw it at random.
    #[must_use]
    pub fn new(session: u16) -> Self {
        Self {
            session,
            piece_len_max: MAX_MESSAGE,
            position: 0,
            tables: Tables::default(),
            table_changes: 0,
            tracks: BTreeMap::new(),
            next_due: Time::MAX,
            pieces: VecDeque::new(),
            notices: VecDeque::new(),
            tables_due: None,
            stats: PacketizerStats::default(),
        }
    }

    /// Lets pieces have at most `len` bytes, header included: from [`PIECE_LEN_MIN`] to
    /// [`MAX_MESSAGE`], which they have from the start. Pieces that are open may have more.
    pub const fn set_piece_len_max(&mut self, len: usize) {
        self.piece_len_max = if len < PIECE_LEN_MIN {
            PIECE_LEN_MIN
        } else if len > MAX_MESSAGE {
            MAX_MESSAGE
        } else {
            len
        };
    }

    /// Takes the next packet of the source, which came (or, read from a file, is due) at `at`.
    /// Times must not fall.
    ///
    /// Invalidates the answers of all polls; drain [`Packetizer::poll_piece`] after it.
    pub fn handle_packet(&mut self, at: Time, packet: &Packet) {
        self.handle_timeout(at);
        let position = self.position;
        if position == 0 {
            self.tables_due = Some(at + TABLES_PATIENCE);
        }
        self.position += 1;
        self.stats.packets += 1;
        self.stats.damaged_packets += u64::from(packet.transport_error());
        self.tables.handle_packet(packet);
        self.stats.damaged_sections = self.tables.damaged_sections();
        if self.tables.changes() != self.table_changes {
            self.on_tables_changed();
        }
        self.look_for_tables(at);
        let pid = packet.pid();
        let lane = Lane::of(packet);
        let track = self
            .tracks
            .entry((pid, lane))
            .or_insert_with(|| TrackState::new(pid, flow(lane, self.tables.role(pid))));
        self.stats.continuity_errors += u64::from(track.is_continuity_error(packet));
        let first_time = track.notice(packet, self.tables.are_complete());
        self.notices.extend(first_time);
        let mut out = Output {
            session: self.session,
            piece_len_max: self.piece_len_max,
            pieces: &mut self.pieces,
            stats: &mut self.stats,
        };
        track.handle_packet(position, at, packet, &mut out);
        self.next_due = track.held_until().map_or(self.next_due, |due| due.min(self.next_due));
    }

    /// Lets go of what was held long enough. Harmless at any time.
    ///
    /// Invalidates the answers of all polls.
    pub fn handle_timeout(&mut self, now: Time) {
        if now < self.next_due {
            return;
        }
        self.flush_where(|track| track.held_until().is_some_and(|due| due <= now));
        let held = self.tracks.values().filter_map(TrackState::held_until);
        self.next_due = held.min().unwrap_or(Time::MAX);
    }

    /// Lets go of what is held of tables: who takes pieces as they leave, and not by their places,
    /// cannot tell what a track is before it has them.
    ///
    /// Invalidates the answers of all polls.
    pub fn flush_tables(&mut self) {
        self.flush_where(TrackState::is_of_tables);
    }

    /// The source has ended: lets go of everything.
    pub fn finish(&mut self) {
        self.look_for_tables(Time::MAX);
        self.flush_where(|_| true);
    }

    /// The next piece to send.
    #[must_use]
    pub fn poll_piece(&mut self) -> Option<Piece> {
        self.pieces.pop_front()
    }

    /// When [`Packetizer::handle_timeout`] must be called next.
    #[must_use]
    pub fn poll_timeout(&self) -> Option<Wakeup> {
        let at = self.tracks.values().filter_map(TrackState::held_until).min()?;
        Some(Wakeup { at, why: "packets held for their access unit" })
    }

    /// The next thing that a user should know about the source.
    #[must_use]
    pub fn poll_notice(&mut self) -> Option<Notice> {
        self.notices.pop_front()
    }

    /// What was done so far.
    #[must_use]
    pub const fn stats(&self) -> PacketizerStats {
        self.stats
    }

    /// What the tables of the source say.
    #[must_use]
    pub const fn tables(&self) -> &Tables {
        &self.tables
    }

    /// Tracks that the tables now describe otherwise start anew with their next packet.
    fn on_tables_changed(&mut self) {
        self.table_changes = self.tables.changes();
        for ((pid, lane), track) in &mut self.tracks {
            track.set_flow(flow(*lane, self.tables.role(*pid)));
        }
    }

    fn look_for_tables(&mut self, now: Time) {
        let Some(due) = self.tables_due else { return };
        let is_there = self.tables.programs().is_some();
        if is_there || now >= due {
            self.tables_due = None;
            self.notices.extend((!is_there).then_some(Notice::NoTables));
        }
    }

    fn flush_where(&mut self, condition: impl Fn(&TrackState) -> bool) {
        let mut out = Output {
            session: self.session,
            piece_len_max: self.piece_len_max,
            pieces: &mut self.pieces,
            stats: &mut self.stats,
        };
        for track in self.tracks.values_mut().filter(|track| condition(track)) {
            track.flush(false, &mut out);
        }
    }
}

/// What of a PID shares pieces.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
enum Lane {
    /// What belongs to access units and sections.
    Media,
    /// Packets without a payload: they carry the clock at a constant rate.
    Clock,
}

impl Lane {
    const fn of(packet: &Packet) -> Self {
        if packet.has_payload() { Self::Media } else { Self::Clock }
    }
}

const fn flow(lane: Lane, role: Role) -> Flow {
    match (lane, role) {
        (_, Role::Null) => Flow::Padding,
        (Lane::Clock, _) | (_, Role::Tables | Role::Clock) => Flow::Tables,
        (_, Role::Unlisted) => Flow::Unlisted,
        (_, Role::Stream(codec)) => Flow::Stream(codec),
    }
}

/// Where tracks put their pieces.
struct Output<'a> {
    session: u16,
    piece_len_max: usize,
    pieces: &'a mut VecDeque<Piece>,
    stats: &'a mut PacketizerStats,
}

impl Output<'_> {
    fn push(&mut self, piece: Piece) {
        let class = piece.header.class;
        *self.stats.pieces.of_mut(class) += 1;
        *self.stats.bytes.of_mut(class) += piece.header.items() * PACKET_LEN as u64;
        self.stats.header_bytes += piece.header.encoded_len() as u64;
        self.pieces.push_back(piece);
    }
}

#[cfg(test)]
mod tests;
