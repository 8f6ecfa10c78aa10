//! [`Frames`]: packets of one link between its queue and their acknowledgement.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::{Rate, Time};

use super::airtime::Airtime;
use crate::{DropCause, Link, Packet, WifiConfig};

/// A BlockAck acknowledges so many frames (IEEE 802.11-2016 section 9.3.1.9.3).
const FRAMES_MAX: usize = 64;
/// The longest transmission of 802.11n (table 19-25, aPPDUMaxTime).
const AIRTIME_MAX: Duration = Duration::from_millis(10);

/// Packets of one link between its queue and their acknowledgement, in order.
#[derive(Debug, Default)]
pub(super) struct Frames(VecDeque<Frame>);

#[derive(Debug)]
struct Frame {
    packet: Packet,
    attempts: u32,
    /// It waits at the receiver for those before it.
    has_arrived: bool,
}

/// One transmission: some frames of a link.
#[derive(Debug, Clone, Copy)]
pub(super) struct Burst {
    pub(super) link: usize,
    /// How many frames it carries: the first that have not arrived.
    pub(super) count: usize,
    /// Its bytes.
    len: usize,
    pub(super) rate: Rate,
}

impl Burst {
    /// How long it is on the air.
    pub(super) fn airtime(&self, airtime: &Airtime) -> Duration {
        airtime.data(self.len, self.rate)
    }

    /// How long its answer is.
    pub(super) fn answer(&self, airtime: &Airtime) -> Duration {
        if self.count > 1 { airtime.block_ack(self.rate) } else { airtime.ack(self.rate) }
    }

    pub(super) fn is_announced(&self, config: &WifiConfig) -> bool {
        config.rts_over.is_some_and(|over| self.len > over as usize)
    }

    fn with(&self, frame_len: usize, airtime: &Airtime, config: &WifiConfig) -> Option<Self> {
        let mut longer = Self { count: self.count + 1, ..*self };
        longer.len = match self.count {
            0 => frame_len,
            // The first gets its delimiter when there is a second.
            1 => airtime.aggregate_len(airtime.aggregate_len(0, self.len), frame_len),
            _ => airtime.aggregate_len(self.len, frame_len),
        };
        let is_aggregate = longer.count > 1;
        let fits = longer.len <= config.aggregate_bytes as usize
            && longer.count <= FRAMES_MAX
            && longer.airtime(airtime) <= AIRTIME_MAX;
        (!is_aggregate || fits).then_some(longer)
    }
}

impl Frames {
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// As much as one transmission carries: first what has been sent before, then what waits in
    /// the queue.
    pub(super) fn compose(
        &mut self,
        now: Time,
        number: usize,
        link: &mut Link,
        airtime: &Airtime,
        config: &WifiConfig,
    ) -> Burst {
        let rate = link.config().rate.unwrap_or(config.standard.usual_rate());
        let mut burst = Burst { link: number, count: 0, len: 0, rate };
        for frame in self.0.iter().filter(|frame| !frame.has_arrived) {
            let len = airtime.frame_len(frame.packet.ip_len());
            let Some(longer) = burst.with(len, airtime, config) else { return burst };
            burst = longer;
        }
        while self.0.len() < FRAMES_MAX {
            let Some(ip_len) = link.waiting_len() else { break };
            let len = airtime.frame_len(ip_len);
            let Some(longer) = burst.with(len, airtime, config) else { break };
            let Some(packet) = link.take_waiting(now) else { break };
            self.0.push_back(Frame { packet, attempts: 0, has_arrived: false });
            burst = longer;
        }
        burst
    }

    /// The first `count` that had not arrived were sent: `arrives` says which do now. Returns
    /// whether any did, and whether any was given up.
    pub(super) fn sent(
        &mut self,
        count: usize,
        link: &mut Link,
        attempts_max: Option<u32>,
        mut arrives: impl FnMut(&mut Link) -> bool,
    ) -> Outcome {
        let mut outcome = Outcome::default();
        for frame in self.0.iter_mut().filter(|frame| !frame.has_arrived).take(count) {
            if frame.attempts > 0 {
                link.count_repeated();
            }
            frame.attempts += 1;
            frame.has_arrived = arrives(link);
            outcome.any_arrived |= frame.has_arrived;
        }
        let is_over = |frame: &Frame| {
            !frame.has_arrived && attempts_max.is_some_and(|max| frame.attempts >= max)
        };
        for n in (0..self.0.len()).rev() {
            if let Some(given_up) = is_over(&self.0[n]).then(|| self.0.remove(n)).flatten() {
                link.give_up(DropCause::Retries, given_up.packet);
                outcome.any_given_up = true;
            }
        }
        outcome
    }

    /// Hands on what arrived at `at`, in order: what waits for a frame before it stays.
    pub(super) fn release(&mut self, at: Time, link: &mut Link) {
        while let Some(frame) = self.0.pop_front_if(|frame| frame.has_arrived) {
            link.hand_on(at, frame.packet);
        }
    }

    /// All packets, when their link is cut.
    pub(super) fn clear(&mut self) -> Vec<Packet> {
        self.0.drain(..).map(|frame| frame.packet).collect()
    }
}

/// What a transmission came to.
#[derive(Debug, Clone, Copy, Default)]
pub(super) struct Outcome {
    pub(super) any_arrived: bool,
    pub(super) any_given_up: bool,
}
