//! Heartbeats, error counters and the states of paths (RFC 9260 sections 5.4 and 8, RFC 7829).

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{Heartbeat, HeartbeatAck};

use super::control::Bundling;
use super::{Association, State};
use crate::path::Origin;
use crate::path_name::{PathId, PathSlot, PathState};

/// The Heartbeat Information that we send: where the path is kept (1 byte), nonce (8 bytes).
pub(super) const INFO_LEN: usize = 9;

impl Association {
    /// Begins to watch a path: at once if it is not confirmed, not the one that data takes, or one
    /// of several whose round trips are compared.
    ///
    /// RFC 9260 section 5.4: "These probing procedures are started when an association moves to the
    /// ESTABLISHED state". A confirmed path that is idle is probed as well, because a peer behind
    /// a NAT learns of it only by a packet.
    pub(super) fn start_heartbeats(&mut self, now: Time, path: PathSlot) {
        let is_compared = self.sender.is_concurrent();
        let is_confirmed = self.sender.paths.at(path).is_confirmed();
        let at_once = is_compared || path != self.sender.paths.current() || !is_confirmed;
        let delay = if at_once { Duration::ZERO } else { self.idle_period(path) };
        let heartbeat = &mut self.sender.paths.at_mut(path).heartbeat;
        heartbeat.timer = Some(now + delay);
        // One that went out before the path was there again says nothing about it now.
        heartbeat.awaits_answer = false;
        self.start_mtu_search(now, path);
    }

    /// RFC 9260 section 8.3: "it is RECOMMENDED that a HEARTBEAT chunk is sent once per RTO of that
    /// destination address plus the protocol parameter 'HB.interval', with jittering of +/- 50% of
    /// the RTO value".
    pub(super) fn idle_period(&mut self, path: PathSlot) -> Duration {
        let rto = self.sender.paths.at(path).rtt.rto();
        let jitter = rto.as_secs_f64() * (0.5 + self.rng.unit());
        let jitter = Duration::try_from_secs_f64(jitter).unwrap_or(Duration::MAX);
        self.heartbeat_interval(path).saturating_add(jitter)
    }

    fn heartbeat_interval(&self, path: PathSlot) -> Duration {
        let own = self.sender.paths.at(path).heartbeat_interval;
        own.unwrap_or(self.config.timers.heartbeat_interval)
    }

    /// Switches the heartbeats of a path off, or on again (RFC 9260 section 8.3, A and C). Without
    /// them only data tells whether it lives, and one that fails while another carries the data
    /// does not come back by itself. A path that is not confirmed is probed all the same. Returns
    /// false if there is no such path.
    pub fn set_heartbeats(&mut self, now: Time, path: PathId, on: bool) -> bool {
        let Some(path) = self.sender.paths.named(path).map(|path| path.slot) else { return false };
        let was_off = std::mem::replace(&mut self.sender.paths.at_mut(path).has_no_heartbeats, !on);
        if on && was_off && self.sends_heartbeats() {
            self.start_heartbeats(now, path);
        }
        true
    }

    /// Sends a heartbeat on a path at once (RFC 9260 section 8.3, D), though they be switched off
    /// there. Returns false if there is no such path, or no association yet or any more.
    pub fn request_heartbeat(&mut self, now: Time, path: PathId) -> bool {
        let path = self.sender.paths.named(path).map(|path| path.slot);
        let Some(path) = path.filter(|_| self.sends_heartbeats()) else { return false };
        self.send_heartbeat(now, path);
        true
    }

    /// Whether heartbeats may go out on a path that nobody asked for.
    pub(super) fn may_probe(&self, path: PathSlot) -> bool {
        self.sender.paths.at(path).may_be_probed()
    }

    pub(super) fn on_heartbeat_timer(&mut self, now: Time, path: PathSlot) {
        if !self.sends_heartbeats() {
            self.sender.paths.at_mut(path).heartbeat.timer = None;
            return;
        }
        if self.sender.paths.at(path).heartbeat.awaits_answer {
            return self.on_heartbeat_unanswered(now, path);
        }
        if !self.may_probe(path) {
            self.sender.paths.at_mut(path).heartbeat.timer = None;
            return;
        }
        // RFC 9260 section 8.3: a path is idle "if no new chunk that can be used for updating path
        // RTT ... and no HEARTBEAT chunk has been sent to it within the current heartbeat period".
        let interval = self.heartbeat_interval(path);
        let busy_until = self.sender.paths.at(path).last_data_sent.map(|sent| sent + interval);
        let is_active = self.sender.paths.at(path).state == PathState::Active;
        if let Some(until) = busy_until.filter(|until| is_active && *until > now) {
            self.sender.paths.at_mut(path).heartbeat.timer = Some(until);
            return;
        }
        self.send_heartbeat(now, path);
    }

    /// RFC 9260 section 8.3: "The sending of HEARTBEAT chunks MAY begin upon reaching the
    /// ESTABLISHED state and is discontinued after sending either a SHUTDOWN chunk or SHUTDOWN ACK
    /// chunk."
    pub(super) const fn sends_heartbeats(&self) -> bool {
        matches!(self.state, State::Established | State::ShutdownPending | State::ShutdownReceived)
    }

    pub(super) fn send_heartbeat(&mut self, now: Time, path: PathSlot) {
        let info = self.begin_heartbeat(now, path);
        self.queue_control(path, Bundling::Bundled, &Heartbeat { info: &info });
    }

    /// Makes the information of a heartbeat that goes out now, and awaits its answer.
    pub(super) fn begin_heartbeat(&mut self, now: Time, path: PathSlot) -> [u8; INFO_LEN] {
        let nonce = self.rng.next_u64();
        let mut info = [path.0; INFO_LEN];
        info[1..].copy_from_slice(&nonce.to_be_bytes());
        let rto = self.sender.paths.at(path).rtt.rto();
        let target = self.sender.paths.at_mut(path);
        target.heartbeat.on_sent(now, nonce);
        target.heartbeat.timer = Some(now + rto);
        target.stats.heartbeats_sent += 1;
        info
    }

    /// A heartbeat was not answered within the RTO.
    fn on_heartbeat_unanswered(&mut self, now: Time, path: PathSlot) {
        let (sender, context) = &mut self.sending(now);
        if let Some(peer) = sender.on_probe_unanswered(context, path) {
            return self.heed(peer);
        }
        // RFC 7829 section 3.2, rule 6: "the timeout of a HEARTBEAT chunk MAY be ignored if data is
        // outstanding towards the destination address": T3-rtx counts and backs off there.
        // Where data takes several paths at once, what is outstanding may all be on others.
        let is_alone = !self.sender.is_concurrent();
        let carries_data = is_alone
            && path == self.sender.paths.current()
            && !self.sender.outstanding().is_empty();
        if carries_data || self.sender.outstanding().flight(path) > 0 {
            return self.probe_again(now, path);
        }
        if self.repeats_heartbeat(path) {
            return self.probe_again(now, path);
        }
        // RFC 9260 section 8.1: "Unacknowledged HEARTBEAT chunks observed on paths different from
        // the path currently used for data transfer SHOULD NOT increment the association error
        // counter".
        let counts = path == self.sender.paths.current();
        let waited = self.sender.paths.at(path).rtt.rto();
        self.sender.paths.at_mut(path).heartbeat.awaits_answer = false;
        self.sender.paths.at_mut(path).rtt.back_off();
        self.on_path_error(now, path, counts);
        if self.is_closed() {
            return;
        }
        // RFC 7829 section 3.2, rule 5: "HEARTBEAT chunks are sent to destination addresses in PF
        // state once per RTO."; RFC 9260 section 5.4: "In each RTO, a probe MAY be sent on an
        // active UNCONFIRMED path ... If during this probing the path becomes inactive, this rate
        // is lowered to the normal HEARTBEAT rate."
        let errors = self.sender.paths.at(path).error_count;
        if errors <= self.config.paths.path_max_retrans {
            return self.probe_again(now, path);
        }
        if self.give_up_candidate(path) {
            return;
        }
        // The period counts from the last HEARTBEAT on, whose answer was awaited for an RTO.
        let period = self.idle_period(path).saturating_sub(waited);
        self.sender.paths.at_mut(path).heartbeat.timer = Some(now + period);
    }

    /// A heartbeat follows one that was not answered, if any may.
    fn probe_again(&mut self, now: Time, path: PathSlot) {
        if self.may_probe(path) {
            return self.send_heartbeat(now, path);
        }
        let heartbeat = &mut self.sender.paths.at_mut(path).heartbeat;
        heartbeat.awaits_answer = false;
        heartbeat.timer = None;
    }

    /// Whether an unanswered heartbeat says little yet: who only receives has nothing else that
    /// would tell that a path lives, and loses one of them now and then.
    fn repeats_heartbeat(&mut self, path: PathSlot) -> bool {
        let limit = self.config.timers.heartbeat_repeats;
        let target = self.sender.paths.at_mut(path);
        let repeats = target.state == PathState::Active && target.heartbeat.repeats < limit;
        target.heartbeat.repeats = if repeats { target.heartbeat.repeats + 1 } else { 0 };
        repeats
    }

    pub(super) fn on_heartbeat(&mut self, path: PathSlot, heartbeat: &Heartbeat<'_>) {
        // RFC 9260 section 8.3: a HEARTBEAT is answered "after entering the COOKIE-ECHOED state
        // (sender of the INIT chunk) or the ESTABLISHED state (receiver of the INIT chunk), up
        // until reaching the SHUTDOWN-SENT state ... or the SHUTDOWN-ACK-SENT state".
        let answers = match self.state {
            State::CookieEchoed(_)
            | State::Established
            | State::ShutdownPending
            | State::ShutdownReceived => true,
            State::CookieWait(_)
            | State::ShutdownSent(_)
            | State::ShutdownAckSent(_)
            | State::Closed => false,
        };
        if answers {
            self.queue_control(path, Bundling::Bundled, &HeartbeatAck { info: heartbeat.info });
        }
    }

    pub(super) fn on_heartbeat_ack(&mut self, now: Time, ack: &HeartbeatAck<'_>) {
        let Ok(&[path, ref nonce @ ..]) = <&[u8; INFO_LEN]>::try_from(ack.info) else { return };
        let path = PathSlot(path);
        if self.sender.paths.lookup(path).is_none() {
            return;
        }
        let nonce = u64::from_be_bytes(*nonce);
        if self.is_probe_answer(now, path, nonce) {
            return;
        }
        let in_flight = self.sender.outstanding().flight(path);
        let target = self.sender.paths.at_mut(path);
        let Some(answered) = target.heartbeat.on_answer(nonce) else { return };
        let rtt = now - answered.at;
        target.stats.heartbeats_acked += 1;
        target.on_answer(now, |congestion| congestion.on_heartbeat(now, rtt, in_flight));
        if answered.is_overtaken {
            return;
        }
        target.rtt.on_sample(rtt);
        let is_new = target.origin == Origin::Arrival && !target.is_confirmed();
        let path = if is_new { self.admit_candidate(now, path) } else { path };
        let (sender, context) = &mut self.sending(now);
        sender.on_heartbeat_answered(context, path);
        let period = self.idle_period(path);
        self.sender.paths.at_mut(path).heartbeat.timer = Some(now + period);
    }

    /// RFC 9260 section 8.2: the path did not answer once more. The association ends if the peer
    /// did not answer too often.
    pub(super) fn on_path_error(&mut self, now: Time, path: PathSlot, counts_for_peer: bool) {
        let (sender, context) = &mut self.sending(now);
        let peer = sender.on_path_error(context, path, counts_for_peer);
        self.heed(peer);
    }

    /// The user knows that nothing goes out on a path.
    pub(super) fn fail_path(&mut self, now: Time, path: PathSlot) {
        let (sender, context) = &mut self.sending(now);
        sender.fail_path(context, path);
        let period = self.idle_period(path);
        self.sender.paths.at_mut(path).heartbeat.timer = Some(now + period);
    }

    /// The path answered.
    pub(super) fn on_path_success(&mut self, now: Time, path: PathSlot) {
        let (sender, context) = &mut self.sending(now);
        sender.on_path_success(context, path);
    }

    /// Moves data to the best path there is.
    pub(super) fn reselect_path(&mut self) {
        self.sender.reselect_path(&mut self.journal);
    }

    /// Starts the timers of paths that have something in flight, and stops the others.
    pub(super) fn settle_timers(&mut self, now: Time) {
        let (sender, context) = &mut self.sending(now);
        sender.settle_timers(context);
    }
}
