//! [`DccpTransport`]: sessions over DCCP.

mod config;
mod flight;
mod frame;
mod inbox;
mod path;
mod queue;
mod ranges;
mod trunk;

use std::collections::{BTreeMap, VecDeque};
use std::time::Duration;

use anabranch_dccp::wire::ServiceCode;
use anabranch_dccp::{self as dccp, Endpoint, EndpointConfig};
pub use anabranch_dccp::{CONNECTIONS_MAX, Connections};
use anabranch_sansio::{
    Datagram, FourTuple, Machine, Rng, Time, TraceLog, TraceRecord, Transmit, Wakeup,
};

use crate::{ConnectError, Connection, ConnectionId, Event, StrangerStats, Transport};
pub use config::DccpConfig;
use frame::Frame;
use trunk::Trunk;

/// DCCP's own port of a listener, inside UDP.
pub const DCCP_PORT: u16 = 9_900;

/// What a listener offers: RFC 5595's "SC:anab".
const SERVICE: ServiceCode = ServiceCode(0x616e_6162);

/// Paths that a connection may have.
const PATHS_MAX: usize = 16;

/// How long a DCCP connection may take to say to whom it belongs.
const JOIN_TIMEOUT: Duration = Duration::from_secs(5);

/// Names of connections that have ended, which nobody may take again.
const ENDED_MAX: usize = 64;

/// Media over DCCP (RFC 4340) in UDP (RFC 6773): each peer over several DCCP connections.
///
/// Messages that may be given up are sent once; reliable ones are repeated until they are
/// acknowledged. Order is kept among those of a stream that are repeated; the others come as they
/// come.
#[derive(Debug)]
pub struct DccpTransport {
    config: DccpConfig,
    endpoint: Endpoint,
    rng: Rng,
    trunks: BTreeMap<ConnectionId, Trunk>,
    owners: BTreeMap<dccp::ConnectionId, ConnectionId>,
    /// DCCP connections that have not said to whom they belong, and until when they must.
    newcomers: BTreeMap<dccp::ConnectionId, Time>,
    ended: VecDeque<u64>,
    next_id: u64,
    malformed: u64,
    records: TraceLog,
}

impl DccpTransport {
    /// A transport without connections. The generator must be unpredictable on real networks.
    #[must_use]
    pub fn new(config: DccpConfig, mut rng: Rng) -> Self {
        let endpoint_config = EndpointConfig {
            connections_max: config.endpoint_connections_max(),
            // Who does not receive what it asks for takes no place of those who do.
            init_cookies: true,
            ..EndpointConfig::default()
        };
        let mut endpoint = Endpoint::new(endpoint_config, rng.fork());
        if config.listen {
            endpoint.listen(DCCP_PORT, vec![SERVICE], config.connection());
        }
        Self {
            config,
            endpoint,
            rng,
            trunks: BTreeMap::new(),
            owners: BTreeMap::new(),
            newcomers: BTreeMap::new(),
            ended: VecDeque::new(),
            next_id: 0,
            malformed: 0,
            records: TraceLog::default(),
        }
    }

    /// Whether it takes calls.
    #[must_use]
    pub const fn listens(&self) -> bool {
        self.config.listen
    }

    fn new_id(&mut self) -> ConnectionId {
        self.next_id += 1;
        ConnectionId(self.next_id)
    }

    /// Does what packets, time and the user have brought about.
    fn turn(&mut self, now: Time) {
        self.take_records();
        self.take_dccp_events(now);
        for id in self.trunks.keys().copied().collect::<Vec<_>>() {
            if let Some(trunk) = self.trunks.get_mut(&id) {
                trunk.turn(now, &mut self.endpoint);
            }
            self.note_owner(id);
        }
        self.trunks.retain(|_, trunk| !trunk.is_gone());
        let late = self.newcomers.iter().filter(|(_, until)| **until <= now);
        for id in late.map(|(id, _)| *id).collect::<Vec<_>>() {
            self.turn_away(now, id);
        }
    }

    /// Connections that a trunk has opened are its own; one that is over owns none.
    fn note_owner(&mut self, id: ConnectionId) {
        let Some(trunk) = self.trunks.get(&id) else { return };
        for connection in trunk.connections() {
            self.owners.insert(connection, id);
        }
        if trunk.is_over() && !self.ended.contains(&trunk.name()) {
            self.ended.push_back(trunk.name());
            if self.ended.len() > ENDED_MAX {
                self.ended.pop_front();
            }
        }
    }

    /// Takes what DCCP connections recorded, as long as it is known to whom they belong.
    fn take_records(&mut self) {
        while let Some(record) = self.endpoint.poll_trace() {
            let is_it = |id: &dccp::ConnectionId| record.connection == Some(id.number());
            let owner =
                self.owners.iter().find(|(id, _)| is_it(id)).map(|(id, owner)| (*id, *owner));
            let trunk = owner.and_then(|(id, owner)| Some((id, self.trunks.get(&owner)?)));
            let member = trunk.and_then(|(id, trunk)| {
                let number = trunk.member_of(id)?;
                Some((trunk.path_of(number)?, number))
            });
            let record = TraceRecord { connection: owner.map(|(_, owner)| owner.0), ..record };
            self.records.push(|| match member {
                Some((path, number)) => record.with("path", path).with("member", number),
                None => record,
            });
        }
    }

    fn take_dccp_events(&mut self, now: Time) {
        while let Some((connection, event)) = self.endpoint.poll_event() {
            match event {
                dccp::Event::Connected => self.on_connected(now, connection),
                dccp::Event::Readable => self.on_readable(now, connection),
                dccp::Event::Closed(reason) => self.on_closed(now, connection, reason),
                // No end of ours does so; nothing could be sent by it any more.
                dccp::Event::PeerStoppedListening => self.turn_away(now, connection),
                // Of what fits into a packet, one waits at a time.
                dccp::Event::Writable => {}
                _ => {}
            }
        }
    }

    fn on_connected(&mut self, now: Time, connection: dccp::ConnectionId) {
        let Some(id) = self.owners.get(&connection).copied() else {
            self.newcomers.insert(connection, now + JOIN_TIMEOUT);
            return;
        };
        if let Some(trunk) = self.trunks.get_mut(&id)
            && let Some(member) = trunk.member_of(connection)
        {
            trunk.on_connected(now, &mut self.endpoint, member);
        }
        self.note_owner(id);
    }

    fn on_readable(&mut self, now: Time, connection: dccp::ConnectionId) {
        while let Some(bytes) =
            self.endpoint.connection_mut(connection).and_then(dccp::Connection::receive)
        {
            let len = bytes.len();
            let Some(frame) = Frame::decode(bytes) else {
                self.malformed += 1;
                continue;
            };
            if self.newcomers.contains_key(&connection) {
                self.on_newcomer(now, connection, &frame);
            }
            let Some(id) = self.owners.get(&connection) else { continue };
            if let Some(trunk) = self.trunks.get_mut(id)
                && let Some(member) = trunk.member_of(connection)
            {
                trunk.on_frame(now, &mut self.endpoint, member, (frame, len));
            }
        }
    }

    /// A DCCP connection says to whom it belongs.
    fn on_newcomer(&mut self, now: Time, connection: dccp::ConnectionId, frame: &Frame) {
        let tuple = self.endpoint.connection(connection).map(dccp::Connection::path);
        let Some((join, tuple)) = frame.join.as_ref().zip(tuple) else {
            return self.turn_away(now, connection);
        };
        let known = self.trunks.iter().find(|(_, trunk)| trunk.name() == join.trunk);
        let is_full = self.trunks.len() >= self.config.trunks_max;
        let id = match known.map(|(id, _)| *id) {
            Some(id) => id,
            None if join.is_first && !is_full && !self.ended.contains(&join.trunk) => {
                let id = self.new_id();
                let mut trunk = Trunk::new(now, self.config.clone(), join.trunk, false);
                trunk.set_tracing(self.records.is_on());
                trunk.is_automatic = join.is_automatic;
                self.trunks.insert(id, trunk);
                id
            }
            None => return self.turn_away(now, connection),
        };
        let Some(trunk) = self.trunks.get_mut(&id) else { return };
        if trunk.join(now, &mut self.endpoint, (connection, tuple), join) {
            self.newcomers.remove(&connection);
            self.owners.insert(connection, id);
        } else {
            self.turn_away(now, connection);
        }
    }

    fn turn_away(&mut self, now: Time, connection: dccp::ConnectionId) {
        self.newcomers.remove(&connection);
        if let Some(connection) = self.endpoint.connection_mut(connection) {
            connection.abort(now);
        }
    }

    fn on_closed(&mut self, now: Time, connection: dccp::ConnectionId, reason: dccp::CloseReason) {
        self.on_readable(now, connection);
        self.newcomers.remove(&connection);
        let Some(id) = self.owners.remove(&connection) else { return };
        if let Some(trunk) = self.trunks.get_mut(&id)
            && let Some(member) = trunk.member_of(connection)
        {
            trunk.on_closed(now, &mut self.endpoint, member, reason);
        }
    }
}

impl Transport for DccpTransport {
    fn connect(&mut self, now: Time, paths: &[FourTuple]) -> Result<ConnectionId, ConnectError> {
        let name = self.rng.next_u64();
        let mut trunk = Trunk::new(now, self.config.clone(), name, true);
        trunk.set_tracing(self.records.is_on());
        if paths.is_empty() {
            let reason = "there is no path to the other end: give one".to_owned();
            return Err(ConnectError { reason });
        }
        for path in paths {
            trunk.open(now, &mut self.endpoint, *path)?;
        }
        let id = self.new_id();
        self.trunks.insert(id, trunk);
        self.note_owner(id);
        Ok(id)
    }

    fn connection(&self, id: ConnectionId) -> Option<&dyn Connection> {
        self.trunks.get(&id).map(|trunk| trunk as &dyn Connection)
    }

    fn connection_mut(&mut self, id: ConnectionId) -> Option<&mut dyn Connection> {
        self.trunks.get_mut(&id).map(|trunk| trunk as &mut dyn Connection)
    }

    fn forget(&mut self, id: ConnectionId) {
        let Some(trunk) = self.trunks.remove(&id) else { return };
        for connection in trunk.connections() {
            self.owners.remove(&connection);
            self.endpoint.forget(connection);
        }
    }

    fn connections(&self) -> usize {
        self.trunks.values().filter(|trunk| !trunk.is_over()).count()
    }

    fn strangers(&self) -> StrangerStats {
        let stats = self.endpoint.stats();
        StrangerStats {
            malformed: stats.malformed + self.malformed,
            unknown: stats.unknown,
            calls_answered: stats.cookies_sent,
            calls_refused: stats.refused,
            cookies_forged: stats.cookies_refused,
            replies_suppressed: stats.replies_suppressed,
            ..StrangerStats::default()
        }
    }
}

impl Machine for DccpTransport {
    type Event = (ConnectionId, Event);

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.endpoint.handle_datagram(now, datagram);
        self.turn(now);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.endpoint.handle_timeout(now);
        // Of those that a path opened anew has dropped, nothing more is heard.
        let Self { owners, endpoint, .. } = self;
        owners.retain(|connection, _| endpoint.connection(*connection).is_some());
        self.turn(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.turn(now);
        loop {
            if let Some(transmit) = self.endpoint.poll_transmit(now, buf) {
                return Some(transmit);
            }
            let mut fed = false;
            for trunk in self.trunks.values_mut() {
                fed |= trunk.feed(now, &mut self.endpoint);
            }
            if !fed {
                return None;
            }
        }
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let trunks = self.trunks.values().filter_map(|trunk| trunk.poll_timeout(&self.endpoint));
        let newcomers = self.newcomers.values();
        let newcomers = newcomers.map(|at| Wakeup { at: *at, why: "word to whom it belongs" });
        trunks.chain(newcomers).chain(self.endpoint.poll_timeout()).min()
    }

    fn poll_event(&mut self) -> Option<Self::Event> {
        let mut trunks = self.trunks.iter_mut();
        trunks.find_map(|(id, trunk)| Some((*id, trunk.poll_event()?)))
    }

    fn set_tracing(&mut self, on: bool) {
        self.records.set(on);
        self.endpoint.set_tracing(on);
        self.trunks.values_mut().for_each(|trunk| trunk.set_tracing(on));
    }

    fn poll_trace(&mut self) -> Option<TraceRecord> {
        if !self.records.is_on() {
            return None;
        }
        self.take_records();
        let mut trunks = self.trunks.iter_mut();
        self.records.pop().or_else(|| {
            trunks.find_map(|(id, trunk)| {
                Some(TraceRecord { connection: Some(id.0), ..trunk.poll_trace()? })
            })
        })
    }
}
