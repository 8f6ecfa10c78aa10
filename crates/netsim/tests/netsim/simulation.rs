//! Machines on a simulated network: delivery, order of events, limits.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anabranch_netsim::{
    CLIENT, Carrier, DuplexConfig, HostError, Hostility, LinkConfig, MAX_STEPS_PER_INSTANT,
    Observer, Packet, Pair, PathConfig, Probability, SERVER, Side, Sighting, Simulation,
    SimulationError, Step, Verdict,
};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rate, Time, Transmit, Wakeup};

use crate::machines::{Chatter, Heard};

const MS: Duration = Duration::from_millis(1);

fn delayed(ms: u32) -> LinkConfig {
    LinkConfig { delay: MS * ms, ..LinkConfig::default() }
}

fn talking_pair(links: &[DuplexConfig], count: u32, interval: Duration) -> Pair<Chatter> {
    Pair::new(7, links, |side, paths, _rng| match side {
        Side::Client => Chatter::talker(paths, count, interval),
        Side::Server => Chatter::listener(paths).answering(),
    })
}

fn numbers(heard: &[Heard]) -> Vec<u32> {
    heard.iter().map(|heard| heard.number).collect()
}

#[test]
fn two_paths_are_independent_and_keep_their_own_delays() {
    let mut pair = talking_pair(&[delayed(10).into(), delayed(25).into()], 2, MS);
    pair.run_for(MS * 100).unwrap();
    let heard = pair.sim.take_events(SERVER);
    let paths: Vec<FourTuple> = pair.paths().iter().map(|path| path.addresses.reversed()).collect();
    assert_eq!(
        heard,
        [
            Heard { number: 0, at: Time::from_millis(10), path: paths[0] },
            Heard { number: 1, at: Time::from_millis(26), path: paths[1] },
        ]
    );
    let answers: Vec<_> = pair.sim.take_events(CLIENT).iter().map(|heard| heard.at).collect();
    assert_eq!(answers, [Time::from_millis(20), Time::from_millis(51)]);
}

#[test]
fn a_cut_path_loses_what_travels_and_the_other_goes_on() {
    let mut pair = talking_pair(&[delayed(10).into(), delayed(10).into()], 100, MS);
    pair.run_for(MS * 15).unwrap();
    pair.cut(0);
    pair.run_for(MS * 20).unwrap();
    pair.restore(0);
    pair.run_for(MS * 200).unwrap();
    let heard = numbers(&pair.sim.take_events(SERVER));
    let lost: Vec<_> = (0..100).filter(|number| !heard.contains(number)).collect();
    // Packets take 10 ms: the cut at 15 ms meets those sent from 6 ms on, and those until 34 ms
    // find it.
    assert_eq!(lost, (6..35).filter(|number| number % 2 == 0).collect::<Vec<_>>());
}

#[test]
fn a_burst_is_split_into_its_segments() {
    struct Burst(bool);
    impl Machine for Burst {
        type Event = usize;
        fn handle_datagram(&mut self, _: Time, _: Datagram<'_>) {}
        fn handle_timeout(&mut self, _: Time) {}
        fn poll_transmit(&mut self, _: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
            if !std::mem::take(&mut self.0) {
                return None;
            }
            buf.resize(2_500, 7);
            let path =
                FourTuple::new("10.0.0.1:9899".parse().unwrap(), "10.0.0.2:9899".parse().unwrap());
            Some(Transmit { segment_size: Some(1_000), ..Transmit::datagram(path) })
        }
        fn poll_timeout(&self) -> Option<Wakeup> {
            None
        }
        fn poll_event(&mut self) -> Option<usize> {
            None
        }
    }
    let lengths = Arc::new(Mutex::new(Vec::new()));
    let seen = lengths.clone();
    let mut pair = Pair::new(1, &[delayed(1).into()], |side, _, _| Burst(side == Side::Client));
    pair.sim.network_mut().add_observer(move |_: Time, sighting: Sighting<'_>| {
        if let Sighting::Received { packet, .. } = sighting {
            seen.lock().unwrap().push(packet.bytes.len());
        }
    });
    pair.run_for(MS * 2).unwrap();
    assert_eq!(*lengths.lock().unwrap(), [1_000, 1_000, 500]);
}

#[test]
fn a_filter_and_drop_next_take_packets_out_and_count_them() {
    let mut pair = talking_pair(&[delayed(1).into()], 10, MS);
    pair.sim.drop_next(CLIENT, 2);
    pair.sim.set_filter(|_, host, packet| {
        if host == CLIENT && packet.bytes[3] == 5 { Verdict::Drop } else { Verdict::Pass }
    });
    pair.run_for(MS * 50).unwrap();
    assert_eq!(numbers(&pair.sim.take_events(SERVER)), [2, 3, 4, 6, 7, 8, 9]);
    assert_eq!(pair.sim.stats(CLIENT).filtered.packets, 3);
    assert_eq!(pair.sim.stats(CLIENT).sent.packets, 10);
}

#[test]
fn what_a_changed_machine_wants_to_send_goes_out_at_the_same_instant() {
    let mut pair = talking_pair(&[delayed(10).into()], 1, MS);
    pair.run_for(MS * 100).unwrap();
    pair.server_mut().say(0);
    pair.act_server(|server, _| server.say(0)).unwrap();
    pair.run_for(MS * 100).unwrap();
    let at: Vec<_> = pair.sim.take_events(CLIENT).iter().map(|heard| heard.at).collect();
    assert_eq!(at, [Time::from_millis(20), Time::from_millis(110), Time::from_millis(110)]);
}

#[test]
fn packets_without_a_route_or_a_host_are_counted() {
    let mut pair = talking_pair(&[delayed(10).into()], 3, MS * 20);
    let path = pair.paths()[0].addresses;
    pair.run_for(MS * 5).unwrap();
    pair.sim.remove_address(path.remote.ip());
    pair.run_for(MS * 20).unwrap();
    pair.sim.network_mut().remove_route(path.local.ip(), path.remote.ip());
    pair.run_for(MS * 20).unwrap();
    assert!(pair.sim.take_events(SERVER).is_empty());
    assert_eq!(pair.sim.network().unrouted().packets, 3, "two without a host, one without a route");
}

#[test]
fn events_can_be_acted_upon_when_they_happen() {
    let mut pair = talking_pair(&[delayed(10).into()], 1, MS);
    let mut answers = 0;
    pair.sim
        .run_to_with(Time::from_secs(1), |sim, host, heard| {
            assert_eq!(sim.now(), heard.at);
            if host == CLIENT && answers < 5 {
                answers += 1;
                sim.machine_mut(CLIENT).say(0);
            }
        })
        .unwrap();
    assert_eq!(answers, 5);
    assert_eq!(pair.sim.stats(SERVER).received.packets, 6);
}

#[test]
fn run_until_tells_what_did_not_come() {
    let mut pair = talking_pair(&[delayed(10).into()], 3, MS);
    let done = pair.run_until(|_, _| false, 4);
    assert_eq!(done, Err(SimulationError::NotDone { steps: 4, at: Time::from_millis(1) }));
    let done = pair.run_until(|_, _| false, 10_000);
    assert_eq!(done, Err(SimulationError::Idle { at: Time::from_millis(22) }));
}

#[test]
fn a_hostile_path_repeats_reorders_and_damages_until_it_is_calm_again() {
    let mut pair = talking_pair(&[delayed(10).into()], 2_000, MS);
    let hostility = Hostility {
        duplicate: Probability::saturating(0.1),
        reorder: Probability::saturating(0.1),
        hold_max: 5 * MS,
        corrupt: Probability::saturating(0.05),
    };
    pair.harass(0, hostility);
    pair.run_for(MS * 1_000).unwrap();
    let hostile = numbers(&pair.sim.take_events(SERVER));
    assert!(hostile.len() > 1_000, "some of 990 come twice: {}", hostile.len());
    assert!(!hostile.is_sorted(), "some are held back");
    pair.harass(0, Hostility::default());
    pair.run_for(MS * 20).unwrap();
    pair.sim.take_events(SERVER);
    pair.run_for(MS * 2_000).unwrap();
    let calm = numbers(&pair.sim.take_events(SERVER));
    assert!(calm.iter().copied().eq(1_011..2_000), "{} from {:?}", calm.len(), calm.first());
    let offered = pair.sim.network().link(pair.paths()[0].links.forward).stats().offered;
    assert!(offered.packets > 2_050, "what the boxes held went on to the link");
}

#[test]
fn after_a_jump_of_the_clock_everything_is_late_and_nothing_lost() {
    let mut pair = talking_pair(&[delayed(10).into()], 5, MS);
    pair.run_for(Duration::from_micros(2_500)).unwrap();
    pair.sim.jump_to(Time::from_millis(100));
    pair.run_for(MS * 100).unwrap();
    let at: Vec<_> =
        pair.sim.take_events(SERVER).iter().map(|heard| heard.at.as_millis()).collect();
    assert_eq!(at, [100, 100, 100, 110, 110]);
}

#[test]
fn paths_that_make_no_pair_are_refused_in_words() {
    let path = |local: &str, remote: &str| PathConfig {
        name: local.to_owned(),
        addresses: FourTuple::new(local.parse().unwrap(), remote.parse().unwrap()),
        links: LinkConfig::default().into(),
    };
    let refused = |paths: &[PathConfig]| {
        let pair = Pair::with_paths(1, paths, |_, paths, _| Chatter::listener(paths));
        pair.err().expect("no pair").to_string()
    };
    let same = [path("10.0.0.1:1", "10.0.0.2:1"), path("10.0.0.1:2", "10.0.0.2:2")];
    assert!(refused(&same).contains("two paths join 10.0.0.1 and 10.0.0.2"));
    let looped = [path("10.0.0.1:1", "10.0.0.1:2")];
    assert!(refused(&looped).contains("10.0.0.1 belongs to client already"));
    let mixed = [path("10.0.0.1:1", "[fd00::1]:1")];
    assert!(refused(&mixed).contains("both must be IPv4, or both IPv6"));
}

#[test]
fn two_interfaces_towards_one_server_address_are_two_paths() {
    let path = |n: u8, ms| PathConfig {
        name: format!("interface {n}"),
        addresses: FourTuple::new(([10, n, 0, 1], 1).into(), ([192, 0, 2, 1], 2).into()),
        links: delayed(ms).into(),
    };
    let mut pair = Pair::with_paths(1, &[path(0, 10), path(1, 20)], |side, paths, _| match side {
        Side::Client => Chatter::talker(paths, 2, MS),
        Side::Server => Chatter::listener(paths).answering(),
    })
    .unwrap();
    pair.run_for(MS * 100).unwrap();
    let at: Vec<_> =
        pair.sim.take_events(CLIENT).iter().map(|heard| heard.at.as_millis()).collect();
    assert_eq!(at, [20, 41]);
}

#[test]
fn an_address_belongs_to_one_host() {
    let mut sim = Simulation::new(1);
    let address = "10.0.0.1".parse().unwrap();
    let twice = sim.add_host("a", &[address, address], Chatter::listener(&[]));
    assert_eq!(twice, Err(HostError::AddressInUse { address, host: "a".into() }));
    let host = sim.add_host("a", &[address], Chatter::listener(&[])).unwrap();
    let again = sim.add_host("b", &[address], Chatter::listener(&[]));
    assert_eq!(again, Err(HostError::AddressInUse { address, host: "a".into() }));
    sim.remove_address(address);
    sim.add_host("b", &[address], Chatter::listener(&[])).unwrap();
    assert!(sim.add_address(host, address).is_err());
    sim.run_for(MS).unwrap();
}

#[test]
fn a_forged_packet_can_be_injected_and_seen_by_a_shared_observer() {
    #[derive(Default)]
    struct Seen(Vec<(Time, Vec<u8>)>);
    impl Observer for Seen {
        fn observe(&mut self, now: Time, sighting: Sighting<'_>) {
            if let Sighting::Received { host: SERVER, packet } = sighting {
                self.0.push((now, packet.bytes.clone()));
            }
        }
    }
    let seen = Arc::new(Mutex::new(Seen::default()));
    let mut pair = talking_pair(&[delayed(10).into()], 1, MS);
    pair.sim.network_mut().add_observer(Arc::clone(&seen));
    pair.run_for(MS * 5).unwrap();
    let path = pair.paths()[0].addresses;
    let (carrier, bytes) = (Carrier::Udp, vec![0, 0, 0, 99]);
    pair.sim.inject(Packet::new(path, carrier, bytes));
    pair.run_for(MS * 20).unwrap();
    assert_eq!(numbers(&pair.sim.take_events(SERVER)), [0, 99]);
    let seen = &seen.lock().unwrap().0;
    assert_eq!(seen.len(), 2);
    assert_eq!(seen[1], (Time::from_millis(15), vec![0, 0, 0, 99]));
}

#[test]
fn each_step_is_one_thing_and_says_which() {
    let mut pair = talking_pair(&[delayed(10).into()], 1, MS);
    pair.sim.set_filter(|_, _, _| Verdict::Drop);
    pair.sim.clear_filter();
    let steps: Vec<_> = std::iter::from_fn(|| {
        let step = pair.sim.step().unwrap()?;
        Some((pair.now().as_millis(), step))
    })
    .collect();
    assert_eq!(
        steps,
        [
            (0, Step::Moved),
            (0, Step::Woken(CLIENT)),
            (0, Step::Woken(SERVER)),
            (10, Step::Received(SERVER)),
            (20, Step::Received(CLIENT)),
        ]
    );
}

/// Breaks the contract in one way.
struct Broken(Fault);

#[derive(Clone, Copy, PartialEq)]
enum Fault {
    None,
    NeverDisarms,
    NeverStopsSending,
}

impl Broken {
    fn transmit() -> Transmit {
        let path = FourTuple::new(([10, 0, 0, 1], 9_899).into(), ([10, 0, 0, 2], 9_899).into());
        Transmit::datagram(path)
    }
}

impl Machine for Broken {
    type Event = ();

    fn handle_datagram(&mut self, _: Time, _: Datagram<'_>) {}

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        (self.0 == Fault::NeverStopsSending).then(Self::transmit)
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        (self.0 == Fault::NeverDisarms)
            .then_some(Wakeup { at: Time::from_millis(3), why: "T1-init" })
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

fn run_broken(fault: Fault) -> Result<(), SimulationError> {
    let make =
        |side, _: &[FourTuple], _| Broken(if side == Side::Client { fault } else { Fault::None });
    Pair::new(1, &[delayed(1).into()], make).run_for(MS * 10)
}

#[test]
fn a_busy_loop_is_one_readable_error() {
    assert_eq!(run_broken(Fault::None), Ok(()));
    let error = run_broken(Fault::NeverDisarms).unwrap_err();
    assert_eq!(
        error,
        SimulationError::BusyLoop {
            host: "client".into(),
            why: "T1-init",
            at: Time::from_millis(3)
        }
    );
    assert_eq!(
        error.to_string(),
        "client was woken 1000 times at 0.003000 s and is due again for \"T1-init\": \
         handle_timeout must act on what is due and disarm or move its timer"
    );
}

#[test]
fn a_machine_that_never_stops_sending_is_an_error() {
    let error = run_broken(Fault::NeverStopsSending).unwrap_err();
    assert!(matches!(error, SimulationError::EndlessTransmit { host, .. } if host == "client"));
}

#[test]
fn chatter_without_delay_is_an_error() {
    let links = [LinkConfig::default().into()];
    let mut pair = Pair::new(1, &links, |_, paths, _| Chatter::listener(paths).answering());
    pair.client_mut().say(0);
    let done = pair.sim.run_to_with(Time::from_secs(1), |_, _, _| {});
    assert_eq!(done, Err(SimulationError::Chatter { at: Time::ZERO }));
}

#[test]
fn chatter_with_delay_may_go_on() {
    let delay = Duration::from_micros(1);
    let links = [LinkConfig { delay, ..LinkConfig::default() }.into()];
    let mut pair = Pair::new(1, &links, |_, paths, _| Chatter::listener(paths).answering());
    pair.client_mut().say(0);
    let end = Time::from_micros(u64::from(MAX_STEPS_PER_INSTANT) + 10);
    assert_eq!(pair.sim.run_to_with(end, |_, _, _| {}), Ok(()));
}

#[test]
fn what_would_go_on_for_ever_is_ended_by_the_limit_of_steps() {
    let delay = Duration::from_micros(1);
    let links = [LinkConfig { delay, ..LinkConfig::default() }.into()];
    let mut pair = Pair::new(1, &links, |_, paths, _| Chatter::listener(paths).answering());
    pair.sim.limit_steps(1_000);
    pair.client_mut().say(0);
    let error = pair.sim.run_to_with(Time::MAX, |_, _, _| {}).unwrap_err();
    assert!(matches!(error, SimulationError::Endless { steps: 1_000, .. }), "{error}");
    assert_eq!(pair.sim.step(), Err(error), "it stays ended");
}

#[test]
fn two_runs_of_one_seed_are_equal_and_another_seed_differs() {
    let run = |seed| {
        let lossy = LinkConfig { rate: Some(Rate::mbps(5)), ..LinkConfig::wifi() };
        let links = [lossy.into(), LinkConfig::mobile().into()];
        let mut pair = Pair::new(seed, &links, |side, paths, _| match side {
            Side::Client => Chatter::talker(paths, 5_000, MS),
            Side::Server => Chatter::listener(paths).answering(),
        });
        pair.run_for(Duration::from_secs(10)).unwrap();
        pair.sim.take_events(CLIENT)
    };
    assert_eq!(run(1), run(1));
    assert_ne!(run(1), run(2));
}
