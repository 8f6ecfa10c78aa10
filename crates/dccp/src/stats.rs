//! What connections and endpoints counted.

use std::time::Duration;

/// What a connection counted, and where it stands.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct Stats {
    /// Packets that were sent.
    pub packets_sent: u64,
    /// Packets that arrived and were valid.
    pub packets_received: u64,
    /// Packets that arrived and were not: out of the windows, or of a type that does not belong
    /// there.
    pub packets_invalid: u64,
    /// Datagrams that were sent.
    pub datagrams_sent: u64,
    /// Bytes of data that were sent.
    pub bytes_sent: u64,
    /// Datagrams that arrived and went to the application.
    pub datagrams_received: u64,
    /// Bytes of data that arrived and went to the application.
    pub bytes_received: u64,
    /// Datagrams that arrived and did not go to the application.
    pub datagrams_dropped: u64,
    /// Datagrams that arrived twice.
    pub duplicates: u64,
    /// Syncs that were sent because of invalid packets.
    pub syncs_sent: u64,
    /// How our direction is controlled.
    pub congestion: CongestionStats,
}

/// Where the congestion control of our direction stands.
#[derive(Debug, Clone, Copy, Default, PartialEq)]
#[non_exhaustive]
pub struct CongestionStats {
    /// The CCID.
    pub ccid: u8,
    /// The round-trip time, smoothed.
    pub rtt: Option<Duration>,
    /// CCID 2: the congestion window in packets.
    pub window: u64,
    /// CCID 2: how often it was halved; CCID 3: how many reports told of a new loss event.
    pub congestion_events: u64,
    /// CCID 2: how often nothing was heard; CCID 3: how often the nofeedback timer expired.
    pub timeouts: u64,
    /// CCID 3: the loss event rate.
    pub loss_event_rate: f64,
    /// CCID 3: bytes of data per second that may be sent.
    pub rate: f64,
    /// CCID 3: the packet size that the equation is fed with.
    pub segment_size: f64,
}

/// What an endpoint counted besides its connections.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
#[non_exhaustive]
pub struct EndpointStats {
    /// Datagrams that are no DCCP packets, or damaged.
    pub malformed: u64,
    /// Packets that belong to no connection.
    pub unknown: u64,
    /// Resets that answered these.
    pub resets_sent: u64,
    /// Connections that were refused.
    pub refused: u64,
    /// Responses that carried a cookie instead of leaving state.
    pub cookies_sent: u64,
    /// Cookies that came back and were ours.
    pub cookies_taken: u64,
    /// Cookies that came back and were not, or too late.
    pub cookies_refused: u64,
    /// Resets and Responses withheld because of the limit on their rate.
    pub replies_suppressed: u64,
}
