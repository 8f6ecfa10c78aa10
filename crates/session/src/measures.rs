//! What the ends measure and tell each other, and the latency that follows from it.

use std::time::Duration;

use anabranch_media::advice::{LinkQuality, RESIDUAL_LOSS_DEFAULT, advise_latency};
use anabranch_transport::ConnectionStats;
use serde::{Deserialize, Serialize};

use super::OutputReport;

/// Chunks that a path must have carried before its loss is a measure.
const CHUNKS_MIN: u64 = 100;

/// Paths that are told of.
const LINKS_MAX: usize = 16;

/// What the sender measured on each path that it used.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
pub struct Measures {
    /// The paths.
    pub links: Vec<LinkMeasure>,
    /// Pictures that the sender left out since the receiver's output would not have taken them.
    #[serde(default, skip_serializing_if = "is_none")]
    pub left_out_for_output: u64,
}

/// What was measured on one path.
#[derive(Debug, Clone, Copy, PartialEq, Serialize, Deserialize)]
pub struct LinkMeasure {
    /// Smoothed round-trip time, microseconds.
    pub rtt_us: u64,
    /// Its mean deviation.
    pub rtt_variation_us: u64,
    /// Share of the DATA chunks that was lost, 0 to 1.
    pub loss: f64,
}

/// What the receiver tells the sender.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize, Deserialize)]
pub struct Report {
    /// Pieces that came.
    pub pieces: u64,
    /// Of those, pieces that came after their time.
    pub late: u64,
    /// Pieces that did not come though later ones did.
    pub missing: u64,
    /// Items that were given up.
    pub skipped_items: u64,
    /// Bytes of media handed on.
    pub released_bytes: u64,
    /// Bytes that wait for their time.
    pub buffered_bytes: u64,
    /// The receiver's output, while it takes less than comes.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub output: Option<OutputReport>,
}

/// A latency and what it rests on.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Advice {
    /// The latency.
    pub latency: Duration,
    /// The path that needs most of it.
    pub link: LinkMeasure,
}

impl Measures {
    /// What the counters of a connection say.
    #[must_use]
    pub fn of(stats: &ConnectionStats) -> Self {
        let measured = stats.paths.iter().filter_map(|path| {
            let (srtt, rttvar) = path.srtt.zip(path.rttvar)?;
            let loss = path.loss().filter(|_| path.chunks_sent >= CHUNKS_MIN)?;
            let (rtt_us, rtt_variation_us) = (micros(srtt), micros(rttvar));
            // No latency helps against what is lost once and for all.
            let loss = if stats.sends_once { 0.0 } else { loss };
            Some(LinkMeasure { rtt_us, rtt_variation_us, loss })
        });
        Self { links: measured.take(LINKS_MAX).collect(), left_out_for_output: 0 }
    }
}

/// The latency that the slowest and most lossy of the links needs; `None` if nothing was measured.
#[must_use]
pub fn advise(measures: &Measures) -> Option<Advice> {
    let advised = measures.links.iter().map(|link| {
        let quality = LinkQuality {
            rtt: Duration::from_micros(link.rtt_us),
            rtt_variation: Duration::from_micros(link.rtt_variation_us),
            loss: link.loss,
        };
        let latency = advise_latency(&quality, RESIDUAL_LOSS_DEFAULT).latency;
        Advice { latency, link: *link }
    });
    advised.max_by_key(|advice| advice.latency)
}

/// Whether it goes without saying.
#[expect(clippy::trivially_copy_pass_by_ref, reason = "serde passes references")]
const fn is_none(count: &u64) -> bool {
    *count == 0
}

fn micros(span: Duration) -> u64 {
    u64::try_from(span.as_micros()).unwrap_or(u64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_worst_path_decides() {
        let link = |rtt_us, loss| LinkMeasure { rtt_us, rtt_variation_us: 0, loss };
        let good = link(20_000, 0.0);
        let bad = link(50_000, 0.1);
        let advice =
            advise(&Measures { links: vec![good, bad, good], ..Measures::default() }).unwrap();
        assert_eq!((advice.latency, advice.link), (Duration::from_millis(230), bad));
        assert_eq!(advise(&Measures::default()), None);
    }
}
