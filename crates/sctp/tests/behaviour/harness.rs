//! Two endpoints over simulated paths, with what nearly every test asks of them.

use std::time::Duration;

use anabranch_netsim::{DuplexConfig, Hostility, LinkConfig, Loss, Pair, QueueLimit};
use anabranch_sansio::{FourTuple, Rate, Time};
use anabranch_sctp::{
    Association, AssociationConfig, AssociationId, AssociationStats, CloseReason, Endpoint,
    EndpointConfig, Event, IncomingMessage, OutgoingMessage, PathReport,
};
use anabranch_wire::StreamId;
use bytes::Bytes;

pub(crate) use anabranch_netsim::Side;

/// SCTP's own ports in all tests.
pub(crate) const PORTS: (u16, u16) = (5_000, 5_001);

/// A client that calls a listening server.
pub(crate) struct Duo {
    pub(crate) pair: Pair<Endpoint>,
    client: Option<AssociationId>,
    server: Option<AssociationId>,
    client_events: Vec<Event>,
    server_events: Vec<Event>,
    client_messages: Vec<IncomingMessage>,
    server_messages: Vec<IncomingMessage>,
    config: AssociationConfig,
    /// Whether messages are read as they come.
    pub(crate) reads: bool,
}

/// A link of 20 Mbit/s and 10 ms that loses nothing.
pub(crate) fn good_link() -> LinkConfig {
    link(20, 10, 0.0)
}

/// A link by rate, one-way delay and share of packets lost, with a queue of 100 ms.
pub(crate) fn link(mbps: u64, delay_ms: u64, loss: f64) -> LinkConfig {
    let rate = Rate::mbps(mbps);
    LinkConfig {
        rate: Some(rate),
        delay: Duration::from_millis(delay_ms),
        queue: QueueLimit::lasting(Duration::from_millis(100), rate),
        loss: Loss::uniform(loss),
        ..LinkConfig::default()
    }
}

/// A message of `len` bytes that begin with `number`.
pub(crate) fn numbered(stream: u16, number: u32, len: usize) -> OutgoingMessage {
    let mut payload = vec![number as u8; len.max(4)];
    payload[..4].copy_from_slice(&number.to_be_bytes());
    OutgoingMessage::new(StreamId(stream), Bytes::from(payload))
}

/// The number of a message made by [`numbered`].
pub(crate) fn number_of(message: &IncomingMessage) -> u32 {
    u32::from_be_bytes(message.payload[..4].try_into().expect("at least four bytes"))
}

impl Duo {
    /// Both ends with the same configuration, not yet connected.
    pub(crate) fn new(seed: u64, links: &[LinkConfig], config: AssociationConfig) -> Self {
        Self::of_two(seed, links, config.clone(), config)
    }

    /// Each end with a configuration of its own, not yet connected.
    pub(crate) fn of_two(
        seed: u64,
        links: &[LinkConfig],
        config: AssociationConfig,
        association: AssociationConfig,
    ) -> Self {
        let duplex: Vec<DuplexConfig> = links.iter().map(|link| link.clone().into()).collect();
        let pair = Pair::new(seed, &duplex, move |side, paths, rng| {
            let accept = side == Side::Server;
            let association = association.clone();
            let config = EndpointConfig { accept, association, ..EndpointConfig::default() };
            let mut endpoint = Endpoint::new(config, rng);
            endpoint.set_local_addresses(paths.iter().map(|path| path.local).collect());
            endpoint
        });
        Self {
            pair,
            client: None,
            server: None,
            client_events: Vec::new(),
            server_events: Vec::new(),
            client_messages: Vec::new(),
            server_messages: Vec::new(),
            config,
            reads: true,
        }
    }

    /// A connected pair.
    pub(crate) fn connected(seed: u64, links: &[LinkConfig], config: AssociationConfig) -> Self {
        let mut duo = Self::new(seed, links, config);
        duo.connect();
        duo.run_until(Duration::from_secs(60), |duo| {
            duo.is_established(Side::Client) && duo.is_established(Side::Server)
        });
        assert!(duo.is_established(Side::Client), "connects within a minute");
        duo
    }

    /// The client calls the server on all paths.
    pub(crate) fn connect(&mut self) {
        let paths: Vec<FourTuple> = self.pair.paths().iter().map(|path| path.addresses).collect();
        self.connect_over(&paths);
    }

    /// The client calls the server on some paths.
    pub(crate) fn connect_over(&mut self, paths: &[FourTuple]) {
        let config = self.config.clone();
        let connect = |endpoint: &mut Endpoint, now| endpoint.connect(now, paths, PORTS, config);
        self.client = Some(self.pair.act_client(connect).expect("quiet").expect("connects"));
    }

    pub(crate) fn now(&self) -> Time {
        self.pair.now()
    }

    /// Acts on one side's association, and sends what comes of it.
    pub(crate) fn act<T>(
        &mut self,
        side: Side,
        action: impl FnOnce(&mut Association, Time) -> T,
    ) -> T {
        let id = self.id(side).expect("an association");
        let action = |endpoint: &mut Endpoint, now| {
            action(endpoint.association_mut(id).expect("alive"), now)
        };
        let result = match side {
            Side::Client => self.pair.act_client(action),
            Side::Server => self.pair.act_server(action),
        };
        self.collect();
        result.expect("the machine comes to rest")
    }

    pub(crate) fn send(&mut self, side: Side, message: OutgoingMessage) {
        self.act(side, |association, now| association.send(now, message)).expect("taken");
    }

    /// Runs for a span of virtual time.
    pub(crate) fn run_for(&mut self, span: Duration) {
        self.run_until(span, |_| false);
    }

    /// Runs until `is_done` or for `limit`; returns whether it is done.
    pub(crate) fn run_until(
        &mut self,
        limit: Duration,
        mut is_done: impl FnMut(&Self) -> bool,
    ) -> bool {
        let end = self.now() + limit;
        loop {
            self.collect();
            if is_done(self) {
                return true;
            }
            match self.pair.sim.next_step_at() {
                Some(at) if at <= end => {
                    self.pair.sim.step().expect("the machines come to rest");
                }
                _ => {
                    self.pair.sim.jump_to(end);
                    return is_done(self);
                }
            }
        }
    }

    /// Runs until the association of one side is gone.
    pub(crate) fn run_until_closed(&mut self, side: Side) -> CloseReason {
        self.run_until(Duration::from_secs(3_600), |duo| duo.close_reason(side).is_some());
        self.close_reason(side).expect("closes within an hour")
    }

    /// Takes events and messages out of the machines.
    fn collect(&mut self) {
        while let Some((host, (id, event))) = self.pair.sim.poll_event() {
            if host == anabranch_netsim::CLIENT {
                self.client_events.push(event);
            } else {
                self.server = Some(id);
                self.server_events.push(event);
            }
        }
        if self.reads {
            self.read(Side::Client);
            self.read(Side::Server);
        }
    }

    /// Reads all messages of one side.
    pub(crate) fn read(&mut self, side: Side) {
        let Some(id) = self.id(side) else { return };
        let has_message =
            |endpoint: &Endpoint| endpoint.association(id).is_some_and(Association::has_message);
        let (messages, readable) = match side {
            Side::Client => (&mut self.client_messages, has_message(self.pair.client())),
            Side::Server => (&mut self.server_messages, has_message(self.pair.server())),
        };
        if !readable {
            return;
        }
        let read = |endpoint: &mut Endpoint, _| {
            let association = endpoint.association_mut(id)?;
            messages.extend(std::iter::from_fn(|| association.receive()));
            Some(())
        };
        let result = match side {
            Side::Client => self.pair.act_client(read),
            Side::Server => self.pair.act_server(read),
        };
        result.expect("the machine comes to rest");
    }

    pub(crate) fn id(&self, side: Side) -> Option<AssociationId> {
        match side {
            Side::Client => self.client,
            Side::Server => self.server,
        }
    }

    pub(crate) fn association(&self, side: Side) -> Option<&Association> {
        let id = self.id(side)?;
        match side {
            Side::Client => self.pair.client().association(id),
            Side::Server => self.pair.server().association(id),
        }
    }

    pub(crate) fn is_established(&self, side: Side) -> bool {
        self.association(side).is_some_and(Association::is_established)
    }

    pub(crate) fn stats(&self, side: Side) -> AssociationStats {
        self.association(side).expect("alive").stats()
    }

    pub(crate) fn path(&self, side: Side, index: usize) -> PathReport {
        self.stats(side).paths[index].clone()
    }

    pub(crate) fn events(&self, side: Side) -> &[Event] {
        match side {
            Side::Client => &self.client_events,
            Side::Server => &self.server_events,
        }
    }

    /// What arrived at one side so far.
    pub(crate) fn messages(&self, side: Side) -> &[IncomingMessage] {
        match side {
            Side::Client => &self.client_messages,
            Side::Server => &self.server_messages,
        }
    }

    /// The numbers of the messages that arrived at one side.
    pub(crate) fn numbers(&self, side: Side) -> Vec<u32> {
        self.messages(side).iter().map(number_of).collect()
    }

    pub(crate) fn close_reason(&self, side: Side) -> Option<CloseReason> {
        self.events(side).iter().find_map(|event| {
            let Event::Closed { reason, .. } = event else { return None };
            Some(reason.clone())
        })
    }

    /// Puts reordering, duplication and corruption in front of every path.
    pub(crate) fn harass(&mut self, hostility: Hostility) {
        for path in 0..self.pair.paths().len() {
            self.pair.harass(path, hostility);
        }
    }

    /// Keeps one side sending `len`-byte messages on stream 0 for a span; returns how many.
    pub(crate) fn saturate(&mut self, side: Side, len: usize, span: Duration) -> u32 {
        let end = self.now() + span;
        let mut number = 0;
        while self.now() < end {
            while self
                .act(side, |association, now| association.send(now, numbered(0, number, len)))
                .is_ok()
            {
                number += 1;
            }
            self.run_for(Duration::from_millis(5));
        }
        number
    }
}
