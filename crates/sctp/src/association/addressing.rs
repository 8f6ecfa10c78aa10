//! Which paths an association has: those that the user gave, that the peer announced, and that its
//! packets came over.

use std::net::{IpAddr, SocketAddr};

use anabranch_sansio::{FourTuple, Time};

use super::Association;
use crate::event::Event;
use crate::path::{Origin, Path, pair_addresses};
use crate::path_name::{PathSlot, PathState};

impl Association {
    /// Our addresses, as far as they are known, and the peer is to learn them.
    pub(super) fn own_addresses(&self) -> Vec<IpAddr> {
        let mut addresses: Vec<IpAddr> = Vec::new();
        if !self.config.paths.announces_addresses {
            return addresses;
        }
        for local in &self.locals {
            if !local.ip().is_unspecified() && !addresses.contains(&local.ip()) {
                addresses.push(local.ip());
            }
        }
        addresses
    }

    /// Adds the paths that the peer's addresses make with ours (RFC 9260 section 5.1.2, C).
    pub(super) fn add_announced_paths(&mut self, addresses: &[IpAddr]) {
        let known: Vec<FourTuple> = self.sender.paths.iter().map(|path| path.tuple).collect();
        for tuple in pair_addresses(&known, &self.locals, addresses) {
            self.insert_path(tuple, Origin::Peer);
        }
        self.announced = addresses.to_vec();
    }

    /// The path that a packet came over, made known if it is new; when there are too many, the one
    /// that data takes.
    ///
    /// The packet had our verification tag, which only the peer knows. RFC 6951 section 5.4: "After
    /// finding the SCTP association (which includes checking the verification tag), the UDP source
    /// port MUST be stored as the encapsulation port for the destination address the SCTP packet is
    /// received from". Here the port is part of the path, so that a new one makes a new path: a NAT
    /// may change it, and two interfaces of a peer may share an address behind one.
    pub(super) fn arrival_path(&mut self, now: Time, tuple: FourTuple) -> PathSlot {
        self.sender.paths.find(tuple).unwrap_or_else(|| self.new_arrival_path(now, tuple))
    }

    /// The same, of a packet that came over no path that is known.
    pub(super) fn new_arrival_path(&mut self, now: Time, tuple: FourTuple) -> PathSlot {
        let takes_candidate = self.takes_candidate();
        let added = takes_candidate.then(|| self.add_path(now, tuple, Origin::Arrival)).flatten();
        added.unwrap_or_else(|| self.sender.paths.current())
    }

    /// Adds a path that gets heartbeats until one was answered, or finds it.
    pub(super) fn add_path(
        &mut self,
        now: Time,
        tuple: FourTuple,
        origin: Origin,
    ) -> Option<PathSlot> {
        if let Some(known) = self.sender.paths.find(tuple) {
            return Some(known);
        }
        let path = self.insert_path(tuple, origin)?;
        self.settle_timers(now);
        if self.is_established() && origin == Origin::User {
            self.announce_path(now, path);
        } else if self.is_established() {
            self.start_heartbeats(now, path);
        }
        Some(path)
    }

    pub(super) fn open_or_wake_path(&mut self, now: Time, tuple: FourTuple) -> Option<PathSlot> {
        let known = self.sender.paths.find(tuple);
        let path = self.add_path(now, tuple, Origin::User)?;
        if known.is_some() && self.is_established() {
            self.sender.paths.at_mut(path).origin = Origin::User;
            self.return_to_path(now, path);
        }
        Some(path)
    }

    pub(super) fn leave_paths_from(&mut self, now: Time, local: SocketAddr) {
        for path in self.sender.paths.ids() {
            if self.sender.paths.at(path).tuple.local != local
                || self.sender.paths.at(path).is_deleted()
            {
                continue;
            }
            let target = self.sender.paths.at_mut(path);
            if target.origin == Origin::User {
                target.origin = Origin::Peer;
            }
            self.fail_path(now, path);
        }
        let leads_away = |path: &Path| {
            path.tuple.local.ip() == local.ip()
                && path.tuple.local != local
                && path.state == PathState::Active
        };
        if !self.sender.paths.iter().any(leads_away) {
            self.announce_leave(now, local.ip());
        }
        self.after_input(now);
    }

    fn insert_path(&mut self, tuple: FourTuple, origin: Origin) -> Option<PathSlot> {
        if let Some(failed) = self.sender.paths.next_to_go(self.config.paths.path_max_retrans) {
            self.tell_of_end(failed);
        }
        let path = self.sender.add_path((tuple, origin), &self.config, &mut self.rng)?;
        if origin != Origin::Arrival {
            let path = self.sender.paths.at(path).id;
            self.journal.tell(Event::PathAdded { path, tuple });
        }
        Some(path)
    }

    /// A path makes way for another one. Of a candidate the user never knew.
    fn tell_of_end(&mut self, path: PathSlot) {
        let path = self.sender.paths.at(path);
        if path.is_announced {
            let last = Box::new(self.sender.report_path(path));
            self.journal.tell(Event::PathRemoved { path: path.id, last });
        }
    }

    /// Where the answer to a chunk that came over `path` goes.
    ///
    /// RFC 9260 section 6.4: "An endpoint SHOULD transmit reply chunks (e.g., INIT ACK, COOKIE ACK,
    /// and HEARTBEAT ACK) in response to control chunks to the same destination transport address
    /// from which it received the control chunk to which it is replying."; section 5.4: "An
    /// endpoint MUST NOT send any chunks to an UNCONFIRMED address", save a few.
    pub(super) fn reply_path(&self, path: PathSlot) -> PathSlot {
        if self.sender.paths.at(path).is_confirmed() { path } else { self.sender.paths.current() }
    }
}
