//! UDP: each message is a datagram, and that is all.

use std::collections::VecDeque;

use anabranch_sansio::{Datagram, FourTuple, Machine, Time, Transmit, Wakeup};
use bytes::Bytes;

use super::{Change, Counters, Transport};
use crate::scenario::sink::Sink;

/// Sends what it is given at once.
#[derive(Debug)]
pub(in crate::scenario) struct UdpTransport {
    path: FourTuple,
    /// Whether the other end was not told yet that it can send: it always can.
    is_new: bool,
    to_send: VecDeque<Bytes>,
    arrived: VecDeque<Bytes>,
}

impl UdpTransport {
    pub(in crate::scenario) const fn new(path: FourTuple) -> Self {
        Self { path, is_new: false, to_send: VecDeque::new(), arrived: VecDeque::new() }
    }
}

impl Transport for UdpTransport {
    fn open(&mut self, _now: Time) {
        self.is_new = true;
    }

    fn send(&mut self, _now: Time, message: Bytes) -> bool {
        self.to_send.push_back(message);
        true
    }

    fn receive(&mut self, now: Time, sink: &mut Sink) {
        for message in self.arrived.drain(..) {
            sink.message(now, &message);
        }
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }
}

impl Machine for UdpTransport {
    type Event = Change;

    fn handle_datagram(&mut self, _now: Time, datagram: Datagram<'_>) {
        self.arrived.push_back(Bytes::copy_from_slice(datagram.bytes));
    }

    fn handle_timeout(&mut self, _now: Time) {}

    fn poll_transmit(&mut self, _now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let message = self.to_send.pop_front()?;
        buf.extend_from_slice(&message);
        Some(Transmit::datagram(self.path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        None
    }

    fn poll_event(&mut self) -> Option<Change> {
        std::mem::take(&mut self.is_new).then_some(Change::Ready)
    }
}
