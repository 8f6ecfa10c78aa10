//! Viewers that are gone or take nothing: what they held is free within ten seconds.

use std::time::Duration;

use anabranch_netsim::{LinkConfig, Pair, Side};
use anabranch_sctp::{Endpoint, EndpointConfig};
use anabranch_television::protocol::{FromViewer, PPID_TEXT, Slot, StreamRole};
use anabranch_television::{SCTP_PORT, Server, TelevisionConfig, between_server_and_viewer};
use anabranch_transport::{Connection, Outgoing, SctpConfig};

use crate::broadcast::{Broadcast, THREE_MBPS};
use crate::harness::{MILLISECOND, SECOND, Studio, link};
use crate::lounge::{End, hello, server};

/// How long a viewer may hold what it got, once it is gone or takes nothing more.
const BAR: Duration = Duration::from_secs(10);

/// The most that waits for one viewer: what a server hands over, and one part more.
const WAITING_MAX: usize = 128 << 10;

#[test]
fn a_viewer_that_vanishes_costs_no_memory_and_is_gone_in_ten_seconds() {
    for (delay_ms, watches) in [(0, true), (25, true), (400, true), (0, false), (400, false)] {
        let mut studio = Studio::new(3, link(20, delay_ms, 0.0));
        let channel = studio.add(1, THREE_MBPS);
        studio.run_for(4 * SECOND);
        if watches {
            // A round trip of 800 ms needs more than the 300 ms of the others.
            studio.viewer(|viewer, _| viewer.set_budget(2 * SECOND));
            studio
                .zap(channel, 8 * SECOND)
                .unwrap_or_else(|| panic!("a picture, {delay_ms} ms away"));
        }
        studio.pair.cut(0);
        let viewer = studio.server().television().viewers().next().expect("a viewer").id;
        for _ in 0..100 {
            studio.run_for(100 * MILLISECOND);
            let waiting = studio.server().network(viewer).map_or(0, |network| network.queued);
            assert!(waiting <= WAITING_MAX, "{waiting}");
        }
        studio.run_for(MILLISECOND);
        let stats = studio.server().stats();
        assert_eq!(stats.natives, 0, "{delay_ms} ms away, watches: {watches}");
        assert_eq!(studio.server().television().viewers().count(), 0);
    }
}

#[test]
fn a_viewer_whose_network_is_away_for_five_seconds_stays() {
    let mut studio = Studio::new(3, link(20, 25, 0.0));
    let channel = studio.add(1, THREE_MBPS);
    studio.run_for(2 * SECOND);
    studio.zap(channel, SECOND).expect("a picture");
    studio.pair.cut(0);
    studio.run_for(5 * SECOND);
    studio.pair.restore(0);
    studio.run_for(20 * SECOND);
    assert_eq!(studio.server().television().viewers().count(), 1);
    assert!(studio.units.last().is_some_and(|(at, _)| *at + SECOND > studio.now()));
}

#[test]
fn a_viewer_that_lives_and_reads_nothing_is_gone_in_ten_seconds() {
    let mut house = House::new(link(20, 25, 0.0));
    house.say(StreamRole::Control, &hello());
    house.run_for(SECOND);
    assert_eq!(house.server().television().viewers().next().expect("a viewer").program, "a page");
    house.say(StreamRole::Data(Slot::default()), &FromViewer::Tune { channel: house.channel });
    house.run_until(2 * SECOND, |house| house.window() == Some(0));
    house.run_for(5 * SECOND);
    assert_eq!(house.server().stats().natives, 1, "it answers heartbeats and probes");
    house.run_until(BAR - 5 * SECOND, |house| house.server().stats().natives == 0);
}

#[test]
fn who_says_no_hello_is_gone_in_ten_seconds() {
    let mut house = House::new(link(20, 25, 0.0));
    house.run_until(SECOND, |house| house.server().stats().natives == 1);
    house.run_until(BAR, |house| house.server().stats().natives == 0);
}

/// A server with a channel, and the end of a native viewer that reads nothing.
struct House {
    pair: Pair<End>,
    broadcast: Broadcast,
    channel: anabranch_television::channel::ChannelId,
}

impl House {
    fn new(link: LinkConfig) -> Self {
        let mut path = Vec::new();
        let mut pair = Pair::new(1, &[link.into()], |side, paths, rng| match side {
            Side::Server => End::Server(Box::new(server(TelevisionConfig::default(), rng))),
            Side::Client => {
                path = paths.to_vec();
                End::Deaf(Box::new(Endpoint::new(EndpointConfig::default(), rng)))
            }
        });
        let mut broadcast = Broadcast::new(pair.now());
        let add = |end: &mut End, _| {
            let End::Server(server) = end else { panic!("the server") };
            server.act(|television| broadcast.add(television, 1, THREE_MBPS))
        };
        let channel = pair.act_server(add).expect("quiet");
        let mut house = Self { pair, broadcast, channel };
        house.transport(|endpoint, now| {
            let base = between_server_and_viewer(SctpConfig::media()).association;
            let config = base.with(|config| config.buffers.receive_buffer = 256 << 10);
            endpoint.connect(now, &path, (SCTP_PORT, SCTP_PORT), config).expect("a call");
        });
        house
    }

    fn say(&mut self, role: StreamRole, message: &FromViewer) {
        let payload = message.encode();
        self.transport(|endpoint, now| {
            let id = endpoint.associations().next().expect("called");
            let association = endpoint.association_mut(id).expect("there");
            let message = Outgoing::new(role.stream(), PPID_TEXT, payload);
            Connection::send(association, now, message).expect("taken");
        });
    }

    fn transport(&mut self, act: impl FnOnce(&mut Endpoint, anabranch_sansio::Time)) {
        let acted = self.pair.act_client(|end, now| {
            let End::Deaf(endpoint) = end else { panic!("the viewer") };
            act(endpoint, now);
        });
        acted.expect("quiet");
    }

    fn server(&self) -> &Server {
        let End::Server(server) = self.pair.server() else { panic!("the server") };
        server
    }

    /// What the server believes that the viewer has room for.
    fn window(&self) -> Option<usize> {
        let viewer = self.server().television().viewers().next()?;
        Some(self.server().network(viewer.id)?.peer_window)
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.pair.now() + span;
        while self.pair.now() < end {
            let broadcast = &mut self.broadcast;
            let send = |end: &mut End, now| {
                let End::Server(server) = end else { panic!("the server") };
                if broadcast.is_due(now) {
                    server.act(|television| broadcast.send_due(now, television));
                }
            };
            self.pair.act_server(send).expect("quiet");
            self.pair.run_for(MILLISECOND).expect("comes to rest");
        }
    }

    fn run_until(&mut self, span: Duration, is_so: impl Fn(&Self) -> bool) {
        let end = self.pair.now() + span;
        while !is_so(self) {
            assert!(self.pair.now() < end, "not within {span:?}");
            self.run_for(MILLISECOND);
        }
    }
}
