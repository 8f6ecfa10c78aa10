//! TCP: a connection for each channel that is asked for, or one for all.

use std::collections::VecDeque;

use anabranch_netsim::{Carrier as Protocol, Side};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use anabranch_tcp::{Config, Connection, Event};

use super::{Counters, Incoming, Peer};
use crate::kim2007::message::{Message, REQUEST_LEN, decode_request, encode_request};
use crate::kim2007::setup::Setup;

/// A listening socket takes no more connections than this.
const CONNECTIONS_MAX: usize = 16;

/// A host with some connections: those that a client opened, or that a server accepted.
pub(in crate::kim2007) struct TcpPeer {
    side: Side,
    /// Of the first connection; each further one has the client's next port.
    path: FourTuple,
    config: Config,
    message_len: usize,
    rng: Rng,
    ends: Vec<End>,
    /// Which of them the last request came on.
    serving: usize,
}

/// One end of a connection.
struct End {
    path: FourTuple,
    connection: Connection,
    /// What happened and the application has not seen yet.
    events: VecDeque<Event>,
    /// The channel that is asked for as soon as the connection stands.
    to_request: Option<u16>,
    /// The beginning of what is not whole yet.
    partial: Vec<u8>,
    received: VecDeque<Incoming>,
}

impl TcpPeer {
    fn open(&mut self, now: Time, to_request: Option<u16>) {
        let mut path = self.path;
        path.local.set_port(path.local.port() + self.ends.len() as u16);
        let mut connection = Connection::client(self.config.clone(), path, self.rng.fork());
        connection.connect(now);
        self.ends.push(End::new(path, connection, to_request));
    }

    /// A listening socket answers to each new path.
    fn accept(&mut self, path: FourTuple) -> Option<usize> {
        if self.side == Side::Client || self.ends.len() >= CONNECTIONS_MAX {
            return None;
        }
        let connection = Connection::listener(self.config.clone(), path, self.rng.fork());
        self.ends.push(End::new(path, connection, None));
        Some(self.ends.len() - 1)
    }
}

impl Peer for TcpPeer {
    const PROTOCOL: Protocol = Protocol::Tcp;

    fn new(side: Side, path: FourTuple, setup: &Setup, rng: Rng) -> Self {
        let (config, message_len) = (setup.tcp.clone(), setup.message_len);
        Self { side, path, config, message_len, rng, ends: Vec::new(), serving: 0 }
    }

    fn connect(&mut self, now: Time) {
        self.open(now, None);
    }

    /// On a new connection; the ones before are closed.
    fn request(&mut self, now: Time, channel: u16) {
        for end in &mut self.ends {
            end.connection.close();
        }
        self.open(now, Some(channel));
    }

    /// A connection that was given up takes nothing any more: its messages do not arrive.
    fn send(&mut self, now: Time, message: Message) {
        if let Some(end) = self.ends.get_mut(self.serving) {
            let _ = end.connection.send(now, message.encode(self.message_len));
        }
    }

    fn receive(&mut self, now: Time) -> Option<Incoming> {
        let is_client = self.side == Side::Client;
        for (index, end) in self.ends.iter_mut().enumerate() {
            end.attend(now);
            end.read(now, is_client, self.message_len);
            let Some(incoming) = end.received.pop_front() else { continue };
            if let Incoming::Request(_) = incoming {
                self.serving = index;
            }
            return Some(incoming);
        }
        None
    }

    fn buffered(&self) -> usize {
        self.ends.iter().map(|end| end.connection.buffered()).sum()
    }

    fn counters(&self) -> Counters {
        let stats = || self.ends.iter().map(|end| end.connection.stats());
        Counters {
            retransmissions: stats().map(|stats| stats.segments_retransmitted).sum(),
            timeouts: stats().map(|stats| stats.timeouts).sum(),
        }
    }
}

impl End {
    fn new(path: FourTuple, connection: Connection, to_request: Option<u16>) -> Self {
        Self {
            path,
            connection,
            events: VecDeque::new(),
            to_request,
            partial: Vec::new(),
            received: VecDeque::new(),
        }
    }

    /// What an application does when its connection stands, and when the other end closes it.
    fn attend(&mut self, now: Time) {
        while let Some(event) = self.events.pop_front() {
            match (event, self.to_request) {
                (Event::Connected, Some(channel)) => {
                    // It stands: nothing but a full buffer could refuse this.
                    let _ = self.connection.send(now, encode_request(channel));
                }
                (Event::PeerClosed, _) => self.connection.close(),
                _ => {}
            }
        }
    }

    /// Cuts the stream of bytes into what the other side sends: all of one length.
    fn read(&mut self, now: Time, is_client: bool, message_len: usize) {
        while let Some(bytes) = self.connection.receive(now) {
            self.partial.extend_from_slice(&bytes);
        }
        let len = if is_client { message_len } else { REQUEST_LEN };
        while let Some((whole, rest)) = self.partial.split_at_checked(len) {
            let incoming = match is_client {
                true => Message::decode(whole, len).map(Incoming::Media),
                false => decode_request(whole).map(Incoming::Request),
            };
            self.received.extend(incoming);
            self.partial = rest.to_vec();
        }
    }
}

impl Machine for TcpPeer {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let known = self.ends.iter().position(|end| end.path == datagram.path);
        let Some(index) = known.or_else(|| self.accept(datagram.path)) else { return };
        self.ends[index].connection.handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Time) {
        for end in &mut self.ends {
            end.connection.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.ends.iter_mut().find_map(|end| end.connection.poll_transmit(now, buf))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.ends.iter().filter_map(|end| end.connection.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<()> {
        self.ends.iter_mut().find_map(|end| {
            let event = end.connection.poll_event()?;
            end.events.push_back(event);
            Some(())
        })
    }
}
