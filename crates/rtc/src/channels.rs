//! [`Channels`]: data channels over one association (RFC 8831).

use std::collections::{BTreeMap, VecDeque};

use anabranch_sansio::Time;
use anabranch_sctp::{Association, Direction, IncomingMessage, OutgoingMessage, SendError};
use anabranch_wire::{Ppid, StreamId};
use bytes::Bytes;
use thiserror::Error;

use crate::dcep::{ChannelOptions, Dcep};

/// Channels that may be there at once, and streams of each direction.
pub(crate) const CHANNELS_MAX: u16 = 256;

/// RFC 8831 section 8 and RFC 8832 section 8.1.
const DCEP: Ppid = Ppid(50);
const STRING: Ppid = Ppid(51);
const BINARY: Ppid = Ppid(53);
const STRING_EMPTY: Ppid = Ppid(56);
const BINARY_EMPTY: Ppid = Ppid(57);

/// What a message is to the page.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum MessageKind {
    /// A string.
    Text,
    /// An ArrayBuffer or Blob.
    Binary,
}

/// Why a channel cannot be used as wanted.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum ChannelError {
    /// There is no such connection, or it is not set up yet.
    #[error("the connection is not set up")]
    NotConnected,
    /// No such channel, or it is being closed.
    #[error("stream {stream} has no open channel")]
    NotOpen {
        /// The stream that was asked for.
        stream: u16,
    },
    /// The stream has a channel.
    #[error("stream {stream} has a channel already")]
    InUse {
        /// The stream that was asked for.
        stream: u16,
    },
    /// Every stream that we may choose has a channel.
    #[error("there are {limit} streams, and all that may be chosen have channels")]
    Exhausted {
        /// Streams of the association.
        limit: u16,
    },
    /// The peer takes no messages of this length.
    #[error("the message has {len} bytes, but the peer takes at most {limit}")]
    TooLarge {
        /// The message's length.
        len: usize,
        /// What the peer's offer said.
        limit: usize,
    },
    /// The association refused.
    #[error(transparent)]
    Send(#[from] SendError),
}

/// What happened to a channel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum ChannelEvent {
    Opened { stream: StreamId, options: ChannelOptions },
    Message { kind: MessageKind, message: IncomingMessage },
    Closed { stream: StreamId },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum State {
    /// Our DATA_CHANNEL_OPEN was not answered yet.
    Opening,
    Open,
    /// RFC 8831 section 6.7: closed when both streams are reset.
    Closing {
        ours_is_reset: bool,
        peers_is_reset: bool,
    },
}

#[derive(Debug)]
struct Channel {
    state: State,
    options: ChannelOptions,
}

/// The channels of one connection.
#[derive(Debug)]
pub(crate) struct Channels {
    channels: BTreeMap<StreamId, Channel>,
    /// Streams below this have a channel always.
    negotiated: u16,
    /// The longest message that the peer takes.
    message_max: usize,
    pub(crate) events: VecDeque<ChannelEvent>,
}

impl Channels {
    /// Those that both sides have from the beginning: the first `negotiated` streams. A
    /// `message_max` of 0 stands for any length (RFC 8841 section 6.1).
    pub(crate) fn new(negotiated: u16, message_max: usize) -> Self {
        let message_max = if message_max == 0 { usize::MAX } else { message_max };
        let open = || Channel { state: State::Open, options: ChannelOptions::new("") };
        let channels = (0..negotiated).map(|stream| (StreamId(stream), open())).collect();
        Self { channels, negotiated, message_max, events: VecDeque::new() }
    }

    /// Opens a channel with DATA_CHANNEL_OPEN on a stream of our choice.
    ///
    /// RFC 8832 section 6: "if the side is acting as the DTLS server, it MUST choose an odd one."
    pub(crate) fn open(
        &mut self,
        now: Time,
        association: &mut Association,
        options: ChannelOptions,
    ) -> Result<StreamId, ChannelError> {
        let limit = association.outbound_streams().min(CHANNELS_MAX);
        let mut odd = (1..limit).step_by(2).map(StreamId);
        let unused = odd.find(|stream| !self.channels.contains_key(stream));
        let stream = unused.ok_or(ChannelError::Exhausted { limit })?;
        send_dcep(now, association, stream, &Dcep::Open(options.clone()))?;
        self.insert(association, stream, State::Opening, options);
        Ok(stream)
    }

    /// Opens a channel that both sides agreed on by other means.
    pub(crate) fn open_negotiated(
        &mut self,
        association: &mut Association,
        stream: StreamId,
        options: ChannelOptions,
    ) -> Result<(), ChannelError> {
        let limit = association.outbound_streams().min(CHANNELS_MAX);
        if stream.0 >= limit {
            return Err(ChannelError::Exhausted { limit });
        }
        if self.channels.contains_key(&stream) {
            return Err(ChannelError::InUse { stream: stream.0 });
        }
        self.insert(association, stream, State::Open, options);
        Ok(())
    }

    fn insert(
        &mut self,
        association: &mut Association,
        stream: StreamId,
        state: State,
        options: ChannelOptions,
    ) {
        // Of data channels the higher number goes first, of our streams the lower one.
        association.set_stream_priority(stream, u16::MAX - options.priority);
        self.channels.insert(stream, Channel { state, options });
    }

    /// Sends a message as its channel is treated, or as `treat` has it.
    pub(crate) fn send(
        &self,
        now: Time,
        association: &mut Association,
        stream: StreamId,
        (kind, payload): (MessageKind, Bytes),
        treat: impl FnOnce(&mut OutgoingMessage),
    ) -> Result<(), ChannelError> {
        let closed = ChannelError::NotOpen { stream: stream.0 };
        let channel = self.channels.get(&stream).ok_or(closed.clone())?;
        let (len, limit) = (payload.len(), self.message_max);
        if len > limit {
            return Err(ChannelError::TooLarge { len, limit });
        }
        // RFC 8831 section 6.6: "SCTP does not support the sending of empty user messages.
        // Therefore, if an empty message has to be sent, the appropriate PPID (WebRTC String Empty
        // or WebRTC Binary Empty) is used, and the SCTP user message of one zero byte is sent."
        let (ppid, payload) = match (kind, payload.is_empty()) {
            (MessageKind::Text, false) => (STRING, payload),
            (MessageKind::Binary, false) => (BINARY, payload),
            (MessageKind::Text, true) => (STRING_EMPTY, Bytes::from_static(&[0])),
            (MessageKind::Binary, true) => (BINARY_EMPTY, Bytes::from_static(&[0])),
        };
        let mut message = OutgoingMessage {
            ppid,
            ordered: channel.options.ordered,
            reliability: channel.options.reliability,
            ..OutgoingMessage::new(stream, payload)
        };
        treat(&mut message);
        match channel.state {
            // RFC 8832 section 6: "before the DATA_CHANNEL_ACK message or any other message has
            // been received on a data channel, all other messages containing user data and
            // belonging to this data channel MUST be sent ordered".
            State::Opening => message.ordered = true,
            State::Open => {}
            State::Closing { .. } => return Err(closed),
        }
        Ok(association.send(now, message)?)
    }

    /// Closes a channel: what was sent before is still delivered.
    pub(crate) fn close(&mut self, now: Time, association: &mut Association, stream: StreamId) {
        let channel = self.channels.get_mut(&stream);
        let Some(channel) = channel.filter(|c| !matches!(c.state, State::Closing { .. })) else {
            return;
        };
        // Towards a peer that resets no streams there is nothing to wait for.
        let is_alone = reset(now, association, stream).is_none();
        channel.state = State::Closing { ours_is_reset: is_alone, peers_is_reset: is_alone };
        self.settle(stream);
    }

    pub(crate) fn on_message(
        &mut self,
        now: Time,
        association: &mut Association,
        mut message: IncomingMessage,
    ) {
        let stream = message.stream;
        if message.ppid == DCEP {
            return self.on_dcep(now, association, stream, &message.payload);
        }
        let kind = match message.ppid {
            STRING => Some(MessageKind::Text),
            BINARY => Some(MessageKind::Binary),
            STRING_EMPTY | BINARY_EMPTY => {
                message.payload = Bytes::new();
                let is_text = message.ppid == STRING_EMPTY;
                Some(if is_text { MessageKind::Text } else { MessageKind::Binary })
            }
            _ => None,
        };
        match (self.channels.get_mut(&stream), kind) {
            // What was under way when we closed the channel.
            (Some(Channel { state: State::Closing { .. }, .. }), _) => {}
            (Some(channel), Some(kind)) => {
                channel.state = State::Open;
                self.events.push_back(ChannelEvent::Message { kind, message });
            }
            (Some(_), None) => self.close(now, association, stream),
            // RFC 8832 section 6: "receiving a message containing user data on an unused stream
            // indicates an error. In that case, the corresponding data channel MUST be closed".
            (None, _) => self.refuse(now, association, stream),
        }
    }

    fn on_dcep(&mut self, now: Time, association: &mut Association, stream: StreamId, dcep: &[u8]) {
        match (Dcep::decode(dcep), self.channels.get_mut(&stream)) {
            (Ok(Dcep::Ack), Some(channel)) if channel.state == State::Opening => {
                channel.state = State::Open;
                let options = channel.options.clone();
                self.events.push_back(ChannelEvent::Opened { stream, options });
            }
            // A second acknowledgement, or one of a channel that closes, says nothing new.
            (Ok(Dcep::Ack), _) => {}
            (Ok(Dcep::Open(options)), None) if may_open(association, stream) => {
                if send_dcep(now, association, stream, &Dcep::Ack).is_err() {
                    return self.refuse(now, association, stream);
                }
                self.insert(association, stream, State::Open, options.clone());
                self.events.push_back(ChannelEvent::Opened { stream, options });
            }
            // RFC 8832 section 6: "If the DATA_CHANNEL_OPEN message doesn't satisfy the conditions
            // above, the receiver MUST close the corresponding data channel".
            (Ok(Dcep::Open(_)) | Err(_), Some(_)) => self.close(now, association, stream),
            (Ok(Dcep::Open(_)) | Err(_), None) => self.refuse(now, association, stream),
        }
    }

    /// Resets a stream on which there is no channel.
    fn refuse(&mut self, now: Time, association: &mut Association, stream: StreamId) {
        if reset(now, association, stream).is_some() {
            let state = State::Closing { ours_is_reset: false, peers_is_reset: false };
            let options = ChannelOptions::new("");
            self.channels.insert(stream, Channel { state, options });
        }
    }

    /// Streams were reset; none listed stands for all.
    pub(crate) fn on_reset(
        &mut self,
        now: Time,
        association: &mut Association,
        direction: Direction,
        streams: &[StreamId],
    ) {
        let all = || self.channels.keys().copied().collect();
        let streams = if streams.is_empty() { all() } else { streams.to_vec() };
        for stream in streams {
            // RFC 8831 section 6.7: "When the peer sees that an incoming stream was reset, it also
            // resets its corresponding outgoing stream."
            if direction == Direction::Incoming {
                self.close(now, association, stream);
            }
            let channel = self.channels.get_mut(&stream);
            if let Some(Channel {
                state: State::Closing { ours_is_reset, peers_is_reset }, ..
            }) = channel
            {
                *ours_is_reset |= direction == Direction::Outgoing;
                *peers_is_reset |= direction == Direction::Incoming;
            }
            self.settle(stream);
        }
    }

    /// Forgets a channel that is closed on both sides, or opens it again if it is negotiated.
    ///
    /// RFC 8831 section 6.7: "Streams are available for reuse after a reset has been performed."
    fn settle(&mut self, stream: StreamId) {
        let closed = State::Closing { ours_is_reset: true, peers_is_reset: true };
        let Some(channel) = self.channels.get_mut(&stream).filter(|it| it.state == closed) else {
            return;
        };
        if stream.0 < self.negotiated {
            channel.state = State::Open;
        } else {
            self.channels.remove(&stream);
            self.events.push_back(ChannelEvent::Closed { stream });
        }
    }
}

/// RFC 8832 section 6: "if the side is acting as the DTLS client, it MUST choose an even stream
/// identifier", and browsers are.
fn may_open(association: &Association, stream: StreamId) -> bool {
    let limit = association.outbound_streams().min(CHANNELS_MAX);
    stream.0.is_multiple_of(2) && stream.0 < limit
}

fn send_dcep(
    now: Time,
    association: &mut Association,
    stream: StreamId,
    dcep: &Dcep,
) -> Result<(), SendError> {
    let payload = Bytes::from(dcep.encode());
    let message = OutgoingMessage { ppid: DCEP, ..OutgoingMessage::new(stream, payload) };
    association.send(now, message)
}

fn reset(now: Time, association: &mut Association, stream: StreamId) -> Option<()> {
    association.reset_streams(now, &[stream]).ok()
}
