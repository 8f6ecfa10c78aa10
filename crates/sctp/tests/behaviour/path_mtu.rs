//! How packets become as long as paths carry, and shorter again (RFC 8899).

use std::time::Duration;

use anabranch_netsim::LinkConfig;
use anabranch_sansio::Rate;
use anabranch_sctp::{AssociationConfig, Event};

use crate::harness::{Duo, Side, good_link, numbered};

const SECOND: Duration = Duration::from_secs(1);

/// What the headers of IPv4 leave of the room that is kept for those of IPv6.
const SPARE: u16 = 20;

fn searching() -> AssociationConfig {
    AssociationConfig::media().with(|config| {
        config.paths.path_mtu = 1_280;
        config.paths.path_mtu_search_max = Some(1_500);
    })
}

/// A link that carries packets of a path MTU.
fn carrying(path_mtu: u16) -> LinkConfig {
    LinkConfig { mtu: path_mtu - SPARE, ..good_link() }
}

fn path_mtu(duo: &Duo, side: Side) -> usize {
    duo.association(side).expect("lives").config().paths.path_mtu
}

/// 3.2 Mbit/s of messages, all of which arrive within three seconds of the last.
fn transfer(duo: &mut Duo, numbers: std::ops::Range<u32>) {
    let end = numbers.end;
    for number in numbers {
        duo.send(Side::Client, numbered(0, number, 20_000));
        duo.run_for(SECOND / 20);
    }
    duo.run_for(3 * SECOND);
    assert_eq!(duo.numbers(Side::Server), (0..end).collect::<Vec<_>>());
}

#[test]
fn packets_are_as_long_as_ethernet_carries_soon_after_the_first_second() {
    let mut duo = Duo::connected(1, &[carrying(1_500)], searching());
    assert_eq!(path_mtu(&duo, Side::Client), 1_280);
    duo.run_for(SECOND / 2);
    assert_eq!(path_mtu(&duo, Side::Client), 1_280, "media that begins is not held up");
    duo.run_for(SECOND);
    assert_eq!([Side::Client, Side::Server].map(|side| path_mtu(&duo, side)), [1_500; 2]);
    transfer(&mut duo, 0..20);
}

#[test]
fn where_the_largest_does_not_pass_the_next_smaller_ones_are_tried() {
    for (carried, found) in [(1_499, 1_492), (1_440, 1_440), (1_399, 1_360), (1_300, 1_280)] {
        let mut duo = Duo::connected(1, &[carrying(carried)], searching());
        duo.run_for(20 * SECOND);
        assert_eq!(path_mtu(&duo, Side::Client), found, "where {carried} pass");
        transfer(&mut duo, 0..20);
    }
}

#[test]
fn a_probe_that_is_lost_says_nothing_about_the_path() {
    let mut duo = Duo::connected(1, &[carrying(1_280)], searching());
    duo.run_for(20 * SECOND);
    let is_change = |event: &Event| matches!(event, Event::PathStateChanged { .. });
    assert!(!duo.events(Side::Client).iter().any(is_change));
    let counters = duo.path(Side::Client, 0).counters;
    assert_eq!((counters.timeouts, counters.chunks_lost), (0, 0));
}

#[test]
fn a_path_that_a_probe_would_hold_up_is_left_alone() {
    let narrow = LinkConfig { rate: Some(Rate::kbps(500)), ..carrying(1_500) };
    let mut duo = Duo::connected(1, &[narrow], searching());
    duo.saturate(Side::Client, 1_000, 10 * SECOND);
    assert_eq!(path_mtu(&duo, Side::Client), 1_280);
}

#[test]
fn nothing_is_tried_unless_it_is_asked_for() {
    let mut duo = Duo::connected(1, &[carrying(1_500)], AssociationConfig::media());
    duo.run_for(20 * SECOND);
    assert_eq!(path_mtu(&duo, Side::Client), 1_400);
}

#[test]
fn packets_fit_every_path_that_carries_data() {
    let mut duo = Duo::connected(1, &[carrying(1_500), carrying(1_420)], searching());
    duo.run_for(20 * SECOND);
    assert_eq!(path_mtu(&duo, Side::Client), 1_420);
    transfer(&mut duo, 0..20);
}

#[test]
fn a_path_that_carries_less_than_before_is_noticed_and_nothing_is_lost() {
    let mut duo = Duo::connected(1, &[carrying(1_500)], searching());
    transfer(&mut duo, 0..20);
    assert_eq!(path_mtu(&duo, Side::Client), 1_500);
    duo.pair.reconfigure(0, carrying(1_300));
    transfer(&mut duo, 20..40);
    assert_eq!(path_mtu(&duo, Side::Client), 1_280);
    duo.run_for(20 * SECOND);
    assert_eq!(path_mtu(&duo, Side::Client), 1_280);
}

#[test]
fn what_a_path_carries_is_found_out_again_after_ten_minutes() {
    let mut duo = Duo::connected(1, &[carrying(1_300)], searching());
    duo.run_for(60 * SECOND);
    duo.pair.reconfigure(0, carrying(1_500));
    duo.run_for(60 * SECOND);
    assert_eq!(path_mtu(&duo, Side::Client), 1_280);
    duo.run_for(600 * SECOND);
    assert_eq!(path_mtu(&duo, Side::Client), 1_500);
}
