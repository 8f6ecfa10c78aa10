//! How two agents come to talk to each other, and what that costs.

use anabranch_netsim::{Filtering, NatConfig};
use anabranch_rooms::protocol::{Kind, MemberNumber};
use anabranch_sansio::Time;

use crate::harness::{Home, MILLISECOND, SECOND, World, behind, symmetric_nat, usual_nat};

const PICTURE: usize = 1_000;

/// Two members who talk and are seen.
fn two(seed: u64, homes: &[Home]) -> (World, [MemberNumber; 2]) {
    let mut world = World::new(seed, homes);
    let alice = world.enter(0, "Alice");
    world.turn_on(0, PICTURE);
    let bob = world.enter(1, "Bob");
    world.turn_on(1, PICTURE);
    (world, [alice, bob])
}

/// Frames that are missing between the first and the last, and how many came.
fn missing(frames: &[(Time, u64)]) -> (u64, usize) {
    let (Some(first), Some(last)) = (frames.first(), frames.last()) else { return (u64::MAX, 0) };
    (last.1 - first.1 + 1 - frames.len() as u64, frames.len())
}

/// All voice came, both ways, since a time; and all pictures but so many.
fn assert_whole(world: &World, numbers: [MemberNumber; 2], since: Time, pictures_lost: u64) {
    let span = (world.now() - since).as_secs_f64();
    for (to, from) in [(1, numbers[0]), (0, numbers[1])] {
        let (lost, came) = missing(&world.frames(to, Kind::Voice.of(from), since));
        assert!(lost == 0 && came as f64 > span * 50.0 - 12.0, "{from:?}: {lost} of {came}");
        let (lost, came) = missing(&world.frames(to, Kind::Picture.of(from), since));
        let expected = span * 25.0 - 6.0 - pictures_lost as f64;
        assert!(lost <= pictures_lost && came as f64 > expected, "{from:?}: {lost} of {came}");
    }
}

#[test]
fn behind_usual_nats_media_goes_past_the_room_within_a_second() {
    for seed in 1..=4 {
        let homes = [behind(usual_nat(), &[10]), behind(usual_nat(), &[15])];
        let (mut world, numbers) = two(seed, &homes);
        world.run_for(SECOND);
        for at in [0, 1] {
            assert_eq!(world.past_the_room(at).len(), 1, "seed {seed}, home {at}");
        }
        let since = world.now();
        world.run_for(5 * SECOND);
        assert_whole(&world, numbers, since, 0);
        for at in [0, 1] {
            let carried = world.past_the_room(at)[0].bytes_sent;
            assert!(carried > 100_000, "seed {seed}: pictures take the shorter way: {carried}");
        }
    }
}

#[test]
fn nothing_is_lost_while_media_goes_over_to_the_direct_way() {
    for seed in [11, 12] {
        let homes = [behind(usual_nat(), &[10]), behind(usual_nat(), &[15])];
        let (mut world, numbers) = two(seed, &homes);
        let since = world.now();
        world.run_for(4 * SECOND);
        assert_whole(&world, numbers, since, 0);
    }
}

#[test]
fn behind_symmetric_nats_the_room_passes_sealed_packets_on() {
    let homes = [behind(symmetric_nat(), &[10]), behind(symmetric_nat(), &[15])];
    let (mut world, numbers) = two(21, &homes);
    world.run_for(2 * SECOND);
    let since = world.now();
    world.run_for(5 * SECOND);
    assert!(world.past_the_room(0).is_empty() && world.past_the_room(1).is_empty());
    assert_whole(&world, numbers, since, 0);
}

#[test]
fn one_symmetric_nat_is_passed_where_the_other_lets_everybody_in() {
    let open = NatConfig { filtering: Filtering::EndpointIndependent, ..usual_nat() };
    let homes = [behind(symmetric_nat(), &[10]), behind(open, &[15])];
    let (mut world, numbers) = two(31, &homes);
    world.run_for(2 * SECOND);
    let since = world.now();
    world.run_for(4 * SECOND);
    assert_eq!((world.past_the_room(0).len(), world.past_the_room(1).len()), (1, 1));
    assert_whole(&world, numbers, since, 0);
}

#[test]
fn without_nats_two_networks_each_make_every_way_there_is() {
    let home = Home { delays_ms: vec![10, 15], nat: None };
    let (mut world, numbers) = two(41, &[home.clone(), home]);
    world.run_for(2 * SECOND);
    let since = world.now();
    world.run_for(3 * SECOND);
    assert_eq!((world.past_the_room(0).len(), world.past_the_room(1).len()), (4, 4));
    let reached = "The other one is reached directly, over path ";
    let said = world.logged[0].iter().filter(|(_, line)| line.starts_with(reached)).count();
    assert_eq!(said, 4, "{:?}", world.logged[0]);
    assert_whole(&world, numbers, since, 0);
}

#[test]
fn losing_the_direct_way_costs_no_frame_of_voice() {
    for seed in [51, 52] {
        let homes = [behind(usual_nat(), &[10]), behind(usual_nat(), &[15])];
        let (mut world, numbers) = two(seed, &homes);
        world.run_for(3 * SECOND);
        let since = world.now();
        world.cut_between(false);
        world.run_for(5 * SECOND);
        assert_whole(&world, numbers, since, 4);
        let logged = &world.logged[0];
        let said =
            logged.iter().any(|(_, line)| line.contains("went on over path 0 through the room"));
        assert!(said, "{logged:?}");
    }
}

#[test]
fn losing_a_network_of_two_costs_no_frame_of_voice() {
    for seed in [61, 62] {
        let homes = [behind(usual_nat(), &[10, 20]), behind(usual_nat(), &[15])];
        let (mut world, numbers) = two(seed, &homes);
        world.run_for(3 * SECOND);
        let since = world.now();
        world.cut_uplink(0, 0);
        world.run_for(5 * SECOND);
        assert_whole(&world, numbers, since, 4);
    }
}

#[test]
fn a_network_that_comes_later_leads_past_the_room_too_whatever_the_other_lets_in() {
    let homes = [behind(usual_nat(), &[10]), behind(usual_nat(), &[15, 20])];
    let mut world = World::new(65, &homes);
    let alice = world.enter(0, "Alice");
    let bob = world.enter_over(1, "Bob", 1);
    world.turn_on(0, PICTURE);
    world.turn_on(1, PICTURE);
    world.run_for(2 * SECOND);
    assert_eq!((world.past_the_room(0).len(), world.past_the_room(1).len()), (1, 1));
    let since = world.now();
    let way = world.way_to_room(1, 1);
    world.agent(1, |agent, now| agent.open_path(now, way));
    world.run_for(2 * SECOND);
    assert_eq!((world.past_the_room(0).len(), world.past_the_room(1).len()), (2, 2));
    assert_whole(&world, [alice, bob], since, 0);
}

#[test]
fn while_a_third_is_there_all_media_goes_through_the_room() {
    let homes =
        [behind(usual_nat(), &[10]), behind(usual_nat(), &[15]), behind(usual_nat(), &[12])];
    let (mut world, numbers) = two(71, &homes);
    world.run_for(3 * SECOND);
    assert!(world.stats(0).is_direct);
    let since = world.now();
    world.enter(2, "Carol");
    world.run_for(100 * MILLISECOND);
    let heard_from = world.now();
    world.run_for(3 * SECOND);
    assert!(!world.stats(0).is_direct && !world.stats(1).is_direct);
    assert_whole(&world, numbers, since, 0);
    for from in numbers {
        for kind in [Kind::Voice, Kind::Picture] {
            let (lost, came) = missing(&world.frames(2, kind.of(from), heard_from));
            assert!(lost == 0 && came > 60, "Carol, {kind:?} of {from:?}: {lost} of {came}");
        }
    }
    let since = world.now();
    world.agent(2, |agent, now| agent.leave(now));
    world.run_for(4 * SECOND);
    assert!(world.stats(0).is_direct && world.stats(1).is_direct, "alone again");
    assert_whole(&world, numbers, since, 0);
}
