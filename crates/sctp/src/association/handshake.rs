//! Setting an association up (RFC 9260 section 5).

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_sansio::{FourTuple, Rng, Time};
use anabranch_wire::{
    Abort, ChunkType, CookieAck, CookieEcho, ErrorCause, ErrorCauses, ErrorChunk, Heartbeat, Init,
    InitAck, Items, Parameter, Parameters, Tsn, VerificationTag,
};

use super::control::{Bundling, ControlQueue};
use super::readdressing::Readdressing;
use super::rebinding::Silence;
use super::reconfiguration::Reconfiguration;
use super::restart::LostAssociation;
use super::{Association, Identity, State};
use crate::authentication::RANDOM_LEN;
use crate::config::{AssociationConfig, TimerConfig};
use crate::dtls::{Disagreement, Encryption, KeyOffer};
use crate::event::{CloseReason, Event};
use crate::extensions::SupportedExtensions;
use crate::handshake::{Announcement, Cookie, Refusal, TieTags, encode_parameters, pad_init};
use crate::journal::Journal;
use crate::path::Origin;
use crate::path_name::{PathSlot, PathState};
use crate::receive::Receiver;
use crate::send::LossDetection;
use crate::sender::DataSender;
use crate::sequence::tsn;

/// How much longer than the measured round trip a cookie shall live after one was stale.
const COOKIE_LIFE_EXTRA: Duration = Duration::from_secs(1);

/// We sent INIT and wait for INIT ACK.
#[derive(Debug)]
pub(super) struct CookieWait {
    t1_init: T1,
    sent_at: Time,
    pub(super) initial_tsn: Tsn,
    stale_cookies: u32,
    cookie_preservative_ms: Option<u32>,
    /// Whether the user wants the association to end once what was handed over is delivered.
    pub(super) shuts_down: bool,
}

/// We sent COOKIE ECHO and wait for COOKIE ACK.
#[derive(Debug)]
pub(super) struct CookieEchoed {
    t1_cookie: T1,
    pub(super) initial_tsn: Tsn,
    stale_cookies: u32,
    cookie: Vec<u8>,
    sent_at: Time,
    /// Unrecognized parameters of the INIT ACK, to be reported.
    unrecognized: Vec<u8>,
    /// As in [`CookieWait`].
    pub(super) shuts_down: bool,
}

/// The timer T1-init or T1-cookie.
#[derive(Debug, Clone, Copy)]
struct T1 {
    at: Time,
    rto: Duration,
    retransmissions: u32,
    /// Where the chunk went last.
    path: PathSlot,
}

impl T1 {
    fn start(now: Time, path: PathSlot, rto: Duration) -> Self {
        Self { at: now + rto, rto, retransmissions: 0, path }
    }

    /// RFC 9260 section 4: "If the T1-init timer expires, the endpoint MUST retransmit the INIT
    /// chunk and restart the T1-init timer. The endpoint stays in the COOKIE-WAIT state. This MUST
    /// be repeated up to 'Max.Init.Retransmits' times." False when that is exhausted.
    fn restart(&mut self, now: Time, paths: usize, config: &AssociationConfig) -> bool {
        self.retransmissions += 1;
        if self.retransmissions > config.timers.t1_steady {
            self.rto = self.rto.saturating_mul(2).min(config.timers.rto_max);
        }
        self.at = now + self.rto;
        // RFC 9260 section 5.1: "Retransmissions of INIT chunks and COOKIE ECHO chunks SHOULD use
        // all addresses of the peer similar to retransmissions of DATA chunks."
        self.path = PathSlot(((self.path.index() + 1) % paths) as u8);
        self.retransmissions <= config.recovery.max_init_retransmits
    }
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
        // RFC 9260 section 5.4, rule 1: "Any addresses passed to the sender of the INIT chunk by
        // its upper layer in the request to initialize an association are automatically considered
        // to be CONFIRMED."
        let mut association = Self::new(
            config,
            identity,
            (paths[0], Origin::User),
            locals,
            initial_tsn,
            SupportedExtensions::BEFORE_THE_PEER_TOLD,
            rng,
        );
        for &tuple in &paths[1..] {
            if association.sender.paths.find(tuple).is_none() {
                let path = (tuple, Origin::User);
                let Self { sender, config, rng, .. } = &mut association;
                sender.paths.add(path, PathState::Active, config, rng);
            }
        }
        if association.config.extensions.authentication.is_some() {
            association.rng.fill(&mut association.random);
        }
        let Self { config, rng, key_offer, lost, .. } = &mut association;
        if let Some(Encryption { keys, .. }) = &config.extensions.encryption {
            let offer = KeyOffer::of_caller(keys.method(), rng);
            *key_offer = Some(offer.restarting(keys.restarts()));
            *lost = keys.take_restart().map(LostAssociation::new);
        }
        let t1_init = T1::start(now, PathSlot(0), association.config.timers.t1_initial);
        association.state = State::CookieWait(CookieWait {
            t1_init,
            sent_at: now,
            initial_tsn,
            stale_cookies: 0,
            cookie_preservative_ms: None,
            shuts_down: false,
        });
        association.send_init(PathSlot(0));
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
        // RFC 9260 section 5.4, rule 2: "For the receiver of the COOKIE ECHO chunk, the only
        // CONFIRMED address is the address to which the packet containing the INIT ACK chunk was
        // sent."
        let mut association = Self::new(
            config,
            identity,
            (cookie.path, Origin::Peer),
            locals,
            cookie.local_initial_tsn,
            cookie.extensions,
            rng,
        );
        association.take_cookie(cookie);
        let path = association.arrival_path(now, tuple);
        association.add_announced_paths(&cookie.peer_addresses);
        association.establish(now, true);
        association.send_cookie_ack(now, path);
        association
    }

    fn new(
        config: AssociationConfig,
        identity: Identity,
        first: (FourTuple, Origin),
        locals: Vec<SocketAddr>,
        initial_tsn: Tsn,
        extensions: SupportedExtensions,
        mut rng: Rng,
    ) -> Self {
        let shared = SupportedExtensions::of(&config).shared(extensions);
        let tie_tags = TieTags::random(&mut rng);
        let sender = DataSender::new(&config, first, initial_tsn, shared, &mut rng);
        Self {
            identity,
            state: State::Closed,
            tie_tags,
            rng,
            random: [0; RANDOM_LEN],
            keys: None,
            key_offer: None,
            encrypted: None,
            lost: None,
            plaintext: Vec::new(),
            locals,
            announced: Vec::new(),
            sender,
            receiver: None,
            sack_path: PathSlot(0),
            silence: Silence::default(),
            control: ControlQueue::default(),
            reconfiguration: Reconfiguration::new(false, initial_tsn, Tsn(0)),
            readdressing: Readdressing::new(false, initial_tsn, Tsn(0)),
            readable_reported: false,
            is_dry_awaited: false,
            path_mtu_base: config.paths.path_mtu,
            journal: Journal::new(config.trace_events_max),
            config,
        }
    }

    fn send_init(&mut self, path: PathSlot) {
        let State::CookieWait(wait) = &self.state else { return };
        let addresses = self.own_addresses();
        let mut parameters =
            encode_parameters(&addresses, &self.config, self.random, self.key_offer.as_ref());
        pad_init(&mut parameters, addresses.len(), &self.config);
        if let Some(increment_ms) = wait.cookie_preservative_ms {
            Parameter::CookiePreservative { increment_ms }.encode(&mut parameters);
        }
        let init = Init {
            initiate_tag: self.identity.local_tag,
            a_rwnd: self.config.a_rwnd(),
            outbound_streams: self.config.streams.outbound_streams.max(1),
            inbound_streams: self.config.streams.inbound_streams_max.max(1),
            initial_tsn: wait.initial_tsn,
            parameters: Parameters::from_bytes(&parameters),
        };
        // RFC 9260 section 8.5.1, A: "The sender MUST set the Verification Tag of the packet to 0."
        self.queue_control(path, Bundling::Alone(VerificationTag(0)), &init);
    }

    pub(super) fn on_init_ack(&mut self, now: Time, path: PathSlot, init_ack: &InitAck<'_>) {
        // RFC 9260 section 5.2.3: "If an INIT ACK chunk is received by an endpoint in any state
        // other than the COOKIE-WAIT or CLOSED state, the endpoint SHOULD discard the INIT ACK
        // chunk."
        let State::CookieWait(wait) = &self.state else { return };
        let CookieWait { initial_tsn, stale_cookies, shuts_down, .. } = *wait;
        let T1 { path: asked, retransmissions, .. } = wait.t1_init;
        let round_trip = now - wait.sent_at;
        let announcement = match Announcement::read(&as_init(init_ack)) {
            Ok(announcement) => announcement,
            Err(refusal) => return self.refuse_init_ack(path, init_ack.initiate_tag, &refusal),
        };
        let peer = match announcement.authentication(self.config.extensions.authentication.as_ref())
        {
            Ok(peer) => peer,
            Err(refusal) => return self.refuse_init_ack(path, init_ack.initiate_tag, &refusal),
        };
        let encryption = self.config.extensions.encryption.as_ref();
        let agreed = match announcement.encryption(encryption, self.key_offer.as_ref()) {
            Ok(agreed) => agreed,
            Err(refusal) => return self.refuse_init_ack(path, init_ack.initiate_tag, &refusal),
        };
        let Some(cookie) = announcement.cookie.clone() else {
            let missing = [anabranch_wire::ParameterType::STATE_COOKIE];
            self.identity.peer_tag = announcement.tag;
            let missing = anabranch_wire::Items::from_slice(&missing);
            let cause = ErrorCause::MissingMandatoryParameter { missing };
            return self.abort_for(&cause, "its INIT ACK has no State Cookie");
        };
        if let Some(authentication) = &mut self.config.extensions.authentication
            && authentication.needs_salt()
        {
            match announcement.salt {
                Some(salt) => authentication.take_salt(&salt),
                None => return self.refuse_init_ack(path, announcement.tag, &Refusal::NoSalt),
            }
        }
        self.identity.peer_tag = announcement.tag;
        self.take_agreement(agreed);
        self.restart_lost();
        let unrecognized = announcement.unrecognized_with(&self.config);
        self.take_announcement(&announcement);
        self.take_keys(self.random, peer.as_ref());
        self.add_announced_paths(&announcement.addresses);
        // An answer from elsewhere proves nothing about that path yet (RFC 9260 section 5.4).
        let path = if self.sender.paths.at(path).is_confirmed() { path } else { asked };
        self.on_path_success(now, path);
        if retransmissions == 0 && path == asked {
            self.measure_handshake(path, round_trip);
        }
        let rto = self.t1_cookie_rto(path);
        self.state = State::CookieEchoed(CookieEchoed {
            t1_cookie: T1::start(now, path, rto),
            initial_tsn,
            stale_cookies,
            cookie,
            sent_at: now,
            unrecognized,
            shuts_down,
        });
        self.send_cookie_echo(now, path);
    }

    /// What T1-cookie begins with.
    fn t1_cookie_rto(&self, path: PathSlot) -> Duration {
        let TimerConfig { t1_initial, t1_steady, .. } = self.config.timers;
        let rtt = &self.sender.paths.at(path).rtt;
        match rtt.srtt() {
            Some(_) if t1_steady > 0 => rtt.rto_of_handshake(t1_initial),
            Some(_) => rtt.rto(),
            None => t1_initial,
        }
    }

    /// RFC 9260 measures DATA and HEARTBEAT chunks only. Detection in time needs a round trip
    /// sooner: without one, the first tail that is lost waits for 'RTO.Initial'.
    fn measure_handshake(&mut self, path: PathSlot, round_trip: Duration) {
        if self.config.recovery.loss_detection == LossDetection::InTime {
            self.sender.paths.at_mut(path).rtt.on_sample(round_trip);
        }
    }

    /// RFC 9260 section 3.3.3: "If an endpoint in the COOKIE-WAIT state receives an INIT ACK chunk
    /// with the Initiate Tag set to 0, it MUST destroy the TCB and SHOULD send an ABORT chunk with
    /// the T bit set."
    fn refuse_init_ack(&mut self, path: PathSlot, tag: VerificationTag, refusal: &Refusal) {
        let what = format!("its INIT ACK cannot be used: {refusal}");
        let mut causes = Vec::new();
        refusal_cause(refusal, &mut causes);
        let tag_reflected = tag.0 == 0;
        let tag = if tag_reflected { self.identity.local_tag } else { tag };
        let abort = Abort { tag_reflected, causes: ErrorCauses::from_bytes(&causes) };
        self.control.clear();
        self.queue_control(self.reply_path(path), Bundling::Alone(tag), &abort);
        self.close(match refusal {
            Refusal::NotAuthenticated => CloseReason::PeerNotAuthenticated,
            Refusal::NotEncrypted => CloseReason::PeerNotEncrypted,
            Refusal::Keys(disagreement) => CloseReason::NoKeys { what: disagreement.to_string() },
            Refusal::ZeroTag
            | Refusal::NoStreams { .. }
            | Refusal::SmallWindow { .. }
            | Refusal::HostName { .. }
            | Refusal::AsconfWithoutAuthentication
            | Refusal::NoSalt
            | Refusal::Offer(_)
            | Refusal::Malformed(_) => CloseReason::PeerMisbehaved { what },
        });
    }

    /// RFC 9260 section 5.1, C: "The COOKIE ECHO chunk MAY be bundled with any pending outbound
    /// DATA chunks, but it MUST be the first chunk in the packet, and until the COOKIE ACK chunk is
    /// returned, the sender MUST NOT send any other packets to the peer."
    fn send_cookie_echo(&mut self, now: Time, path: PathSlot) {
        let lacks_proof = self.lacks_proof_behind_echo(ChunkType::ERROR);
        let State::CookieEchoed(echoed) = &mut self.state else { return };
        echoed.sent_at = now;
        let echo = CookieEcho { cookie: &echoed.cookie };
        let mut taken = self.control.push(path, Bundling::WithData, &echo);
        if !echoed.unrecognized.is_empty() && !lacks_proof {
            let mut causes = Vec::new();
            ErrorCause::UnrecognizedParameters(&echoed.unrecognized).encode(&mut causes);
            let error = ErrorChunk { causes: ErrorCauses::from_bytes(&causes) };
            taken &= self.control.push(path, Bundling::Bundled, &error);
        }
        self.journal.stats.control_dropped += u64::from(!taken);
    }

    pub(super) fn on_cookie_ack(&mut self, now: Time, path: PathSlot) {
        // RFC 9260 section 5.2.5: "At any state other than COOKIE-ECHOED, an endpoint SHOULD
        // silently discard a received COOKIE ACK chunk."
        let State::CookieEchoed(echoed) = &self.state else { return };
        let T1 { path: asked, retransmissions, .. } = echoed.t1_cookie;
        let round_trip = now - echoed.sent_at;
        if self.sender.paths.at(path).is_confirmed() {
            self.on_path_success(now, path);
        }
        if retransmissions == 0 && path == asked {
            self.measure_handshake(path, round_trip);
        }
        self.establish(now, false);
    }

    /// Enters ESTABLISHED and begins to watch the paths.
    pub(super) fn establish(&mut self, now: Time, incoming: bool) {
        let shuts_down = self.is_to_shut_down();
        self.state = State::Established;
        self.sender.clear_errors();
        if !self.awaits_keys() {
            self.tell_connected(incoming);
        }
        self.reselect_path();
        self.settle_timers(now);
        for path in self.sender.paths.ids() {
            self.start_heartbeats(now, path);
        }
        self.begin_keys(now, incoming);
        if shuts_down {
            self.shutdown(now);
        }
    }

    pub(super) fn tell_connected(&mut self, incoming: bool) {
        let partial_reliability = self.sender.extensions().partial_reliability();
        let outbound_streams = self.sender.queue().stream_count();
        self.journal.tell(Event::Connected { incoming, outbound_streams, partial_reliability });
    }

    /// Whether the user shut the association down before it was set up.
    pub(super) const fn is_to_shut_down(&self) -> bool {
        matches!(
            self.state,
            State::CookieWait(CookieWait { shuts_down: true, .. })
                | State::CookieEchoed(CookieEchoed { shuts_down: true, .. })
        )
    }

    /// A stale cookie is followed by a new INIT that asks for a longer life.
    ///
    /// RFC 9260 section 5.2.6: "When calculating the time extension, an implementation SHOULD use
    /// the RTT information measured based on the previous COOKIE ECHO/ERROR chunk exchange and
    /// SHOULD add no more than 1 second beyond the measured RTT".
    pub(super) fn on_stale_cookie(&mut self, now: Time) {
        let State::CookieEchoed(echoed) = &self.state else { return };
        let increment = now - echoed.sent_at + COOKIE_LIFE_EXTRA;
        let path = echoed.t1_cookie.path;
        let stale_cookies = echoed.stale_cookies + 1;
        if stale_cookies > self.config.recovery.max_init_retransmits {
            return self.close(CloseReason::HandshakeTimeout);
        }
        let t1_init = T1::start(now, path, self.config.timers.t1_initial);
        self.state = State::CookieWait(CookieWait {
            t1_init,
            sent_at: now,
            initial_tsn: echoed.initial_tsn,
            stale_cookies,
            cookie_preservative_ms: u32::try_from(increment.as_millis()).ok(),
            shuts_down: echoed.shuts_down,
        });
        self.identity.peer_tag = VerificationTag(0);
        self.keys = None;
        self.set_restart_aside();
        self.encrypted = None;
        self.control.clear();
        self.sender.take_back_data();
        self.send_init(path);
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
        let paths = self.sender.paths.confirmed_prefix();
        let (again, failed, path) = match &mut self.state {
            State::CookieWait(CookieWait { t1_init: t1, .. })
            | State::CookieEchoed(CookieEchoed { t1_cookie: t1, .. }) => {
                let failed = t1.path;
                (t1.restart(now, paths, &self.config), failed, t1.path)
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
        // A path may be dead from the start: data shall not have to find that out again.
        self.on_path_error(now, failed, false);
        if matches!(self.state, State::CookieWait(_)) {
            self.send_init(path);
        } else {
            self.sender.take_back_data();
            self.send_cookie_echo(now, path);
        }
    }

    /// RFC 9260 section 5.1: "the COOKIE ACK chunk MUST be the first chunk in the packet"; section
    /// 5.4: "A COOKIE ACK chunk MAY be sent to an UNCONFIRMED address, but it MUST be bundled with
    /// a HEARTBEAT chunk including a nonce."
    pub(super) fn send_cookie_ack(&mut self, now: Time, path: PathSlot) {
        if !self.sender.paths.at(path).is_confirmed() {
            let info = self.begin_heartbeat(now, path);
            self.control.push_first(path, &Heartbeat { info: &info });
        }
        self.control.push_first(path, &CookieAck);
    }

    pub(super) fn take_cookie(&mut self, cookie: &Cookie) {
        self.take_keys_of(cookie);
        self.take_agreement_of(cookie);
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
        let shared = SupportedExtensions::of(&self.config).shared(extensions);
        let inbound = peer_outbound.min(self.config.streams.inbound_streams_max.max(1));
        let mut receiver =
            Receiver::new(initial_tsn, inbound, self.config.buffer(), shared.data_format());
        if shared.cmt_delayed_ack {
            receiver.tracker.delay_in_gaps();
        }
        if self.encrypted.is_some() {
            receiver.expect_keys();
        }
        if shared.level_marks {
            receiver.read_marks();
        }
        if let Some(before) = self.receiver.take() {
            receiver.inherit(before);
        }
        self.receiver = Some(receiver);
        self.sender.take_limits(self.pmdcs(), a_rwnd as usize, peer_inbound, shared);
        let own_initial_tsn = tsn(self.sender.outstanding().cumulative_ack_point()).next();
        self.reconfiguration = Reconfiguration::new(shared.re_config, own_initial_tsn, initial_tsn);
        self.readdressing = Readdressing::new(shared.asconf, own_initial_tsn, initial_tsn);
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

/// The error cause that tells a peer that its key is not ours, or that it has none. RFC 5061
/// section 4.3.5 has it name what was refused by a parameter: here the chunk that lacked a proof.
pub(crate) fn no_authorization(causes: &mut Vec<u8>) {
    let mut refused = Vec::new();
    let types = [ChunkType::COOKIE_ECHO];
    Parameter::ChunkList(Items::from_slice(&types)).encode(&mut refused);
    ErrorCause::NoAuthorization(&refused).encode(causes);
}

/// The error cause that tells a peer why its INIT or INIT ACK was refused.
pub(crate) fn refusal_cause(refusal: &Refusal, causes: &mut Vec<u8>) {
    match refusal {
        Refusal::HostName { parameter } => {
            ErrorCause::UnresolvableAddress(parameter).encode(causes);
        }
        Refusal::ZeroTag | Refusal::NoStreams { .. } | Refusal::SmallWindow { .. } => {
            ErrorCause::InvalidMandatoryParameter.encode(causes);
        }
        Refusal::NotAuthenticated => no_authorization(causes),
        Refusal::NotEncrypted => ErrorCause::MissingDtlsChunkSupport.encode(causes),
        Refusal::Keys(Disagreement::Methods) => {
            ErrorCause::NoCommonDtlsKeyManagement.encode(causes);
        }
        Refusal::Keys(Disagreement::Roles) => ErrorCause::IncompatibleDtlsRoles.encode(causes),
        Refusal::Keys(Disagreement::TieBreakers) => {
            ErrorCause::DtlsTieBreakerCollision.encode(causes);
        }
        // RFC 4895 section 6.1: "The ABORT chunk SHOULD contain the error cause 'Protocol
        // Violation'."
        Refusal::AsconfWithoutAuthentication | Refusal::Offer(_) | Refusal::NoSalt => {
            ErrorCause::ProtocolViolation(refusal.to_string().as_bytes()).encode(causes);
        }
        Refusal::Malformed(error) => {
            ErrorCause::ProtocolViolation(error.to_string().as_bytes()).encode(causes);
        }
    }
}
