//! The adapter for dcsctp.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time, Transmit, Wakeup};
use bytes::Bytes;
use dcsctp::api::{
    DcSctpSocket, Message as Content, Options, PpId, SendOptions, SocketEvent, SocketState,
    SocketTime, StreamId, ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS,
    ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_NONE,
};

use crate::{Config, Event, Message, Reliability, SendError, State, Treatment, check_send};

pub(crate) struct Peer {
    socket: Box<dyn DcSctpSocket>,
    path: FourTuple,
    max_message_size: u32,
    rng: Rng,
    packets: VecDeque<Bytes>,
    events: VecDeque<Event>,
}

impl Peer {
    pub(crate) fn new(config: &Config, seed: u64) -> Self {
        Self {
            socket: dcsctp::new_socket("dcsctp", &options(config)),
            path: config.path,
            max_message_size: config.max_message_size,
            rng: Rng::from_u64(seed),
            packets: VecDeque::new(),
            events: VecDeque::new(),
        }
    }

    /// dcsctp draws tags and TSNs during a handshake, from a generator of the thread.
    fn reseed(&mut self) {
        fastrand::seed(self.rng.next_u64());
    }

    fn advance(&mut self, now: Time) {
        self.socket.advance_time(socket_time(now));
    }

    fn take_events(&mut self) {
        while let Some(event) = self.socket.poll_event() {
            match event {
                SocketEvent::SendPacket(packet) => self.packets.push_back(packet.into()),
                SocketEvent::OnConnected() => self.events.push_back(Event::Connected),
                SocketEvent::OnClosed() => self.events.push_back(Event::Closed),
                SocketEvent::OnAborted(_, reason) => self.events.push_back(Event::Lost(reason)),
                SocketEvent::OnIncomingStreamReset(streams) => {
                    self.events.extend(streams.iter().map(|stream| Event::Reset(stream.0)));
                }
                SocketEvent::OnConnectionRestarted()
                | SocketEvent::OnError(..)
                | SocketEvent::OnBufferedAmountLow(_)
                | SocketEvent::OnTotalBufferedAmountLow()
                | SocketEvent::OnStreamsResetFailed(_)
                | SocketEvent::OnStreamsResetPerformed(_)
                | SocketEvent::OnLifecycleMessageFullySent(_)
                | SocketEvent::OnLifecycleMessageExpired(_)
                | SocketEvent::OnLifecycleMessageMaybeExpired(_)
                | SocketEvent::OnLifecycleMessageDelivered(_)
                | SocketEvent::OnLifecycleEnd(_) => {}
            }
        }
    }
}

impl Machine for Peer {
    type Event = Event;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.path = datagram.path;
        self.reseed();
        self.advance(now);
        self.socket.handle_input(datagram.bytes);
        self.take_events();
    }

    fn handle_timeout(&mut self, now: Time) {
        self.advance(now);
        self.take_events();
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let packet = crate::Peer::poll_packet(self, now)?;
        buf.extend_from_slice(&packet);
        Some(Transmit::datagram(self.path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let at = self.socket.poll_timeout();
        if at == SocketTime::infinite_future() {
            return None;
        }
        Some(Wakeup { at: Time::ZERO + (at - SocketTime::zero()), why: "dcsctp" })
    }

    fn poll_event(&mut self) -> Option<Event> {
        self.events.pop_front()
    }
}

impl crate::Peer for Peer {
    fn connect(&mut self, now: Time) {
        self.reseed();
        self.advance(now);
        self.socket.connect();
        self.take_events();
    }

    fn send(
        &mut self,
        now: Time,
        message: &Message,
        treatment: Treatment,
    ) -> Result<(), SendError> {
        check_send(self.state(), message, self.max_message_size)?;
        let (ppid, user_data) = message.to_wire();
        let content = Content::new(StreamId(message.stream), PpId(ppid), user_data.to_vec());
        self.advance(now);
        let sent = self.socket.send(content, &send_options(treatment));
        self.take_events();
        sent.map_err(|error| SendError::Refused(error.to_string()))
    }

    fn receive(&mut self) -> Option<Message> {
        let content = self.socket.get_next_message()?;
        Some(Message::from_wire(content.stream_id.0, content.ppid.0, content.payload.into()))
    }

    fn reset(&mut self, now: Time, stream: u16) -> Result<(), SendError> {
        self.advance(now);
        let reset = self.socket.reset_streams(&[StreamId(stream)]);
        self.take_events();
        reset.map_err(|error| SendError::Refused(format!("{error:?}")))
    }

    fn shutdown(&mut self, now: Time) {
        self.advance(now);
        self.socket.shutdown();
        self.take_events();
    }

    fn abort(&mut self, now: Time) {
        self.advance(now);
        self.socket.close();
        self.take_events();
    }

    fn state(&self) -> State {
        match self.socket.state() {
            SocketState::Closed => State::Closed,
            SocketState::Connecting => State::Connecting,
            SocketState::Connected => State::Connected,
            SocketState::ShuttingDown => State::ShuttingDown,
        }
    }

    fn poll_packet(&mut self, _now: Time) -> Option<Bytes> {
        self.packets.pop_front()
    }
}

fn options(config: &Config) -> Options {
    Options {
        local_port: config.port,
        remote_port: config.port,
        mtu: usize::from(config.mtu),
        max_message_size: config.max_message_size as usize,
        max_receiver_window_buffer_size: config.receive_window as usize,
        rto_initial: config.rto_initial,
        rto_min: config.rto_min,
        rto_max: config.rto_max,
        max_send_buffer_size: MAX_SEND_BUFFER_BYTES,
        per_stream_send_queue_limit: MAX_SEND_BUFFER_BYTES,
        enable_message_interleaving: config.message_interleaving,
        zero_checksum_alternate_error_detection_method: match config.zero_checksum_over_dtls {
            true => ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_LOWER_LAYER_DTLS,
            false => ZERO_CHECKSUM_ALTERNATE_ERROR_DETECTION_METHOD_NONE,
        },
        ..Options::default()
    }
}

/// Room for what a test or a benchmark hands over at once.
const MAX_SEND_BUFFER_BYTES: usize = 64 << 20;

fn send_options(treatment: Treatment) -> SendOptions {
    let mut options = SendOptions { unordered: treatment.unordered, ..SendOptions::default() };
    match treatment.reliability {
        Reliability::Reliable => {}
        Reliability::Lifetime(lifetime) => options.lifetime = Some(lifetime),
        Reliability::Retransmissions(n) => options.max_retransmissions = Some(n),
    }
    options
}

fn socket_time(now: Time) -> SocketTime {
    SocketTime::zero() + Duration::from_nanos(now.as_nanos())
}
