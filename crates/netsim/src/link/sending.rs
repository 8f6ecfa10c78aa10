//! [`Sending`]: the packet that is being put on the wire, by a rate or by a trace.

use std::time::Duration;

use anabranch_sansio::{Rate, Time};

use super::{LinkConfig, Trace};
use crate::{Packet, Traffic};

/// How fast a link with a limit sends.
#[derive(Debug, Clone)]
pub(super) enum Pace {
    Rate(Rate),
    /// A trace, and when it began.
    Trace(Trace, Time),
}

impl Pace {
    /// `None` is unlimited.
    pub(super) fn new(config: &LinkConfig, trace_began: Time) -> Option<Self> {
        let trace = config.trace.clone().map(|trace| Self::Trace(trace, trace_began));
        trace.or_else(|| config.rate.map(Self::Rate))
    }
}

/// The packet that is being put on the wire.
#[derive(Debug)]
pub(super) struct Sending {
    pub(super) packet: Packet,
    /// What is left to send from `since` on, in bits times 10^9: divided by the rate in bit/s, it
    /// gives nanoseconds.
    work: u64,
    since: Time,
    pub(super) done_at: Time,
    /// What of a trace is used then.
    used: Used,
}

/// Opportunities of a trace that are gone, and bytes of the last that can still be used.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Used {
    opportunities: u64,
    bytes_left: u64,
}

/// The work of one byte. 65,535 bytes are under 2^49.
const WORK_PER_BYTE: u64 = 8 * 1_000_000_000;

impl Sending {
    /// Starts with a packet that nothing waited in front of.
    pub(super) fn start(now: Time, packet: Packet, pace: &Pace) -> Self {
        let work = packet.ip_len() as u64 * WORK_PER_BYTE;
        let used = Used::up_to(now, pace);
        let (done_at, used) = done_at(now, work, used, pace);
        Self { packet, work, since: now, done_at, used }
    }

    /// Goes on with the next packet where this one ends.
    pub(super) fn follow(now: Time, used: Used, packet: Packet, pace: &Pace) -> Self {
        let work = packet.ip_len() as u64 * WORK_PER_BYTE;
        let (done_at, used) = done_at(now, work, used, pace);
        Self { packet, work, since: now, done_at, used }
    }

    /// The packet when it has been sent, and what it left of a trace.
    pub(super) fn finish(self) -> (Time, Packet, Used) {
        (self.done_at, self.packet, self.used)
    }

    /// What has been sent stays sent; the rest goes at the new pace.
    pub(super) fn change_pace(&mut self, now: Time, old: Option<&Pace>, new: Option<&Pace>) {
        let done = match old {
            None => 0,
            Some(Pace::Rate(rate)) => {
                let nanos = now.saturating_since(self.since).as_nanos();
                u64::try_from(nanos * u128::from(rate.as_bps())).unwrap_or(u64::MAX)
            }
            Some(pace @ Pace::Trace(..)) => self.done_by_trace(now, pace),
        };
        self.work = self.work.saturating_sub(done);
        self.since = now;
        (self.done_at, self.used) = match new {
            None => (now, Used::default()),
            Some(pace) => done_at(now, self.work, Used::up_to(now, pace), pace),
        };
    }

    pub(super) fn traffic(&self) -> Traffic {
        Traffic { packets: 1, bytes: self.packet.ip_len() as u64 }
    }

    /// The work that a trace did up to now: all but that of the opportunities that are to come.
    fn done_by_trace(&self, now: Time, pace: &Pace) -> u64 {
        let to_come = self.used.opportunities - Used::up_to(now, pace).opportunities;
        let left = (to_come * Trace::BYTES).saturating_sub(self.used.bytes_left);
        self.work.saturating_sub(left * WORK_PER_BYTE)
    }
}

impl Used {
    /// All that came up to now, as nothing waited for it.
    fn up_to(now: Time, pace: &Pace) -> Self {
        match pace {
            Pace::Rate(_) => Self::default(),
            Pace::Trace(trace, began) => {
                let opportunities = trace.passed(now.saturating_since(*began));
                Self { opportunities, bytes_left: 0 }
            }
        }
    }
}

/// When the work is done, and what of a trace is used by then.
fn done_at(since: Time, work: u64, used: Used, pace: &Pace) -> (Time, Used) {
    match pace {
        Pace::Rate(rate) => (at_rate(since, work, *rate), Used::default()),
        Pace::Trace(trace, began) => {
            let bytes = work.div_ceil(WORK_PER_BYTE);
            let Some(more) = bytes.checked_sub(used.bytes_left).filter(|more| *more > 0) else {
                let bytes_left = used.bytes_left - bytes;
                return (since, Used { bytes_left, ..used });
            };
            let opportunities = used.opportunities + more.div_ceil(Trace::BYTES);
            let bytes_left = more.next_multiple_of(Trace::BYTES) - more;
            (*began + trace.at(opportunities - 1), Used { opportunities, bytes_left })
        }
    }
}

/// Rounds up to the nanosecond, so that no packet is faster than the rate.
fn at_rate(since: Time, work: u64, rate: Rate) -> Time {
    match rate.as_bps() {
        0 => Time::MAX,
        bps => since + Duration::from_nanos(work.div_ceil(bps)),
    }
}
