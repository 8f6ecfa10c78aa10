//! Callers that connect as agents do, and never say which room they want to be in.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::time::Duration;

use anabranch_netsim::{
    DuplexConfig, HostId, LinkConfig, Simulation, SimulationError, machine_of_several,
};
use anabranch_rooms::protocol::{Enter, FromRoom, Role, STREAMS};
use anabranch_rooms::{
    Agent, AgentConfig, AgentEvent, RoomId, RoomLabel, RoomsConfig, Said, Server, ServerConfig,
    Tokens,
};
use anabranch_rtc::RtcConfig;
use anabranch_sansio::{FourTuple, Rng, Time};
use anabranch_transport::{SctpConfig, SctpTransport, Transport as _};

use crate::harness::{MILLISECOND, SECOND, TOKEN, hello};
use crate::page::{Page, STRING, Seen};

const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)), 9_000);
const FLOOD: IpAddr = IpAddr::V4(Ipv4Addr::new(192, 0, 2, 1));
const AGENT: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 2)), 9_000);
const PAGE: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(192, 0, 2, 3)), 9_000);

/// SCTP's own port of rooms and agents.
const SCTP_PORT: u16 = 5_004;

/// Agents from one place that may be connected, and not have said where they want to be.
const CALLERS_PER_PLACE_MAX: usize = 16;

enum Node {
    Server(Box<Server>),
    Flood(Box<SctpTransport>),
    Agent(Box<Agent>),
    Page(Box<Page>),
}

enum Told {
    Flood,
    Agent(AgentEvent),
    Page(Seen),
}

machine_of_several!(Node: Told {
    Server(_) => None,
    Flood(flood) => flood.poll_event().map(|_| Told::Flood),
    Agent(agent) => agent.poll_event().map(Told::Agent),
    Page(page) => page.poll_event().map(Told::Page),
});

/// A server, who floods it from one address, and two that want in: an agent and a browser's page.
struct Siege {
    sim: Simulation<Node>,
    room: RoomId,
    server: HostId,
    flood: HostId,
    agent: HostId,
    page: HostId,
    next_port: u16,
    /// How many more connect every 100 ms.
    pressure: u16,
}

impl Siege {
    fn new(seed: u64) -> Self {
        let mut sim = Simulation::new(seed);
        let (server, room) = server(sim.fork_rng());
        let agent = Node::Agent(Box::new(agent(sim.fork_rng())));
        let flood = Node::Flood(Box::new(flood(sim.fork_rng())));
        let page = Node::Page(Box::new(Page::new(FourTuple::new(PAGE, SERVER))));
        let mut add =
            |name: &str, address, node| sim.add_host(name, &[address], node).expect("a host");
        let server = add("server", SERVER.ip(), Node::Server(Box::new(server)));
        let agent = add("agent", AGENT.ip(), agent);
        let flood = add("flood", FLOOD, flood);
        let page = add("page", PAGE.ip(), page);
        for near in [AGENT.ip(), FLOOD, PAGE.ip()] {
            let link = LinkConfig { delay: 10 * MILLISECOND, ..LinkConfig::default() };
            let network = sim.network_mut();
            let links = network.add_duplex(&near.to_string(), DuplexConfig::from(link));
            network.add_route(near, SERVER.ip(), vec![links.forward.into()]).expect("a route");
            network.add_route(SERVER.ip(), near, vec![links.backward.into()]).expect("a route");
        }
        Self { sim, room, server, flood, agent, page, next_port: 10_000, pressure: 0 }
    }

    /// So many more connect, each from a port of its own.
    fn flood(&mut self, callers: u16) {
        let ports = self.next_port..self.next_port + callers;
        self.next_port = ports.end;
        let acted = self.sim.act(self.flood, |node, now| {
            let Node::Flood(flood) = node else { panic!("another") };
            for port in ports {
                let path = FourTuple::new(SocketAddr::new(FLOOD, port), SERVER);
                flood.connect(now, &[path]).expect("it calls");
            }
        });
        acted.expect("quiet");
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.sim.now() + span;
        while self.sim.now() < end {
            self.flood(self.pressure);
            let rest = end - self.sim.now();
            self.sim.run_for(rest.min(100 * MILLISECOND)).expect("quiet");
        }
    }

    fn server(&self) -> &Server {
        match self.sim.machine(self.server) {
            Node::Server(server) => server,
            Node::Flood(_) | Node::Agent(_) | Node::Page(_) => panic!("another"),
        }
    }

    fn people(&self) -> usize {
        self.server().rooms().room(self.room).expect("a room").members.len()
    }

    /// Connections of those who flood that stand, as far as they know.
    fn standing(&self) -> usize {
        match self.sim.machine(self.flood) {
            Node::Flood(flood) => flood.connections(),
            Node::Server(_) | Node::Agent(_) | Node::Page(_) => panic!("another"),
        }
    }

    /// The agent calls, and has a second; returns why it was not let in.
    fn agent_enters(&mut self) -> Result<(), String> {
        self.sim.take_events(self.agent);
        let called = self.act_agent(|agent, now| {
            agent.connect(now, &[FourTuple::new(AGENT, SERVER)]).expect("it calls");
            let payload = hello("Alice", None).encode();
            agent.push(now, Said { stream: 0, is_text: true, payload });
        });
        called.expect("quiet");
        self.run_for(SECOND);
        if self.agent_hears_welcome() {
            return Ok(());
        }
        let events = self.sim.take_events(self.agent).into_iter();
        Err(events.filter_map(|told| why_closed(&told)).collect())
    }

    fn agent_hears_welcome(&mut self) -> bool {
        let heard = self.act_agent(|agent, now| {
            let said = std::iter::from_fn(|| agent.receive(now));
            said.filter(|said| said.is_text).any(|said| is_welcome(&said.payload))
        });
        heard.expect("quiet")
    }

    fn act_agent<T>(
        &mut self,
        act: impl FnOnce(&mut Agent, Time) -> T,
    ) -> Result<T, SimulationError> {
        self.sim.act(self.agent, |node, now| match node {
            Node::Agent(agent) => act(agent, now),
            Node::Server(_) | Node::Flood(_) | Node::Page(_) => panic!("another"),
        })
    }

    /// The page comes, and has a second; returns whether it is welcome.
    fn page_enters(&mut self) -> bool {
        let room = self.room;
        let offer = self.act_page(|page, _| page.offer());
        let answered = self.sim.act(self.server, |node, now| {
            let Node::Server(server) = node else { panic!("another") };
            server.accept(now, room, Role::Attendee, &offer, PAGE.ip())
        });
        let (_, answer) = answered.expect("quiet").expect("a good offer");
        self.act_page(|page, now| page.take_answer(now, &answer));
        self.run_for(SECOND);
        self.act_page(|page, now| page.send(now, 0, STRING, &hello("Bob", None).encode()));
        self.run_for(SECOND);
        self.sim.take_events(self.page).iter().any(|told| match told {
            Told::Page(Seen::Message { ppid, payload, .. }) => {
                *ppid == STRING && is_welcome(payload)
            }
            Told::Page(Seen::Connected | Seen::Reset(_) | Seen::Aborted | Seen::Closed)
            | Told::Flood
            | Told::Agent(_) => false,
        })
    }

    fn act_page<T>(&mut self, act: impl FnOnce(&mut Page, Time) -> T) -> T {
        let acted = self.sim.act(self.page, |node, now| match node {
            Node::Page(page) => act(page, now),
            Node::Server(_) | Node::Flood(_) | Node::Agent(_) => panic!("another"),
        });
        acted.expect("quiet")
    }
}

fn server(rng: Rng) -> (Server, RoomId) {
    let config = ServerConfig {
        rooms: RoomsConfig { program: "a test".to_owned() },
        browsers: RtcConfig::default(),
        encryption: None,
        segments_max: 1,
    };
    let mut server = Server::new(config, rng).expect("a certificate");
    let (name, title) = ("lab".to_owned(), "The lab".to_owned());
    let tokens = Tokens { attendees: TOKEN.to_owned(), hosts: "hosts".to_owned() };
    let room = server.act(|rooms| rooms.add(RoomLabel { name, title, members_max: 4 }, tokens));
    (server, room)
}

fn agent(rng: Rng) -> Agent {
    let enter = Enter { room: "lab".to_owned(), token: TOKEN.to_owned() };
    let config = AgentConfig { enter, encryption: None, peer_keys: None, segments_max: 1 };
    Agent::new(config, rng)
}

fn flood(rng: Rng) -> SctpTransport {
    SctpTransport::new(SctpConfig::media().with_streams(STREAMS), SCTP_PORT, rng)
}

fn is_welcome(payload: &[u8]) -> bool {
    matches!(FromRoom::decode(payload), Ok(FromRoom::Welcome { .. }))
}

fn why_closed(told: &Told) -> Option<String> {
    match told {
        Told::Agent(AgentEvent::Closed(reason)) => Some(reason.to_string()),
        Told::Agent(_) | Told::Flood | Told::Page(_) => None,
    }
}

#[test]
fn callers_that_never_enter_are_so_many_at_most_and_gone_after_six_seconds() {
    let mut siege = Siege::new(1);
    siege.flood(300);
    siege.run_for(500 * MILLISECOND);
    assert_eq!(siege.server().agents(), CALLERS_PER_PLACE_MAX);
    assert_eq!(siege.standing(), CALLERS_PER_PLACE_MAX, "the others are told");
    siege.run_for(5 * SECOND);
    assert_eq!(siege.server().agents(), CALLERS_PER_PLACE_MAX);
    siege.run_for(SECOND);
    assert_eq!((siege.server().agents(), siege.standing()), (0, 0));
}

#[test]
fn a_browser_gets_in_while_there_is_no_room_for_another_agent() {
    let mut siege = Siege::new(2);
    siege.flood(100);
    siege.run_for(200 * MILLISECOND);
    assert!(siege.page_enters());
    assert_eq!((siege.people(), siege.server().agents()), (1, CALLERS_PER_PLACE_MAX));
}

#[test]
fn an_agent_that_is_in_stays_in_while_others_flood() {
    let mut siege = Siege::new(4);
    siege.agent_enters().unwrap();
    siege.pressure = 20;
    for _ in 0..10 {
        siege.run_for(SECOND);
        // Those of the last moment are on their way.
        assert!(
            siege.server().agents() <= 1 + CALLERS_PER_PLACE_MAX + 20,
            "{}",
            siege.server().agents()
        );
    }
    siege.pressure = 0;
    assert_eq!(siege.people(), 1);
    assert!(siege.act_agent(|agent, _| agent.stats().is_some()).unwrap());
    siege.run_for(7 * SECOND);
    assert_eq!((siege.people(), siege.server().agents()), (1, 1));
}

#[test]
fn regression_an_agent_got_in_amid_a_flood_at_its_fourth_to_28th_try_only() {
    for (seed, pressure) in [(5, 2), (6, 5), (7, 20), (8, 50)] {
        let mut siege = Siege::new(seed);
        siege.flood(100);
        siege.pressure = pressure;
        siege.run_for(SECOND);
        assert_eq!(siege.agent_enters(), Ok(()), "{pressure} callers each 100 ms");
        assert_eq!(siege.people(), 1);
    }
}
