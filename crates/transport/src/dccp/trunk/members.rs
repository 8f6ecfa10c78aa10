//! Connections of a trunk come to be and end.

use std::time::Duration;

use anabranch_dccp::wire::ResetCode;
use anabranch_dccp::{self as dccp, Endpoint};
use anabranch_sansio::{FourTuple, PathId, Time};
use bytes::Bytes;

use super::super::flight::Sent;
use super::super::frame::Join;
use super::super::path::Path;
use super::super::{DCCP_PORT, PATHS_MAX, SERVICE};
use super::trace::LossTrigger;
use super::{Member, Phase, Trunk, Wish};
use crate::{CloseReason, ConnectError, Connection as _, Event, PathEvent, PathState};

/// The least of the caller's DCCP ports: RFC 6335's dynamic ones begin there.
const PORT_FIRST: u16 = 49_152;

/// How long a call waits for its answer before one more connection is tried. A Request goes again
/// after a second only (RFC 4340 section 8.1.1).
pub(super) const CALL_AGAIN: Duration = Duration::from_millis(250);

/// Connections that a call tries on each path.
const CALLS_MAX: usize = 8;

/// Runs of names of closed paths that are kept: a word of theirs may still come.
const PAST_PATHS_MAX: usize = 64;

/// How long the last words may take, and the DCCP connections to close.
const FAREWELL: Duration = Duration::from_secs(3);
const PARTING: Duration = Duration::from_secs(1);

impl Trunk {
    /// Opens a path with one connection; the others follow when that is there.
    pub(in super::super) fn open(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint,
        tuple: FourTuple,
    ) -> Result<(), ConnectError> {
        let Some(path) = self.take_path_name() else {
            let reason = format!("there are {PATHS_MAX} paths, which is the limit: give fewer");
            return Err(ConnectError { reason });
        };
        self.open_as(now, endpoint, path, tuple)
            .map_err(|error| ConnectError { reason: error.to_string() })
    }

    fn open_as(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint,
        path: u16,
        tuple: FourTuple,
    ) -> Result<(), dccp::ConnectError> {
        self.paths.insert(path, Path::new(now, tuple));
        self.trace_addresses(path);
        let opened = self.open_member(now, endpoint, path);
        if opened.is_err() {
            self.paths.remove(&path);
        }
        opened
    }

    /// The name of one more path; `None` if there are as many as there may be.
    pub(super) fn take_path_name(&mut self) -> Option<u16> {
        let to_come = self.wishes.iter().filter(|wish| matches!(wish, Wish::Open(..))).count();
        let name = self.next_path;
        let next = name.checked_add(1).filter(|_| self.paths.len() + to_come < PATHS_MAX)?;
        self.next_path = next;
        Some(name)
    }

    fn open_member(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint,
        path: u16,
    ) -> Result<(), dccp::ConnectError> {
        let Some(tuple) = self.paths.get(&path).map(|path| path.tuple) else { return Ok(()) };
        let number = self.next_member;
        self.next_member += 1;
        // Who was started anew does not meet its old connections.
        let offset = self.name.wrapping_add(number.into()) % u64::from(u16::MAX - PORT_FIRST);
        let ports = (PORT_FIRST + offset as u16, DCCP_PORT);
        let id = endpoint.connect(now, tuple, ports, SERVICE, self.config.connection())?;
        self.members.insert(number, Member::new(now, id, path, false));
        Ok(())
    }

    /// A connection of the peer's joins.
    pub(in super::super) fn join(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint,
        (id, tuple): (dccp::ConnectionId, FourTuple),
        join: &Join,
    ) -> bool {
        let is_full = self.members.len() >= PATHS_MAX * self.config.connections_max();
        let is_known = self.members.contains_key(&join.member);
        if is_full || is_known || self.past_paths.contains(join.path.into()) || self.is_over() {
            return false;
        }
        let is_new = !self.paths.contains_key(&join.path);
        if is_new && self.paths.len() >= PATHS_MAX {
            return false;
        }
        let path = self.paths.entry(join.path).or_insert_with(|| Path::new(now, tuple));
        if join.generation < path.generation {
            return false;
        }
        let moved_from = (path.tuple != tuple).then_some(path.tuple);
        path.tuple = tuple;
        if join.generation > path.generation {
            path.reopen(now);
            path.generation = join.generation;
            self.drop_members(endpoint, join.path);
        }
        if is_new || moved_from.is_some() {
            self.trace_addresses(join.path);
        }
        let path = PathId(join.path.into());
        if is_new && self.paths.len() > 1 {
            self.tell(Event::Path(PathEvent::Added { path, tuple }));
        }
        if let Some(from) = moved_from {
            self.tell(Event::Path(PathEvent::Moved { path, from, to: tuple }));
        }
        self.members.insert(join.member, Member::new(now, id, join.path, true));
        true
    }

    /// Which of the trunk's connections it is.
    pub(in super::super) fn member_of(&self, id: dccp::ConnectionId) -> Option<u32> {
        self.members.iter().find(|(_, member)| member.id == id).map(|(number, _)| *number)
    }

    pub(in super::super) fn on_connected(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint,
        number: u32,
    ) {
        let Some(member) = self.members.get_mut(&number) else { return };
        member.is_up = true;
        let path = member.path;
        if let Some(path) = self.paths.get_mut(&path) {
            path.answered_at = now;
        }
        self.last_heard = now;
        if matches!(self.phase, Phase::Calling { .. }) {
            self.phase = Phase::Open;
            self.tell_connected();
        }
        self.forget_surplus(endpoint, path);
        self.open_missing(now, endpoint, path);
    }

    /// Tries one more connection on each path.
    pub(super) fn call_again(&mut self, now: Time, endpoint: &mut Endpoint) {
        if let Phase::Calling { again_at, .. } = &mut self.phase {
            *again_at = now + CALL_AGAIN;
        }
        for path in self.paths.keys().copied().collect::<Vec<_>>() {
            if self.members_of(path).count() < CALLS_MAX
                && let Err(error) = self.open_member(now, endpoint, path)
            {
                tracing::debug!(path, %error, "not called again");
            }
        }
    }

    /// Forgets connections that a call tried, beyond those that a path is to have.
    fn forget_surplus(&mut self, endpoint: &mut Endpoint, path: u16) {
        let surplus = self.members_of(path).count().saturating_sub(self.wanted(path));
        let idle = self.members_of(path).filter(|(_, member)| !member.is_up);
        let gone: Vec<u32> = idle.map(|(number, _)| number).take(surplus).collect();
        for member in gone.iter().filter_map(|number| self.members.remove(number)) {
            endpoint.forget(member.id);
        }
    }

    /// Opens the connections that a path is to have and has not.
    pub(super) fn open_missing(&mut self, now: Time, endpoint: &mut Endpoint, path: u16) {
        let missing = self.wanted(path).saturating_sub(self.members_of(path).count());
        for _ in 0..missing {
            // The port is taken, or there are too many: fewer will do.
            if self.open_member(now, endpoint, path).is_err() {
                break;
            }
        }
    }

    pub(in super::super) fn on_closed(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint,
        number: u32,
        reason: dccp::CloseReason,
    ) {
        let Some(mut member) = self.members.remove(&number) else { return };
        let path = member.path;
        if let Phase::Calling { until, again_at } = &mut self.phase {
            // Somebody is there, and would refuse the next one, too.
            *again_at = *until;
        }
        // After the last words connections are closed: that is no fault of a path, and of what was
        // under way nobody will hear.
        let is_over = match &self.phase {
            Phase::Leaving { .. } | Phase::Parting { .. } | Phase::Over { .. } => true,
            Phase::Calling { .. } | Phase::Open | Phase::Draining => false,
        };
        let lost = member.flight.take_all();
        match is_over {
            true => self.give_up(None, lost),
            false => self.lose(path, lost, LossTrigger::ConnectionClosed),
        }
        if !self.members.is_empty() {
            if self.members_of(path).count() == 0 && !is_over {
                self.set_state(path, PathState::PotentiallyFailed);
            }
            return;
        }
        if !is_over {
            self.paths.keys().copied().collect::<Vec<_>>().into_iter().for_each(|path| {
                self.set_state(path, PathState::PotentiallyFailed);
            });
        }
        match &self.phase {
            Phase::Leaving { .. } => self.end(now, endpoint, CloseReason::Shutdown),
            Phase::Parting { reason, .. } => {
                let reason = reason.clone();
                self.end(now, endpoint, reason);
            }
            Phase::Calling { .. } | Phase::Open | Phase::Draining => {
                // A caller that opens its paths anew has forgotten the connections of before.
                let may_come_back = !self.is_caller
                    && matches!(reason, dccp::CloseReason::Reset(ResetCode::NO_CONNECTION));
                if let Some(reason) = words_of(reason).filter(|_| !may_come_back) {
                    self.end(now, endpoint, reason);
                }
            }
            Phase::Over { .. } => {}
        }
    }

    /// The peer has said its last words.
    pub(super) fn on_bye(&mut self, now: Time, endpoint: &mut Endpoint, words: &Bytes) {
        if matches!(self.phase, Phase::Parting { .. } | Phase::Over { .. }) {
            return;
        }
        let reason = match words.is_empty() {
            true => CloseReason::Shutdown,
            false => CloseReason::PeerLeft { reason: String::from_utf8_lossy(words).into_owned() },
        };
        self.phase = Phase::Parting { until: now + PARTING, reason };
        // Before the connections close, the peer learns that its words have come.
        self.paths.values_mut().for_each(|path| path.ack_due = path.ack_due.map(|_| now));
        self.feed(now, endpoint);
        self.close_all(now, endpoint);
    }

    /// All is said: the last words go out.
    pub(super) fn say_bye(&mut self, now: Time) {
        self.phase = Phase::Leaving { until: now + FAREWELL };
        self.bye = Some(Bytes::new());
    }

    /// Does what the user asked for.
    pub(super) fn fulfil(&mut self, now: Time, endpoint: &mut Endpoint) {
        for wish in std::mem::take(&mut self.wishes) {
            match wish {
                Wish::Open(path, tuple) => match self.open_as(now, endpoint, path, tuple) {
                    Err(error) => tracing::debug!(%tuple, %error, "path not opened"),
                    Ok(()) => {
                        let path = PathId(path.into());
                        self.tell(Event::Path(PathEvent::Added { path, tuple }));
                    }
                },
                Wish::CloseFrom(local) => self.close_from(endpoint, local),
                Wish::Abort(reason) => {
                    if !self.is_over() {
                        self.post_everywhere(now, endpoint, &Bytes::from(reason));
                        self.end(now, endpoint, CloseReason::Aborted);
                    }
                }
            }
        }
    }

    fn close_from(&mut self, endpoint: &mut Endpoint, local: std::net::SocketAddr) {
        let from = |(id, path): (&u16, &Path)| (path.tuple.local == local).then_some(*id);
        for id in self.paths.iter().filter_map(from).collect::<Vec<_>>() {
            self.remove_path(endpoint, id);
            self.closed.push(id);
        }
    }

    /// The peer has closed a path. The last one stays: its peer would not have been heard.
    pub(super) fn on_path_closed(&mut self, endpoint: &mut Endpoint, path: u16) {
        if self.paths.len() > 1 {
            self.remove_path(endpoint, path);
        }
    }

    fn remove_path(&mut self, endpoint: &mut Endpoint, id: u16) {
        self.drop_members(endpoint, id);
        let Some(path) = self.paths.get(&id) else { return };
        let last = Box::new(self.report(id, path));
        self.paths.remove(&id);
        self.past_paths.insert(id.into());
        self.past_paths.truncate(PAST_PATHS_MAX);
        self.tell(Event::Path(PathEvent::Removed { path: PathId(id.into()), last }));
    }

    /// Forgets the connections of a path without a word; what was under way there is lost.
    pub(super) fn drop_members(&mut self, endpoint: &mut Endpoint, path: u16) {
        let gone: Vec<u32> = self.members_of(path).map(|(number, _)| number).collect();
        for number in gone {
            if let Some(mut member) = self.members.remove(&number) {
                endpoint.forget(member.id);
                self.lose(path, member.flight.take_all(), LossTrigger::ConnectionClosed);
            }
        }
    }

    /// Opens a path anew that has been silent for too long.
    pub(super) fn reopen(&mut self, now: Time, endpoint: &mut Endpoint, path: u16) {
        self.set_state(path, PathState::Inactive);
        self.drop_members(endpoint, path);
        if let Some(path) = self.paths.get_mut(&path) {
            path.reopen(now);
        }
        if let Err(error) = self.open_member(now, endpoint, path) {
            tracing::debug!(path, %error, "path not opened anew");
        }
    }

    /// It is over, for this reason.
    pub(super) fn end(&mut self, now: Time, endpoint: &mut Endpoint, reason: CloseReason) {
        if self.is_over() {
            return;
        }
        let stats = Box::new(self.stats());
        self.close_all(now, endpoint);
        self.phase = Phase::Over { since: now };
        self.tell(Event::Closed { reason, stats });
    }

    fn close_all(&self, now: Time, endpoint: &mut Endpoint) {
        for member in self.members.values() {
            if let Some(connection) = endpoint.connection_mut(member.id) {
                connection.close(now);
            }
        }
    }

    /// These were lost on a path.
    pub(super) fn lose(&mut self, path: u16, lost: Vec<Sent>, trigger: LossTrigger) {
        self.trace_lost(path, &lost, trigger);
        self.give_up(Some(path), lost);
    }

    /// These will not arrive: what must is sent again, the rest is counted.
    pub(super) fn give_up(&mut self, path: Option<u16>, lost: Vec<Sent>) {
        for sent in lost {
            if sent.is_data()
                && let Some(path) = path.and_then(|path| self.paths.get_mut(&path))
            {
                path.counters.chunks_lost += 1;
            }
            match sent {
                Sent::Repeated(mut fragment) => {
                    fragment.is_again = true;
                    self.again.push_back(fragment);
                }
                Sent::Once { stream, message, .. } => {
                    if self.last_lost.replace((stream, message)) != Some((stream, message)) {
                        self.queue.stats_mut(stream).abandoned_retransmissions += 1;
                    }
                }
                Sent::Bye => {
                    if matches!(self.phase, Phase::Leaving { .. }) {
                        self.bye = Some(Bytes::new());
                    }
                }
                Sent::Query => self.must_query = true,
                Sent::Closed(path) => self.closed.push(path),
                Sent::Ping | Sent::Copied { .. } => {}
            }
        }
    }
}

impl Member {
    fn new(now: Time, id: dccp::ConnectionId, path: u16, is_up: bool) -> Self {
        Self {
            path,
            id,
            is_up,
            is_joined: is_up,
            flight: super::Flight::default(),
            received: super::Ranges::default(),
            newest_at: now,
            has_news: false,
            is_asked: false,
            congestion: super::CongestionStats::default(),
        }
    }
}

/// Why the last DCCP connection ended; `None` if that may pass.
fn words_of(reason: dccp::CloseReason) -> Option<CloseReason> {
    let refused = |words: &str| CloseReason::AbortedByPeer { reason: words.to_owned() };
    match reason {
        dccp::CloseReason::Reset(ResetCode::NO_CONNECTION | ResetCode::ABORTED) => {
            Some(CloseReason::PeerForgot)
        }
        dccp::CloseReason::Reset(ResetCode::CONNECTION_REFUSED) => {
            Some(CloseReason::ProtocolRefused)
        }
        dccp::CloseReason::Reset(ResetCode::BAD_SERVICE_CODE) => {
            Some(refused("what listens there over DCCP is no anabranch"))
        }
        dccp::CloseReason::Reset(ResetCode::TOO_BUSY) => {
            Some(refused("it has too many connections: try again later"))
        }
        dccp::CloseReason::Reset(code) => Some(refused(&code.to_string())),
        dccp::CloseReason::Finished => Some(refused("it closed them all without a word")),
        dccp::CloseReason::Broken(code) => {
            Some(CloseReason::PeerMisbehaved { what: code.to_string() })
        }
        dccp::CloseReason::TimedOut | dccp::CloseReason::Aborted => None,
        // Reasons that a later version of DCCP has.
        other => Some(refused(&format!("{other:?}"))),
    }
}
