//! [`Outcome`]: what a run gave.

use serde::{Deserialize, Serialize};

/// What a run gave.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Each flow, in the order of the file.
    pub flows: Vec<FlowOutcome>,
    /// Both directions of each link, in the order of the file.
    pub links: Vec<LinkOutcome>,
}

/// What became of a flow.
#[derive(Debug, Clone, Default, PartialEq, Serialize, Deserialize)]
pub struct FlowOutcome {
    /// Its name.
    pub name: String,
    /// What carried it.
    pub kind: String,
    /// Payload that arrived while it sent, in bits per second.
    pub goodput_bps: f64,
    /// Of all that its busiest link carried while the run lasted, its share, from 0 to 1.
    pub share: f64,
    /// From when a message was ready to its arrival, in milliseconds: the delay that half of the
    /// messages did not exceed; none if nothing arrived.
    pub delay_p50_ms: Option<f64>,
    /// The same for 95 % of them.
    pub delay_p95_ms: Option<f64>,
    /// The same for 99 % of them.
    pub delay_p99_ms: Option<f64>,
    /// The longest.
    pub delay_max_ms: Option<f64>,
    /// From the start of the flow to its first message at the other end, in milliseconds.
    pub first_ms: Option<f64>,
    /// Messages that there were.
    pub messages: u64,
    /// Messages that did not arrive. Of bulk, those that the transport gave up.
    pub lost: u64,
    /// Packets that the sender sent, its acknowledgments included.
    pub packets: u64,
    /// Packets' worth of data that it sent again.
    pub retransmitted: u64,
    /// Of media: units of which a part came after its time.
    pub late: Option<u64>,
    /// Of media: times that the picture stood still.
    pub freezes: Option<u64>,
    /// Of media: for how long it did in all, in milliseconds.
    pub frozen_ms: Option<f64>,
    /// Why its transport came to an end before the run did.
    pub ended: Option<String>,
}

/// What became of one direction of a link.
#[derive(Debug, Clone, PartialEq, Serialize, Deserialize)]
pub struct LinkOutcome {
    /// Its name; the way back is called `NAME back`.
    pub name: String,
    /// What it carried of what it could have, from 0 to 1; none where its rate is not limited.
    pub utilisation: Option<f64>,
    /// Packets that it lost.
    pub lost: u64,
    /// Packets that its queue had no room for.
    pub refused: u64,
    /// Packets lost to a cut or too long for it.
    pub cut: u64,
    /// Bytes in its queue, on average.
    pub queue_mean_bytes: f64,
    /// Bytes in its queue, at most.
    pub queue_max_bytes: u64,
}
