//! SACKs that are spaced in time: negotiated, on one path, and nobody else notices.

use std::time::Duration;

use anabranch_netsim::Side;
use anabranch_sctp::AssociationConfig;

use crate::harness::{Duo, link, numbered};

const MILLISECOND: Duration = Duration::from_millis(1);

fn offering(spaced_sacks: bool) -> AssociationConfig {
    AssociationConfig::media().with(|config| config.extensions.spaced_sacks = spaced_sacks)
}

/// Two ends over links of 20 Mbit/s and 25 ms each way, after a second.
fn duo(client: bool, server: bool, links: usize, loss: f64) -> Duo {
    let links = vec![link(20, 25, loss); links];
    let mut duo = Duo::of_two(1, &links, offering(client), offering(server));
    duo.connect();
    duo.run_for(Duration::from_secs(1));
    duo
}

/// Sends a packet each millisecond for two seconds; the SACKs that answer.
fn sacks(duo: &mut Duo) -> u64 {
    let before = duo.stats(Side::Server).sacks_sent;
    for number in 0..2_000 {
        duo.send(Side::Client, numbered(0, number, 1_200));
        duo.run_for(MILLISECOND);
    }
    duo.stats(Side::Server).sacks_sent - before
}

#[test]
fn between_peers_that_agreed_sacks_leave_every_10_ms() {
    let sent = sacks(&mut duo(true, true, 1, 0.0));
    assert!((180..=220).contains(&sent), "{sent}");
}

#[test]
fn while_something_is_missing_they_leave_three_times_as_often_and_all_arrives() {
    let mut duo = duo(true, true, 1, 0.05);
    let sent = sacks(&mut duo);
    assert!((300..=520).contains(&sent), "{sent}");
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.messages(Side::Server).len(), 2_000);
}

#[test]
fn where_one_side_does_not_offer_them_every_second_packet_is_acknowledged() {
    for (client, server) in [(true, false), (false, true)] {
        let sent = sacks(&mut duo(client, server, 1, 0.0));
        assert!(sent >= 950, "{sent}, offered by the client: {client}");
    }
}

#[test]
fn where_data_may_take_two_paths_every_second_packet_is_acknowledged() {
    let sent = sacks(&mut duo(true, true, 2, 0.0));
    assert!(sent >= 950, "{sent}");
}
