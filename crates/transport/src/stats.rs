//! Statistics as plain structs. Sizes are in bytes, and counters never go down.

use std::ops::Add;
use std::time::Duration;

use anabranch_sansio::{FourTuple, PathId, Rate};

use crate::PathState;

/// What a connection carries.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSignal {
    /// New payload in a second, without headers and without what is sent again or twice: what is
    /// left for the application.
    pub carries: Rate,
    /// Whether more may be possible: nothing waited, so that the paths were not full.
    pub is_at_least: bool,
    /// Bytes that wait to be sent for the first time.
    pub queued: usize,
}

/// What a connection did and where it stands.
#[derive(Debug, Clone, Default, PartialEq)]
pub struct ConnectionStats {
    /// Bytes that wait to be sent for the first time.
    pub queued: usize,
    /// Bytes in flight on all paths.
    pub in_flight: usize,
    /// What the peer has room for.
    pub peer_window: usize,
    /// Times that losses made a window smaller.
    pub recoveries: u64,
    /// What the connection carries now, once some data was sent.
    pub rate: Option<RateSignal>,
    /// Whether what may be given up is sent once.
    pub sends_once: bool,
    /// Each path.
    pub paths: Vec<PathReport>,
    /// What was received, by level, the most important one first; nothing where messages have no
    /// levels.
    pub levels: Vec<LevelStats>,
}

/// Received messages of one level.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct LevelStats {
    /// Messages that wait to be read.
    pub waiting: usize,
    /// Payload bytes of those.
    pub waiting_bytes: usize,
    /// Messages that were read.
    pub read: u64,
    /// Messages that made way for more important ones.
    pub dropped: u64,
    /// How long half of those that were read had waited at most, to a fifth.
    pub delay_p50: Duration,
    /// The same of 99 in 100.
    pub delay_p99: Duration,
}

/// What was sent on one stream. A chunk is what a message is cut into: SCTP's DATA chunk.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamStats {
    /// Messages taken from the user.
    pub messages_queued: u64,
    /// Payload bytes of those.
    pub bytes_queued: u64,
    /// Messages whose last chunk was sent for the first time.
    pub messages_sent: u64,
    /// Payload bytes sent for the first time.
    pub bytes_sent: u64,
    /// Chunks sent again.
    pub chunks_retransmitted: u64,
    /// Payload bytes of those.
    pub bytes_retransmitted: u64,
    /// Chunks sent a second time on purpose: over two paths, or as a last chance.
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

    /// Adds the counters of another stream, or of the same one in another connection.
    pub const fn add(&mut self, other: &Self) {
        self.messages_queued += other.messages_queued;
        self.bytes_queued += other.bytes_queued;
        self.messages_sent += other.messages_sent;
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
    /// The retransmission timeout, back-off included.
    pub rto: Duration,
    /// The congestion window.
    pub window: usize,
    /// Bytes in flight.
    pub in_flight: usize,
    /// Packets sent.
    pub packets_sent: u64,
    /// Their bytes, without IP's and UDP's headers.
    pub bytes_sent: u64,
    /// Packets received.
    pub packets_received: u64,
    /// Their bytes.
    pub bytes_received: u64,
    /// Chunks sent, retransmissions and second copies included.
    pub chunks_sent: u64,
    /// Chunks that were retransmissions.
    pub chunks_retransmitted: u64,
    /// Chunks that were sent elsewhere, or a moment ago, and went out here beside that.
    pub chunks_copied: u64,
    /// Chunks declared lost.
    pub chunks_lost: u64,
    /// Those of them that turned out to have arrived: they had been overtaken or held up.
    pub chunks_lost_in_error: u64,
    /// Retransmission timeouts.
    pub timeouts: u64,
}

impl PathReport {
    /// A path of which nothing is known yet but that data takes it.
    #[must_use]
    pub const fn new(id: PathId, tuple: FourTuple) -> Self {
        Self {
            id,
            tuple,
            state: PathState::Active,
            is_wanted: true,
            is_spared: false,
            is_primary: true,
            is_current: true,
            srtt: None,
            rttvar: None,
            rto: Duration::ZERO,
            window: 0,
            in_flight: 0,
            packets_sent: 0,
            bytes_sent: 0,
            packets_received: 0,
            bytes_received: 0,
            chunks_sent: 0,
            chunks_retransmitted: 0,
            chunks_copied: 0,
            chunks_lost: 0,
            chunks_lost_in_error: 0,
            timeouts: 0,
        }
    }

    /// Chunks that the network lost, as far as is known by now.
    #[must_use]
    pub const fn chunks_missing(&self) -> u64 {
        self.chunks_lost.saturating_sub(self.chunks_lost_in_error)
    }

    /// The share of chunks that the network lost, 0 to 1; `None` if none was sent.
    #[must_use]
    pub fn loss(&self) -> Option<f64> {
        (self.chunks_sent > 0).then(|| self.chunks_missing() as f64 / self.chunks_sent as f64)
    }
}

impl ConnectionStats {
    /// The paths that are shown to people: those that somebody here asked for, or that were found
    /// to work. What a peer announced and what never answered is none.
    pub fn shown_paths(&self) -> impl Iterator<Item = &PathReport> {
        let is_shown = |path: &&PathReport| path.is_wanted || path.state != PathState::Unconfirmed;
        self.paths.iter().filter(is_shown)
    }
}

/// What a transport did with datagrams that belong to no connection.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StrangerStats {
    /// Datagrams that are none of this transport's, or damaged.
    pub malformed: u64,
    /// Packets of no connection.
    pub unknown: u64,
    /// Calls that were answered, each without keeping state.
    pub calls_answered: u64,
    /// Calls that were refused.
    pub calls_refused: u64,
    /// Cookies, by which callers prove their address, that were forged, damaged or of another end.
    pub cookies_forged: u64,
    /// Cookies that were too old.
    pub cookies_stale: u64,
    /// Cookies that came again after their connection had ended.
    pub cookies_replayed: u64,
    /// Answers withheld because of the limit on their rate.
    pub replies_suppressed: u64,
    /// Calls that waited because of the limits on how often keys are agreed on.
    pub key_agreements_deferred: u64,
}

impl Add for StrangerStats {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            malformed: self.malformed + other.malformed,
            unknown: self.unknown + other.unknown,
            calls_answered: self.calls_answered + other.calls_answered,
            calls_refused: self.calls_refused + other.calls_refused,
            cookies_forged: self.cookies_forged + other.cookies_forged,
            cookies_stale: self.cookies_stale + other.cookies_stale,
            cookies_replayed: self.cookies_replayed + other.cookies_replayed,
            replies_suppressed: self.replies_suppressed + other.replies_suppressed,
            key_agreements_deferred: self.key_agreements_deferred + other.key_agreements_deferred,
        }
    }
}

#[cfg(test)]
mod tests {
    use anabranch_sansio::FourTuple;

    use super::*;

    #[test]
    fn a_path_that_nobody_asked_for_is_shown_once_it_works() {
        let address = |host| std::net::SocketAddr::from(([192, 0, 2, host], 9));
        let tuple = |host| FourTuple::new(address(host), address(9));
        let path = |id, is_wanted, state| PathReport {
            is_wanted,
            state,
            ..PathReport::new(PathId(id), tuple(id as u8))
        };
        let paths = vec![
            path(0, true, PathState::Unconfirmed),
            path(1, false, PathState::Unconfirmed),
            path(2, false, PathState::Active),
        ];
        let stats = ConnectionStats { paths, ..ConnectionStats::default() };
        let shown: Vec<_> = stats.shown_paths().map(|path| path.id).collect();
        assert_eq!(shown, [PathId(0), PathId(2)]);
    }
}
