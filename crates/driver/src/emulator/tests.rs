//! The relay in virtual time.

use std::net::SocketAddr;
use std::time::Duration;

use anabranch_netsim::{LinkConfig, Loss, QueueLimit};
use anabranch_sansio::{Datagram, Ecn, FourTuple, Machine, Rate, Rng, Time, Transmit};

use super::clients::{CLIENT_IDLE_MIN, CLIENTS_PER_LINK_MAX, ClientEvent};
use super::relay::Relay;
use super::{Direction, EmulatedLink, EmulatorConfig, EmulatorError};

const DELAY: Duration = Duration::from_millis(10);

/// A relay, and the sockets that it asked for: ports from 40,000 up.
struct Bench {
    relay: Relay,
    now: Time,
    next_port: u16,
    left: Vec<SocketAddr>,
}

/// What the relay sent: the path, the marking, the datagrams.
type Sent = (FourTuple, Option<Ecn>, Vec<Vec<u8>>);

#[test]
fn a_request_and_its_reply_cross_their_links() {
    let mut bench = Bench::new(delayed());
    bench.request(client(1), b"ping");
    assert_eq!(bench.sent(), []);
    bench.advance(DELAY);
    let outside = addr("127.0.0.1:40000");
    let asked = FourTuple::new(outside, target());
    assert_eq!(bench.sent(), [(asked, None, vec![b"ping".to_vec()])]);

    bench.reply(outside, target(), b"pong");
    bench.advance(DELAY);
    let answered = FourTuple::new(listen(), client(1));
    assert_eq!(bench.sent(), [(answered, None, vec![b"pong".to_vec()])]);
}

#[test]
fn a_trace_tells_what_each_packet_met() {
    let full = LinkConfig { rate: Some(Rate::mbps(1)), queue: QueueLimit::Packets(0), ..delayed() };
    let mut bench = Bench::new(full);
    bench.relay.set_tracing(true);
    bench.request(client(1), b"arrives");
    bench.request(client(1), b"is one too many");
    bench.advance(DELAY * 2);
    bench.relay.cut(bench.now);
    bench.request(client(1), b"into the cut");
    bench.relay.restore(bench.now);
    let told: Vec<_> = std::iter::from_fn(|| bench.relay.poll_trace()).map(|it| it.name).collect();
    let (received, sent) = ("link:packet_received", "link:packet_sent");
    let (dropped, state) = ("link:packet_dropped", "link:state_updated");
    assert_eq!(told, [received, received, dropped, sent, state, received, dropped, state]);
}

#[test]
fn what_a_new_client_sends_waits_for_its_socket() {
    let mut bench = Bench::new(LinkConfig::default());
    let who = FourTuple::new(listen(), client(1));
    for text in [b"one", b"two"] {
        bench.datagram(who, None, text);
    }
    bench.run_timers();
    assert_eq!(bench.sent(), []);
    bench.open_sockets();
    bench.run_timers();
    let all = vec![b"one".to_vec(), b"two".to_vec()];
    assert_eq!(bench.sent(), [(FourTuple::new(addr("127.0.0.1:40000"), target()), None, all)]);
}

#[test]
fn each_client_has_a_port_of_its_own_and_gets_its_own_replies() {
    let mut bench = Bench::new(LinkConfig::default());
    bench.request(client(1), b"from one");
    bench.request(client(2), b"from two");
    let ports: Vec<_> = bench.sent().iter().map(|(path, ..)| path.local.port()).collect();
    assert_eq!(ports, [40_000, 40_001]);
    bench.reply(addr("127.0.0.1:40001"), target(), b"to two");
    bench.run_timers();
    assert_eq!(bench.sent()[0].0.remote, client(2));
}

#[test]
fn only_the_target_may_answer() {
    let mut bench = Bench::new(LinkConfig::default());
    bench.request(client(1), b"ping");
    bench.sent();
    bench.reply(addr("127.0.0.1:40000"), addr("127.0.0.1:666"), b"spoofed");
    bench.run_timers();
    assert_eq!(bench.sent(), []);
    assert_eq!(bench.relay.strangers, 1);
}

#[test]
fn packets_of_one_size_leave_in_one_burst_and_markings_pass() {
    let mut bench = Bench::new(delayed());
    let who = FourTuple::new(listen(), client(1));
    bench.request(client(1), &[0; 100]);
    for (len, ecn) in [(100, None), (100, None), (60, None), (60, None), (60, Some(Ecn::Ect0))] {
        bench.datagram(who, ecn, &vec![1; len]);
    }
    bench.advance(DELAY);
    let sent = bench.sent();
    let sizes: Vec<(Option<Ecn>, Vec<usize>)> = sent
        .iter()
        .map(|(_, ecn, datagrams)| (*ecn, datagrams.iter().map(Vec::len).collect()))
        .collect();
    assert_eq!(
        sizes,
        [(None, vec![100, 100, 100, 60]), (None, vec![60]), (Some(Ecn::Ect0), vec![60])]
    );
}

#[test]
fn empty_datagrams_stay_datagrams() {
    let mut bench = Bench::new(delayed());
    bench.request(client(1), b"x");
    bench.request(client(1), b"");
    bench.request(client(1), b"");
    bench.advance(DELAY);
    let sent: Vec<_> = bench.sent().into_iter().map(|(.., datagrams)| datagrams).collect();
    assert_eq!(sent, [vec![b"x".to_vec()], vec![vec![]], vec![vec![]]]);
}

#[test]
fn a_full_table_refuses_newcomers_until_someone_is_idle() {
    let mut bench = Bench::new(LinkConfig::default());
    for nth in 0..CLIENTS_PER_LINK_MAX as u16 {
        bench.request(client(nth), b"hello");
        bench.now += Duration::from_millis(1);
    }
    bench.sent();
    let newcomer = client(60_000);
    bench.request(newcomer, b"hello");
    assert_eq!(bench.sent(), []);
    assert_eq!((bench.relay.refused, bench.relay.clients.evicted), (1, 0));

    // The first speaks again; then the second is the one that is silent longest.
    bench.now = Time::ZERO + CLIENT_IDLE_MIN;
    bench.request(client(0), b"still here");
    bench.now += Duration::from_millis(1);
    bench.sent();
    bench.request(newcomer, b"hello");
    assert_eq!(bench.sent().len(), 1);
    assert_eq!(bench.left, [addr("127.0.0.1:40001")]);
    assert_eq!(bench.relay.clients.len(), CLIENTS_PER_LINK_MAX);
}

#[test]
fn a_flood_of_new_clients_asks_for_no_more_sockets_than_there_are_places() {
    let mut bench = Bench::new(LinkConfig::default());
    for nth in 0..10_000 {
        bench.datagram(FourTuple::new(listen(), client(nth)), None, b"flood");
        bench.now += CLIENT_IDLE_MIN;
    }
    assert_eq!(bench.relay.clients.events.len(), CLIENTS_PER_LINK_MAX);
    assert_eq!(bench.relay.refused, 10_000 - CLIENTS_PER_LINK_MAX as u64);
}

#[test]
fn a_client_without_a_socket_is_turned_away_and_may_come_again() {
    let mut bench = Bench::new(LinkConfig::default());
    let who = FourTuple::new(listen(), client(1));
    bench.datagram(who, None, b"lost");
    assert_eq!(bench.relay.poll_event(), Some(ClientEvent::Arrived(who)));
    bench.relay.turn_away(who);
    assert_eq!((bench.relay.refused, bench.relay.clients.len()), (1, 0));
    bench.request(client(1), b"again");
    assert_eq!(bench.sent().len(), 1);
}

#[test]
fn a_link_that_is_rebound_gives_its_clients_other_ports() {
    let mut bench = Bench::new(LinkConfig::default());
    bench.request(client(1), b"before");
    let old = bench.sent()[0].0.local;
    bench.relay.clients.rebind();
    bench.reply(old, target(), b"to nobody");
    bench.request(client(1), b"after");
    let sent: Vec<_> = bench.sent().iter().map(|(path, ..)| path.local).collect();
    assert_eq!(sent, [addr("127.0.0.1:40001")]);
    assert_eq!(bench.left, [old]);
}

#[test]
fn one_direction_can_be_changed_alone() {
    let mut bench = Bench::new(LinkConfig::default());
    let lossy = LinkConfig { loss: Loss::uniform(1.0), ..LinkConfig::default() };
    bench.relay.ways.reconfigure(bench.now, Direction::Down, lossy);
    bench.request(client(1), b"ping");
    assert_eq!(bench.sent().len(), 1);
    bench.reply(addr("127.0.0.1:40000"), target(), b"pong");
    bench.run_timers();
    assert_eq!(bench.sent(), []);
    assert_eq!(bench.relay.ways.link(Direction::Down).stats().dropped.loss.packets, 1);
}

#[test]
fn both_directions_of_a_cell_wait_for_each_other() {
    let mut bench = Bench::new(LinkConfig { loss: Loss::None, ..LinkConfig::wifi_cell() });
    bench.request(client(1), &[0; 1_200]);
    bench.advance(Duration::from_millis(5));
    let outside = bench.sent()[0].0.local;
    for _ in 0..20 {
        bench.reply(outside, target(), &[0; 1_200]);
        bench.datagram(FourTuple::new(listen(), client(1)), None, &[0; 1_200]);
    }
    bench.advance(Duration::from_millis(2));
    let early: usize = bench.sent().iter().map(|(.., datagrams)| datagrams.len()).sum();
    bench.advance(Duration::from_millis(50));
    let late: usize = bench.sent().iter().map(|(.., datagrams)| datagrams.len()).sum();
    assert!((1..40).contains(&early) && early + late == 40, "{early} and {late}");
}

#[test]
fn a_configuration_that_makes_no_sense_is_refused_in_words() {
    let link = |name: &str, listen: &str, target: &str| EmulatedLink {
        name: name.to_owned(),
        listen: addr(listen),
        target: addr(target),
        up: LinkConfig::default(),
        down: LinkConfig::default(),
    };
    let refused = |links| EmulatorConfig { links, seed: 0 }.check().unwrap_err();
    assert!(matches!(refused(vec![]), EmulatorError::NoLinks));
    let twice = vec![link("wifi", "0.0.0.0:1", "127.0.0.1:9"); 2];
    assert!(matches!(refused(twice), EmulatorError::SameName { .. }));
    let circle = vec![link("wifi", "127.0.0.1:9", "127.0.0.1:9")];
    assert!(matches!(refused(circle), EmulatorError::Circle { .. }));
    let in_cell = |name: &str, listen: &str| {
        let mut cell = LinkConfig::wifi_cell();
        cell.cell.as_mut().unwrap().name = Some("home".to_owned());
        EmulatedLink { up: cell.clone(), down: cell, ..link(name, listen, "127.0.0.1:9") }
    };
    let shared = vec![in_cell("a", "127.0.0.1:1"), in_cell("b", "127.0.0.1:2")];
    assert!(matches!(refused(shared), EmulatorError::SharedCell { .. }));
    let half = EmulatedLink { down: LinkConfig::default(), ..in_cell("a", "127.0.0.1:1") };
    assert!(matches!(refused(vec![half]), EmulatorError::HalfInCell { .. }));
    for target in ["127.0.0.1:0", "0.0.0.0:9", "224.0.0.1:9"] {
        let nowhere = vec![link("wifi", "127.0.0.1:1", target)];
        assert!(matches!(refused(nowhere), EmulatorError::Target { .. }), "{target}");
    }
}

impl Bench {
    fn new(config: LinkConfig) -> Self {
        let link = EmulatedLink {
            name: "link".to_owned(),
            listen: listen(),
            target: target(),
            up: config.clone(),
            down: config,
        };
        let relay = Relay::new(&link, listen(), &mut Rng::from_u64(7));
        Self { relay, now: Time::ZERO, next_port: 40_000, left: Vec::new() }
    }

    /// A datagram of a client, which gets its socket at once.
    fn request(&mut self, from: SocketAddr, bytes: &[u8]) {
        self.datagram(FourTuple::new(listen(), from), None, bytes);
        self.open_sockets();
        self.run_timers();
    }

    fn reply(&mut self, local: SocketAddr, from: SocketAddr, bytes: &[u8]) {
        self.datagram(FourTuple::new(local, from), None, bytes);
    }

    fn datagram(&mut self, path: FourTuple, ecn: Option<Ecn>, bytes: &[u8]) {
        self.relay.handle_datagram(self.now, Datagram { path, ecn, bytes });
    }

    fn open_sockets(&mut self) {
        while let Some(event) = self.relay.poll_event() {
            match event {
                ClientEvent::Arrived(who) => {
                    let outside = ([127, 0, 0, 1], self.next_port).into();
                    self.next_port += 1;
                    self.relay.serve(self.now, who, outside);
                }
                ClientEvent::Left { outside } => self.left.push(outside),
            }
        }
    }

    fn advance(&mut self, span: Duration) {
        self.now += span;
        self.run_timers();
    }

    fn run_timers(&mut self) {
        if self.relay.poll_timeout().is_some_and(|wakeup| wakeup.at <= self.now) {
            self.relay.handle_timeout(self.now);
        }
    }

    fn sent(&mut self) -> Vec<Sent> {
        let mut all = Vec::new();
        let mut buf = Vec::new();
        while let Some(Transmit { path, ecn, segment_size, .. }) =
            self.relay.poll_transmit(self.now, &mut buf)
        {
            let datagrams = match segment_size {
                Some(size) => buf.chunks(size).map(<[u8]>::to_vec).collect(),
                None => vec![buf.clone()],
            };
            all.push((path, ecn, datagrams));
            buf.clear();
        }
        all
    }
}

fn delayed() -> LinkConfig {
    LinkConfig { delay: DELAY, ..LinkConfig::default() }
}

fn listen() -> SocketAddr {
    addr("127.0.0.1:1000")
}

fn target() -> SocketAddr {
    addr("127.0.0.1:9")
}

fn client(nth: u16) -> SocketAddr {
    ([10, 0, 0, 1], 1 + nth).into()
}

fn addr(text: &str) -> SocketAddr {
    text.parse().unwrap()
}
