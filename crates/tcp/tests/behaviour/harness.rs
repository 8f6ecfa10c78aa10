//! [`Duo`]: two ends over one path.

use std::time::Duration;

use anabranch_netsim::{
    CLIENT, Carrier, Hostility, LinkConfig, Loss, Pair, QueueLimit, SERVER, Side,
};
use anabranch_sansio::{Rate, Time};
use anabranch_tcp::{Config, Connection, Event, SendError, Stats};
use bytes::Bytes;

/// A client that sends and a server that reads at once.
pub(crate) struct Duo {
    pub(crate) pair: Pair<Connection>,
    /// What the server read.
    pub(crate) received: Vec<u8>,
    /// Bytes that the server read; those of [`Duo::saturate`] are not kept.
    pub(crate) count: u64,
    pub(crate) client_events: Vec<Event>,
    pub(crate) server_events: Vec<Event>,
    pub(crate) server_reads: bool,
}

/// A link of this rate and round-trip time with a queue of one bandwidth-delay product.
pub(crate) fn link(mbps: u64, rtt_ms: u64, loss: f64) -> LinkConfig {
    let (rate, rtt) = (Rate::mbps(mbps), Duration::from_millis(rtt_ms));
    LinkConfig {
        rate: Some(rate),
        delay: rtt / 2,
        queue: QueueLimit::lasting(rtt, rate),
        loss: Loss::uniform(loss),
        ..LinkConfig::default()
    }
}

impl Duo {
    /// Losses hit both directions.
    pub(crate) fn new(seed: u64, link: LinkConfig, client: Config, server: Config) -> Self {
        Self::over(seed, link.clone(), link, client, server)
    }

    /// Losses hit data only.
    pub(crate) fn one_way(seed: u64, link: LinkConfig, config: Config) -> Self {
        let back = LinkConfig { loss: Loss::None, ..link.clone() };
        Self::over(seed, link, back, config.clone(), config)
    }

    pub(crate) fn over(
        seed: u64,
        forward: LinkConfig,
        backward: LinkConfig,
        client: Config,
        server: Config,
    ) -> Self {
        let links = [anabranch_netsim::DuplexConfig { forward, backward }];
        let mut pair = Pair::new(seed, &links, |side, paths, rng| match side {
            Side::Client => Connection::client(client.clone(), paths[0], rng),
            Side::Server => Connection::listener(server.clone(), paths[0], rng),
        });
        pair.set_carrier(Carrier::Tcp);
        Self {
            pair,
            received: Vec::new(),
            count: 0,
            client_events: Vec::new(),
            server_events: Vec::new(),
            server_reads: true,
        }
    }

    pub(crate) fn connect(&mut self) {
        self.begin();
        self.run_for(Duration::from_secs(10));
        assert!(self.pair.client().is_connected() && self.pair.server().is_connected());
    }

    pub(crate) fn begin(&mut self) {
        self.pair.act_client(|client, now| client.connect(now)).expect("machines that behave");
    }

    pub(crate) fn send(&mut self, bytes: &[u8]) -> Result<(), SendError> {
        let bytes = Bytes::copy_from_slice(bytes);
        self.pair.act_client(|client, now| client.send(now, bytes)).expect("machines that behave")
    }

    /// Runs, and lets the server read what arrives when it arrives.
    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.pair.now() + span;
        self.run_to(end, true);
    }

    pub(crate) fn run_to(&mut self, end: Time, keeps: bool) {
        let Self { pair, received, count, client_events, server_events, server_reads } = self;
        pair.sim
            .run_to_with(end, |sim, host, event| {
                if host == CLIENT {
                    return client_events.push(event);
                }
                server_events.push(event);
                let read = |server: &mut Connection, now| {
                    while *server_reads && let Some(data) = server.receive(now) {
                        *count += data.len() as u64;
                        if keeps {
                            received.extend(data);
                        }
                    }
                };
                sim.act(SERVER, read).expect("machines that behave");
            })
            .expect("machines that behave");
    }

    /// The server reads what it has.
    pub(crate) fn read(&mut self) {
        let read = |server: &mut Connection, now| {
            let mut data = Vec::new();
            while let Some(piece) = server.receive(now) {
                data.extend(piece);
            }
            data
        };
        let data = self.pair.act_server(read).expect("machines that behave");
        self.count += data.len() as u64;
        self.received.extend(data);
    }

    /// Keeps the client busy, and returns how many Mbit/s of payload arrived.
    pub(crate) fn saturate(&mut self, span: Duration) -> f64 {
        let payload = Bytes::from_static(&[0x5a; 1_460]);
        let (end, before) = (self.pair.now() + span, self.count);
        while self.pair.now() < end {
            self.pair
                .act_client(|client, now| while client.send(now, payload.clone()).is_ok() {})
                .expect("machines that behave");
            self.run_to(self.pair.now() + Duration::from_millis(5), false);
        }
        (self.count - before) as f64 * 8.0 / span.as_secs_f64() / 1e6
    }

    pub(crate) fn harass(&mut self, hostility: Hostility) {
        self.pair.harass(0, hostility);
    }

    pub(crate) fn stats(&self) -> Stats {
        self.pair.client().stats()
    }
}

/// Data that shows when a piece is missing, twice there or elsewhere.
pub(crate) fn pattern(len: usize) -> Vec<u8> {
    (0..len as u32).flat_map(u32::to_be_bytes).take(len).collect()
}
