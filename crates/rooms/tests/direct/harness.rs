//! [`World`]: a room, and agents at home behind NATs.

use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use anabranch_call::{Device, Media};
use anabranch_media::{Piece, Track};
use anabranch_netsim::{
    Duplex, DuplexConfig, ElementId, HostId, LinkConfig, Mapping, Nat, NatConfig, Simulation,
    machine_of_several,
};
use anabranch_rooms::protocol::{
    Enter, FILES_STREAM, FileMessage, FromMember, FromRoom, MemberNumber, PROTOCOL_VERSION,
};
use anabranch_rooms::{
    Agent, AgentConfig, AgentEvent, AgentStats, PeerKeys, RoomLabel, RoomsConfig, Said, Server,
    ServerConfig, Tokens,
};
use anabranch_rtc::RtcConfig;
use anabranch_sansio::{Datagram, FourTuple, Machine, Rate, Rng, Time, Transmit, Wakeup};
use anabranch_transport::{Encryption, PathReport};

use crate::camera::Camera;

pub(crate) const MILLISECOND: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

const TOKEN: &str = "attendees";
const SERVER: SocketAddr = SocketAddr::new(IpAddr::V4(Ipv4Addr::new(203, 0, 113, 1)), 9_000);

/// One way between everybody and the server.
const SERVER_AWAY: Duration = Duration::from_millis(20);

/// An agent and what it heard.
pub(crate) struct Member {
    pub(crate) agent: Box<Agent>,
    now: Time,
}

impl Machine for Member {
    type Event = Noticed;

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        self.now = now;
        self.agent.handle_datagram(now, datagram);
    }

    fn handle_timeout(&mut self, now: Time) {
        self.now = now;
        self.agent.handle_timeout(now);
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.agent.poll_transmit(now, buf)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.agent.poll_timeout()
    }

    fn poll_event(&mut self) -> Option<Noticed> {
        let said = self.agent.receive(self.now).map(Noticed::Said);
        said.or_else(|| self.agent.poll_event().map(Noticed::Event))
    }
}

/// What a member notices.
#[derive(Debug)]
pub(crate) enum Noticed {
    Said(Said),
    Event(AgentEvent),
}

pub(crate) enum End {
    Server(Box<Server>),
    Member(Box<Member>),
}

machine_of_several!(End: Noticed {
    Server(_) => None,
    Member(member) => member.poll_event(),
});

/// Where somebody is, and what is between them and the rest of the world.
#[derive(Debug, Clone)]
pub(crate) struct Home {
    /// One for each network.
    pub(crate) delays_ms: Vec<u64>,
    /// What stands in front of each of them.
    pub(crate) nat: Option<NatConfig>,
}

pub(crate) fn behind(nat: NatConfig, delays_ms: &[u64]) -> Home {
    Home { delays_ms: delays_ms.to_vec(), nat: Some(nat) }
}

/// Mapped endpoint-independently, filtered by address and port, as most NATs at home are.
pub(crate) fn usual_nat() -> NatConfig {
    NatConfig::default()
}

pub(crate) fn symmetric_nat() -> NatConfig {
    NatConfig { mapping: Mapping::AddressAndPortDependent, ..NatConfig::default() }
}

/// One network of a home.
struct Uplink {
    inside: IpAddr,
    public: IpAddr,
    links: Duplex,
    nat: Option<ElementId>,
}

/// How agents and the room encrypt.
pub(crate) struct Keys {
    pub(crate) room: Encryption,
    /// Of each agent: towards the room, and towards others.
    pub(crate) agents: Vec<(Encryption, Arc<dyn PeerKeys>)>,
}

pub(crate) struct World {
    pub(crate) sim: Simulation<End>,
    members: Vec<HostId>,
    homes: Vec<Vec<Uplink>>,
    /// Between the homes, past the server.
    between: Vec<(usize, usize, Duplex)>,
    pub(crate) said: Vec<Vec<(Time, Said)>>,
    pub(crate) logged: Vec<Vec<(Time, String)>>,
    cameras: Vec<Option<Camera>>,
}

impl World {
    pub(crate) fn new(seed: u64, homes: &[Home]) -> Self {
        Self::with_keys(seed, homes, None)
    }

    pub(crate) fn with_keys(seed: u64, homes: &[Home], keys: Option<Keys>) -> Self {
        let mut sim = Simulation::new(seed);
        let rng = sim.fork_rng();
        let server = server(keys.as_ref().map(|keys| keys.room.clone()), rng);
        let server = End::Server(Box::new(server));
        sim.add_host("server", &[SERVER.ip()], server).expect("a host");
        let mut members = Vec::new();
        for (at, home) in homes.iter().enumerate() {
            let rng = sim.fork_rng();
            let keys = keys.as_ref().map(|keys| keys.agents[at].clone());
            let member = Member { agent: Box::new(agent(keys, rng)), now: Time::ZERO };
            let addresses: Vec<_> = (0..home.delays_ms.len()).map(|n| inside(at, n)).collect();
            let end = End::Member(Box::new(member));
            members.push(sim.add_host(format!("home {at}"), &addresses, end).expect("a host"));
        }
        let mut world = Self {
            sim,
            members,
            homes: Vec::new(),
            between: Vec::new(),
            said: vec![Vec::new(); homes.len()],
            logged: vec![Vec::new(); homes.len()],
            cameras: homes.iter().map(|_| None).collect(),
        };
        for (at, home) in homes.iter().enumerate() {
            let uplinks = world.uplinks(at, home);
            world.homes.push(uplinks);
        }
        world.join();
        world
    }

    fn uplinks(&mut self, at: usize, home: &Home) -> Vec<Uplink> {
        let uplink = |(n, delay): (usize, &u64)| {
            let link = LinkConfig {
                rate: Some(Rate::mbps(20)),
                delay: Duration::from_millis(*delay),
                ..LinkConfig::default()
            };
            let name = format!("uplink {at} {n}");
            let (inside, network) = (inside(at, n), self.sim.network_mut());
            let links = network.add_duplex(&name, DuplexConfig::from(link));
            let public = home.nat.map_or(inside, |_| public(at, n));
            let nat = home.nat.map(|config| {
                let nat = Nat::new(config, public, vec![inside], network.fork_rng());
                network.add_element(format!("nat {at} {n}"), nat)
            });
            Uplink { inside, public, links, nat }
        };
        home.delays_ms.iter().enumerate().map(uplink).collect()
    }

    /// Lays the routes between everybody.
    fn join(&mut self) {
        let network = self.sim.network_mut();
        let far = LinkConfig { delay: SERVER_AWAY, ..LinkConfig::default() };
        let server = network.add_duplex("server", DuplexConfig::from(far));
        let mut add = |from, to, chain: Vec<ElementId>| {
            network.add_route(from, to, chain).expect("a route");
        };
        for uplink in self.homes.iter().flatten() {
            let Uplink { inside, public, links, nat } = uplink;
            add(*public, SERVER.ip(), vec![links.forward.into(), server.forward.into()]);
            let back = [server.backward.into(), links.backward.into()];
            add(SERVER.ip(), *public, back.into_iter().chain(*nat).collect());
            if let Some(nat) = nat {
                add(*inside, SERVER.ip(), vec![*nat]);
                add(SERVER.ip(), *inside, vec![*nat]);
            }
        }
        for (one, ours) in self.homes.iter().enumerate() {
            for (other, theirs) in self.homes.iter().enumerate().skip(one + 1) {
                let name = format!("between {one} {other}");
                let between = self.sim.network_mut().add_duplex(&name, DuplexConfig::default());
                self.between.push((one, other, between));
                for (from, to) in
                    ours.iter().flat_map(|from| theirs.iter().map(move |to| (from, to)))
                {
                    lay(&mut self.sim, from, to, between.forward.into());
                    lay(&mut self.sim, to, from, between.backward.into());
                }
            }
        }
    }

    /// Takes down, or brings up, what joins two homes past the server.
    pub(crate) fn cut_between(&mut self, is_up: bool) {
        for (_, _, between) in self.between.clone() {
            if is_up { self.sim.restore_both(between) } else { self.sim.cut_both(between) }
        }
    }

    pub(crate) fn cut_uplink(&mut self, home: usize, n: usize) {
        let links = self.homes[home][n].links;
        self.sim.cut_both(links);
    }

    pub(crate) fn now(&self) -> Time {
        self.sim.now()
    }

    pub(crate) fn agent<T>(&mut self, at: usize, act: impl FnOnce(&mut Agent, Time) -> T) -> T {
        let acted = self.sim.act(self.members[at], |end, now| match end {
            End::Member(member) => {
                member.now = now;
                act(&mut member.agent, now)
            }
            End::Server(_) => panic!("the server"),
        });
        self.collect();
        acted.expect("quiet")
    }

    /// The way from one of a member's networks to the server.
    pub(crate) fn way_to_room(&self, at: usize, n: usize) -> FourTuple {
        FourTuple::new(SocketAddr::new(self.homes[at][n].inside, 4_000), SERVER)
    }

    /// A member enters the room over all its networks.
    pub(crate) fn enter(&mut self, at: usize, name: &str) -> MemberNumber {
        self.enter_over(at, name, self.homes[at].len())
    }

    /// The same over so many of them.
    pub(crate) fn enter_over(&mut self, at: usize, name: &str, networks: usize) -> MemberNumber {
        let paths: Vec<_> = (0..networks).map(|n| self.way_to_room(at, n)).collect();
        self.agent(at, |agent, now| agent.connect(now, &paths)).expect("it calls");
        let hello = FromMember::Hello {
            protocol: PROTOCOL_VERSION,
            program: "a page".to_owned(),
            name: name.to_owned(),
            media: Media { microphone: Device::On, camera: Device::On, ..Media::default() },
            resume: None,
        };
        self.say(at, &hello);
        for _ in 0..3_000 {
            self.run_for(MILLISECOND);
            if let Some(number) = self.number(at) {
                return number;
            }
        }
        panic!("{name} is not in");
    }

    pub(crate) fn number(&self, at: usize) -> Option<MemberNumber> {
        self.texts(at).find_map(|(_, text)| {
            let FromRoom::Welcome { you, .. } = text else { return None };
            Some(you)
        })
    }

    pub(crate) fn say(&mut self, at: usize, message: &FromMember) {
        let payload = message.encode();
        self.agent(at, |agent, now| agent.push(now, Said { stream: 0, is_text: true, payload }));
    }

    pub(crate) fn say_of_files(&mut self, at: usize, message: &FileMessage) {
        let (stream, payload) = (FILES_STREAM, message.encode());
        self.agent(at, |agent, now| agent.push(now, Said { stream, is_text: false, payload }));
    }

    /// What a page has got of files.
    pub(crate) fn files(&self, at: usize) -> Vec<FileMessage> {
        let said = self.said[at].iter().filter(|(_, said)| said.stream == FILES_STREAM);
        said.filter_map(|(_, said)| FileMessage::decode(&said.payload).ok()).collect()
    }

    /// Puts a datagram into the network, whoever it seems to come from.
    pub(crate) fn forge(&mut self, from: SocketAddr, to: SocketAddr, bytes: Vec<u8>) {
        let path = FourTuple::new(from, to);
        let carrier = anabranch_netsim::Carrier::Udp;
        self.sim.inject(anabranch_netsim::Packet::new(path, carrier, bytes));
    }

    pub(crate) fn turn_on(&mut self, at: usize, bytes: usize) {
        let keys = self.keys_wanted(at);
        self.cameras[at] = Some(Camera::new(at as u16, self.now(), bytes, keys));
    }

    fn keys_wanted(&self, at: usize) -> usize {
        self.texts(at).filter(|(_, text)| *text == FromRoom::WantKey).count()
    }

    pub(crate) fn texts(&self, at: usize) -> impl Iterator<Item = (Time, FromRoom)> + '_ {
        let texts = self.said[at].iter().filter(|(_, said)| said.is_text);
        texts.filter_map(|(at, said)| Some((*at, FromRoom::decode(&said.payload).ok()?)))
    }

    /// Who could listen, as the page was last told.
    pub(crate) fn listeners(&self, at: usize) -> String {
        let told = self.texts(at).filter_map(|(_, text)| {
            if let FromRoom::Welcome { listeners, .. } | FromRoom::Listeners(listeners) = text {
                return Some(listeners.is + ": " + &listeners.text);
            }
            None
        });
        told.last().expect("it was told")
    }

    /// When, and which, units of a track a page got whole since a time.
    pub(crate) fn frames(&self, at: usize, track: Track, since: Time) -> Vec<(Time, u64)> {
        let media = self.said[at].iter().filter(|(at, said)| *at >= since && !said.is_text);
        let mut frames: Vec<_> = media
            .filter_map(|(at, said)| {
                let header = Piece::decode(said.payload.clone()).ok()?.header;
                (header.track == track && header.last).then_some((*at, header.frame))
            })
            .collect();
        frames.sort_unstable_by_key(|(_, frame)| *frame);
        frames
    }

    pub(crate) fn stats(&mut self, at: usize) -> AgentStats {
        self.agent(at, |agent, _| agent.stats()).expect("a visit")
    }

    /// The paths that lead past the server, of those that stand.
    pub(crate) fn past_the_room(&mut self, at: usize) -> Vec<PathReport> {
        let stats = self.stats(at);
        assert!(stats.is_direct, "{at}");
        stats.network.paths.into_iter().filter(|path| path.tuple.remote != SERVER).collect()
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        let end = self.now() + span;
        while self.now() < end {
            for at in 0..self.members.len() {
                self.send_due(at);
            }
            self.sim.run_for(MILLISECOND.min(end - self.now())).expect("comes to rest");
            self.collect();
        }
    }

    fn send_due(&mut self, at: usize) {
        let (now, wanted) = (self.now(), self.keys_wanted(at));
        let Some(camera) = &mut self.cameras[at] else { return };
        for (stream, payload) in camera.take_due(now, wanted) {
            self.agent(at, |it, now| it.push(now, Said { stream, is_text: false, payload }));
        }
    }

    fn collect(&mut self) {
        let now = self.now();
        while let Some((host, noticed)) = self.sim.poll_event() {
            let Some(at) = self.members.iter().position(|member| *member == host) else { continue };
            match noticed {
                Noticed::Said(said) => self.said[at].push((now, said)),
                Noticed::Event(AgentEvent::Log(line)) => self.logged[at].push((now, line.text)),
                Noticed::Event(_) => {}
            }
        }
    }
}

/// The way from one network to another.
fn lay(sim: &mut Simulation<End>, from: &Uplink, to: &Uplink, between: ElementId) {
    let network = sim.network_mut();
    let out = [from.links.forward.into(), between, to.links.backward.into()];
    let chain: Vec<ElementId> = out.into_iter().chain(to.nat).collect();
    network.add_route(from.public, to.public, chain).expect("a route");
    if let Some(nat) = from.nat {
        network.add_route(from.inside, to.public, [nat]).expect("a route");
    }
    if let Some(nat) = to.nat {
        network.add_route(from.public, to.inside, [nat]).expect("a route");
    }
}

fn inside(home: usize, n: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(192, 168, home as u8, 1 + n as u8))
}

fn public(home: usize, n: usize) -> IpAddr {
    IpAddr::V4(Ipv4Addr::new(198, 18, home as u8, 1 + n as u8))
}

fn server(encryption: Option<Encryption>, rng: Rng) -> Server {
    let config = ServerConfig {
        rooms: RoomsConfig { program: "a test".to_owned() },
        browsers: RtcConfig::default(),
        encryption,
        segments_max: 1,
    };
    let mut server = Server::new(config, rng).expect("a certificate");
    let (name, title) = ("lab".to_owned(), "The lab".to_owned());
    let tokens = Tokens { attendees: TOKEN.to_owned(), hosts: "hosts".to_owned() };
    server.act(|rooms| rooms.add(RoomLabel { name, title, members_max: 4 }, tokens));
    server
}

fn agent(keys: Option<(Encryption, Arc<dyn PeerKeys>)>, rng: Rng) -> Agent {
    let enter = Enter { room: "lab".to_owned(), token: TOKEN.to_owned() };
    let (encryption, peer_keys) = keys.unzip();
    Agent::new(AgentConfig { enter, encryption, peer_keys, segments_max: 1 }, rng)
}
