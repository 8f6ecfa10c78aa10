//! Paths die, unannounced or as planned.

use std::time::Duration;

use anabranch_netsim::Side;
use anabranch_sansio::{Rate, Time};
use anabranch_transport::PathState;

use crate::harness::{Talk, link, p95};

fn ms(millis: u64) -> Duration {
    Duration::from_millis(millis)
}

/// What twenty cuts of one call cost: frames of voice, and the longest freeze of each.
struct Costs {
    lost: u64,
    late: usize,
    freezes: Vec<Duration>,
}

fn cuts_of(seed: u64, rtt_ms: u64, cuts: u64) -> Costs {
    let way = rtt_ms / 2;
    let links = [link(Rate::mbps(20), way, 0.0), link(Rate::mbps(8), way, 0.0)];
    let mut talk = Talk::begun(seed, &links);
    let mut freezes = Vec::new();
    for cut in 0..cuts {
        talk.run_until_all_paths_stand();
        talk.run_for(ms(500 + 7 * cut));
        let (path, at) = ((cut % 2) as usize, talk.pair.now());
        talk.pair.cut(path);
        talk.run_for(ms(2_000));
        for person in [&talk.client, &talk.server] {
            freezes.push(person.longest_freeze(at, at + ms(1_500)).saturating_sub(ms(40)));
        }
        talk.pair.restore(path);
    }
    let people = [&talk.client, &talk.server];
    let concealed: usize = people.iter().map(|person| person.concealed.len()).sum();
    Costs {
        lost: concealed as u64 + people.iter().map(|person| person.unheard()).sum::<u64>(),
        late: people.iter().map(|person| person.late(ms(way + 150))).sum(),
        freezes,
    }
}

/// 100 cuts in five calls.
fn cuts(rtt_ms: u64) -> Costs {
    let mut all = Costs { lost: 0, late: 0, freezes: Vec::new() };
    for seed in 0..5 {
        let costs = cuts_of(seed, rtt_ms, 20);
        all.lost += costs.lost;
        all.late += costs.late;
        all.freezes.extend(costs.freezes);
    }
    all
}

#[test]
fn a_path_that_dies_costs_no_voice_and_a_tenth_of_a_second_of_pictures_at_20_ms() {
    let costs = cuts(20);
    assert_eq!((costs.lost, costs.late), (0, 0), "voice");
    assert!(p95(costs.freezes) <= ms(100));
}

#[test]
fn a_path_that_dies_costs_no_voice_and_a_tenth_of_a_second_of_pictures_at_50_ms() {
    let costs = cuts(50);
    assert_eq!((costs.lost, costs.late), (0, 0), "voice");
    assert!(p95(costs.freezes) <= ms(100));
}

#[test]
fn a_path_that_dies_costs_no_voice_and_170_ms_of_pictures_at_100_ms() {
    let costs = cuts(100);
    assert_eq!((costs.lost, costs.late), (0, 0), "voice");
    assert!(p95(costs.freezes) <= ms(170));
}

/// The playout waits for the slower path all along.
#[test]
fn the_death_of_the_faster_of_two_unequal_paths_costs_no_voice() {
    let links = [link(Rate::mbps(20), 10, 0.0), link(Rate::mbps(8), 60, 0.0)];
    let mut talk = Talk::begun(3, &links);
    talk.run_for(ms(3_000));
    talk.pair.cut(0);
    talk.run_for(ms(3_000));
    for person in [&talk.client, &talk.server] {
        assert_eq!((person.concealed.len(), person.unheard()), (0, 0));
        assert_eq!(person.late(ms(60 + 150)), 0);
    }
}

#[test]
fn the_log_says_what_a_dead_path_cost() {
    let links = [link(Rate::mbps(20), 10, 0.0), link(Rate::mbps(8), 10, 0.0)];
    let mut talk = Talk::new(4, &links);
    let names = [(talk.paths[0].local.ip(), "wlan0"), (talk.paths[1].local.ip(), "wwan0")];
    for (address, name) in names {
        talk.act_client(|agent, _| agent.name_address(address, name.to_owned()));
    }
    talk.call();
    talk.run_for(ms(3_000));
    talk.pair.cut(0);
    talk.run_for(ms(3_000));
    let logged = talk.client.logged();
    let lost = "wlan0 lost; went on over wwan0 without a gap, nothing lost.";
    assert!(logged.iter().any(|line| line == lost), "{logged:#?}");
    talk.pair.restore(0);
    talk.run_for(ms(3_000));
    let logged = talk.client.logged();
    assert!(logged.iter().any(|line| line == "wlan0 is back."), "{logged:#?}");
    let cost = talk.path(Side::Client, 0).note.handoff;
    assert!(cost.is_some_and(|gap| gap <= ms(10)), "{cost:?}");
}

#[test]
fn a_planned_handoff_costs_nothing_at_all() {
    for seed in 0..20 {
        let way = 10 + 2 * seed;
        let links = [link(Rate::mbps(20), way, 0.0), link(Rate::mbps(8), way, 0.0)];
        let mut talk = Talk::begun(seed, &links);
        talk.run_for(ms(1_000 + 13 * seed));
        let path = talk.path(Side::Client, 0);
        let start = talk.pair.now();
        talk.act_client(|agent, now| agent.leave_path(now, path.report.id).expect("another one"));
        talk.run_until(ms(10_000), |talk| {
            talk.path(Side::Client, 0).report.state == PathState::Inactive
        });
        // Now the cable may be pulled.
        talk.pair.cut(0);
        talk.run_for(ms(2_000));
        for person in [&talk.client, &talk.server] {
            assert_eq!((person.concealed.len(), person.unheard()), (0, 0), "seed {seed}");
            assert_eq!(person.late(ms(way + 150)), 0, "seed {seed}");
            let freeze = person.longest_freeze(start, Time::MAX);
            assert!(freeze <= ms(150), "seed {seed}: pictures stood still for {freeze:?}");
            let late = person.seen.iter().filter(|(captured, at)| *at - *captured > ms(way + 150));
            assert_eq!(late.count(), 0, "seed {seed}: pictures");
        }
        let logged = talk.client.logged();
        assert!(logged.iter().any(|line| line.ends_with("was left as planned, nothing lost.")));
    }
}
