//! [`Endpoint`]: all associations of a host, and the packets that belong to none.

mod address_rate;
mod incoming;
mod key_calls;

use std::collections::{BTreeMap, VecDeque};
use std::fmt;
use std::net::SocketAddr;

use anabranch_sansio::{
    Datagram, FourTuple, Machine, Replies, Rng, Time, TraceLog, TraceRecord, Transmit, Wakeup,
    Wakeups,
};
use anabranch_wire::{ChecksumMode, Chunk, ChunkType, DecodeError, Packet, VerificationTag};

use crate::association::{Association, Identity};
use crate::config::{AssociationConfig, EndpointConfig};
use crate::error::ConnectError;
use crate::event::{Event, RefusedCall};
use crate::handshake::CookieJar;
use crate::stats::EndpointStats;

use address_rate::AddressRate;
use key_calls::KeyCalls;

/// Answers to packets that belong to no association which wait to be sent.
const REPLIES_WAITING_MAX: usize = 128;

/// An association of an endpoint. Never given twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct AssociationId(pub u64);

impl fmt::Display for AssociationId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "association {}", self.0)
    }
}

/// What identifies an association to packets that do not have our tag: SCTP ports and addresses, in
/// an order that keeps the paths to one remote address together.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
struct PathKey {
    ports: Ports,
    remote: SocketAddr,
    local: SocketAddr,
}

/// Our SCTP port and the peer's.
type Ports = (u16, u16);

impl PathKey {
    const fn new(tuple: FourTuple, ports: Ports) -> Self {
        Self { ports, remote: tuple.remote, local: tuple.local }
    }

    const fn tuple(&self) -> FourTuple {
        FourTuple::new(self.local, self.remote)
    }
}

/// The SCTP ports of a packet that came in.
const fn ports_of(packet: &Packet<'_>) -> Ports {
    (packet.header.destination_port, packet.header.source_port)
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
    wakeups: Wakeups<AssociationId>,
    /// Associations that may have something to send.
    to_transmit: VecDeque<AssociationId>,
    /// Associations that may have something to say.
    to_report: VecDeque<AssociationId>,
    replies: Replies,
    short_inits: AddressRate,
    key_calls: KeyCalls,
    refused_calls: VecDeque<RefusedCall>,
    /// Our addresses, for listeners to announce.
    locals: Vec<SocketAddr>,
    next_id: u64,
    now: Time,
    stats: EndpointStats,
    is_tracing: bool,
    /// What is left of associations that are gone.
    records: TraceLog,
}

/// An association with what the endpoint's tables say of it.
#[derive(Debug)]
struct Entry {
    association: Association,
    tag: VerificationTag,
    keys: Vec<PathKey>,
    /// The revision of its paths that the keys are of; none while they are in no table.
    linked: Option<u64>,
    /// The earliest of its timers, when the tables were last brought up to date.
    wakeup: Option<Wakeup>,
    /// Whether the tables may be behind it.
    is_stale: bool,
    in_transmit: bool,
    in_report: bool,
}

impl Entry {
    fn next_record(&mut self, id: AssociationId) -> Option<TraceRecord> {
        let record = self.association.poll_trace()?.record();
        Some(TraceRecord { connection: Some(id.0), ..record })
    }

    /// Whether [`Machine::poll_transmit`] will come to it. Who is done with its last event goes at
    /// once.
    const fn is_to_transmit(&self) -> bool {
        self.in_transmit && !self.association.is_closed()
    }
}

impl Endpoint {
    /// An endpoint without associations. The generator must be unpredictable on real networks.
    ///
    /// What incoming associations get is not checked here: see [`AssociationConfig::validate`].
    #[must_use]
    pub fn new(config: EndpointConfig, mut rng: Rng) -> Self {
        let cookies = CookieJar::new(rng.fork());
        let replies = Replies::new(config.stateless_replies_per_second, REPLIES_WAITING_MAX);
        let short_inits = config.short_inits_per_second as f32;
        let short_inits = AddressRate::new(short_inits, short_inits);
        let key_calls = KeyCalls::new(config.key_agreements_per_second);
        Self {
            config,
            rng,
            cookies,
            entries: BTreeMap::new(),
            by_tag: BTreeMap::new(),
            by_path: BTreeMap::new(),
            wakeups: Wakeups::default(),
            to_transmit: VecDeque::new(),
            to_report: VecDeque::new(),
            replies,
            short_inits,
            key_calls,
            refused_calls: VecDeque::new(),
            locals: Vec::new(),
            next_id: 0,
            now: Time::ZERO,
            stats: EndpointStats::default(),
            is_tracing: false,
            records: TraceLog::default(),
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
        config.validate()?;
        let Some(&first) = paths.first() else { return Err(ConnectError::NoPath) };
        if paths.len() > config.paths.paths_max {
            return Err(ConnectError::TooManyPaths {
                paths: paths.len(),
                limit: config.paths.paths_max,
            });
        }
        if self.entries.len() >= self.config.associations_max {
            return Err(ConnectError::TooManyAssociations { limit: self.config.associations_max });
        }
        if self.by_path(first, (local_port, peer_port)).is_some() {
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
        let association = &mut self.entries.get_mut(&id)?.association;
        association.advance(self.now);
        Some(association)
    }

    /// The associations there are.
    pub fn associations(&self) -> impl Iterator<Item = AssociationId> + '_ {
        self.entries.keys().copied()
    }

    /// Drops an association without telling anyone. What it still wanted to send is not sent.
    pub fn forget(&mut self, id: AssociationId) {
        self.remove(id);
    }

    /// The next call that was refused because of its key (RFC 4895).
    pub fn poll_refused_call(&mut self) -> Option<RefusedCall> {
        self.refused_calls.pop_front()
    }

    /// Counters of packets that belong to no association.
    #[must_use]
    pub const fn stats(&self) -> EndpointStats {
        self.stats
    }

    /// RFC 9260 section 5.3.1: "Initiate Tag values SHOULD be selected from the range of 1 to 2^32
    /// - 1."
    fn fresh_tag(&mut self) -> VerificationTag {
        loop {
            let tag = VerificationTag(self.rng.next_u32());
            if tag.0 != 0 && !self.by_tag.contains_key(&tag) {
                return tag;
            }
        }
    }

    fn insert(&mut self, mut association: Association) -> AssociationId {
        if self.is_tracing {
            association.set_tracing(true);
        }
        let id = AssociationId(self.next_id);
        self.next_id += 1;
        let tag = association.identity().local_tag;
        self.by_tag.insert(tag, id);
        let entry = Entry {
            association,
            tag,
            keys: Vec::new(),
            linked: None,
            wakeup: None,
            is_stale: false,
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
        entry.is_stale = true;
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
        if !std::mem::take(&mut entry.is_stale) {
            return;
        }
        let wakeup = entry.association.poll_timeout();
        if self.wakeups.set(id, &mut entry.wakeup, wakeup) {
            entry.association.trace_timer(self.now, wakeup);
        }
        if entry.association.is_closed() {
            // It is still there to be read; to the network it is gone, once its last words are
            // written. What comes before is not answered as out of the blue.
            if !entry.association.has_control() {
                self.unlink(id);
            }
            return;
        }
        if entry.tag != entry.association.identity().local_tag {
            self.unlink(id);
        }
        self.link(id);
    }

    /// Makes an association known by its tag and its paths.
    fn link(&mut self, id: AssociationId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let identity = entry.association.identity();
        let ports = (identity.local_port, identity.peer_port);
        if entry.tag != identity.local_tag {
            entry.tag = identity.local_tag;
            self.by_tag.insert(entry.tag, id);
        }
        let revision = entry.association.path_revision();
        if entry.linked.replace(revision) == Some(revision) {
            return;
        }
        let keys: Vec<_> =
            entry.association.path_tuples().map(|tuple| PathKey::new(tuple, ports)).collect();
        let gone = std::mem::replace(&mut entry.keys, keys.clone());
        self.forget_keys(id, &gone);
        for key in keys {
            if self.by_path(key.tuple(), ports).is_none() {
                self.by_path.insert(key, id);
            }
        }
    }

    /// Makes an association unknown to packets, and its cookie useless.
    fn unlink(&mut self, id: AssociationId) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let (tag, keys) = (entry.tag, std::mem::take(&mut entry.keys));
        entry.linked = None;
        if self.by_tag.remove(&tag).is_some() {
            let life = self.config.cookie_life.saturating_add(incoming::COOKIE_PRESERVATIVE_MAX);
            self.cookies.spend(self.now, tag, life);
        }
        self.forget_keys(id, &keys);
    }

    fn forget_keys(&mut self, id: AssociationId, keys: &[PathKey]) {
        for key in keys {
            if self.by_path.get(key) == Some(&id) {
                self.by_path.remove(key);
            }
        }
    }

    fn remove(&mut self, id: AssociationId) {
        self.unlink(id);
        let Some(mut entry) = self.entries.remove(&id) else { return };
        self.wakeups.set(id, &mut entry.wakeup, None);
        while let Some(record) = entry.next_record(id) {
            self.records.push(|| record);
        }
    }

    /// The association that a packet with our tag belongs to.
    fn by_tag(&self, packet: &Packet<'_>) -> Option<AssociationId> {
        let id = *self.by_tag.get(&packet.header.verification_tag)?;
        let identity = self.entries.get(&id)?.association.identity();
        let ports = (identity.peer_port, identity.local_port);
        (ports == (packet.header.source_port, packet.header.destination_port)).then_some(id)
    }

    /// The association that has a path, known to be its peer's: what a peer only announced could
    /// keep others from calling (RFC 5062 calls that address camping).
    fn by_path(&self, tuple: FourTuple, ports: Ports) -> Option<AssociationId> {
        let id = *self.by_path.get(&PathKey::new(tuple, ports))?;
        self.entries.get(&id)?.association.has_confirmed_path(tuple).then_some(id)
    }

    /// The association whose peer has this address.
    fn by_remote(&self, remote: SocketAddr, ports: Ports) -> Option<AssociationId> {
        let lowest = SocketAddr::from(([0, 0, 0, 0], 0));
        let from = PathKey { ports, remote, local: lowest };
        let paths = self.by_path.range(from..).map(|(key, _)| key);
        let mut known = paths.take_while(|key| (key.ports, key.remote) == (ports, remote));
        known.find_map(|key| self.by_path(key.tuple(), ports))
    }

    /// RFC 9653 section 5.3: "If an endpoint has sent the Zero Checksum Acceptable Chunk Parameter
    /// indicating the support of an alternate error detection method in an INIT or INIT ACK chunk,
    /// in addition to SCTP packets containing the correct CRC32c checksum value it MUST accept SCTP
    /// packets that have an incorrect checksum value of zero and that fulfill the requirements of
    /// the announced alternate error detection method used for this association. Otherwise, the
    /// endpoint MUST drop all SCTP packets with an incorrect CRC32c checksum."
    fn has_valid_checksum(
        &self,
        known: Option<AssociationId>,
        packet: &Packet<'_>,
        bytes: &[u8],
    ) -> bool {
        let may_be_zero = || {
            let association = known.and_then(|id| self.association(id));
            association.is_some_and(|it| it.announced_zero_checksum(packet))
                && !is_first_contact(packet)
        };
        Packet::has_zero_checksum(bytes) && may_be_zero() || Packet::verify_checksum(bytes).is_ok()
    }

    fn deliver(&mut self, id: AssociationId, tuple: FourTuple, packet: &Packet<'_>, len: usize) {
        let now = self.now;
        let open = self.entries.get_mut(&id).filter(|entry| !entry.association.is_closed());
        if let Some(entry) = open {
            entry.association.handle_packet(now, tuple, packet, len);
            self.touch(id);
        }
    }

    /// Handles a packet; `known` is the association of its tag.
    fn handle_packet(
        &mut self,
        known: Option<AssociationId>,
        tuple: FourTuple,
        packet: &Packet<'_>,
        len: usize,
    ) {
        if let Some(id) = known.filter(|_| concerns_one_association(packet)) {
            return self.deliver(id, tuple, packet, len);
        }
        let Some(Ok(first)) = leading_chunk(packet) else {
            return match known {
                Some(id) => self.deliver(id, tuple, packet, len),
                None => self.stats.malformed += 1,
            };
        };
        match &first {
            Chunk::Init(init) => self.on_init(tuple, packet, init),
            Chunk::CookieEcho(echo) => self.on_cookie_echo(tuple, packet, echo, len),
            Chunk::Abort(abort) if abort.tag_reflected => self.on_reflected(tuple, packet, &first),
            Chunk::ShutdownComplete(complete) if complete.tag_reflected => {
                self.on_reflected(tuple, packet, &first);
            }
            Chunk::ShutdownAck => self.on_shutdown_ack(tuple, packet, len),
            Chunk::Dtls(chunk) if chunk.restart => self.on_packet_of_restart(tuple, packet, len),
            Chunk::Data(_)
            | Chunk::IData(_)
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
            | Chunk::Auth(_)
            | Chunk::Dtls(_)
            | Chunk::AsconfAck(_)
            | Chunk::ForwardTsn(_)
            | Chunk::IForwardTsn(_)
            | Chunk::Asconf(_)
            | Chunk::ReConfig(_)
            | Chunk::Pad(_)
            | Chunk::Unknown(_) => self.on_tagged(tuple, packet, len),
        }
    }

    /// RFC 9260 section 8.5: "If the received Verification Tag value does not match the receiver's
    /// own tag value, the receiver MUST silently discard the packet and MUST NOT process it any
    /// further".
    fn on_tagged(&mut self, tuple: FourTuple, packet: &Packet<'_>, len: usize) {
        if let Some(id) = self.by_tag(packet) {
            return self.deliver(id, tuple, packet, len);
        }
        let wronged = self.by_path(tuple, ports_of(packet));
        match wronged.and_then(|id| self.entries.get_mut(&id)) {
            Some(entry) => entry.association.note_wrong_tag(),
            None => self.on_out_of_the_blue(tuple, packet),
        }
    }

    /// RFC 9260 section 8.5.1, E: "If the receiver is in COOKIE-ECHOED or COOKIE-WAIT state, the
    /// procedures in Section 8.4 SHOULD be followed; in other words, it is treated as an OOTB
    /// packet." In other states the rule for all packets holds.
    fn on_shutdown_ack(&mut self, tuple: FourTuple, packet: &Packet<'_>, len: usize) {
        let known = self.by_tag(packet).or_else(|| self.by_path(tuple, ports_of(packet)));
        let association = known.and_then(|id| self.association(id));
        if association.is_some_and(Association::is_handshaking) {
            return self.on_out_of_the_blue(tuple, packet);
        }
        self.on_tagged(tuple, packet, len);
    }

    /// An ABORT or SHUTDOWN COMPLETE with the T bit: RFC 9260 section 8.5.1, B and C, accept it if
    /// the Verification Tag "is set to its Peer's Tag and the T bit is set in the Chunk Flags".
    fn on_reflected(&mut self, tuple: FourTuple, packet: &Packet<'_>, chunk: &Chunk<'_>) {
        let tag = packet.header.verification_tag;
        let known = self.by_path(tuple, ports_of(packet));
        let entry = known.and_then(|id| Some((id, self.entries.get_mut(&id)?)));
        let meant = entry.filter(|(_, entry)| entry.association.identity().peer_tag == tag);
        let Some((id, entry)) = meant.filter(|_| tag.0 != 0) else {
            return self.on_out_of_the_blue(tuple, packet);
        };
        entry.association.handle_reflected(chunk);
        self.touch(id);
    }
}

/// Whether a packet is for the association of its tag whatever is in it, as most packets are: told
/// by its first chunk's type alone, since each look into a chunk takes time.
fn concerns_one_association(packet: &Packet<'_>) -> bool {
    match packet.leading_type() {
        Some(ChunkType::DATA | ChunkType::I_DATA | ChunkType::SACK) => true,
        Some(ChunkType::DTLS) => packet.dtls_chunk().is_some_and(|chunk| !chunk.restart),
        Some(_) | None => false,
    }
}

/// Whether a packet is one of those that begin an association.
fn is_first_contact(packet: &Packet<'_>) -> bool {
    let may_be = matches!(
        packet.leading_type(),
        Some(ChunkType::INIT | ChunkType::COOKIE_ECHO | ChunkType::AUTH)
    );
    may_be && matches!(leading_chunk(packet), Some(Ok(Chunk::Init(_) | Chunk::CookieEcho(_))))
}

/// The chunk that says what a packet is for: the first one, or the one behind AUTH (RFC 4895
/// section 6.3: the receiver "MUST use the chunks after the AUTH chunk to look up an existing
/// association").
fn leading_chunk<'a>(packet: &Packet<'a>) -> Option<Result<Chunk<'a>, DecodeError>> {
    let mut chunks = packet.chunks();
    let first = chunks.next()?;
    if matches!(first, Ok(Chunk::Auth(_))) { chunks.next().or(Some(first)) } else { Some(first) }
}

impl Machine for Endpoint {
    type Event = (AssociationId, Event);

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.now = now;
        let Datagram { path, bytes, .. } = datagram;
        let Ok(packet) = Packet::decode(bytes, ChecksumMode::Ignore) else {
            self.stats.malformed += 1;
            return;
        };
        let known = self.by_tag(&packet);
        if self.has_valid_checksum(known, &packet, bytes) {
            self.handle_packet(known, path, &packet, bytes.len());
        } else {
            self.stats.malformed += 1;
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        // An association that touches nothing but its own timer asks for the same time again; that
        // many rounds, and no more, are done.
        for _ in 0..=self.entries.len() {
            let Some(id) = self.wakeups.due(now) else { return };
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
            return Some(Transmit::datagram(path));
        }
        while let Some(&id) = self.to_transmit.front() {
            if let Some(entry) = self.entries.get_mut(&id) {
                entry.is_stale = true;
                let segments_max = self.config.segments_max;
                if let Some(transmit) = entry.association.poll_transmit(now, segments_max, buf) {
                    return Some(transmit);
                }
                entry.in_transmit = false;
                if entry.association.has_event() && !std::mem::replace(&mut entry.in_report, true) {
                    self.to_report.push_back(id);
                }
            }
            self.to_transmit.pop_front();
            self.refresh(id);
        }
        None
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.entries.get(&self.wakeups.first()?)?.wakeup
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
            // One that may have something to send is looked at when that is written.
            let waits = self.entries.get(&id).is_some_and(Entry::is_to_transmit);
            if !waits {
                self.refresh(id);
            }
        }
        None
    }

    fn set_tracing(&mut self, on: bool) {
        self.is_tracing = on;
        self.records.set(on);
        for entry in self.entries.values_mut() {
            entry.association.set_tracing(on);
        }
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        if !self.is_tracing {
            return None;
        }
        let present = || self.entries.iter_mut().find_map(|(id, entry)| entry.next_record(*id));
        self.records.pop().or_else(present)
    }
}
