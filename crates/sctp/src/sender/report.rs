//! How the sender stands, for statistics and the trace.

use super::{Context, DataSender};
use crate::path::{Origin, Path};
use crate::path_name::PathSlot;
use crate::stats::PathReport;
use crate::trace::TraceKind;

impl DataSender {
    pub(crate) fn report_path(&self, path: &Path) -> PathReport {
        let metrics = path.congestion.metrics();
        PathReport {
            id: path.id,
            tuple: path.tuple,
            state: path.state,
            is_wanted: path.origin == Origin::User,
            is_spared: path.is_spared,
            is_primary: path.slot == self.paths.primary(),
            is_current: path.slot == self.paths.current(),
            srtt: path.rtt.srtt(),
            rttvar: path.rtt.rttvar(),
            latest_rtt: path.rtt.latest(),
            lowest_rtt: path.rtt.lowest(),
            rto: path.rtt.rto(),
            window: metrics.window,
            ssthresh: metrics.ssthresh,
            in_flight: self.outstanding.flight(path.slot),
            error_count: path.error_count,
            counters: path.stats,
        }
    }

    /// What congestion control makes of a path now.
    pub(super) fn trace_window(&self, context: &mut Context<'_>, slot: PathSlot) {
        if !context.journal.trace.is_on() {
            return;
        }
        let target = self.paths.at(slot);
        let metrics = target.congestion.metrics();
        let kind = TraceKind::Window {
            path: target.id,
            window: metrics.window,
            ssthresh: metrics.ssthresh,
            in_flight: self.outstanding.flight(slot),
            srtt: target.rtt.srtt(),
            rto: target.rtt.rto(),
            pacing_rate: target.congestion.pacing_rate(),
            bandwidth: target.congestion.bandwidth(),
        };
        context.journal.trace(context.now, kind);
    }
}
