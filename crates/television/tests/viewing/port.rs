//! Native viewers and browsers share a port.

use std::net::IpAddr;

use anabranch_netsim::{DuplexConfig, HostId, Simulation};
use anabranch_rtc::AcceptError;
use anabranch_sansio::{FourTuple, Machine as _, Time};
use anabranch_television::protocol::StreamRole;
use anabranch_television::{Carrier, NativeEvent, NativeViewer, Server, TelevisionConfig, Viewer};

use crate::harness::{MILLISECOND, SECOND, link};
use crate::lounge::{End, hello, server};
use crate::page::{Page, STRING, Seen};

const SERVER: IpAddr = IpAddr::V4(std::net::Ipv4Addr::new(192, 0, 2, 1));

/// A server, a page and a native viewer, each a host.
struct House {
    sim: Simulation<End>,
    server: HostId,
    page: HostId,
    native: HostId,
}

impl House {
    fn new(config: TelevisionConfig) -> Self {
        let mut sim = Simulation::new(1);
        let rng = sim.fork_rng();
        let machine = End::Server(Box::new(server(config, rng)));
        let server = sim.add_host("server", &[SERVER], machine).expect("free");
        let [first, second] = [2, 3].map(|host| {
            let here = IpAddr::from([192, 0, 2, host]);
            let links: DuplexConfig = link(20, 25, 0.0).into();
            let connected = sim.network_mut().connect(&format!("to {here}"), (here, SERVER), links);
            connected.expect("new");
            FourTuple::new((here, 40_000).into(), (SERVER, 9_000).into())
        });
        let page = End::Page(Box::new(Page::new(first)));
        let page = sim.add_host("page", &[first.local.ip()], page).expect("free");
        let viewer = Viewer::new("a test".to_owned(), None, 300 * MILLISECOND);
        let viewer = NativeViewer::new(viewer, None, sim.fork_rng());
        let native = End::Native(Box::new(viewer));
        let native = sim.add_host("native", &[second.local.ip()], native).expect("free");
        let call = |end: &mut End, now| {
            let End::Native(viewer) = end else { panic!("the native viewer") };
            viewer.connect(now, &[second]).expect("a call");
        };
        sim.act(native, call).expect("quiet");
        Self { sim, server, page, native }
    }

    fn page<T>(&mut self, act: impl FnOnce(&mut Page, Time) -> T) -> T {
        let acted = self.sim.act(self.page, |end, now| {
            let End::Page(page) = end else { panic!("the page") };
            act(page, now)
        });
        acted.expect("quiet")
    }

    /// The page brings its offer.
    fn offer(&mut self) -> Result<(), AcceptError> {
        let offer = self.page(|page, _| page.offer());
        let act = |end: &mut End, now| {
            let End::Server(server) = end else { panic!("the server") };
            server.accept(now, &offer, [192, 0, 2, 2].into())
        };
        let (_, answer) = self.sim.act(self.server, act).expect("quiet")?;
        self.page(|page, now| page.take_answer(now, &answer));
        Ok(())
    }

    fn server(&self) -> &Server {
        match self.sim.machine(self.server) {
            End::Server(server) => server,
            End::Page(_) | End::Native(_) | End::Deaf(_) => panic!("not the server"),
        }
    }

    fn carriers(&self) -> Vec<Carrier> {
        self.server().television().viewers().map(|viewer| viewer.carrier).collect()
    }
}

#[test]
fn a_native_viewer_and_a_browser_watch_by_one_port() {
    let mut house = House::new(TelevisionConfig::default());
    house.offer().expect("room");
    house.sim.run_for(SECOND).expect("rest");
    house.page(|page, now| {
        page.send(now, StreamRole::Control.stream().0, STRING, &hello().encode())
    });
    house.sim.run_for(SECOND).expect("rest");
    assert_eq!(house.carriers(), [Carrier::Native, Carrier::Browser]);
    let programs: Vec<_> =
        house.server().television().viewers().map(|viewer| viewer.program).collect();
    assert_eq!(programs, ["a test", "a page"]);
    let stats = house.server().stats();
    assert_eq!((stats.native.malformed, stats.browsers.malformed), (0, 0));
}

#[test]
fn a_browser_beyond_the_limit_is_refused_by_its_offer_or_when_it_comes() {
    let mut house = House::new(TelevisionConfig { viewers_max: 1, ..TelevisionConfig::default() });
    house.offer().expect("the native viewer is not there yet");
    house.sim.run_for(2 * SECOND).expect("rest");
    assert_eq!(house.carriers(), [Carrier::Native]);
    assert!(house.sim.take_events(house.page).contains(&Seen::Aborted));
    assert_eq!(house.offer(), Err(AcceptError::Full { limit: 1 }));
    let End::Native(viewer) = house.sim.machine(house.native) else { panic!("native") };
    assert!(viewer.network().is_some_and(|network| network.paths[0].srtt.is_some()));
}

#[test]
fn a_browser_that_only_checks_who_is_there_leaves_nothing_behind() {
    let mut house = House::new(TelevisionConfig::default());
    house.page(|page, _| page.only_check());
    house.offer().expect("room");
    house.sim.run_for(SECOND).expect("rest");
    assert_eq!(house.server().stats().connections, 1);
    house.sim.run_for(9 * SECOND).expect("rest");
    assert_eq!(house.server().stats().connections, 0);
}

#[test]
fn a_native_viewer_that_is_refused_leaves_nothing_behind() {
    let mut house = House::new(TelevisionConfig { viewers_max: 0, ..TelevisionConfig::default() });
    house.sim.run_for(SECOND).expect("rest");
    let End::Native(viewer) = house.sim.machine_mut(house.native) else { panic!("native") };
    let Some(NativeEvent::Closed(reason)) = viewer.poll_event() else { panic!("still there") };
    assert!(reason.to_string().contains("as many viewers as the server takes"), "{reason}");
    assert_eq!(house.server().stats().natives, 0);
}

#[test]
fn an_address_gets_its_part_of_the_viewers_whatever_carries_them() {
    let limited =
        |limit| TelevisionConfig { viewers_per_address_max: limit, ..TelevisionConfig::default() };
    let mut house = House::new(limited(1));
    house.offer().expect("room");
    house.sim.run_for(2 * SECOND).expect("rest");
    assert_eq!(house.carriers(), [Carrier::Native, Carrier::Browser]);
    let is_full =
        |house: &House| [2, 3, 4].map(|it| house.server().is_full_for([192, 0, 2, it].into()));
    assert_eq!(is_full(&house), [true, true, false]);
    let leave = |end: &mut End, now| {
        let End::Native(viewer) = end else { panic!("the native viewer") };
        viewer.leave(now);
    };
    house.sim.act(house.native, leave).expect("quiet");
    house.sim.run_for(SECOND).expect("rest");
    assert_eq!(is_full(&house), [true, false, false]);

    let mut house = House::new(limited(0));
    house.offer().expect("nobody is there yet");
    house.sim.run_for(2 * SECOND).expect("rest");
    assert_eq!(house.carriers(), []);
    assert!(house.sim.take_events(house.page).contains(&Seen::Aborted));
    let End::Native(viewer) = house.sim.machine_mut(house.native) else { panic!("native") };
    let Some(NativeEvent::Closed(reason)) = viewer.poll_event() else { panic!("still there") };
    assert!(reason.to_string().contains("as many viewers from this address"), "{reason}");
}
