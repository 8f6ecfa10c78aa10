//! What comes over a connection of a trunk.

use anabranch_dccp::Endpoint;
use anabranch_sansio::{PathId, Time};

use super::super::frame::{Acks, Body, Fragment, Frame};
use super::super::inbox::Arrival;
use super::super::path::ACK_DELAY;
use super::Trunk;
use super::trace::LossTrigger;
use crate::{Event, PathState};

impl Trunk {
    /// Takes a frame of `len` bytes.
    pub(in super::super) fn on_frame(
        &mut self,
        now: Time,
        endpoint: &mut Endpoint,
        number: u32,
        (frame, len): (Frame, usize),
    ) {
        let Some(member) = self.members.get(&number) else { return };
        let path = member.path;
        self.last_heard = now;
        if let Some(path) = self.paths.get_mut(&path) {
            path.counters.packets_received += 1;
            path.counters.bytes_received += len as u64;
        }
        match frame.body {
            Body::Ping { number: datagram } => self.on_arrived(now, number, datagram),
            Body::Query { number: datagram } => {
                let known = self.members.values_mut().filter(|it| it.received.greatest().is_some());
                known.for_each(|it| (it.has_news, it.is_asked) = (true, true));
                self.on_arrived(now, number, datagram);
            }
            Body::Fragment { number: datagram, fragment } => {
                self.on_fragment(now, number, datagram, fragment);
            }
            Body::Acks(acks) => self.on_acks(now, endpoint, path, &acks),
            Body::Want { path, count } => self.on_want(now, endpoint, path, count),
            Body::Closed { number: datagram, path } => {
                self.on_arrived(now, number, datagram);
                self.on_path_closed(endpoint, path);
            }
            Body::Bye { number: datagram, reason } => {
                self.on_arrived(now, number, datagram);
                self.on_bye(now, endpoint, &reason);
            }
        }
    }

    fn on_fragment(&mut self, now: Time, number: u32, datagram: u64, fragment: Fragment) {
        let Some(member) = self.members.get(&number) else { return };
        let is_overtaken = member.received.greatest().is_some_and(|greatest| datagram < greatest);
        let path = PathId(member.path.into());
        // What there is no room for is as good as lost.
        if self.inbox.take(Arrival { now, path, is_overtaken }, fragment) {
            self.on_arrived(now, number, datagram);
        }
        if !self.inbox.is_empty() && !std::mem::replace(&mut self.is_readable_reported, true) {
            self.tell(Event::Readable);
        }
    }

    /// A datagram has come that is to be acknowledged.
    fn on_arrived(&mut self, now: Time, number: u32, datagram: u64) {
        let Some(member) = self.members.get_mut(&number) else { return };
        if member.received.greatest().is_none_or(|greatest| datagram > greatest) {
            member.newest_at = now;
        }
        member.received.insert(datagram);
        member.received.truncate(super::super::frame::RANGES_MAX);
        member.has_news = true;
        if let Some(path) = self.paths.get_mut(&member.path) {
            path.ack_due.get_or_insert(now + ACK_DELAY);
        }
    }

    fn on_acks(&mut self, now: Time, endpoint: &mut Endpoint, over: u16, acks: &Acks) {
        self.queue.peer_limit = self.queue.peer_limit.max(acks.limit);
        for block in &acks.blocks {
            let Some(member) = self.members.get_mut(&block.member) else { continue };
            let answered = member.flight.on_acks(&block.ranges);
            if answered.arrived.is_empty() {
                continue;
            }
            (member.is_joined, self.is_known) = (true, true);
            let bytes = answered.arrived.iter().map(|sent| sent.len() as u64).sum::<u64>();
            self.bytes_acked += bytes;
            let sample = answered.greatest_sent_at.map(|at| (now - at).saturating_sub(block.delay));
            let id = member.path;
            // Over another path, an answer says nothing of how this one is now.
            if id == over {
                self.on_answer(now, id, sample);
            }
            self.find_lost(block.member);
            if let Some(member) = self.members.get_mut(&block.member)
                && let Some(connection) = endpoint.connection(member.id)
            {
                let before = member.congestion.congestion_events;
                member.congestion = connection.stats().congestion;
                let events = member.congestion.congestion_events.saturating_sub(before);
                if let Some(path) = self.paths.get_mut(&id) {
                    path.counters.loss_events += events;
                }
            }
            self.trace_acknowledged(now, block.member, bytes);
            let was_bye = |sent: &_| matches!(sent, super::super::flight::Sent::Bye);
            if answered.arrived.iter().any(was_bye) {
                self.on_bye_heard(now, endpoint);
            }
        }
    }

    fn on_answer(&mut self, now: Time, id: u16, sample: Option<std::time::Duration>) {
        let is_waiting = self.members_of(id).any(|(_, member)| !member.flight.is_empty());
        if let Some(path) = self.paths.get_mut(&id) {
            path.on_answer(now, sample, is_waiting);
        }
        self.set_state(id, PathState::Active);
    }

    fn find_lost(&mut self, number: u32) {
        let Some(member) = self.members.get_mut(&number) else { return };
        let id = member.path;
        let Some(path) = self.paths.get(&id) else { return };
        let lost = member.flight.take_lost(path.reordering(), path.timeout());
        self.lose(id, lost, LossTrigger::Acknowledgements);
    }

    fn on_bye_heard(&mut self, now: Time, endpoint: &mut Endpoint) {
        if matches!(self.phase, super::Phase::Leaving { .. }) {
            self.end(now, endpoint, crate::CloseReason::Shutdown);
        }
    }
}
