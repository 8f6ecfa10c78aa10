//! [`PathMeter`]: what each path carries now, for the page's panel.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_call::{PathNote, PathUse};
use anabranch_sansio::{PathId, Rate};
use anabranch_transport::{PathReport, PathState};

use super::page::protocol::PathInfo;

/// What paths had carried when they were last looked at.
#[derive(Debug, Default)]
pub(super) struct PathMeter {
    before: BTreeMap<PathId, Carried>,
}

#[derive(Debug, Clone, Copy)]
struct Carried {
    sent: u64,
    received: u64,
    chunks: u64,
}

impl PathMeter {
    /// Of a path, over which this end sends `sends`, if anything; it was looked at `every` before.
    pub(super) fn info(
        &mut self,
        name: &str,
        note: &PathNote,
        report: &PathReport,
        (sends, every): (&[&str], Duration),
    ) -> PathInfo {
        let now = Carried {
            sent: report.bytes_sent,
            received: report.bytes_received,
            chunks: report.chunks_sent,
        };
        let before = self.before.insert(report.id, now).unwrap_or(now);
        let rate = |now: u64, before: u64| kbps(Rate::of(now.saturating_sub(before), every));
        let carried = if now.chunks > before.chunks { sends } else { &[] };
        PathInfo {
            id: report.id.0,
            name: name.to_owned(),
            local: report.tuple.local.to_string(),
            remote: report.tuple.remote.to_string(),
            state: state_name(report.state, note.ours).to_owned(),
            r#use: note.ours,
            primary: report.is_primary,
            rtt_ms: report.srtt.map(millis),
            loss_percent: report.loss().map(|loss| loss * 100.0),
            sends_kbps: rate(now.sent, before.sent),
            receives_kbps: rate(now.received, before.received),
            carries: carried.iter().map(|&what| what.to_owned()).collect(),
            handoff_ms: note.handoff.map(millis),
        }
    }
}

/// What is closed may still answer what the peer sends over it.
const fn state_name(state: PathState, wanted: PathUse) -> &'static str {
    match (wanted, state) {
        (PathUse::Never, _) => "closed",
        (PathUse::Use | PathUse::Spare, PathState::Active) => "active",
        (PathUse::Use | PathUse::Spare, PathState::PotentiallyFailed) => "potentially_failed",
        (PathUse::Use | PathUse::Spare, PathState::Inactive) => "inactive",
        (PathUse::Use | PathUse::Spare, PathState::Unconfirmed) => "unconfirmed",
    }
}

pub(super) fn millis(span: Duration) -> f64 {
    span.as_secs_f64() * 1e3
}

pub(super) fn kbps(rate: Rate) -> f64 {
    rate.as_bps() as f64 / 1e3
}
