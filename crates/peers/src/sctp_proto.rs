//! The adapter for sctp-proto.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anabranch_sansio::Time;
use bytes::Bytes;
use sctp_proto::{
    Association, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    PayloadProtocolIdentifier, ReliabilityType, ServerConfig, Stream, StreamEvent, TransportConfig,
};

use crate::clock::Clock;
use crate::webrtc_rs::{Adapter, Stack, StackEvent};
use crate::{Config, Peer, Reliability, Treatment};

pub(crate) fn peer(config: &Config) -> Box<dyn Peer> {
    Box::new(Adapter::new(SctpProto::new(config), config))
}

struct SctpProto {
    endpoint: Endpoint,
    association: Option<Association>,
    transport: Arc<TransportConfig>,
    rto_initial: Duration,
}

impl SctpProto {
    fn new(config: &Config) -> Self {
        let transport = Arc::new(transport_config(config));
        let mut server = ServerConfig::new();
        server.transport = Arc::clone(&transport);
        let mut endpoint = EndpointConfig::new();
        endpoint.max_payload_size(max_payload_size(config.mtu));
        Self {
            endpoint: Endpoint::new(Arc::new(endpoint), Some(Arc::new(server))),
            association: None,
            transport,
            rto_initial: config.rto_initial,
        }
    }

    fn stream(&mut self, id: u16) -> Result<Stream<'_>, String> {
        let association = self.association.as_mut().ok_or("no association")?;
        if association.stream(id).is_ok() {
            return association.stream(id).map_err(|error| error.to_string());
        }
        let opened = association.open_stream(id, PayloadProtocolIdentifier::Binary);
        opened.map_err(|error| error.to_string())
    }
}

impl Stack for SctpProto {
    const NAME: &'static str = "sctp-proto";

    fn connect(&mut self, now: Time, clock: Clock, remote: SocketAddr) -> Result<Clock, String> {
        let mut config = ClientConfig::new();
        config.transport = Arc::clone(&self.transport);
        let (_, association) =
            self.endpoint.connect(config, remote).map_err(|error| error.to_string())?;
        // It starts T1 by the system's clock: our clock is set so that it did so at `now`.
        let started = association.poll_timeout().and_then(|t1| t1.checked_sub(self.rto_initial));
        self.association = Some(association);
        self.endpoint.set_server_config(None);
        Ok(started.and_then(|instant| Clock::aligned(now, instant)).unwrap_or(clock))
    }

    fn handle_packet(&mut self, now: Instant, remote: SocketAddr, packet: Bytes) {
        let Some((_, event)) = self.endpoint.handle(now, remote, None, None, packet) else {
            return;
        };
        match event {
            DatagramEvent::NewAssociation(association) => self.association = Some(association),
            DatagramEvent::AssociationEvent(event) => {
                if let Some(association) = &mut self.association {
                    association.handle_event(event);
                }
            }
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(association) = &mut self.association {
            association.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<Bytes>> {
        match self.association.as_mut()?.poll_transmit(now)?.payload {
            Payload::RawEncode(packets) => Some(packets),
            Payload::PartialDecode(_) => None,
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.association.as_ref()?.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<StackEvent> {
        Some(match self.association.as_mut()?.poll()? {
            Event::Connected => StackEvent::Connected,
            Event::HandshakeFailed { reason } | Event::AssociationLost { reason } => {
                StackEvent::Lost(reason.to_string())
            }
            Event::Stream(StreamEvent::Readable { id }) => StackEvent::Readable(id),
            Event::Stream(StreamEvent::Finished { id }) => StackEvent::Reset(id),
            Event::Stream(_) | Event::DataChannelStatsFinal(_) | Event::DatagramReceived | _ => {
                StackEvent::Other
            }
        })
    }

    fn is_closed(&self) -> bool {
        self.association.as_ref().is_some_and(Association::is_closed)
    }

    fn write(
        &mut self,
        _now: Instant,
        stream: u16,
        ppid: u32,
        user_data: &Bytes,
        treatment: Treatment,
    ) -> Result<(), String> {
        let (kind, value) = reliability(treatment.reliability);
        let mut stream = self.stream(stream)?;
        stream
            .set_reliability_params(treatment.unordered, kind, value)
            .and_then(|()| stream.write_sctp(user_data, PayloadProtocolIdentifier::from(ppid)))
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    fn read(&mut self, stream: u16) -> Option<(u32, Bytes)> {
        let mut chunks = self.association.as_mut()?.stream(stream).ok()?.read_sctp().ok()??;
        let ppid = chunks.ppi as u32;
        let len = chunks.len();
        Some((ppid, chunks.next(len).map(|chunk| chunk.bytes).unwrap_or_default()))
    }

    fn reset(&mut self, _now: Instant, stream: u16) -> Result<(), String> {
        // One that the peer reset is gone: it reset ours by itself.
        let association = self.association.as_mut().ok_or("no association")?;
        let Ok(mut stream) = association.stream(stream) else { return Ok(()) };
        stream.close().map_err(|error| error.to_string())
    }

    fn shutdown(&mut self) {
        if let Some(association) = &mut self.association {
            association.shutdown().ok();
        }
    }

    fn abort(&mut self) {
        if let Some(association) = &mut self.association {
            association.close().ok();
        }
    }
}

fn transport_config(config: &Config) -> TransportConfig {
    let millis = |duration: Duration| u64::try_from(duration.as_millis()).unwrap_or(u64::MAX);
    TransportConfig::default()
        .with_local_port(config.port)
        .with_remote_port(config.port)
        .with_max_receive_buffer_size(config.receive_window)
        .with_max_send_message_size(config.max_message_size)
        .with_max_receive_message_size(config.max_message_size)
        .with_rto_initial_ms(millis(config.rto_initial))
        .with_rto_min_ms(millis(config.rto_min))
        .with_rto_max_ms(millis(config.rto_max))
}

/// What a packet of `mtu` bytes carries of a message: less the common header and a DATA chunk's,
/// without padding.
fn max_payload_size(mtu: u16) -> u32 {
    u32::from(mtu).saturating_sub(12 + 16) & !3
}

fn reliability(reliability: Reliability) -> (ReliabilityType, u32) {
    match reliability {
        Reliability::Reliable => (ReliabilityType::Reliable, 0),
        Reliability::Lifetime(lifetime) => {
            (ReliabilityType::Timed, u32::try_from(lifetime.as_millis()).unwrap_or(u32::MAX))
        }
        Reliability::Retransmissions(n) => (ReliabilityType::Rexmit, u32::from(n)),
    }
}
