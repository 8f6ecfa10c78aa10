//! The peer's requests to change its addresses (RFC 5061 section 5.2).
//!
//! RFC 5061 speaks of addresses, and a path here is a pair of transport addresses: what a request
//! says of an address holds for all paths that lead there. A wildcard stands for where the packet
//! came from, port included, which is what a NAT made of the peer's address.

use std::net::{IpAddr, SocketAddr};

use anabranch_sansio::{FourTuple, Time};
use anabranch_wire::{
    Asconf, AsconfAck, ErrorCause, ErrorCauses, Parameter, Parameters, UnknownParameter,
};

use super::control::Bundling;
use super::{Arrival, Association, State};
use crate::event::Event;
use crate::path::{Heartbeat, Membership, Origin, Path, pair_addresses};
use crate::path_name::{PathSlot, PathState};

/// Requests that are met in one ASCONF; those behind are refused.
const REQUESTS_MAX: usize = 16;

/// Answers that are kept for an ASCONF that comes again: as many as one packet may have.
pub(super) const ANSWERS_MAX: usize = 4;

/// Addresses of the peer that are remembered although none of ours leads there.
const ANNOUNCED_MAX: usize = 16;

/// Why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Objection {
    LastAddress,
    SourceAddress,
    NoRoom,
    Unusable,
}

impl Objection {
    /// The cause that reports it; `request` is the whole parameter.
    fn encode(self, request: &[u8], causes: &mut Vec<u8>) {
        match self {
            Self::LastAddress => ErrorCause::DeleteLastRemainingIpAddress(request),
            Self::SourceAddress => ErrorCause::DeleteSourceIpAddress(request),
            Self::NoRoom => ErrorCause::ResourceShortage(request),
            Self::Unusable => ErrorCause::UnresolvableAddress(request),
        }
        .encode(causes);
    }
}

impl Association {
    pub(super) fn on_asconf(&mut self, now: Time, arrival: Arrival, asconf: &Asconf<'_>) {
        let path = arrival.path;
        if !self.changes_addresses() {
            return self.report_asconf(path, asconf);
        }
        // RFC 5061 section 5.1.1, C4: "Both ASCONF and ASCONF-ACK Chunks MUST NOT be sent in any
        // SCTP state except ESTABLISHED, SHUTDOWN-PENDING, SHUTDOWN-RECEIVED, and SHUTDOWN-SENT."
        if !self.sends_heartbeats() && !matches!(self.state, State::ShutdownSent(_)) {
            return;
        }
        let number = asconf.sequence_number;
        let known = self.readdressing.answers.iter().find(|(answered, _)| *answered == number);
        let responses = match known {
            // RFC 5061 section 5.2, E2: "include in the outbound response packet any previously
            // cached ASCONF-ACK response that was sent and saved".
            Some((_, responses)) => responses.clone(),
            None if number == self.readdressing.expected => {
                self.meet_requests(now, arrival, asconf)
            }
            // E5: "Otherwise, the ASCONF Chunk is discarded since it must be either a stale packet
            // or from an attacker."
            None => return,
        };
        let responses = Parameters::from_bytes(&responses);
        // E6: "The destination address of the SCTP packet containing the ASCONF-ACK Chunks MUST be
        // the source address of the SCTP packet that held the ASCONF Chunks." A path that was
        // deleted may be one again by now.
        let source = self.sender.paths.find(arrival.from);
        let source = source.filter(|path| !self.sender.paths.at(*path).is_deleted());
        self.queue_control(
            source.unwrap_or(path),
            Bundling::Bundled,
            &AsconfAck { sequence_number: number, responses },
        );
    }

    /// Meets the requests of an ASCONF in order. Returns the responses, and keeps them.
    fn meet_requests(&mut self, now: Time, arrival: Arrival, asconf: &Asconf<'_>) -> Vec<u8> {
        let mut responses = Vec::new();
        let mut is_full = false;
        for (nth, request) in asconf.parameters.iter().enumerate() {
            let Ok(request) = request else {
                self.journal.stats.malformed += 1;
                break;
            };
            is_full |= nth >= REQUESTS_MAX;
            let outcome = self.meet(now, arrival, &request, is_full);
            // RFC 5061 section 5.3, F11: "once a receiver begins failing any ADD or DELETE request,
            // it must fail all subsequent ADD or DELETE requests contained in that single ASCONF."
            is_full |= outcome == Err(Objection::NoRoom);
            respond(&request, outcome, &mut responses);
            if nth >= REQUESTS_MAX {
                break;
            }
        }
        let readdressing = &mut self.readdressing;
        readdressing.expected = asconf.sequence_number.wrapping_add(1);
        if readdressing.answers.len() >= ANSWERS_MAX {
            readdressing.answers.pop_front();
        }
        readdressing.answers.push_back((asconf.sequence_number, responses.clone()));
        responses
    }

    fn meet(
        &mut self,
        now: Time,
        arrival: Arrival,
        request: &Parameter<'_>,
        is_full: bool,
    ) -> Result<(), Objection> {
        if let Parameter::AddIpAddress { address, .. } = *request {
            if is_full { Err(Objection::NoRoom) } else { self.add_address(now, arrival, address) }
        } else if let Parameter::DeleteIpAddress { address, .. } = *request {
            if is_full {
                Err(Objection::NoRoom)
            } else {
                self.delete_address(now, arrival, address)
            }
        } else if let Parameter::SetPrimaryAddress { address, .. } = *request {
            self.prefer_address(arrival.path, address)
        } else {
            // RFC 5061 section 4.2: what appears where it is not allowed may be ignored.
            Ok(())
        }
    }

    /// RFC 5061 section 5.3, F14: "All addresses added by the reception of an ASCONF Chunk MUST be
    /// put into the UNCONFIRMED state and MUST have path verification performed on them".
    fn add_address(
        &mut self,
        now: Time,
        arrival: Arrival,
        address: IpAddr,
    ) -> Result<(), Objection> {
        // RFC 5061 section 4.2.1: "If the address 0.0.0.0 or ::0 is provided, the source address of
        // the packet MUST be added."
        if address.is_unspecified() || arrival.from.remote.ip() == address {
            return self.add_source(now, arrival);
        }
        if self.leads_to(address) {
            return Ok(());
        }
        let known: Vec<FourTuple> = self.sender.paths.iter().map(|path| path.tuple).collect();
        let found = pair_addresses(&known, &self.locals, &[address]);
        let Some(tuple) = found.into_iter().find(|tuple| tuple.remote.ip() == address) else {
            return Err(Objection::Unusable);
        };
        self.add_path(now, tuple, Origin::Peer).ok_or(Objection::NoRoom)?;
        if self.announced.len() < ANNOUNCED_MAX {
            self.announced.push(address);
        }
        Ok(())
    }

    /// Makes a path of where the packet came from; it was no more than a candidate, or deleted.
    fn add_source(&mut self, now: Time, arrival: Arrival) -> Result<(), Objection> {
        let Arrival { path, from: tuple } = arrival;
        let target = self.sender.paths.at_mut(path);
        if target.tuple != tuple {
            let deleted =
                self.sender.paths.find(tuple).filter(|id| self.sender.paths.at(*id).is_deleted());
            let path = deleted.ok_or(Objection::NoRoom)?;
            self.sender.restore_path(path, &self.config, &mut self.rng);
            self.start_heartbeats(now, path);
            return Ok(());
        }
        if target.origin == Origin::Arrival && !target.is_confirmed() {
            target.origin = Origin::Peer;
            target.is_announced = true;
            self.journal.tell(Event::PathAdded { path: target.id, tuple });
        }
        Ok(())
    }

    fn delete_address(
        &mut self,
        now: Time,
        arrival: Arrival,
        address: IpAddr,
    ) -> Result<(), Objection> {
        let Arrival { path, from: source } = arrival;
        // RFC 5061 section 4.2.2: "If the address 0.0.0.0 or ::0 is provided, all addresses of the
        // peer except the source address of the packet MUST be deleted."
        if address.is_unspecified() {
            if self.sender.paths.at(path).tuple != source {
                return Err(Objection::NoRoom);
            }
            self.doom(|remote| remote != source.remote);
            self.bury_doomed(now);
            return Ok(());
        }
        if !self.leads_to(address) {
            return Err(Objection::Unusable);
        }
        let is_left = |path: &Path| !path.is_deleted() && path.tuple.remote.ip() != address;
        // RFC 5061 section 5.3, F7 and F8.
        if !self.sender.paths.iter().any(is_left) {
            return Err(Objection::LastAddress);
        }
        if source.remote.ip() == address {
            return Err(Objection::SourceAddress);
        }
        self.announced.retain(|announced| *announced != address);
        self.doom(|remote| remote.ip() == address);
        self.bury_doomed(now);
        Ok(())
    }

    /// RFC 5061 section 5.4: "The request to set an address as the primary path is an option the
    /// receiver SHOULD perform." One that is not confirmed yet carries data once it is.
    fn prefer_address(&mut self, path: PathSlot, address: IpAddr) -> Result<(), Objection> {
        if address.is_unspecified() {
            self.sender.paths.set_primary(path);
            return Ok(());
        }
        let there = self.sender.paths.iter().filter(|path| !path.is_deleted());
        let there = there.filter(|path| path.tuple.remote.ip() == address);
        let best = there.min_by_key(|path| (path.state, path.slot)).map(|path| path.slot);
        self.sender.paths.set_primary(best.ok_or(Objection::Unusable)?);
        Ok(())
    }

    fn leads_to(&self, address: IpAddr) -> bool {
        self.sender.paths.iter().any(|path| !path.is_deleted() && path.tuple.remote.ip() == address)
    }

    fn doom(&mut self, is_meant: impl Fn(SocketAddr) -> bool) {
        for path in self.sender.paths.iter_mut() {
            if path.membership == Membership::Member && is_meant(path.tuple.remote) {
                path.membership = Membership::Doomed;
            }
        }
    }

    /// Deletes what the peer wants deleted, once another path is known to lead to it: an address
    /// that was added in the same request is not confirmed yet, and who moves a packet of the
    /// peer's to an address of his own shall not cut it off.
    ///
    /// RFC 5061 section 5.3, F13: "It MUST NOT send SCTP packets for the association to that
    /// address".
    pub(super) fn bury_doomed(&mut self, now: Time) {
        let serves = |path: &Path| path.is_confirmed() && !path.is_doomed() && !path.is_deleted();
        if !self.sender.paths.iter().any(|path| path.is_doomed())
            || !self.sender.paths.iter().any(serves)
        {
            return;
        }
        for path in self.sender.paths.ids() {
            if self.sender.paths.at(path).is_doomed() {
                self.delete_path(now, path);
            }
        }
        let heir = self.sender.paths.iter().find(|path| serves(path)).map(|path| path.slot);
        if let Some(heir) =
            heir.filter(|_| self.sender.paths.at(self.sender.paths.primary()).is_deleted())
        {
            self.sender.paths.set_primary(heir);
        }
        self.reselect_path();
        if self.sender.paths.at(self.sack_path).is_deleted() {
            self.sack_path = self.sender.paths.current();
        }
        self.settle_timers(now);
    }

    /// What is in flight goes over another path; the place is free for another one.
    fn delete_path(&mut self, now: Time, path: PathSlot) {
        self.fail_path(now, path);
        self.control.forget_path(path);
        let target = self.sender.paths.at_mut(path);
        target.state = PathState::Inactive;
        target.origin = Origin::Peer;
        target.membership = Membership::Deleted;
        target.error_count = u32::MAX;
        target.heartbeat = Heartbeat::default();
    }
}

/// Appends the response to a request, if there is one: a request that was met needs none.
fn respond(request: &Parameter<'_>, outcome: Result<(), Objection>, responses: &mut Vec<u8>) {
    let mut causes = Vec::new();
    let correlation_id = if let Parameter::AddIpAddress { correlation_id, .. }
    | Parameter::DeleteIpAddress { correlation_id, .. }
    | Parameter::SetPrimaryAddress { correlation_id, .. } = *request
    {
        let Err(objection) = outcome else { return };
        let mut raw = Vec::new();
        request.encode(&mut raw);
        objection.encode(&raw, &mut causes);
        correlation_id
    } else if let Parameter::Unknown(unknown) = *request
        && unknown.action().report
    {
        // RFC 5061 section 5.2, V2: "To indicate an unrecognized parameter, Cause Type 8 should be
        // used".
        ErrorCause::UnrecognizedParameters(unknown.raw).encode(&mut causes);
        correlation_id_of(&unknown)
    } else {
        return;
    };
    let causes = ErrorCauses::from_bytes(&causes);
    Parameter::ErrorCauseIndication { correlation_id, causes }.encode(responses);
}

/// Every request begins with one.
fn correlation_id_of(unknown: &UnknownParameter<'_>) -> u32 {
    unknown.value.first_chunk().map_or(0, |id| u32::from_be_bytes(*id))
}
