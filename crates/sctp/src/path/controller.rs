//! [`Controller`]: a path's congestion controller, and its last word.

use std::time::Duration;

use anabranch_congestion::{
    Ack, CongestionController, ControllerMetrics, LostChunk, QueueBound, SentData,
};
use anabranch_sansio::{Rate, Rng, Time};

use crate::config::AssociationConfig;

/// A path's congestion controller. Its answers change with events only, and some are asked for
/// several times for each packet: these are kept from one event to the next.
#[derive(Debug)]
pub(crate) struct Controller {
    inner: Box<dyn CongestionController>,
    window: usize,
    pacing_rate: Option<Rate>,
    bandwidth: Option<Rate>,
}

impl Controller {
    /// The one that the configuration names, for a fresh path.
    pub(crate) fn new(config: &AssociationConfig, rng: &mut Rng) -> Self {
        let controller = config.controller(rng);
        let inner: Box<dyn CongestionController> = match config.window.queuing_delay_max {
            Some(bound) => {
                let bounded = QueueBound::new(controller, bound, config.pmdcs());
                Box::new(match config.window.rate_max {
                    Some(rate) => bounded.for_rate(rate),
                    None => bounded,
                })
            }
            None => controller,
        };
        Self {
            window: inner.window(),
            pacing_rate: inner.pacing_rate(),
            bandwidth: inner.bandwidth(),
            inner,
        }
    }

    /// See [`CongestionController::window`].
    pub(crate) const fn window(&self) -> usize {
        self.window
    }

    /// See [`CongestionController::pacing_rate`].
    pub(crate) const fn pacing_rate(&self) -> Option<Rate> {
        self.pacing_rate
    }

    /// See [`CongestionController::bandwidth`].
    pub(crate) const fn bandwidth(&self) -> Option<Rate> {
        self.bandwidth
    }

    /// See [`CongestionController::metrics`].
    pub(crate) fn metrics(&self) -> ControllerMetrics {
        self.inner.metrics()
    }

    pub(crate) fn on_sent(&mut self, sent: &SentData) {
        self.tell(|inner| inner.on_sent(sent));
    }

    pub(crate) fn on_ack(&mut self, ack: &Ack) {
        self.tell(|inner| inner.on_ack(ack));
    }

    pub(crate) fn on_loss(&mut self, now: Time) {
        self.tell(|inner| inner.on_loss(now));
    }

    pub(crate) fn on_timeout(&mut self, now: Time) {
        self.tell(|inner| inner.on_timeout(now));
    }

    pub(crate) fn on_chunk_lost(&mut self, now: Time, lost: &LostChunk) {
        self.tell(|inner| inner.on_chunk_lost(now, lost));
    }

    pub(crate) fn on_heartbeat(&mut self, now: Time, rtt: Duration, in_flight: usize) {
        self.tell(|inner| inner.on_heartbeat(now, rtt, in_flight));
    }

    pub(crate) fn undo_loss(&mut self, now: Time) {
        self.tell(|inner| inner.undo_loss(now));
    }

    pub(crate) fn on_idle(&mut self, periods: u32) {
        self.tell(|inner| inner.on_idle(periods));
    }

    pub(crate) fn on_mtu(&mut self, pmdcs: usize) {
        self.tell(|inner| inner.on_mtu(pmdcs));
    }

    fn tell(&mut self, event: impl FnOnce(&mut dyn CongestionController)) {
        event(&mut *self.inner);
        self.window = self.inner.window();
        self.pacing_rate = self.inner.pacing_rate();
        self.bandwidth = self.inner.bandwidth();
    }
}
