//! [`GapMeter`]: how long the picture stood still, and what it had to do with cuts.

use std::time::Duration;

use anabranch_sansio::Time;
use serde::Serialize;

/// Cuts of a run that are told one by one; of later ones only the longest gap of all.
const HANDOFFS_KEPT: usize = 1_000;

/// What the cut of a link cost.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Handoff {
    /// The link that was cut.
    pub link: String,
    /// Whether data took it then.
    pub carried_data: bool,
    /// When, from the first picture.
    pub cut_at_s: f64,
    /// When it came back.
    pub restored_at_s: Option<f64>,
    /// The longest time between two new pictures from then until it came back.
    pub longest_gap_ms: f64,
    /// The same from then until the next cut.
    pub longest_gap_after_return_ms: Option<f64>,
}

/// Measures the time between new pictures on the screen.
#[derive(Debug, Default)]
pub(super) struct GapMeter {
    last_shown: Option<Time>,
    longest: Duration,
    handoffs: Vec<Handoff>,
}

impl GapMeter {
    /// A link was cut at `elapsed`.
    pub(super) fn on_cut(&mut self, link: &str, carried_data: bool, elapsed: Duration) {
        if self.handoffs.len() == HANDOFFS_KEPT {
            return;
        }
        self.handoffs.push(Handoff {
            link: link.to_owned(),
            carried_data,
            cut_at_s: elapsed.as_secs_f64(),
            restored_at_s: None,
            longest_gap_ms: 0.0,
            longest_gap_after_return_ms: None,
        });
    }

    /// A link came back at `elapsed`.
    pub(super) fn on_restored(&mut self, link: &str, elapsed: Duration) {
        let open = |handoff: &&mut Handoff| handoff.link == link && handoff.restored_at_s.is_none();
        if let Some(handoff) = self.handoffs.iter_mut().rev().find(open) {
            handoff.restored_at_s = Some(elapsed.as_secs_f64());
        }
    }

    /// A new picture is on the screen.
    pub(super) fn on_shown(&mut self, now: Time) {
        self.measure_until(now);
        self.last_shown = Some(now);
    }

    /// Counts how long the last picture has stood by now.
    pub(super) fn measure_until(&mut self, now: Time) {
        let Some(last) = self.last_shown else { return };
        let gap = now - last;
        self.longest = self.longest.max(gap);
        let gap_ms = gap.as_secs_f64() * 1e3;
        let Some(handoff) = self.handoffs.last_mut() else { return };
        let longest = match handoff.restored_at_s {
            None => &mut handoff.longest_gap_ms,
            Some(_) => handoff.longest_gap_after_return_ms.get_or_insert_default(),
        };
        *longest = longest.max(gap_ms);
    }

    pub(super) const fn longest(&self) -> Duration {
        self.longest
    }

    pub(super) fn handoffs(&self) -> &[Handoff] {
        &self.handoffs
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn show(gaps: &mut GapMeter, times_ms: &[u64]) {
        for ms in times_ms {
            gaps.on_shown(Time::from_millis(*ms));
        }
    }

    #[test]
    fn gaps_belong_to_the_cut_before_them() {
        let mut gaps = GapMeter::default();
        show(&mut gaps, &[0, 40, 80]);
        gaps.on_cut("wifi", true, Duration::from_millis(90));
        show(&mut gaps, &[120, 320, 360]);
        gaps.on_restored("mobile", Duration::from_millis(361));
        gaps.on_restored("wifi", Duration::from_millis(362));
        show(&mut gaps, &[400, 490]);
        gaps.on_cut("mobile", false, Duration::from_millis(500));
        show(&mut gaps, &[530]);
        gaps.measure_until(Time::from_millis(830));

        let [first, second] = gaps.handoffs() else { panic!("{gaps:?}") };
        assert_eq!(first.longest_gap_ms, 200.0);
        assert_eq!(first.longest_gap_after_return_ms, Some(90.0));
        assert_eq!((first.cut_at_s, first.restored_at_s), (0.09, Some(0.362)));
        assert_eq!((second.longest_gap_ms, second.restored_at_s), (300.0, None));
        assert_eq!(gaps.longest(), Duration::from_millis(300));
    }

    #[test]
    fn the_number_of_cuts_kept_is_bounded() {
        let mut gaps = GapMeter::default();
        for _ in 0..2 * HANDOFFS_KEPT {
            gaps.on_cut("wifi", true, Duration::ZERO);
        }
        assert_eq!(gaps.handoffs().len(), HANDOFFS_KEPT);
    }
}
