//! [`Connection`]: one end of a DCCP connection.

mod arrival;
mod closing;
mod handshake;
mod numbers;
mod options;
mod subflow;
mod transmit;

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::{Ecn, FourTuple, Rng, Time, TraceRecord, Wakeup};
use bytes::Bytes;

use crate::ccid::RTT_DEFAULT;
use crate::ccid::{Ccid2Receiver, Ccid2Sender, Ccid3Receiver, Ccid3Sender, HcReceiver, HcSender};
use crate::config::{Ccid, Config};
use crate::encapsulation::Encapsulation;
use crate::error::SendError;
use crate::event::{CloseReason, Event};
use crate::feature::{Feature, Negotiation, Owner};
use crate::receive::{History, ReceiveQueue, Replay};
use crate::seq::Seq;
use crate::stats::Stats;
use crate::tfrc::RateControlConfig;
use crate::trace::{Reported, Trace};
use crate::wire::{Protection, ResetCode, SequenceNumber, ServiceCode};

use closing::Closing;
use handshake::{PartOpen, Request};
use numbers::{Numbers, Windows};
pub(crate) use subflow::{Heard, Subflow};
use transmit::Reply;

/// The timer that only spaces data out.
const PACING: &str = "pacing";

/// Answers that wait to be sent; what comes on top is left out.
const REPLIES_MAX: usize = 16;

/// Between which two ends a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct Flow {
    /// As the carrier has it: of DCCP in UDP, UDP's ports.
    pub(crate) path: FourTuple,
    /// DCCP's port here.
    pub(crate) local_port: u16,
    /// DCCP's port there.
    pub(crate) remote_port: u16,
}

/// Which end we are.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Role {
    Client,
    Server,
}

/// RFC 4340 section 4.3. LISTEN is the endpoint's.
#[derive(Debug)]
enum State {
    Request(Request),
    /// `must_send`: a Response is to go out.
    Respond {
        until: Time,
        must_send: bool,
    },
    PartOpen(PartOpen),
    Open,
    CloseReq(Closing),
    Closing(Closing),
    TimeWait {
        until: Time,
    },
    Closed,
}

/// One end of a connection, from its handshake to its end. An [`Endpoint`](crate::Endpoint) has it.
#[derive(Debug)]
pub struct Connection {
    config: Config,
    flow: Flow,
    encapsulation: Encapsulation,
    role: Role,
    service_code: ServiceCode,
    state: State,
    numbers: Numbers,
    features: Negotiation,
    sender: Box<dyn HcSender>,
    send_ccid: Ccid,
    receiver: Box<dyn HcReceiver>,
    receive_ccid: Ccid,
    /// What the handshake took.
    handshake_rtt: Option<Duration>,
    /// The server's last Response: its number, and when it was sent.
    response_sent: Option<(Seq, Time)>,
    /// The client waits in PARTOPEN until it hears from us.
    owes_acknowledgement: bool,
    /// Init Cookies that our Response carries.
    cookies: Vec<Vec<u8>>,
    replay: Option<Replay>,
    /// Only where Ack Vectors are sent.
    history: Option<History>,
    incoming: ReceiveQueue,
    outgoing: VecDeque<Bytes>,
    outgoing_len: usize,
    /// Whether the application was told that the send buffer is full.
    was_full: bool,
    /// The application has more to send than it has handed over.
    has_more: bool,
    /// Close once all has been sent.
    is_finishing: bool,
    /// The peer's application takes no more data.
    is_peer_deaf: bool,
    /// We want no more than we get.
    is_slow: bool,
    replies: VecDeque<Reply>,
    /// When the packet came whose number is the greatest.
    newest_at: Time,
    /// A Timestamp to be answered, and when it came.
    timestamp: Option<(u32, Time)>,
    /// Since when packets are counted, and from which on.
    counted_from: (Time, Seq),
    /// How many were sent in the last round-trip time that is over.
    sent_per_rtt: u64,
    /// Packets without data in a row that we sent last.
    non_data_sent: u64,
    /// When the last Syncs were sent that answer invalid packets.
    syncs: VecDeque<Time>,
    /// Only where it may be one of the paths of a multipath connection.
    subflow: Option<Box<Subflow>>,
    events: VecDeque<Event>,
    stats: Stats,
    trace: Trace,
}

impl State {
    const fn name(&self) -> &'static str {
        match self {
            Self::Request(_) => "REQUEST",
            Self::Respond { .. } => "RESPOND",
            Self::PartOpen(_) => "PARTOPEN",
            Self::Open => "OPEN",
            Self::CloseReq(_) => "CLOSEREQ",
            Self::Closing(_) => "CLOSING",
            Self::TimeWait { .. } => "TIMEWAIT",
            Self::Closed => "CLOSED",
        }
    }
}

impl Connection {
    fn new(
        now: Time,
        config: Config,
        flow: Flow,
        encapsulation: Encapsulation,
        (role, state): (Role, State),
        service_code: ServiceCode,
        first: SequenceNumber,
    ) -> Self {
        let send_ccid = config.send_ccids.first().copied().unwrap_or(Ccid::TcpLike);
        let receive_ccid = config.receive_ccids.first().copied().unwrap_or(Ccid::TcpLike);
        let incoming = ReceiveQueue::new(config.receive_buffer);
        let packet_size = packet_size(&config, flow, encapsulation);
        let subflow = config.multipath.then(Box::default);
        let mut connection = Self {
            sender: sender(now, send_ccid, &config, packet_size),
            send_ccid,
            receiver: receiver(receive_ccid),
            receive_ccid,
            config,
            flow,
            encapsulation,
            role,
            service_code,
            state,
            numbers: Numbers::new(first),
            features: Negotiation::new(role == Role::Server),
            handshake_rtt: None,
            response_sent: None,
            owes_acknowledgement: false,
            cookies: Vec::new(),
            replay: None,
            history: None,
            incoming,
            outgoing: VecDeque::new(),
            outgoing_len: 0,
            was_full: false,
            has_more: false,
            is_finishing: false,
            is_peer_deaf: false,
            is_slow: false,
            replies: VecDeque::new(),
            newest_at: now,
            timestamp: None,
            counted_from: (now, Seq::first(first)),
            sent_per_rtt: 0,
            non_data_sent: 0,
            syncs: VecDeque::new(),
            subflow,
            events: VecDeque::new(),
            stats: Stats::default(),
            trace: Trace::default(),
        };
        connection.set_up_features();
        connection
    }

    /// Whether the handshake is over and the connection is not.
    #[must_use]
    pub const fn is_connected(&self) -> bool {
        matches!(self.state, State::PartOpen(_) | State::Open)
    }

    /// Whether it is over.
    #[must_use]
    pub const fn is_closed(&self) -> bool {
        matches!(self.state, State::TimeWait { .. } | State::Closed)
    }

    /// The most bytes of data that fit into a packet.
    #[must_use]
    pub fn datagram_len_max(&self) -> usize {
        let number = if self.subflow.is_some() { subflow::NUMBER_LEN } else { 0 };
        packet_size(&self.config, self.flow, self.encapsulation).saturating_sub(number)
    }

    /// Takes a datagram to be sent.
    ///
    /// # Errors
    /// There is no connection, the peer does not listen, or the datagram does not fit.
    pub fn send(&mut self, data: Bytes) -> Result<(), SendError> {
        let (len, limit) = (data.len(), self.datagram_len_max());
        if !self.is_connected() || self.is_finishing {
            return Err(SendError::NotConnected);
        }
        if self.is_peer_deaf {
            return Err(SendError::NotListening);
        }
        if len > limit {
            return Err(SendError::TooLarge { len, limit });
        }
        let room = self.config.send_buffer.saturating_sub(self.outgoing_len);
        if !self.outgoing.is_empty() && len + size_of::<Bytes>() > room {
            self.was_full = true;
            return Err(SendError::BufferFull { waiting: self.outgoing_len });
        }
        self.outgoing_len += len + size_of::<Bytes>();
        self.outgoing.push_back(data);
        Ok(())
    }

    /// How many datagrams wait to be sent.
    #[must_use]
    pub fn waiting(&self) -> usize {
        self.outgoing.len()
    }

    /// Says whether the application has more to send than it has handed over: what it sends is then
    /// limited by the network, though nothing waits here.
    pub const fn set_has_more(&mut self, has_more: bool) {
        self.has_more = has_more;
    }

    /// What [`set_has_more`](Self::set_has_more) said last; at first, no.
    #[must_use]
    pub const fn has_more(&self) -> bool {
        self.has_more
    }

    /// Drops the datagram that has waited longest to be sent, and returns it.
    pub fn drop_oldest(&mut self) -> Option<Bytes> {
        let data = self.outgoing.pop_front()?;
        self.outgoing_len -= data.len() + size_of::<Bytes>();
        Some(data)
    }

    /// The next datagram that arrived.
    pub fn receive(&mut self) -> Option<Bytes> {
        self.incoming.pop()
    }

    /// Whether the peer is asked not to send faster: RFC 4340 section 11.6.
    pub const fn set_slow(&mut self, is_slow: bool) {
        self.is_slow = is_slow;
    }

    /// Takes no more data from the peer, and tells it when it sends some.
    pub const fn stop_listening(&mut self) {
        self.incoming.close();
    }

    /// What was counted.
    #[must_use]
    pub fn stats(&self) -> Stats {
        Stats { congestion: self.sender.stats(), ..self.stats }
    }

    /// When the next data may be sent under congestion control, if time alone decides.
    #[must_use]
    pub fn may_send_at(&self) -> Option<Time> {
        self.sender.may_send_at()
    }

    /// The addresses it is between, as its carrier has them.
    #[must_use]
    pub const fn path(&self) -> FourTuple {
        self.flow.path
    }

    pub(crate) const fn flow(&self) -> Flow {
        self.flow
    }

    /// Whether nothing is left of it.
    pub(crate) fn is_gone(&self) -> bool {
        matches!(self.state, State::Closed)
            && self.events.is_empty()
            && self.replies.is_empty()
            && self.incoming.is_empty()
    }

    /// Has the Response carry these cookies.
    pub(crate) fn set_cookies(&mut self, cookies: Vec<Vec<u8>>) {
        self.cookies = cookies;
    }

    pub(crate) fn poll_event(&mut self) -> Option<Event> {
        if self.was_full && self.outgoing_len <= self.config.send_buffer / 2 {
            self.was_full = false;
            self.events.push_back(Event::Writable);
        }
        self.events.pop_front()
    }

    pub(crate) fn poll_timeout(&self) -> Option<Wakeup> {
        let own = match &self.state {
            State::Request(request) => Some(request.poll_timeout()),
            State::Respond { until, .. } => Some(Wakeup { at: *until, why: "RESPOND" }),
            State::PartOpen(part_open) => Some(part_open.poll_timeout()),
            State::Open => None,
            State::CloseReq(closing) | State::Closing(closing) => Some(closing.poll_timeout()),
            State::TimeWait { until } => return Some(Wakeup { at: *until, why: "TIMEWAIT" }),
            State::Closed => return None,
        };
        let pacing = self.sender.wakes_at().filter(|_| self.has_data_to_send());
        let pacing = pacing.map(|at| Wakeup { at, why: PACING });
        let features = self.features.poll_timeout().filter(|_| self.is_past_request());
        let timers =
            [own, pacing, features, self.sender.poll_timeout(), self.receiver.poll_timeout()];
        timers.into_iter().flatten().min()
    }

    pub(crate) fn handle_timeout(&mut self, now: Time) {
        self.trace_timer(now);
        match &mut self.state {
            State::Request(_) | State::Respond { .. } | State::PartOpen(_) => {
                self.handle_handshake_timeout(now);
            }
            State::CloseReq(_) | State::Closing(_) => self.handle_closing_timeout(now),
            State::TimeWait { until } => {
                if *until <= now {
                    self.state = State::Closed;
                }
            }
            State::Open | State::Closed => {}
        }
        if !self.is_closed() {
            self.sender.handle_timeout(now);
            self.receiver.handle_timeout(now);
            self.features.handle_timeout(now, self.rtt());
        }
    }

    pub(crate) fn set_tracing(&mut self, on: bool) {
        self.trace.set(on);
    }

    pub(crate) fn poll_trace(&mut self) -> Option<TraceRecord> {
        self.trace.pop()
    }

    /// Records what has changed since this was asked last.
    pub(crate) fn trace_changes(&mut self, now: Time) {
        if self.trace.is_on() {
            let congestion = self.sender.stats();
            let (state, path) = (self.state.name(), self.flow.path);
            self.trace.report(now, Reported { state, path, congestion });
        }
    }

    fn trace_timer(&mut self, now: Time) {
        if self.trace.is_on()
            && let Some(timer) = self.poll_timeout().filter(|timer| timer.at <= now)
            && timer.why != PACING
        {
            self.trace.on_timer(now, timer.why);
        }
    }

    /// A round-trip time, as well as it is known.
    fn rtt(&self) -> Duration {
        self.sender.rtt().or(self.handshake_rtt).unwrap_or(RTT_DEFAULT)
    }

    fn protection(&self) -> Protection {
        self.encapsulation.protection(self.flow.path)
    }

    fn windows(&self) -> Windows {
        Windows {
            local: self.features.value(Owner::Local, Feature::SequenceWindow),
            remote: self.features.value(Owner::Remote, Feature::SequenceWindow),
        }
    }

    const fn is_past_request(&self) -> bool {
        !matches!(self.state, State::Request(_))
    }

    /// Whether there are data to send, were it not for congestion control.
    fn has_data_to_send(&self) -> bool {
        let Some(next) = self.outgoing.front() else { return false };
        // Cookies go with every packet.
        let cookies_len = if let State::PartOpen(part_open) = &self.state {
            part_open.cookies_len()
        } else if matches!(self.state, State::Open) {
            0
        } else {
            return false;
        };
        next.len() + cookies_len <= self.datagram_len_max() && self.may_use_ccid()
    }

    /// RFC 4341 section 4: "The sender SHOULD NOT send data until it has received the corresponding
    /// "Confirm L(Send Ack Vector, 1)" from the receiver".
    fn may_use_ccid(&self) -> bool {
        self.features.is_settled(Owner::Local, Feature::Ccid)
            && (self.send_ccid != Ccid::TcpLike
                || self.features.is_on(Owner::Remote, Feature::SendAckVector))
    }

    /// The congestion controls that both ends have agreed on take over.
    fn install_ccids(&mut self, now: Time) {
        let value = |owner| Ccid::of(self.features.value(owner, Feature::Ccid));
        let is_settled = |owner| self.features.is_settled(owner, Feature::Ccid);
        if let Some(ccid) = value(Owner::Local).filter(|_| is_settled(Owner::Local))
            && ccid != self.send_ccid
        {
            self.send_ccid = ccid;
            let packet_size = self.datagram_len_max();
            self.sender = sender(now, ccid, &self.config, packet_size);
            if let Some(rtt) = self.handshake_rtt {
                self.sender.on_rtt(now, rtt);
            }
        }
        if let Some(ccid) = value(Owner::Remote).filter(|_| is_settled(Owner::Remote))
            && ccid != self.receive_ccid
        {
            self.receive_ccid = ccid;
            self.receiver = receiver(ccid);
        }
        let ack_ratio = self.features.value(Owner::Remote, Feature::AckRatio);
        self.receiver.on_ack_ratio(ack_ratio);
        self.want_what_ccids_need();
    }

    fn end(&mut self, now: Time, reason: CloseReason, waits: bool) {
        self.outgoing.clear();
        self.outgoing_len = 0;
        self.was_full = false;
        let until = now + self.config.segment_lifetime * 2;
        self.state = if waits { State::TimeWait { until } } else { State::Closed };
        self.events.push_back(Event::Closed(reason));
    }

    /// Ends the connection because the peer broke a rule, and tells it.
    fn reset(&mut self, now: Time, code: ResetCode, details: [u8; 3], reason: CloseReason) {
        // What else waited to be said is of no use to anyone.
        self.replies.clear();
        let acknowledgement = self.numbers.greatest_received();
        self.replies.push_back(Reply::Reset { acknowledgement, code, details });
        self.end(now, reason, false);
    }

    fn reply(&mut self, reply: Reply) {
        if self.replies.len() < REPLIES_MAX {
            self.replies.push_back(reply);
        }
    }

    /// The codepoint of what we send.
    pub(crate) fn ecn(&self) -> Option<Ecn> {
        // RFC 4340 section 12.1: "If the ECN Incapable/A feature is one, then all of DCCP B's
        // packets MUST be sent as ECN incapable." RFC 8311 section 6: "such DCCP senders MUST set
        // the ECT(0) codepoint."
        (!self.features.is_on(Owner::Remote, Feature::EcnIncapable)).then_some(Ecn::Ect0)
    }
}

fn packet_size(config: &Config, flow: Flow, encapsulation: Encapsulation) -> usize {
    config.packet_payload(encapsulation, flow.path.remote.is_ipv4())
}

fn sender(now: Time, ccid: Ccid, config: &Config, packet_size: usize) -> Box<dyn HcSender> {
    match ccid {
        Ccid::TcpLike => Box::new(Ccid2Sender::new(packet_size)),
        Ccid::Tfrc => {
            let control = RateControlConfig {
                packet_size: config.packet_size,
                packet_size_max: packet_size,
                oscillation_reduction: config.oscillation_reduction,
                first_rate: config.first_rate,
                faster_restart: config.faster_restart,
            };
            Box::new(Ccid3Sender::new(now, control))
        }
    }
}

fn receiver(ccid: Ccid) -> Box<dyn HcReceiver> {
    match ccid {
        Ccid::TcpLike => Box::new(Ccid2Receiver::new(Feature::AckRatio.initial())),
        Ccid::Tfrc => Box::new(Ccid3Receiver::new()),
    }
}

/// RFC 4340 section 7.2: initial sequence numbers that nobody can guess. Of 48 random bits, those
/// of an earlier connection between the same ports overlap with a probability of 2^-30.
pub(crate) fn initial_number(rng: &mut Rng) -> SequenceNumber {
    SequenceNumber::new(rng.next_u64())
}
