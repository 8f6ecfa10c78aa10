//! Telling the peer that our addresses change (RFC 5061 section 5.1).
//!
//! A new address is added by a wildcard, from that address: so the peer learns what a NAT makes of
//! it, port included. Who encrypts says all of it under seal; the verification tag finds the
//! association, and heartbeats under seal prove that the peer is where the packet came from, which
//! no seal covers. What is gone is deleted by name, or, where only one address is left, by the
//! wildcard that means all others.

use std::collections::VecDeque;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use anabranch_sansio::Time;
use anabranch_wire::{Asconf, AsconfAck, EncodeChunk, ErrorCause, Parameter, Parameters, Tsn};

use super::Association;
use super::control::Bundling;
use crate::path::Path;
use crate::path_name::{PathId, PathSlot, PathState};

/// Changes that wait for the ASCONF in front of them: as many as there may be paths.
const WAITING_MAX: usize = 16;

/// Addresses that the peer is still to be told are gone.
const GONE_MAX: usize = 8;

/// How often a request is sent over the path that it is about; then another one serves, and the
/// path is left to its heartbeats.
const TRIES_ON_PATH: u32 = 3;

/// What both sides asked of the other's addresses.
#[derive(Debug)]
pub(super) struct Readdressing {
    /// Whether both ends listed ASCONF.
    is_supported: bool,
    next_number: u32,
    waiting: VecDeque<Change>,
    in_flight: Option<Request>,
    /// Addresses of ours that are gone, the last ones.
    gone: VecDeque<Gone>,
    /// The number of the peer's next ASCONF.
    pub(super) expected: u32,
    /// The responses to its last ones.
    pub(super) answers: VecDeque<(u32, Vec<u8>)>,
}

/// An address of ours that is gone.
#[derive(Debug, Clone, Copy)]
struct Gone {
    address: IpAddr,
    /// Whether the peer has acknowledged that.
    is_told: bool,
}

/// A change that the peer is to be told of.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Change {
    /// We are at this path's near end as well.
    Add(PathSlot),
    /// Some of our addresses are gone.
    Leave,
    /// Data shall come over this path.
    Prefer(PathSlot),
}

/// An ASCONF that was not acknowledged yet.
#[derive(Debug)]
struct Request {
    number: u32,
    change: Change,
    address: IpAddr,
    parameters: Vec<u8>,
    /// Where it went last.
    path: PathSlot,
    /// T-4 RTO.
    timer: Time,
    tries: u32,
    /// The addresses that it says are gone.
    gone: Vec<IpAddr>,
}

impl Readdressing {
    /// RFC 5061 section 5.1, A2: "The Sequence Number MUST be initialized at the start of the
    /// association to the same value as the Initial Transmission Sequence Number (TSN)".
    pub(super) const fn new(is_supported: bool, initial_tsn: Tsn, peer_initial_tsn: Tsn) -> Self {
        Self {
            is_supported,
            next_number: initial_tsn.0,
            waiting: VecDeque::new(),
            in_flight: None,
            gone: VecDeque::new(),
            expected: peer_initial_tsn.0,
            answers: VecDeque::new(),
        }
    }
}

impl Association {
    /// Asks the peer to send its data over this path while it can (RFC 5061 section 5.4). Returns
    /// false if the path is not confirmed or the peer takes no such requests.
    pub fn ask_for_primary(&mut self, now: Time, path: PathId) -> bool {
        let confirmed = self.sender.paths.named(path).filter(|path| path.is_confirmed());
        let Some(path) = confirmed.map(|path| path.slot).filter(|_| self.changes_addresses())
        else {
            return false;
        };
        self.want_change(now, Change::Prefer(path));
        true
    }

    /// Whether addresses can be changed by request.
    pub(super) fn changes_addresses(&self) -> bool {
        let may_announce = self.config.paths.announces_addresses;
        may_announce
            && self.readdressing.is_supported
            && (self.keys.is_some() || self.is_encrypted())
    }

    /// A path from an address of ours that may be new to the peer. Its heartbeats begin when the
    /// peer knows it.
    ///
    /// RFC 5061 section 5.3, F1: "until such time as the ASCONF containing the add is acknowledged,
    /// the sender MUST NOT use the new IP address as a source for ANY SCTP packet except on
    /// carrying an ASCONF Chunk."
    pub(super) fn announce_path(&mut self, now: Time, path: PathSlot) {
        let local = self.sender.paths.at(path).tuple.local.ip();
        let is_known = |other: &Path| other.slot != path && other.tuple.local.ip() == local;
        let was_gone = self.is_gone(local);
        self.readdressing.gone.retain(|gone| gone.address != local);
        if !self.changes_addresses() || (self.sender.paths.iter().any(is_known) && !was_gone) {
            return self.start_heartbeats(now, path);
        }
        self.want_change(now, Change::Add(path));
    }

    /// A path that there was before is to be used again.
    pub(super) fn return_to_path(&mut self, now: Time, path: PathSlot) {
        if self.is_gone(self.sender.paths.at(path).tuple.local.ip()) {
            self.announce_path(now, path);
        } else {
            self.start_heartbeats(now, path);
        }
    }

    /// An address of ours is gone.
    pub(super) fn announce_leave(&mut self, now: Time, local: IpAddr) {
        if self.is_gone(local) {
            return;
        }
        if self.readdressing.gone.len() >= GONE_MAX {
            self.readdressing.gone.pop_front();
        }
        self.readdressing.gone.push_back(Gone { address: local, is_told: false });
        if self.changes_addresses() {
            self.want_change(now, Change::Leave);
        }
    }

    fn is_gone(&self, address: IpAddr) -> bool {
        self.readdressing.gone.iter().any(|gone| gone.address == address)
    }

    fn want_change(&mut self, now: Time, change: Change) {
        let readdressing = &mut self.readdressing;
        if readdressing.waiting.len() < WAITING_MAX && !readdressing.waiting.contains(&change) {
            readdressing.waiting.push_back(change);
        }
        self.advance_readdressing(now);
    }

    /// Sends the next ASCONF, if none is outstanding.
    ///
    /// RFC 5061 section 5.1.1, C1: "One and only one SCTP packet-holding ASCONF Chunk(s) MAY be in
    /// transit and unacknowledged at any one time."
    pub(super) fn advance_readdressing(&mut self, now: Time) {
        while self.readdressing.in_flight.is_none() && self.sends_heartbeats() {
            let Some(change) = self.readdressing.waiting.pop_front() else { return };
            let Some(path) = self.path_for(change) else { continue };
            let parameters = self.requests_of(change, path);
            if parameters.is_empty() {
                continue;
            }
            let number = self.readdressing.next_number;
            self.readdressing.next_number = number.wrapping_add(1);
            let timer = now + self.sender.paths.at(path).rtt.rto();
            let address = self.lookup_address();
            let gone = self.readdressing.gone.iter().map(|gone| gone.address).collect();
            let request =
                Request { number, change, address, parameters, path, timer, tries: 1, gone };
            self.readdressing.in_flight = Some(request);
            self.send_asconf();
        }
    }

    /// What an ASCONF gives the peer to find the association by.
    ///
    /// RFC 5061 section 5.3.2: "the sender MUST fill in the Address Parameter field with an address
    /// that is part of the association". draft-ietf-tsvwg-sctp-dtls-chunk section 1: "The lookup
    /// address MUST NOT be used.": nobody could read it before the packet is opened. The peer then
    /// finds the association by the verification tag, as RFC 5061 section 4.1.1 has it: "If the
    /// address 0.0.0.0 or ::0 is provided, the receiver MAY lookup the association by other
    /// information provided in the packet."
    fn lookup_address(&self) -> IpAddr {
        let address = self.sender.paths.at(self.sender.paths.current()).tuple.local.ip();
        if self.is_encrypted() { wildcard(address) } else { address }
    }

    /// Where the ASCONF for a change goes. RFC 5061 section 5.3, F6: "An endpoint MUST NOT set an
    /// IP header source address for an SCTP packet holding the ASCONF Chunk to be the same as an
    /// address being deleted by the ASCONF Chunk."
    fn path_for(&self, change: Change) -> Option<PathSlot> {
        match change {
            Change::Add(path) | Change::Prefer(path) => self
                .sender
                .paths
                .lookup(path)
                .filter(|path| self.is_left(path))
                .map(|path| path.slot),
            Change::Leave => self.best_path_left(),
        }
    }

    fn is_left(&self, path: &Path) -> bool {
        !self.is_gone(path.tuple.local.ip()) && !path.is_abandoned()
    }

    fn best_path_left(&self) -> Option<PathSlot> {
        let left =
            self.sender.paths.iter().filter(|path| self.is_left(path) && path.is_confirmed());
        left.min_by_key(|path| (path.state, path.slot)).map(|path| path.slot)
    }

    fn requests_of(&self, change: Change, path: PathSlot) -> Vec<u8> {
        let mut requests = Vec::new();
        let mut correlation_id = 0;
        let mut next_id = || {
            correlation_id += 1;
            correlation_id
        };
        let local = self.sender.paths.at(path).tuple.local.ip();
        let any = wildcard(local);
        if matches!(change, Change::Add(_)) {
            let correlation_id = next_id();
            Parameter::AddIpAddress { correlation_id, address: any }.encode(&mut requests);
        }
        let is_only = |other: &Path| !self.is_left(other) || other.tuple.local.ip() == local;
        // Who leaves its only address has nowhere to say so from, until it has another.
        let mut untold = self.readdressing.gone.iter().filter(|gone| !gone.is_told).peekable();
        if untold.peek().is_some() && self.sender.paths.iter().all(is_only) {
            let correlation_id = next_id();
            Parameter::DeleteIpAddress { correlation_id, address: any }.encode(&mut requests);
        } else {
            for gone in untold {
                let (correlation_id, address) = (next_id(), gone.address);
                Parameter::DeleteIpAddress { correlation_id, address }.encode(&mut requests);
            }
        }
        if matches!(change, Change::Prefer(_)) {
            let correlation_id = next_id();
            Parameter::SetPrimaryAddress { correlation_id, address: any }.encode(&mut requests);
        }
        requests
    }

    fn send_asconf(&mut self) {
        let Some(request) = &self.readdressing.in_flight else { return };
        let path = request.path;
        let asconf = Asconf {
            sequence_number: request.number,
            address: request.address,
            parameters: Parameters::from_bytes(&request.parameters),
        };
        let taken = self.control.push(path, Bundling::Bundled, &asconf);
        self.journal.stats.control_dropped += u64::from(!taken);
    }

    pub(super) fn readdressing_timer(&self) -> Option<Time> {
        self.readdressing.in_flight.as_ref().map(|request| request.timer)
    }

    /// RFC 5061 section 5.1, B1 to B5: counts the error, backs off, and sends the same chunk again.
    pub(super) fn on_readdressing_timer(&mut self, now: Time) {
        let Some(request) = self.readdressing.in_flight.as_ref().filter(|r| r.timer <= now) else {
            return;
        };
        let (failed, tries) = (request.path, request.tries);
        if !self.sends_heartbeats() {
            self.readdressing.in_flight = None;
            return;
        }
        self.sender.paths.at_mut(failed).rtt.back_off();
        self.on_path_error(now, failed, failed == self.sender.paths.current());
        if self.is_closed() {
            return;
        }
        // B4: "if possible choose an alternate destination address". A request about a path says
        // nothing from another one: that is for when the path has turned out to be dead.
        let alternate = self.best_path_left().filter(|_| tries >= TRIES_ON_PATH);
        let path = alternate.unwrap_or(failed);
        let timer = now + self.sender.paths.at(path).rtt.rto();
        if let Some(request) = &mut self.readdressing.in_flight {
            (request.path, request.tries, request.timer) = (path, tries + 1, timer);
        }
        self.send_asconf();
    }

    pub(super) fn on_asconf_ack(&mut self, now: Time, path: PathSlot, ack: &AsconfAck<'_>) {
        let number = ack.sequence_number;
        let awaited = |request: &mut Request| request.number == number;
        let Some(request) = self.readdressing.in_flight.take_if(awaited) else {
            return self.on_unexpected_ack(number);
        };
        let refused = refused_requests(ack);
        // RFC 5061 section 5.1, A5: "clear the appropriate association and destination error
        // counters".
        self.sender.clear_errors();
        if self.sender.paths.at(path).is_confirmed() {
            self.on_path_success(now, path);
        }
        for gone in &mut self.readdressing.gone {
            gone.is_told |= request.gone.contains(&gone.address);
        }
        if let Change::Add(added) = request.change {
            self.on_added(now, added, !refused.contains(&1));
        }
        self.advance_readdressing(now);
    }

    /// RFC 5061 section 5.3, F2: "After the ASCONF-ACK of an IP address Add arrives, the endpoint
    /// MAY begin using the added IP address as a source address for any type of SCTP chunk."; F10:
    /// one that was refused is not part of the association.
    fn on_added(&mut self, now: Time, path: PathSlot, is_taken: bool) {
        let Some(added) = self.sender.paths.lookup(path) else { return };
        if added.state == PathState::Unconfirmed && !is_taken {
            return self.fail_path(now, path);
        }
        self.start_heartbeats(now, path);
    }

    /// RFC 5061 section 5.3, F0: "If an endpoint receives an ASCONF-ACK that is greater than or
    /// equal to the next Sequence Number to be used but no ASCONF Chunk is outstanding, the
    /// endpoint MUST ABORT the association."
    fn on_unexpected_ack(&mut self, number: u32) {
        let ahead = number.wrapping_sub(self.readdressing.next_number);
        if self.changes_addresses() && ahead < 1 << 31 {
            self.abort_for(&ErrorCause::IllegalAsconfAck, "it acknowledged an ASCONF never sent");
        }
    }

    /// RFC 5061 section 5.1, A9: "If the peer responds to an ASCONF with an ERROR Chunk reporting
    /// that it did not recognize the ASCONF Chunk Type, the sender of the ASCONF MUST NOT send any
    /// further ASCONF Chunks and MUST stop its T-4 timer."
    pub(super) fn on_asconf_unrecognized(&mut self, now: Time) {
        self.readdressing.is_supported = false;
        let waiting = std::mem::take(&mut self.readdressing.waiting);
        let in_flight = self.readdressing.in_flight.take().map(|request| request.change);
        for change in in_flight.into_iter().chain(waiting) {
            if let Change::Add(path) = change {
                self.on_added(now, path, true);
            }
        }
    }

    /// RFC 5061 section 4.1.1: "the receiver that does not understand this chunk MUST skip the
    /// chunk and continue processing, and report in an Operation Error Chunk using the
    /// 'Unrecognized Chunk Type' cause of error."
    pub(super) fn report_asconf(&mut self, path: PathSlot, asconf: &Asconf<'_>) {
        let mut raw = Vec::new();
        asconf.encode(&mut raw);
        self.report_unrecognized(path, &raw);
    }
}

/// The correlation IDs of the requests that were refused.
fn refused_requests(ack: &AsconfAck<'_>) -> Vec<u32> {
    let failed = ack.responses.iter().filter_map(|response| match response {
        Ok(Parameter::ErrorCauseIndication { correlation_id, .. }) => Some(correlation_id),
        _ => None,
    });
    failed.collect()
}

const fn wildcard(like: IpAddr) -> IpAddr {
    match like {
        IpAddr::V4(_) => IpAddr::V4(Ipv4Addr::UNSPECIFIED),
        IpAddr::V6(_) => IpAddr::V6(Ipv6Addr::UNSPECIFIED),
    }
}
