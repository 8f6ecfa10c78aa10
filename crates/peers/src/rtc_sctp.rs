//! The adapter for rtc-sctp.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use anabranch_sansio::Time;
use bytes::Bytes;
use rtc_sctp::{
    Association, ClientConfig, DatagramEvent, Endpoint, EndpointConfig, Event, Payload,
    PayloadProtocolIdentifier, ReliabilityType, ServerConfig, Stream, StreamEvent, TransportConfig,
    max_payload_size_for_mtu,
};
use rtc_shared::TransportProtocol;

use crate::clock::Clock;
use crate::webrtc_rs::{Adapter, Stack, StackEvent};
use crate::{Config, Peer, Reliability, Treatment};

pub(crate) fn peer(config: &Config) -> Box<dyn Peer> {
    Box::new(Adapter::new(RtcSctp::new(config), config))
}

struct RtcSctp {
    endpoint: Endpoint,
    association: Option<Association>,
    transport: TransportConfig,
}

impl RtcSctp {
    fn new(config: &Config) -> Self {
        let transport = TransportConfig::default()
            .with_sctp_port(config.port)
            .with_max_receive_buffer_size(config.receive_window)
            .with_max_message_size(config.max_message_size);
        let mut endpoint = EndpointConfig::new();
        endpoint.max_payload_size(max_payload_size_for_mtu(config.mtu.into()));
        Self {
            endpoint: Endpoint::new(
                config.path.local,
                TransportProtocol::UDP,
                Arc::new(endpoint),
                Some(Arc::new(ServerConfig::new(transport.clone()))),
            ),
            association: None,
            transport,
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

impl Stack for RtcSctp {
    const NAME: &'static str = "rtc-sctp";

    fn connect(&mut self, now: Time, clock: Clock, remote: SocketAddr) -> Result<Clock, String> {
        let config = ClientConfig::new(self.transport.clone());
        let connected = self.endpoint.connect(clock.instant(now), config, remote);
        let (_, association) = connected.map_err(|error| error.to_string())?;
        self.association = Some(association);
        self.endpoint.set_server_config(None);
        Ok(clock)
    }

    fn handle_packet(&mut self, now: Instant, remote: SocketAddr, packet: Bytes) {
        let Some((_, event)) = self.endpoint.handle(now, remote, None, packet) else {
            return;
        };
        match event {
            DatagramEvent::NewAssociation(association) => self.association = Some(association),
            DatagramEvent::AssociationEvent(event) => {
                if let Some(association) = &mut self.association {
                    association.handle_event(event);
                }
            }
            _ => {}
        }
    }

    fn handle_timeout(&mut self, now: Instant) {
        if let Some(association) = &mut self.association {
            association.handle_timeout(now);
        }
    }

    fn poll_transmit(&mut self, now: Instant) -> Option<Vec<Bytes>> {
        match self.association.as_mut()?.poll_transmit(now)?.message {
            Payload::RawEncode(packets) => Some(packets),
            Payload::PartialDecode(_) | _ => None,
        }
    }

    fn poll_timeout(&self) -> Option<Instant> {
        self.association.as_ref()?.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<StackEvent> {
        Some(match self.association.as_mut()?.poll()? {
            Event::Connected => StackEvent::Connected,
            Event::HandshakeFailed { reason } | Event::AssociationLost { reason, .. } => {
                StackEvent::Lost(reason.to_string())
            }
            Event::Stream(StreamEvent::Readable { id }) => StackEvent::Readable(id),
            Event::Stream(_) | Event::DatagramReceived | _ => StackEvent::Other,
        })
    }

    fn is_closed(&self) -> bool {
        self.association.as_ref().is_some_and(Association::is_closed)
    }

    fn write(
        &mut self,
        now: Instant,
        stream: u16,
        ppid: u32,
        user_data: &Bytes,
        treatment: Treatment,
    ) -> Result<(), String> {
        let (kind, value) = reliability(treatment.reliability);
        let mut stream = self.stream(stream)?;
        stream
            .set_reliability_params(treatment.unordered, kind, value)
            .and_then(|()| stream.write_sctp(now, user_data, PayloadProtocolIdentifier::from(ppid)))
            .map(|_| ())
            .map_err(|error| error.to_string())
    }

    fn read(&mut self, stream: u16) -> Option<(u32, Bytes)> {
        let chunks = self.association.as_mut()?.stream(stream).ok()?.read_sctp().ok()??;
        let payload = chunks.to_payload(usize::MAX).ok()?;
        Some((chunks.ppi as u32, payload.freeze()))
    }

    fn reset(&mut self, now: Instant, stream: u16) -> Result<(), String> {
        // One that the peer reset is gone: it reset ours by itself.
        let association = self.association.as_mut().ok_or("no association")?;
        let Ok(mut stream) = association.stream(stream) else { return Ok(()) };
        stream.close(now).map_err(|error| error.to_string())
    }

    fn shutdown(&mut self) {
        if let Some(association) = &mut self.association {
            association.shutdown().ok();
        }
    }

    fn abort(&mut self) {
        if let Some(association) = &mut self.association {
            association.abort().ok();
        }
    }
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
