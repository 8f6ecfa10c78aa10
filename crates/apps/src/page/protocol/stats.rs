//! [`Stats`]: counters and states, some times a second.

use anabranch_transport::ConnectionStats;
use serde::{Deserialize, Serialize};

use super::PathInfo;

/// Counters, which count from the last hello and never go down, and states.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Stats {
    /// The program's clock. The server sets it when it sends the message.
    pub now_us: u64,
    /// Each path.
    pub paths: Vec<PathStats>,
    /// Each layer of the hello.
    pub layers: Vec<LayerStats>,
    /// What the receiver got, by level, the most important one first; none where the sender marks
    /// none.
    pub levels: Vec<LevelStats>,
    /// Pictures by what became of them.
    pub frames: FrameCounts,
    /// From the sender's hand until the picture was complete here.
    pub delay_ms: Option<DelayMs>,
    /// Media held by the play-out.
    pub buffer_ms: Option<f64>,
    /// The play-out latency in force.
    pub latency_ms: f64,
    /// What the program would advise.
    pub advised_latency_ms: Option<f64>,
}

/// One path.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct PathStats {
    /// Its number, name and addresses.
    #[serde(flatten)]
    pub info: PathInfo,
    /// Whether it can carry data.
    pub state: PathState,
    /// New data takes it first.
    pub primary: bool,
    /// Smoothed round-trip time.
    pub rtt_ms: Option<f64>,
    /// The congestion window.
    pub cwnd_bytes: Option<u64>,
    /// Outstanding data.
    pub flight_bytes: Option<u64>,
    /// Packets that the sender put on it.
    pub sent_packets: Option<u64>,
    /// Packets that never arrived.
    pub lost_packets: Option<u64>,
    /// Bytes of UDP payload that the sender put on it.
    pub sent_bytes: Option<u64>,
    /// Bytes of UDP payload that came out.
    pub delivered_bytes: Option<u64>,
    /// The emulated link's settings.
    pub link: Option<LinkSettings>,
}

/// RFC 9260 section 8 and RFC 7829.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum PathState {
    /// Answers.
    Active,
    /// Did not answer lately.
    PotentiallyFailed,
    /// Does not answer.
    Inactive,
    /// Not yet known to belong to the peer.
    Unconfirmed,
}

/// The settings of an emulated link, the same in both directions.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkSettings {
    /// kbit/s of IP packets.
    pub rate_kbps: f64,
    /// One way.
    pub delay_ms: f64,
    /// Share of the packets.
    pub loss_percent: f64,
    /// Nothing passes.
    pub cut: bool,
}

/// Messages of one layer by what became of them.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
pub struct LayerStats {
    /// The layer's id in the hello.
    pub id: String,
    /// Handed to the transport and sent at least once.
    pub sent: Option<Tally>,
    /// Arrived before their unit's deadline.
    pub in_time: Tally,
    /// Arrived after it.
    pub late: Tally,
    /// DATA chunks that were sent again.
    pub retransmitted: Option<Tally>,
    /// Given up.
    pub abandoned: Option<AbandonedTally>,
}

/// Messages of one level at the receiver.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LevelStats {
    /// Messages that wait to be read.
    pub waiting: u64,
    /// Messages that made way for more important ones.
    pub dropped: u64,
    /// How long half of those that were read had waited at most.
    pub wait_p50_ms: f64,
    /// The same of 99 in 100.
    pub wait_p99_ms: f64,
}

impl LevelStats {
    /// Those of a connection.
    pub(crate) fn of(connection: Option<&ConnectionStats>) -> Vec<Self> {
        let levels = connection.map(|it| &it.levels[..]).unwrap_or_default().iter();
        let of_level = |level: &anabranch_transport::LevelStats| Self {
            waiting: level.waiting as u64,
            dropped: level.dropped,
            wait_p50_ms: level.delay_p50.as_secs_f64() * 1e3,
            wait_p99_ms: level.delay_p99.as_secs_f64() * 1e3,
        };
        levels.map(of_level).collect()
    }
}

/// A number of messages and their bytes.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Tally {
    /// Messages; for retransmissions, DATA chunks.
    pub messages: u64,
    /// Payload bytes.
    pub bytes: u64,
}

impl Tally {
    /// Counts one more message.
    pub const fn add(&mut self, bytes: u64) {
        self.messages += 1;
        self.bytes += bytes;
    }
}

impl std::ops::Add for Tally {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self { messages: self.messages + other.messages, bytes: self.bytes + other.bytes }
    }
}

/// Messages given up, by reason.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct AbandonedTally {
    /// Their lifetime ended after they had been sent.
    pub lifetime: Tally,
    /// They were sent as often as allowed.
    pub retransmissions: Tally,
    /// Their lifetime ended before they were sent.
    pub before_sending: Tally,
}

/// Pictures whose time has come, each shown or lost; the base layer decides. No count ever falls.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct FrameCounts {
    /// Released in time.
    pub shown: u64,
    /// Of those lost, arrived after their deadline.
    pub late: u64,
    /// Not there at their time, or there in vain because one that they build on was not.
    pub lost: u64,
}

/// Percentiles of a delay over the last seconds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct DelayMs {
    /// The last one.
    pub now: f64,
    /// The median.
    pub p50: f64,
    /// 95 % are at most this.
    pub p95: f64,
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use super::*;

    #[test]
    fn levels_are_those_of_the_connection_and_none_without_one() {
        assert_eq!(LevelStats::of(None), []);
        let slow = anabranch_transport::LevelStats {
            waiting: 9,
            dropped: 3,
            delay_p50: Duration::from_millis(61),
            delay_p99: Duration::from_millis(480),
            ..anabranch_transport::LevelStats::default()
        };
        let connection = ConnectionStats { levels: vec![slow], ..ConnectionStats::default() };
        let told = LevelStats { waiting: 9, dropped: 3, wait_p50_ms: 61.0, wait_p99_ms: 480.0 };
        assert_eq!(LevelStats::of(Some(&connection)), [told]);
    }
}
