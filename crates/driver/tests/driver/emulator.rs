//! Emulated links between real sockets.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_driver::Handle;
use anabranch_driver::emulator::{
    Direction, EmulatedLink, EmulatedLinkStats, Emulator, EmulatorConfig, EmulatorError,
};
use anabranch_netsim::{LinkConfig, QueueLimit};
use anabranch_sansio::{Ecn, FourTuple, Rate, Transmit};

use crate::probe::{Arrived, Probe, addr, datagram, echo, is_free, probe, soon, until};

fn config(target: SocketAddr, link: LinkConfig) -> EmulatorConfig {
    let listen = addr(if target.is_ipv4() { "127.0.0.1:0" } else { "[::1]:0" });
    let link =
        EmulatedLink { name: "wifi".to_owned(), listen, target, up: link.clone(), down: link };
    EmulatorConfig { links: vec![link], seed: 7 }
}

fn wifi(emulator: &Emulator) -> EmulatedLinkStats {
    emulator.stats().swap_remove(0)
}

/// A client, an emulated link and an echo behind it.
struct Chain {
    client: Handle<Probe>,
    local: SocketAddr,
    emulator: Emulator,
    entrance: SocketAddr,
    server: Handle<Probe>,
}

impl Chain {
    fn new(loopback: &str, link: LinkConfig) -> Self {
        let (server, at) = echo(&[loopback]);
        let emulator = Emulator::spawn(config(at[0], link)).expect("free ports");
        let entrance = emulator.listens_at("wifi").expect("the only link");
        let (client, locals) = probe(&[loopback]);
        Self { client, local: locals[0], emulator, entrance, server }
    }

    fn send(&self, bytes: &[u8]) {
        self.client.with(|machine, _| machine.send(self.local, self.entrance, bytes));
    }
}

#[tokio::test]
async fn all_data_cross_a_link_without_loss_in_order() {
    let link = LinkConfig {
        rate: Some(Rate::mbps(200)),
        delay: Duration::from_millis(2),
        jitter: Duration::from_millis(1),
        queue: QueueLimit::Packets(2_000),
        ..LinkConfig::default()
    };
    let chain = Chain::new("127.0.0.1:0", link);
    // A new client's first packet opens its way.
    chain.send(b"hello");
    assert_eq!(datagram(&chain.client).await.1, b"hello");
    let bytes: Vec<u8> = (0..1_000_u64).flat_map(u64::to_be_bytes).collect();
    chain.client.with(|machine, _| {
        machine.send_segments(chain.local, chain.entrance, &bytes, Some(8));
    });
    for expected in bytes.chunks(8) {
        let (path, got) = datagram(&chain.client).await;
        assert_eq!(got, expected);
        assert_eq!(path, FourTuple::new(chain.local, chain.entrance));
    }
    let stats = wifi(&chain.emulator);
    assert_eq!((stats.up.delivered.packets, stats.down.delivered.packets), (1_001, 1_001));
    assert_eq!((stats.clients, stats.refused, stats.strangers), (1, 0, 0));
    assert_eq!(stats.lateness.packets, 2_002);
}

#[tokio::test]
async fn a_cut_link_passes_nothing_until_it_is_restored() {
    let chain = Chain::new("127.0.0.1:0", LinkConfig::default());
    chain.send(b"before");
    assert_eq!(datagram(&chain.client).await.1, b"before");
    chain.emulator.cut("wifi").unwrap();
    assert!(!wifi(&chain.emulator).is_up);
    chain.send(b"lost");
    until(|| wifi(&chain.emulator).up.dropped.cut.packets == 1).await;
    chain.emulator.restore("wifi").unwrap();
    chain.send(b"after");
    assert_eq!(datagram(&chain.client).await.1, b"after");
    assert_eq!(datagram(&chain.server).await.1, b"before");
    assert_eq!(datagram(&chain.server).await.1, b"after");
}

#[tokio::test]
async fn a_rebound_link_is_entered_by_the_same_address_and_left_by_another() {
    let chain = Chain::new("127.0.0.1:0", LinkConfig::default());
    let mut sources = Vec::new();
    for text in ["before", "after"] {
        chain.send(text.as_bytes());
        assert_eq!(datagram(&chain.client).await.1, text.as_bytes());
        sources.push(datagram(&chain.server).await.0.remote);
        chain.emulator.rebind("wifi").unwrap();
    }
    assert_ne!(sources[0], sources[1]);
    assert!(chain.emulator.rebind("lan").is_err());
}

#[tokio::test]
async fn no_packet_is_faster_than_its_link() {
    let delay = Duration::from_millis(20);
    let chain = Chain::new("127.0.0.1:0", LinkConfig::default());
    let slow = LinkConfig { delay, ..LinkConfig::default() };
    chain.emulator.reconfigure("wifi", Direction::Up, slow.clone()).unwrap();
    assert_eq!(wifi(&chain.emulator).up_config, slow);
    let start = chain.client.clock().now();
    chain.send(b"ping");
    datagram(&chain.client).await;
    assert!(chain.client.clock().now() - start >= delay);
}

#[tokio::test]
async fn ipv6_crosses_and_marks_pass() {
    let chain = Chain::new("[::1]:0", LinkConfig::default());
    let path = FourTuple::new(chain.local, chain.entrance);
    let marked = Transmit { ecn: Some(Ecn::Ect0), ..Transmit::datagram(path) };
    chain.client.with(|machine, _| machine.outbox.push_back((marked, b"marked".to_vec())));
    let expected = Arrived::Datagram { path, ecn: Some(Ecn::Ect0), bytes: b"marked".to_vec() };
    assert_eq!(soon(chain.client.next_event()).await, Some(expected));
}

#[tokio::test]
async fn several_clients_share_a_link_and_get_their_own_replies() {
    let chain = Chain::new("127.0.0.1:0", LinkConfig::default());
    let (others, locals) = probe(&["127.0.0.1:0", "127.0.0.2:0", "127.0.0.3:0"]);
    for local in &locals {
        let text = local.to_string();
        others.with(|machine, _| machine.send(*local, chain.entrance, text.as_bytes()));
    }
    for _ in &locals {
        let (path, bytes) = datagram(&others).await;
        assert_eq!(bytes, path.local.to_string().as_bytes());
    }
    assert_eq!(wifi(&chain.emulator).clients, 3);
}

#[tokio::test]
async fn a_dropped_emulator_frees_its_port() {
    let chain = Chain::new("127.0.0.1:0", LinkConfig::default());
    let Chain { emulator, entrance, .. } = chain;
    drop(emulator);
    is_free(entrance).await;
}

#[tokio::test]
async fn a_port_in_use_and_an_unknown_link_are_named() {
    let chain = Chain::new("127.0.0.1:0", LinkConfig::default());
    let mut again = config(addr("127.0.0.1:9"), LinkConfig::default());
    again.links[0].listen = chain.entrance;
    let error = Emulator::spawn(again).unwrap_err();
    assert!(matches!(error, EmulatorError::Listen { .. }));
    assert!(error.to_string().starts_with("link wifi: port "), "{error}");
    let error = chain.emulator.cut("mobile").unwrap_err();
    assert_eq!(error.to_string(), "there is no link mobile; there is wifi");
}
