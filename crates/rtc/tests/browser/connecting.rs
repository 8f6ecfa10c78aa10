//! How connections begin and end.

use std::time::Duration;

use anabranch_rtc::{AcceptError, CloseReason, Event, RtcConfig};
use anabranch_sansio::{Datagram, FourTuple, Machine};

use crate::harness::{Visit, lossy};
use crate::page::Seen;

fn closed(visit: &Visit) -> Option<&CloseReason> {
    visit.told.iter().find_map(|event| {
        let Event::Closed { reason } = event else { return None };
        Some(reason)
    })
}

#[test]
fn a_page_is_connected_within_a_few_round_trips() {
    let visit = Visit::connected(1, lossy(0.0));
    // A check, two exchanges of DTLS, two of SCTP: 40 ms each.
    let took = visit.pair.now().as_millis();
    assert!(took <= 6 * 40, "{took} ms");
}

#[test]
fn a_page_is_connected_over_a_network_that_loses_a_fifth() {
    for seed in 0..10 {
        Visit::connected(seed, lossy(0.2));
    }
}

#[test]
fn a_page_that_never_comes_is_forgotten() {
    let mut visit = Visit::begun(1, lossy(1.0), RtcConfig::default());
    visit.run_for(Duration::from_secs(11));
    assert_eq!(closed(&visit), Some(&CloseReason::NeverCame));
    assert_eq!(visit.server(|server, _| server.connections().count()), 0);
}

#[test]
fn a_page_that_checks_and_sets_up_nothing_is_forgotten() {
    let mut visit = Visit::begun(1, lossy(0.0), RtcConfig::default());
    visit.page(|page, _| page.only_check());
    visit.run_for(Duration::from_secs(11));
    assert_eq!(closed(&visit), Some(&CloseReason::NotSetUp));
    assert_eq!(visit.server(|server, _| server.connections().count()), 0);
}

#[test]
fn a_tab_that_is_closed_is_noticed_within_ten_seconds() {
    let mut visit = Visit::connected(1, lossy(0.0));
    visit.page(|page, _| page.vanish());
    visit.run_for(Duration::from_secs(11));
    assert_eq!(closed(&visit), Some(&CloseReason::Silent));
    assert_eq!(visit.server(|server, _| server.connections().count()), 0);
}

#[test]
fn a_page_that_lives_stays_though_nothing_is_said() {
    let mut visit = Visit::connected(1, lossy(0.1));
    visit.run_for(Duration::from_secs(300));
    assert_eq!(closed(&visit), None);
}

#[test]
fn the_page_learns_that_the_server_hangs_up() {
    let mut visit = Visit::connected(1, lossy(0.0));
    let id = visit.id();
    visit.server(|server, now| server.close(now, id));
    visit.run_for(Duration::from_secs(1));
    assert_eq!(closed(&visit), Some(&CloseReason::Closed));
    assert_eq!(visit.seen.last(), Some(&Seen::Aborted));
    assert_eq!(visit.server(|server, _| server.connections().count()), 0);
}

#[test]
fn a_certificate_other_than_the_offers_gets_no_association() {
    let mut visit = Visit::begun(1, lossy(0.0), RtcConfig::default());
    let offer = visit.page(|page, _| page.offer());
    // The first connection is another page's offer, the answer of the second goes to this page.
    let (before, after) = offer.split_once("sha-256 ").expect("a fingerprint");
    let forged = format!("{before}sha-256 00{}", &after[2..]);
    let from = [192, 0, 2, 1].into();
    let accepted = visit.server(|server, now| server.accept(now, &forged, from));
    let (_, answer) = accepted.expect("a good offer");
    visit.page(|page, now| page.take_answer(now, &answer));
    visit.run_for(Duration::from_secs(5));
    assert_eq!(closed(&visit), Some(&CloseReason::WrongCertificate));
    assert!(!visit.told.contains(&Event::Connected));
    assert!(!visit.seen.contains(&Seen::Connected));
}

#[test]
fn handshakes_of_one_address_are_limited_and_so_are_all_connections() {
    let config =
        RtcConfig { handshakes_per_address_max: 2, connections_max: 3, ..RtcConfig::default() };
    let mut visit = Visit::begun(1, lossy(1.0), config);
    let offer = visit.page(|page, _| page.offer());
    let here = visit.pair.paths()[0].addresses.local.ip();
    let mut accept =
        |address| visit.server(|server, now| server.accept(now, &offer, address)).map(|_| ());
    assert_eq!(accept(here), Ok(()));
    let refused = AcceptError::TooManyHandshakes { address: here, limit: 2 };
    assert_eq!(accept(here), Err(refused));
    assert_eq!(accept([192, 0, 2, 9].into()), Ok(()));
    assert_eq!(accept([192, 0, 2, 10].into()), Err(AcceptError::Full { limit: 3 }));
}

#[test]
fn strangers_get_no_answer() {
    let mut visit = Visit::begun(1, lossy(1.0), RtcConfig::default());
    let stranger =
        FourTuple::new(visit.pair.paths()[0].addresses.remote, "203.0.113.5:5000".parse().unwrap());
    let check = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[0; 12]].concat();
    for bytes in [&check[..], &[22; 100], &[200; 20], &[]] {
        visit.server(|server, now| {
            server.handle_datagram(now, Datagram { path: stranger, ecn: None, bytes });
            assert!(server.poll_transmit(now, &mut Vec::new()).is_none());
        });
    }
    let stats = visit.server(|server, _| server.stats());
    assert_eq!((stats.checks_refused, stats.strangers, stats.malformed), (1, 1, 2));
}
