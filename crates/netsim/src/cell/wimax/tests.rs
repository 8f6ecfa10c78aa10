//! Capacity and access delay, beside what hands calculate from the standard's numbers.

use std::time::Duration;

use anabranch_sansio::{Rng, Time};

use crate::cell::testing::{HEADERS, Saturated, assert_near};
use crate::testing::packet;
use crate::{
    Cell, CellConfig, DropCause, LinkConfig, Loss, Medium, MemberId, QueueLimit, Service, Traffic,
    WimaxConfig,
};

/// IP bytes of the packets here.
const LEN: usize = 1_000;

fn medium(config: WimaxConfig) -> Medium {
    Medium::Wimax(config)
}

fn link(config: WimaxConfig, service: Service) -> LinkConfig {
    let cell = CellConfig { service, ..medium(config).into() };
    let queue = QueueLimit::Packets(1_000);
    LinkConfig { queue, cell: Some(cell), ..medium(config).link() }
}

/// What stations get that always have more to send, in Mbit/s.
fn uplink(config: WimaxConfig, services: &[Service]) -> Vec<f64> {
    let links = services.iter().map(|service| link(config, *service)).collect();
    Saturated::new(&medium(config), links, LEN).throughputs(Duration::from_secs(20))
}

fn downlink(config: WimaxConfig, stations: usize) -> Vec<f64> {
    let links = vec![link(config, Service::Rtps); stations];
    Saturated::receivers(&medium(config), links, LEN).throughputs(Duration::from_secs(20))
}

/// Mbit/s of IP where a burst has so many bytes in each frame, some of them the request for more.
/// Each burst cuts a packet in two, both of which have a header of 10 and a subheader of 2 bytes;
/// packets that are not cut have 10.
fn by_hand(burst_len: f64, request_len: f64, frame_ms: f64) -> f64 {
    let packets = LEN as f64;
    let whole = (burst_len - request_len - 10.0 - 2.0 * 2.0) / (1.0 + 10.0 / packets);
    // Where no burst holds a packet, all are cut.
    let cut = (burst_len - request_len - 12.0) / (1.0 + 12.0 / packets);
    let payload = if whole > packets { whole } else { cut };
    payload * 8.0 / frame_ms / 1e3
}

#[test]
fn the_uplink_carries_what_is_left_of_its_slots_by_headers() {
    // 24 symbols are 8 slots for each of 48 subchannels; 8 are for ranging, and each has 12 bytes.
    let config = WimaxConfig::default();
    let alone = uplink(config, &[Service::Rtps])[0];
    assert_near(alone, by_hand(376.0 * 12.0, 2.0, 5.0), 0.02, "one station");
    assert_near(alone, 7.12, 0.01, "one station, the sum");
    let third = by_hand(376.0 / 3.0 * 12.0, 2.0, 5.0);
    for measured in uplink(config, &[Service::Rtps; 3]) {
        assert_near(measured, third, 0.02, "three stations");
    }
    // 102 symbols of a frame of 20 ms are 34 slots each.
    let config = WimaxConfig { frame_us: 20_000, ..config };
    let slots = 34.0 * 48.0 - 8.0;
    let alone = uplink(config, &[Service::Rtps])[0];
    assert_near(alone, by_hand(slots * 12.0, 2.0, 20.0), 0.02, "20 ms");
}

#[test]
fn the_downlink_carries_what_is_left_of_its_slots_by_maps_and_headers() {
    // Of 9 symbols one is the preamble and two are maps: 2 slots for each of 48 subchannels.
    let config = WimaxConfig::default();
    let alone = downlink(config, 1)[0];
    assert_near(alone, by_hand(96.0 * 12.0, 0.0, 5.0), 0.02, "one station");
    for measured in downlink(config, 3) {
        assert_near(measured, by_hand(32.0 * 12.0, 0.0, 5.0), 0.02, "three stations");
    }
}

/// The mean time that packets take that come alone, in milliseconds: 1,000 each, at all times of a
/// frame alike.
fn access_delay(config: WimaxConfig, services: &[Service], down: bool) -> f64 {
    let mut cell = Cell::new(&medium(config), Rng::from_u64(3));
    let mut add = |service: &Service| {
        let way = link(config, *service);
        cell.add_station(way.clone(), way)[usize::from(down)]
    };
    let members: Vec<MemberId> = services.iter().map(&mut add).collect();
    let mut total = Duration::ZERO;
    // Ten frames, in which nrtPS is polled once.
    let cycle = 10 * config.frame();
    for n in 0..1_000 {
        for (place, member) in (0..).zip(&members) {
            // Far from the one before.
            let at =
                Time::ZERO + (members.len() as u32 * n + place) * 20 * cycle + n * cycle / 1_000;
            cell.handle_packet(at, *member, packet(0, LEN - HEADERS));
            let mut arrival = at;
            while let Some(due) = cell.poll_timeout() {
                arrival = due;
                let _ = cell.poll_packet(due);
            }
            total += arrival - at;
        }
    }
    total.as_secs_f64() * 1e3 / (1_000 * members.len()) as f64
}

#[test]
fn access_takes_a_poll_a_request_and_a_grant() {
    let config = WimaxConfig::default();
    // Half a frame until the poll, a frame until the grant, and the burst to the end of the uplink.
    let expected = 2.5 + 5.0 + 24.0 * 0.144;
    assert_near(access_delay(config, &[Service::Rtps], false), expected, 0.02, "one station");
    assert_near(access_delay(config, &[Service::Rtps; 3], false), expected, 0.02, "three");
    let long = WimaxConfig { frame_us: 20_000, ..config };
    let expected = 10.0 + 20.0 + 102.0 * 0.144;
    assert_near(access_delay(long, &[Service::Rtps], false), expected, 0.02, "20 ms");
    // A poll each ten frames.
    let expected = 25.0 + 5.0 + 24.0 * 0.144;
    assert_near(access_delay(config, &[Service::Nrtps], false), expected, 0.02, "nrtPS");
}

#[test]
fn access_to_the_downlink_takes_the_next_maps() {
    // Half a frame, preamble and maps, and two rows for 85 slots.
    let expected = 2.5 + 3.0 * 0.144 + 2.0 * 0.432;
    let config = WimaxConfig::default();
    assert_near(access_delay(config, &[Service::Rtps], true), expected, 0.02, "one station");
    assert_near(access_delay(config, &[Service::Rtps; 3], true), expected, 0.02, "three");
}

#[test]
fn rtps_is_served_before_nrtps() {
    let config = WimaxConfig::default();
    let both = uplink(config, &[Service::Rtps, Service::Nrtps]);
    assert!(both[1] < 0.01, "{both:?}");
    let two = uplink(config, &[Service::Nrtps, Service::Nrtps]);
    assert_near(two[0], two[1], 0.02, "each half");
}

#[test]
fn a_packet_is_lost_with_any_of_its_pdus_and_not_sent_again() {
    let config = WimaxConfig::default();
    let lossy = LinkConfig { loss: Loss::uniform(0.1), ..link(config, Service::Rtps) };
    let mut cell = Cell::new(&medium(config), Rng::from_u64(3));
    let [up, _] = cell.add_station(lossy.clone(), lossy);
    cell.keep_dropped(up);
    for n in 0..1_000 {
        cell.handle_packet(Time::ZERO, up, packet(n, LEN - HEADERS));
    }
    while let Some(at) = cell.poll_timeout() {
        let _ = cell.poll_packet(at);
    }
    let stats = cell.link(up).stats();
    // Of 4.45 packets in a frame, one is cut in two.
    let whole = 1.0 - 1.0 / 4.45;
    let lost = whole * 0.1 + (1.0 - whole) * (1.0 - 0.9 * 0.9);
    assert_near(stats.dropped.loss.packets as f64, 1_000.0 * lost, 0.2, "lost");
    assert_eq!(stats.delivered + stats.dropped.loss, stats.offered);
    assert_eq!(cell.poll_dropped().map(|(_, cause, _)| cause), Some(DropCause::Loss));
}

#[test]
fn a_cut_takes_the_packet_that_was_begun() {
    let config = WimaxConfig::default();
    let mut cell = Cell::new(&medium(config), Rng::from_u64(3));
    let way = link(config, Service::Rtps);
    let [up, _] = cell.add_station(way.clone(), way);
    for n in 0..20 {
        cell.handle_packet(Time::ZERO, up, packet(n, LEN - HEADERS));
    }
    let mut arrived = 0;
    while let Some(at) = cell.poll_timeout().filter(|at| *at < Time::from_millis(11)) {
        arrived += u64::from(cell.poll_packet(at).is_some());
    }
    let stats = cell.link(up).stats();
    assert_eq!((arrived, stats.sending.packets), (4, 1));
    cell.cut(Time::from_millis(11), up);
    let stats = cell.link(up).stats();
    assert_eq!((stats.dropped.cut.packets, stats.in_flight()), (16, Traffic::default()));
    cell.restore(up);
    cell.handle_packet(Time::from_millis(50), up, packet(9, 100));
    while let Some(at) = cell.poll_timeout() {
        arrived += u64::from(cell.poll_packet(at).is_some());
    }
    assert_eq!(arrived, 5);
}

#[test]
fn decisions_do_not_depend_on_the_polls() {
    let run = |polls: bool| {
        let config = WimaxConfig::default();
        let way = LinkConfig { loss: Loss::uniform(0.1), ..link(config, Service::Rtps) };
        let mut cell = Cell::new(&medium(config), Rng::from_u64(3));
        let ways = cell.add_station(way.clone(), way);
        let mut out = Vec::new();
        for n in 0..400_u32 {
            let now = Time::from_micros(u64::from(n) * 2_500);
            cell.handle_packet(now, ways[n as usize % 2], packet(n, LEN));
            while let Some((_, packet)) = polls.then(|| cell.poll_packet(now)).flatten() {
                out.push(crate::testing::number(&packet));
            }
        }
        while let Some(at) = cell.poll_timeout() {
            out.extend(cell.poll_packet(at).map(|(_, packet)| crate::testing::number(&packet)));
        }
        out
    };
    assert_eq!(run(true), run(false));
}
