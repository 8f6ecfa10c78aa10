//! [`Meeting`]: a room, and pages of browsers that visit it, each over a path of its own.

use std::time::Duration;

use anabranch_call::{Device, Media, PictureFormat, VideoFormat, VoiceFormat};
use anabranch_media::{Piece, Track};
use anabranch_netsim::{DuplexConfig, LinkConfig, Pair, QueueLimit, Side, machine_of_several};
use anabranch_rooms::protocol::{
    Enter, FILES_STREAM, FileMessage, FromMember, FromRoom, MemberNumber, PROTOCOL_VERSION, Role,
};
use anabranch_rooms::{
    Agent, AgentConfig, AgentEvent, Event, RoomId, RoomLabel, Rooms, RoomsConfig, Said, Server,
    ServerConfig, Tokens,
};
use anabranch_rtc::{ConnectionId, RtcConfig};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rate, Rng, Time, Transmit, Wakeup};
use bytes::Bytes;

use crate::camera::Camera;
use crate::page::{BINARY, Page, STRING, Seen};

pub(crate) const MILLISECOND: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// What opens the room.
pub(crate) const TOKEN: &str = "attendees";

/// What a visitor notices.
#[derive(Debug)]
pub(crate) enum Noticed {
    Seen(Seen),
    /// An agent says something of a path.
    Logged(String),
}

/// Who visits a room.
enum Visitor {
    Page(Box<Page>),
    Agent(Box<Agent>),
}

/// Pages and agents, behind one end of the simulation; each path is one visitor's.
pub(crate) struct Visitors {
    all: Vec<Visitor>,
    paths: Vec<FourTuple>,
    owners: Vec<usize>,
    now: Time,
}

impl Visitor {
    fn poll_timeout(&self) -> Option<Wakeup> {
        match self {
            Self::Page(page) => page.poll_timeout(),
            Self::Agent(agent) => agent.poll_timeout(),
        }
    }

    fn poll_event(&mut self, now: Time) -> Option<Noticed> {
        let agent = match self {
            Self::Page(page) => return page.poll_event().map(Noticed::Seen),
            Self::Agent(agent) => agent,
        };
        if let Some(Said { stream, is_text, payload }) = agent.receive(now) {
            let ppid = if is_text { STRING } else { BINARY };
            let payload = payload.to_vec();
            return Some(Noticed::Seen(Seen::Message { stream, ppid, payload }));
        }
        loop {
            match agent.poll_event()? {
                AgentEvent::Connected { .. } => return Some(Noticed::Seen(Seen::Connected)),
                AgentEvent::Closed(_) => return Some(Noticed::Seen(Seen::Closed)),
                AgentEvent::Log(line) => return Some(Noticed::Logged(line.text)),
                AgentEvent::Readable | AgentEvent::Bye(_) => {}
            }
        }
    }
}

impl Machine for Visitors {
    type Event = (usize, Noticed);

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let at = self.paths.iter().position(|path| *path == datagram.path).expect("a path");
        match &mut self.all[self.owners[at]] {
            Visitor::Page(page) => page.handle_datagram(now, datagram),
            Visitor::Agent(agent) => agent.handle_datagram(now, datagram),
        }
        self.now = now;
    }

    fn handle_timeout(&mut self, now: Time) {
        for visitor in &mut self.all {
            match visitor {
                Visitor::Page(page) => page.handle_timeout(now),
                Visitor::Agent(agent) => agent.handle_timeout(now),
            }
        }
        self.now = now;
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        self.all.iter_mut().find_map(|visitor| match visitor {
            Visitor::Page(page) => page.poll_transmit(now, buf),
            Visitor::Agent(agent) => agent.poll_transmit(now, buf),
        })
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.all.iter().filter_map(Visitor::poll_timeout).min()
    }

    fn poll_event(&mut self) -> Option<(usize, Noticed)> {
        let now = self.now;
        let mut all = self.all.iter_mut().enumerate();
        all.find_map(|(at, visitor)| Some((at, visitor.poll_event(now)?)))
    }
}

/// What either end has to tell.
#[derive(Debug)]
pub(crate) enum Told {
    Visitor((usize, Noticed)),
    Room(Event),
}

pub(crate) enum End {
    Server(Box<Server>),
    Visitors(Box<Visitors>),
}

machine_of_several!(End: Told {
    Server(server) => server.poll_event().map(Told::Room),
    Visitors(visitors) => visitors.poll_event().map(Told::Visitor),
});

/// What a page got, beats left out.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Got {
    Text(FromRoom),
    Media(Piece),
    File(FileMessage),
}

pub(crate) struct Meeting {
    pub(crate) pair: Pair<End>,
    pub(crate) room: RoomId,
    pub(crate) got: Vec<Vec<(Time, Got)>>,
    pub(crate) seen: Vec<Vec<Seen>>,
    logged: Vec<Vec<String>>,
    pub(crate) events: Vec<Event>,
    pub(crate) connections: Vec<Option<ConnectionId>>,
    cameras: Vec<Option<Camera>>,
    pub(crate) beats: Vec<u64>,
}

/// A link by rate and one-way delay, with a queue of 200 ms.
pub(crate) fn link(kbps: u64, delay_ms: u64) -> LinkConfig {
    let rate = Rate::kbps(kbps);
    LinkConfig {
        rate: Some(rate),
        delay: Duration::from_millis(delay_ms),
        queue: QueueLimit::lasting(Duration::from_millis(200), rate),
        ..LinkConfig::default()
    }
}

/// Somebody with camera and microphone.
pub(crate) fn media() -> Media {
    let video = VideoFormat {
        codec: "vp8".to_owned(),
        format: PictureFormat::Vp8,
        width: Some(640),
        height: Some(360),
        fps: Some(25.0),
    };
    Media {
        voice: Some(VoiceFormat::opus()),
        video: Some(video),
        microphone: Device::On,
        camera: Device::On,
    }
}

pub(crate) fn hello(name: &str, resume: Option<String>) -> FromMember {
    FromMember::Hello {
        protocol: PROTOCOL_VERSION,
        program: "a page".to_owned(),
        name: name.to_owned(),
        media: media(),
        resume,
    }
}

impl Meeting {
    /// Nobody is in yet; there are as many pages as links.
    pub(crate) fn new(seed: u64, links: &[LinkConfig]) -> Self {
        Self::with_agents(seed, links, &[], TOKEN)
    }

    /// The same, where each of these is an agent, which has the path of the one after it, too.
    pub(crate) fn with_agents(
        seed: u64,
        links: &[LinkConfig],
        agents: &[usize],
        token: &str,
    ) -> Self {
        let duplex: Vec<DuplexConfig> = links.iter().cloned().map(Into::into).collect();
        let mut pair = Pair::new(seed, &duplex, |side, paths, rng| match side {
            Side::Client => {
                let mut rng = rng;
                let visitor = |(at, path): (usize, &FourTuple)| match agents.contains(&at) {
                    true => Visitor::Agent(Box::new(agent(token, rng.fork()))),
                    false => Visitor::Page(Box::new(Page::new(*path))),
                };
                let all = paths.iter().enumerate().map(visitor).collect();
                let owner = |at: usize| at - usize::from(at > 0 && agents.contains(&(at - 1)));
                let owners = (0..paths.len()).map(owner).collect();
                let paths = paths.to_vec();
                End::Visitors(Box::new(Visitors { all, paths, owners, now: Time::ZERO }))
            }
            Side::Server => {
                let rooms = RoomsConfig { program: "a test".to_owned() };
                let browsers = RtcConfig::default();
                let config = ServerConfig { rooms, browsers, encryption: None, segments_max: 1 };
                End::Server(Box::new(Server::new(config, rng).expect("a certificate")))
            }
        });
        let pages = links.len();
        let room = pair.act_server(|end, _| match end {
            End::Server(server) => server.act(add_room),
            End::Visitors(_) => panic!("visitors"),
        });
        Self {
            pair,
            room: room.expect("quiet"),
            got: vec![Vec::new(); pages],
            seen: vec![Vec::new(); pages],
            logged: vec![Vec::new(); pages],
            events: Vec::new(),
            connections: vec![None; pages],
            cameras: (0..pages).map(|_| None).collect(),
            beats: vec![0; pages],
        }
    }

    /// A page is connected, and has not said anything yet.
    pub(crate) fn connect(&mut self, page: usize) {
        self.connect_as(page, Role::Attendee);
    }

    /// The same, by a link that lets it do so much.
    pub(crate) fn connect_as(&mut self, page: usize, role: Role) {
        let offer = self.page(page, |it, _| it.offer());
        let from = self.pair.paths()[page].addresses.local.ip();
        let room = self.room;
        let accepted = self.serve(|server, now| server.accept(now, room, role, &offer, from));
        let (id, answer) = accepted.expect("a good offer");
        self.connections[page] = Some(id);
        self.page(page, |it, now| it.take_answer(now, &answer));
        let is_there = |meeting: &Self| meeting.seen[page].contains(&Seen::Connected);
        assert!(self.run_until(10 * SECOND, is_there), "page {page} is connected");
    }

    /// A page enters the room under a name, and is welcome.
    pub(crate) fn enter(&mut self, page: usize, name: &str) -> MemberNumber {
        self.enter_as(page, name, None)
    }

    /// The same, as somebody who was there.
    pub(crate) fn enter_as(
        &mut self,
        page: usize,
        name: &str,
        resume: Option<String>,
    ) -> MemberNumber {
        self.connect(page);
        self.greet(page, name, resume)
    }

    /// A page enters the room by the link of its hosts.
    pub(crate) fn enter_as_host(&mut self, page: usize, name: &str) -> MemberNumber {
        self.connect_as(page, Role::Host);
        self.greet(page, name, None)
    }

    pub(crate) fn greet(
        &mut self,
        page: usize,
        name: &str,
        resume: Option<String>,
    ) -> MemberNumber {
        self.say(page, &hello(name, resume));
        assert!(self.run_until(SECOND, |meeting| meeting.welcome(page).is_some()));
        self.welcome(page).expect("welcome").0
    }

    /// A page's network changes: it goes on over the path of a page that never came.
    pub(crate) fn move_to(&mut self, page: usize, unused: usize) {
        let path = self.pair.paths()[unused].addresses;
        self.pair.cut(page);
        let offer = self.page(page, |it, _| it.restart(path));
        let moved = self.pair.act_client(|end, _| match end {
            End::Visitors(visitors) => visitors.paths.swap(page, unused),
            End::Server(_) => panic!("a server"),
        });
        moved.expect("quiet");
        let id = self.connections[page].expect("there");
        let answer = self.serve(|server, now| server.restart(now, id, &offer));
        let answer = answer.expect("a good offer");
        self.page(page, |it, now| it.take_answer(now, &answer));
    }

    /// A page's number, and what makes it come back as the same member.
    pub(crate) fn welcome(&self, page: usize) -> Option<(MemberNumber, String)> {
        self.texts(page).find_map(|text| {
            let FromRoom::Welcome { you, resume, .. } = text else { return None };
            Some((*you, resume.clone()))
        })
    }

    pub(crate) fn say(&mut self, page: usize, message: &FromMember) {
        let text = message.encode();
        self.send_on(page, 0, STRING, &text);
    }

    /// What a page got of files.
    pub(crate) fn files(&self, page: usize) -> impl Iterator<Item = &FileMessage> {
        self.got[page].iter().filter_map(|(_, got)| match got {
            Got::File(message) => Some(message),
            Got::Text(_) | Got::Media(_) => None,
        })
    }

    /// A page says something of files.
    pub(crate) fn say_of_files(&mut self, page: usize, message: &FileMessage) {
        let bytes = message.encode();
        self.send_on(page, FILES_STREAM, BINARY, &bytes);
    }

    /// How often a page was asked for a key picture.
    pub(crate) fn keys_wanted(&self, page: usize) -> usize {
        self.texts(page).filter(|text| **text == FromRoom::WantKey).count()
    }

    /// A page sends voice and pictures from now on, the latter of so many bytes each.
    pub(crate) fn turn_on(&mut self, page: usize, bytes: usize) {
        let now = self.now();
        let camera = Camera::new(page as u16, now, bytes, self.keys_wanted(page));
        self.cameras[page] = Some(camera);
    }

    /// Its pictures have so many bytes each from now on.
    pub(crate) fn set_picture(&mut self, page: usize, bytes: usize) {
        if let Some(camera) = &mut self.cameras[page] {
            camera.bytes = bytes;
        }
    }

    /// What was written or told to a page.
    pub(crate) fn texts(&self, page: usize) -> impl Iterator<Item = &FromRoom> {
        self.got[page].iter().filter_map(|(_, got)| match got {
            Got::Text(text) => Some(text),
            Got::Media(_) | Got::File(_) => None,
        })
    }

    /// Numbers of the units of a member's track that a page got whole since a time: one piece each.
    pub(crate) fn frames(&self, page: usize, track: Track, since: Time) -> Vec<u64> {
        let recent = self.got[page].iter().filter(|(at, _)| *at >= since);
        let mut frames: Vec<u64> = recent
            .filter_map(|(_, got)| match got {
                Got::Media(piece) if piece.header.track == track && piece.header.last => {
                    Some(piece.header.frame)
                }
                Got::Media(_) | Got::Text(_) | Got::File(_) => None,
            })
            .collect();
        frames.sort_unstable();
        frames
    }

    pub(crate) fn page<T>(&mut self, at: usize, act: impl FnOnce(&mut Page, Time) -> T) -> T {
        let acted = self.pair.act_client(|end, now| match end {
            End::Visitors(visitors) => match &mut visitors.all[at] {
                Visitor::Page(page) => act(page, now),
                Visitor::Agent(_) => panic!("an agent"),
            },
            End::Server(_) => panic!("a server"),
        });
        self.collect();
        acted.expect("quiet")
    }

    pub(crate) fn agent<T>(&mut self, at: usize, act: impl FnOnce(&mut Agent, Time) -> T) -> T {
        let acted = self.pair.act_client(|end, now| match end {
            End::Visitors(visitors) => match &mut visitors.all[at] {
                Visitor::Agent(agent) => act(agent, now),
                Visitor::Page(_) => panic!("a page"),
            },
            End::Server(_) => panic!("a server"),
        });
        self.collect();
        acted.expect("quiet")
    }

    /// A visitor says something on a stream.
    fn send_on(&mut self, visitor: usize, stream: u16, ppid: u32, bytes: &[u8]) {
        let acted = self.pair.act_client(|end, now| match end {
            End::Visitors(visitors) => match &mut visitors.all[visitor] {
                Visitor::Page(page) => page.send(now, stream, ppid, bytes),
                Visitor::Agent(agent) => {
                    let (is_text, payload) = (ppid == STRING, Bytes::copy_from_slice(bytes));
                    agent.push(now, Said { stream, is_text, payload });
                }
            },
            End::Server(_) => panic!("a server"),
        });
        acted.expect("quiet");
        self.collect();
    }

    /// An agent calls the room over both its paths, and enters.
    pub(crate) fn enter_by_agent(&mut self, agent: usize, name: &str) -> MemberNumber {
        self.call_by_agent(agent);
        self.greet(agent, name, None)
    }

    /// What an agent said of its paths.
    pub(crate) fn logged(&self, agent: usize) -> &[String] {
        &self.logged[agent]
    }

    /// An agent calls the room over both its paths, and has not said anything yet.
    pub(crate) fn call_by_agent(&mut self, agent: usize) {
        let paths = self.pair.paths()[agent..agent + 2].iter().map(|path| path.addresses);
        let paths: Vec<_> = paths.collect();
        self.call_over(agent, &paths);
    }

    /// The same over these.
    pub(crate) fn call_over(&mut self, agent: usize, paths: &[FourTuple]) {
        self.agent(agent, |it, now| it.connect(now, paths)).expect("it calls");
        let is_there = |meeting: &Self| meeting.seen[agent].contains(&Seen::Connected);
        assert!(self.run_until(10 * SECOND, is_there), "agent {agent} is connected");
    }

    pub(crate) fn serve<T>(&mut self, act: impl FnOnce(&mut Server, Time) -> T) -> T {
        let acted = self.pair.act_server(|end, now| match end {
            End::Server(server) => act(server, now),
            End::Visitors(_) => panic!("visitors"),
        });
        self.collect();
        acted.expect("quiet")
    }

    pub(crate) fn server(&self) -> &Server {
        match self.pair.server() {
            End::Server(server) => server,
            End::Visitors(_) => panic!("visitors"),
        }
    }

    /// How many are in the room.
    pub(crate) fn people(&self) -> usize {
        let rooms = self.server().rooms().rooms();
        rooms.map(|(_, report)| report.members.len()).sum()
    }

    pub(crate) fn now(&self) -> Time {
        self.pair.now()
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        self.run_until(span, |_| false);
    }

    /// Runs until something is so; returns whether it came to that.
    pub(crate) fn run_until(&mut self, span: Duration, is_so: impl Fn(&Self) -> bool) -> bool {
        let end = self.now() + span;
        while !is_so(self) {
            if self.now() >= end {
                return false;
            }
            for page in 0..self.cameras.len() {
                self.send_due(page);
            }
            self.pair.run_for(MILLISECOND.min(end - self.now())).expect("comes to rest");
            self.collect();
        }
        true
    }

    fn send_due(&mut self, page: usize) {
        let (now, wanted) = (self.pair.now(), self.keys_wanted(page));
        let Some(camera) = &mut self.cameras[page] else { return };
        for (stream, bytes) in camera.take_due(now, wanted) {
            self.send_on(page, stream, BINARY, &bytes);
        }
    }

    fn collect(&mut self) {
        let now = self.pair.now();
        while let Some((_, told)) = self.pair.sim.poll_event() {
            match told {
                Told::Room(event) => self.events.push(event),
                Told::Visitor((agent, Noticed::Logged(text))) => self.logged[agent].push(text),
                Told::Visitor((page, Noticed::Seen(seen))) => match read(&seen) {
                    Some(Got::Text(FromRoom::Beat)) => self.beats[page] += 1,
                    Some(got) => self.got[page].push((now, got)),
                    None => self.seen[page].push(seen),
                },
            }
        }
    }
}

/// An agent that knows this token.
fn agent(token: &str, rng: Rng) -> Agent {
    let enter = Enter { room: "lab".to_owned(), token: token.to_owned() };
    let config = AgentConfig { enter, encryption: None, peer_keys: None, segments_max: 1 };
    Agent::new(config, rng)
}

/// A room for four.
fn add_room(rooms: &mut Rooms) -> RoomId {
    let (name, title) = ("lab".to_owned(), "The lab".to_owned());
    let tokens = Tokens { attendees: TOKEN.to_owned(), hosts: "hosts".to_owned() };
    rooms.add(RoomLabel { name, title, members_max: 4 }, tokens)
}

/// Reads a message of the room's; a page could not read another one either.
fn read(seen: &Seen) -> Option<Got> {
    let Seen::Message { stream, ppid, payload, .. } = seen else { return None };
    Some(match *ppid {
        BINARY if *stream == FILES_STREAM => {
            Got::File(FileMessage::decode(&payload.clone().into()).expect("of a file"))
        }
        STRING => Got::Text(FromRoom::decode(payload).expect("a text")),
        BINARY => Got::Media(Piece::decode(payload.clone().into()).expect("media")),
        other => panic!("payload protocol identifier {other}"),
    })
}
