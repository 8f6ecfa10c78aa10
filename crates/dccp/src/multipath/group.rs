//! [`Group`]: one multipath connection and its subflows.

use std::collections::{BTreeMap, VecDeque};
use std::net::IpAddr;
use std::time::Duration;

use anabranch_sansio::{FourTuple, Time, Wakeup};
use bytes::Bytes;

use super::control::Pending;
use super::order::Order;
use super::rtt::{OwnRtt, PeerRtt};
use super::secrets::{Key, Secrets};
use super::{EVENTS_MAX, Events, MultipathConfig, MultipathEvent, MultipathStats, SubflowId};
use crate::endpoint::{ConnectionId, Endpoint};
use crate::wire::{SequenceNumber, ServiceCode};

/// RFC 9897 section 3.2.10: "If not specified, the default behavior is to always use a path for
/// packet scheduling decisions (MP_PRIO=3)".
pub(super) const PRIORITY_DEFAULT: u8 = 3;

/// A path that does not answer for so much longer than two round trips is not relied on.
const SILENCE_SLACK: Duration = Duration::from_millis(50);

/// So many datagrams in a row are not lost by chance, and the acknowledgement of fewer may wait.
const UNANSWERED_ENOUGH: u32 = 4;

/// What a datagram takes in a queue.
pub(super) const fn room_for(data: &Bytes) -> usize {
    data.len() + size_of::<Bytes>()
}

#[derive(Debug)]
pub(super) struct Group {
    pub(super) is_caller: bool,
    pub(super) service_code: ServiceCode,
    /// DCCP's ports of the first subflow, ours first.
    pub(super) ports: (u16, u16),
    /// Our name for it (CI), and the peer's.
    pub(super) own_name: u32,
    pub(super) peer_name: u32,
    pub(super) own_key: Key,
    /// Once the peer has told its key.
    pub(super) secrets: Option<Secrets>,
    pub(super) state: State,
    /// The one connection that is left where the peer knows nothing of several paths.
    pub(super) plain: Option<ConnectionId>,
    pub(super) subflows: BTreeMap<SubflowId, Subflow>,
    pub(super) next_subflow: u32,
    /// Paths that are to join.
    pub(super) to_join: VecDeque<FourTuple>,
    /// Which of our addresses has which name, and the peer's, with the number that told it.
    pub(super) own_addresses: Vec<(u8, IpAddr)>,
    pub(super) peer_addresses: BTreeMap<u8, PeerAddress>,
    /// What the peer has yet to confirm.
    pub(super) pending: Vec<Pending>,
    pub(super) queue: VecDeque<Bytes>,
    pub(super) queue_len: usize,
    /// What silent paths have given back, with its numbers.
    pub(super) returned: VecDeque<(SequenceNumber, Bytes)>,
    pub(super) was_full: bool,
    pub(super) next_number: SequenceNumber,
    /// When a datagram last came whose turn was over.
    pub(super) late_at: Option<Time>,
    pub(super) order: Order,
    pub(super) ready: VecDeque<Bytes>,
    pub(super) ready_len: usize,
    /// What may wait to be read.
    receive_buffer: usize,
    pub(super) events: Events,
    pub(super) stats: MultipathStats,
}

/// How far a connection is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum State {
    /// The first subflow is not there.
    Beginning,
    Open,
    /// What waits goes out, then it closes.
    Finishing,
    Closing,
    Closed,
}

/// An address of the peer's.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct PeerAddress {
    pub(super) ip: IpAddr,
    /// The number of the packet that told it; none: a join did.
    pub(super) number: Option<SequenceNumber>,
    pub(super) is_removed: bool,
}

#[derive(Debug)]
pub(super) struct Subflow {
    pub(super) id: ConnectionId,
    pub(super) phase: Phase,
    /// The names of the addresses at both ends.
    pub(super) own_address: u8,
    pub(super) peer_address: u8,
    /// How the peer would have us use it, and the number that told it.
    pub(super) priority: u8,
    pub(super) priority_number: Option<SequenceNumber>,
    /// Since when data is under way that nothing has answered.
    waiting_since: Option<Time>,
    /// How many datagrams nothing has answered.
    unanswered: u32,
    /// When it is asked again for a sign of life, while it gives none.
    pub(super) probe_at: Time,
    /// When something last came over it.
    pub(super) heard_at: Time,
    /// What the peer was told of how long the path is, and what it told.
    pub(super) own_rtt: OwnRtt,
    pub(super) peer_rtt: Option<PeerRtt>,
}

/// How far a subflow is.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Phase {
    /// The first one, whose handshake is under way.
    First,
    /// We ask to join, with this nonce.
    Joining(u32),
    /// It asks to join, with its nonce and ours, and has not proved who it is.
    Asked {
        theirs: u32,
        ours: u32,
    },
    /// Both ends have proved who they are.
    Proved,
    Up,
}

impl Subflow {
    pub(super) const fn new(now: Time, id: ConnectionId, phase: Phase, own_address: u8) -> Self {
        Self {
            id,
            phase,
            own_address,
            peer_address: 0,
            priority: PRIORITY_DEFAULT,
            priority_number: None,
            waiting_since: None,
            unanswered: 0,
            probe_at: now,
            heard_at: now,
            own_rtt: OwnRtt::NOTHING,
            peer_rtt: None,
        }
    }

    pub(super) fn is_up(&self) -> bool {
        self.phase == Phase::Up
    }

    /// A datagram was given to it.
    pub(super) fn on_sent(&mut self, now: Time) {
        self.waiting_since.get_or_insert(now);
        self.unanswered += 1;
    }

    /// Something came over it.
    pub(super) const fn on_heard(&mut self, now: Time) {
        (self.waiting_since, self.unanswered) = (None, 0);
        self.heard_at = now;
    }

    /// When it is no longer relied on, if nothing is heard until then.
    pub(super) fn silent_at(&self, endpoint: &Endpoint) -> Option<Time> {
        if self.unanswered < UNANSWERED_ENOUGH {
            return None;
        }
        let rtt = endpoint.connection(self.id)?.stats().congestion.rtt.unwrap_or_default();
        Some(self.waiting_since? + rtt * 2 + SILENCE_SLACK)
    }
}

impl Group {
    pub(super) fn new(
        config: &MultipathConfig,
        service_code: ServiceCode,
        ports: (u16, u16),
        own: (u32, Key),
        first_number: SequenceNumber,
        is_caller: bool,
    ) -> Self {
        Self {
            is_caller,
            service_code,
            ports,
            own_name: own.0,
            peer_name: 0,
            own_key: own.1,
            secrets: None,
            state: State::Beginning,
            plain: None,
            subflows: BTreeMap::new(),
            next_subflow: 0,
            to_join: VecDeque::new(),
            own_addresses: Vec::new(),
            peer_addresses: BTreeMap::new(),
            pending: Vec::new(),
            queue: VecDeque::new(),
            queue_len: 0,
            returned: VecDeque::new(),
            was_full: false,
            next_number: first_number,
            late_at: None,
            order: Order::new(config.reordering, config.receive_buffer),
            ready: VecDeque::new(),
            ready_len: 0,
            receive_buffer: config.receive_buffer,
            events: Events::new(),
            stats: MultipathStats::default(),
        }
    }

    pub(super) const fn is_plain(&self) -> bool {
        self.plain.is_some()
    }

    pub(super) const fn is_ending(&self) -> bool {
        matches!(self.state, State::Finishing | State::Closing | State::Closed)
    }

    pub(super) fn may_send(&self) -> bool {
        self.state == State::Open
    }

    /// Whether nothing is left of it.
    pub(super) fn is_gone(&self) -> bool {
        self.state == State::Closed && self.events.is_empty() && self.ready.is_empty()
    }

    pub(super) fn push(&mut self, data: Bytes) {
        self.queue_len += room_for(&data);
        self.queue.push_back(data);
    }

    pub(super) fn pop(&mut self, limit: usize) -> Option<Bytes> {
        let data = self.queue.pop_front()?;
        self.queue_len -= room_for(&data);
        if self.was_full && self.queue_len <= limit / 2 {
            self.was_full = false;
            self.tell(MultipathEvent::Writable);
        }
        Some(data)
    }

    pub(super) fn next_number(&mut self) -> SequenceNumber {
        let number = self.next_number;
        // RFC 9897 section 3.2.5: "When the sequence number space is exhausted, the sequence number
        // MUST be wrapped."
        self.next_number = number.plus(1);
        number
    }

    pub(super) fn add(&mut self, subflow: Subflow) -> SubflowId {
        let name = SubflowId(self.next_subflow);
        self.next_subflow += 1;
        self.subflows.insert(name, subflow);
        name
    }

    /// The name of an address of ours; section 3.2.2: it "MUST map uniquely to a source IP address
    /// for the sending host." `None`: all are taken.
    pub(super) fn name_of(&mut self, ip: IpAddr) -> Option<u8> {
        if let Some((id, _)) = self.own_addresses.iter().find(|(_, known)| *known == ip) {
            return Some(*id);
        }
        let is_free = |id: &u8| self.own_addresses.iter().all(|(known, _)| known != id);
        let id = (0..=u8::MAX).find(is_free)?;
        self.own_addresses.push((id, ip));
        Some(id)
    }

    pub(super) fn tell(&mut self, event: MultipathEvent) {
        // Ends are rare, and are not left out.
        let is_end = matches!(event, MultipathEvent::Closed(_));
        if self.events.len() < EVENTS_MAX || is_end {
            self.events.push_back(event);
        }
    }

    pub(super) fn tell_once(&mut self, event: MultipathEvent) {
        if !self.events.contains(&event) {
            self.tell(event);
        }
    }

    /// Whether options are said again and silent paths asked: until the last datagram is on its
    /// way.
    pub(super) const fn repeats(&self) -> bool {
        self.secrets.is_some() && matches!(self.state, State::Open | State::Finishing)
    }

    /// Whether more may wait to be read.
    pub(super) const fn has_room(&self) -> bool {
        self.ready_len <= self.receive_buffer
    }

    pub(super) fn poll_timeout(&self, endpoint: &Endpoint) -> Option<Wakeup> {
        let order = self.order.poll_timeout().filter(|_| self.has_room());
        let order = order.map(|at| Wakeup { at, why: "reordering" });
        [order, self.repetition(endpoint)].into_iter().flatten().min()
    }

    /// When an option is said again or a silent path asked.
    fn repetition(&self, endpoint: &Endpoint) -> Option<Wakeup> {
        let pending = self.pending.iter().map(|pending| pending.due).min();
        let pending = pending.map(|at| Wakeup { at, why: "MP_CONFIRM" });
        let silent = self.subflows.values().filter_map(|subflow| {
            let at = subflow.silent_at(endpoint)?.max(subflow.probe_at);
            Some(Wakeup { at, why: "silence of a path" })
        });
        [pending, silent.min()].into_iter().flatten().filter(|_| self.repeats()).min()
    }
}
