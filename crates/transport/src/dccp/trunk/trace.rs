//! What a trunk did and why, as records; `docs/trace.md` lists them.

use anabranch_sansio::{Time, TraceRecord};

use super::super::flight::Sent;
use super::{Member, Trunk};
use crate::{PathState, RateSignal};

/// Why datagrams are given up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum LossTrigger {
    /// Later ones were acknowledged.
    Acknowledgements,
    /// Their DCCP connection is no more.
    ConnectionClosed,
}

impl LossTrigger {
    const fn name(self) -> &'static str {
        match self {
            Self::Acknowledgements => "acknowledgements",
            Self::ConnectionClosed => "connection closed",
        }
    }
}

impl Trunk {
    pub(in super::super) fn set_tracing(&mut self, on: bool) {
        self.trace.set(on);
        let paths: Vec<u16> = self.paths.keys().copied().collect();
        paths.into_iter().for_each(|path| self.trace_addresses(path));
    }

    pub(in super::super) fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.trace.pop()
    }

    /// The path of a member.
    pub(in super::super) fn path_of(&self, number: u32) -> Option<u16> {
        self.members.get(&number).map(|member| member.path)
    }

    pub(super) fn trace_addresses(&mut self, path: u16) {
        let (now, Some(tuple)) = (self.now, self.paths.get(&path).map(|path| path.tuple)) else {
            return;
        };
        self.trace.push(|| {
            let record = TraceRecord::new(now, "dccp:path_updated").with("path", path);
            let record = record.with("local", tuple.local.to_string());
            record.with("remote", tuple.remote.to_string())
        });
    }

    pub(super) fn trace_state(&mut self, path: u16, state: PathState) {
        let now = self.now;
        self.trace.push(|| {
            let record = TraceRecord::new(now, "dccp:path_state_updated").with("path", path);
            record.with("state", state.name())
        });
    }

    /// A part of a message went out, as the last datagram of a member's flight.
    pub(super) fn trace_data(&mut self, now: Time, number: u32, part: &DataPart) {
        let Some(member) = self.members.get(&number) else { return };
        let of = |name| of_member(now, name, number, member);
        self.trace.push(|| {
            let record = of("dccp:data_sent").with("stream", part.stream.0);
            record.with("bytes", part.len).with("retransmission", part.is_again)
        });
    }

    pub(super) fn trace_acknowledged(&mut self, now: Time, number: u32, bytes: u64) {
        let Some(member) = self.members.get(&number).filter(|_| self.trace.is_on()) else { return };
        let report = self.paths.get(&member.path).map(|path| self.report(member.path, path));
        let Some(report) = report else { return };
        let of = |name| of_member(now, name, number, member);
        self.trace.push(|| of("dccp:data_acknowledged").with("bytes", bytes));
        self.trace.push(|| {
            TraceRecord::new(now, "dccp:window_updated")
                .with("path", member.path)
                .with("window_bytes", report.window)
                .with("in_flight_bytes", report.in_flight)
                .with_some("srtt_ms", report.srtt)
        });
    }

    pub(super) fn trace_lost(&mut self, path: u16, lost: &[Sent], trigger: LossTrigger) {
        let datagrams = lost.iter().filter(|sent| sent.is_data()).count();
        if datagrams == 0 {
            return;
        }
        let now = self.now;
        self.trace.push(|| {
            let record = TraceRecord::new(now, "dccp:data_lost").with("path", path);
            record.with("datagrams", datagrams).with("trigger", trigger.name())
        });
    }

    pub(super) fn trace_rate(&mut self, now: Time, rate: RateSignal) {
        self.trace.push(|| {
            TraceRecord::new(now, "dccp:rate_updated")
                .with("carries_bps", rate.carries)
                .with("at_least", rate.is_at_least)
                .with("queued_bytes", rate.queued)
        });
    }
}

/// A part of a message that goes out.
#[derive(Debug, Clone, Copy)]
pub(super) struct DataPart {
    pub(super) stream: crate::StreamId,
    pub(super) len: usize,
    pub(super) is_again: bool,
}

fn of_member(now: Time, name: &'static str, number: u32, member: &Member) -> TraceRecord {
    TraceRecord::new(now, name).with("path", member.path).with("member", number)
}
