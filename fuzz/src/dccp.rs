//! Checks of `anabranch-dccp`: whatever decodes, encodes to bytes that decode to the same; whatever
//! packets arrive and when, an endpoint comes to rest and sends only what its peer can read; a
//! bundle hands on in order what was sent.

use std::time::Duration;

use anabranch_dccp::wire::{
    Ccid3Option, Kind, MultipathOption, Options, OptionsBuf, Packet, PacketOption, Protection,
    SequenceNumber, ServiceCode,
};
use anabranch_dccp::{
    Bundle, BundleConfig, CONNECTIONS_MAX, Ccid, Config, Connections, Endpoint, EndpointConfig,
    Interleaving,
};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};

/// Checks `bytes` as a packet from the network, in UDP and straight on IP.
pub fn packet(bytes: &[u8]) {
    let header =
        Protection::Header { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() };
    for protection in [Protection::Udp, header] {
        match Packet::decode(protection, bytes) {
            Ok(packet) => {
                let mut again = Vec::new();
                packet.encode(protection, &mut again);
                assert_eq!(Packet::decode(protection, &again), Ok(packet));
                options(packet.options);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Each option that is understood is written as an option that is understood the same.
fn options(options: Options<'_>) {
    for entry in options.iter().map_while(Result::ok) {
        match entry.decode() {
            Ok(option) => {
                walk(&option);
                let mut written = OptionsBuf::new();
                assert!(written.push(&option), "it stood in a packet: {option:?}");
                let read = written.as_options().iter().next();
                let read = read.and_then(Result::ok).and_then(|entry| entry.decode().ok());
                assert_eq!(read, Some(option));
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
}

/// Reads what an option holds.
fn walk(option: &PacketOption<'_>) {
    if let PacketOption::AckVector(vector) = option {
        assert!(vector.runs().all(|run| (1..=64).contains(&run.len)));
    }
    if let PacketOption::DataDropped(dropped) = option {
        assert!(dropped.runs().all(|run| (1..=128).contains(&run.len)));
    }
    if let PacketOption::Multipath(MultipathOption::Confirm(list)) = option {
        assert!(list.iter().count() <= 253 / 3);
    }
    if let PacketOption::Multipath(MultipathOption::Key { keys, .. }) = option {
        assert!(keys.plain().is_none_or(|key| key.len() == 8));
    }
    if let PacketOption::Ccid { ty, data } = option
        && let Ok(Ccid3Option::LossIntervals(intervals)) = Ccid3Option::decode(*ty, data)
    {
        assert!(intervals.iter().count() <= 28);
        assert!(intervals.iter().all(|interval| interval.sequence_length() < 1 << 25));
    }
}

/// Plays `bytes` as a script of packets and pauses against an endpoint. The first byte says which
/// CCID both ends prefer, whether there are cookies, and whether they are connected from the start.
pub fn connection(bytes: &[u8]) {
    let mut script = Script(bytes);
    let mut play = Play::new(script.byte());
    while !script.0.is_empty() {
        play.step(&mut script);
        play.settle();
    }
}

/// Packets and timers that one step of the script may cause.
const EVENTS_MAX: u32 = 20_000;

const PORTS: (u16, u16) = (1_000, 2_000);
const SERVICE: ServiceCode = ServiceCode(0x616e_6162);

/// What is left of the input; where it ends, zeros follow.
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        head
    }
}

/// The endpoint under test, which listens, and a peer of the same make.
struct Play {
    tested: Endpoint,
    peer: Endpoint,
    now: Time,
    /// The last numbers of the peer and of the endpoint under test: what the script's numbers are
    /// counted from.
    last: [u64; 2],
}

impl Play {
    fn new(start: u8) -> Self {
        let ccid = if start & 2 == 0 { Ccid::TcpLike } else { Ccid::Tfrc };
        let config = Config {
            short_sequence_numbers: start & 8 != 0,
            receive_buffer: 20_000,
            send_buffer: 20_000,
            ..Config::with_ccid(ccid)
        };
        let init_cookies = start & 4 != 0;
        let endpoint = EndpointConfig { init_cookies, ..EndpointConfig::default() };
        let mut play = Self {
            tested: Endpoint::new(endpoint.clone(), Rng::from_u64(1)),
            peer: Endpoint::new(endpoint, Rng::from_u64(2)),
            now: Time::ZERO,
            last: [0; 2],
        };
        play.tested.listen(PORTS.1, vec![SERVICE], config.clone());
        if start & 1 == 0 {
            let begun = play.peer.connect(play.now, path(), PORTS, SERVICE, config);
            assert!(begun.is_ok(), "nothing stands against it");
            (0..4).for_each(|_| play.settle());
        }
        play
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let connections: Vec<_> = self.tested.connections().collect();
        let choice = script.byte();
        if let (6..=9, Some(id)) = (choice, connections.first())
            && let Some(connection) = self.tested.connection_mut(*id)
        {
            match choice {
                // A full buffer refuses, and a closed connection too.
                6 => _ = connection.send(vec![7; 8 * usize::from(script.byte())].into()),
                7 => while connection.receive().is_some() {},
                8 => connection.close(self.now),
                _ => connection.stop_listening(),
            }
            return;
        }
        match choice {
            0 => self.now += Duration::from_millis(u64::from(script.byte())),
            1 => self.now += Duration::from_secs(u64::from(script.byte())),
            2 => {
                let len = usize::from(script.byte());
                deliver(&mut self.tested, self.now, path().reversed(), script.bytes(len));
            }
            3 => {
                // What the peer would send by itself.
                let data = vec![9; usize::from(script.byte())];
                let id = self.peer.connections().next();
                if let Some(connection) = id.and_then(|id| self.peer.connection_mut(id)) {
                    _ = connection.send(data.into());
                }
            }
            _ => {
                let len = usize::from(script.byte());
                let packet = self.packet(script.bytes(len));
                deliver(&mut self.tested, self.now, path().reversed(), &packet);
            }
        }
    }

    /// Bytes of the script as a packet: its ports are right, and its numbers are offsets from those
    /// of the connection, so that the windows are one byte away.
    fn packet(&self, bytes: &[u8]) -> Vec<u8> {
        let Ok(packet) = Packet::decode(Protection::Udp, bytes) else { return bytes.to_vec() };
        let from = |at: usize, number: SequenceNumber| {
            SequenceNumber::new(self.last[at]).plus(number.value())
        };
        let mut moved = Packet {
            source_port: PORTS.0,
            destination_port: PORTS.1,
            sequence_number: from(0, packet.sequence_number),
            ..packet
        };
        match &mut moved.kind {
            Kind::Request { service_code } => *service_code = SERVICE,
            Kind::Data => {}
            Kind::Response { acknowledgement_number, .. }
            | Kind::Ack { acknowledgement_number }
            | Kind::DataAck { acknowledgement_number }
            | Kind::CloseReq { acknowledgement_number }
            | Kind::Close { acknowledgement_number }
            | Kind::Reset { acknowledgement_number, .. }
            | Kind::Sync { acknowledgement_number }
            | Kind::SyncAck { acknowledgement_number } => {
                *acknowledgement_number = from(1, *acknowledgement_number);
            }
        }
        let mut bytes = Vec::new();
        moved.encode(Protection::Udp, &mut bytes);
        bytes
    }

    /// Takes all that both ends have to send and to say, and lets timers expire that are due.
    fn settle(&mut self) {
        for _ in 0..EVENTS_MAX {
            let answers = drain(&mut self.peer, self.now);
            let sent = drain(&mut self.tested, self.now);
            for bytes in &answers {
                self.last[0] = number(bytes).unwrap_or(self.last[0]);
                deliver(&mut self.tested, self.now, path().reversed(), bytes);
            }
            for bytes in &sent {
                let number = number(bytes);
                assert!(number.is_some(), "what is sent can be read");
                self.last[1] = number.unwrap_or_default();
                deliver(&mut self.peer, self.now, path(), bytes);
            }
            while self.tested.poll_event().is_some() {}
            while self.peer.poll_event().is_some() {}
            let due = |end: &Endpoint| end.poll_timeout().is_some_and(|at| at.at <= self.now);
            let are_due = [due(&self.tested), due(&self.peer)];
            if are_due[0] {
                self.tested.handle_timeout(self.now);
            }
            if are_due[1] {
                self.peer.handle_timeout(self.now);
            }
            if are_due == [false; 2] && sent.is_empty() && answers.is_empty() {
                assert!(self.tested.connections().count() <= 1_024);
                return;
            }
        }
        panic!("both ends do not come to rest");
    }
}

/// Plays `bytes` as a script of data, losses, pauses and acts against two bundles and a stranger
/// that speaks DCCP to the receiving one. The first byte says how many connections there are, and
/// how the source is dealt out to them.
pub fn bundle(bytes: &[u8]) {
    let mut script = Script(bytes);
    let mut play = Carriage::new(script.byte());
    while !script.0.is_empty() {
        play.step(&mut script);
        play.settle();
    }
}

const BUNDLE_BUFFER: usize = 20_000;

/// A bundle that sends, one that receives, and a stranger.
struct Carriage {
    sender: Bundle,
    receiver: Bundle,
    stranger: Endpoint,
    now: Time,
    /// Packets of the sender, and of the receiver, that are lost next.
    to_lose: [u8; 2],
    next: u64,
    /// The last one that was read.
    last: Option<u64>,
    /// Whether the stranger said something: it may speak in the sender's name.
    is_disturbed: bool,
}

impl Carriage {
    fn new(start: u8) -> Self {
        let config = BundleConfig {
            connections: match start & 7 {
                0 => Connections::Auto,
                count => Connections::Fixed(count.into()),
            },
            interleaving: match start & 8 {
                0 => Interleaving::ByGroup,
                _ => Interleaving::ByPacket,
            },
            send_buffer: BUNDLE_BUFFER,
            reordering_buffer: BUNDLE_BUFFER,
            reordering: Duration::from_secs(1),
            ..BundleConfig::default()
        };
        let new =
            |seed| Bundle::new(EndpointConfig::default(), config.clone(), Rng::from_u64(seed));
        let mut stranger = Endpoint::new(EndpointConfig::default(), Rng::from_u64(3));
        let (mut sender, mut receiver) = (new(1), new(2));
        receiver.listen(PORTS.1, vec![SERVICE]);
        let tfrc = Config::with_ccid(Ccid::Tfrc);
        let begun = sender.connect(Time::ZERO, path(), PORTS, SERVICE);
        assert!(begun.is_ok(), "nothing stands against it");
        let begun = stranger.connect(Time::ZERO, path_of_stranger(), PORTS, SERVICE, tfrc);
        assert!(begun.is_ok(), "nothing stands against it");
        let now = Time::ZERO;
        let (to_lose, next, last, is_disturbed) = ([0; 2], 0, None, false);
        let mut it = Self { sender, receiver, stranger, now, to_lose, next, last, is_disturbed };
        it.settle();
        it
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.byte() {
            0 => self.now += Duration::from_millis(u64::from(script.byte())),
            1 => self.now += Duration::from_secs(u64::from(script.byte())),
            2 => self.to_lose[0] = script.byte(),
            3 => self.to_lose[1] = script.byte(),
            4 => self.read(),
            5 => self.sender.close(self.now),
            6 => {
                if let Some(connection) = self.sender.member_mut(script.byte().into()) {
                    connection.abort(self.now);
                }
            }
            7 => {
                let len = usize::from(script.byte());
                let data = script.bytes(len).to_vec();
                let id = self.stranger.connections().next();
                if let Some(connection) = id.and_then(|id| self.stranger.connection_mut(id)) {
                    self.is_disturbed |= connection.send(data.into()).is_ok();
                }
            }
            group => {
                let mut data = self.next.to_be_bytes().to_vec();
                data.resize(8 + 8 * usize::from(script.byte()), 7);
                // What is too long, or too much, is refused.
                self.next += u64::from(self.sender.send(group.into(), &data).is_ok());
            }
        }
    }

    /// What the sender sent comes in its order, and once.
    fn read(&mut self) {
        while let Some(data) = self.receiver.receive() {
            let number = data.first_chunk::<8>().map(|number| u64::from_be_bytes(*number));
            if self.is_disturbed {
                continue;
            }
            assert!(number > self.last, "{number:?} behind {:?}", self.last);
            assert!(number < Some(self.next), "{number:?} was never sent");
            self.last = number;
        }
    }

    /// Takes what all have to send, loses what the script has lost, and lets timers expire.
    fn settle(&mut self) {
        for _ in 0..EVENTS_MAX {
            let mut count = 0;
            let (mut buf, now) = (Vec::new(), self.now);
            while self.sender.poll_transmit(now, &mut buf).is_some() {
                count += 1;
                let bytes = std::mem::take(&mut buf);
                if !lose(&mut self.to_lose[0]) {
                    hand(&mut self.receiver, now, path().reversed(), &bytes);
                }
            }
            while self.stranger.poll_transmit(now, &mut buf).is_some() {
                count += 1;
                let bytes = std::mem::take(&mut buf);
                hand(&mut self.receiver, now, path_of_stranger().reversed(), &bytes);
            }
            while let Some(transmit) = self.receiver.poll_transmit(now, &mut buf) {
                count += 1;
                let bytes = std::mem::take(&mut buf);
                if transmit.path.remote == path_of_stranger().local {
                    deliver(&mut self.stranger, now, path_of_stranger(), &bytes);
                } else if !lose(&mut self.to_lose[1]) {
                    hand(&mut self.sender, now, path(), &bytes);
                }
            }
            while self.sender.poll_event().is_some() {}
            while self.receiver.poll_event().is_some() {}
            while self.stranger.poll_event().is_some() {}
            for machine in [&mut self.sender, &mut self.receiver] {
                if machine.poll_timeout().is_some_and(|at| at.at <= now) {
                    count += 1;
                    machine.handle_timeout(now);
                }
            }
            if self.stranger.poll_timeout().is_some_and(|at| at.at <= now) {
                count += 1;
                self.stranger.handle_timeout(now);
            }
            if count == 0 {
                assert!(self.sender.in_use() <= CONNECTIONS_MAX);
                let stats = self.receiver.stats();
                assert!(self.is_disturbed || stats.delivered <= self.sender.stats().sent);
                return;
            }
        }
        panic!("they do not come to rest");
    }
}

fn lose(count: &mut u8) -> bool {
    let loses = *count > 0;
    *count = count.saturating_sub(1);
    loses
}

fn hand(bundle: &mut Bundle, now: Time, path: FourTuple, bytes: &[u8]) {
    bundle.handle_datagram(now, Datagram { path, ecn: None, bytes });
}

/// From the stranger to the bundle that receives, as the stranger sees it.
fn path_of_stranger() -> FourTuple {
    FourTuple::new(([10, 0, 0, 3], 6_511).into(), ([10, 0, 0, 2], 6_511).into())
}

/// From the peer to the endpoint under test, as the peer sees it.
fn path() -> FourTuple {
    FourTuple::new(([10, 0, 0, 1], 6_511).into(), ([10, 0, 0, 2], 6_511).into())
}

fn deliver(endpoint: &mut Endpoint, now: Time, path: FourTuple, bytes: &[u8]) {
    endpoint.handle_datagram(now, Datagram { path, ecn: None, bytes });
}

fn drain(endpoint: &mut Endpoint, now: Time) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    let mut buf = Vec::new();
    while endpoint.poll_transmit(now, &mut buf).is_some() {
        sent.push(std::mem::take(&mut buf));
        assert!(sent.len() < EVENTS_MAX as usize, "the endpoint never stops sending");
    }
    sent
}

fn number(bytes: &[u8]) -> Option<u64> {
    let packet = Packet::decode(Protection::Udp, bytes).ok()?;
    Some(packet.sequence_number.value())
}
