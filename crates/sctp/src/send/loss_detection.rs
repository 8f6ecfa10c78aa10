//! How losses are found: two ways, each in a file of its own, one of them per association.

use super::flight::Sent;
use super::in_time::InTime;
use super::miss_indications::MissIndications;

/// How a sender finds out, without a retransmission timeout, what was lost.
///
/// Either looks at each path by itself, in the order in which chunks were sent there, so that one
/// path never makes another's data look lost.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[non_exhaustive]
pub enum LossDetection {
    /// RFC 9260 section 7.2.4: by three miss indications, once per chunk; a lost retransmission and
    /// the loss of the last chunks are left to T3-rtx.
    #[default]
    Rfc9260,
    /// The same, but in Fast Recovery nothing more is found: what else was lost of a window is left
    /// to T3-rtx, as in TCP's Reno. For comparisons with what was measured so.
    OncePerWindow,
    /// RFC 8985, carried over to TSNs and paths: a chunk is lost when one that was sent
    /// sufficiently later was delivered (RACK), and a silent path is probed after about two round
    /// trips (tail loss probe). Lost retransmissions and lost tails are found without a timeout,
    /// and what was retransmitted for nothing is noticed and undone.
    InTime,
}

impl LossDetection {
    pub(super) fn detector(self) -> Detector {
        match self {
            Self::Rfc9260 => Detector::Rfc9260(MissIndications::default()),
            Self::OncePerWindow => Detector::Rfc9260(MissIndications::once_per_window()),
            Self::InTime => Detector::InTime(Box::default()),
        }
    }
}

/// The state of loss detection on one path.
#[derive(Debug)]
pub(super) enum Detector {
    Rfc9260(MissIndications),
    InTime(Box<InTime>),
}

impl Detector {
    pub(super) fn in_recovery(&self) -> bool {
        match self {
            Self::Rfc9260(misses) => misses.recovery.is_some(),
            Self::InTime(in_time) => in_time.in_recovery(),
        }
    }

    /// T3-rtx expired and all that was in flight counts as lost; `next` is the number of the next
    /// transmission.
    pub(super) fn on_timeout(&mut self, next: u64) {
        match self {
            Self::Rfc9260(misses) => misses.recovery = None,
            Self::InTime(in_time) => in_time.on_timeout(next),
        }
    }

    /// Whether something sent later was delivered before this transmission.
    pub(super) fn is_overtaken(&self, misses: u8, sent: Sent) -> bool {
        match self {
            Self::Rfc9260(_) => misses > 0,
            Self::InTime(in_time) => sent.transmission < in_time.rack.delivered_below(),
        }
    }

    pub(super) fn in_time(&self) -> Option<&InTime> {
        match self {
            Self::Rfc9260(_) => None,
            Self::InTime(in_time) => Some(in_time),
        }
    }

    pub(super) fn in_time_mut(&mut self) -> Option<&mut InTime> {
        match self {
            Self::Rfc9260(_) => None,
            Self::InTime(in_time) => Some(in_time),
        }
    }
}

/// Losses that were found on one path.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub(crate) struct Losses {
    /// Chunks now marked for retransmission.
    pub(crate) chunks: usize,
    /// Whether they are a new sign of congestion: Fast Recovery begins.
    pub(crate) enters_recovery: bool,
}
