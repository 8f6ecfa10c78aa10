//! How connections end: sections 3.2.3, 3.2.11 and 3.5.

use anabranch_sansio::Time;

use super::group::{Group, State, Subflow};
use super::{Multipath, MultipathEvent, MultipathId, SubflowId};
use crate::event::CloseReason;
use crate::wire::{MultipathOption, ResetCode};

impl Multipath {
    /// Sends what waits, and then closes all paths.
    pub fn close(&mut self, now: Time, id: MultipathId) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        match group.state {
            State::Beginning => return self.abort(now, id),
            State::Open => group.state = State::Finishing,
            State::Finishing | State::Closing | State::Closed => {}
        }
        self.turn(now);
    }

    /// Ends the connection at once on all paths, and tells the peer.
    pub fn abort(&mut self, now: Time, id: MultipathId) {
        if self.groups.get(&id).is_some_and(|group| group.state != State::Closed) {
            self.reset_all(now, id);
            self.end(id, CloseReason::Aborted);
        }
    }

    /// Closes if all has been given to the paths.
    pub(super) fn finish(&mut self, now: Time, id: MultipathId) {
        let group = self.groups.get(&id);
        let has_sent = |group: &Group| group.queue.is_empty() && group.returned.is_empty();
        if group.is_some_and(|group| group.state == State::Finishing && has_sent(group)) {
            self.begin_closing(now, id);
        }
    }

    /// Section 3.5: "A host terminates an MP-DCCP connection using the DCCP connection termination
    /// [...] on each subflow with the first packet on each subflow carrying MP_CLOSE".
    fn begin_closing(&mut self, now: Time, id: MultipathId) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        group.state = State::Closing;
        group.to_join.clear();
        // "To protect from unauthorized shutdown of a multi-path connection, the selected Key Data
        // of the peer host during the handshaking procedure MUST be included".
        let key = group.secrets.map(|secrets| secrets.peer);
        for subflow in group.subflows.values() {
            let Some(connection) = self.endpoint.connection_mut(subflow.id) else { continue };
            if let (Some(subflow), Some(key)) = (connection.subflow_mut(), &key) {
                subflow.bid_farewell(&MultipathOption::Close(key));
            }
            connection.close(now);
        }
    }

    /// MP_CLOSE.
    pub(super) fn on_close(&mut self, now: Time, id: MultipathId, key: &[u8]) {
        if self.knows_our_key(id, key) {
            let state = self.groups.get(&id).map(|group| group.state);
            if matches!(state, Some(State::Open | State::Finishing)) {
                self.begin_closing(now, id);
            }
        }
    }

    /// MP_FAST_CLOSE. "Upon reception of the first MP_FAST_CLOSE with successfully validated Key
    /// Data, Host B will send a DCCP-Reset packet response on all subflows to Host A with Reset
    /// Code 13".
    pub(super) fn on_fast_close(&mut self, now: Time, id: MultipathId, key: &[u8]) {
        if self.knows_our_key(id, key) {
            self.reset_all(now, id);
            self.end(id, CloseReason::Reset(ResetCode::ABRUPT_MULTIPATH_TERMINATION));
        }
    }

    fn knows_our_key(&mut self, id: MultipathId, key: &[u8]) -> bool {
        let Some(group) = self.groups.get_mut(&id) else { return false };
        let is_ours = group.secrets.is_some_and(|secrets| secrets.own == key);
        group.stats.unproved += u64::from(!is_ours);
        is_ours
    }

    fn reset_all(&mut self, now: Time, id: MultipathId) {
        let Some(group) = self.groups.get(&id) else { return };
        let key = group.secrets.map(|secrets| secrets.peer);
        for subflow in group.subflows.values() {
            let Some(connection) = self.endpoint.connection_mut(subflow.id) else { continue };
            let Some((subflow, key)) = connection.subflow_mut().zip(key.as_ref()) else {
                connection.abort(now);
                continue;
            };
            subflow.bid_farewell(&MultipathOption::FastClose(key));
            connection.reset_as(now, ResetCode::ABRUPT_MULTIPATH_TERMINATION);
        }
    }

    /// Closes those subflows, and no others.
    pub(super) fn close_subflows(
        &mut self,
        now: Time,
        id: MultipathId,
        is_it: impl Fn(&Subflow) -> bool,
    ) {
        let Some(group) = self.groups.get(&id) else { return };
        for subflow in group.subflows.values().filter(|subflow| is_it(subflow)) {
            if let Some(connection) = self.endpoint.connection_mut(subflow.id) {
                connection.close(now);
            }
        }
    }

    /// A subflow is over.
    pub(super) fn on_subflow_closed(
        &mut self,
        now: Time,
        id: MultipathId,
        name: SubflowId,
        reason: CloseReason,
    ) {
        let Some(group) = self.groups.get(&id) else { return };
        let connection = group.subflows.get(&name).map(|subflow| subflow.id);
        if let Some(connection) = connection {
            self.listen_to(now, connection);
            self.owners.remove(&connection);
        }
        let Some(group) = self.groups.get_mut(&id) else { return };
        group.subflows.remove(&name);
        if group.state == State::Closed {
            return;
        }
        group.tell(MultipathEvent::Left(name, reason));
        // Section 3.2.3: a Close or a Reset "will only close the subflow and does not affect other
        // remaining subflows or the MP-DCCP connection (unless it is the last subflow)."
        if group.subflows.is_empty() {
            self.give_out(now, id);
            self.end(id, reason);
        }
    }

    fn end(&mut self, id: MultipathId, reason: CloseReason) {
        let Some(group) = self.groups.get_mut(&id) else { return };
        group.state = State::Closed;
        group.pending.clear();
        group.to_join.clear();
        (group.queue_len, group.was_full) = (0, false);
        group.queue.clear();
        group.returned.clear();
        group.subflows.clear();
        group.tell(MultipathEvent::Closed(reason));
        self.owners.retain(|_, owner| *owner != id);
    }
}
