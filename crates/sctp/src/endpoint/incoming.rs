//! INIT, COOKIE ECHO and packets out of the blue: what an endpoint answers without an association.

use std::net::{IpAddr, SocketAddr};
use std::time::Duration;

use anabranch_sansio::FourTuple;
use anabranch_wire::{
    Abort, ChecksumField, Chunk, CommonHeader, CookieEcho, EncodeChunk, ErrorCause, ErrorCauses,
    ErrorChunk, Init, InitAck, Packet, PacketWriter, Parameter, Parameters, ShutdownComplete, Tsn,
    VerificationTag,
};

use super::{AssociationId, Endpoint, ports_of};
use crate::association::{
    Association, CookieEchoCase, InitAnswer, keys_of_cookie, no_authorization, refusal_cause,
};
use crate::authentication::{Authentication, RANDOM_LEN, Random};
use crate::config::IncomingCall;
use crate::dtls::{KeyOffer, Offers};
use crate::event::{RefusedCall, RefusedCallReason};
use crate::handshake::{Announcement, Cookie, CookieError, Refusal, TieTags, encode_parameters};

/// What a Cookie Preservative may add to a cookie's life.
pub(super) const COOKIE_PRESERVATIVE_MAX: Duration = Duration::from_secs(5);

/// Refused calls that wait for the user to read of them; more are only counted.
const REFUSED_CALLS_MAX: usize = 16;

impl Endpoint {
    /// RFC 9260 section 5.1: answers with INIT ACK and a signed cookie, and keeps no state.
    pub(super) fn on_init(&mut self, tuple: FourTuple, packet: &Packet<'_>, init: &Init<'_>) {
        // RFC 9260 section 8.5.1, A: "When an endpoint receives an SCTP packet with the
        // Verification Tag set to 0, it SHOULD verify that the packet contains only an INIT chunk.
        // Otherwise, the receiver MUST silently discard the packet."
        if packet.header.verification_tag.0 != 0 || packet.chunks().count() != 1 {
            self.stats.malformed += 1;
            return;
        }
        let announcement = match Announcement::read(init) {
            Ok(announcement) => announcement,
            Err(Refusal::ZeroTag) => {
                self.stats.malformed += 1;
                return;
            }
            Err(refusal) => {
                let mut causes = Vec::new();
                refusal_cause(&refusal, &mut causes);
                return self.refuse_init(tuple, packet, init.initiate_tag, &causes);
            }
        };
        match self.association_of_init(tuple, packet, &announcement) {
            Some(id) => self.on_init_of_known_peer(id, tuple, packet, &announcement),
            None => self.on_init_of_new_peer(tuple, packet, &announcement),
        }
    }

    /// RFC 9260 section 5.1.2, D: "An INIT or INIT ACK chunk MUST be treated as belonging to an
    /// already established association (or one in the process of being established) if the use of
    /// any of the valid address parameters contained within the chunk would identify an existing
    /// TCB."
    fn association_of_init(
        &self,
        tuple: FourTuple,
        packet: &Packet<'_>,
        announcement: &Announcement,
    ) -> Option<AssociationId> {
        let port = tuple.remote.port();
        let announced = announcement.addresses.iter().map(|ip| SocketAddr::new(*ip, port));
        let mut remotes = std::iter::once(tuple.remote).chain(announced);
        remotes.find_map(|remote| self.by_remote(remote, ports_of(packet)))
    }

    fn on_init_of_new_peer(
        &mut self,
        tuple: FourTuple,
        packet: &Packet<'_>,
        announcement: &Announcement,
    ) {
        if !self.config.accepts(&IncomingCall::new(tuple, ports_of(packet))) {
            return self.refuse_init(tuple, packet, announcement.tag, &[]);
        }
        if self.entries.len() >= self.config.associations_max {
            let mut causes = Vec::new();
            ErrorCause::OutOfResource.encode(&mut causes);
            return self.refuse_init(tuple, packet, announcement.tag, &causes);
        }
        let answer = InitAnswer {
            own: None,
            tie_tags: TieTags::NONE,
            config: self.config.association.clone(),
            addresses: self.announced_addresses(tuple),
            key_offer: None,
        };
        if let Err(refusal) = self.send_init_ack(tuple, packet, announcement, &answer) {
            self.refuse_call(tuple, packet, announcement.tag, &refusal);
        }
    }

    /// RFC 9260 sections 5.2.1 and 5.2.2.
    fn on_init_of_known_peer(
        &mut self,
        id: AssociationId,
        tuple: FourTuple,
        packet: &Packet<'_>,
        announcement: &Announcement,
    ) {
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let association = &mut entry.association;
        if association.answers_init_with_shutdown_ack() {
            return self.touch(id);
        }
        let added = association.new_addresses(tuple.remote.ip(), &announcement.addresses);
        if !added.is_empty() {
            let mut causes = Vec::new();
            let addresses = encode_addresses(&added);
            ErrorCause::RestartWithNewAddresses(&addresses).encode(&mut causes);
            return self.refuse_init(tuple, packet, announcement.tag, &causes);
        }
        let answer = association.answer_to_init();
        let reply_to = association.init_ack_path(tuple, &announcement.addresses);
        if let Err(refusal) = self.send_init_ack(reply_to, packet, announcement, &answer) {
            self.refuse_call(tuple, packet, announcement.tag, &refusal);
        }
    }

    fn send_init_ack(
        &mut self,
        tuple: FourTuple,
        packet: &Packet<'_>,
        announcement: &Announcement,
        answer: &InitAnswer,
    ) -> Result<(), Refusal> {
        let config = &answer.config;
        let peer = announcement.authentication(config.extensions.authentication.as_ref())?;
        let fresh = self.fresh_numbers(config.extensions.authentication.is_some());
        let (local_tag, local_initial_tsn, random) = answer.own.unwrap_or(fresh);
        let encryption = config.extensions.encryption.as_ref();
        let key_offer = encryption.map(|encryption| {
            let keys = &encryption.keys;
            let fresh = || {
                let offer = KeyOffer::of_listener(keys.method(), &mut self.rng);
                offer.restarting(keys.restarts())
            };
            answer.key_offer.clone().unwrap_or_else(fresh)
        });
        let agreed = announcement.encryption(encryption, key_offer.as_ref())?;
        let cookie = Cookie {
            created: self.now,
            life: self.cookie_life(announcement),
            local_tag,
            peer_tag: announcement.tag,
            tie_tags: answer.tie_tags,
            local_port: packet.header.destination_port,
            peer_port: packet.header.source_port,
            local_initial_tsn,
            peer_initial_tsn: announcement.initial_tsn,
            peer_a_rwnd: announcement.a_rwnd,
            peer_outbound_streams: announcement.outbound_streams,
            peer_inbound_streams: announcement.inbound_streams,
            extensions: announcement.extensions,
            authentication: peer.map(|peer| (random, peer)),
            offers: agreed.map(|(offers, _)| offers),
            path: tuple,
            peer_addresses: announcement.addresses.clone(),
        };
        let mut parameters = encode_parameters(
            &answer.addresses,
            config,
            random,
            cookie.offers.as_ref().map(|offers| &offers.own),
        );
        if let Some(salt) = config.extensions.authentication.as_ref().and_then(Authentication::salt)
        {
            Parameter::KeySalt(salt).encode(&mut parameters);
        }
        Parameter::StateCookie(&self.cookies.seal(self.now, &cookie)).encode(&mut parameters);
        let unrecognized = announcement.unrecognized_with(config);
        for parameter in Parameters::from_bytes(&unrecognized).iter().flatten() {
            let mut known = Vec::new();
            let raw = if let Parameter::Unknown(unknown) = parameter {
                unknown.raw
            } else {
                parameter.encode(&mut known);
                &known
            };
            Parameter::UnrecognizedParameter(raw).encode(&mut parameters);
        }
        let init_ack = InitAck {
            initiate_tag: local_tag,
            a_rwnd: config.a_rwnd(),
            // RFC 9260 section 3.3.3: "the value MUST NOT be greater than the MIS value sent in the
            // INIT chunk."
            outbound_streams: config
                .streams
                .outbound_streams
                .clamp(1, announcement.inbound_streams),
            inbound_streams: config.streams.inbound_streams_max.max(1),
            initial_tsn: local_initial_tsn,
            parameters: Parameters::from_bytes(&parameters),
        };
        let bytes = reply_packet(packet, announcement.tag, std::slice::from_ref(&init_ack));
        let now = self.now;
        let is_longer = bytes.len() > CommonHeader::LEN + packet.chunks().rest().len();
        if is_longer && !self.short_inits.take(now, tuple.remote.ip(), &mut self.rng) {
            self.stats.replies_suppressed += 1;
        } else if self.push_reply(tuple, bytes) {
            self.stats.init_acks_sent += 1;
        }
        Ok(())
    }

    /// A tag, a first TSN and a random number for the keys.
    fn fresh_numbers(&mut self, authenticates: bool) -> (VerificationTag, Tsn, Random) {
        let (tag, initial_tsn) = (self.fresh_tag(), Tsn(self.rng.next_u32()));
        let mut random = [0; RANDOM_LEN];
        if authenticates {
            self.rng.fill(&mut random);
        }
        (tag, initial_tsn, random)
    }

    /// Refuses an INIT for what it says of authentication.
    fn refuse_call(
        &mut self,
        tuple: FourTuple,
        packet: &Packet<'_>,
        tag: VerificationTag,
        refusal: &Refusal,
    ) {
        let why = match refusal {
            Refusal::NotAuthenticated => Some(RefusedCallReason::NotAuthenticated),
            Refusal::NotEncrypted | Refusal::Keys(_) => Some(RefusedCallReason::NotEncrypted),
            Refusal::ZeroTag
            | Refusal::NoStreams { .. }
            | Refusal::SmallWindow { .. }
            | Refusal::HostName { .. }
            | Refusal::AsconfWithoutAuthentication
            | Refusal::NoSalt
            | Refusal::Offer(_)
            | Refusal::Malformed(_) => None,
        };
        if let Some(why) = why {
            self.note_refused_call(RefusedCall { path: tuple, why });
        }
        let mut causes = Vec::new();
        refusal_cause(refusal, &mut causes);
        self.refuse_init(tuple, packet, tag, &causes);
    }

    fn note_refused_call(&mut self, call: RefusedCall) {
        self.stats.calls_unauthenticated += 1;
        if self.refused_calls.len() < REFUSED_CALLS_MAX {
            self.refused_calls.push_back(call);
        }
    }

    /// How long a cookie may be used. RFC 9260 section 3.3.2.1.3, Cookie Preservative: "The
    /// receiver MAY choose to ignore the suggested cookie life span increase for its own security
    /// reasons."
    fn cookie_life(&self, announcement: &Announcement) -> Duration {
        let asked = announcement.cookie_preservative_ms.unwrap_or(0);
        let added = Duration::from_millis(asked.into()).min(COOKIE_PRESERVATIVE_MAX);
        self.config.cookie_life.saturating_add(added)
    }

    /// Our addresses that a peer on this path may use: what is on our own machine is of no use to
    /// others.
    fn announced_addresses(&self, tuple: FourTuple) -> Vec<IpAddr> {
        let mut addresses = vec![tuple.local.ip()];
        for local in &self.locals {
            let ip = local.ip();
            let reachable = ip.is_loopback() == tuple.local.ip().is_loopback();
            if reachable && !ip.is_unspecified() && !addresses.contains(&ip) {
                addresses.push(ip);
            }
        }
        addresses
    }

    /// The cookie of a packet, if it is ours and for who sent it.
    fn cookie_of(&mut self, packet: &Packet<'_>, echo: &CookieEcho<'_>) -> Option<Cookie> {
        let Ok(cookie) = self.cookies.open(self.now, echo.cookie) else {
            self.stats.cookies_forged += 1;
            return None;
        };
        // RFC 9260 section 5.1.5, step 3: "Compare the port numbers and the Verification Tag
        // contained within the COOKIE ECHO chunk to the actual port numbers and the Verification
        // Tag within the SCTP common header of the received packet. If these values do not match,
        // the packet MUST be silently discarded."
        let ports = ports_of(packet);
        if ports != (cookie.local_port, cookie.peer_port)
            || packet.header.verification_tag != cookie.local_tag
        {
            self.stats.cookies_forged += 1;
            return None;
        }
        Some(cookie)
    }

    /// RFC 9260 section 5.1.5, and section 5.2.4 where an association exists already.
    pub(super) fn on_cookie_echo(
        &mut self,
        tuple: FourTuple,
        packet: &Packet<'_>,
        echo: &CookieEcho<'_>,
        len: usize,
    ) {
        let Some(cookie) = self.cookie_of(packet, echo) else { return };
        // Without keys an AUTH chunk in front is not recognized, and ends the packet.
        let is_first = matches!(packet.chunks().next(), Some(Ok(Chunk::CookieEcho(_))));
        if cookie.authentication.is_none() && !is_first {
            self.stats.cookies_forged += 1;
            return;
        }
        let ports = ports_of(packet);
        let known = self.by_tag(packet).or_else(|| {
            let remotes = [cookie.path.remote, tuple.remote];
            remotes.into_iter().find_map(|remote| self.by_remote(remote, ports))
        });
        let id = match known {
            Some(id) if !self.association(id).is_some_and(|a| a.takes_cookie(packet, &cookie)) => {
                self.stats.calls_unauthenticated += 1;
                None
            }
            Some(id) => self.use_cookie(id, tuple, packet, &cookie),
            None => self.accept_cookie(tuple, packet, &cookie),
        };
        if let Some(id) = id {
            self.deliver(id, tuple, packet, len);
            self.refresh(id);
        }
    }

    /// A packet that is sealed with the keys that an association is restarted with (the draft's
    /// section 5.4). The first one has the tag of our INIT ACK, which is not the association's yet.
    pub(super) fn on_packet_of_restart(
        &mut self,
        tuple: FourTuple,
        packet: &Packet<'_>,
        len: usize,
    ) {
        let by_tag = self.by_tag(packet);
        let Some(id) = by_tag.or_else(|| self.by_remote(tuple.remote, ports_of(packet))) else {
            return self.on_tagged(tuple, packet, len);
        };
        let now = self.now;
        let mut plaintext = Vec::new();
        let Some(entry) = self.entries.get_mut(&id) else { return };
        let Some(opened) = entry.association.open_for_restart(packet, &mut plaintext) else {
            return;
        };
        match opened.chunks().next() {
            Some(Ok(Chunk::CookieEcho(echo))) => self.on_sealed_cookie(id, tuple, &opened, &echo),
            _ if by_tag.is_some() && entry.association.is_restarted() => {
                entry.association.handle_unsealed(now, tuple, &opened, len);
                self.touch(id);
            }
            _ => {}
        }
    }

    /// A peer that kept the keys to do so restarts its association.
    fn on_sealed_cookie(
        &mut self,
        id: AssociationId,
        tuple: FourTuple,
        packet: &Packet<'_>,
        echo: &CookieEcho<'_>,
    ) {
        let Some(cookie) = self.cookie_of(packet, echo) else { return };
        let Some(association) = self.association(id) else { return };
        let is_offered = cookie.offers.as_ref().is_some_and(Offers::restart);
        let is_due = match association.cookie_echo_case(&cookie) {
            CookieEchoCase::Restart => association.may_restart() && is_offered,
            CookieEchoCase::Duplicate => association.is_restarted(),
            CookieEchoCase::Collision | CookieEchoCase::Discard => false,
        };
        if is_due {
            self.use_cookie(id, tuple, packet, &cookie);
        } else {
            self.stats.calls_unauthenticated += 1;
        }
    }

    /// Table 12 of RFC 9260 section 5.2.4. Returns the association if the rest of the packet is for
    /// it.
    fn use_cookie(
        &mut self,
        id: AssociationId,
        tuple: FourTuple,
        packet: &Packet<'_>,
        cookie: &Cookie,
    ) -> Option<AssociationId> {
        let case = self.association(id)?.cookie_echo_case(cookie);
        // "If both Verification Tags in the State Cookie match the Verification Tags of the current
        // association, consider the State Cookie valid ..., even if the lifespan is exceeded."
        if case != CookieEchoCase::Duplicate {
            self.check_cookie_age(tuple, packet, cookie)?;
        }
        let now = self.now;
        let association = &mut self.entries.get_mut(&id)?.association;
        let usable = match case {
            CookieEchoCase::Restart => association.on_restart(now, cookie, tuple),
            CookieEchoCase::Collision => {
                association.on_collision(now, cookie, tuple);
                true
            }
            CookieEchoCase::Duplicate => {
                association.on_duplicate_cookie(now, tuple);
                true
            }
            CookieEchoCase::Discard => false,
        };
        self.touch(id);
        self.refresh(id);
        usable.then_some(id)
    }

    fn accept_cookie(
        &mut self,
        tuple: FourTuple,
        packet: &Packet<'_>,
        cookie: &Cookie,
    ) -> Option<AssociationId> {
        self.check_cookie_age(tuple, packet, cookie)?;
        let is_welcome = self.config.accepts(&IncomingCall::new(tuple, ports_of(packet)));
        if !is_welcome || self.entries.len() >= self.config.associations_max {
            let mut causes = Vec::new();
            ErrorCause::OutOfResource.encode(&mut causes);
            self.refuse_init(tuple, packet, cookie.peer_tag, &causes);
            return None;
        }
        let config = self.config.association.clone();
        let keys = keys_of_cookie(&config, cookie);
        if keys.is_some_and(|keys| !keys.judge(packet).is_usable()) {
            self.refuse_key(tuple, packet, cookie.peer_tag);
            return None;
        }
        if cookie.offers.is_some() && !self.may_agree_on_keys(tuple.remote.ip()) {
            self.stats.key_agreements_deferred += 1;
            return None;
        }
        let mut locals = self.locals.clone();
        if !locals.contains(&tuple.local) {
            locals.push(tuple.local);
        }
        let rng = self.rng.fork();
        let association = Association::accept(self.now, config, cookie, tuple, locals, rng);
        Some(self.insert(association))
    }

    /// Whether who has proved to be at an address may have us agree on keys now.
    fn may_agree_on_keys(&mut self, from: IpAddr) -> bool {
        let encryption = self.config.association.extensions.encryption.as_ref();
        let is_guess = encryption.is_some_and(|encryption| encryption.keys.can_be_guessed());
        self.key_calls.take(self.now, from, is_guess, &mut self.rng)
    }

    /// Tells a caller that its key is not ours. It got our cookie, so that it is where it says it
    /// is; its packet is not used (RFC 4895 section 6.3: "If authentication fails, then the packet
    /// is discarded."). The ERROR is for callers that take no ABORT without a proof, the ABORT for
    /// those that make nothing of the ERROR.
    fn refuse_key(&mut self, tuple: FourTuple, packet: &Packet<'_>, tag: VerificationTag) {
        let why = RefusedCallReason::OtherKey;
        self.note_refused_call(RefusedCall { path: tuple, why });
        let mut bytes = Vec::new();
        no_authorization(&mut bytes);
        let causes = ErrorCauses::from_bytes(&bytes);
        let abort = Chunk::Abort(Abort { tag_reflected: false, causes });
        self.reply_with(tuple, packet, tag, &[Chunk::Error(ErrorChunk { causes }), abort]);
    }

    /// `None` if the cookie may not be used any more; the peer is told where the RFC says so.
    fn check_cookie_age(
        &mut self,
        tuple: FourTuple,
        packet: &Packet<'_>,
        cookie: &Cookie,
    ) -> Option<()> {
        match self.cookies.check_age(self.now, cookie) {
            Ok(()) => Some(()),
            // RFC 9260 section 5.1.5, step 4: "the endpoint MUST transmit an ERROR chunk with a
            // "Stale Cookie" error cause to the peer endpoint."
            Err(CookieError::Stale { staleness }) => {
                self.stats.cookies_stale += 1;
                let measure_us = u32::try_from(staleness.as_micros()).unwrap_or(u32::MAX);
                let mut causes = Vec::new();
                ErrorCause::StaleCookie { measure_us }.encode(&mut causes);
                let error = ErrorChunk { causes: ErrorCauses::from_bytes(&causes) };
                self.reply(tuple, packet, cookie.peer_tag, &error);
                None
            }
            Err(CookieError::Spent | CookieError::Forged) => {
                self.stats.cookies_replayed += 1;
                None
            }
        }
    }

    /// RFC 9260 section 8.4.
    pub(super) fn on_out_of_the_blue(&mut self, tuple: FourTuple, packet: &Packet<'_>) {
        self.stats.out_of_the_blue += 1;
        // 1) "If the OOTB packet is to or from a non-unicast address, a receiver SHOULD silently
        // discard the packet."
        if [tuple.local, tuple.remote].into_iter().any(|end| !is_unicast(end.ip())) {
            return;
        }
        let tag = packet.header.verification_tag;
        let mut answer = Answer::Abort;
        for chunk in packet.chunks() {
            let Ok(chunk) = chunk else { return };
            match chunk {
                // 2), 6), 7): silently discarded.
                Chunk::Abort(_) | Chunk::ShutdownComplete(_) | Chunk::CookieAck => return,
                Chunk::Error(error) if has_stale_cookie(&error) => return,
                // 5) "the receiver SHOULD respond ... with a SHUTDOWN COMPLETE chunk."
                Chunk::ShutdownAck => answer = Answer::ShutdownComplete,
                Chunk::Data(_)
                | Chunk::IData(_)
                | Chunk::Init(_)
                | Chunk::InitAck(_)
                | Chunk::Sack(_)
                | Chunk::Heartbeat(_)
                | Chunk::HeartbeatAck(_)
                | Chunk::Shutdown(_)
                | Chunk::Error(_)
                | Chunk::CookieEcho(_)
                | Chunk::Ecne(_)
                | Chunk::Cwr(_)
                | Chunk::Auth(_)
                | Chunk::Dtls(_)
                | Chunk::AsconfAck(_)
                | Chunk::ForwardTsn(_)
                | Chunk::IForwardTsn(_)
                | Chunk::Asconf(_)
                | Chunk::ReConfig(_)
                | Chunk::Pad(_)
                | Chunk::Unknown(_) => {}
            }
        }
        match answer {
            Answer::ShutdownComplete => {
                self.reply(tuple, packet, tag, &ShutdownComplete { tag_reflected: true });
            }
            // 8) "The receiver SHOULD respond to the sender of the OOTB packet with an ABORT
            // chunk."
            Answer::Abort => {
                let abort = Abort { tag_reflected: true, causes: ErrorCauses::from_bytes(&[]) };
                self.reply(tuple, packet, tag, &abort);
            }
        }
    }

    /// RFC 9260 section 8.4, 3): "the Verification Tag of the packet containing the ABORT chunk
    /// MUST be the Initiate Tag of the received INIT chunk, and the T bit of the ABORT chunk has to
    /// be set to 0".
    fn refuse_init(
        &mut self,
        tuple: FourTuple,
        packet: &Packet<'_>,
        tag: VerificationTag,
        causes: &[u8],
    ) {
        self.stats.inits_refused += 1;
        let abort = Abort { tag_reflected: false, causes: ErrorCauses::from_bytes(causes) };
        self.reply(tuple, packet, tag, &abort);
    }

    /// Answers a packet without an association; false if the limit on such answers forbids it.
    fn reply(
        &mut self,
        tuple: FourTuple,
        packet: &Packet<'_>,
        verification_tag: VerificationTag,
        chunk: &impl EncodeChunk,
    ) -> bool {
        self.reply_with(tuple, packet, verification_tag, std::slice::from_ref(chunk))
    }

    fn reply_with(
        &mut self,
        tuple: FourTuple,
        packet: &Packet<'_>,
        verification_tag: VerificationTag,
        chunks: &[impl EncodeChunk],
    ) -> bool {
        self.push_reply(tuple, reply_packet(packet, verification_tag, chunks))
    }

    fn push_reply(&mut self, tuple: FourTuple, bytes: Vec<u8>) -> bool {
        let sent = self.replies.push(self.now, tuple, bytes);
        self.stats.replies_suppressed += u64::from(!sent);
        sent
    }
}

/// What goes back to where a packet came from.
fn reply_packet(
    packet: &Packet<'_>,
    verification_tag: VerificationTag,
    chunks: &[impl EncodeChunk],
) -> Vec<u8> {
    let header = CommonHeader {
        source_port: packet.header.destination_port,
        destination_port: packet.header.source_port,
        verification_tag,
    };
    let mut bytes = Vec::new();
    let mut writer = PacketWriter::new(&mut bytes, header);
    chunks.iter().for_each(|chunk| writer.push(chunk));
    writer.finish(ChecksumField::Fill);
    bytes
}

/// How a packet out of the blue is answered.
enum Answer {
    Abort,
    ShutdownComplete,
}

fn is_unicast(address: IpAddr) -> bool {
    let is_broadcast = matches!(address, IpAddr::V4(address) if address.is_broadcast());
    !address.is_multicast() && !address.is_unspecified() && !is_broadcast
}

fn has_stale_cookie(error: &ErrorChunk<'_>) -> bool {
    error.causes.iter().any(|cause| matches!(cause, Ok(ErrorCause::StaleCookie { .. })))
}

fn encode_addresses(addresses: &[IpAddr]) -> Vec<u8> {
    let mut bytes = Vec::new();
    for address in addresses {
        match *address {
            IpAddr::V4(address) => Parameter::Ipv4Address(address).encode(&mut bytes),
            IpAddr::V6(address) => Parameter::Ipv6Address(address).encode(&mut bytes),
        }
    }
    bytes
}
