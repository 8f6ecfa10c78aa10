//! SCTP: one association, straight on IP, and a stream for each channel or several.

use anabranch_netsim::{Carrier as Protocol, Side};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, TraceRecord, Transmit, Wakeup};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, Endpoint, EndpointConfig, Event,
    OutgoingMessage, Reliability, SendError,
};
use anabranch_wire::StreamId;

use super::{Counters, Incoming, Peer};
use crate::kim2007::message::{Message, decode_request, encode_request};
use crate::kim2007::setup::Setup;

/// SCTP's own ports.
const PORTS: (u16, u16) = (5_001, 5_000);

/// An endpoint with one association.
pub(in crate::kim2007) struct SctpPeer {
    endpoint: Endpoint,
    id: Option<AssociationId>,
    path: FourTuple,
    config: AssociationConfig,
    reliability: Reliability,
    is_ordered: bool,
    message_len: usize,
    streams: u16,
    is_on_one_stream: bool,
}

impl SctpPeer {
    fn association(&self) -> Option<&Association> {
        self.endpoint.association(self.id?)
    }

    fn association_mut(&mut self) -> Option<&mut Association> {
        self.endpoint.association_mut(self.id?)
    }

    /// A channel has the streams behind those of the channel before, one after the other in turn.
    fn stream_of(&self, message: Message) -> StreamId {
        if self.is_on_one_stream {
            return StreamId(0);
        }
        let in_turn = message.number % u32::from(self.streams);
        StreamId(message.channel * self.streams + in_turn as u16)
    }

    /// An association that was given up takes nothing any more: its messages do not arrive.
    fn send_over(&mut self, now: Time, message: OutgoingMessage) {
        let sent = self.association_mut().map(|association| association.send(now, message));
        debug_assert!(!matches!(sent, Some(Err(SendError::BufferFull { .. }))), "{sent:?}");
    }
}

impl Peer for SctpPeer {
    const PROTOCOL: Protocol = Protocol::Sctp;

    fn new(side: Side, path: FourTuple, setup: &Setup, rng: Rng) -> Self {
        let association = setup
            .association
            .clone()
            .with(|config| config.streams.outbound_streams = setup.channels * setup.streams);
        let config = EndpointConfig {
            accept: side == Side::Server,
            association: association.clone(),
            ..EndpointConfig::default()
        };
        Self {
            endpoint: Endpoint::new(config, rng),
            id: None,
            path,
            config: association,
            reliability: setup.reliability(),
            is_ordered: setup.is_ordered,
            message_len: setup.message_len,
            streams: setup.streams,
            is_on_one_stream: setup.is_on_one_stream,
        }
    }

    fn connect(&mut self, now: Time) {
        let config = self.config.clone();
        let id = self.endpoint.connect(now, &[self.path], PORTS, config);
        self.id = Some(id.expect("a fresh endpoint takes one path"));
    }

    /// On the stream of the channel: the association stays.
    fn request(&mut self, now: Time, channel: u16) {
        let stream = self.stream_of(Message { channel, number: 0 });
        self.send_over(now, OutgoingMessage::new(stream, encode_request(channel)));
    }

    fn send(&mut self, now: Time, message: Message) {
        let message = OutgoingMessage {
            reliability: self.reliability,
            ordered: self.is_ordered,
            ..OutgoingMessage::new(self.stream_of(message), message.encode(self.message_len))
        };
        self.send_over(now, message);
    }

    fn receive(&mut self, _now: Time) -> Option<Incoming> {
        let payload = self.association_mut()?.receive()?.payload;
        let request = decode_request(&payload).map(Incoming::Request);
        request.or_else(|| Message::decode(&payload, self.message_len).map(Incoming::Media))
    }

    fn buffered(&self) -> usize {
        self.association().map_or(0, Association::unacknowledged)
    }

    fn counters(&self) -> Counters {
        let stats = self.association().map(Association::stats).unwrap_or_default();
        Counters {
            retransmissions: stats.streams.chunks_retransmitted,
            timeouts: stats.paths.iter().map(|path| path.counters.timeouts).sum(),
        }
    }
}

impl Machine for SctpPeer {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.endpoint.handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.endpoint.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.endpoint.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<()> {
        let (id, event) = self.endpoint.poll_event()?;
        if let Event::Connected { .. } = event {
            self.id = Some(id);
        }
        Some(())
    }

    fn set_tracing(&mut self, on: bool) {
        self.endpoint.set_tracing(on);
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.endpoint.poll_trace()
    }
}
