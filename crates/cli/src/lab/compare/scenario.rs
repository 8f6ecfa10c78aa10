//! What the tools have to cope with.

use std::time::Duration;

use anabranch_netsim::{LinkConfig, Loss, QueueLimit};
use anabranch_sansio::Rate;

/// The links, in Mbit/s.
const LINK_MBPS: u64 = 20;

/// From one end to the other.
pub(super) const ONE_WAY: Duration = Duration::from_millis(25);

/// A network and how long the receiver may wait.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Scenario {
    pub(super) name: String,
    pub(super) buffer: Duration,
    pub(super) loss: Loss,
    /// Two links, of which the first is cut for a third of the time.
    pub(super) is_cut: bool,
}

impl Scenario {
    fn new(kind: &str, loss: Loss, buffer_ms: u64) -> Self {
        Self {
            name: format!("{kind}, buffer {buffer_ms} ms"),
            buffer: Duration::from_millis(buffer_ms),
            loss,
            is_cut: false,
        }
    }

    /// One link, in both directions.
    pub(super) fn link(&self) -> LinkConfig {
        let rate = Rate::mbps(LINK_MBPS);
        LinkConfig {
            rate: Some(rate),
            delay: ONE_WAY,
            queue: QueueLimit::lasting(2 * ONE_WAY, rate),
            loss: self.loss,
            ..LinkConfig::default()
        }
    }
}

/// The rows of the table.
pub(super) fn all() -> Vec<Scenario> {
    let mut all = Vec::new();
    for percent in [0, 1, 5, 10] {
        let loss = Loss::uniform(f64::from(percent) / 100.0);
        let kind = format!("loss {percent} %");
        all.extend([200, 100].map(|buffer| Scenario::new(&kind, loss, buffer)));
    }
    all.push(Scenario::new("5 % in bursts of 5", Loss::bursts(0.05, 5.0), 200));
    all.push(Scenario { is_cut: true, ..Scenario::new("two links, one cut", Loss::None, 200) });
    all
}
