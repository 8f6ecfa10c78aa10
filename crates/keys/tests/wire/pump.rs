//! [`Wire`]: two endpoints, and what somebody makes of the packets between them.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anabranch_keys::{Identity, TlsKeys, Trust};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, CloseReason, EncryptionPolicy, EncryptionStats,
    Endpoint, EndpointConfig, Event, OutgoingMessage, SendError, StreamId,
};
use anabranch_wire::{ChecksumField, ChecksumMode, Chunk, CommonHeader, EncodeChunk, Tsn};
use anabranch_wire::{Packet, PacketWriter};

pub(crate) const CALLER: usize = 0;
pub(crate) const LISTENER: usize = 1;

/// How long a test may take in its own time.
pub(crate) const LONG: Duration = Duration::from_secs(120);

/// A packet that an endpoint sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) at: Time,
    pub(crate) from: usize,
    pub(crate) path: FourTuple,
    pub(crate) bytes: Vec<u8>,
}

/// A packet on its way.
#[derive(Debug, Clone)]
pub(crate) struct Delivery {
    pub(crate) at: Time,
    pub(crate) to: usize,
    /// As who receives it sees it.
    pub(crate) path: FourTuple,
    pub(crate) bytes: Vec<u8>,
}

/// Sees each packet and what is to become of it, and changes that at will.
pub(crate) type Adversary = Box<dyn FnMut(&Sent, &mut Vec<Delivery>)>;

pub(crate) struct Wire {
    pub(crate) now: Time,
    pub(crate) ends: [Endpoint; 2],
    pub(crate) ids: [Option<AssociationId>; 2],
    pub(crate) events: [Vec<Event>; 2],
    pub(crate) sent: Vec<Sent>,
    pub(crate) adversary: Adversary,
    /// Whether `sent` grows.
    pub(crate) remembers: bool,
    delays: Vec<Duration>,
    flying: BTreeMap<(Time, u64), Delivery>,
    count: u64,
}

impl Wire {
    /// Two ends that know each other, on one path of 50 ms.
    pub(crate) fn encrypted() -> Self {
        Self::new([encrypted(), encrypted()], &[Duration::from_millis(50)], 7)
    }

    pub(crate) fn new(configs: [AssociationConfig; 2], delays: &[Duration], seed: u64) -> Self {
        Self::calling_over(delays.len(), configs, delays, seed)
    }

    /// The caller knows of its first `known` paths only.
    pub(crate) fn calling_over(
        known: usize,
        configs: [AssociationConfig; 2],
        delays: &[Duration],
        seed: u64,
    ) -> Self {
        let mut rng = Rng::from_u64(seed);
        let [callers, listeners] = configs;
        let mut end = |accept, association: AssociationConfig| {
            let config = EndpointConfig { accept, association, ..EndpointConfig::default() };
            Endpoint::new(config, rng.fork())
        };
        let mut ends = [end(false, callers.clone()), end(true, listeners)];
        let paths: Vec<_> = (0..known).map(path).collect();
        let id = ends[CALLER].connect(Time::ZERO, &paths, (5_000, 5_001), callers);
        Self {
            now: Time::ZERO,
            ends,
            ids: [Some(id.expect("it may call")), None],
            events: [Vec::new(), Vec::new()],
            sent: Vec::new(),
            adversary: Box::new(|_, _| {}),
            remembers: true,
            delays: delays.to_vec(),
            flying: BTreeMap::new(),
            count: 0,
        }
    }

    /// One that has keys.
    pub(crate) fn connected() -> Self {
        let mut wire = Self::encrypted();
        wire.connect();
        wire
    }

    pub(crate) fn connect(&mut self) {
        assert!(self.run_until(LONG, Self::are_connected), "{:?}", self.events);
        self.run(Duration::from_secs(1));
    }

    pub(crate) fn run(&mut self, time: Duration) {
        self.run_until(time, |_| false);
    }

    /// Goes on until something holds, or the time is over; whether it holds.
    pub(crate) fn run_until(&mut self, time: Duration, holds: impl Fn(&Self) -> bool) -> bool {
        let end = self.now + time;
        loop {
            self.pump_out();
            if holds(self) {
                return true;
            }
            let wakeups = self.ends.iter().filter_map(Machine::poll_timeout).map(|w| w.at);
            let next = self.flying.keys().next().map(|(at, _)| *at).into_iter().chain(wakeups);
            let Some(next) = next.min().filter(|at| *at <= end) else {
                self.now = end;
                return false;
            };
            self.now = self.now.max(next);
            while let Some(entry) = self.flying.first_entry().filter(|e| e.key().0 <= self.now) {
                let Delivery { to, path, bytes, .. } = entry.remove();
                self.put(to, path, &bytes);
            }
            for end in &mut self.ends {
                if end.poll_timeout().is_some_and(|wakeup| wakeup.at <= self.now) {
                    end.handle_timeout(self.now);
                }
            }
        }
    }

    /// Hands a packet to an end, here and now.
    pub(crate) fn put(&mut self, to: usize, path: FourTuple, bytes: &[u8]) {
        self.ends[to].handle_datagram(self.now, Datagram { path, ecn: None, bytes });
    }

    /// Sends what the ends have to say on its way.
    pub(crate) fn pump_out(&mut self) {
        for from in [CALLER, LISTENER] {
            let mut buf = Vec::new();
            while let Some(transmit) = self.ends[from].poll_transmit(self.now, &mut buf) {
                let size = transmit.segment_size.unwrap_or(buf.len());
                for bytes in buf.chunks(size) {
                    self.fly(Sent {
                        at: self.now,
                        from,
                        path: transmit.path,
                        bytes: bytes.to_vec(),
                    });
                }
                buf.clear();
            }
            while let Some((id, event)) = self.ends[from].poll_event() {
                self.ids[from].get_or_insert(id);
                self.events[from].push(event);
            }
        }
    }

    fn fly(&mut self, sent: Sent) {
        let SocketAddr::V4(local) = sent.path.local else { panic!("no IPv4") };
        // Nobody is elsewhere.
        let Some(&delay) = self.delays.get(usize::from(local.ip().octets()[2])) else { return };
        let (at, to, path) = (self.now + delay, 1 - sent.from, sent.path.reversed());
        let mut deliveries = vec![Delivery { at, to, path, bytes: sent.bytes.clone() }];
        (self.adversary)(&sent, &mut deliveries);
        for delivery in deliveries {
            self.count += 1;
            self.flying.insert((delivery.at, self.count), delivery);
        }
        if self.remembers {
            self.sent.push(sent);
        }
    }

    pub(crate) fn end(&mut self, end: usize) -> &mut Association {
        let id = self.ids[end].or_else(|| self.ends[end].associations().next());
        let id = id.expect("it has an association");
        self.ends[end].association_mut(id).expect("alive")
    }

    pub(crate) fn send(&mut self, end: usize, message: OutgoingMessage) {
        self.try_send(end, message).expect("there is room");
    }

    pub(crate) fn try_send(
        &mut self,
        end: usize,
        message: OutgoingMessage,
    ) -> Result<(), SendError> {
        let now = self.now;
        self.end(end).send(now, message)
    }

    /// What an end has to read.
    pub(crate) fn received(&mut self, end: usize) -> Vec<Vec<u8>> {
        let association = self.end(end);
        std::iter::from_fn(|| association.receive()).map(|m| m.payload.to_vec()).collect()
    }

    pub(crate) fn stats(&mut self, end: usize) -> EncryptionStats {
        self.end(end).stats().encryption.expect("it is encrypted")
    }

    pub(crate) fn is_connected(&self, end: usize) -> bool {
        self.events[end].iter().any(|event| matches!(event, Event::Connected { .. }))
    }

    pub(crate) fn are_connected(&self) -> bool {
        self.is_connected(CALLER) && self.is_connected(LISTENER)
    }

    pub(crate) fn close_reason(&self, end: usize) -> Option<&CloseReason> {
        self.events[end].iter().find_map(|event| {
            if let Event::Closed { reason, .. } = event { Some(reason) } else { None }
        })
    }

    /// Whether each end still tells the other what it has to say.
    pub(crate) fn assert_works(&mut self) {
        for (from, text) in [(CALLER, "from the caller"), (LISTENER, "from the listener")] {
            for stream in 0..3 {
                self.send(from, message(stream, text.as_bytes()));
            }
            self.run(Duration::from_secs(20));
            assert_eq!(self.received(1 - from), vec![text.as_bytes(); 3], "{:?}", self.events);
        }
    }

    /// The header of what an end receives.
    pub(crate) fn header_to(&self, end: usize) -> CommonHeader {
        let of = |sent: &Sent| (sent.from != end).then(|| packet(&sent.bytes).header);
        let mut headers = self.sent.iter().filter_map(of);
        headers.find(|header| header.verification_tag.0 != 0).expect("something was sent")
    }
}

/// The path with this number, as the caller sees it.
pub(crate) fn path(n: usize) -> FourTuple {
    let address = |end: u8| SocketAddr::from(([10, 0, n as u8, end], 9_899));
    FourTuple::new(address(1), address(2))
}

/// The path with this number, as an end sees it.
pub(crate) fn path_at(end: usize, n: usize) -> FourTuple {
    if end == CALLER { path(n) } else { path(n).reversed() }
}

pub(crate) fn config(keys: Option<TlsKeys>, policy: EncryptionPolicy) -> AssociationConfig {
    AssociationConfig::media().with(|config| {
        config.extensions.encryption = keys.map(|keys| keys.by(policy));
    })
}

pub(crate) fn encrypted() -> AssociationConfig {
    config(Some(keys()), EncryptionPolicy::Require)
}

pub(crate) fn keys() -> TlsKeys {
    let identity = Identity::generate().expect("there is randomness");
    let keys = TlsKeys::new(&identity, Trust::Anyone).expect("TLS takes the key");
    keys.with_restarts(Arc::new(()))
}

pub(crate) fn message(stream: u16, payload: &[u8]) -> OutgoingMessage {
    OutgoingMessage::new(StreamId(stream), payload.to_vec().into())
}

pub(crate) fn packet(bytes: &[u8]) -> Packet<'_> {
    Packet::decode(bytes, ChecksumMode::Ignore).expect("a packet")
}

/// Chunks as they stand in a packet.
pub(crate) struct Raw<'a>(pub(crate) &'a [u8]);

impl EncodeChunk for Raw<'_> {
    fn encoded_len(&self) -> usize {
        self.0.len()
    }

    fn encode(&self, buf: &mut Vec<u8>) {
        buf.extend_from_slice(self.0);
    }
}

/// A packet with these chunks and a checksum that is right.
pub(crate) fn packet_of(header: CommonHeader, chunks: &[u8]) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut writer = PacketWriter::new(&mut bytes, header);
    writer.push(&Raw(chunks));
    writer.finish(ChecksumField::Fill);
    bytes
}

/// The same packet with other chunks.
pub(crate) fn with_chunks(bytes: &[u8], change: impl FnOnce(&mut Vec<u8>)) -> Vec<u8> {
    let packet = packet(bytes);
    let mut chunks = packet.chunks().rest().to_vec();
    change(&mut chunks);
    packet_of(packet.header, &chunks)
}

pub(crate) fn bytes_of(chunk: &impl EncodeChunk) -> Vec<u8> {
    let mut bytes = Vec::new();
    chunk.encode(&mut bytes);
    bytes
}

/// Whether all of a packet is sealed.
pub(crate) fn is_sealed(bytes: &[u8]) -> bool {
    packet(bytes).chunks().rest().first() == Some(&0x41)
}

/// The first TSN of an end, as its INIT or INIT ACK tells.
pub(crate) fn initial_tsn(sent: &[Sent], of: usize) -> Tsn {
    let tsn = |sent: &Sent| match packet(&sent.bytes).chunks().next() {
        Some(Ok(Chunk::Init(init))) => Some(init.initial_tsn),
        Some(Ok(Chunk::InitAck(init_ack))) => Some(init_ack.initial_tsn),
        _ => None,
    };
    let mut told = sent.iter().filter(|sent| sent.from == of).filter_map(tsn);
    told.next().expect("it was told")
}
