//! Statistics of an association.

use anabranch_wire::StreamId;

use super::Association;
use crate::path::{Origin, Path};
use crate::stats::{AssociationStats, PathReport, StreamStats};

impl Association {
    pub(super) fn report(&self) -> AssociationStats {
        let received = self.receiver.as_ref().map(|receiver| receiver.stats).unwrap_or_default();
        AssociationStats {
            duplicates_received: received.duplicates,
            dropped_no_room: received.dropped_no_room,
            messages_received: received.messages,
            bytes_received: received.bytes,
            outstanding_chunks: self.outstanding.len(),
            in_flight: self.outstanding.bytes_in_flight(),
            queued: self.queue.queued(),
            peer_window: self.window.rwnd,
            held: self.receiver.as_ref().map_or(0, |receiver| receiver.held().cost()),
            rate: self.rate(),
            streams: self.stream_totals(),
            paths: self.paths.iter().map(|path| self.report_path(path)).collect(),
            path_totals: self.paths.totals(),
            ..self.stats.clone()
        }
    }

    pub(super) fn stream_totals(&self) -> StreamStats {
        let mut total = self.stats.streams;
        for stream in 0..self.queue.stream_count() {
            if let Some(stats) = self.queue.stream_stats(StreamId(stream)) {
                total.add(stats);
            }
        }
        total
    }

    pub(super) fn report_path(&self, path: &Path) -> PathReport {
        let metrics = path.congestion.metrics();
        PathReport {
            id: path.id,
            tuple: path.tuple,
            state: path.state,
            is_wanted: path.origin == Origin::User,
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
}
