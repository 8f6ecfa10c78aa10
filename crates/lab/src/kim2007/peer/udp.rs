//! UDP: each message is a datagram, and that is all.

use std::collections::VecDeque;

use anabranch_netsim::{Carrier as Protocol, Side};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use bytes::Bytes;

use super::{Counters, Incoming, Peer};
use crate::kim2007::message::{Message, decode_request, encode_request};
use crate::kim2007::setup::Setup;

/// Sends what it is given at once, and reads what comes.
#[derive(Debug)]
pub(in crate::kim2007) struct UdpPeer {
    path: FourTuple,
    message_len: usize,
    to_send: VecDeque<Bytes>,
    received: VecDeque<Incoming>,
    /// Events that were not told yet: one for each datagram.
    untold: usize,
}

impl Peer for UdpPeer {
    const PROTOCOL: Protocol = Protocol::Udp;

    fn new(_side: Side, path: FourTuple, setup: &Setup, _rng: Rng) -> Self {
        Self {
            path,
            message_len: setup.message_len,
            to_send: VecDeque::new(),
            received: VecDeque::new(),
            untold: 0,
        }
    }

    fn connect(&mut self, _now: Time) {}

    fn request(&mut self, _now: Time, channel: u16) {
        self.to_send.push_back(encode_request(channel));
    }

    fn send(&mut self, _now: Time, message: Message) {
        self.to_send.push_back(message.encode(self.message_len));
    }

    fn receive(&mut self, _now: Time) -> Option<Incoming> {
        self.received.pop_front()
    }

    fn buffered(&self) -> usize {
        0
    }

    fn counters(&self) -> Counters {
        Counters::default()
    }
}

impl Machine for UdpPeer {
    type Event = ();

    fn handle_datagram(&mut self, _now: Time, datagram: Datagram<'_>) {
        let request = decode_request(datagram.bytes).map(Incoming::Request);
        let media = || Message::decode(datagram.bytes, self.message_len).map(Incoming::Media);
        if let Some(incoming) = request.or_else(media) {
            self.received.push_back(incoming);
            self.untold += 1;
        }
    }

    fn handle_timeout(&mut self, _now: Time) {}

    fn poll_transmit(&mut self, _now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let bytes = self.to_send.pop_front()?;
        buf.extend_from_slice(&bytes);
        Some(Transmit::datagram(self.path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        None
    }

    fn poll_event(&mut self) -> Option<()> {
        self.untold = self.untold.checked_sub(1)?;
        Some(())
    }
}
