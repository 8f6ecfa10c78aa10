//! A server with some channels, a viewer, and the paths between them.

use std::time::Duration;

use anabranch_media::decoding::MediaTrack;
use anabranch_netsim::{
    DuplexConfig, LinkConfig, Loss, Pair, QueueLimit, Side, machine_of_several,
};
use anabranch_sansio::{Rate, Rng, Time};
use anabranch_television::channel::ChannelId;
use anabranch_television::{
    AccessPolicy, NativeEvent, NativeViewer, OpenToAll, ReceivedUnit, Server, ServerConfig,
    Television, TelevisionConfig, Viewer, ViewerEvent,
};

use crate::broadcast::{Broadcast, Programming};
use crate::held::Held;

pub(crate) const MILLISECOND: Duration = Duration::from_millis(1);
pub(crate) const SECOND: Duration = Duration::from_secs(1);

/// One machine for either end, so that one simulation runs both.
#[derive(Debug)]
pub(crate) enum Party {
    Server(Box<Server>),
    Viewer(Box<NativeViewer>),
}

machine_of_several!(Party: NativeEvent {
    Server(_) => None,
    Viewer(viewer) => viewer.poll_event(),
});

/// A link by rate, one-way delay and share of packets lost, with a queue of 100 ms.
pub(crate) fn link(mbps: u64, delay_ms: u64, loss: f64) -> LinkConfig {
    let rate = Rate::mbps(mbps);
    LinkConfig {
        rate: Some(rate),
        delay: Duration::from_millis(delay_ms),
        queue: QueueLimit::lasting(Duration::from_millis(100), rate),
        loss: Loss::uniform(loss),
        ..LinkConfig::default()
    }
}

/// A server and a viewer.
pub(crate) struct Studio {
    pub(crate) pair: Pair<Held<Party>>,
    broadcast: Broadcast,
    /// What the viewer was told, units aside.
    pub(crate) events: Vec<(Time, NativeEvent)>,
    pub(crate) units: Vec<(Time, ReceivedUnit)>,
}

impl Studio {
    pub(crate) fn new(seed: u64, link: LinkConfig) -> Self {
        Self::with_gate(seed, link, None, || Box::new(OpenToAll))
    }

    pub(crate) fn with_gate(
        seed: u64,
        link: LinkConfig,
        token: Option<&str>,
        gate: impl Fn() -> Box<dyn AccessPolicy>,
    ) -> Self {
        let mut paths = Vec::new();
        let links: [DuplexConfig; 1] = [link.into()];
        let pair = Pair::new(seed, &links, |side, seen, rng: Rng| match side {
            Side::Client => {
                paths = seen.to_vec();
                let token = token.map(str::to_owned);
                let viewer = Viewer::new("a test".to_owned(), token, 300 * MILLISECOND);
                Held::new(Party::Viewer(Box::new(NativeViewer::new(viewer, None, rng))))
            }
            Side::Server => {
                let television = Television::new(TelevisionConfig::default(), gate());
                let config = ServerConfig::default();
                let server = Server::new(television, config, rng).expect("a certificate");
                Held::new(Party::Server(Box::new(server)))
            }
        });
        let mut studio = Self {
            pair,
            broadcast: Broadcast::new(Time::ZERO),
            events: Vec::new(),
            units: Vec::new(),
        };
        studio.broadcast = Broadcast::new(studio.pair.now());
        let call = |held: &mut Held<Party>, now| viewer_of(held).connect(now, &paths);
        studio.pair.act_client(call).expect("quiet").expect("a call");
        studio
    }

    /// A channel that is on air.
    pub(crate) fn add(&mut self, number: u32, programming: Programming) -> ChannelId {
        self.broadcast(|broadcast, television| broadcast.add(television, number, programming))
    }

    /// Changes what the sources send.
    pub(crate) fn broadcast<T>(
        &mut self,
        act: impl FnOnce(&mut Broadcast, &mut Television) -> T,
    ) -> T {
        let mut broadcast = std::mem::replace(&mut self.broadcast, Broadcast::new(Time::ZERO));
        let result = self.television(|television| act(&mut broadcast, television));
        self.broadcast = broadcast;
        result
    }

    pub(crate) fn television<T>(&mut self, act: impl FnOnce(&mut Television) -> T) -> T {
        let act = |held: &mut Held<Party>, _| server_of(held).act(act);
        let result = self.pair.act_server(act).expect("quiet");
        self.collect();
        result
    }

    pub(crate) fn viewer<T>(&mut self, act: impl FnOnce(&mut Viewer, Time) -> T) -> T {
        let act =
            |held: &mut Held<Party>, now: Time| viewer_of(held).act(now, |viewer| act(viewer, now));
        let result = self.pair.act_client(act).expect("quiet");
        self.collect();
        result
    }

    pub(crate) fn server(&self) -> &Server {
        match &self.pair.server().machine {
            Party::Server(server) => server,
            Party::Viewer(_) => panic!("a viewer"),
        }
    }

    pub(crate) fn watching(&self) -> &NativeViewer {
        match &self.pair.client().machine {
            Party::Viewer(viewer) => viewer,
            Party::Server(_) => panic!("a server"),
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.pair.now()
    }

    /// Runs, with all channels sending.
    pub(crate) fn run_for(&mut self, span: Duration) {
        self.run_until(span, |_| false);
    }

    /// Runs until something is so; says whether it came to that.
    pub(crate) fn run_until(&mut self, span: Duration, is_so: impl Fn(&Self) -> bool) -> bool {
        let end = self.now() + span;
        while !is_so(self) {
            if self.now() >= end {
                return false;
            }
            if !self.pair.server().is_held() && self.broadcast.is_due(self.now()) {
                let now = self.now();
                self.broadcast(|broadcast, television| broadcast.send_due(now, television));
            }
            let next = (self.now() + MILLISECOND).min(end);
            self.pair.run_for(next - self.now()).expect("comes to rest");
            self.collect();
        }
        true
    }

    /// Asks for a channel and waits for its first picture: how long that takes.
    pub(crate) fn zap(&mut self, id: ChannelId, patience: Duration) -> Option<Duration> {
        let asked = self.now();
        self.viewer(|viewer, now| viewer.tune(now, id));
        let came = |studio: &Self| {
            let is_first = |(at, unit): &&(Time, ReceivedUnit)| {
                *at > asked && unit.kind() == MediaTrack::Video
            };
            studio.units.iter().rev().take_while(|(at, _)| *at >= asked).any(|it| is_first(&it))
        };
        self.run_until(patience, came).then(|| self.now() - asked)
    }

    /// What the session told the viewer.
    pub(crate) fn told(&self) -> impl Iterator<Item = &ViewerEvent> {
        self.events.iter().filter_map(|(_, event)| match event {
            NativeEvent::Session(event) => Some(event),
            NativeEvent::Closed(_) => None,
        })
    }

    pub(crate) fn is_welcome(&self) -> bool {
        self.told().any(|event| matches!(event, ViewerEvent::Welcome { .. }))
    }

    fn collect(&mut self) {
        let now = self.now();
        while let Some((_, event)) = self.pair.sim.poll_event() {
            if let NativeEvent::Session(ViewerEvent::Unit(unit)) = event {
                self.units.push((now, unit));
            } else {
                self.events.push((now, event));
            }
        }
    }
}

fn server_of(held: &mut Held<Party>) -> &mut Server {
    match &mut held.machine {
        Party::Server(server) => server,
        Party::Viewer(_) => panic!("a viewer"),
    }
}

fn viewer_of(held: &mut Held<Party>) -> &mut NativeViewer {
    match &mut held.machine {
        Party::Viewer(viewer) => viewer,
        Party::Server(_) => panic!("a server"),
    }
}
