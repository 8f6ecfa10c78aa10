//! [`Endpoint`]: all associations of a host, and the packets that belong to none.

mod incoming;
mod replies;

use std::collections::{BTreeMap, BTreeSet, VecDeque};
use std::fmt;
use std::net::SocketAddr;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use anabranch_wire::{ChecksumMode, Chunk, Packet, VerificationTag};

use crate::association::{Association, Identity};
use crate::config::{AssociationConfig, EndpointConfig};
use crate::error::ConnectError;
use crate::event::Event;
use crate::handshake::CookieJar;
use crate::stats::EndpointStats;

use replies::Replies;

/// An association of an endpoint. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId(u64);

impl fmt::Display for AssociationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "association {}", self.0)
    }
}

/// What identifies an association to packets that do not have our tag: addresses and SCTP ports.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PathKey {
    tuple: FourTuple,
    local_port: u16,
    peer_port: u16,
}

/// An SCTP endpoint: a [`Machine`] whose datagrams are the payload of UDP (RFC 6951).
///
/// The four-tuples of its datagrams are UDP's; SCTP's own ports are inside.
#[derive(Debug)]
pub struct Endpoint {
    config: EndpointConfig,
    rng: Rng,
    cookies: CookieJar,
    entries: BTreeMap<AssociationId, Entry>,
    by_tag: BTreeMap<VerificationTag, AssociationId>,
    by_path: BTreeMap<PathKey, AssociationId>,
    timers: BTreeSet<(Time, AssociationId)>,
    /// Associations that may have something to send.
    to_transmit: VecDeque<AssociationId>,
    /// Associations that may have something to say.
    to_report: VecDeque<AssociationId>,
    replies: Replies,
    /// Our addresses, for listeners to announce.
    locals: Vec<SocketAddr>,
    next_id: u64,
    now: Time,
    stats: EndpointStats,
}

/// An association with what the endpoint's tables say of it.
#[derive(Debug)]
struct Entry {
    association: Association,
    tag: VerificationTag,
    keys: Vec<PathKey>,
    timer: Option<Time>,
    in_transmit: bool,
    in_report: bool,
}

impl Endpoint {
    /// An endpoint without associations. The generator must be unpredictable on real networks.
    #[must_use]
    pub fn new(config: EndpointConfig, mut rng: Rng) -> Self {
        let cookies = CookieJar::new(rng.fork());
        let replies = Replies::new(config.stateless_replies_per_second);
        Self {
            config,
            rng,
            cookies,
            entries: BTreeMap::new(),
            by_tag: BTreeMap::new(),
            by_path: BTreeMap::new(),
            timers: BTreeSet::new(),
            to_transmit: VecDeque::new(),
            to_report: VecDeque::new(),
            replies,
            locals: Vec::new(),
            next_id: 0,
            now: Time::ZERO,
            stats: EndpointStats::default(),
        }
    }

    /// Tells the endpoint its own addresses, which a multi-homed listener announces to its callers
    /// (RFC 9260 section 5.1.2). Without them, callers know only the address that they called.
    pub fn set_local_addresses(&mut self, locals: Vec<SocketAddr>) {
        self.locals = locals;
    }

    /// Begins an association with the peer at the other end of `paths`: the first one is the
    /// primary. `local_port` and `peer_port` are SCTP's own ports.
    ///
    /// # Errors
    ///
    /// Says which limit or rule stands against it; nothing was begun then.
    pub fn connect(
        &mut self,
        now: Time,
        paths: &[FourTuple],
        (local_port, peer_port): (u16, u16),
        config: AssociationConfig,
    ) -> Result<AssociationId, ConnectError> {
        self.now = now;
        let Some(&first) = paths.first() else { return Err(ConnectError::NoPath) };
        if paths.len() > config.paths_max {
            return Err(ConnectError::TooManyPaths { paths: paths.len(), limit: config.paths_max });
        }
        if self.entries.len() >= self.config.associations_max {
            return Err(ConnectError::TooManyAssociations { limit: self.config.associations_max });
        }
        if self.by_path.contains_key(&PathKey { tuple: first, local_port, peer_port }) {
            return Err(ConnectError::Exists);
        }
        let identity = Identity {
            local_port,
            peer_port,
            local_tag: self.fresh_tag(),
            peer_tag: VerificationTag(0),
        };
        let rng = self.rng.fork();
        Ok(self.insert(Association::connect(now, config, identity, paths, rng)))
    }

    /// An association, as long as it exists: until its [`Event::Closed`] was polled and its last
    /// message read.
    #[must_use]
    pub fn association(&self, id: AssociationId) -> Option<&Association> {
        self.entries.get(&id).map(|entry| &entry.association)
    }

    /// An association, to act on.
    ///
    /// Invalidates the answers of all polls.
    #[must_use]
    pub fn association_mut(&mut self, id: AssociationId) -> Option<&mut Association> {
        self.touch(id);
        self.entries.get_mut(&id).map(|entry| &mut entry.association)
    }

    /// The associations there are.
    pub fn associations(&self) -> impl Iterator<Item = AssociationId> + '_ {
        self.entries.keys().copied()
    }

    /// Drops an association without telling anyone. What it still wanted to send is not sent.
    pub fn forget(&mut self, id: AssociationId) {
        self.remove(id);
    }

    /// Counters of packets that belong to no association.
    #[must_use]
    pub const fn stats(&self) -> EndpointStats {
        self.stats
    }

    /// RFC 9260 section 5.3.1: "Initiate Tag values SHOULD be selected from the range of 1 to 2^32 -
    /// 1."
    fn fresh_tag(&mut self) -> VerificationTag {
        loop {
            let tag = VerificationTag(self.rng.next_u32());
            if tag.0 != 0 && !self.by_tag.contains_key(&tag) {
                return tag;
            }
        }
    }

    fn insert(&mut self, association: Association) -> AssociationId {
        let id = AssociationId(self.next_id);
        self.next_id += 1;
        let tag = association.identity().local_tag;
        self.by_tag.insert(tag, id);
        let entry = Entry {
            association,
            tag,
            keys: Vec::new(),
            timer: None,
            in_transmit: false,
            in_report: false,
        };
        self.entries.insert(id, entry);
        self.touch(id);
        self.refresh(id);
        id
    }

    /// Notes that an association may have something to send or to say.
    fn touch(&mut self, id: AssociationId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if !std::mem::replace(&mut entry.in_transmit, true) {
            self.to_transmit.push_back(id);
        }
        if !std::mem::replace(&mut entry.in_report, true) {
            self.to_report.push_back(id);
        }
    }

    /// Brings the tables up to date with an association.
    fn refresh(&mut self, id: AssociationId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        if entry.association.is_finished() {
            return self.remove(id);
        }
        let identity = entry.association.identity();
        if entry.tag != identity.local_tag {
            self.by_tag.remove(&entry.tag);
            self.cookies.spend(self.now, entry.tag, self.config.cookie_life);
            entry.tag = identity.local_tag;
            self.by_tag.insert(entry.tag, id);
        }
        // Paths are only ever added.
        for tuple in entry.association.path_tuples().skip(entry.keys.len()) {
            let (local_port, peer_port) = (identity.local_port, identity.peer_port);
            let key = PathKey { tuple, local_port, peer_port };
            entry.keys.push(key);
            self.by_path.entry(key).or_insert(id);
        }
        let timer = entry.association.poll_timeout().map(|wakeup| wakeup.at);
        if timer != entry.timer {
            if let Some(at) = std::mem::replace(&mut entry.timer, timer) {
                self.timers.remove(&(at, id));
            }
            self.timers.extend(timer.map(|at| (at, id)));
        }
    }

    fn remove(&mut self, id: AssociationId) {
        let Some(entry) = self.entries.remove(&id) else { return };
        self.by_tag.remove(&entry.tag);
        self.cookies.spend(self.now, entry.tag, self.config.cookie_life);
        for key in entry.keys {
            if self.by_path.get(&key) == Some(&id) {
                self.by_path.remove(&key);
            }
        }
        if let Some(at) = entry.timer {
            self.timers.remove(&(at, id));
        }
    }

    /// The association that a packet with our tag belongs to.
    fn by_tag(&self, packet: &Packet<'_>) -> Option<AssociationId> {
        let id = *self.by_tag.get(&packet.header.verification_tag)?;
        let identity = self.entries.get(&id)?.association.identity();
        let ports = (identity.peer_port, identity.local_port);
        (ports == (packet.header.source_port, packet.header.destination_port)).then_some(id)
    }

    /// The association that a packet without our tag belongs to.
    fn by_path(&self, tuple: FourTuple, packet: &Packet<'_>) -> Option<AssociationId> {
        let (local_port, peer_port) = (packet.header.destination_port, packet.header.source_port);
        self.by_path.get(&PathKey { tuple, local_port, peer_port }).copied()
    }

    /// The association whose peer reflects its own tag at us: RFC 9260 section 8.5.1, B and C: "if it
    /// is set to its Peer's Tag and the T bit is set in the Chunk Flags".
    fn by_reflected_tag(&self, tuple: FourTuple, packet: &Packet<'_>) -> Option<AssociationId> {
        let id = self.by_path(tuple, packet)?;
        let identity = self.entries.get(&id)?.association.identity();
        let matches = identity.peer_tag == packet.header.verification_tag;
        (matches && identity.peer_tag.0 != 0).then_some(id)
    }

    fn deliver(&mut self, id: AssociationId, tuple: FourTuple, packet: &Packet<'_>, len: usize) {
        let now = self.now;
        if let Some(entry) = self.entries.get_mut(&id) {
            entry.association.handle_packet(now, tuple, packet, len);
        }
        self.touch(id);
    }

    fn handle_packet(&mut self, tuple: FourTuple, packet: &Packet<'_>, len: usize) {
        let Some(Ok(first)) = packet.chunks().next() else {
            self.stats.malformed += 1;
            return;
        };
        let id = match &first {
            Chunk::Init(init) => return self.on_init(tuple, packet, init),
            Chunk::CookieEcho(echo) => return self.on_cookie_echo(tuple, packet, echo, len),
            Chunk::Abort(abort) if abort.tag_reflected => self.by_reflected_tag(tuple, packet),
            Chunk::ShutdownComplete(complete) if complete.tag_reflected => {
                self.by_reflected_tag(tuple, packet)
            }
            Chunk::ShutdownAck => self.by_tag(packet).filter(|id| {
                self.association(*id).is_some_and(|association| !association.is_handshaking())
            }),
            Chunk::Data(_)
            | Chunk::InitAck(_)
            | Chunk::Sack(_)
            | Chunk::Heartbeat(_)
            | Chunk::HeartbeatAck(_)
            | Chunk::Abort(_)
            | Chunk::Shutdown(_)
            | Chunk::Error(_)
            | Chunk::CookieAck
            | Chunk::Ecne(_)
            | Chunk::Cwr(_)
            | Chunk::ShutdownComplete(_)
            | Chunk::ForwardTsn(_)
            | Chunk::Unknown(_) => self.by_tag(packet),
        };
        match id {
            Some(id) => self.deliver(id, tuple, packet, len),
            None => self.on_out_of_the_blue(tuple, packet),
        }
    }
}

impl Machine for Endpoint {
    type Event = (AssociationId, Event);

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.now = now;
        let Ok(packet) = Packet::decode(datagram.bytes, ChecksumMode::Verify) else {
            self.stats.malformed += 1;
            return;
        };
        self.handle_packet(datagram.path, &packet, datagram.bytes.len());
    }

    fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        // An association that touches nothing but its own timer asks for the same time again; that
        // many rounds, and no more, are done.
        for _ in 0..=self.entries.len() {
            let Some(&(at, id)) = self.timers.first() else { return };
            if at > now {
                return;
            }
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.association.handle_timeout(now);
            }
            self.touch(id);
            self.refresh(id);
        }
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.now = now;
        if let Some((path, packet)) = self.replies.pop() {
            buf.extend_from_slice(&packet);
            return Some(Transmit { path, ecn: None, segment_size: None });
        }
        while let Some(&id) = self.to_transmit.front() {
            if let Some(entry) = self.entries.get_mut(&id) {
                let segments_max = self.config.segments_max;
                if let Some(transmit) = entry.association.poll_transmit(now, segments_max, buf) {
                    return Some(transmit);
                }
                entry.in_transmit = false;
            }
            self.to_transmit.pop_front();
            self.refresh(id);
        }
        None
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let &(_, id) = self.timers.first()?;
        self.entries.get(&id)?.association.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        while let Some(&id) = self.to_report.front() {
            if let Some(entry) = self.entries.get_mut(&id) {
                if let Some(event) = entry.association.poll_event() {
                    return Some((id, event));
                }
                entry.in_report = false;
            }
            self.to_report.pop_front();
            self.refresh(id);
        }
        None
    }
}
