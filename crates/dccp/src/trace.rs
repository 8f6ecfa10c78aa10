//! [`Trace`]: what a connection did and why, as records; `docs/trace.md` lists them.

use anabranch_sansio::{FourTuple, Rate, Time, TraceLog, TraceRecord, TraceValue};

use crate::stats::CongestionStats;
use crate::wire::Packet;

/// Records of one connection, while somebody wants them.
#[derive(Debug, Default)]
pub(crate) struct Trace {
    log: TraceLog,
    reported: Option<Reported>,
}

/// What has no moment of its own: it is compared, and reported where it has changed.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Reported {
    /// The state by its name in RFC 4340 section 4.3.
    pub(crate) state: &'static str,
    pub(crate) path: FourTuple,
    pub(crate) congestion: CongestionStats,
}

impl Trace {
    pub(crate) fn set(&mut self, on: bool) {
        self.log.set(on);
        self.reported = None;
    }

    pub(crate) const fn is_on(&self) -> bool {
        self.log.is_on()
    }

    pub(crate) fn pop(&mut self) -> Option<TraceRecord> {
        self.log.pop()
    }

    pub(crate) fn on_sent(&mut self, now: Time, packet: &Packet<'_>) {
        self.log.push(|| of_packet(now, "dccp:packet_sent", packet));
    }

    pub(crate) fn on_received(&mut self, now: Time, packet: &Packet<'_>) {
        self.log.push(|| of_packet(now, "dccp:packet_received", packet));
    }

    /// One that came and is not looked at: its numbers or its type are wrong.
    pub(crate) fn on_invalid(&mut self, now: Time, packet: &Packet<'_>) {
        self.log.push(|| of_packet(now, "dccp:packet_invalid", packet));
    }

    pub(crate) fn on_timer(&mut self, now: Time, timer: &'static str) {
        self.log.push(|| TraceRecord::new(now, "dccp:timer_expired").with("timer", timer));
    }

    /// Records what has changed since it was told last.
    pub(crate) fn report(&mut self, now: Time, mut is: Reported) {
        let congestion = is.congestion;
        // Whole bytes: a fraction of one is no news, and a mean size changes with each packet.
        is.congestion.rate = congestion.rate.trunc();
        is.congestion.segment_size = 0.0;
        let was = self.reported.replace(is);
        let record = |name| TraceRecord::new(now, name);
        if was.is_none_or(|was| was.path != is.path) {
            let path = || record("dccp:connection_addresses_updated");
            let path = || path().with("local", is.path.local.to_string());
            self.log.push(|| path().with("remote", is.path.remote.to_string()));
        }
        if was.is_none_or(|was| was.state != is.state) {
            self.log.push(|| record("dccp:connection_state_updated").with("state", is.state));
        }
        if was.is_none_or(|was| was.congestion != is.congestion) {
            self.log.push(|| of_congestion(record("dccp:congestion_updated"), &congestion));
        }
    }
}

fn of_packet(now: Time, name: &'static str, packet: &Packet<'_>) -> TraceRecord {
    TraceRecord::new(now, name)
        .with("type", packet.kind.packet_type().name())
        .with("sequence_number", packet.sequence_number.value())
        .with("bytes", packet.header_len() + packet.data.len())
        .with("data_bytes", packet.data.len())
}

/// Each CCID has measures of its own.
fn of_congestion(record: TraceRecord, congestion: &CongestionStats) -> TraceRecord {
    let record = record.with("ccid", congestion.ccid).with_some("srtt_ms", congestion.rtt);
    let record = record.with("timeouts", congestion.timeouts);
    match congestion.ccid {
        2 => record
            .with("window_packets", congestion.window)
            .with("congestion_events", congestion.congestion_events),
        _ => record
            .with("allowed_bps", Rate::bps((congestion.rate * 8.0) as u64))
            .with("loss_event_rate", TraceValue::Number(congestion.loss_event_rate))
            .with("segment_bytes", congestion.segment_size as u64),
    }
}
