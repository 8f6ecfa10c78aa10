//! [`Reconnecting`]: an end of a call over TCP, which connects anew over the other path.

use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use anabranch_tcp::{Config, Connection};
use bytes::{BufMut, BytesMut};

use super::log::Log;
use super::media::{Frame, Kind, Part, Source};

/// A listening socket takes no more connections than this.
const CONNECTIONS_MAX: usize = 64;
/// Bytes of a message behind its length, at most.
const MESSAGE_MAX: usize = 1_016;
const LENGTH: usize = 2;

/// An end of a call over TCP.
pub(super) struct Reconnecting {
    paths: Vec<FourTuple>,
    is_caller: bool,
    config: Config,
    rng: Rng,
    threshold: Duration,
    every: Duration,
    next_check: Time,
    sources: [Source; 2],
    /// The last one is in use.
    links: Vec<Link>,
    heard: Time,
    pub(super) log: Log,
}

/// A connection over one of the paths.
struct Link {
    number: usize,
    path: FourTuple,
    connection: Connection,
    /// The beginning of a message that is not whole yet.
    partial: Vec<u8>,
}

/// When a path is left.
#[derive(Debug, Clone, Copy)]
pub(super) struct Patience {
    pub(super) threshold: Duration,
    pub(super) every: Duration,
    pub(super) first: Time,
}

impl Reconnecting {
    pub(super) fn new(
        is_caller: bool,
        paths: &[FourTuple],
        config: Config,
        patience: Patience,
        sources: [Source; 2],
        rng: Rng,
    ) -> Self {
        let Patience { threshold, every, first } = patience;
        Self {
            paths: paths.to_vec(),
            is_caller,
            config,
            rng,
            threshold,
            every,
            next_check: first,
            sources,
            links: Vec::new(),
            heard: first,
            log: Log::default(),
        }
    }

    fn call(&mut self, now: Time, number: usize) {
        let mut path = self.paths[number];
        // A port that no connection has had.
        path.local.set_port(path.local.port() + 1 + self.links.len() as u16);
        let mut connection = Connection::client(self.config.clone(), path, self.rng.fork());
        connection.connect(now);
        self.links.push(Link { number, path, connection, partial: Vec::new() });
        self.heard = now;
    }

    fn accept(&mut self, path: FourTuple) -> Option<usize> {
        let number = self.paths.iter().position(|known| known.local == path.local)?;
        if self.is_caller || self.links.len() >= CONNECTIONS_MAX {
            return None;
        }
        let connection = Connection::listener(self.config.clone(), path, self.rng.fork());
        self.links.push(Link { number, path, connection, partial: Vec::new() });
        Some(self.links.len() - 1)
    }

    fn attend(&mut self, now: Time) {
        if self.is_caller && self.links.is_empty() {
            self.call(now, 0);
        }
        for link in &mut self.links {
            while link.connection.poll_event().is_some() {}
            if link.read(now, &mut self.log) {
                self.heard = now;
            }
        }
        self.check(now);
        for kind in Kind::ALL {
            while let Some(frame) = self.sources[kind.index()].take(now) {
                self.log.taken[kind.index()] = frame.number + 1;
                self.send(now, frame);
            }
        }
    }

    /// The caller connects anew; the other end follows.
    fn check(&mut self, now: Time) {
        if now < self.next_check {
            return;
        }
        self.next_check += self.every;
        let Some(link) = self.links.last_mut().filter(|_| self.is_caller) else { return };
        if now.saturating_since(self.heard) < self.threshold {
            return;
        }
        link.connection.abort();
        let other = (link.number + 1) % self.paths.len();
        self.call(now, other);
        self.log.switched.push(now);
    }

    /// Over the newest connection. What it does not take is lost.
    fn send(&mut self, now: Time, frame: Frame) {
        let Some(link) = self.links.last_mut() else { return };
        for message in frame.messages(MESSAGE_MAX) {
            let mut bytes = BytesMut::with_capacity(LENGTH + message.len());
            bytes.put_u16(message.len() as u16);
            bytes.extend_from_slice(&message);
            let _ = link.connection.send(now, bytes.freeze());
        }
    }
}

impl Link {
    /// Whether something came.
    fn read(&mut self, now: Time, log: &mut Log) -> bool {
        let before = self.partial.len();
        while let Some(bytes) = self.connection.receive(now) {
            self.partial.extend_from_slice(&bytes);
        }
        let came = self.partial.len() > before;
        let mut rest = self.partial.as_slice();
        while let Some((len, behind)) = rest.split_first_chunk::<LENGTH>() {
            let Some((message, behind)) = behind.split_at_checked(u16::from_be_bytes(*len).into())
            else {
                break;
            };
            if let Some(part) = Part::decode(message) {
                log.take(now, part, message.len(), self.number);
            }
            rest = behind;
        }
        self.partial = rest.to_vec();
        came
    }
}

impl Machine for Reconnecting {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let known = self.links.iter().position(|link| link.path == datagram.path);
        if let Some(index) = known.or_else(|| self.accept(datagram.path)) {
            self.links[index].connection.handle_datagram(now, datagram);
        }
        self.attend(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        for link in &mut self.links {
            link.connection.handle_timeout(now);
        }
        self.attend(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.links.iter_mut().find_map(|link| link.connection.poll_transmit(now, buf))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let frames = self.sources.iter().filter_map(Source::next_at);
        let check = self.is_caller.then_some(self.next_check);
        let call = (self.is_caller && self.links.is_empty()).then_some(Time::ZERO);
        let own = frames.clone().next().and(check).into_iter().chain(frames).chain(call).min();
        let own = own.map(|at| Wakeup { at, why: "the program" });
        let links = self.links.iter().filter_map(|link| link.connection.poll_timeout());
        own.into_iter().chain(links).min()
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }
}
