//! [`Outcome`]: what a cell measures.

use std::time::Duration;

use anabranch_sansio::Time;
use serde::{Deserialize, Serialize};

use super::switching::Switched;
use super::transfer::{Delivery, Passage};

/// The results of one cell. Figures 8 to 11 have all but `switching_s`, figure 12 has that.
#[derive(Debug, Clone, Copy, Default, PartialEq, Serialize, Deserialize)]
pub struct Outcome {
    /// Messages that the server handed over.
    pub messages: usize,
    /// Those that arrived.
    pub received: usize,
    /// From the first message ready to the last one that arrived, in seconds.
    pub completion_s: Option<f64>,
    /// Mean time from a message ready at the server to its delivery, over those that arrived, in
    /// seconds.
    pub delay_s: Option<f64>,
    /// 95 of 100 messages that arrived took at most this long, in seconds.
    pub delay_p95_s: Option<f64>,
    /// The longest of these times, in seconds.
    pub delay_max_s: Option<f64>,
    /// From the key pressed to the first message of the new channel, in seconds.
    pub switching_s: Option<f64>,
    /// Packets that the links lost.
    pub lost_on_links: u64,
    /// Packets of media that were sent again.
    pub retransmissions: u64,
    /// Retransmission timers that expired.
    pub timeouts: u64,
    /// How long it took in all, in seconds.
    pub duration_s: usize,
}

impl Outcome {
    /// The share of the messages that arrived.
    #[must_use]
    pub fn share_received(&self) -> Option<f64> {
        (self.messages > 0).then(|| self.received as f64 / self.messages as f64)
    }

    pub(super) fn of_transfer(start: Time, delivery: &Delivery) -> Self {
        let passages = delivery.passages.iter();
        let last = passages.clone().filter_map(|passage| passage.arrived).max();
        let delay = |passage: &Passage| Some(passage.arrived?.saturating_since(passage.ready));
        let mut delays: Vec<_> = passages.filter_map(delay).collect();
        delays.sort_unstable();
        Self {
            messages: delivery.passages.len(),
            received: delays.len(),
            completion_s: last.map(|at| at.saturating_since(start).as_secs_f64()),
            delay_s: mean(&delays),
            delay_p95_s: nth(&delays, delays.len() * 95 / 100),
            delay_max_s: nth(&delays, delays.len().saturating_sub(1)),
            switching_s: None,
            lost_on_links: delivery.lost_on_links,
            retransmissions: delivery.counters.retransmissions,
            timeouts: delivery.counters.timeouts,
            duration_s: seconds(delivery.end),
        }
    }

    pub(super) fn of_switching(switched: &Switched) -> Self {
        Self {
            switching_s: switched.after.map(|after| after.as_secs_f64()),
            lost_on_links: switched.lost_on_links,
            retransmissions: switched.counters.retransmissions,
            timeouts: switched.counters.timeouts,
            duration_s: seconds(switched.end),
            ..Self::default()
        }
    }
}

fn mean(delays: &[Duration]) -> Option<f64> {
    let sum: Duration = delays.iter().sum();
    (!delays.is_empty()).then(|| sum.as_secs_f64() / delays.len() as f64)
}

fn nth(sorted: &[Duration], index: usize) -> Option<f64> {
    sorted.get(index).map(Duration::as_secs_f64)
}

/// Begun ones included.
fn seconds(end: Time) -> usize {
    end.as_secs_f64().ceil() as usize
}
