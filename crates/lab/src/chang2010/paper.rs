//! The values of Chang 2010.

/// Thresholds of the monitor, in milliseconds: table 3's, and shorter ones.
pub const THRESHOLDS_MS: [u32; 10] =
    [30_000, 4_000, 3_000, 2_000, 1_500, 1_200, 1_000, 800, 500, 300];

/// The shortest threshold with which the paper's handoff works, in milliseconds.
pub(super) const SHORTEST_MS: u32 = 1_500;

/// Table 3: the gap in seconds by threshold in milliseconds, of each handoff. The first is "SCTP
/// default setting", for which no monitor is needed.
pub(super) const GAPS_S: [(u32, [f64; 4]); 5] = [
    (30_000, [47.849, 47.135, 48.274, 46.689]),
    (4_000, [4.584, 4.518, 4.538, 4.509]),
    (3_000, [3.346, 3.341, 3.374, 3.322]),
    (2_000, [2.534, 2.521, 2.556, 2.515]),
    (1_500, [1.865, 1.843, 1.874, 1.829]),
];

/// Table 3, for the default setting.
pub(super) const DEFAULT_MS: u32 = 30_000;

/// Table 4: video and voice in KB/s, the gap in seconds, loss in per cent.
pub(super) struct Compared {
    pub(super) video_kbytes: f64,
    pub(super) voice_kbytes: Option<f64>,
    pub(super) gap_s: f64,
    pub(super) lost_percent: f64,
}

/// Table 4, USHA; its throughput is of both.
pub(super) const USHA: Compared =
    Compared { video_kbytes: 550.16, voice_kbytes: None, gap_s: 2.5, lost_percent: 3.26 };
/// Table 4, SCTP-IHU.
pub(super) const SCTP_IHU: Compared = Compared {
    video_kbytes: 1_237.42,
    voice_kbytes: Some(117.0),
    gap_s: 1.865,
    lost_percent: 1.93,
};

/// The paper's gap of a handoff, counted from 1.
pub(super) fn gap_s(threshold_ms: u32, handoff: usize) -> Option<f64> {
    let row = GAPS_S.iter().find(|(ms, _)| *ms == threshold_ms)?;
    row.1.get(handoff.checked_sub(1)?).copied()
}

/// Its mean over the handoffs.
pub(super) fn mean_gap_s(threshold_ms: u32) -> Option<f64> {
    let row = GAPS_S.iter().find(|(ms, _)| *ms == threshold_ms)?;
    Some(row.1.iter().sum::<f64>() / row.1.len() as f64)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Table 3's column "Mean".
    #[test]
    fn the_means_are_the_papers() {
        let means = [30_000, 4_000, 3_000, 2_000, 1_500].map(|ms| mean_gap_s(ms).unwrap());
        for (mean, paper) in means.into_iter().zip([47.487, 4.537, 3.346, 2.532, 1.853]) {
            assert!((mean - paper).abs() < 6e-4, "{mean}: {paper}");
        }
    }
}
