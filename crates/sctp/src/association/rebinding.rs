//! A peer whose address changes while data flows: a NAT gave it another port or address, or forgot
//! the ones it had.
//!
//! A packet from elsewhere with our verification tag makes a candidate: a path that is not
//! confirmed. It gets heartbeats, at most [`AMPLIFICATION_MAX`] times what it sent, and never data.
//! Once it has returned a nonce, it takes the place of the path whose packets it brings, if that
//! one has fallen silent; else it is one more path.

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{Chunk, EncodeChunk as _, Packet};

use super::Association;
use crate::event::Event;
use crate::path::{Candidacy, Membership, Origin, Path};
use crate::path_name::{PathSlot, PathState};

/// RFC 9000 section 8: "Prior to validating the client address, servers MUST NOT send more than
/// three times as many bytes as the number of bytes they have received."
const AMPLIFICATION_MAX: u64 = 3;

/// Candidates at a time. What comes from further addresses is taken, but they are not probed.
const CANDIDATES_MAX: usize = 4;

/// What passed for a pause is a NAT that forgot us only after so much silence.
const SILENCE_MIN: Duration = Duration::from_millis(20);

/// A longer silence is left to the heartbeats.
const SILENCE_MAX: Duration = Duration::from_secs(1);

/// Who receives only, sends only acknowledgements of what arrives. Where a NAT forgets it, nothing
/// arrives, and nothing tells the sender the new port. So after a silence that is out of the
/// ordinary, a heartbeat does.
#[derive(Debug, Default)]
pub(super) struct Silence {
    last: Option<Time>,
    /// The longest time between two packets with data; it shrinks by its share of a second each
    /// second.
    usual: Duration,
    pub(super) timer: Option<Time>,
}

impl Silence {
    /// A packet with data arrived.
    pub(super) fn on_data(&mut self, now: Time) {
        if let Some(last) = self.last {
            let pause = (now - last).min(SILENCE_MAX);
            let faded = self.usual.mul_f64(1.0 - pause.as_secs_f64());
            self.usual = pause.max(faded);
        }
        self.last = Some(now);
        let patience = (self.usual * 3 / 2).max(SILENCE_MIN);
        self.timer = (patience < SILENCE_MAX).then(|| now + patience);
    }
}

impl Association {
    /// Whether a further address may be probed.
    pub(super) fn takes_candidate(&self) -> bool {
        self.sender.paths.iter().filter(|path| is_candidate(path)).count() < CANDIDATES_MAX
    }

    /// A packet came from a candidate.
    pub(super) fn note_candidate(&mut self, now: Time, path: PathSlot, packet: &Packet<'_>) {
        let is_probe = |chunk: &Chunk<'_>| {
            matches!(chunk, Chunk::Heartbeat(_) | Chunk::HeartbeatAck(_) | Chunk::Auth(_))
        };
        let moves = packet.chunks().flatten().any(|chunk| !is_probe(&chunk));
        let candidate = self.sender.paths.at_mut(path);
        let fresh = Candidacy { since: now, moves_traffic: false };
        candidate.candidacy.get_or_insert(fresh).moves_traffic |= moves;
        // It had been given up, and is there all the same.
        if candidate.is_abandoned() {
            candidate.membership = Membership::Member;
            candidate.error_count = 0;
            self.start_heartbeats(now, path);
        }
    }

    /// Bytes that may still go out on a path.
    pub(super) fn allowance(&self, path: PathSlot) -> usize {
        let path = self.sender.paths.at(path);
        if !is_unvalidated(path) {
            return usize::MAX;
        }
        let most = path.stats.bytes_received.saturating_mul(AMPLIFICATION_MAX);
        usize::try_from(most.saturating_sub(path.stats.bytes_sent)).unwrap_or(usize::MAX)
    }

    /// Drops control chunks that a candidate may not get: it asks again, or sends more.
    pub(super) fn drop_unaffordable(&mut self) {
        while let Some(chunk) = self.control.front() {
            let signature = self.signature_len(chunk.ty());
            let size = anabranch_wire::CommonHeader::LEN + signature + chunk.encoded_len();
            if size <= self.allowance(chunk.path) {
                return;
            }
            self.control.pop();
            self.journal.stats.control_dropped += 1;
        }
    }

    /// A candidate returned its nonce. Returns the path that it is from now on.
    pub(super) fn admit_candidate(&mut self, now: Time, candidate: PathSlot) -> PathSlot {
        let to = self.sender.paths.at(candidate).tuple;
        let Some(silent) = self.silent_predecessor(now, candidate) else {
            let admitted = self.sender.paths.at_mut(candidate);
            admitted.is_announced = true;
            self.journal.tell(Event::PathAdded { path: admitted.id, tuple: to });
            return candidate;
        };
        let Path { id: path, tuple: from, .. } = *self.sender.paths.at(silent);
        // RFC 9000 section 9.4: "Because port-only changes are commonly the result of NAT rebinding
        // or other middlebox activity, the endpoint MAY instead retain its congestion control state
        // and round-trip estimate in those cases instead of reverting to initial values."
        if from.remote.ip() != to.remote.ip() {
            self.sender.paths.at_mut(silent).reset(&self.config, &mut self.rng);
        }
        self.move_path(now, silent, candidate);
        self.journal.tell(Event::PathMoved { path, from, to });
        silent
    }

    /// The path whose traffic a candidate carries on: it leads from the same address of ours, and
    /// was not heard of in the later half of the time that it took to confirm the candidate.
    fn silent_predecessor(&self, now: Time, candidate: PathSlot) -> Option<PathSlot> {
        let new = self.sender.paths.at(candidate);
        let Candidacy { since, moves_traffic } = new.candidacy?;
        let later_half = since + (now - since) / 2;
        let is_silent = |path: &&Path| path.last_heard.is_some_and(|at| at < later_half);
        let confirmed =
            self.sender.paths.iter().filter(|path| path.is_confirmed() && !path.is_deleted());
        let related = confirmed.filter(|path| path.tuple.local == new.tuple.local);
        let carried =
            |path: &&Path| moves_traffic || self.sender.outstanding().flight(path.slot) > 0;
        let silent = related.filter(is_silent).filter(carried);
        let best = silent
            .max_by_key(|path| (path.tuple.remote.ip() == new.tuple.remote.ip(), path.last_heard));
        best.map(|path| path.slot)
    }

    /// Gives a path the addresses of a candidate, which is no path of its own any more.
    fn move_path(&mut self, now: Time, path: PathSlot, candidate: PathSlot) {
        self.control.forget_path(candidate);
        let (sender, context) = &mut self.sending(now);
        if !sender.move_path(context, path, candidate) {
            return;
        }
        // The last acknowledgements went astray as well.
        if let Some(receiver) = self.receiver.as_mut() {
            receiver.tracker.demand_sack();
        }
        self.sack_path = path;
    }

    /// A candidate does not answer: it is forgotten, and comes back with its next packet.
    pub(super) fn give_up_candidate(&mut self, path: PathSlot) -> bool {
        let target = self.sender.paths.at(path);
        if !is_candidate(target) || target.error_count <= self.config.paths.path_max_retrans {
            return false;
        }
        self.control.forget_path(path);
        self.sender.paths.abandon(path);
        true
    }

    /// Nothing arrived for longer than usual: tells the peer where we are.
    pub(super) fn on_silence(&mut self, now: Time) {
        self.silence.timer = None;
        let path = self.reply_path(self.sack_path);
        let awaits_answer = self.sender.paths.at(path).heartbeat.awaits_answer;
        if self.sends_heartbeats() && self.may_probe(path) && !awaits_answer {
            self.send_heartbeat(now, path);
        }
    }
}

/// Whether a path is where a packet came from, and nothing else is known of it.
fn is_candidate(path: &Path) -> bool {
    is_unvalidated(path) && !path.is_abandoned()
}

fn is_unvalidated(path: &Path) -> bool {
    path.origin == Origin::Arrival && path.state == PathState::Unconfirmed
}
