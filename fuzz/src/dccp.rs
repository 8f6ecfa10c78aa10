//! Checks of `anabranch-dccp`: whatever decodes, encodes to bytes that decode to the same; whatever
//! packets arrive and when, an endpoint comes to rest and sends only what its peer can read.

use std::time::Duration;

use anabranch_dccp::wire::{
    Ccid3Option, Kind, Options, OptionsBuf, Packet, PacketOption, Protection, SequenceNumber,
    ServiceCode,
};
use anabranch_dccp::{Ccid, Config, Endpoint, EndpointConfig};
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
