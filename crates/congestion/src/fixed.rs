//! A congestion window that never changes.

use anabranch_sansio::Time;

use crate::{Ack, CongestionController, ControllerMetrics};

/// A window that losses do not touch: for links of known capacity that nobody shares, and for
/// measurements of everything but congestion control.
#[derive(Debug)]
pub struct FixedWindow(usize);

impl FixedWindow {
    /// A window of this many bytes.
    #[must_use]
    pub const fn new(window: usize) -> Self {
        Self(window)
    }
}

impl CongestionController for FixedWindow {
    fn window(&self) -> usize {
        self.0
    }

    fn on_ack(&mut self, _ack: &Ack) {}

    fn on_loss(&mut self, _now: Time) {}

    fn on_timeout(&mut self, _now: Time) {}

    fn on_idle(&mut self, _periods: u32) {}

    fn metrics(&self) -> ControllerMetrics {
        ControllerMetrics { window: self.0, ssthresh: None, slow_start: false }
    }
}
