//! Setting an association up (RFC 9260 section 5).

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anabranch_sansio::{FourTuple, Rng, Time};
use anabranch_wire::{
    CookieAck, CookieEcho, ErrorCause, ErrorCauses, ErrorChunk, Init, InitAck, Parameter,
    Parameters, Tsn, VerificationTag,
};

use super::control::{Bundling, ControlQueue};
use super::transfer::Window;
use super::{Association, Identity, State};
use crate::config::AssociationConfig;
use crate::event::{CloseReason, Event};
use crate::handshake::{Announcement, Cookie, Refusal, SupportedExtensions, encode_parameters};
use crate::path::{PathId, PathSet, PathState, pair_addresses};
use crate::receive::Receiver;
use crate::send::{MessageQueue, Outstanding};
use crate::stats::AssociationStats;

/// How much longer than the measured round trip a cookie shall live after one was stale (RFC 9260
/// section 5.2.6: "SHOULD add no more than 1 second beyond the measured RTT").
const COOKIE_LIFE_EXTRA: Duration = Duration::from_secs(1);

/// We sent INIT and wait for INIT ACK.
#[derive(Debug)]
pub(super) struct CookieWait {
    t1_init: T1,
    initial_tsn: Tsn,
    cookie_preservative_ms: Option<u32>,
}

/// We sent COOKIE ECHO and wait for COOKIE ACK.
#[derive(Debug)]
pub(super) struct CookieEchoed {
    t1_cookie: T1,
    initial_tsn: Tsn,
    cookie: Vec<u8>,
    sent_at: Time,
    /// Unrecognized parameters of the INIT ACK, to be reported.
    unrecognized: Vec<u8>,
}

/// The timer T1-init or T1-cookie.
#[derive(Debug, Clone, Copy)]
struct T1 {
    at: Time,
    rto: Duration,
    retransmissions: u32,
}

impl T1 {
    fn start(now: Time, config: &AssociationConfig) -> Self {
        Self { at: now + config.rto_initial, rto: config.rto_initial, retransmissions: 0 }
    }

    /// RFC 9260 section 4: "If the T1-init timer expires, the endpoint MUST retransmit the INIT
    /// chunk and restart the T1-init timer without changing state. This MUST be repeated up to
    /// 'Max.Init.Retransmits' times." False when that is exhausted.
    fn restart(&mut self, now: Time, config: &AssociationConfig) -> bool {
        self.retransmissions += 1;
        self.rto = (self.rto * 2).min(config.rto_max);
        self.at = now + self.rto;
        self.retransmissions <= config.max_init_retransmits
    }
}

/// The tags of an association, as a cookie repeats them (RFC 9260 section 5.2.2).
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TieTags {
    pub(crate) local: VerificationTag,
    pub(crate) peer: VerificationTag,
}

/// RFC 9260 section 5.2.4, table 12.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum CookieEchoCase {
    /// A: the peer restarted.
    Restart,
    /// B: both sides called each other.
    Collision,
    /// C, and what the table does not show: discard.
    Discard,
    /// D: our COOKIE ACK was lost, or a collision that was solved already.
    Duplicate,
}

impl Association {
    /// Begins an association: INIT goes out on the first path.
    pub(crate) fn connect(
        now: Time,
        config: AssociationConfig,
        identity: Identity,
        paths: &[FourTuple],
        mut rng: Rng,
    ) -> Self {
        let initial_tsn = Tsn(rng.next_u32());
        let locals = paths.iter().map(|tuple| tuple.local).collect();
        // RFC 9260 section 5.4, rule 1: "Any addresses passed to the sender of the INIT chunk by its
        // upper layer in the request to initialize an association are automatically considered to
        // be CONFIRMED."
        let mut association = Self::new(
            config,
            identity,
            paths[0],
            locals,
            initial_tsn,
            SupportedExtensions { forward_tsn: true },
            rng,
        );
        for &tuple in &paths[1..] {
            let config = &association.config;
            association.paths.add(tuple, PathState::Active, config);
        }
        let t1_init = T1::start(now, &association.config);
        association.state =
            State::CookieWait(CookieWait { t1_init, initial_tsn, cookie_preservative_ms: None });
        association.send_init(PathId(0));
        association
    }

    /// An association as the listener's cookie describes it, established.
    pub(crate) fn accept(
        now: Time,
        config: AssociationConfig,
        cookie: &Cookie,
        tuple: FourTuple,
        locals: Vec<SocketAddr>,
        rng: Rng,
    ) -> Self {
        let identity = Identity {
            local_port: cookie.local_port,
            peer_port: cookie.peer_port,
            local_tag: cookie.local_tag,
            peer_tag: cookie.peer_tag,
        };
        let mut association = Self::new(
            config,
            identity,
            tuple,
            locals,
            cookie.local_initial_tsn,
            cookie.extensions,
            rng,
        );
        association.take_cookie(cookie);
        association.add_announced_paths(&cookie.peer_addresses);
        association.establish(now, true);
        association.send_cookie_ack(PathId(0));
        association
    }

    fn new(
        config: AssociationConfig,
        identity: Identity,
        first: FourTuple,
        locals: Vec<SocketAddr>,
        initial_tsn: Tsn,
        extensions: SupportedExtensions,
        rng: Rng,
    ) -> Self {
        let pmdcs = config.packet_size_max() - anabranch_wire::CommonHeader::LEN;
        let queue = MessageQueue::new(
            config.outbound_streams,
            config.send_buffer,
            config.message_size_max,
            config.scheduler,
        );
        let partial_reliability = extensions.forward_tsn && config.partial_reliability;
        Self {
            identity,
            state: State::Closed,
            rng,
            locals,
            paths: PathSet::new(first, PathState::Active, &config, pmdcs),
            queue,
            outstanding: Outstanding::new(initial_tsn, partial_reliability),
            window: Window::default(),
            receiver: None,
            sack_timer: None,
            sack_path: PathId(0),
            control: ControlQueue::default(),
            events: std::collections::VecDeque::new(),
            readable_said: false,
            error_count: 0,
            stats: AssociationStats::default(),
            trace: std::collections::VecDeque::new(),
            gap_blocks: Vec::new(),
            config,
        }
    }

    /// What we offer.
    fn own_extensions(&self) -> SupportedExtensions {
        SupportedExtensions { forward_tsn: self.config.partial_reliability }
    }

    fn own_addresses(&self) -> Vec<IpAddr> {
        let mut addresses: Vec<IpAddr> = Vec::new();
        for local in &self.locals {
            if !local.ip().is_unspecified() && !addresses.contains(&local.ip()) {
                addresses.push(local.ip());
            }
        }
        addresses
    }

    fn send_init(&mut self, path: PathId) {
        let State::CookieWait(wait) = &self.state else { return };
        let mut parameters = encode_parameters(&self.own_addresses(), self.own_extensions());
        if let Some(increment_ms) = wait.cookie_preservative_ms {
            Parameter::CookiePreservative { increment_ms }.encode(&mut parameters);
        }
        let init = Init {
            initiate_tag: self.identity.local_tag,
            a_rwnd: u32::try_from(self.config.receive_buffer).unwrap_or(u32::MAX),
            outbound_streams: self.config.outbound_streams.max(1),
            inbound_streams: self.config.inbound_streams_max.max(1),
            initial_tsn: wait.initial_tsn,
            parameters: Parameters::from_bytes(&parameters),
        };
        // RFC 9260 section 8.5.1, A: "The sender MUST set the Verification Tag of the packet to 0."
        self.queue_control(path, Bundling::Alone(VerificationTag(0)), &init);
    }

    pub(super) fn on_init_ack(&mut self, now: Time, path: PathId, init_ack: &InitAck<'_>) {
        // RFC 9260 section 5.2.3: "If an INIT ACK chunk is received by an endpoint in any state
        // other than the COOKIE-WAIT or CLOSED state, the endpoint SHOULD discard the INIT ACK
        // chunk."
        let State::CookieWait(wait) = &self.state else { return };
        let initial_tsn = wait.initial_tsn;
        let announcement = match Announcement::read(&as_init(init_ack)) {
            Ok(announcement) => announcement,
            Err(refusal) => return self.refuse_init_ack(path, init_ack.initiate_tag, &refusal),
        };
        let Some(cookie) = announcement.cookie.clone() else {
            let missing = [anabranch_wire::ParameterType::STATE_COOKIE];
            self.identity.peer_tag = announcement.tag;
            let missing = anabranch_wire::Items::from_slice(&missing);
            let cause = ErrorCause::MissingMandatoryParameter { missing };
            return self.abort_for(&cause, "its INIT ACK has no State Cookie");
        };
        self.identity.peer_tag = announcement.tag;
        self.take_announcement(&announcement);
        self.add_announced_paths(&announcement.addresses);
        self.state = State::CookieEchoed(CookieEchoed {
            t1_cookie: T1::start(now, &self.config),
            initial_tsn,
            cookie,
            sent_at: now,
            unrecognized: announcement.unrecognized,
        });
        self.send_cookie_echo(now, path);
    }

    /// RFC 9260 section 3.3.3: "If the value of the Initiate Tag in a received INIT ACK chunk is
    /// found to be 0, the receiver MUST destroy the association discarding its TCB. The receiver MAY
    /// send an ABORT chunk for debugging purpose."
    fn refuse_init_ack(&mut self, path: PathId, tag: VerificationTag, refusal: &Refusal) {
        let what = format!("its INIT ACK cannot be used: {refusal}");
        let mut causes = Vec::new();
        refusal_cause(refusal, &mut causes);
        if tag.0 != 0 {
            self.identity.peer_tag = tag;
            self.send_abort(path, &causes);
        }
        self.close(CloseReason::PeerMisbehaved { what });
    }

    fn send_cookie_echo(&mut self, now: Time, path: PathId) {
        let State::CookieEchoed(echoed) = &mut self.state else { return };
        echoed.sent_at = now;
        let echo = CookieEcho { cookie: &echoed.cookie };
        let mut taken = self.control.push(path, Bundling::Bundled, &echo);
        if !echoed.unrecognized.is_empty() {
            let mut causes = Vec::new();
            ErrorCause::UnrecognizedParameters(&echoed.unrecognized).encode(&mut causes);
            let error = ErrorChunk { causes: ErrorCauses::from_bytes(&causes) };
            taken &= self.control.push(path, Bundling::Bundled, &error);
        }
        self.stats.control_dropped += u64::from(!taken);
    }

    pub(super) fn on_cookie_ack(&mut self, now: Time) {
        // RFC 9260 section 5.2.5: "At any state other than COOKIE-ECHOED, an endpoint SHOULD
        // silently discard a received COOKIE ACK chunk."
        if matches!(self.state, State::CookieEchoed(_)) {
            self.establish(now, false);
        }
    }

    /// Enters ESTABLISHED and begins to watch the paths.
    fn establish(&mut self, now: Time, incoming: bool) {
        self.state = State::Established;
        self.error_count = 0;
        let partial_reliability = self.outstanding.is_partially_reliable();
        let outbound_streams = self.queue.stream_count();
        self.events.push_back(Event::Connected { incoming, outbound_streams, partial_reliability });
        for path in self.paths.ids() {
            self.start_heartbeats(now, path);
        }
    }

    /// RFC 9260 section 5.2.6: a stale cookie is followed by a new INIT that asks for a longer life.
    pub(super) fn on_stale_cookie(&mut self, now: Time, measure_us: u32) {
        let State::CookieEchoed(echoed) = &self.state else { return };
        let round_trip = now - echoed.sent_at;
        let staleness = Duration::from_micros(u64::from(measure_us));
        let increment = round_trip + staleness.min(round_trip) + COOKIE_LIFE_EXTRA;
        let retransmissions = echoed.t1_cookie.retransmissions + 1;
        if retransmissions > self.config.max_init_retransmits {
            return self.close(CloseReason::HandshakeTimeout);
        }
        let mut t1_init = T1::start(now, &self.config);
        t1_init.retransmissions = retransmissions;
        self.state = State::CookieWait(CookieWait {
            t1_init,
            initial_tsn: echoed.initial_tsn,
            cookie_preservative_ms: u32::try_from(increment.as_millis()).ok(),
        });
        self.control.clear();
        self.send_init(self.paths.primary());
    }

    pub(super) fn handshake_timer(&self) -> Option<Time> {
        match &self.state {
            State::CookieWait(wait) => Some(wait.t1_init.at),
            State::CookieEchoed(echoed) => Some(echoed.t1_cookie.at),
            State::Established
            | State::ShutdownPending
            | State::ShutdownSent(_)
            | State::ShutdownReceived
            | State::ShutdownAckSent(_)
            | State::Closed => None,
        }
    }

    pub(super) fn on_handshake_timer(&mut self, now: Time) {
        if self.handshake_timer().is_none_or(|at| at > now) {
            return;
        }
        let (again, retransmissions) = match &mut self.state {
            State::CookieWait(CookieWait { t1_init: t1, .. })
            | State::CookieEchoed(CookieEchoed { t1_cookie: t1, .. }) => {
                (t1.restart(now, &self.config), t1.retransmissions)
            }
            State::Established
            | State::ShutdownPending
            | State::ShutdownSent(_)
            | State::ShutdownReceived
            | State::ShutdownAckSent(_)
            | State::Closed => return,
        };
        if !again {
            return self.close(CloseReason::HandshakeTimeout);
        }
        // A path may be dead from the start: each attempt takes the next one.
        let path = PathId((retransmissions as usize % self.paths.confirmed_prefix()) as u8);
        if matches!(self.state, State::CookieWait(_)) {
            self.send_init(path);
        } else {
            self.send_cookie_echo(now, path);
        }
    }

    /// The answer to an INIT that belongs to this association: our INIT ACK's fields and the tie
    /// tags for its cookie.
    ///
    /// RFC 9260 section 5.2.1: "Upon receipt of an INIT chunk in the COOKIE-WAIT state, an endpoint
    /// MUST respond with an INIT ACK chunk using the same parameters it sent in its original INIT
    /// chunk (including its Initiate Tag, unchanged)"; section 5.2.2: in later states "the INIT ACK
    /// chunk MUST contain a new Initiate Tag".
    pub(crate) fn init_collision(&self) -> (Option<(VerificationTag, Tsn)>, TieTags) {
        let none = TieTags { local: VerificationTag(0), peer: VerificationTag(0) };
        let tie_tags = TieTags { local: self.identity.local_tag, peer: self.identity.peer_tag };
        match &self.state {
            State::CookieWait(wait) => (Some((self.identity.local_tag, wait.initial_tsn)), none),
            State::CookieEchoed(echoed) => {
                (Some((self.identity.local_tag, echoed.initial_tsn)), tie_tags)
            }
            State::Established
            | State::ShutdownPending
            | State::ShutdownSent(_)
            | State::ShutdownReceived
            | State::ShutdownAckSent(_)
            | State::Closed => (None, tie_tags),
        }
    }

    /// The addresses of an INIT that this association does not have (RFC 9260 section 5.2.2: "the
    /// endpoint MUST check to see if the unexpected INIT chunk adds new addresses").
    pub(crate) fn new_addresses(&self, announced: &[IpAddr]) -> Vec<IpAddr> {
        if matches!(self.state, State::CookieWait(_)) {
            return Vec::new();
        }
        let known = |address: &IpAddr| self.paths.iter().any(|p| p.tuple.remote.ip() == *address);
        announced.iter().copied().filter(|address| !known(address)).collect()
    }

    /// Which row of table 12 a cookie for this association falls into.
    pub(crate) fn cookie_echo_case(&self, cookie: &Cookie) -> CookieEchoCase {
        let local_matches = cookie.local_tag == self.identity.local_tag;
        let peer_matches = cookie.peer_tag == self.identity.peer_tag;
        let tie_tags = TieTags { local: cookie.local_tie_tag, peer: cookie.peer_tie_tag };
        let own = TieTags { local: self.identity.local_tag, peer: self.identity.peer_tag };
        match (local_matches, peer_matches) {
            (true, true) => CookieEchoCase::Duplicate,
            (true, false) => CookieEchoCase::Collision,
            (false, false) if tie_tags == own => CookieEchoCase::Restart,
            (false, _) => CookieEchoCase::Discard,
        }
    }

    /// Case D: enters ESTABLISHED if need be, and acknowledges.
    pub(crate) fn on_duplicate_cookie(&mut self, now: Time, tuple: FourTuple) {
        let Some(path) = self.arrival_path(now, tuple) else { return };
        if matches!(self.state, State::CookieEchoed(_)) {
            self.control.clear();
            self.establish(now, false);
        }
        self.send_cookie_ack(path);
    }

    /// Case B: takes the peer's tag and numbers from the cookie.
    pub(crate) fn on_collision(&mut self, now: Time, cookie: &Cookie, tuple: FourTuple) {
        let handshaking = matches!(self.state, State::CookieWait(_) | State::CookieEchoed(_));
        let Some(path) = self.arrival_path(now, tuple) else { return };
        self.identity.peer_tag = cookie.peer_tag;
        if handshaking {
            self.take_cookie(cookie);
            self.add_announced_paths(&cookie.peer_addresses);
            self.control.clear();
            self.establish(now, false);
        }
        self.send_cookie_ack(path);
    }

    /// Case A: the peer restarted. Returns false in SHUTDOWN-ACK-SENT, where no new association is
    /// set up.
    pub(crate) fn on_restart(&mut self, now: Time, cookie: &Cookie, tuple: FourTuple) -> bool {
        let Some(path) = self.arrival_path(now, tuple) else { return false };
        if matches!(self.state, State::ShutdownAckSent(_)) {
            self.resend_shutdown_ack(path);
            let mut causes = Vec::new();
            ErrorCause::CookieReceivedWhileShuttingDown.encode(&mut causes);
            let error = ErrorChunk { causes: ErrorCauses::from_bytes(&causes) };
            self.queue_control(path, Bundling::Bundled, &error);
            return false;
        }
        self.identity.local_tag = cookie.local_tag;
        self.identity.peer_tag = cookie.peer_tag;
        let partial = cookie.extensions.forward_tsn && self.config.partial_reliability;
        self.outstanding = Outstanding::new(cookie.local_initial_tsn, partial);
        self.queue.restart();
        self.control.clear();
        self.sack_timer = None;
        self.readable_said = false;
        let pmdcs = self.config.packet_size_max() - anabranch_wire::CommonHeader::LEN;
        for path in self.paths.iter_mut() {
            path.reset(&self.config, pmdcs);
        }
        self.take_cookie(cookie);
        self.state = State::Established;
        self.error_count = 0;
        self.events.push_back(Event::Restarted);
        for path in self.paths.ids() {
            self.start_heartbeats(now, path);
        }
        self.send_cookie_ack(path);
        true
    }

    fn send_cookie_ack(&mut self, path: PathId) {
        self.queue_control(path, Bundling::Bundled, &CookieAck);
    }

    fn take_cookie(&mut self, cookie: &Cookie) {
        self.take_peer_limits(
            cookie.peer_initial_tsn,
            cookie.peer_a_rwnd,
            cookie.peer_outbound_streams,
            cookie.peer_inbound_streams,
            cookie.extensions,
        );
    }

    fn take_announcement(&mut self, announcement: &Announcement) {
        self.take_peer_limits(
            announcement.initial_tsn,
            announcement.a_rwnd,
            announcement.outbound_streams,
            announcement.inbound_streams,
            announcement.extensions,
        );
    }

    fn take_peer_limits(
        &mut self,
        initial_tsn: Tsn,
        a_rwnd: u32,
        peer_outbound: u16,
        peer_inbound: u16,
        extensions: SupportedExtensions,
    ) {
        let inbound = peer_outbound.min(self.config.inbound_streams_max.max(1));
        self.receiver = Some(Receiver::new(
            initial_tsn,
            inbound,
            self.config.receive_buffer,
            self.config.message_size_max,
        ));
        self.window = Window::announced(a_rwnd as usize);
        let lost = self.queue.limit_streams(peer_inbound);
        self.stats.streams.abandoned_unsent += lost as u64;
        let partial = extensions.forward_tsn && self.config.partial_reliability;
        self.outstanding.set_partial_reliability(partial);
    }

    /// Adds the paths that the peer's addresses make with ours (RFC 9260 section 5.1.2, C).
    fn add_announced_paths(&mut self, addresses: &[IpAddr]) {
        let known: Vec<FourTuple> = self.paths.iter().map(|path| path.tuple).collect();
        for tuple in pair_addresses(&known, &self.locals, addresses) {
            if let Some(path) = self.paths.add(tuple, PathState::Unconfirmed, &self.config) {
                self.events.push_back(Event::PathAdded { path, tuple });
            }
        }
    }

    /// The path that a packet came over, made known if it is new.
    ///
    /// The packet had our verification tag, which only the peer knows. RFC 6951 section 4: the
    /// peer's encapsulation port is learned from its packets; a NAT may give it another one, and two
    /// interfaces of a peer may share an address behind it.
    pub(super) fn arrival_path(&mut self, now: Time, tuple: FourTuple) -> Option<PathId> {
        self.paths.find(tuple).or_else(|| self.add_path(now, tuple))
    }

    /// Adds a path that gets heartbeats until one was answered.
    pub(super) fn add_path(&mut self, now: Time, tuple: FourTuple) -> Option<PathId> {
        let known = self.paths.len();
        let path = self.paths.add(tuple, PathState::Unconfirmed, &self.config)?;
        if self.paths.len() > known {
            self.events.push_back(Event::PathAdded { path, tuple });
            if self.is_established() {
                self.start_heartbeats(now, path);
            }
        }
        Some(path)
    }
}

/// An INIT ACK has the fields of an INIT.
const fn as_init<'a>(init_ack: &InitAck<'a>) -> Init<'a> {
    Init {
        initiate_tag: init_ack.initiate_tag,
        a_rwnd: init_ack.a_rwnd,
        outbound_streams: init_ack.outbound_streams,
        inbound_streams: init_ack.inbound_streams,
        initial_tsn: init_ack.initial_tsn,
        parameters: init_ack.parameters,
    }
}

/// The error cause that tells a peer why its INIT or INIT ACK was refused.
pub(crate) fn refusal_cause(refusal: &Refusal, causes: &mut Vec<u8>) {
    match refusal {
        Refusal::HostName { parameter } => {
            ErrorCause::UnresolvableAddress(parameter).encode(causes);
        }
        Refusal::ZeroTag | Refusal::NoStreams { .. } => {
            ErrorCause::InvalidMandatoryParameter.encode(causes);
        }
        Refusal::Malformed(error) => {
            ErrorCause::ProtocolViolation(error.to_string().as_bytes()).encode(causes);
        }
    }
}
