//! [`visit`]: the loop between who is in a room on this machine, and the room.

mod front;
mod page;
mod peer_keys;
mod program;
mod recordings;
mod tape;

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Duration;

use anabranch_call::{LogKind, PathError};
use anabranch_driver::{Clock, Driver, Handle, Recording, interface_addresses};
use anabranch_rooms::protocol::Enter;
use anabranch_rooms::{Agent, AgentConfig, AgentEvent, AgentStats, PeerKeys};
use anabranch_sansio::{FourTuple, PathId, Time, Wakeup};
use anabranch_session::{Refusal, RefusalCode};
use anabranch_transport::CloseReason;
use tokio::time::{MissedTickBehavior, interval, sleep_until, timeout};

use super::path_meter::{PathMeter, kbps};
use crate::net::{NetError, unpredictable_rng};
use crate::service::{
    Multihomed, Observer, Secured, ServiceError, Severity, Stop, Update, Uplinks, sanitized,
};
use crate::url::{RoomUrl, is_loopback};
pub use front::Visitor;
use front::{Brought, Front};
pub use page::RoomPage;
use page::{AgentRequest, ToPage};
use peer_keys::OwnKeys;
pub use program::ProgramOptions;

/// How often the page is told how the networks stand.
const NETWORKS_EVERY: Duration = Duration::from_millis(500);

/// How long nothing may be looked at where nothing is to be played.
const LOOK_EVERY: Duration = Duration::from_millis(200);

/// How long parting may take.
const FAREWELL: Duration = Duration::from_secs(1);

/// Datagrams in one call.
const SEGMENTS_MAX: usize = 16;

/// What voice and pictures are called in the page's panel.
const SENDS: [&str; 2] = ["voice", "video"];

/// A room, and what it is visited with.
#[derive(Debug)]
pub struct VisitOptions {
    /// Which room.
    pub url: RoomUrl,
    /// By whom.
    pub visitor: Visitor,
    /// Where every packet is recorded, if that is wanted.
    pub recording: Recording,
}

/// Takes a visitor into a room, over every network of this machine, until it is to end: a page as
/// often as it wants, the program itself until the room is over or cannot be reached.
///
/// # Errors
/// Says what was wrong with the URL, that somebody else answers in the server's place, or why the
/// program itself is not in the room any more.
pub async fn visit(
    options: VisitOptions,
    mut stop: Stop,
    observer: &mut Observer<'_>,
) -> Result<(), ServiceError> {
    let VisitOptions { url: RoomUrl { server, room, token }, visitor, recording } = options;
    let clock = Clock::start();
    let front = Front::open(visitor, clock).await?;
    let is_near = server.host.as_deref().is_some_and(is_loopback);
    let (mut sockets, uplinks) =
        Uplinks::open(&server, server.paths.is_empty() && !is_near).await?;
    sockets.record(recording);
    let secured = Secured::of(&server)?;
    let enter = Enter { room: room.clone(), token };
    let encryption = secured.encryption();
    let own_keys = secured.identity()?.map(|identity| Arc::new(OwnKeys(identity)));
    let peer_keys = own_keys.map(|keys| keys as Arc<dyn PeerKeys>);
    let config = AgentConfig { enter, encryption, peer_keys, segments_max: SEGMENTS_MAX };
    let agent = Agent::new(config, unpredictable_rng()?);
    let handle = Driver::spawn_with_clock(agent, sockets, clock)?;
    let meter = PathMeter::default();
    let mut visit =
        Visit { handle: handle.clone(), uplinks, secured, front, room, meter, observer };
    let result = visit.run(&mut stop).await;
    if let Err(error) = &result {
        // What it is told has been said already.
        let _over = visit.front.end(&format!("{error}."));
        visit.handle.with(|agent, now| agent.leave(now));
    }
    let finished = visit.front.finish();
    visit.part().await;
    handle.close();
    handle.closed().await?;
    result.and(finished)
}

impl Multihomed for Agent {
    fn open_path(&mut self, now: Time, path: FourTuple) {
        Self::open_path(self, now, path);
    }

    fn close_paths_from(&mut self, now: Time, local: SocketAddr) {
        Self::close_paths_from(self, now, local);
    }

    fn follow_route(&mut self, now: Time, local: SocketAddr) {
        Self::follow_route(self, now, local);
    }
}

struct Visit<'a, 'b> {
    handle: Handle<Agent>,
    uplinks: Uplinks,
    secured: Secured,
    front: Front,
    room: String,
    meter: PathMeter,
    observer: &'a mut Observer<'b>,
}

impl Visit<'_, '_> {
    async fn run(&mut self, stop: &mut Stop) -> Result<(), ServiceError> {
        self.name_interfaces();
        let (severity, text) = self.secured.opening(None);
        self.say(severity, &text);
        if self.front.is_page() {
            let text = format!("Open the page above to enter the room \"{}\".", self.room);
            self.say(Severity::Info, &text);
        }
        let mut ticks = interval(NETWORKS_EVERY);
        ticks.set_missed_tick_behavior(MissedTickBehavior::Skip);
        let handle = self.handle.clone();
        loop {
            tokio::select! {
                event = handle.next_event() => match event {
                    Some(event) => self.on_event(event)?,
                    None => return Ok(handle.closed().await?),
                },
                brought = self.front.brought() => {
                    if let Some(brought) = brought? {
                        self.on_brought(brought)?;
                    }
                }
                changed = self.uplinks.changed() => {
                    changed?;
                    self.follow_interfaces().await?;
                }
                _ = ticks.tick() => self.tell_networks(),
                () = stop.asked() => {
                    self.handle.with(|agent, now| agent.leave(now));
                    return Ok(());
                }
            }
        }
    }

    fn on_event(&mut self, event: AgentEvent) -> Result<(), ServiceError> {
        match event {
            AgentEvent::Connected { key } => {
                if let Some((severity, text)) = self.secured.on_connected(key.as_deref()) {
                    self.say(severity, &text);
                }
                let text = format!("Connected to the room \"{}\".", self.room);
                self.say(Severity::Info, &text);
            }
            AgentEvent::Readable => self.hand_on()?,
            AgentEvent::Log(line) => {
                let is_bad = matches!(line.kind, LogKind::PathFailed | LogKind::NoPath);
                let severity = if is_bad { Severity::Warning } else { Severity::Info };
                self.say(severity, &line.text);
                self.tell_page(if is_bad { "warning" } else { "info" }, &line.text);
            }
            AgentEvent::Bye(text) if self.front.is_page() => {
                self.say(Severity::Info, &sanitized(&text));
            }
            // The program itself hears it, too, and ends with it.
            AgentEvent::Bye(_) => {}
            AgentEvent::Closed(reason) => {
                self.hand_on()?;
                return self.on_closed(&reason);
            }
        }
        Ok(())
    }

    fn hand_on(&mut self) -> Result<(), ServiceError> {
        while let Some(said) = self.handle.with(|agent, now| agent.receive(now)) {
            self.front.hand_on(said)?;
        }
        Ok(())
    }

    /// A visit is over; there may be another one.
    fn on_closed(&mut self, reason: &CloseReason) -> Result<(), ServiceError> {
        let refusal = Refusal::of_close_reason(reason);
        if let Some(refusal) = refusal
            && matches!(refusal.code, RefusalCode::Untrusted | RefusalCode::Key)
        {
            return Err(self.secured.error_of(refusal));
        }
        if *reason == CloseReason::Shutdown {
            // The room has said why.
            return self.front.end("The visit is over.");
        }
        let text = if *reason == CloseReason::HandshakeTimeout {
            "Nobody answers there: does the server run, and can its port be reached by UDP?"
                .to_owned()
        } else {
            format!("The connection to the room ended: {reason}.")
        };
        self.end_visit(&text)
    }

    fn end_visit(&mut self, text: &str) -> Result<(), ServiceError> {
        self.front.end(text)?;
        self.say(Severity::Warning, text);
        Ok(())
    }

    fn on_brought(&mut self, brought: Brought) -> Result<(), ServiceError> {
        match brought {
            Brought::Opened => return self.dial(),
            Brought::Said(said) => self.handle.with(|agent, now| agent.push(now, said)),
            Brought::Request(request) => self.on_request(&request),
            Brought::Line { severity, text } => self.say(severity, &text),
            Brought::Closed { again: true } => self.handle.with(|agent, now| agent.break_off(now)),
            Brought::Closed { again: false } => self.handle.with(|agent, now| agent.leave(now)),
        }
        Ok(())
    }

    fn dial(&mut self) -> Result<(), ServiceError> {
        let paths = self.uplinks.paths().map_err(|error| error.to_string());
        let called = paths.and_then(|paths| {
            let called = self.handle.with(|agent, now| agent.connect(now, &paths));
            called.map_err(|error| error.to_string())
        });
        if let Err(error) = called {
            let text = format!("The room cannot be called: {error}.");
            return self.end_visit(&text);
        }
        Ok(())
    }

    fn on_request(&mut self, request: &AgentRequest) {
        let done = self.handle.with(|agent, now| match *request {
            AgentRequest::PathUse { path, r#use } => agent.set_path_use(now, PathId(path), r#use),
            AgentRequest::Leave { path } => agent.leave_path(now, PathId(path)),
            AgentRequest::Primary { path } => set_primary(agent, PathId(path)),
            AgentRequest::VoiceTwice { on } => {
                agent.set_voice_twice(on);
                Ok(())
            }
        });
        if let Err(error) = done {
            self.tell_page("bad", &format!("This network cannot be used so: {error}."));
        }
    }

    fn tell_networks(&mut self) {
        let Some(stats) = self.handle.with(|agent, _| agent.stats()) else { return };
        let AgentStats { network, paths, rate, left_out, voice_twice, is_direct } = stats;
        let described = paths.iter().zip(&network.paths);
        let paths = described.map(|((name, note), report)| {
            self.meter.info(name, note, report, (&SENDS, NETWORKS_EVERY))
        });
        self.front.tell(&ToPage::Networks {
            paths: paths.collect(),
            twice: voice_twice,
            direct: is_direct,
            carries_kbps: rate.map(|signal| kbps(signal.carries)),
            left_out,
        });
    }

    /// What people call the paths: their interfaces.
    fn name_interfaces(&self) {
        let Ok(addresses) = interface_addresses() else { return };
        self.handle.with(|agent, _| {
            for address in addresses {
                agent.name_address(address.ip, address.interface);
            }
        });
    }

    async fn follow_interfaces(&mut self) -> Result<(), NetError> {
        self.name_interfaces();
        for (severity, text) in self.uplinks.follow(&self.handle).await? {
            self.say(severity, &text);
        }
        Ok(())
    }

    /// The room learns that we leave, if it listens.
    async fn part(&mut self) {
        let handle = &self.handle;
        let parted = async {
            while !handle.with(|agent, _| agent.is_quiet()) {
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
        };
        let _in_time = timeout(FAREWELL, parted).await;
    }

    fn tell_page(&self, severity: &str, text: &str) {
        let (severity, text) = (severity.to_owned(), text.to_owned());
        self.front.tell(&ToPage::NetworkEvent { severity, text });
    }

    fn say(&mut self, severity: Severity, text: &str) {
        (self.observer)(Update::Line { severity, text });
    }
}

/// Waits until the next thing is to be played, or something may have changed.
async fn until_due(clock: Clock, now: Time, due: Option<Wakeup>) {
    let look = now + LOOK_EVERY;
    let due = due.map_or(look, |wakeup| wakeup.at.min(look));
    sleep_until(clock.instant(due).into()).await;
}

fn set_primary(agent: &mut Agent, path: PathId) -> Result<(), PathError> {
    let stats = agent.stats().ok_or(PathError::NoCall)?;
    if !stats.network.paths.iter().any(|report| report.id == path) {
        return Err(PathError::Unknown(path));
    }
    agent.set_primary(Some(path));
    Ok(())
}
