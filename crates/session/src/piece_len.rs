//! [`PieceLen`]: how long the pieces of a transport stream are.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_media::advice::{LinkQuality, RESIDUAL_LOSS_DEFAULT, residual_loss};
use anabranch_media::piece::MAX_MESSAGE;
use anabranch_sansio::PathId;
use anabranch_transport::{Connection, PathReport};

/// Packets that a path must have carried before its loss is a measure.
const CHUNKS_MIN: u64 = 100;

/// The loss that is reckoned with before there is any: a radio link gives no notice.
const LOSS_MIN: f64 = 0.01;

/// What a measured loss keeps of itself when the next one is less.
const MEMORY: f64 = 0.9;

/// Packets of a long piece: at 10 Mbit/s, what comes while the packetizer holds the first.
const PACKETS_OF_LONG_PIECE: f64 = 5.0;

/// Decides how long the pieces of a transport stream are.
///
/// A piece is one message, and lost with any of its packets. Long ones cost less: they fill their
/// packets, and leave together. Where the latency leaves room for repetition after repetition, none
/// is lost and long ones are right; where it does not, a piece is one packet, so that a packet that
/// came too late takes no other along. What is left over after all repetitions follows from round
/// trip, loss and latency, see [`residual_loss`]. Loss that rises counts at once, and is forgotten
/// slowly.
#[derive(Debug, Default)]
pub(super) struct PieceLen {
    paths: BTreeMap<PathId, Measured>,
}

#[derive(Debug, Clone, Copy, Default)]
struct Measured {
    chunks_sent: u64,
    chunks_lost: u64,
    loss: f64,
}

impl PieceLen {
    /// The limit on pieces from now on. To be asked once a second.
    pub(super) fn choose(&mut self, connection: &dyn Connection, latency: Duration) -> usize {
        if connection.sends_once() {
            return connection.whole_message_max();
        }
        let reports = connection.stats().paths;
        self.paths.retain(|id, _| reports.iter().any(|report| report.id == *id));
        // Where the network carries less than there is to send, the headers of short ones cost more
        // than the losses that have not come.
        let is_full = connection.rate().is_some_and(|signal| !signal.is_at_least);
        let loss_min = if is_full { 0.0 } else { LOSS_MIN };
        let mut needs_short = false;
        for report in &reports {
            needs_short |= self.needs_short(report, latency, loss_min);
        }
        if needs_short { connection.whole_message_max() } else { MAX_MESSAGE }
    }

    /// Whether a path loses too many long pieces. Before anything was measured, it does.
    fn needs_short(&mut self, report: &PathReport, latency: Duration, loss_min: f64) -> bool {
        let measured = self.paths.entry(report.id).or_default();
        let loss = measured.update(report.chunks_sent, report.chunks_lost).max(loss_min);
        let Some((rtt, rtt_variation)) = report.srtt.zip(report.rttvar) else {
            return report.is_current;
        };
        let link = LinkQuality { rtt, rtt_variation, loss };
        PACKETS_OF_LONG_PIECE * residual_loss(&link, latency) > RESIDUAL_LOSS_DEFAULT
    }
}

impl Measured {
    /// Takes the counters in; returns the loss.
    fn update(&mut self, chunks_sent: u64, chunks_lost: u64) -> f64 {
        let sent = chunks_sent.saturating_sub(self.chunks_sent);
        if sent >= CHUNKS_MIN {
            let lost = chunks_lost.saturating_sub(self.chunks_lost);
            self.loss = (lost as f64 / sent as f64).max(self.loss * MEMORY);
            (self.chunks_sent, self.chunks_lost) = (chunks_sent, chunks_lost);
        }
        self.loss
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn loss_that_rises_counts_at_once_and_is_forgotten_slowly() {
        let mut measured = Measured::default();
        assert_eq!(measured.update(99, 50), 0.0, "too few to tell");
        assert_eq!(measured.update(1_000, 0), 0.0);
        assert_eq!(measured.update(2_000, 100), 0.1);
        assert!((measured.update(3_000, 100) - 0.09).abs() < 1e-9);
        assert_eq!(measured.update(4_000, 300), 0.2);
    }
}
