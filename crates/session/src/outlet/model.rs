//! [`Model`]: what a sender knows of its receiver's output.

use std::time::Duration;

use anabranch_media::piece::Header;
use anabranch_sansio::{Rate, Time};

use super::{OutputReport, behind_max, unit_of};
use crate::dropping::{Dropping, Notice, Prospect, Verdict};
use crate::treatment::MediaClass;

/// A report counts for so long: they come each second at least.
const HEARD_FOR: Duration = Duration::from_secs(3);

/// Leaves out what a receiver's output would not take, before it is sent.
///
/// What is sent now is due there a latency later; what the output will have to write then is what
/// was sent since, less what it takes in that time. So what waits is counted here, and the
/// receiver's own word is needed for the rate only, and for an output that stands still.
#[derive(Debug)]
pub(in super::super) struct Model {
    dropping: Dropping,
    report: Option<(Time, OutputReport)>,
    /// Bytes that will wait there, as of then.
    waiting: f64,
    updated: Time,
}

impl Model {
    pub(in super::super) fn new(enhances_alone: bool) -> Self {
        let dropping = Dropping::of_output(enhances_alone);
        Self { dropping, report: None, waiting: 0.0, updated: Time::ZERO }
    }

    /// The receiver reports its output, or that it takes all.
    pub(in super::super) fn on_report(&mut self, now: Time, report: Option<OutputReport>) {
        self.update(now);
        let takes = |report: &OutputReport| report.takes_bps.map(Rate::bps);
        if self.takes(now).is_none()
            && let Some((rate, report)) =
                report.as_ref().and_then(|report| Some((takes(report)?, report)))
        {
            let behind = Duration::from_millis(report.behind_ms.into());
            self.waiting = rate.bytes_in(behind) as f64;
        }
        self.report = report.map(|report| (now, report));
    }

    /// There is another receiver, or none.
    pub(in super::super) const fn forget(&mut self) {
        self.report = None;
        self.waiting = 0.0;
    }

    /// Whether a piece goes, as far as the output is concerned.
    pub(in super::super) fn goes(
        &mut self,
        now: Time,
        header: &Header,
        class: MediaClass,
        latency: Duration,
    ) -> bool {
        self.update(now);
        let lifetime = behind_max(latency);
        let wait = self.wait(now, lifetime);
        let unit = unit_of(header.track, header.layer, header.frame);
        let prospect = || Some(Prospect { wait: wait?, lifetime });
        self.dropping.decide(now, unit, class, prospect) == Verdict::Goes
    }

    /// So many bytes go to it.
    pub(in super::super) fn on_sent(&mut self, now: Time, bytes: usize) {
        if self.takes(now).is_some() {
            self.waiting += bytes as f64;
        }
    }

    /// A second is over: returns what is to be said of it.
    pub(in super::super) fn tick(&mut self, now: Time) -> Vec<Notice> {
        self.dropping.tick(now)
    }

    /// Pictures of a class that were left out.
    pub(in super::super) const fn left_out(&self, class: MediaClass) -> u64 {
        self.dropping.left_out(class)
    }

    /// What the output takes, if that is less than comes.
    pub(in super::super) fn takes(&self, now: Time) -> Option<Rate> {
        self.heard(now)?.takes_bps.map(Rate::bps)
    }

    fn heard(&self, now: Time) -> Option<&OutputReport> {
        let (at, report) = self.report.as_ref()?;
        (now - *at < HEARD_FOR).then_some(report)
    }

    /// How long what is sent now would wait.
    fn wait(&self, now: Time, lifetime: Duration) -> Option<Duration> {
        let report = self.heard(now)?;
        let behind = Duration::from_millis(report.behind_ms.into());
        // By then it stands still, or nearly.
        let stands = (behind > lifetime).then_some(behind);
        let waits = self.takes(now).map(|rate| rate.time_for(self.waiting as u64));
        stands.max(waits)
    }

    fn update(&mut self, now: Time) {
        let taken = self.takes(now).map_or(f64::INFINITY, |rate| {
            rate.as_bps() as f64 / 8.0 * (now - self.updated).as_secs_f64()
        });
        self.waiting = (self.waiting - taken).max(0.0);
        self.updated = now;
    }
}
