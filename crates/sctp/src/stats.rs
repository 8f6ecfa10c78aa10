//! Statistics as plain structs. Sizes are in bytes, and counters never go down.

use std::time::Duration;

use anabranch_sansio::FourTuple;
use anabranch_wire::Level;

use crate::dtls::EncryptionStats;
use crate::path_name::{PathId, PathState};
use crate::rate_signal::RateSignal;

/// What an association did and where it stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct AssociationStats {
    /// SACKs sent.
    pub sacks_sent: u64,
    /// SACKs received and used.
    pub sacks_received: u64,
    /// DATA chunks received, duplicates included.
    pub chunks_received: u64,
    /// DATA chunks that had arrived before.
    pub duplicates_received: u64,
    /// DATA chunks dropped because the receive buffer was full.
    pub dropped_no_room: u64,
    /// Whole messages received. One that [made way](LevelStats::dropped) for what matters more
    /// counts again when it comes again.
    pub messages_received: u64,
    /// Payload bytes of those.
    pub bytes_received: u64,
    /// Times that Fast Recovery began.
    pub fast_recoveries: u64,
    /// FORWARD TSN chunks sent.
    pub forward_tsns_sent: u64,
    /// Packets or chunks that broke a rule and were dropped.
    pub malformed: u64,
    /// Packets or chunks dropped because they were not authenticated as they must be (RFC 4895).
    pub unauthenticated: u64,
    /// Packets that were sealed and opened, if the association is encrypted.
    pub encryption: Option<EncryptionStats>,
    /// Control chunks that a full control queue did not take.
    pub control_dropped: u64,
    /// DATA chunks sent and not yet cumulatively acknowledged.
    pub outstanding_chunks: usize,
    /// Bytes of DATA chunks in flight on all paths.
    pub in_flight: usize,
    /// Bytes that wait in the send queue.
    pub queued: usize,
    /// What the peer's receive buffer can still take.
    pub peer_window: usize,
    /// Bytes that our receive buffer holds, with what each message costs beside.
    pub held: usize,
    /// What waits for the user and was read, by level, the most important one first; zeros where
    /// [level marks](crate::ExtensionConfig::level_marks) were not agreed upon.
    pub levels: [LevelStats; Level::ALL.len()],
    /// What the association can carry now, once some data was sent.
    pub rate: Option<RateSignal>,
    /// The counters of all streams, added up.
    pub streams: StreamStats,
    /// Each path.
    pub paths: Vec<PathReport>,
    /// The counters of all paths added up, those included that are gone.
    pub path_totals: PathStats,
}

/// Received messages of one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LevelStats {
    /// Messages that can be read.
    pub waiting: usize,
    /// Payload bytes of those.
    pub waiting_bytes: usize,
    /// Messages that were read.
    pub read: u64,
    /// Messages that arrived and were dropped for more important ones, so that the peer has to send
    /// them again or give them up.
    pub dropped: u64,
    /// How long half of those that were read had waited at most, to a fifth.
    pub delay_p50: Duration,
    /// The same of 99 in 100.
    pub delay_p99: Duration,
}

/// What was sent on one stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// Messages taken from the user.
    pub messages_queued: u64,
    /// Payload bytes of those.
    pub bytes_queued: u64,
    /// Messages whose last fragment was sent for the first time.
    pub messages_sent: u64,
    /// DATA chunks sent for the first time.
    pub chunks_sent: u64,
    /// Payload bytes of those.
    pub bytes_sent: u64,
    /// DATA chunks sent again.
    pub chunks_retransmitted: u64,
    /// Payload bytes of those.
    pub bytes_retransmitted: u64,
    /// DATA chunks sent a second time on purpose: over two paths, or as a last chance.
    pub chunks_copied: u64,
    /// Payload bytes of those.
    pub bytes_copied: u64,
    /// Messages whose lifetime ended before they were begun.
    pub abandoned_unsent: u64,
    /// Messages whose lifetime ended after they were begun.
    pub abandoned_expired: u64,
    /// Messages that were retransmitted as often as allowed.
    pub abandoned_retransmissions: u64,
}

impl StreamStats {
    /// All abandoned messages.
    #[must_use]
    pub const fn abandoned(&self) -> u64 {
        self.abandoned_unsent + self.abandoned_expired + self.abandoned_retransmissions
    }

    /// Adds the counters of another stream, or of the same one in another association.
    pub const fn add(&mut self, other: &Self) {
        self.messages_queued += other.messages_queued;
        self.bytes_queued += other.bytes_queued;
        self.messages_sent += other.messages_sent;
        self.chunks_sent += other.chunks_sent;
        self.bytes_sent += other.bytes_sent;
        self.chunks_retransmitted += other.chunks_retransmitted;
        self.bytes_retransmitted += other.bytes_retransmitted;
        self.chunks_copied += other.chunks_copied;
        self.bytes_copied += other.bytes_copied;
        self.abandoned_unsent += other.abandoned_unsent;
        self.abandoned_expired += other.abandoned_expired;
        self.abandoned_retransmissions += other.abandoned_retransmissions;
    }
}

/// Counters of one path.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct PathStats {
    /// SCTP packets sent.
    pub packets_sent: u64,
    /// Their bytes, from the common header on.
    pub bytes_sent: u64,
    /// SCTP packets received.
    pub packets_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// DATA chunks sent, retransmissions and second copies included.
    pub chunks_sent: u64,
    /// DATA chunks that were retransmissions.
    pub chunks_retransmitted: u64,
    /// DATA chunks that were sent elsewhere, or a moment ago, and went out here beside that.
    pub chunks_copied: u64,
    /// DATA chunks declared lost.
    pub chunks_lost: u64,
    /// DATA chunks declared lost and sent again that had arrived after all.
    pub spurious_retransmissions: u64,
    /// Reductions of the congestion window taken back, because what they were based on had arrived.
    pub reductions_undone: u64,
    /// Probes of a silent path (RFC 8985 section 7).
    pub probes_sent: u64,
    /// Bytes of DATA chunks acknowledged.
    pub bytes_acked: u64,
    /// T3-rtx expirations.
    pub timeouts: u64,
    /// Heartbeats sent.
    pub heartbeats_sent: u64,
    /// Heartbeats answered.
    pub heartbeats_acked: u64,
}

impl PathStats {
    /// Adds the counters of another path.
    pub const fn add(&mut self, other: &Self) {
        self.packets_sent += other.packets_sent;
        self.bytes_sent += other.bytes_sent;
        self.packets_received += other.packets_received;
        self.bytes_received += other.bytes_received;
        self.chunks_sent += other.chunks_sent;
        self.chunks_retransmitted += other.chunks_retransmitted;
        self.chunks_copied += other.chunks_copied;
        self.chunks_lost += other.chunks_lost;
        self.spurious_retransmissions += other.spurious_retransmissions;
        self.reductions_undone += other.reductions_undone;
        self.probes_sent += other.probes_sent;
        self.bytes_acked += other.bytes_acked;
        self.timeouts += other.timeouts;
        self.heartbeats_sent += other.heartbeats_sent;
        self.heartbeats_acked += other.heartbeats_acked;
    }
}

/// A path as it is now.
#[derive(Debug, Clone, PartialEq)]
pub struct PathReport {
    /// Which path.
    pub id: PathId,
    /// Its addresses.
    pub tuple: FourTuple,
    /// Whether it can carry data.
    pub state: PathState,
    /// Whether the user wants it; else the peer announced it, or something came over it.
    pub is_wanted: bool,
    /// Whether data takes it only while no other path stands.
    pub is_spared: bool,
    /// Whether it is the primary that was chosen.
    pub is_primary: bool,
    /// Whether data takes it at the moment.
    pub is_current: bool,
    /// Smoothed round-trip time, after the first sample.
    pub srtt: Option<Duration>,
    /// Its variation.
    pub rttvar: Option<Duration>,
    /// The last sample.
    pub latest_rtt: Option<Duration>,
    /// The smallest sample.
    pub lowest_rtt: Option<Duration>,
    /// The retransmission timeout, back-off included.
    pub rto: Duration,
    /// The congestion window.
    pub window: usize,
    /// The slow-start threshold, once there is one.
    pub ssthresh: Option<usize>,
    /// Bytes of DATA chunks in flight.
    pub in_flight: usize,
    /// Consecutive errors.
    pub error_count: u32,
    /// Counters.
    pub counters: PathStats,
}

/// What an endpoint did with packets that belong to no association.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct EndpointStats {
    /// Datagrams that are no SCTP packets, or have a wrong checksum.
    pub malformed: u64,
    /// Packets that belong to no association.
    pub out_of_the_blue: u64,
    /// INIT chunks answered with INIT ACK.
    pub init_acks_sent: u64,
    /// INIT chunks refused with ABORT.
    pub inits_refused: u64,
    /// Cookies that were forged, damaged or of another endpoint.
    pub cookies_forged: u64,
    /// Calls refused because of a key that the caller did not have.
    pub calls_unauthenticated: u64,
    /// Cookies that were too old.
    pub cookies_stale: u64,
    /// Cookies that came again after their association had ended.
    pub cookies_replayed: u64,
    /// Answers withheld because of the limit on their rate.
    pub replies_suppressed: u64,
    /// Cookies that were not used because of the limits on how often keys are agreed on: their
    /// callers send them again.
    pub key_agreements_deferred: u64,
}
