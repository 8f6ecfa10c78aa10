//! What stations do to each other, and what becomes of lost frames.

use std::time::Duration;

use anabranch_sansio::{Rate, Rng, Time};

use super::{HEADERS, assert_near, link, saturated};
use crate::testing::{number, packet};
use crate::{Cell, DropCause, LinkConfig, LinkStats, Loss, Medium, Traffic};
use crate::{WifiConfig, WifiStandard};

fn g() -> WifiConfig {
    WifiConfig::new(WifiStandard::G)
}

/// A cell with one station.
fn one(config: WifiConfig, link: LinkConfig) -> (Cell, [crate::MemberId; 2]) {
    let mut cell = Cell::new(&Medium::Wifi(config), Rng::from_u64(3));
    let ways = cell.add_station(link.clone(), link);
    (cell, ways)
}

/// All that arrives, with its time in microseconds.
fn run(cell: &mut Cell) -> Vec<(u32, u64)> {
    let mut out = Vec::new();
    while let Some(at) = cell.poll_timeout() {
        while let Some((_, packet)) = cell.poll_packet(at) {
            out.push((number(&packet), at.as_micros()));
        }
    }
    out
}

#[test]
fn a_packet_that_finds_the_air_idle_is_sent_at_once() {
    let (mut cell, [up, _]) = one(g(), link(g()));
    cell.handle_packet(Time::from_millis(5), up, packet(7, 1_500 - HEADERS));
    assert_eq!(run(&mut cell), [(7, 5_000 + 254)]);
}

#[test]
fn a_packet_that_finds_the_air_busy_waits_for_its_turn() {
    let (mut cell, [up, down]) = one(g(), link(g()));
    cell.handle_packet(Time::ZERO, up, packet(1, 1_500 - HEADERS));
    cell.handle_packet(Time::from_micros(10), down, packet(2, 1_500 - HEADERS));
    let arrivals = run(&mut cell);
    // Frame, SIFS, ACK, DIFS; then up to 15 slots, and the frame.
    let earliest = 254 + 10 + 34 + 28 + 254;
    assert_eq!(arrivals[0], (1, 254));
    let slots = (arrivals[1].1 - earliest) / 9;
    assert!(slots <= 15 && arrivals[1].1 == earliest + 9 * slots, "{arrivals:?}");
}

#[test]
fn a_slow_station_makes_all_slow() {
    // The anomaly of Heusse et al. 2003: equal chances to send are equal numbers of packets.
    let links = [54, 54, 6].map(|mbps| LinkConfig { rate: Some(Rate::mbps(mbps)), ..link(g()) });
    let mbps = saturated(g(), links.to_vec(), 1_500).throughputs(Duration::from_secs(20));
    assert!(mbps.iter().all(|mbps| (3.0..5.0).contains(mbps)), "{mbps:?}");
    assert_near(mbps[0], mbps[2], 0.15, "the fast beside the slow");
}

#[test]
fn stations_share_the_air_evenly_and_lose_some_to_collisions() {
    let mut cell = saturated(g(), vec![link(g()); 5], 1_500);
    cell.run(Duration::from_secs(5));
    let stats = cell.stats();
    let delivered: u64 = stats.iter().map(|stats| stats.delivered.packets).sum();
    let repeated: u64 = stats.iter().map(|stats| stats.repeated).sum();
    let share = repeated as f64 / (delivered + repeated) as f64;
    assert!((0.1..0.3).contains(&share), "{share} of the frames are sent again");
    for stats in stats {
        assert_near(stats.delivered.packets as f64, delivered as f64 / 5.0, 0.1, "a fifth");
        assert_eq!(stats.offered, total(&stats), "{stats:?}");
    }
}

fn total(stats: &LinkStats) -> Traffic {
    stats.delivered + stats.dropped.total() + stats.in_flight()
}

#[test]
fn the_access_point_serves_its_stations_in_turn() {
    let mut cell = Cell::new(&Medium::Wifi(g()), Rng::from_u64(3));
    let downs = [(); 3].map(|()| cell.add_receiver(link(g())));
    for (way, down) in (0_u32..).zip(downs) {
        for n in 0..3 {
            cell.handle_packet(Time::ZERO, down, packet(10 * way + n, 100));
        }
    }
    let order: Vec<u32> = run(&mut cell).into_iter().map(|(number, _)| number).collect();
    assert_eq!(order, [0, 10, 20, 1, 11, 21, 2, 12, 22]);
}

#[test]
fn a_lost_frame_is_sent_again_and_packets_stay_in_order() {
    for standard in [WifiStandard::G, WifiStandard::N] {
        let config = WifiConfig { attempts_max: None, ..WifiConfig::new(standard) };
        let lossy = LinkConfig { loss: Loss::uniform(0.3), ..link(config) };
        let (mut cell, [up, _]) = one(config, lossy);
        for n in 0..900 {
            cell.handle_packet(Time::ZERO, up, packet(n, 1_000));
        }
        let order: Vec<u32> = run(&mut cell).into_iter().map(|(number, _)| number).collect();
        assert_eq!(order, (0..900).collect::<Vec<_>>(), "{standard:?}");
        let repeated = cell.link(up).stats().repeated as f64;
        assert_near(repeated, 900.0 * 0.3 / 0.7, 0.1, "frames sent again");
    }
}

#[test]
fn a_frame_is_given_up_after_its_last_attempt() {
    for standard in [WifiStandard::G, WifiStandard::N] {
        let config = WifiConfig { attempts_max: Some(2), ..WifiConfig::new(standard) };
        let lossy = LinkConfig { loss: Loss::uniform(0.3), ..link(config) };
        let (mut cell, [up, _]) = one(config, lossy);
        cell.keep_dropped(up);
        for n in 0..900 {
            cell.handle_packet(Time::ZERO, up, packet(n, 1_000));
        }
        let arrived = run(&mut cell);
        assert!(arrived.is_sorted_by_key(|(number, _)| *number), "{standard:?}");
        let stats = cell.link(up).stats();
        assert_eq!(arrived.len() as u64 + stats.dropped.retries.packets, 900);
        // 0.3 times 0.3 of 900.
        assert_near(stats.dropped.retries.packets as f64, 81.0, 0.25, "given up");
        assert_eq!(stats.in_flight(), Traffic::default());
        let (_, cause, _) = cell.poll_dropped().unwrap();
        assert_eq!(cause, DropCause::Retries);
    }
}

#[test]
fn a_cut_takes_what_the_medium_holds() {
    let config = WifiConfig { attempts_max: None, ..g() };
    let (mut cell, [up, _]) = one(config, LinkConfig { loss: Loss::uniform(1.0), ..link(config) });
    for n in 0..5 {
        cell.handle_packet(Time::ZERO, up, packet(n, 1_000));
    }
    assert_eq!(cell.poll_packet(Time::from_millis(20)), None);
    assert_eq!(cell.link(up).stats().sending.packets, 1);
    cell.cut(Time::from_millis(20), up);
    let stats = cell.link(up).stats();
    assert_eq!((stats.dropped.cut.packets, stats.in_flight()), (5, Traffic::default()));
    cell.restore(up);
    cell.reconfigure(Time::from_millis(20), up, link(config));
    cell.handle_packet(Time::from_millis(90), up, packet(9, 1_500 - HEADERS));
    assert_eq!(run(&mut cell).len(), 1);
}

#[test]
fn decisions_do_not_depend_on_the_polls() {
    let ways = |polls: bool| {
        let (mut cell, ways) = one(g(), LinkConfig { loss: Loss::uniform(0.1), ..link(g()) });
        let mut out = Vec::new();
        for n in 0..600_u32 {
            let now = Time::from_micros(u64::from(n) * 150);
            cell.handle_packet(now, ways[n as usize % 2], packet(n, 1_000));
            while let Some((_, packet)) = polls.then(|| cell.poll_packet(now)).flatten() {
                out.push(number(&packet));
            }
        }
        out.extend(run(&mut cell).into_iter().map(|(number, _)| number));
        out
    };
    assert_eq!(ways(true), ways(false));
}
