//! [`Connection`]: one end of a TCP connection.

mod handshake;
mod open;

use std::collections::VecDeque;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use bytes::Bytes;

use crate::segment::{HEADER_LEN, Segment};
use crate::{Config, SendError, Stats};
use handshake::Handshake;
use open::Open;

/// One end of a connection, from before its handshake to after its end.
///
/// What [`poll_transmit`](Machine::poll_transmit), [`poll_timeout`](Machine::poll_timeout) and
/// [`poll_event`](Machine::poll_event) answered is outdated by every other call.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    path: FourTuple,
    rng: Rng,
    state: State,
    /// A reset that is to go out.
    reset: Option<Segment>,
    events: VecDeque<Event>,
    stats: Stats,
    payload: Vec<u8>,
}

#[derive(Debug)]
enum State {
    Closed,
    Listen,
    Handshake(Box<Handshake>),
    Open(Box<Open>),
}

/// What happened.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Event {
    /// The handshake is over: data may be sent.
    Connected,
    /// There is something to read.
    Readable,
    /// Half of the send buffer is free again, after it was full.
    Writable,
    /// The peer sends nothing more.
    PeerClosed,
    /// It is over. Nothing follows.
    Closed(CloseReason),
}

/// Why a connection is over.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum CloseReason {
    /// Both ends closed it, and have all of each other's data.
    Finished,
    /// The peer sent a reset.
    Reset,
    /// The peer did not answer.
    TimedOut,
    /// [`Connection::abort`] was called.
    Aborted,
}

impl Connection {
    /// An end that opens the connection: see [`connect`](Self::connect).
    #[must_use]
    pub fn client(config: Config, path: FourTuple, rng: Rng) -> Self {
        Self::new(config, path, rng, State::Closed)
    }

    /// An end that waits for the other one.
    #[must_use]
    pub fn listener(config: Config, path: FourTuple, rng: Rng) -> Self {
        Self::new(config, path, rng, State::Listen)
    }

    fn new(config: Config, path: FourTuple, rng: Rng, state: State) -> Self {
        Self {
            config,
            path,
            rng,
            state,
            reset: None,
            events: VecDeque::new(),
            stats: Stats::default(),
            payload: Vec::new(),
        }
    }

    /// Opens the connection. Does nothing where there is one.
    pub fn connect(&mut self, now: Time) {
        if matches!(self.state, State::Closed) {
            let handshake = Handshake::active(&self.config, self.mss(), now, &mut self.rng);
            self.state = State::Handshake(Box::new(handshake));
        }
    }

    /// Whether the handshake is over and the connection is not.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        matches!(self.state, State::Open(_))
    }

    /// Whether there is nothing: not yet, or not any more.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::Closed)
    }

    /// Takes data to be sent.
    ///
    /// # Errors
    /// There is no connection, it was closed, or the send buffer is full.
    pub fn send(&mut self, _now: Time, bytes: Bytes) -> Result<(), SendError> {
        match &mut self.state {
            State::Open(open) => open.sender.write(bytes),
            State::Closed | State::Listen | State::Handshake(_) => Err(SendError::NotConnected),
        }
    }

    /// Bytes that wait to be sent or acknowledged.
    #[must_use]
    pub fn buffered(&self) -> usize {
        match &self.state {
            State::Open(open) => open.sender.buffered(),
            State::Closed | State::Listen | State::Handshake(_) => 0,
        }
    }

    /// The next piece of what arrived in order.
    pub fn receive(&mut self, _now: Time) -> Option<Bytes> {
        match &mut self.state {
            State::Open(open) => open.receiver.read(),
            State::Closed | State::Listen | State::Handshake(_) => None,
        }
    }

    /// Sends what waits and then nothing more. The other direction stays open until the peer closes
    /// it.
    pub fn close(&mut self) {
        match &mut self.state {
            State::Open(open) => open.close(),
            State::Closed => {}
            State::Listen | State::Handshake(_) => self.end(CloseReason::Aborted),
        }
    }

    /// Ends the connection at once, and tells the peer.
    pub fn abort(&mut self) {
        if let State::Open(open) = &self.state {
            self.reset = Some(open.reset());
        }
        if !self.is_closed() {
            self.end(CloseReason::Aborted);
        }
    }

    /// What was counted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        let Stats { segments_sent, segments_received, segments_dropped, .. } = self.stats;
        let State::Open(open) = &self.state else { return self.stats };
        let bytes_received = open.receiver.received();
        let counted = open.sender.stats();
        Stats { segments_sent, segments_received, segments_dropped, bytes_received, ..counted }
    }

    /// The largest segment that fits into a packet.
    fn mss(&self) -> u16 {
        let ip_header = if self.path.remote.is_ipv4() { 20 } else { 40 };
        let mss = self.config.mtu.saturating_sub(ip_header + HEADER_LEN).max(1);
        u16::try_from(mss).unwrap_or(u16::MAX)
    }

    fn end(&mut self, reason: CloseReason) {
        self.stats = self.stats();
        self.state = State::Closed;
        self.events.push_back(Event::Closed(reason));
    }

    fn on_segment(&mut self, now: Time, segment: &Segment, payload: &[u8]) {
        let mss = self.mss();
        match &mut self.state {
            State::Closed => self.refuse(segment, payload),
            State::Listen => {
                match Handshake::passive(&self.config, mss, now, &mut self.rng, segment) {
                    Some(handshake) => self.state = State::Handshake(Box::new(handshake)),
                    None => self.refuse(segment, payload),
                }
            }
            State::Handshake(handshake) => match handshake.on_segment(&self.config, now, segment) {
                handshake::Step::Waits => {}
                handshake::Step::Refused => self.refuse(segment, payload),
                handshake::Step::Reset => self.end(CloseReason::Reset),
                handshake::Step::Done(open) => {
                    self.state = State::Open(open);
                    self.events.push_back(Event::Connected);
                    if segment.len(payload) > 0 && !segment.syn {
                        self.on_segment(now, segment, payload);
                    }
                }
            },
            State::Open(open) => {
                let end = open.on_segment(now, segment, payload, &mut self.events);
                if let Some(reason) = end {
                    self.end(reason);
                }
            }
        }
    }

    /// RFC 9293 section 3.10.7.1: what belongs to no connection is answered by a reset, unless it
    /// is one.
    fn refuse(&mut self, segment: &Segment, payload: &[u8]) {
        self.stats.segments_dropped += 1;
        if segment.rst {
            return;
        }
        let end = segment.sequence_number.wrapping_add(segment.len(payload) as u32);
        self.reset = Some(match segment.acknowledgment_number {
            Some(number) => Segment { sequence_number: number, rst: true, ..Segment::default() },
            None => Segment { acknowledgment_number: Some(end), rst: true, ..Segment::default() },
        });
    }

    /// The next segment to go out, with its data in `self.payload`.
    fn next_segment(&mut self, now: Time) -> Option<Segment> {
        self.payload.clear();
        if let Some(reset) = self.reset.take() {
            return Some(reset);
        }
        match &mut self.state {
            State::Closed | State::Listen => None,
            State::Handshake(handshake) => handshake.poll(now),
            State::Open(open) => open.poll(now, &mut self.payload),
        }
    }
}

impl Machine for Connection {
    type Event = Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let is_ours = datagram.path == self.path;
        let decoded = Segment::decode(datagram.path, datagram.bytes);
        let Some((segment, payload)) = decoded.ok().filter(|_| is_ours) else {
            self.stats.segments_dropped += 1;
            return;
        };
        self.stats.segments_received += 1;
        self.on_segment(now, &segment, payload);
    }

    fn handle_timeout(&mut self, now: Time) {
        let end = match &mut self.state {
            State::Closed | State::Listen => None,
            State::Handshake(handshake) => handshake.handle_timeout(&self.config, now),
            State::Open(open) => open.handle_timeout(now),
        };
        if let Some(reason) = end {
            self.end(reason);
        }
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let segment = self.next_segment(now)?;
        segment.encode(self.path, &self.payload, buf);
        self.stats.segments_sent += 1;
        Some(Transmit::datagram(self.path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        match &self.state {
            State::Closed | State::Listen => None,
            State::Handshake(handshake) => Some(handshake.poll_timeout()),
            State::Open(open) => open.poll_timeout(),
        }
    }

    fn poll_event(&mut self) -> Option<Event> {
        if let State::Open(open) = &mut self.state
            && open.sender.take_writable()
        {
            self.events.push_back(Event::Writable);
        }
        self.events.pop_front()
    }
}
