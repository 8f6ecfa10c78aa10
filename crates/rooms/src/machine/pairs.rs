//! [`Pairs`]: two agents that are alone in a room, and talk to each other without it.
//!
//! Their association with each other is theirs alone. Until they find a way past the server, and
//! where there is none, its packets pass here, sealed.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;

use anabranch_sansio::{Datagram, FourTuple, Transmit};
use anabranch_transport::{ConnectionId, PathState, Transport as _};
use bytes::Bytes;

use super::{Link, Server};
use crate::association::is_direct;
use crate::rooms::GuestId;

/// Packets of pairs that wait to be sent, which happens at once.
const RELAYED_MAX: usize = 1_024;

/// Agents that talk to each other without the room.
#[derive(Debug, Default)]
pub(super) struct Pairs {
    pairs: BTreeMap<GuestId, Half>,
    /// Whose datagrams come from where.
    sources: BTreeMap<FourTuple, GuestId>,
    /// Whether an agent's path came or went since that was looked at.
    are_paths_changed: bool,
    relayed: VecDeque<(FourTuple, Bytes)>,
}

/// One of two.
#[derive(Debug)]
struct Half {
    peer: GuestId,
    /// Where its last packet for the other one came from.
    from: Option<FourTuple>,
    /// Where it was told that the other one may be found.
    told: Vec<SocketAddr>,
}

impl Pairs {
    /// A path of an agent came, went, or has other addresses.
    pub(super) const fn note_path_change(&mut self) {
        self.are_paths_changed = true;
    }

    /// Sends a packet of one of two on to the other one: to where that one's last packet came
    /// from, which is where it listens.
    fn relay(&mut self, path: FourTuple, bytes: &[u8]) {
        let Some(guest) = self.sources.get(&path) else { return };
        let Some(half) = self.pairs.get_mut(guest) else { return };
        half.from = Some(path);
        let peer = half.peer;
        let last = self.pairs.get(&peer).and_then(|half| half.from);
        let last = last.filter(|from| self.sources.contains_key(from));
        let any = || self.sources.iter().find(|(_, guest)| **guest == peer).map(|(path, _)| *path);
        if let Some(to) = last.or_else(any)
            && self.relayed.len() < RELAYED_MAX
        {
            self.relayed.push_back((to, Bytes::copy_from_slice(bytes)));
        }
    }

    pub(super) fn poll_transmit(&mut self, buf: &mut Vec<u8>) -> Option<Transmit> {
        let (to, bytes) = self.relayed.pop_front()?;
        buf.extend_from_slice(&bytes);
        Some(Transmit::datagram(to))
    }
}

impl Server {
    /// Takes a packet of two agents' own association; false if it is none.
    pub(super) fn relay(&mut self, datagram: &Datagram<'_>) -> bool {
        if !is_direct(datagram.bytes) {
            return false;
        }
        self.pairs.relay(datagram.path, datagram.bytes);
        true
    }

    /// Introduces agents that are alone in a room to each other, and tells those who are not any
    /// more.
    pub(super) fn settle_pairs(&mut self) {
        let is_roster_changed = self.rooms.take_roster_change();
        if is_roster_changed {
            self.follow_roster();
        }
        if std::mem::take(&mut self.pairs.are_paths_changed) || is_roster_changed {
            self.follow_paths();
            self.introduce();
        }
    }

    fn follow_roster(&mut self) {
        let wanted: BTreeMap<GuestId, GuestId> = (self.rooms.pairs().into_iter())
            .filter(|(one, other)| self.may_meet(*one) && self.may_meet(*other))
            .flat_map(|(one, other)| [(one, other), (other, one)])
            .collect();
        let is_over = |guest: &GuestId, half: &Half| wanted.get(guest) != Some(&half.peer);
        for (guest, _) in self.pairs.pairs.extract_if(.., |guest, half| is_over(guest, half)) {
            self.rooms.part(guest);
        }
        for (guest, peer) in wanted {
            let new = || Half { peer, from: None, told: Vec::new() };
            self.pairs.pairs.entry(guest).or_insert_with(new);
        }
    }

    fn follow_paths(&mut self) {
        self.pairs.sources.clear();
        for guest in self.pairs.pairs.keys() {
            let Some(&Link::Agent(id)) = self.links.get(guest) else { continue };
            let Some(connection) = self.agents.transport.connection(id) else { continue };
            let paths = connection.stats().paths.into_iter();
            let stand = paths.filter(|path| path.state == PathState::Active);
            self.pairs.sources.extend(stand.map(|path| (path.tuple, *guest)));
        }
    }

    /// Whether a guest is an agent that has proved who it is, where agents do.
    fn may_meet(&self, guest: GuestId) -> bool {
        let Some(&Link::Agent(id)) = self.links.get(&guest) else { return false };
        !self.agents.is_encrypted || self.key_of(id).is_some()
    }

    fn key_of(&self, id: ConnectionId) -> Option<Vec<u8>> {
        self.agents.transport.connection(id)?.peer_key()
    }

    /// Tells each of two who the other one is and where it may be found, whenever that changes.
    fn introduce(&mut self) {
        for (guest, half) in &mut self.pairs.pairs {
            let Some(&Link::Agent(id)) = self.links.get(&half.peer) else { continue };
            let Some(connection) = self.agents.transport.connection(id) else { continue };
            let paths = connection.stats().paths;
            let stand = paths.iter().filter(|path| path.state == PathState::Active);
            let seen_at = stand.map(|path| path.tuple.remote).collect();
            let addresses = self.rooms.addresses_of(half.peer, seen_at);
            if half.told != addresses {
                half.told.clone_from(&addresses);
                self.rooms.introduce(*guest, half.peer, connection.peer_key(), addresses);
            }
        }
    }
}
