//! Ending an association (RFC 9260 section 9).

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{
    Abort, EncodeChunk, ErrorCause, ErrorCauses, Shutdown, ShutdownAck, ShutdownComplete,
};

use super::control::Bundling;
use super::handshake::{CookieEchoed, CookieWait};
use super::{Association, State};
use crate::causes::PeerCauses;
use crate::earliest::Earliest;
use crate::event::{CloseReason, Event};
use crate::path_name::PathSlot;
use crate::sequence::extend;

/// T2-shutdown and T5-shutdown-guard.
#[derive(Debug, Clone, Copy)]
pub(super) struct ShutdownTimer {
    t2: Time,
    rto: Duration,
    retransmissions: u32,
    /// RFC 9260 section 9.2: "The sender of the SHUTDOWN chunk MAY also start an overall guard
    /// timer T5-shutdown-guard to bound the overall time for the shutdown sequence." and "it SHOULD
    /// be set to the RECOMMENDED value of 5 times 'RTO.Max'". Who sent none has no guard.
    t5_guard: Option<Time>,
}

impl Association {
    /// Ends the association in order: what was handed over is still delivered, then both sides
    /// close. [`Event::Closed`] follows. Before the handshake is done, what was handed over waits
    /// for its end; if there is nothing, the association ends at once.
    pub fn shutdown(&mut self, now: Time) {
        match &mut self.state {
            State::Established => {
                self.state = State::ShutdownPending;
                self.advance_shutdown(now);
            }
            State::CookieWait(CookieWait { shuts_down, .. })
            | State::CookieEchoed(CookieEchoed { shuts_down, .. })
                if !self.sender.queue().is_empty() =>
            {
                *shuts_down = true;
            }
            State::CookieWait(_) | State::CookieEchoed(_) => {
                self.abort("shut down before the association was set up");
            }
            // RFC 9260 section 9.2: "Once an endpoint has reached the SHUTDOWN-RECEIVED state, it
            // MUST ignore ULP shutdown requests".
            State::ShutdownPending
            | State::ShutdownSent(_)
            | State::ShutdownReceived
            | State::ShutdownAckSent(_)
            | State::Closed => {}
        }
    }

    /// Ends the association at once; undelivered data is dropped on both sides. The peer is told
    /// `reason`.
    pub fn abort(&mut self, reason: &str) {
        if self.is_closed() {
            return;
        }
        // RFC 9260 section 9.1: "If the association is aborted on request of the upper layer, a
        // "User-Initiated Abort" error cause (see Section 3.3.10.12) SHOULD be present in the ABORT
        // chunk."
        let mut causes = Vec::new();
        ErrorCause::UserInitiatedAbort(truncate(reason)).encode(&mut causes);
        self.send_abort(self.sender.paths.current(), &causes);
        self.close(CloseReason::Aborted);
    }

    /// The peer broke a rule that cannot be overlooked.
    pub(super) fn abort_for(&mut self, cause: &ErrorCause<'_>, what: &str) {
        self.abort_with(cause, CloseReason::PeerMisbehaved { what: what.to_owned() });
    }

    pub(super) fn abort_with(&mut self, cause: &ErrorCause<'_>, reason: CloseReason) {
        let mut causes = Vec::new();
        cause.encode(&mut causes);
        self.send_abort(self.sender.paths.current(), &causes);
        self.close(reason);
    }

    pub(super) fn send_abort(&mut self, path: PathSlot, causes: &[u8]) {
        self.control.clear();
        let tag = self.identity.peer_tag;
        // Before the peer announced its tag it has nothing to abort.
        if tag.0 == 0 {
            return;
        }
        let abort = Abort { tag_reflected: false, causes: ErrorCauses::from_bytes(causes) };
        self.queue_control(path, Bundling::Alone(tag), &abort);
    }

    /// RFC 9260 section 9.1: "the receiving endpoint MUST remove the association from its record
    /// and SHOULD report the termination to its upper layer. If a "User-Initiated Abort" error
    /// cause is present ..., the Upper Layer Abort Reason SHOULD be made available to the upper
    /// layer."
    pub(super) fn on_abort(&mut self, abort: &Abort<'_>) {
        let is_about_key = self.is_about_key(abort.causes);
        let refusal = self.refusal_of_keys(abort.causes);
        self.control.clear();
        self.close(if let Some(refusal) = refusal {
            refusal
        } else if is_about_key {
            CloseReason::KeyRefused
        } else {
            CloseReason::AbortedByPeer { causes: PeerCauses::of(abort.causes) }
        });
    }

    /// Goes on with a shutdown when all data is delivered.
    pub(super) fn advance_shutdown(&mut self, now: Time) {
        if !self.is_drained() {
            return;
        }
        match self.state {
            State::ShutdownPending => {
                let guard = now + self.config.timers.rto_max.saturating_mul(5);
                self.state = State::ShutdownSent(self.shutdown_timer_from(now, Some(guard)));
                self.send_shutdown(self.sender.paths.current());
            }
            State::ShutdownReceived => {
                self.state = State::ShutdownAckSent(self.shutdown_timer_from(now, None));
                self.resend_shutdown_ack(self.sender.paths.current());
            }
            State::CookieWait(_)
            | State::CookieEchoed(_)
            | State::Established
            | State::ShutdownSent(_)
            | State::ShutdownAckSent(_)
            | State::Closed => {}
        }
    }

    fn shutdown_timer_from(&self, now: Time, t5_guard: Option<Time>) -> ShutdownTimer {
        let rto = self.sender.paths.at(self.sender.paths.current()).rtt.rto();
        ShutdownTimer { t2: now + rto, rto, retransmissions: 0, t5_guard }
    }

    fn send_shutdown(&mut self, path: PathSlot) {
        let Some(receiver) = self.receiver.as_mut() else { return };
        let shutdown = Shutdown { cumulative_tsn_ack: receiver.tracker.cumulative_tsn() };
        // "To indicate any gaps in TSN, the endpoint MAY also bundle a SACK chunk with the SHUTDOWN
        // chunk in the same SCTP packet."
        if receiver.tracker.has_gaps() {
            receiver.tracker.demand_sack();
        }
        self.queue_control(path, Bundling::Bundled, &shutdown);
    }

    pub(super) fn resend_shutdown_ack(&mut self, path: PathSlot) {
        self.queue_control(self.reply_path(path), Bundling::Bundled, &ShutdownAck);
    }

    /// RFC 9260 section 9.2: "While in the SHUTDOWN-SENT state, the SHUTDOWN chunk sender MUST
    /// immediately respond to each received packet containing one or more DATA chunks with a
    /// SHUTDOWN chunk and restart the T2-shutdown timer."
    ///
    /// It goes back over the path of the data: as long as data restarts the timer, nothing else
    /// would notice that the other path is dead.
    pub(super) fn answer_data_with_shutdown(&mut self, now: Time, path: PathSlot) {
        if let State::ShutdownSent(timer) = &mut self.state {
            timer.t2 = now + timer.rto;
            self.send_shutdown(self.reply_path(path));
        }
    }

    /// RFC 9260 section 9.2: "The reception of any packet from its peer (i.e., as the peer sends
    /// all of its queued DATA chunks) SHOULD clear the endpoint's retransmission count and restart
    /// the T2-shutdown timer".
    ///
    /// The timer is restarted by DATA, which is answered with another SHUTDOWN. Heartbeats may come
    /// more often than it expires, and of a peer that never got the SHUTDOWN.
    pub(super) const fn on_sign_of_life(&mut self) {
        if let State::ShutdownSent(timer) = &mut self.state {
            timer.retransmissions = 0;
        }
    }

    pub(super) fn on_shutdown(&mut self, now: Time, path: PathSlot, shutdown: &Shutdown) {
        match self.state {
            State::Established | State::ShutdownPending | State::ShutdownReceived => {
                if matches!(self.state, State::Established) {
                    self.journal.tell(Event::PeerClosing);
                }
                self.state = State::ShutdownReceived;
                self.take_shutdown_ack_point(now, path, shutdown);
                self.advance_shutdown(now);
            }
            // "If an endpoint is in the SHUTDOWN-SENT state and receives a SHUTDOWN chunk from its
            // peer, the endpoint SHOULD respond immediately with a SHUTDOWN ACK chunk to its peer
            // and move into the SHUTDOWN-ACK-SENT state, restarting its T2-shutdown timer."
            State::ShutdownSent(ShutdownTimer { t5_guard, .. }) => {
                self.state = State::ShutdownAckSent(self.shutdown_timer_from(now, t5_guard));
                self.resend_shutdown_ack(path);
            }
            State::ShutdownAckSent(_) => self.resend_shutdown_ack(path),
            // "If a SHUTDOWN chunk is received in the COOKIE-WAIT or COOKIE ECHOED state, the
            // SHUTDOWN chunk SHOULD be silently discarded."
            State::CookieWait(_) | State::CookieEchoed(_) | State::Closed => {}
        }
    }

    /// A SHUTDOWN acknowledges as a SACK without gap blocks does.
    fn take_shutdown_ack_point(&mut self, now: Time, path: PathSlot, shutdown: &Shutdown) {
        let point = self.sender.outstanding().cumulative_ack_point();
        let acked = extend(point, shutdown.cumulative_tsn_ack);
        // A value that was never sent says nothing: some stacks fill in a number of their own when
        // they have received no data.
        if acked <= point || acked >= self.sender.outstanding().next_sequence() {
            return;
        }
        let a_rwnd = u32::try_from(
            self.sender.peer_window() + self.sender.outstanding().bytes_outstanding(),
        );
        self.on_sack(
            now,
            path,
            &anabranch_wire::Sack {
                cumulative_tsn_ack: shutdown.cumulative_tsn_ack,
                a_rwnd: a_rwnd.unwrap_or(u32::MAX),
                gap_ack_blocks: anabranch_wire::Items::default(),
                duplicate_tsns: anabranch_wire::Items::default(),
                data_packets: 1,
            },
        );
    }

    pub(super) fn on_shutdown_ack(&mut self, path: PathSlot) {
        match self.state {
            // "Upon the receipt of the SHUTDOWN ACK chunk, the sender of the SHUTDOWN chunk MUST
            // stop the T2-shutdown timer, send a SHUTDOWN COMPLETE chunk to its peer, and remove
            // all record of the association."
            State::ShutdownSent(_) | State::ShutdownAckSent(_) => {
                self.control.clear();
                let complete = ShutdownComplete { tag_reflected: false };
                let tag = self.identity.peer_tag;
                self.queue_control(self.reply_path(path), Bundling::Alone(tag), &complete);
                self.close(CloseReason::Shutdown);
            }
            // In the handshake it is out of the blue, and the endpoint answers it.
            State::CookieWait(_)
            | State::CookieEchoed(_)
            | State::Established
            | State::ShutdownPending
            | State::ShutdownReceived
            | State::Closed => {}
        }
    }

    pub(super) fn on_shutdown_complete(&mut self) {
        // RFC 9260 section 8.5.1, C: "An endpoint MUST ignore the SHUTDOWN COMPLETE chunk if it is
        // not in the SHUTDOWN-ACK-SENT state."
        if matches!(self.state, State::ShutdownAckSent(_)) {
            self.control.clear();
            self.close(CloseReason::Shutdown);
        }
    }

    /// Whether a SHUTDOWN ACK for this association is out of the blue (RFC 9260 section 8.5.1, E).
    pub(crate) const fn is_handshaking(&self) -> bool {
        matches!(self.state, State::CookieWait(_) | State::CookieEchoed(_))
    }

    /// RFC 9260 section 9.2: an INIT in SHUTDOWN-ACK-SENT means that the SHUTDOWN COMPLETE was
    /// lost. Returns whether that is so; then the SHUTDOWN ACK goes out again.
    pub(crate) fn answers_init_with_shutdown_ack(&mut self) -> bool {
        let is_so = matches!(self.state, State::ShutdownAckSent(_));
        if is_so {
            self.resend_shutdown_ack(self.sender.paths.current());
        }
        is_so
    }

    pub(super) fn offer_shutdown_timers(&self, earliest: &mut Earliest) {
        match &self.state {
            State::ShutdownSent(timer) | State::ShutdownAckSent(timer) => {
                earliest.offer(Some(timer.t2), "T2-shutdown");
                earliest.offer(timer.t5_guard, "T5-shutdown-guard");
            }
            State::CookieWait(_)
            | State::CookieEchoed(_)
            | State::Established
            | State::ShutdownPending
            | State::ShutdownReceived
            | State::Closed => {}
        }
    }

    pub(super) fn on_shutdown_timer(&mut self, now: Time) {
        let (State::ShutdownSent(timer) | State::ShutdownAckSent(timer)) = &mut self.state else {
            return;
        };
        if timer.t5_guard.is_some_and(|at| at <= now) {
            self.send_abort(self.sender.paths.current(), &[]);
            return self.close(CloseReason::ShutdownTimeout);
        }
        if timer.t2 > now {
            return;
        }
        timer.retransmissions += 1;
        timer.rto = timer.rto.saturating_mul(2).min(self.config.timers.rto_max);
        timer.t2 = now + timer.rto;
        if timer.retransmissions > self.config.recovery.association_max_retrans {
            return self.close(CloseReason::PeerUnreachable);
        }
        // The path may be what fails.
        let current = self.sender.paths.current();
        self.sender.paths.at_mut(current).rtt.back_off();
        self.on_path_error(now, current, false);
        self.reselect_path();
        if matches!(self.state, State::ShutdownSent(_)) {
            self.send_shutdown(self.sender.paths.current());
        } else {
            self.resend_shutdown_ack(self.sender.paths.current());
        }
    }

    /// Puts a control chunk into the queue, or counts that it had no room.
    pub(super) fn queue_control(
        &mut self,
        path: PathSlot,
        bundling: Bundling,
        chunk: &impl EncodeChunk,
    ) {
        if !self.control.push(path, bundling, chunk) {
            self.journal.stats.control_dropped += 1;
        }
    }
}

/// As much of a reason as fits into a chunk without being fragmented, cut between characters.
fn truncate(reason: &str) -> &[u8] {
    let mut len = reason.len().min(512);
    while !reason.is_char_boundary(len) {
        len -= 1;
    }
    &reason.as_bytes()[..len]
}
