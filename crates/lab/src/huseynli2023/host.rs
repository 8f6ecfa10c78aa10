//! [`Host`]: an endpoint, and the program that writes or reads.

use std::time::Duration;

use anabranch_sansio::{FourTuple, Machine as _, Rng, Time};
use anabranch_sctp::{Association, AssociationConfig, AssociationId, Endpoint, EndpointConfig};
use bytes::{BufMut, Bytes, BytesMut};

use super::measure::Read;
use super::method::Method;
use super::source::Planned;

/// Of senders and receivers.
pub(super) const PORTS: (u16, u16) = (5_000, 5_001);

/// An endpoint with one association, and the program that uses it.
pub(super) type Host = crate::host::Host<Program>;

/// Of either end of a stream.
pub(super) enum Program {
    Writes(Writer),
    Reads(Box<Reader>),
}

/// Hands messages over when they are due.
pub(super) struct Writer {
    messages: std::vec::IntoIter<Planned>,
    method: Method,
    ordered: bool,
    /// Calls at once; the first message is due at the start.
    call: Option<Box<(FourTuple, AssociationConfig)>>,
    start: Time,
    association: Option<AssociationId>,
}

/// How long the reading program takes.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) enum Pace {
    /// For each message on average; random times are exponential.
    PerMessage { mean: Duration, is_random: bool },
    /// Takes all that waits, once in so long.
    AllEvery(Duration),
}

/// Takes messages, each when it is done with the one before.
pub(super) struct Reader {
    pace: Pace,
    rng: Rng,
    free_at: Time,
    reads: Vec<Read>,
}

impl Writer {
    pub(super) fn new(messages: Vec<Planned>, method: Method, ordered: bool) -> Self {
        let messages = messages.into_iter();
        Self { messages, method, ordered, call: None, start: Time::ZERO, association: None }
    }

    fn attend(&mut self, now: Time, endpoint: &mut Endpoint) {
        if let Some(call) = self.call.take() {
            let (path, config) = *call;
            let id = endpoint.connect(now, &[path], PORTS, config);
            self.association = Some(id.expect("a fresh endpoint takes one path"));
        }
        let association = self.association.and_then(|id| endpoint.association_mut(id));
        let Some(association) = association else { return };
        while let Some(message) = self.messages.as_slice().first()
            && self.start + message.at <= now
        {
            let payload = stamped(self.start + message.at, message);
            // An association that was given up takes nothing any more: nothing arrives.
            let _ =
                association.send(now, self.method.message(message.level, payload, self.ordered));
            self.messages.next();
        }
    }

    fn wakes_at(&self) -> Option<Time> {
        match self.call {
            Some(_) => Some(Time::ZERO),
            None => self.messages.as_slice().first().map(|message| self.start + message.at),
        }
    }
}

/// A message begins with the time when it was ready, and its level.
fn stamped(ready: Time, message: &Planned) -> Bytes {
    let mut bytes = BytesMut::with_capacity(message.len);
    bytes.put_u64(ready.as_nanos());
    bytes.put_u8(message.level.index() as u8);
    bytes.resize(message.len, 0x5a);
    bytes.freeze()
}

/// Bytes that a message has at least.
pub(super) const STAMP: u64 = 9;

impl Reader {
    pub(super) const fn new(pace: Pace, rng: Rng) -> Self {
        Self { pace, rng, free_at: Time::ZERO, reads: Vec::new() }
    }

    /// One that never lets anything wait.
    pub(super) const fn at_once(rng: Rng) -> Self {
        Self::new(Pace::PerMessage { mean: Duration::ZERO, is_random: false }, rng)
    }

    fn attend(&mut self, now: Time, endpoint: &mut Endpoint) {
        let Some(id) = endpoint.associations().next() else { return };
        let Some(association) = endpoint.association_mut(id) else { return };
        if now < self.free_at {
            return;
        }
        match self.pace {
            Pace::PerMessage { mean, is_random } => {
                while self.free_at <= now {
                    let Some(read) = read(now, association) else { break };
                    let factor = if is_random { -(1.0 - self.rng.unit()).ln() } else { 1.0 };
                    let takes = mean.mul_f64(factor);
                    self.free_at = now + takes;
                    self.reads.push(Read { takes, ..read });
                }
            }
            Pace::AllEvery(span) => {
                self.reads.extend(std::iter::from_fn(|| read(now, association)));
                self.free_at = now + span;
            }
        }
    }
}

/// Reads the next message, if there is one.
fn read(now: Time, association: &mut Association) -> Option<Read> {
    let message = association.receive()?;
    let (stamp, rest) = message.payload.split_first_chunk()?;
    Some(Read {
        ready: Time::from_nanos(u64::from_be_bytes(*stamp)),
        arrived: message.completed_at,
        read: now,
        takes: Duration::ZERO,
        level: message.level,
        kind: rest.first().copied().unwrap_or_default(),
    })
}

impl Host {
    /// One that calls at once, and writes from `start` on.
    pub(super) fn calling(
        path: FourTuple,
        config: AssociationConfig,
        writer: Writer,
        start: Time,
        rng: Rng,
    ) -> Self {
        let endpoint = Endpoint::new(EndpointConfig::default(), rng);
        let writer = Writer { call: Some(Box::new((path, config))), start, ..writer };
        Self { endpoint, program: Program::Writes(writer) }
    }

    pub(super) fn listening(
        path: FourTuple,
        association: AssociationConfig,
        reader: Reader,
        rng: Rng,
    ) -> Self {
        let config = EndpointConfig { accept: true, association, ..EndpointConfig::default() };
        let mut endpoint = Endpoint::new(config, rng);
        endpoint.set_local_addresses(vec![path.local]);
        Self { endpoint, program: Program::Reads(Box::new(reader)) }
    }

    /// Chunks that it sent again.
    pub(super) fn chunks_repeated(&self) -> u64 {
        let association = self.endpoint.associations().next();
        let association = association.and_then(|id| self.endpoint.association(id));
        association.map_or(0, |association| association.stats().streams.chunks_retransmitted)
    }

    /// What its program read.
    pub(super) fn take_reads(&mut self) -> Vec<Read> {
        match &mut self.program {
            Program::Writes(_) => Vec::new(),
            Program::Reads(reader) => std::mem::take(&mut reader.reads),
        }
    }
}

impl crate::host::Program for Program {
    fn attend(&mut self, now: Time, endpoint: &mut Endpoint) {
        while endpoint.poll_event().is_some() {}
        match self {
            Self::Writes(writer) => writer.attend(now, endpoint),
            Self::Reads(reader) => reader.attend(now, endpoint),
        }
    }

    fn wakes_at(&self, endpoint: &Endpoint) -> Option<Time> {
        match self {
            Self::Writes(writer) => writer.wakes_at(),
            Self::Reads(reader) => {
                let association = endpoint.associations().next();
                let association = association.and_then(|id| endpoint.association(id));
                association.filter(|it| it.has_message()).map(|_| reader.free_at)
            }
        }
    }
}
