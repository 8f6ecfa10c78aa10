//! How long packets may be: probes, and what follows from their answers (RFC 8899).

use std::time::Duration;

use anabranch_sansio::{Rate, Time};
use anabranch_wire::Heartbeat;

use super::control::Bundling;
use super::{Association, INFO_LEN};
use crate::path::MtuSearch;
use crate::path_name::{PathSlot, PathState};

/// How long a path that is new is left to the media that begins there.
const SEARCH_DELAY: Duration = Duration::from_secs(1);

/// What a path must carry to be probed: a probe takes 12 ms then.
const RATE_MIN: Rate = Rate::mbps(1);

impl Association {
    /// Begins to look for the largest packet that a path carries, if that is wanted and did not
    /// begin before.
    ///
    /// RFC 8899 section 6.2.1.1: SCTP "provides an acknowledged PL. A sender can therefore enter
    /// the BASE state as soon as connectivity has been confirmed."
    pub(super) fn start_mtu_search(&mut self, now: Time, path: PathSlot) {
        let Some(limit) = self.config.paths.path_mtu_search_max else { return };
        let base = self.path_mtu_base;
        let target = self.sender.paths.at_mut(path);
        if target.mtu_search.is_none() {
            target.mtu_search = Some(MtuSearch::new(now + SEARCH_DELAY, base, limit));
        }
        self.sender.note_mtu_change();
    }

    /// Sends the next probe of a path, if it is time. Where nobody has answered yet, where there
    /// are no keys yet, and where a probe would hold up what is sent, nothing is asked.
    pub(super) fn on_mtu_timer(&mut self, now: Time, path: PathSlot) {
        let may_ask = self.sends_heartbeats() && !self.awaits_keys();
        let nonce = self.rng.next_u64();
        let target = self.sender.paths.at_mut(path);
        let rto = target.rtt.rto();
        let is_fast = target.allowed_rate() >= RATE_MIN;
        let may_ask = may_ask && is_fast && target.state == PathState::Active;
        let Some(search) = target.mtu_search.as_mut() else { return };
        if !may_ask {
            return search.postpone(now + rto.max(SEARCH_DELAY));
        }
        let Some(size) = search.next_probe(now, nonce, rto) else { return };
        let mut info = [path.0; INFO_LEN];
        info[1..].copy_from_slice(&nonce.to_be_bytes());
        // RFC 8899 section 6.2: "The PAD chunk defined in [RFC4820] SHOULD be attached to a
        // minimum-length HEARTBEAT (HB) chunk to build a probe packet."
        let bundling = Bundling::Padded(self.config.packet_size(size));
        self.queue_control(path, bundling, &Heartbeat { info: &info });
    }

    /// Whether a HEARTBEAT ACK answers a probe, which says nothing else: its loss would not have
    /// either.
    pub(super) fn is_probe_answer(&mut self, now: Time, path: PathSlot, nonce: u64) -> bool {
        let search = self.sender.paths.at_mut(path).mtu_search.as_mut();
        let is_answer = search.is_some_and(|search| search.on_answer(now, nonce));
        if is_answer {
            self.sender.note_mtu_change();
        }
        is_answer
    }

    /// Lets packets be as long as all paths carry that data may take now. To be called after any
    /// input.
    pub(super) fn settle_path_mtu(&mut self) {
        if !self.sender.take_mtu_change() || self.config.paths.path_mtu_search_max.is_none() {
            return;
        }
        let base = self.path_mtu_base;
        let active = self.sender.paths.iter().filter(|path| path.state == PathState::Active);
        let found = active.map(|path| path.mtu_search.as_ref().map_or(base, MtuSearch::path_mtu));
        let path_mtu = found.min().unwrap_or(base);
        if path_mtu != self.config.paths.path_mtu {
            self.config.paths.path_mtu = path_mtu;
            self.sender.set_pmdcs(self.pmdcs());
        }
    }

    /// Begins all searches anew, from the path MTU that is configured now.
    pub(super) fn restart_mtu_searches(&mut self, now: Time) {
        self.path_mtu_base = self.config.paths.path_mtu;
        for path in self.sender.paths.ids() {
            if self.sender.paths.at_mut(path).mtu_search.take().is_some() {
                self.start_mtu_search(now, path);
            }
        }
    }
}
