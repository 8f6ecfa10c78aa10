//! TCP: one connection, in which message follows message.

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_tcp::{CloseReason, Config, Connection, Event};
use bytes::Bytes;

use super::{Change, Counters, Transport};
use crate::scenario::sink::Sink;

/// One end of a connection.
#[derive(Debug)]
pub(in crate::scenario) struct TcpTransport(Connection);

impl TcpTransport {
    /// The end that calls.
    pub(in crate::scenario) fn client(config: Config, path: FourTuple, rng: Rng) -> Self {
        Self(Connection::client(config, path, rng))
    }

    /// The end that is called.
    pub(in crate::scenario) fn server(config: Config, path: FourTuple, rng: Rng) -> Self {
        Self(Connection::listener(config, path, rng))
    }
}

impl Transport for TcpTransport {
    fn open(&mut self, now: Time) {
        self.0.connect(now);
    }

    fn send(&mut self, now: Time, message: Bytes) -> bool {
        self.0.send(now, message).is_ok()
    }

    fn receive(&mut self, now: Time, sink: &mut Sink) {
        while let Some(bytes) = self.0.receive(now) {
            sink.stream(now, &bytes);
        }
    }

    fn counters(&self) -> Counters {
        let retransmitted = self.0.stats().segments_retransmitted;
        Counters { retransmitted, ..Counters::default() }
    }
}

impl Machine for TcpTransport {
    type Event = Change;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.0.handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.0.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.0.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.0.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<Change> {
        Some(match self.0.poll_event()? {
            Event::Connected | Event::Writable => Change::Ready,
            Event::Closed(reason) => Change::Ended(ended(reason).to_owned()),
            Event::Readable | Event::PeerClosed | _ => Change::Other,
        })
    }

    fn set_tracing(&mut self, on: bool) {
        self.0.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.0.poll_trace()
    }
}

fn ended(reason: CloseReason) -> &'static str {
    match reason {
        CloseReason::TimedOut => "the other end did not answer",
        CloseReason::Reset => "the other end reset the connection",
        CloseReason::Finished | CloseReason::Aborted | _ => "the connection was closed",
    }
}
