//! A page and our server over a simulated path, and another one to which the page may move.

use std::time::Duration;

use anabranch_netsim::{LinkConfig, Loss, Pair, Side, machine_of_several};
use anabranch_rtc::{ConnectionId, Event, MessageKind, RtcConfig, Server};
use anabranch_sansio::{FourTuple, Rng, Time};
use anabranch_wire::StreamId;

use crate::page::{Page, Seen};

/// Both ends are of one type for the simulator.
#[expect(clippy::large_enum_variant, reason = "there are two of them")]
pub(crate) enum End {
    Page(Page),
    Server(Server),
}

#[derive(Debug)]
pub(crate) enum Told {
    Page(Seen),
    Server(Event),
}

machine_of_several!(End: Told {
    Page(page) => page.poll_event().map(Told::Page),
    Server(server) => server.poll_event().map(|(_, event)| Told::Server(event)),
});

pub(crate) struct Visit {
    pub(crate) pair: Pair<End>,
    pub(crate) id: Option<ConnectionId>,
    /// What the page saw.
    pub(crate) seen: Vec<Seen>,
    /// What the server was told.
    pub(crate) told: Vec<Event>,
}

pub(crate) fn lossy(loss: f64) -> LinkConfig {
    let delay = Duration::from_millis(20);
    LinkConfig { delay, loss: Loss::uniform(loss), ..LinkConfig::default() }
}

impl Visit {
    /// The page has the answer to its offer.
    pub(crate) fn begun(seed: u64, link: LinkConfig, config: RtcConfig) -> Self {
        Self::begun_by(seed, link, config, Page::new)
    }

    fn begun_by(
        seed: u64,
        link: LinkConfig,
        config: RtcConfig,
        page: fn(FourTuple) -> Page,
    ) -> Self {
        let pair =
            Pair::new(
                seed,
                &[link.clone().into(), link.into()],
                |side, paths, rng: Rng| match side {
                    Side::Client => End::Page(page(paths[0])),
                    Side::Server => {
                        End::Server(Server::new(config.clone(), rng).expect("a certificate"))
                    }
                },
            );
        let mut visit = Self { pair, id: None, seen: Vec::new(), told: Vec::new() };
        let offer = visit.page(|page, _| page.offer());
        let from = visit.pair.paths()[0].addresses.local.ip();
        let accepted = visit.server(|server, now| server.accept(now, &offer, from));
        let (id, answer) = accepted.expect("a good offer");
        visit.id = Some(id);
        visit.page(|page, now| page.take_answer(now, &answer));
        visit
    }

    /// Both ends know that the association is set up.
    pub(crate) fn connected(seed: u64, link: LinkConfig) -> Self {
        Self::connected_by(seed, link, Page::new)
    }

    /// The same with a page of another kind.
    pub(crate) fn connected_by(seed: u64, link: LinkConfig, page: fn(FourTuple) -> Page) -> Self {
        let mut visit = Self::begun_by(seed, link, RtcConfig::default(), page);
        let is_there = |visit: &Self| {
            visit.seen.contains(&Seen::Connected) && visit.told.contains(&Event::Connected)
        };
        assert!(visit.run_until(Duration::from_secs(30), is_there), "{:?}", visit.told);
        visit
    }

    pub(crate) fn page<T>(&mut self, act: impl FnOnce(&mut Page, Time) -> T) -> T {
        let acted = self.pair.act_client(|end, now| {
            let End::Page(page) = end else { panic!("the client is the page") };
            act(page, now)
        });
        self.collect();
        acted.expect("comes to rest")
    }

    pub(crate) fn server<T>(&mut self, act: impl FnOnce(&mut Server, Time) -> T) -> T {
        let acted = self.pair.act_server(|end, now| {
            let End::Server(server) = end else { panic!("the server is ours") };
            act(server, now)
        });
        self.collect();
        acted.expect("comes to rest")
    }

    pub(crate) fn id(&self) -> ConnectionId {
        self.id.expect("accepted")
    }

    pub(crate) fn run_for(&mut self, span: Duration) {
        self.run_until(span, |_| false);
    }

    pub(crate) fn run_until(
        &mut self,
        limit: Duration,
        mut is_done: impl FnMut(&Self) -> bool,
    ) -> bool {
        let end = self.pair.now() + limit;
        loop {
            self.collect();
            if is_done(self) {
                return true;
            }
            match self.pair.sim.next_step_at() {
                Some(at) if at <= end => {
                    self.pair.sim.step().expect("the machines come to rest");
                }
                _ => {
                    self.pair.sim.jump_to(end);
                    self.collect();
                    return is_done(self);
                }
            }
        }
    }

    fn collect(&mut self) {
        while let Some((_, told)) = self.pair.sim.poll_event() {
            match told {
                Told::Page(seen) => self.seen.push(seen),
                Told::Server(event) => self.told.push(event),
            }
        }
    }

    /// The messages that the server was told of, and their channels.
    pub(crate) fn messages(&self) -> Vec<(StreamId, MessageKind, Vec<u8>)> {
        let message = |event: &Event| {
            let Event::Message { kind, message } = event else { return None };
            Some((message.stream, *kind, message.payload.to_vec()))
        };
        self.told.iter().filter_map(message).collect()
    }
}
