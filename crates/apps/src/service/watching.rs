//! [`Watching`]: how watching goes, as a line of JSON and for a progress line.

use std::time::Duration;

use anabranch_sansio::{Rate, Time};
use anabranch_television::PlayoutCounts;
use anabranch_television::protocol::ChannelEntry;
use anabranch_transport::ConnectionStats;
use serde::Serialize;

use super::{AssociationSnapshot, State};

/// How watching goes. As JSON, one object a line; `docs/stats.md` describes the fields.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Watching {
    /// Milliseconds since the program began.
    pub at_ms: u64,
    /// Whether the server is there.
    pub state: State,
    /// The number of the channel that is watched.
    pub channel: Option<u32>,
    /// Its name.
    pub name: Option<String>,
    /// The latency budget in force.
    pub latency_ms: u64,
    /// Pictures that were shown.
    pub pictures: u64,
    /// Pictures that never came, or not whole.
    pub missing: u64,
    /// From the last choice of a channel to its first picture; null before that.
    pub zap_ms: Option<f64>,
    /// Bytes of packets received on all paths of this association.
    pub received_bytes: u64,
    /// Bits of packets in the last second.
    pub received_bps: u64,
    /// The association, if there is one.
    pub association: Option<AssociationSnapshot>,
}

/// What a [`Watching`] is made of.
pub(crate) struct Seen<'a> {
    pub(crate) now: Time,
    pub(crate) channel: Option<&'a ChannelEntry>,
    pub(crate) budget: Duration,
    pub(crate) counts: PlayoutCounts,
    pub(crate) zap: Option<Duration>,
    pub(crate) network: Option<&'a ConnectionStats>,
}

/// The one before, for rates.
#[derive(Debug, Clone, Copy, Default)]
pub(crate) struct BeforeWatching {
    at: Time,
    received_bytes: u64,
}

impl Watching {
    pub(crate) fn new(seen: &Seen<'_>, before: &mut BeforeWatching) -> Self {
        let paths = seen.network.iter().flat_map(|network| &network.paths);
        let received_bytes = paths.map(|path| path.bytes_received).sum();
        // An association that began anew counts from nothing again.
        let bytes = received_bytes - before.received_bytes.min(received_bytes);
        let rate = Rate::of(bytes, seen.now.saturating_since(before.at));
        *before = BeforeWatching { at: seen.now, received_bytes };
        Self {
            at_ms: seen.now.as_millis(),
            state: if seen.network.is_some() { State::Connected } else { State::Calling },
            channel: seen.channel.map(|entry| entry.number),
            name: seen.channel.map(|entry| entry.name.clone()),
            latency_ms: u64::try_from(seen.budget.as_millis()).unwrap_or(u64::MAX),
            pictures: seen.counts.pictures,
            missing: seen.counts.missing + seen.counts.late,
            zap_ms: seen.zap.map(|zap| zap.as_secs_f64() * 1e3),
            received_bytes,
            received_bps: rate.as_bps(),
            association: seen.network.map(AssociationSnapshot::of),
        }
    }
}
