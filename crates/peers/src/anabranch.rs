//! Our own stack behind the same interface, to be compared and to be refereed.

use std::collections::VecDeque;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, CloseReason, CongestionControl, Direction,
    Endpoint, EndpointConfig, Level, OutgoingMessage, Reliability as Policy,
};
use anabranch_wire::{Ppid, StreamId};
use bytes::Bytes;

use crate::{Config, Event, Message, Reliability, SendError, State, Treatment, check_send};

/// What IP and UDP headers take of a path's MTU at most; the configuration counts from SCTP on.
const HEADERS: usize = 48;

/// An [`Endpoint`] with one association at a time.
pub(crate) struct Peer {
    config: Config,
    endpoint: Endpoint,
    association: Option<AssociationId>,
    path: FourTuple,
    state: State,
    events: VecDeque<Event>,
    buf: Vec<u8>,
}

impl Peer {
    pub(crate) fn new(config: &Config, seed: u64) -> Self {
        let endpoint_config = EndpointConfig {
            accept: true,
            association: association_config(config),
            ..EndpointConfig::default()
        };
        Self {
            config: *config,
            endpoint: Endpoint::new(endpoint_config, Rng::from_u64(seed)),
            association: None,
            path: config.path,
            state: State::Closed,
            events: VecDeque::new(),
            buf: Vec::new(),
        }
    }

    fn association_mut(&mut self) -> Option<&mut Association> {
        self.endpoint.association_mut(self.association?)
    }

    fn take_events(&mut self) {
        while let Some((id, event)) = self.endpoint.poll_event() {
            self.association = Some(id);
            match event {
                anabranch_sctp::Event::Connected { .. } => {
                    self.state = State::Connected;
                    self.events.push_back(Event::Connected);
                }
                anabranch_sctp::Event::PeerClosing => self.state = State::ShuttingDown,
                anabranch_sctp::Event::Closed { reason, .. } => {
                    self.state = State::Closed;
                    let wished = matches!(reason, CloseReason::Shutdown | CloseReason::Aborted);
                    let lost = || Event::Lost(reason.to_string());
                    self.events.push_back(if wished { Event::Closed } else { lost() });
                }
                anabranch_sctp::Event::StreamsReset { direction: Direction::Incoming, streams } => {
                    self.events.extend(streams.iter().map(|stream| Event::Reset(stream.0)));
                }
                anabranch_sctp::Event::StreamsReset { .. }
                | anabranch_sctp::Event::Restarted
                | anabranch_sctp::Event::Readable
                | anabranch_sctp::Event::ResetRefused { .. }
                | anabranch_sctp::Event::Writable
                | anabranch_sctp::Event::RateChanged(_)
                | anabranch_sctp::Event::PathAdded { .. }
                | anabranch_sctp::Event::PathRemoved { .. }
                | anabranch_sctp::Event::SendFailed { .. }
                | anabranch_sctp::Event::SenderDry
                | anabranch_sctp::Event::PeerError { .. }
                | anabranch_sctp::Event::StreamsAdded { .. }
                | anabranch_sctp::Event::AddInProgress { .. }
                | anabranch_sctp::Event::AddRefused { .. }
                | anabranch_sctp::Event::PathMoved { .. }
                | anabranch_sctp::Event::PathStateChanged { .. }
                | anabranch_sctp::Event::DataPathChanged { .. } => {}
                _ => {}
            }
        }
    }
}

fn association_config(wanted: &Config) -> AssociationConfig {
    let window = wanted.receive_window as usize;
    AssociationConfig::default().with(|config| {
        config.paths.path_mtu = usize::from(wanted.mtu) + HEADERS;
        config.buffers.receive_buffer = window;
        config.buffers.send_buffer = window.max(2 * wanted.max_message_size as usize);
        config.buffers.message_size_max = wanted.max_message_size as usize;
        config.timers.rto_initial = wanted.rto_initial;
        config.timers.rto_min = wanted.rto_min;
        config.timers.rto_max = wanted.rto_max;
        config.window.congestion_control = match wanted.fixed_window {
            Some(window) => CongestionControl::Fixed { window: window as usize },
            None => CongestionControl::default(),
        };
        config.window.max_burst = if wanted.fixed_window.is_some() { None } else { Some(4) };
        config.streams.outbound_streams = 1_024;
        config.streams.inbound_streams_max = 1_024;
        config.extensions.message_interleaving = wanted.message_interleaving;
        config.extensions.level_marks = wanted.level_marks;
        config.extensions.zero_checksum_over_dtls = wanted.zero_checksum_over_dtls;
    })
}

impl crate::Peer for Peer {
    fn connect(&mut self, now: Time) {
        if self.association.is_some() {
            return;
        }
        let config = association_config(&self.config);
        let ports = (self.config.port, self.config.port);
        if let Ok(id) = self.endpoint.connect(now, &[self.path], ports, config) {
            self.association = Some(id);
            self.state = State::Connecting;
        }
    }

    fn send(
        &mut self,
        now: Time,
        message: &Message,
        treatment: Treatment,
    ) -> Result<(), SendError> {
        check_send(self.state, message, self.config.max_message_size)?;
        let (ppid, payload) = message.to_wire();
        let message = OutgoingMessage {
            ppid: Ppid(ppid),
            ordered: !treatment.unordered,
            reliability: match treatment.reliability {
                Reliability::Reliable => Policy::Reliable,
                Reliability::Lifetime(lifetime) => Policy::Lifetime(lifetime),
                Reliability::Retransmissions(max) => Policy::MaxRetransmissions(max.into()),
            },
            level: Level::ALL[usize::from(message.stream) % Level::ALL.len()],
            ..OutgoingMessage::new(StreamId(message.stream), payload)
        };
        let state = self.state;
        let association = self.association_mut().ok_or(SendError::NotConnected(state))?;
        association.send(now, message).map_err(|error| SendError::Refused(error.to_string()))
    }

    fn receive(&mut self) -> Option<Message> {
        let id = self.association?;
        // Acting on an association makes all polls look at it again: not for nothing.
        if !self.endpoint.association(id)?.has_message() {
            return None;
        }
        let message = self.endpoint.association_mut(id)?.receive()?;
        Some(Message::from_wire(message.stream.0, message.ppid.0, message.payload))
    }

    fn reset(&mut self, now: Time, stream: u16) -> Result<(), SendError> {
        let state = self.state;
        let association = self.association_mut().ok_or(SendError::NotConnected(state))?;
        let reset = association.reset_streams(now, &[StreamId(stream)]);
        reset.map_err(|error| SendError::Refused(error.to_string()))
    }

    fn shutdown(&mut self, now: Time) {
        if let Some(association) = self.association_mut() {
            association.shutdown(now);
            self.state = State::ShuttingDown;
        }
        self.take_events();
    }

    fn abort(&mut self, _now: Time) {
        if let Some(association) = self.association_mut() {
            association.abort("the user aborted");
        }
        self.take_events();
    }

    fn state(&self) -> State {
        self.state
    }

    fn poll_packet(&mut self, now: Time) -> Option<Bytes> {
        let mut buf = std::mem::take(&mut self.buf);
        buf.clear();
        let packet = self.endpoint.poll_transmit(now, &mut buf);
        let packet = packet.map(|_| Bytes::copy_from_slice(&buf));
        self.buf = buf;
        packet
    }
}

impl Machine for Peer {
    type Event = Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.path = datagram.path;
        self.endpoint.handle_datagram(now, datagram);
        self.take_events();
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now);
        self.take_events();
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.endpoint.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.endpoint.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}
