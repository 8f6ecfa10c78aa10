//! How a connection ends: RFC 4340 section 8.3.

use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};

use super::{Connection, Role, State};
use crate::event::CloseReason;
use crate::wire::ResetCode;

/// RFC 4340 section 8.3: "The retransmission timer should initially be set to go off in two
/// round-trip times and should back off to not less than once every 64 seconds".
const INTERVAL_MAX: Duration = Duration::from_secs(64);
/// Round-trip times may be estimated too short.
const INTERVAL_MIN: Duration = Duration::from_millis(100);

/// CLOSEREQ or CLOSING.
#[derive(Debug)]
pub(super) struct Closing {
    pub(super) must_send: bool,
    timer: Time,
    interval: Duration,
    give_up_at: Time,
}

impl Closing {
    pub(super) fn poll_timeout(&self) -> Wakeup {
        Wakeup { at: self.timer.min(self.give_up_at), why: "Close retransmission" }
    }
}

impl Connection {
    /// Sends what waits, and then closes. A server has its client hold TIMEWAIT.
    pub fn close(&mut self, now: Time) {
        match self.state {
            State::PartOpen(_) | State::Open => {
                self.is_finishing = true;
                self.finish(now);
            }
            State::Request(_) => self.abort(now),
            State::Respond { .. } => {
                self.reset(now, ResetCode::CLOSED, [0; 3], CloseReason::Finished);
            }
            State::CloseReq(_) | State::Closing(_) | State::TimeWait { .. } | State::Closed => {}
        }
    }

    /// Ends the connection at once, and tells the peer.
    pub fn abort(&mut self, now: Time) {
        if !self.is_closed() {
            self.reset(now, ResetCode::ABORTED, [0; 3], CloseReason::Aborted);
        }
    }

    /// Goes on to close if all has been sent.
    pub(super) fn finish(&mut self, now: Time) {
        if self.is_finishing && self.is_connected() && self.outgoing.is_empty() {
            let closing = self.closing(now);
            // RFC 4340 section 8.3: "The sequence DCCP-CloseReq, DCCP-Close, DCCP-Reset is used
            // when the server decides to close the connection but doesn't want to hold TIMEWAIT
            // state".
            self.state = match self.role {
                Role::Server => State::CloseReq(closing),
                Role::Client => State::Closing(closing),
            };
        }
    }

    /// A CloseReq has come.
    pub(super) fn on_close_req(&mut self, now: Time) {
        if matches!(self.state, State::PartOpen(_) | State::Open) {
            self.outgoing.clear();
            self.outgoing_len = 0;
            self.state = State::Closing(self.closing(now));
        } else if let State::Closing(closing) = &mut self.state {
            // Our Close was lost.
            closing.must_send = true;
        }
    }

    fn closing(&self, now: Time) -> Closing {
        let interval = (self.rtt() * 2).clamp(INTERVAL_MIN, INTERVAL_MAX);
        // As long as a client waits in PARTOPEN.
        let give_up_at = now + self.config.segment_lifetime * 4;
        Closing { must_send: true, timer: now + interval, interval, give_up_at }
    }

    pub(super) fn handle_closing_timeout(&mut self, now: Time) {
        let (State::CloseReq(closing) | State::Closing(closing)) = &mut self.state else { return };
        if closing.give_up_at <= now {
            self.reset(now, ResetCode::ABORTED, [0; 3], CloseReason::TimedOut);
        } else if closing.timer <= now {
            closing.interval = (closing.interval * 2).min(INTERVAL_MAX);
            closing.timer = now + closing.interval;
            closing.must_send = true;
        }
    }
}
