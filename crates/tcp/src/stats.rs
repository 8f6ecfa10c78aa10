//! [`Stats`]: what a connection counted.

use std::time::Duration;

/// What a connection counted, and where it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct Stats {
    /// Segments that were sent.
    pub segments_sent: u64,
    /// Segments that arrived, damaged ones not counted.
    pub segments_received: u64,
    /// What arrived and was no segment of this connection, or a damaged one.
    pub segments_dropped: u64,
    /// Bytes of data that were sent, each time they were.
    pub bytes_sent: u64,
    /// Segments that were sent again.
    pub segments_retransmitted: u64,
    /// Bytes of data that were sent again.
    pub bytes_retransmitted: u64,
    /// Bytes of data that the peer acknowledged.
    pub bytes_acknowledged: u64,
    /// Bytes of data that arrived in order.
    pub bytes_received: u64,
    /// How often fast recovery began.
    pub recoveries: u64,
    /// How often the retransmission timer expired with data in flight.
    pub timeouts: u64,
    /// The congestion window in bytes.
    pub window: usize,
    /// The smoothed round-trip time.
    pub srtt: Option<Duration>,
}
