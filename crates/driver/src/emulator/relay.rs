//! [`Relay`]: the machine that runs one emulated link.

use std::collections::VecDeque;
use std::net::SocketAddr;

use anabranch_netsim::{Carrier, LinkConfig, Packet};
use anabranch_sansio::{
    Datagram, Ecn, FourTuple, Machine, Rng, Time, TraceLog, TraceRecord, Transmit, Wakeup,
};

use super::clients::{Admission, ClientEvent, Clients};
use super::ways::Ways;
use super::{Direction, EmulatedLink, Lateness};

/// What leaves in one transmission at most; below what one send call carries.
const BURST_BYTES_MAX: usize = 60_000;

/// How many buffers are kept to be used again.
const SPARE_MAX: usize = 1_024;

/// Packets go in as datagrams, through the link of their direction, and out as datagrams of
/// another path, as through a NAT.
#[derive(Debug)]
pub(super) struct Relay {
    listen: SocketAddr,
    target: SocketAddr,
    pub(super) ways: Ways,
    pub(super) clients: Clients,
    /// What left the links and is to be sent now. Their bound is its bound.
    outbox: VecDeque<Packet>,
    spare: Vec<Vec<u8>>,
    pub(super) lateness: Lateness,
    pub(super) refused: u64,
    pub(super) strangers: u64,
    trace: TraceLog,
}

impl Relay {
    /// `listen` is where the link really listens, its port chosen.
    pub(super) fn new(link: &EmulatedLink, listen: SocketAddr, rng: &mut Rng) -> Self {
        Self {
            listen,
            target: link.target,
            ways: Ways::new(link.up.clone(), link.down.clone(), rng),
            clients: Clients::default(),
            outbox: VecDeque::new(),
            spare: Vec::new(),
            lateness: Lateness::default(),
            refused: 0,
            strangers: 0,
            trace: TraceLog::default(),
        }
    }

    /// Changes one direction.
    pub(super) fn reconfigure(&mut self, now: Time, direction: Direction, config: LinkConfig) {
        self.trace.push(|| {
            TraceRecord::new(now, "link:settings_updated")
                .with("direction", direction.name())
                .with_some("rate_bps", config.rate)
                .with("delay_ms", config.delay)
                .with("loss", config.loss.mean())
        });
        self.ways.reconfigure(now, direction, config);
        self.trace_dropped(now);
    }

    /// Cuts both directions: what is under way is lost, and what comes.
    pub(super) fn cut(&mut self, now: Time) {
        self.ways.cut(now);
        self.trace_state(now);
        self.trace_dropped(now);
    }

    /// Ends a cut.
    pub(super) fn restore(&mut self, now: Time) {
        self.ways.restore();
        self.trace_state(now);
    }

    fn trace_state(&mut self, now: Time) {
        let state = if self.ways.link(Direction::Up).is_up() { "up" } else { "cut" };
        self.trace.push(|| TraceRecord::new(now, "link:state_updated").with("state", state));
    }

    fn trace_packet(&mut self, now: Time, name: &'static str, direction: Direction, bytes: usize) {
        self.trace.push(|| {
            TraceRecord::new(now, name).with("direction", direction.name()).with("bytes", bytes)
        });
    }

    /// What the links have dropped since, and why.
    fn trace_dropped(&mut self, now: Time) {
        if !self.trace.is_on() {
            return;
        }
        while let Some((direction, cause, packet)) = self.ways.poll_dropped() {
            self.trace.push(|| {
                TraceRecord::new(now, "link:packet_dropped")
                    .with("direction", direction.name())
                    .with("bytes", packet.bytes.len())
                    .with("trigger", cause.name())
            });
            self.recycle(packet.bytes);
        }
    }

    /// A packet enters the link.
    fn enter(&mut self, now: Time, direction: Direction, packet: Packet) {
        self.trace_packet(now, "link:packet_received", direction, packet.bytes.len());
        self.ways.handle_packet(now, direction, packet);
        self.trace_dropped(now);
    }

    /// Gives a client the socket that it waits for.
    pub(super) fn serve(&mut self, now: Time, who: FourTuple, outside: SocketAddr) {
        for packet in self.clients.serve(who, outside) {
            self.enter(now, Direction::Up, packet);
        }
    }

    /// Tells that a client cannot get a socket.
    pub(super) fn turn_away(&mut self, who: FourTuple) {
        self.refused += self.clients.turn_away(who) as u64;
    }

    fn on_request(&mut self, now: Time, datagram: Datagram<'_>) {
        let packet = self.packet(datagram, datagram.path.reversed());
        match self.clients.admit(now, datagram.path, packet) {
            Admission::Pass(packet) => self.enter(now, Direction::Up, packet),
            Admission::Waits => {}
            Admission::Refused => self.refused += 1,
        }
    }

    fn on_reply(&mut self, now: Time, who: FourTuple, datagram: Datagram<'_>) {
        let packet = self.packet(datagram, who);
        self.enter(now, Direction::Down, packet);
    }

    /// A copy of the datagram, as a packet that travels between the client and us.
    fn packet(&mut self, datagram: Datagram<'_>, path: FourTuple) -> Packet {
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.extend_from_slice(datagram.bytes);
        Packet { ecn: datagram.ecn, ..Packet::new(path, Carrier::Udp, bytes) }
    }

    fn listens_at(&self, local: SocketAddr) -> bool {
        let any = self.listen.ip().is_unspecified() && self.listen.is_ipv4() == local.is_ipv4();
        local.port() == self.listen.port() && (any || local.ip() == self.listen.ip())
    }

    /// Takes what has arrived at either end. A client that has left is sent nothing.
    fn collect(&mut self, now: Time) {
        while let Some((direction, at, mut packet)) = self.ways.poll_packet(now) {
            self.lateness.count(now.saturating_since(at));
            self.trace_packet(now, "link:packet_sent", direction, packet.bytes.len());
            match (direction, self.clients.outside(packet.path.reversed())) {
                (Direction::Down, _) => self.outbox.push_back(packet),
                (Direction::Up, Some(outside)) => {
                    packet.path = FourTuple::new(outside, self.target);
                    self.outbox.push_back(packet);
                }
                (Direction::Up, None) => self.refused += 1,
            }
        }
    }

    fn recycle(&mut self, mut bytes: Vec<u8>) {
        if self.spare.len() < SPARE_MAX {
            bytes.clear();
            self.spare.push(bytes);
        }
    }

    /// The next packet of the outbox if it can follow `segment`-byte datagrams in one burst.
    fn next_alike(&mut self, path: FourTuple, ecn: Option<Ecn>, segment: usize) -> Option<Packet> {
        self.outbox.pop_front_if(|next| {
            next.path == path
                && next.ecn == ecn
                && next.bytes.len() <= segment
                && !next.bytes.is_empty()
        })
    }
}

impl Machine for Relay {
    type Event = ClientEvent;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let path = datagram.path;
        if path.remote == self.target
            && let Some(who) = self.clients.answered(now, path.local)
        {
            return self.on_reply(now, who, datagram);
        }
        if self.listens_at(path.local) {
            return self.on_request(now, datagram);
        }
        // Like a NAT, which lets in only what was asked for.
        self.strangers += 1;
    }

    fn handle_timeout(&mut self, now: Time) {
        self.collect(now);
        self.trace_dropped(now);
    }

    fn poll_transmit(&mut self, _: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let Packet { path, ecn, bytes, .. } = self.outbox.pop_front()?;
        let segment = bytes.len();
        let mut last = segment;
        buf.extend_from_slice(&bytes);
        self.recycle(bytes);
        while last == segment && buf.len() + segment <= BURST_BYTES_MAX {
            let Some(next) = self.next_alike(path, ecn, segment) else { break };
            last = next.bytes.len();
            buf.extend_from_slice(&next.bytes);
            self.recycle(next.bytes);
        }
        let segment_size = (buf.len() > segment).then_some(segment);
        Some(Transmit { ecn, segment_size, ..Transmit::datagram(path) })
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.ways.poll_timeout().map(|at| Wakeup { at, why: "link" })
    }

    fn poll_event(&mut self) -> Option<ClientEvent> {
        self.clients.events.pop_front()
    }

    fn set_tracing(&mut self, on: bool) {
        self.trace.set(on);
        if on {
            self.ways.keep_dropped();
        }
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.trace.pop()
    }
}
