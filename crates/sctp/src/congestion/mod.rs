//! Congestion control: one controller per path, behind a trait.

mod fixed;
mod rfc9260;

use std::fmt::Debug;
use std::time::Duration;

use anabranch_sansio::Time;

pub use fixed::FixedWindow;
pub use rfc9260::Rfc9260;

/// Decides how much data may be in flight on one path.
///
/// All sizes are in bytes and count DATA chunks with header and padding (RFC 9260 section 7.2:
/// "the length of the DATA chunk, including the padding, SHOULD be used").
pub trait CongestionController: Debug + Send {
    /// The bytes that must be in flight for no further packet to go out: as a rule the congestion
    /// window, cwnd.
    fn window(&self) -> usize;

    /// Data was acknowledged, or abandoned data answered for, which counts no bytes (RFC 3758
    /// section 3.5, A2). Called before any loss that the same SACK reveals.
    fn on_ack(&mut self, ack: &Ack);

    /// Losses were found from SACKs, the first ones of a Fast Recovery.
    fn on_loss(&mut self, now: Time);

    /// T3-rtx expired.
    fn on_timeout(&mut self, now: Time);

    /// Nothing was sent for `periods` retransmission timeouts in a row; called before sending
    /// begins again.
    fn on_idle(&mut self, periods: u32);

    /// For statistics and traces.
    fn metrics(&self) -> ControllerMetrics;
}

/// What one SACK said about one path.
#[derive(Debug, Clone, Copy)]
pub struct Ack {
    /// When the SACK arrived.
    pub now: Time,
    /// Bytes acknowledged for the first time.
    pub acked: usize,
    /// Bytes in flight on the path before the SACK was processed.
    pub flight_before: usize,
    /// Bytes still in flight on the path.
    pub flight: usize,
    /// Whether the oldest data in flight on the path was acknowledged: the path's own cumulative
    /// acknowledgement, which with one path is the association's (CUC of Iyengar 2006).
    pub advanced: bool,
    /// Whether the path is in Fast Recovery.
    pub in_recovery: bool,
    /// The round-trip time, if this SACK gave a sample.
    pub rtt: Option<Duration>,
}

/// A controller's inner state, for people to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct ControllerMetrics {
    /// The congestion window in bytes.
    pub window: usize,
    /// The slow-start threshold in bytes; `None` before the first loss, or where there is none.
    pub ssthresh: Option<usize>,
    /// Whether the controller looks for the path's capacity by doubling.
    pub slow_start: bool,
}

/// The controllers there are.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum CongestionControl {
    /// RFC 9260 section 7: slow start, congestion avoidance, halving on loss.
    #[default]
    Rfc9260,
    /// The same, beginning with ten packets instead of four, as QUIC and today's TCP: a path that
    /// takes over from one that failed carries a key frame in two round trips instead of three.
    LargeInitialWindow,
    /// A window that losses do not touch: see [`FixedWindow`].
    Fixed {
        /// Bytes that may be in flight.
        window: usize,
    },
}

impl CongestionControl {
    /// A controller for a fresh path. `pmdcs` is the path's maximum DATA chunk size in bytes,
    /// chunk header included.
    pub(crate) fn build(self, pmdcs: usize) -> Box<dyn CongestionController> {
        match self {
            Self::Rfc9260 => Box::new(Rfc9260::new(pmdcs)),
            Self::LargeInitialWindow => Box::new(Rfc9260::with_large_initial_window(pmdcs)),
            Self::Fixed { window } => Box::new(FixedWindow::new(window)),
        }
    }
}
