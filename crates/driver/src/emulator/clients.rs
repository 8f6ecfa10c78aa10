//! [`Clients`]: who uses an emulated link, as a NAT keeps them.

use std::collections::{BTreeMap, VecDeque};
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_netsim::Packet;
use anabranch_sansio::{FourTuple, Time};

/// How many clients one emulated link serves at a time: each has a socket towards the target.
pub const CLIENTS_PER_LINK_MAX: usize = 32;

/// A client that was silent for so long makes room for a new one, the longest silent first.
pub const CLIENT_IDLE_MIN: Duration = Duration::from_secs(10);

/// How many packets of a new client wait for its socket, which takes less than a millisecond.
const WAITING_MAX: usize = 256;

/// What the relay asks for, as it can open no sockets itself. At most two per place in the table
/// wait: to leave, a client must have got its socket.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ClientEvent {
    /// A new client needs a socket towards the target.
    Arrived(FourTuple),
    /// The socket of a client that made room for another is not needed any more.
    Left { outside: SocketAddr },
}

/// Clients by the four-tuple of their packets as the emulator sees it: `local` is where the link
/// listens, `remote` is the client.
#[derive(Debug, Default)]
pub(super) struct Clients {
    table: BTreeMap<FourTuple, Client>,
    /// Finds the client that a reply is for.
    by_outside: BTreeMap<Outside, FourTuple>,
    pub(super) events: VecDeque<ClientEvent>,
    pub(super) evicted: u64,
}

#[derive(Debug)]
struct Client {
    seen: Time,
    state: State,
}

#[derive(Debug)]
enum State {
    /// Its socket is being opened.
    Arriving {
        waiting: Vec<Packet>,
    },
    Served {
        outside: SocketAddr,
    },
}

/// What identifies the socket that a reply arrived on: its address may be the wildcard.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct Outside {
    is_ipv4: bool,
    port: u16,
}

impl Outside {
    fn of(addr: SocketAddr) -> Self {
        Self { is_ipv4: addr.is_ipv4(), port: addr.port() }
    }
}

/// Where a packet of a client goes.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Admission {
    /// Into the link.
    Pass(Packet),
    /// It waits until its client has a socket.
    Waits,
    /// The table is full of active clients, or too many packets wait.
    Refused,
}

impl Clients {
    pub(super) fn len(&self) -> usize {
        self.table.len()
    }

    /// Takes a packet of the client `who`, known or new.
    pub(super) fn admit(&mut self, now: Time, who: FourTuple, packet: Packet) -> Admission {
        if !self.table.contains_key(&who) && !self.enter(now, who) {
            return Admission::Refused;
        }
        let Some(client) = self.table.get_mut(&who) else { return Admission::Refused };
        client.seen = now;
        match &mut client.state {
            State::Served { .. } => Admission::Pass(packet),
            State::Arriving { waiting } if waiting.len() < WAITING_MAX => {
                waiting.push(packet);
                Admission::Waits
            }
            State::Arriving { .. } => Admission::Refused,
        }
    }

    fn enter(&mut self, now: Time, who: FourTuple) -> bool {
        if self.table.len() >= CLIENTS_PER_LINK_MAX && !self.evict(now) {
            return false;
        }
        let state = State::Arriving { waiting: Vec::new() };
        self.table.insert(who, Client { seen: now, state });
        self.events.push_back(ClientEvent::Arrived(who));
        true
    }

    /// Removes the client that was silent longest, if long enough.
    fn evict(&mut self, now: Time) -> bool {
        let served = self.table.iter().filter_map(|(who, client)| match client.state {
            State::Served { outside } => Some((client.seen, *who, outside)),
            State::Arriving { .. } => None,
        });
        let Some((seen, who, outside)) = served.min() else { return false };
        if now - seen < CLIENT_IDLE_MIN {
            return false;
        }
        self.table.remove(&who);
        self.by_outside.remove(&Outside::of(outside));
        self.events.push_back(ClientEvent::Left { outside });
        self.evicted += 1;
        true
    }

    /// Forgets all clients that have a socket, as a NAT that restarts: they get others.
    pub(super) fn rebind(&mut self) {
        let events = &mut self.events;
        self.table.retain(|_, client| match client.state {
            State::Served { outside } => {
                events.push_back(ClientEvent::Left { outside });
                false
            }
            State::Arriving { .. } => true,
        });
        self.by_outside.clear();
    }

    /// Gives the client its socket, bound to `outside`; returns the packets that waited for it.
    pub(super) fn serve(&mut self, who: FourTuple, outside: SocketAddr) -> Vec<Packet> {
        let Some(client) = self.table.get_mut(&who) else { return Vec::new() };
        self.by_outside.insert(Outside::of(outside), who);
        match std::mem::replace(&mut client.state, State::Served { outside }) {
            State::Arriving { waiting } => waiting,
            State::Served { .. } => Vec::new(),
        }
    }

    /// Forgets a client that cannot get a socket; returns how many packets waited for it.
    pub(super) fn turn_away(&mut self, who: FourTuple) -> usize {
        match self.table.remove(&who).map(|client| client.state) {
            Some(State::Arriving { waiting }) => waiting.len(),
            Some(State::Served { .. }) | None => 0,
        }
    }

    /// The socket towards the target.
    pub(super) fn outside(&self, who: FourTuple) -> Option<SocketAddr> {
        match self.table.get(&who)?.state {
            State::Served { outside } => Some(outside),
            State::Arriving { .. } => None,
        }
    }

    /// The client that a reply which arrived at `local` is for.
    pub(super) fn answered(&mut self, now: Time, local: SocketAddr) -> Option<FourTuple> {
        let who = *self.by_outside.get(&Outside::of(local))?;
        self.table.get_mut(&who)?.seen = now;
        Some(who)
    }
}
