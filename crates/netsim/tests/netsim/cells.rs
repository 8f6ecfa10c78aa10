//! Cells in a network, as links like any other.

use std::net::IpAddr;
use std::sync::{Arc, Mutex};

use anabranch_netsim::{
    Carrier, CellConfig, DropCause, DuplexConfig, Element, LinkConfig, Loss, Medium, Network,
    Observer, Packet, QueueLimit, Sighting, WifiConfig, WifiStandard,
};
use anabranch_sansio::{FourTuple, Rng, Time};

const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(198, 51, 100, 1));

fn station(number: u8) -> IpAddr {
    IpAddr::from([192, 168, 1, number])
}

/// A link in the cell of this name, or in one of its own.
fn link(cell: Option<&str>) -> LinkConfig {
    let medium = Medium::Wifi(WifiConfig::new(WifiStandard::G));
    let cell = CellConfig { name: cell.map(str::to_owned), ..medium.clone().into() };
    LinkConfig { cell: Some(cell), ..medium.link() }
}

fn packet(source: IpAddr, destination: IpAddr) -> Packet {
    let path = FourTuple::new((source, 1_000).into(), (destination, 2_000).into());
    Packet::new(path, Carrier::Udp, vec![0; 1_472])
}

/// All that arrives: from whom, and after how many microseconds.
fn run(network: &mut Network) -> Vec<(IpAddr, u64)> {
    let mut out = Vec::new();
    while let Some(at) = network.poll_timeout() {
        let arrived = network.poll_packet(at);
        out.extend(arrived.map(|packet| (packet.path.local.ip(), at.as_micros())));
    }
    out
}

/// Two stations send a packet each, the second while the first is on the air.
fn two_stations(cells: [Option<&str>; 2]) -> Vec<(IpAddr, u64)> {
    let mut network = Network::new(Rng::from_u64(1));
    for (number, cell) in (1..).zip(cells) {
        let name = format!("station {number}");
        network.connect(&name, (station(number), SERVER), link(cell)).expect("a good route");
    }
    network.handle_packet(Time::ZERO, packet(station(1), SERVER));
    network.handle_packet(Time::from_micros(100), packet(station(2), SERVER));
    run(&mut network)
}

#[test]
fn links_of_one_cell_share_the_air_and_those_of_two_do_not() {
    let apart = [(station(1), 254), (station(2), 100 + 254)];
    assert_eq!(two_stations([Some("home"), Some("office")]), apart);
    assert_eq!(two_stations([None, None]), apart);
    let together = two_stations([Some("home"), Some("home")]);
    assert_eq!(together[0], apart[0]);
    assert!(together[1].1 >= 254 + 44 + 28 + 254, "{together:?}");
}

#[test]
fn both_directions_of_a_station_share_the_air() {
    let mut network = Network::new(Rng::from_u64(1));
    network.connect("wifi", (station(1), SERVER), link(None)).expect("a good route");
    network.handle_packet(Time::ZERO, packet(station(1), SERVER));
    network.handle_packet(Time::from_micros(100), packet(SERVER, station(1)));
    assert!(run(&mut network)[1].1 >= 254 + 44 + 28 + 254);
    // Back over a wire, nothing waits.
    let mut network = Network::new(Rng::from_u64(1));
    let config = DuplexConfig { forward: link(None), backward: LinkConfig::default() };
    network.connect("wifi", (station(1), SERVER), config).expect("a good route");
    network.handle_packet(Time::ZERO, packet(station(1), SERVER));
    network.handle_packet(Time::from_micros(100), packet(SERVER, station(1)));
    assert_eq!(run(&mut network), [(SERVER, 100), (station(1), 254)]);
}

/// Notes the name of the element and the cause of each loss.
#[derive(Clone, Default)]
struct Losses(Arc<Mutex<Vec<DropCause>>>);

impl Observer for Losses {
    fn observe(&mut self, _: Time, sighting: Sighting<'_>) {
        if let Sighting::Dropped { cause, .. } = sighting {
            self.0.lock().expect("one thread").push(cause);
        }
    }
}

#[test]
fn observers_learn_why_a_packet_was_lost_in_a_cell() {
    let mut network = Network::new(Rng::from_u64(1));
    let lossy = LinkConfig { queue: QueueLimit::Packets(1), ..link(None) };
    let deaf = LinkConfig { loss: Loss::uniform(1.0), ..lossy };
    let links = network.connect("wifi", (station(1), SERVER), deaf).expect("a good route");
    let losses = Losses::default();
    network.add_observer(losses.clone());
    for _ in 0..2 {
        network.handle_packet(Time::ZERO, packet(station(1), SERVER));
    }
    network.handle_packet(Time::from_micros(9), packet(station(1), SERVER));
    assert_eq!(run(&mut network), []);
    network.cut(Time::from_secs(1), links.forward);
    network.handle_packet(Time::from_secs(1), packet(station(1), SERVER));
    use DropCause::{Cut, Queue, Retries};
    assert_eq!(*losses.0.lock().expect("one thread"), [Queue, Retries, Retries, Cut]);
    let stats = network.link(links.forward).stats();
    assert_eq!((stats.dropped.retries.packets, stats.repeated), (2, 12));
}

#[test]
fn a_cell_of_a_seed_runs_the_same_again() {
    let arrivals = |seed| {
        let mut network = Network::new(Rng::from_u64(seed));
        for number in 1..4 {
            let name = format!("station {number}");
            let config = LinkConfig { loss: Loss::uniform(0.1), ..link(Some("home")) };
            network.connect(&name, (station(number), SERVER), config).expect("a good route");
        }
        for n in 0..300_u64 {
            let number = 1 + (n % 3) as u8;
            network.handle_packet(Time::from_micros(n * 100), packet(station(number), SERVER));
        }
        run(&mut network)
    };
    assert_eq!(arrivals(9), arrivals(9));
    assert_ne!(arrivals(9), arrivals(10));
}
