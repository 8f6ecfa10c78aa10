//! INIT and COOKIE ECHO chunks when an association exists already (RFC 9260 section 5.2): both
//! sides call each other, a chunk comes again, or the peer restarted.

use std::net::{IpAddr, SocketAddr};

use anabranch_sansio::{FourTuple, Time};
use anabranch_wire::{ErrorCause, ErrorCauses, ErrorChunk, Tsn, VerificationTag};

use super::control::Bundling;
use super::{Association, State};
use crate::authentication::Random;
use crate::config::AssociationConfig;
use crate::dtls::KeyOffer;
use crate::event::Event;
use crate::extensions::SupportedExtensions;
use crate::handshake::{Cookie, TieTags};
use crate::path_name::PathSlot;

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

/// How an INIT is answered: what of the INIT ACK and its cookie does not come from the INIT.
#[derive(Debug)]
pub(crate) struct InitAnswer {
    /// Our tag, first TSN and random number, if they are fixed already.
    pub(crate) own: Option<(VerificationTag, Tsn, Random)>,
    pub(crate) tie_tags: TieTags,
    pub(crate) config: AssociationConfig,
    pub(crate) addresses: Vec<IpAddr>,
    /// What we offered of the DTLS chunk already.
    pub(crate) key_offer: Option<KeyOffer>,
}

impl Association {
    /// The answer to an INIT that belongs to this association.
    ///
    /// RFC 9260 section 5.2.1: "Upon receipt of an INIT chunk in the COOKIE-WAIT state, an endpoint
    /// MUST respond with an INIT ACK chunk using the same parameters it sent in its original INIT
    /// chunk (including its Initiate Tag, unchanged)."; section 5.2.2: in later states "the INIT
    /// ACK chunk MUST contain a new Initiate Tag".
    pub(crate) fn answer_to_init(&self) -> InitAnswer {
        let own = |initial_tsn| Some((self.identity.local_tag, initial_tsn, self.random));
        let (own, tie_tags) = match &self.state {
            State::CookieWait(wait) => (own(wait.initial_tsn), TieTags::NONE),
            State::CookieEchoed(echoed) => (own(echoed.initial_tsn), self.tie_tags),
            State::Established
            | State::ShutdownPending
            | State::ShutdownSent(_)
            | State::ShutdownReceived
            | State::ShutdownAckSent(_)
            | State::Closed => (None, self.tie_tags),
        };
        InitAnswer {
            own,
            tie_tags,
            config: self.config.clone(),
            addresses: self.own_addresses(),
            key_offer: own.and(self.key_offer.clone()),
        }
    }

    /// The addresses of an INIT, the one that it came from included, that this association does not
    /// have (RFC 9260 section 5.2.2: "the endpoint MUST check to see if the unexpected INIT chunk
    /// adds new addresses to the association").
    ///
    /// Without its source, anybody who knows one of the peer's addresses could take the peer's
    /// place. What the peer announced is not new, though no address of ours may lead there: an INIT
    /// that was late is no restart.
    pub(crate) fn new_addresses(&self, source: IpAddr, announced: &[IpAddr]) -> Vec<IpAddr> {
        if matches!(self.state, State::CookieWait(_)) {
            return Vec::new();
        }
        let known = |address: &IpAddr| {
            let is_reached = self.sender.paths.iter().any(|p| p.tuple.remote.ip() == *address);
            is_reached || self.announced.contains(address)
        };
        let mut new: Vec<IpAddr> = announced.iter().copied().filter(|a| !known(a)).collect();
        if !known(&source) && !new.contains(&source) {
            new.push(source);
        }
        new
    }

    /// Where the INIT ACK goes.
    ///
    /// RFC 9260 section 5.2.1: "The packet containing the INIT ACK chunk MUST only be sent to an
    /// address passed by the upper layer in the request to initialize the association." and "MUST
    /// only be sent to an address reported in the incoming INIT chunk."
    pub(crate) fn init_ack_path(&self, arrival: FourTuple, announced: &[IpAddr]) -> FourTuple {
        let reported = |remote: SocketAddr| announced.contains(&remote.ip());
        let known = || self.sender.paths.iter().find(|path| reported(path.tuple.remote));
        match self.sender.paths.find(arrival) {
            None if self.is_handshaking() => known().map_or(arrival, |path| path.tuple),
            _ => arrival,
        }
    }

    /// Which row of table 12 a cookie for this association falls into.
    pub(crate) fn cookie_echo_case(&self, cookie: &Cookie) -> CookieEchoCase {
        let local_matches = cookie.local_tag == self.identity.local_tag;
        let peer_matches = cookie.peer_tag == self.identity.peer_tag;
        match (local_matches, peer_matches) {
            (true, true) => CookieEchoCase::Duplicate,
            (true, false) => CookieEchoCase::Collision,
            (false, false) if cookie.tie_tags == self.tie_tags => CookieEchoCase::Restart,
            (false, _) => CookieEchoCase::Discard,
        }
    }

    /// Case D: enters ESTABLISHED if need be, and acknowledges.
    pub(crate) fn on_duplicate_cookie(&mut self, now: Time, tuple: FourTuple) {
        let path = self.arrival_path(now, tuple);
        if matches!(self.state, State::CookieEchoed(_)) {
            self.control.clear();
            self.establish(now, false);
        }
        self.send_cookie_ack(now, path);
    }

    /// Case B: takes the peer's tag and numbers from the cookie.
    pub(crate) fn on_collision(&mut self, now: Time, cookie: &Cookie, tuple: FourTuple) {
        let path = self.arrival_path(now, tuple);
        self.identity.peer_tag = cookie.peer_tag;
        self.take_keys_of(cookie);
        if self.is_handshaking() {
            self.take_cookie(cookie);
            self.add_announced_paths(&cookie.peer_addresses);
            self.control.clear();
            self.establish(now, false);
        }
        self.send_cookie_ack(now, path);
    }

    /// Case A: the peer restarted. Returns false in SHUTDOWN-ACK-SENT, where no new association is
    /// set up.
    pub(crate) fn on_restart(&mut self, now: Time, cookie: &Cookie, tuple: FourTuple) -> bool {
        let path = self.arrival_path(now, tuple);
        if matches!(self.state, State::ShutdownAckSent(_)) {
            self.refuse_restart(path);
            return false;
        }
        let encrypted = self.encrypted.take();
        self.forget_for_restart(cookie);
        self.go_on_encrypted(encrypted);
        self.state = State::Established;
        self.journal.tell(Event::Restarted);
        self.begin_keys(now, true);
        for path in self.sender.paths.ids() {
            self.start_heartbeats(now, path);
        }
        self.send_cookie_ack(now, path);
        true
    }

    /// RFC 9260 section 5.2.4, A: in SHUTDOWN-ACK-SENT the endpoint "MUST NOT set up a new
    /// association but instead resend the SHUTDOWN ACK chunk and send an ERROR chunk with a "Cookie
    /// Received While Shutting Down" error cause to its peer."
    fn refuse_restart(&mut self, path: PathSlot) {
        self.resend_shutdown_ack(path);
        let mut causes = Vec::new();
        ErrorCause::CookieReceivedWhileShuttingDown.encode(&mut causes);
        let error = ErrorChunk { causes: ErrorCauses::from_bytes(&causes) };
        self.queue_control(self.reply_path(path), Bundling::Bundled, &error);
    }

    /// Begins anew with the numbers of the cookie. What was received whole can still be read.
    fn forget_for_restart(&mut self, cookie: &Cookie) {
        self.identity.local_tag = cookie.local_tag;
        self.identity.peer_tag = cookie.peer_tag;
        self.tie_tags = TieTags::random(&mut self.rng);
        let shared = SupportedExtensions::of(&self.config).shared(cookie.extensions);
        let (config, journal) = (&self.config, &mut self.journal);
        self.sender.restart(config, journal, cookie.local_initial_tsn, shared, &mut self.rng);
        self.control.clear();
        self.readable_reported = false;
        self.take_cookie(cookie);
    }
}
