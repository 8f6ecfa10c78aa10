//! Congestion control: one [controller](CongestionController) per path, behind a trait.
//!
//! A controller is told what was sent, acknowledged and lost, and says how much may be in flight.
//! Whose packets these are it does not know: SCTP's and TCP's alike. Where an RFC on SCTP has a
//! rule of its own, the controller's documentation says so.
//!
//! Beside them stands what a sender needs to run them: [`DeliveryRate`] samples how fast the path
//! delivers, [`Pacer`] spreads what goes out.

mod bbr;
mod cubic;
mod delivery_rate;
mod fixed;
mod hystart;
mod media;
mod pacer;
#[cfg(test)]
mod pipe;
mod queue_bound;
mod rfc9260;
#[cfg(test)]
mod testing;

use std::fmt::Debug;
use std::time::Duration;

use anabranch_sansio::{Rate, Rng, Time};

pub use bbr::Bbr;
pub use cubic::Cubic;
pub use delivery_rate::{DeliveryRate, Snapshot, Transmitted};
pub use fixed::FixedWindow;
pub use media::Media;
pub use pacer::Pacer;
pub use queue_bound::QueueBound;
pub use rfc9260::Rfc9260;

/// Decides how much data may be in flight on one path, and how fast it goes out.
///
/// One event after the other: [`on_sent`](Self::on_sent) for each chunk of data,
/// [`on_ack`](Self::on_ack) for each SACK that says something about the path, then
/// [`on_loss`](Self::on_loss) or [`on_timeout`](Self::on_timeout) once per episode, and
/// [`on_chunk_lost`](Self::on_chunk_lost) for each chunk that was declared lost. Window-based
/// controllers go by the episodes, model-based ones by samples and single chunks.
///
/// All sizes are in bytes and count DATA chunks with header and padding (RFC 9260 section 7.2:
/// "the length of the DATA chunk, including the padding, SHOULD be used").
pub trait CongestionController: Debug + Send {
    /// The bytes that must be in flight for no further packet to go out: as a rule the congestion
    /// window, cwnd.
    fn window(&self) -> usize;

    /// How fast data may go out; `None` leaves it to the window.
    fn pacing_rate(&self) -> Option<Rate> {
        None
    }

    /// How fast the path carries data by the controller's model; `None`: the window decides.
    fn bandwidth(&self) -> Option<Rate> {
        None
    }

    /// A chunk of data goes out.
    fn on_sent(&mut self, _sent: &SentData) {}

    /// Data was acknowledged, or abandoned data answered for, which counts no bytes (RFC 3758
    /// section 3.5, A2). Called before any loss that the same SACK reveals.
    fn on_ack(&mut self, ack: &Ack);

    /// Losses were found from SACKs, the first ones of a Fast Recovery.
    fn on_loss(&mut self, now: Time);

    /// T3-rtx expired.
    fn on_timeout(&mut self, now: Time);

    /// One chunk was declared lost, by SACKs or by a timer.
    fn on_chunk_lost(&mut self, _now: Time, _lost: &LostChunk) {}

    /// The last loss or timeout was none: what was taken for lost has arrived.
    fn undo_loss(&mut self, _now: Time) {}

    /// A HEARTBEAT was answered after so long, and so many bytes are in flight: a round trip of the
    /// path without doubt, whatever became of the data.
    fn on_heartbeat(&mut self, _now: Time, _rtt: Duration, _in_flight: usize) {}

    /// Nothing was sent for `periods` retransmission timeouts in a row; called before sending
    /// begins again.
    fn on_idle(&mut self, periods: u32);

    /// The path takes packets of another size: the longest DATA chunk has so many bytes from now
    /// on, header included. What is in flight stays as it is.
    fn on_mtu(&mut self, _pmdcs: usize) {}

    /// For statistics and traces.
    fn metrics(&self) -> ControllerMetrics;
}

/// Makes the controllers of an association, one for each path: the kinds of [`CongestionControl`],
/// or a user's own.
pub trait ControllerFactory: Debug + Send + Sync {
    /// A controller for a fresh path. What it leaves to chance comes from a fork of `rng`.
    fn build(&self, path: &FreshPath, rng: &mut Rng) -> Box<dyn CongestionController>;
}

/// What is known of a path before anything was sent there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct FreshPath {
    /// The path's maximum DATA chunk size in bytes, chunk header included.
    pub pmdcs: usize,
    /// How fast it may begin, for controllers that follow a model of the path; the others begin
    /// with their initial windows.
    pub start_rate: Option<Rate>,
}

impl FreshPath {
    /// A path of which nothing is known but the size of its packets.
    #[must_use]
    pub const fn new(pmdcs: usize) -> Self {
        Self { pmdcs, start_rate: None }
    }

    /// The same, which may begin at this rate.
    #[must_use]
    pub const fn starting_at(self, start_rate: Option<Rate>) -> Self {
        Self { start_rate, ..self }
    }
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
    /// The round-trip time, if this SACK gave a sample for the retransmission timeout.
    pub rtt: Option<Duration>,
    /// Bytes acknowledged on the path so far.
    pub delivered: u64,
    /// How fast the path delivers, if this SACK acknowledged something new.
    pub sample: Option<RateSample>,
}

/// A chunk of data that goes out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct SentData {
    /// When.
    pub now: Time,
    /// Its bytes.
    pub bytes: usize,
    /// Bytes in flight on the path before it.
    pub flight: usize,
    /// Whether the application had nothing more to send at some time since all that was delivered
    /// by now went out.
    pub is_app_limited: bool,
}

/// A chunk that was declared lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LostChunk {
    /// Its bytes.
    pub size: usize,
    /// Bytes in flight on the path right after it was sent, itself included.
    pub in_flight: usize,
    /// Bytes declared lost on the path since it was sent, itself included.
    pub lost_since_sent: u64,
    /// Bytes acknowledged on the path so far.
    pub delivered: u64,
    /// Whether the application limited what was in flight when it was sent.
    pub is_app_limited: bool,
    /// Whether a second copy of it has arrived or is under way, so that nothing need be repeated.
    pub is_covered: bool,
}

/// How fast a path delivered between two acknowledgements about a round trip apart: the rate sample
/// RS of draft-ietf-ccwg-bbr, taken from the newest chunk that a SACK acknowledged.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct RateSample {
    /// Bytes delivered in the interval.
    pub delivered: u64,
    /// Bytes delivered before the chunk was sent.
    pub prior_delivered: u64,
    /// How long it took to send what was delivered.
    pub send_elapsed: Duration,
    /// How long it took to acknowledge what was delivered.
    pub ack_elapsed: Duration,
    /// Whether the interval is long enough to give a rate: not shorter than the lowest round trip.
    pub is_reliable: bool,
    /// Whether the application limited what was in flight when the chunk was sent.
    pub is_app_limited: bool,
    /// Bytes in flight right after the chunk was sent, itself included.
    pub in_flight: usize,
    /// Bytes declared lost since the chunk was sent.
    pub lost: u64,
    /// The chunk's round-trip time, unless it was sent more than once.
    pub rtt: Option<Duration>,
}

impl RateSample {
    /// The longer of both times: neither a burst of data nor one of SACKs makes a path look fast.
    #[must_use]
    pub fn interval(&self) -> Duration {
        self.send_elapsed.max(self.ack_elapsed)
    }

    /// The delivery rate, where the interval gives one.
    #[must_use]
    pub fn rate(&self) -> Option<Rate> {
        self.is_reliable.then(|| Rate::of(self.delivered, self.interval()))
    }
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
    /// The same, beginning with two packets instead of four, as RFC 2960 had it and ns-2's SCTP
    /// has: for comparisons with what was measured there.
    SmallInitialWindow,
    /// The same, beginning with ten packets instead of four, as QUIC and today's TCP: a path that
    /// takes over from one that failed carries a key frame in two round trips instead of three.
    LargeInitialWindow,
    /// RFC 9438, as most TCPs of today: keeps long fat paths fuller than RFC 9260's controller and
    /// is as fair; collapses under random loss nearly as that does. Best with
    /// pacing: its end of slow start goes by the delay of queues, which bursts hide. See [`Cubic`].
    Cubic,
    /// The third version of BBR, as draft-ietf-ccwg-bbr has it: follows the path's rate and round
    /// trip instead of single losses, and holds against about 2 % of them. See [`Bbr`].
    Bbr,
    /// BBR's model, for links that lose packets without being full: losses count as congestion only
    /// where rate or delay speak for it. See [`Media`].
    Media,
    /// A window that losses do not touch: see [`FixedWindow`].
    Fixed {
        /// Bytes that may be in flight.
        window: usize,
    },
}

impl CongestionControl {
    /// A controller for a fresh path. `pmdcs` is the path's maximum DATA chunk size in bytes,
    /// chunk header included. What a controller leaves to chance comes from a fork of `rng`.
    ///
    /// `start_rate` is how fast the path may begin, for controllers that follow a model of it; the
    /// others begin with their initial windows.
    #[must_use]
    pub fn build(
        self,
        pmdcs: usize,
        start_rate: Option<Rate>,
        rng: &mut Rng,
    ) -> Box<dyn CongestionController> {
        match self {
            Self::Rfc9260 => Box::new(Rfc9260::new(pmdcs)),
            Self::SmallInitialWindow => Box::new(Rfc9260::with_small_initial_window(pmdcs)),
            Self::LargeInitialWindow => Box::new(Rfc9260::with_large_initial_window(pmdcs)),
            Self::Cubic => Box::new(Cubic::new(pmdcs)),
            Self::Bbr => Box::new(Bbr::new(pmdcs, rng.fork())),
            Self::Media => Box::new(Media::new(pmdcs, start_rate, rng.fork())),
            Self::Fixed { window } => Box::new(FixedWindow::new(window)),
        }
    }
}

impl ControllerFactory for CongestionControl {
    fn build(&self, path: &FreshPath, rng: &mut Rng) -> Box<dyn CongestionController> {
        Self::build(*self, path.pmdcs, path.start_rate, rng)
    }
}

/// The initial window of QUIC, for data chunks of at most `pmdcs` bytes.
fn large_initial_window(pmdcs: usize) -> usize {
    // RFC 9002 section 7.2: "Endpoints SHOULD use an initial congestion window of ten times the
    // maximum datagram size (max_datagram_size), while limiting the window to the larger of 14,720
    // bytes or twice the maximum datagram size."
    (10 * pmdcs).min((2 * pmdcs).max(14_720))
}

/// The example of the README, run.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn on_a_path_that_takes_shorter_packets_a_timeout_leaves_one_of_those() {
        let rng = &mut Rng::from_u64(1);
        for kind in [CongestionControl::Rfc9260, CongestionControl::Cubic] {
            let bound = Duration::from_millis(50);
            let mut controller = QueueBound::new(kind.build(1_340, None, rng), bound, 1_340);
            controller.on_mtu(640);
            controller.on_timeout(Time::ZERO);
            assert_eq!(controller.metrics().window, 640, "{kind:?}");
        }
    }
}
