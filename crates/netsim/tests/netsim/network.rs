//! Routes through elements.

use std::net::IpAddr;
use std::time::Duration;

use anabranch_netsim::{Carrier, Element, LinkConfig, Network, Packet, QueueLimit, RouteError};
use anabranch_sansio::{FourTuple, Rate, Rng, Time};

const CLIENT: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 168, 1, 2));
const OTHER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 168, 1, 3));
const PUBLIC: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(203, 0, 113, 1));
const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 1));

const MS: Duration = Duration::from_millis(1);

fn network() -> Network {
    Network::new(Rng::from_u64(1))
}

fn delay(ms: u32) -> LinkConfig {
    LinkConfig { delay: MS * ms, ..LinkConfig::default() }
}

fn packet(source: IpAddr, destination: IpAddr) -> Packet {
    let path = FourTuple::new((source, 1_000).into(), (destination, 2_000).into());
    Packet::new(path, Carrier::Udp, vec![0; 97])
}

fn run(network: &mut Network) -> Vec<(u64, Packet)> {
    let mut out = Vec::new();
    while let Some(at) = network.poll_timeout() {
        out.extend(network.poll_packet(at).map(|packet| (at.as_millis(), packet)));
    }
    out
}

#[test]
fn a_chain_of_links_adds_up() {
    let mut network = network();
    let chain = [1, 20, 300].map(|ms| network.add_link(format!("{ms} ms"), delay(ms)).into());
    network.add_route(CLIENT, SERVER, chain).expect("a good route");
    network.handle_packet(Time::ZERO, packet(CLIENT, SERVER));
    assert_eq!(run(&mut network), [(321, packet(CLIENT, SERVER))]);
    network.handle_packet(Time::from_secs(1), packet(SERVER, CLIENT));
    assert_eq!(run(&mut network), [], "a route has one direction");
    assert_eq!(network.unrouted().packets, 1);
}

#[test]
fn two_routes_share_the_rate_of_a_common_link() {
    let mut network = network();
    let rate = Some(Rate::mbps(1));
    let queue = QueueLimit::Packets(3);
    let shared = network.add_link("shared", LinkConfig { rate, queue, ..LinkConfig::default() });
    network.add_route(CLIENT, SERVER, [shared.into()]).expect("a good route");
    network.add_route(OTHER, SERVER, [shared.into()]).expect("a good route");
    for _ in 0..3 {
        network.handle_packet(Time::ZERO, packet(CLIENT, SERVER));
        network.handle_packet(Time::ZERO, packet(OTHER, SERVER));
    }
    let arrivals: Vec<_> =
        run(&mut network).iter().map(|(at, packet)| (*at, packet.path.local.ip())).collect();
    // 125 IP bytes take a millisecond; one is sent, three wait, two find no room.
    assert_eq!(arrivals, [(1, CLIENT), (2, OTHER), (3, CLIENT), (4, OTHER)]);
    assert_eq!(network.link(shared).stats().dropped.queue.packets, 2);
}

#[test]
fn a_packet_whose_address_is_rewritten_takes_the_route_of_its_new_address() {
    /// Gives all packets one source.
    struct Masquerade(Vec<Packet>);
    impl Element for Masquerade {
        fn handle_packet(&mut self, _: Time, mut packet: Packet) {
            packet.path.local.set_ip(PUBLIC);
            self.0.push(packet);
        }
        fn poll_packet(&mut self, _: Time) -> Option<Packet> {
            self.0.pop()
        }
        fn poll_timeout(&self) -> Option<Time> {
            (!self.0.is_empty()).then_some(Time::ZERO)
        }
    }
    let mut network = network();
    let inside = network.add_link("inside", delay(1)).into();
    let nat = network.add_element("NAT", Masquerade(Vec::new()));
    let outside = network.add_link("outside", delay(10)).into();
    network.add_route(CLIENT, SERVER, [inside, nat]).expect("a good route");
    network.add_route(PUBLIC, SERVER, [outside]).expect("a good route");
    network.handle_packet(Time::ZERO, packet(CLIENT, SERVER));
    assert_eq!(run(&mut network), [(11, packet(PUBLIC, SERVER))]);
}

#[test]
fn a_new_route_takes_the_place_of_the_old_one() {
    let mut network = network();
    let links = network.connect("slow", (CLIENT, SERVER), delay(50)).expect("a good route");
    assert_eq!(network.duplex("slow"), Some(links));
    assert_eq!(network.duplex("fast"), None);
    network.handle_packet(Time::ZERO, packet(CLIENT, SERVER));
    network.connect("fast", (CLIENT, SERVER), delay(5)).expect("a good route");
    network.handle_packet(Time::ZERO, packet(CLIENT, SERVER));
    let arrivals: Vec<_> = run(&mut network).iter().map(|(at, _)| *at).collect();
    assert_eq!(arrivals, [5, 55], "what leaves a link off its route goes on by the route");
}

#[test]
fn routes_that_make_no_sense_are_refused_in_words() {
    let mut network = network();
    let link = network.add_link("a", delay(1)).into();
    let v6: IpAddr = "fd00::1".parse().expect("an address");
    let mixed = network.add_route(CLIENT, v6, [link]);
    assert_eq!(mixed, Err(RouteError::Families { near: CLIENT, far: v6 }));
    assert!(network.connect("b", (v6, CLIENT), delay(1)).is_err());
    let twice = network.add_route(CLIENT, SERVER, [link, link]).expect_err("a loop");
    assert!(twice.to_string().contains("passes an element twice"), "{twice}");
    assert_eq!(network.links().count(), 1, "a refused connection leaves no links");
}
