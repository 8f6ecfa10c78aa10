//! [`Lounge`]: a server with some channels, and a browser that watches.

use anabranch_media::{Class, Piece};
use std::time::Duration;

use anabranch_netsim::{LinkConfig, Pair, Side, machine_of_several};
use anabranch_sansio::{Rng, Time};
use anabranch_sctp::Endpoint;
use anabranch_television::channel::ChannelId;
use anabranch_television::protocol::{
    FromServer, FromViewer, PROTOCOL_VERSION, Slot, StreamRole, decode_media,
};
use anabranch_television::{
    NativeViewer, OpenToAll, Server, ServerConfig, Television, TelevisionConfig,
};

use crate::broadcast::{Broadcast, Programming};
use crate::harness::{MILLISECOND, SECOND};
use crate::held::Held;
use crate::page::{BINARY, Page, STRING, Seen};

/// One machine for each end, so that one simulation runs all.
pub(crate) enum End {
    Server(Box<Server>),
    Page(Box<Page>),
    Native(Box<NativeViewer>),
    /// The transport of a native viewer, and nobody who reads.
    Deaf(Box<Endpoint>),
}

machine_of_several!(End: Seen {
    Server(_) => None,
    Page(page) => page.poll_event(),
    Native(_) => None,
    Deaf(_) => None,
});

/// A message as the page got it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) enum Got {
    Text(StreamRole, FromServer),
    Media(StreamRole, Piece),
}

pub(crate) struct Lounge {
    pub(crate) pair: Pair<Held<End>>,
    broadcast: Broadcast,
    slot: Slot,
    /// What the page saw, messages aside.
    pub(crate) seen: Vec<Seen>,
    pub(crate) got: Vec<(Time, Got)>,
}

pub(crate) fn server(config: TelevisionConfig, rng: Rng) -> Server {
    let television = Television::new(config, Box::new(OpenToAll));
    Server::new(television, ServerConfig::default(), rng).expect("a certificate")
}

/// What a page says first.
pub(crate) fn hello() -> FromViewer {
    let program = "a page".to_owned();
    FromViewer::Hello { protocol: PROTOCOL_VERSION, program, token: None, latency_ms: 300 }
}

impl Lounge {
    /// The page is connected and has said hello.
    pub(crate) fn new(seed: u64, link: LinkConfig) -> Self {
        let pair = Pair::new(seed, &[link.into()], |side, paths, rng| match side {
            Side::Client => Held::new(End::Page(Box::new(Page::new(paths[0])))),
            Side::Server => {
                let server = server(TelevisionConfig::default(), rng);
                Held::new(End::Server(Box::new(server)))
            }
        });
        let broadcast = Broadcast::new(pair.now());
        let slot = Slot::default();
        let mut lounge = Self { pair, broadcast, slot, seen: Vec::new(), got: Vec::new() };
        let offer = lounge.page(|page, _| page.offer());
        let from = lounge.pair.paths()[0].addresses.local.ip();
        let accepted = lounge.serve(|server, now| server.accept(now, &offer, from));
        let (_, answer) = accepted.expect("a good offer");
        lounge.page(|page, now| page.take_answer(now, &answer));
        let is_there = |lounge: &Self| lounge.seen.contains(&Seen::Connected);
        assert!(lounge.run_until(10 * SECOND, is_there));
        lounge.say(StreamRole::Control, &hello());
        lounge
    }

    pub(crate) fn add(&mut self, number: u32, programming: Programming) -> ChannelId {
        self.broadcast(|broadcast, television| broadcast.add(television, number, programming))
    }

    pub(crate) fn say(&mut self, role: StreamRole, message: &FromViewer) {
        let text = message.encode();
        self.page(|page, now| page.send(now, role.stream().0, STRING, &text));
    }

    pub(crate) fn tune(&mut self, channel: ChannelId) {
        self.slot = self.slot.next();
        self.say(StreamRole::Data(self.slot), &FromViewer::Tune { channel });
    }

    pub(crate) const fn slot(&self) -> Slot {
        self.slot
    }

    /// Asks for a channel and waits for its first picture: how long that takes.
    pub(crate) fn zap(&mut self, channel: ChannelId, patience: Duration) -> Option<Duration> {
        let asked = self.now();
        self.tune(channel);
        let before = self.got.len();
        let base = StreamRole::Base(self.slot);
        let is_whole = |lounge: &Self| {
            let key = |(_, got): &(Time, Got)| match got {
                Got::Media(role, media) if *role == base => {
                    (media.header.class == Class::KeyFrame).then(|| media.header.clone())
                }
                Got::Media(..) | Got::Text(..) => None,
            };
            let first: Vec<_> = lounge.got[before..].iter().filter_map(key).collect();
            let last = first.iter().find(|header| header.last);
            last.is_some_and(|last| first.len() as u64 > last.index)
        };
        self.run_until(patience, is_whole).then(|| self.now() - asked)
    }

    pub(crate) fn page<T>(&mut self, act: impl FnOnce(&mut Page, Time) -> T) -> T {
        let acted = self.pair.act_client(|held, now| match &mut held.machine {
            End::Page(page) => act(page, now),
            End::Server(_) | End::Native(_) | End::Deaf(_) => panic!("not a page"),
        });
        self.collect();
        acted.expect("quiet")
    }

    pub(crate) fn serve<T>(&mut self, act: impl FnOnce(&mut Server, Time) -> T) -> T {
        let acted = self.pair.act_server(|held, now| match &mut held.machine {
            End::Server(server) => act(server, now),
            End::Page(_) | End::Native(_) | End::Deaf(_) => panic!("not a server"),
        });
        self.collect();
        acted.expect("quiet")
    }

    pub(crate) fn television<T>(&mut self, act: impl FnOnce(&mut Television) -> T) -> T {
        self.serve(|server, _| server.act(act))
    }

    pub(crate) fn server(&self) -> &Server {
        match &self.pair.server().machine {
            End::Server(server) => server,
            End::Page(_) | End::Native(_) | End::Deaf(_) => panic!("not a server"),
        }
    }

    pub(crate) fn now(&self) -> Time {
        self.pair.now()
    }

    /// Texts that the page got.
    pub(crate) fn texts(&self) -> impl Iterator<Item = &FromServer> {
        self.got.iter().filter_map(|(_, got)| match got {
            Got::Text(_, text) => Some(text),
            Got::Media(..) => None,
        })
    }

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
            self.pair.run_for(MILLISECOND.min(end - self.now())).expect("comes to rest");
            self.collect();
        }
        true
    }

    fn broadcast<T>(&mut self, act: impl FnOnce(&mut Broadcast, &mut Television) -> T) -> T {
        let mut broadcast = std::mem::replace(&mut self.broadcast, Broadcast::new(Time::ZERO));
        let result = self.television(|television| act(&mut broadcast, television));
        self.broadcast = broadcast;
        result
    }

    fn collect(&mut self) {
        while let Some((_, seen)) = self.pair.sim.poll_event() {
            match read(&seen) {
                Some(got) => self.got.push((self.pair.now(), got)),
                None => self.seen.push(seen),
            }
        }
    }
}

/// Reads a message of the server's; a page could not read another one either.
fn read(seen: &Seen) -> Option<Got> {
    let Seen::Message { stream, ppid, payload } = seen else { return None };
    let role = StreamRole::of(anabranch_transport::StreamId(*stream)).expect("a stream of ours");
    Some(match *ppid {
        STRING => Got::Text(role, FromServer::decode(payload).expect("a text")),
        BINARY => {
            let media = decode_media(payload.clone().into()).expect("media");
            Got::Media(role, media)
        }
        other => panic!("payload protocol identifier {other}"),
    })
}
