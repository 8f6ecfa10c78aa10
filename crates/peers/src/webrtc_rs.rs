//! What sctp-proto and rtc-sctp have in common: both descend from webrtc-rs, and differ in a few
//! signatures.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::Instant;

use anabranch_sansio::{Datagram, FourTuple, Machine, Time, Transmit, Wakeup};
use bytes::Bytes;

use crate::clock::Clock;
use crate::{Config, Event, Message, Peer, SendError, State, Treatment, check_send};

/// The calls in which the two stacks differ: one endpoint with its one association.
pub(crate) trait Stack {
    /// The timer's name in a [`Wakeup`].
    const NAME: &'static str;

    /// Starts the handshake; returns the clock on which it started `now`.
    fn connect(&mut self, now: Time, clock: Clock, remote: SocketAddr) -> Result<Clock, String>;
    fn handle_packet(&mut self, now: Instant, remote: SocketAddr, packet: Bytes);
    fn handle_timeout(&mut self, now: Instant);
    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<Bytes>>;
    fn poll_timeout(&self) -> Option<Instant>;
    fn poll_event(&mut self) -> Option<StackEvent>;
    fn is_closed(&self) -> bool;
    fn write(
        &mut self,
        now: Instant,
        stream: u16,
        ppid: u32,
        user_data: &Bytes,
        treatment: Treatment,
    ) -> Result<(), String>;
    /// The stream's next message with its payload protocol identifier.
    fn read(&mut self, stream: u16) -> Option<(u32, Bytes)>;
    /// Resets the stream that we send on.
    fn reset(&mut self, now: Instant, stream: u16) -> Result<(), String>;
    fn shutdown(&mut self);
    fn abort(&mut self);
}

/// What the adapter needs to know of a stack's events.
pub(crate) enum StackEvent {
    Connected,
    Lost(String),
    Readable(u16),
    Reset(u16),
    /// Told by other means, or of no interest here.
    Other,
}

pub(crate) struct Adapter<S> {
    stack: S,
    clock: Clock,
    path: FourTuple,
    max_message_size: u32,
    state: State,
    packets: VecDeque<Bytes>,
    events: VecDeque<Event>,
    /// Streams that may have complete messages.
    readable: BTreeSet<u16>,
}

impl<S: Stack> Adapter<S> {
    pub(crate) fn new(stack: S, config: &Config) -> Self {
        Self {
            stack,
            clock: Clock::new(),
            path: config.path,
            max_message_size: config.max_message_size,
            state: State::Closed,
            packets: VecDeque::new(),
            events: VecDeque::new(),
            readable: BTreeSet::new(),
        }
    }

    fn take_events(&mut self) {
        while let Some(event) = self.stack.poll_event() {
            match event {
                StackEvent::Connected => {
                    self.state = State::Connected;
                    self.events.push_back(Event::Connected);
                }
                StackEvent::Lost(reason) => self.end(reason),
                StackEvent::Readable(stream) => {
                    self.readable.insert(stream);
                }
                StackEvent::Reset(stream) => self.events.push_back(Event::Reset(stream)),
                StackEvent::Other => {}
            }
        }
        if self.stack.is_closed() {
            self.end("closed".to_owned());
        }
    }

    /// The stacks tell neither an end from a failure nor, without streams, that there was one.
    fn end(&mut self, reason: String) {
        match self.state {
            State::Closed => {}
            State::ShuttingDown => self.events.push_back(Event::Closed),
            State::Connecting | State::Connected => self.events.push_back(Event::Lost(reason)),
        }
        self.state = State::Closed;
    }

    /// Follows the shutdown by what is sent: the end that sends SHUTDOWN COMPLETE stays in
    /// SHUTDOWN-SENT for ever.
    fn on_transmit(&mut self, packet: &Bytes) {
        match packet.get(FIRST_CHUNK_TYPE) {
            Some(&SHUTDOWN | &SHUTDOWN_ACK) if self.state == State::Connected => {
                self.state = State::ShuttingDown;
            }
            Some(&SHUTDOWN_COMPLETE) => self.end("shut down".to_owned()),
            _ => {}
        }
    }
}

/// Where the first chunk's type stands: behind the common header.
const FIRST_CHUNK_TYPE: usize = 12;
const SHUTDOWN: u8 = 7;
const SHUTDOWN_ACK: u8 = 8;
const SHUTDOWN_COMPLETE: u8 = 14;

impl<S: Stack> Machine for Adapter<S> {
    type Event = Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.handle_packet(now, datagram.path, Bytes::copy_from_slice(datagram.bytes));
    }

    fn handle_timeout(&mut self, now: Time) {
        self.stack.handle_timeout(self.clock.instant(now));
        self.take_events();
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let packet = self.poll_packet(now)?;
        buf.extend_from_slice(&packet);
        Some(Transmit::datagram(self.path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let instant = self.stack.poll_timeout()?;
        Some(Wakeup { at: self.clock.time(instant), why: S::NAME })
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

impl<S: Stack> Peer for Adapter<S> {
    fn connect(&mut self, now: Time) {
        if self.state != State::Closed {
            return;
        }
        match self.stack.connect(now, self.clock, self.path.remote) {
            Ok(clock) => {
                self.clock = clock;
                self.state = State::Connecting;
            }
            Err(reason) => self.events.push_back(Event::Lost(reason)),
        }
    }

    fn send(
        &mut self,
        now: Time,
        message: &Message,
        treatment: Treatment,
    ) -> Result<(), SendError> {
        check_send(self.state, message, self.max_message_size)?;
        let (ppid, user_data) = message.to_wire();
        let now = self.clock.instant(now);
        self.stack
            .write(now, message.stream, ppid, &user_data, treatment)
            .map_err(SendError::Refused)
    }

    fn receive(&mut self) -> Option<Message> {
        while let Some(&stream) = self.readable.first() {
            if let Some((ppid, user_data)) = self.stack.read(stream) {
                return Some(Message::from_wire(stream, ppid, user_data));
            }
            self.readable.pop_first();
        }
        None
    }

    fn reset(&mut self, now: Time, stream: u16) -> Result<(), SendError> {
        self.stack.reset(self.clock.instant(now), stream).map_err(SendError::Refused)
    }

    fn shutdown(&mut self, _now: Time) {
        if self.state == State::Connected {
            self.state = State::ShuttingDown;
            self.stack.shutdown();
            self.take_events();
        }
    }

    fn abort(&mut self, _now: Time) {
        if self.state != State::Closed {
            self.state = State::ShuttingDown;
            self.stack.abort();
            self.take_events();
        }
    }

    fn state(&self) -> State {
        self.state
    }

    fn handle_packet(&mut self, now: Time, path: FourTuple, packet: Bytes) {
        self.path = path;
        self.stack.handle_packet(self.clock.instant(now), path.remote, packet);
        self.take_events();
    }

    fn poll_packet(&mut self, now: Time) -> Option<Bytes> {
        if self.packets.is_empty() {
            self.packets.extend(self.stack.poll_transmit(self.clock.instant(now))?);
        }
        let packet = self.packets.pop_front()?;
        self.on_transmit(&packet);
        Some(packet)
    }
}
