//! Checks of `anabranch-transport`: whatever a DCCP peer puts into its datagrams, a transport comes
//! to rest, keeps no more than it says, and hands on nothing that is no message.

use std::time::Duration;

use anabranch_dccp::wire::ServiceCode;
use anabranch_dccp::{Ccid, Config, Connections, Endpoint, EndpointConfig};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};
use anabranch_transport::{
    ConnectionId, DCCP_PORT, DccpConfig, DccpTransport, Event, Outgoing, PayloadId, Reliability,
    StreamId, Transport as _,
};

use crate::script::Script;

/// Packets and timers that one step of the script may cause.
const EVENTS_MAX: u32 = 20_000;

const SERVICE: ServiceCode = ServiceCode(0x616e_6162);
const SEND_BUFFER: usize = 20_000;
const RECEIVE_BUFFER: u64 = 20_000;
const TRUNKS_MAX: usize = 3;
const CONNECTIONS_OF_PEER_MAX: usize = 24;

/// Plays `bytes` as a script of frames, pauses and acts of the user against a listener. The first
/// byte says how many DCCP connections the peer begins with.
pub fn dccp(bytes: &[u8]) {
    let mut script = Script(bytes);
    let mut play = Play::new(script.byte());
    while !script.0.is_empty() {
        play.step(&mut script);
        play.settle();
    }
}

/// The listener under test, and a peer that speaks DCCP and puts into it what the script says.
struct Play {
    tested: DccpTransport,
    peer: Endpoint,
    now: Time,
    /// The connections that the listener told of.
    known: Vec<ConnectionId>,
    next_port: u16,
}

impl Play {
    fn new(start: u8) -> Self {
        let config = DccpConfig {
            listen: true,
            connections: Connections::Auto,
            send_buffer: SEND_BUFFER,
            receive_buffer: RECEIVE_BUFFER,
            trunks_max: TRUNKS_MAX,
            ..DccpConfig::default()
        };
        let mut play = Self {
            tested: DccpTransport::new(config, Rng::from_u64(1)),
            peer: Endpoint::new(EndpointConfig::default(), Rng::from_u64(2)),
            now: Time::ZERO,
            known: Vec::new(),
            next_port: 50_000,
        };
        (0..=start % 4).for_each(|_| play.begin());
        play.settle();
        play
    }

    fn begin(&mut self) {
        if self.peer.connections().count() < CONNECTIONS_OF_PEER_MAX {
            let ports = (self.next_port, DCCP_PORT);
            self.next_port += 1;
            let config = Config::with_ccid(Ccid::Tfrc);
            let begun = self.peer.connect(self.now, path(), ports, SERVICE, config);
            assert!(begun.is_ok(), "nothing stands against it");
        }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        let choice = script.byte();
        match choice {
            0 => self.now += Duration::from_millis(u64::from(script.byte())),
            1 => self.now += Duration::from_secs(u64::from(script.byte() % 16)),
            2 => self.begin(),
            3..=5 => self.act(choice, script),
            6 => {
                let frame = script.bytes().to_vec();
                self.say(script.byte(), frame);
            }
            7 => self.close(script.byte()),
            _ => {
                // A frame that says to whom its connection belongs.
                let (trunk, path, member) = (script.byte() % 8, script.byte() % 4, script.byte());
                let mut frame = vec![0x80 | choice & 7];
                frame.extend([0, 0, 0, 0, 0, 0, 0, trunk]);
                frame.extend([3, path, choice >> 6, member & 0x7f]);
                frame.extend(script.bytes());
                self.say(member, frame);
            }
        }
    }

    /// The peer sends by one of its connections.
    fn say(&mut self, which: u8, frame: Vec<u8>) {
        let ids: Vec<_> = self.peer.connections().collect();
        let id = ids.get(usize::from(which) % ids.len().max(1));
        if let Some(connection) = id.and_then(|id| self.peer.connection_mut(*id)) {
            // A full buffer refuses, and a closed connection too.
            _ = connection.send(frame.into());
        }
    }

    fn close(&mut self, which: u8) {
        let ids: Vec<_> = self.peer.connections().collect();
        let id = ids.get(usize::from(which) % ids.len().max(1));
        if let Some(connection) = id.and_then(|id| self.peer.connection_mut(*id)) {
            connection.close(self.now);
        }
    }

    /// The user of the listener does something.
    fn act(&mut self, choice: u8, script: &mut Script<'_>) {
        let which = usize::from(script.byte());
        let Some(id) = self.known.get(which % self.known.len().max(1)).copied() else { return };
        let now = self.now;
        let Some(connection) = self.tested.connection_mut(id) else { return };
        match choice {
            3 => {
                let reliability = match script.byte() {
                    0 => Reliability::Reliable,
                    ms => Reliability::Lifetime(Duration::from_millis(ms.into())),
                };
                let payload = vec![7; 8 * usize::from(script.byte())];
                let message = Outgoing {
                    stream: StreamId(u16::from(script.byte() % 8)),
                    payload_id: PayloadId(1),
                    reliability,
                    ..Outgoing::new(StreamId(0), PayloadId(1), payload.into())
                };
                // A full queue refuses.
                _ = connection.send(now, message);
            }
            4 => {
                while let Some(message) = connection.receive() {
                    assert!(!message.payload.is_empty(), "a message has at least one byte");
                }
            }
            _ => match script.byte() % 8 {
                0 => connection.abort("enough"),
                1 => connection.shutdown(now),
                _ => {}
            },
        }
    }

    /// Takes all that both ends have to send and to say, and lets timers expire that are due.
    fn settle(&mut self) {
        for _ in 0..EVENTS_MAX {
            let answers = drain(&mut self.peer, self.now);
            let sent = drain(&mut self.tested, self.now);
            for bytes in &answers {
                deliver(&mut self.tested, self.now, path().reversed(), bytes);
            }
            for bytes in &sent {
                deliver(&mut self.peer, self.now, path(), bytes);
            }
            while self.peer.poll_event().is_some() {}
            while let Some((id, event)) = self.tested.poll_event() {
                if matches!(event, Event::Connected { .. }) {
                    self.known.push(id);
                }
            }
            let ids: Vec<_> = self.peer.connections().collect();
            for id in ids {
                while self.peer.connection_mut(id).is_some_and(|it| it.receive().is_some()) {}
            }
            let is_due = self.tested.poll_timeout().is_some_and(|at| at.at <= self.now);
            let is_peers = self.peer.poll_timeout().is_some_and(|at| at.at <= self.now);
            if is_due {
                self.tested.handle_timeout(self.now);
            }
            if is_peers {
                self.peer.handle_timeout(self.now);
            }
            if !is_due && !is_peers && sent.is_empty() && answers.is_empty() {
                return self.check();
            }
        }
        panic!("both ends do not come to rest");
    }

    fn check(&self) {
        assert!(self.tested.connections() <= TRUNKS_MAX, "more peers than there may be");
        for connection in self.known.iter().filter_map(|id| self.tested.connection(*id)) {
            // One message always finds room.
            assert!(connection.queued() <= SEND_BUFFER + 8 * 255);
            assert!(connection.stats().paths.len() <= 16);
        }
    }
}

/// From the peer to the listener, as the peer sees it.
fn path() -> FourTuple {
    FourTuple::new(([10, 0, 0, 1], 6_511).into(), ([10, 0, 0, 2], 6_511).into())
}

fn deliver(machine: &mut impl Machine, now: Time, path: FourTuple, bytes: &[u8]) {
    machine.handle_datagram(now, Datagram { path, ecn: None, bytes });
}

fn drain(machine: &mut impl Machine, now: Time) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    let mut buf = Vec::new();
    while machine.poll_transmit(now, &mut buf).is_some() {
        sent.push(std::mem::take(&mut buf));
        assert!(sent.len() < EVENTS_MAX as usize, "it never stops sending");
    }
    sent
}
