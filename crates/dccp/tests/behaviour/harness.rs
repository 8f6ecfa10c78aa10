//! [`Duo`]: a client and a server over one path.

use std::path::PathBuf;
use std::time::Duration;

use anabranch_dccp::wire::ServiceCode;
use anabranch_dccp::{
    CloseReason, Config, Connection, ConnectionId, Encapsulation, Endpoint, EndpointConfig, Event,
    Stats,
};
use anabranch_interop::{Examination, examine_dccp, examine_dccp_of_udp};
use anabranch_netsim::{
    CLIENT, Capture, CaptureScope, Carrier, DuplexConfig, HostId, Hostility, LinkConfig, Loss,
    Pair, QueueLimit, SERVER, Side,
};
use anabranch_sansio::{Rate, Time};
use bytes::Bytes;

/// The server's port, and the client's.
pub(crate) const PORTS: (u16, u16) = (40_000, 5_001);
pub(crate) const SERVICE: ServiceCode = ServiceCode(0x616e_6162);

/// A client that sends and a server that reads at once.
pub(crate) struct Duo {
    pub(crate) pair: Pair<Endpoint>,
    pub(crate) client: Option<ConnectionId>,
    pub(crate) server: Option<ConnectionId>,
    pub(crate) client_events: Vec<Event>,
    pub(crate) server_events: Vec<Event>,
    /// What the server read, and what the client read.
    pub(crate) received: [Vec<Bytes>; 2],
    /// Bytes of data that the server read.
    pub(crate) count: u64,
    pub(crate) server_reads: bool,
}

/// A link of this rate and round-trip time with a queue of one bandwidth-delay product.
pub(crate) fn link(mbps: f64, rtt_ms: u64, loss: f64) -> LinkConfig {
    let (rate, rtt) = (Rate::bps((mbps * 1e6) as u64), Duration::from_millis(rtt_ms));
    LinkConfig {
        rate: Some(rate),
        delay: rtt / 2,
        queue: QueueLimit::lasting(rtt, rate),
        loss: Loss::uniform(loss),
        ..LinkConfig::default()
    }
}

/// Losses hit what the client sends only.
pub(crate) fn one_way(link: LinkConfig) -> DuplexConfig {
    DuplexConfig { backward: LinkConfig { loss: Loss::None, ..link.clone() }, forward: link }
}

pub(crate) fn endpoint_config() -> EndpointConfig {
    EndpointConfig { encapsulation: Encapsulation::Ip, ..EndpointConfig::default() }
}

impl Duo {
    pub(crate) fn new(seed: u64, link: impl Into<DuplexConfig>, config: &Config) -> Self {
        Self::with(seed, link, &endpoint_config(), config)
    }

    /// A listening server.
    pub(crate) fn with(
        seed: u64,
        link: impl Into<DuplexConfig>,
        endpoint: &EndpointConfig,
        config: &Config,
    ) -> Self {
        let mut pair = Pair::new(seed, &[link.into()], |side, _, rng| {
            let mut made = Endpoint::new(endpoint.clone(), rng);
            if side == Side::Server {
                made.listen(PORTS.1, vec![SERVICE], config.clone());
            }
            made
        });
        if endpoint.encapsulation == Encapsulation::Ip {
            pair.set_carrier(Carrier::Dccp);
        }
        Self {
            pair,
            client: None,
            server: None,
            client_events: Vec::new(),
            server_events: Vec::new(),
            received: [Vec::new(), Vec::new()],
            count: 0,
            server_reads: true,
        }
    }

    pub(crate) fn begin(&mut self, config: &Config) {
        self.begin_as(SERVICE, config);
    }

    pub(crate) fn begin_as(&mut self, service_code: ServiceCode, config: &Config) {
        let path = self.pair.paths()[0].addresses;
        let connect = |client: &mut Endpoint, now: Time| {
            client.connect(now, path, PORTS, service_code, config.clone()).expect("a connection")
        };
        self.client = Some(self.pair.act_client(connect).expect("machines that behave"));
    }

    /// Runs until both ends are connected.
    pub(crate) fn connect(&mut self, config: &Config) {
        self.begin(config);
        self.run_for(Duration::from_secs(10));
        let connected = [&self.client_events, &self.server_events];
        assert!(connected.iter().all(|events| events.contains(&Event::Connected)), "{connected:?}");
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.pair.now() + span;
        let Self { pair, server, client_events, server_events, received, count, .. } = self;
        let server_reads = self.server_reads;
        pair.sim
            .run_to_with(end, |sim, host, (id, event)| {
                let is_client = host == CLIENT;
                if is_client {
                    client_events.push(event);
                } else {
                    *server = Some(id);
                    server_events.push(event);
                }
                if !is_client && !server_reads {
                    return;
                }
                let read = |endpoint: &mut Endpoint, _| {
                    let mut data = Vec::new();
                    if let Some(connection) = endpoint.connection_mut(id) {
                        data.extend(std::iter::from_fn(|| connection.receive()));
                    }
                    data
                };
                let data = sim.act(host, read).expect("machines that behave");
                if !is_client {
                    *count += data.iter().map(|data| data.len() as u64).sum::<u64>();
                }
                received[usize::from(is_client)].extend(data);
            })
            .expect("machines that behave");
    }

    /// Acts on one end's connection.
    pub(crate) fn act<T>(
        &mut self,
        host: HostId,
        action: impl FnOnce(&mut Connection, Time) -> T,
    ) -> T {
        let id = if host == CLIENT { self.client } else { self.server }.expect("a connection");
        let act = |endpoint: &mut Endpoint, now: Time| {
            action(endpoint.connection_mut(id).expect("a connection"), now)
        };
        self.pair.sim.act(host, act).expect("machines that behave")
    }

    pub(crate) fn send(&mut self, host: HostId, data: &'static [u8]) {
        self.act(host, |end, _| end.send(Bytes::from_static(data))).expect("an open connection");
    }

    pub(crate) fn harass(&mut self, hostility: Hostility) {
        self.pair.harass(0, hostility);
    }

    /// Keeps the client busy with datagrams of `len` bytes, and returns how many Mbit/s of data the
    /// server read.
    pub(crate) fn saturate(&mut self, len: usize, span: Duration) -> f64 {
        let data = Bytes::from(vec![0x5a; len]);
        let (end, before) = (self.pair.now() + span, self.count);
        while self.pair.now() < end {
            self.act(CLIENT, |client, _| while client.send(data.clone()).is_ok() {});
            self.run_for(Duration::from_millis(5));
            self.received[0].clear();
        }
        (self.count - before) as f64 * 8.0 / span.as_secs_f64() / 1e6
    }

    pub(crate) fn stats(&self, host: HostId) -> Stats {
        let id = if host == CLIENT { self.client } else { self.server };
        let connection = self.pair.sim.machine(host).connection(id.expect("a connection"));
        connection.expect("a connection").stats()
    }

    pub(crate) fn closed(&self, host: HostId) -> Option<CloseReason> {
        let events = if host == CLIENT { &self.client_events } else { &self.server_events };
        events.iter().find_map(
            |event| {
                if let Event::Closed(reason) = event { Some(*reason) } else { None }
            },
        )
    }

    /// Without UDP where there is one: tshark does not know DCCP in it.
    pub(crate) fn capture(&mut self, name: &str) -> Capture<Vec<u8>> {
        self.pair.set_carrier(Carrier::Dccp);
        self.pair.sim.capture(CaptureScope::AllLinks, name, Vec::new()).expect("memory")
    }
}

/// What tshark says about a capture.
pub(crate) fn examined(
    name: &str,
    capture: Capture<Vec<u8>>,
    encapsulation: Encapsulation,
) -> Examination {
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    std::fs::write(&file, capture.finish().expect("memory")).expect("the target folder");
    let found = match encapsulation {
        Encapsulation::Ip => examine_dccp(&file),
        Encapsulation::Udp => examine_dccp_of_udp(&file),
    };
    found.expect("tshark reads it")
}

/// Both hosts.
pub(crate) const BOTH: [HostId; 2] = [CLIENT, SERVER];
