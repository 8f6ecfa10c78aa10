//! [`Plain`]: a transport that was made up, to show that a session needs no more than the seam.
//!
//! A message is a datagram. What must arrive is repeated until it is acknowledged, and delivered in
//! the order of sending; the rest is sent once. Nothing is paced, and there is one path.

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, PathId, Time, Transmit, Wakeup};
use anabranch_transport::{
    CloseReason, ConnectError, Connection, ConnectionId, ConnectionStats, Event, Incoming,
    Outgoing, PathReport, PayloadId, Reliability, SendError, StreamId, Transport,
};
use bytes::Bytes;

const REPEAT_AFTER: Duration = Duration::from_millis(100);

/// What a frame is: its first byte. All but the last two are repeated.
const CALL: u8 = 0;
const ANSWER: u8 = 1;
const MESSAGE: u8 = 2;
const BYE: u8 = 3;
const ONCE: u8 = 4;
const ACK: u8 = 5;

/// Kind, number, stream, payload identifier.
const HEADER: usize = 11;

/// One connection at a time.
#[derive(Debug, Default)]
pub(super) struct Plain {
    peer: Peer,
    calls: u64,
    events: VecDeque<(ConnectionId, Event)>,
}

#[derive(Debug, Default)]
struct Peer {
    path: Option<FourTuple>,
    is_open: bool,
    is_aborted: bool,
    out: VecDeque<Vec<u8>>,
    sent: u32,
    unacknowledged: BTreeMap<u32, (Time, Vec<u8>)>,
    taken: u32,
    held: BTreeMap<u32, Vec<u8>>,
    inbox: VecDeque<Incoming>,
}

impl Peer {
    fn post(&mut self, now: Time, kind: u8, number: u32, (stream, id): (u16, u32), body: &[u8]) {
        let mut frame = vec![kind];
        frame.extend_from_slice(&number.to_be_bytes());
        frame.extend_from_slice(&stream.to_be_bytes());
        frame.extend_from_slice(&id.to_be_bytes());
        frame.extend_from_slice(body);
        if kind < ONCE {
            self.unacknowledged.insert(number, (now + REPEAT_AFTER, frame.clone()));
        }
        self.out.push_back(frame);
    }

    fn post_repeated(&mut self, now: Time, kind: u8, to: (u16, u32), body: &[u8]) {
        self.sent += 1;
        self.post(now, kind, self.sent, to, body);
    }
}

impl Plain {
    fn report(&mut self, event: Event) {
        self.events.push_back((ConnectionId(self.calls), event));
    }

    fn open(&mut self, incoming: bool) {
        self.peer.is_open = true;
        self.report(Event::Connected { incoming, streams: 64, partial_reliability: true });
    }

    fn close(&mut self, reason: CloseReason) {
        if std::mem::take(&mut self.peer.is_open) {
            self.report(Event::Closed { reason, stats: Box::default() });
        }
    }

    fn take(&mut self, now: Time, frame: &[u8]) {
        let (head, body) = frame.split_at(HEADER);
        match head[0] {
            CALL => self.peer.post_repeated(now, ANSWER, (0, 0), b""),
            ANSWER => self.open(false),
            BYE if body.is_empty() => self.close(CloseReason::Shutdown),
            BYE => {
                let reason = String::from_utf8_lossy(body).into_owned();
                self.close(CloseReason::PeerLeft { reason });
            }
            _ => self.peer.inbox.push_back(Incoming {
                stream: StreamId(u16::from_be_bytes([head[5], head[6]])),
                payload_id: PayloadId(number(&head[7..])),
                payload: Bytes::copy_from_slice(body),
                completed_at: now,
                path: PathId(0),
                fills_gap: false,
            }),
        }
    }
}

fn number(bytes: &[u8]) -> u32 {
    u32::from_be_bytes(bytes[..4].try_into().expect("four bytes"))
}

impl Machine for Plain {
    type Event = (ConnectionId, Event);

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let (kind, number) = (datagram.bytes[0], number(&datagram.bytes[1..]));
        match kind {
            ONCE => self.take(now, datagram.bytes),
            ACK => match self.peer.unacknowledged.remove(&number).map(|(_, frame)| frame[0]) {
                Some(ANSWER) => self.open(true),
                Some(BYE) => self.close(CloseReason::Shutdown),
                _ => {}
            },
            _ => {
                if kind == CALL && self.peer.path.is_none() {
                    self.calls += 1;
                    self.peer.path = Some(datagram.path);
                }
                self.peer.post(now, ACK, number, (0, 0), b"");
                self.peer.held.insert(number, datagram.bytes.to_vec());
                while let Some(frame) = self.peer.held.remove(&(self.peer.taken + 1)) {
                    self.peer.taken += 1;
                    self.take(now, &frame);
                }
                self.peer.held = self.peer.held.split_off(&self.peer.taken);
            }
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        for (due, frame) in self.peer.unacknowledged.values_mut().filter(|(due, _)| *due <= now) {
            *due = now + REPEAT_AFTER;
            self.peer.out.push_back(frame.clone());
        }
    }

    fn poll_transmit(&mut self, _now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        buf.extend_from_slice(&self.peer.out.pop_front()?);
        Some(Transmit::datagram(self.peer.path?))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let at = self.peer.unacknowledged.values().map(|(due, _)| *due).min()?;
        Some(Wakeup { at, why: "repetition" })
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        if std::mem::take(&mut self.peer.is_aborted) {
            self.close(CloseReason::Aborted);
        }
        self.events.pop_front()
    }
}

impl Transport for Plain {
    fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<ConnectionId, ConnectError> {
        self.calls += 1;
        self.peer = Peer { path: paths.first().copied(), ..Peer::default() };
        self.peer.post_repeated(now, CALL, (0, 0), b"");
        Ok(ConnectionId(self.calls))
    }

    fn connection(&self, id: ConnectionId) -> Option<&dyn Connection> {
        (id.0 == self.calls).then_some(&self.peer as &dyn Connection)
    }

    fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut dyn Connection> {
        (id.0 == self.calls).then_some(&mut self.peer as &mut dyn Connection)
    }

    fn forget(&mut self, _id: ConnectionId) {
        self.peer = Peer::default();
    }

    fn connections(&self) -> usize {
        usize::from(self.peer.is_open)
    }
}

impl Connection for Peer {
    fn send(&mut self, now: Time, message: Outgoing) -> Result<(), SendError> {
        let to = (message.stream.0, message.payload_id.0);
        match message.reliability {
            Reliability::Lifetime(_) => self.post(now, ONCE, 0, to, &message.payload),
            Reliability::Reliable | Reliability::MaxRetransmissions(_) => {
                self.post_repeated(now, MESSAGE, to, &message.payload);
            }
        }
        Ok(())
    }

    fn receive(&mut self) -> Option<Incoming> {
        self.inbox.pop_front()
    }

    fn queued(&self) -> usize {
        self.out.iter().map(Vec::len).sum()
    }

    fn bytes_acked(&self) -> u64 {
        self.sent.into()
    }

    fn is_drained(&self) -> bool {
        self.out.is_empty() && self.unacknowledged.is_empty()
    }

    fn whole_message_max(&self) -> usize {
        1_200
    }

    fn stats(&self) -> ConnectionStats {
        let paths = self.path.map(|path| PathReport::new(PathId(0), path)).into_iter().collect();
        ConnectionStats { paths, ..ConnectionStats::default() }
    }

    fn shutdown(&mut self, now: Time) {
        self.post_repeated(now, BYE, (0, 0), b"");
    }

    fn abort(&mut self, reason: &str) {
        self.is_aborted = true;
        self.post_repeated(Time::ZERO, BYE, (0, 0), reason.as_bytes());
    }
}
