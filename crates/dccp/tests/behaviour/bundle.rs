//! Several connections that carry one source.

use std::time::Duration;

use anabranch_dccp::{
    Bundle, BundleConfig, BundleEvent, Config, Connections, Event, Interleaving, SendError,
};
use anabranch_netsim::{CLIENT, Carrier, LinkConfig, Pair, QueueLimit, SERVER, Side};
use anabranch_sansio::{Rate, Time};
use bytes::Bytes;

use crate::harness::{PORTS, SERVICE, endpoint_config, link, one_way};

struct Duo {
    pair: Pair<Bundle>,
    received: Vec<u32>,
    /// When each of the client's connections was there.
    connected_at: Vec<(usize, Time)>,
    is_closed: bool,
    server_reads: bool,
}

impl Duo {
    fn new(seed: u64, link: LinkConfig, config: &BundleConfig) -> Self {
        let mut pair = Pair::new(seed, &[one_way(link)], |side, _, rng| {
            let mut bundle = Bundle::new(endpoint_config(), config.clone(), rng);
            if side == Side::Server {
                bundle.listen(PORTS.1, vec![SERVICE]);
            }
            bundle
        });
        pair.set_carrier(Carrier::Dccp);
        let path = pair.paths()[0].addresses;
        let connect = |bundle: &mut Bundle, now: Time| bundle.connect(now, path, PORTS, SERVICE);
        pair.act_client(connect).expect("machines that behave").expect("a connection");
        Self {
            pair,
            received: Vec::new(),
            connected_at: Vec::new(),
            is_closed: false,
            server_reads: true,
        }
    }

    /// Sends numbered datagrams, fifteen in a group.
    fn send(&mut self, numbers: std::ops::Range<u32>, len: usize) {
        for number in numbers {
            let mut data = number.to_be_bytes().to_vec();
            data.resize(len, 0);
            let send = |bundle: &mut Bundle, _| bundle.send(u64::from(number / 15), &data);
            self.pair.act_client(send).expect("machines that behave").expect("room");
        }
    }

    fn run_for(&mut self, span: Duration) {
        let end = self.pair.now() + span;
        let Self { pair, received, connected_at, is_closed, server_reads } = self;
        pair.sim
            .run_to_with(end, |sim, host, event| {
                if let BundleEvent::Member(n, Event::Connected) = event {
                    connected_at.push((n, sim.now()));
                }
                *is_closed |= host == CLIENT && event == BundleEvent::Closed;
                if host == SERVER && *server_reads {
                    let read = |bundle: &mut Bundle, _| {
                        let data: Vec<_> = std::iter::from_fn(|| bundle.receive()).collect();
                        data
                    };
                    let data = sim.act(SERVER, read).expect("machines that behave");
                    received.extend(
                        data.iter()
                            .map(|data| u32::from_be_bytes([data[0], data[1], data[2], data[3]])),
                    );
                }
            })
            .expect("machines that behave");
    }
}

fn spacious(mbps: f64, rtt_ms: u64, loss: f64) -> LinkConfig {
    LinkConfig { queue: QueueLimit::Packets(1_000), ..link(mbps, rtt_ms, loss) }
}

#[test]
fn a_source_arrives_in_order_however_it_was_dealt_out() {
    for interleaving in [Interleaving::ByGroup, Interleaving::ByPacket] {
        let config = BundleConfig { interleaving, ..BundleConfig::default() };
        let mut duo = Duo::new(1, spacious(5.0, 40, 0.0), &config);
        duo.send(0..600, 900);
        duo.run_for(Duration::from_secs(30));
        assert_eq!(duo.received, (0..600).collect::<Vec<_>>(), "{interleaving:?}");
        // All of them took their share.
        let shares: Vec<_> = duo.pair.client().members().map(|(_, s)| s.datagrams_sent).collect();
        assert_eq!(shares, [150; 4], "{interleaving:?}");
    }
}

#[test]
fn connections_begin_half_a_second_apart() {
    let mut duo = Duo::new(1, spacious(5.0, 40, 0.0), &BundleConfig::default());
    duo.run_for(Duration::from_secs(3));
    let expected: Vec<_> = (0..4).map(|n| (n, 40 + 500 * n as u64)).collect();
    let found: Vec<_> = duo.connected_at.iter().map(|(n, at)| (*n, at.as_millis())).collect();
    assert_eq!(found, expected);
}

#[test]
fn what_is_lost_is_waited_for_and_no_more_than_that_is_missing() {
    let config = BundleConfig {
        interleaving: Interleaving::ByPacket,
        reordering: Duration::from_millis(800),
        ..BundleConfig::default()
    };
    let mut duo = Duo::new(2, spacious(5.0, 40, 0.03), &config);
    duo.send(0..600, 900);
    duo.run_for(Duration::from_secs(60));
    assert!(duo.received.is_sorted_by(|a, b| a < b));
    let stats = duo.pair.server().stats();
    assert_eq!(stats.delivered, duo.received.len() as u64);
    assert!((1..40).contains(&(600 - duo.received.len())), "{stats:?}");
    assert_eq!(
        stats.delivered + stats.missing + u64::from(599 - duo.received[duo.received.len() - 1]),
        600
    );
}

#[test]
fn four_connections_fill_more_of_a_lossy_link_than_one() {
    let seconds_with = |connections, seed| {
        let connections = Connections::Fixed(connections);
        let config = BundleConfig { connections, ..BundleConfig::default() };
        let mut duo = Duo::new(seed, spacious(20.0, 100, 0.03), &config);
        duo.send(0..1_500, 900);
        let close = |bundle: &mut Bundle, now: Time| bundle.close(now);
        duo.pair.act_client(close).unwrap();
        while !duo.is_closed {
            duo.run_for(Duration::from_millis(100));
        }
        duo.pair.now().as_secs_f64()
    };
    let [one, four] = [1, 4].map(|n| (1..=11).map(|seed| seconds_with(n, seed)).sum::<f64>());
    assert!(one / four > 3.0, "{one} s by one, {four} s by four, of eleven transfers");
}

fn automatic() -> BundleConfig {
    let interleaving = Interleaving::ByPacket;
    BundleConfig { connections: Connections::Auto, interleaving, ..BundleConfig::default() }
}

/// How many connections a bundle uses in each second of a minute.
fn widths(link: LinkConfig) -> Vec<usize> {
    let mut duo = Duo::new(3, link, &automatic());
    let mut sent = 0;
    let seconds = (0..60).map(|_| {
        while duo.pair.client().waiting() < 1_000 {
            duo.send(sent..sent + 100, 900);
            sent += 100;
        }
        duo.run_for(Duration::from_secs(1));
        duo.pair.client().in_use()
    });
    seconds.collect()
}

#[test]
fn a_bundle_takes_as_many_connections_as_fill_a_lossy_link() {
    // One carries about 0.7 of 5 Mbit/s.
    let widths = widths(spacious(5.0, 100, 0.03));
    assert!(widths[20..].iter().all(|width| (4..=16).contains(width)), "{widths:?}");
}

#[test]
fn one_connection_is_enough_where_only_a_queue_loses_packets() {
    for queue_ms in [25, 100, 400] {
        let queue = QueueLimit::lasting(Duration::from_millis(queue_ms), Rate::mbps(5));
        let widths = widths(LinkConfig { queue, ..link(5.0, 100, 0.0) });
        let mean = widths.iter().sum::<usize>() as f64 / 60.0;
        assert!(mean < 1.5, "{queue_ms} ms: {widths:?}");
    }
}

#[test]
fn nothing_that_waits_for_a_bundle_of_many_widths_is_lost_or_moved() {
    let mut duo = Duo::new(1, spacious(5.0, 40, 0.0), &automatic());
    duo.send(0..2_000, 900);
    duo.pair.act_client(|bundle, now| bundle.close(now)).unwrap();
    duo.run_for(Duration::from_secs(30));
    assert_eq!(duo.received, (0..2_000).collect::<Vec<_>>());
    assert!(duo.is_closed, "what was dealt to none is sent before the end");
}

#[test]
fn what_a_connection_leaves_goes_by_another_that_is_begun() {
    let config = BundleConfig { reordering: Duration::from_secs(1), ..automatic() };
    let mut duo = Duo::new(1, spacious(5.0, 40, 0.02), &config);
    duo.send(0..3_000, 900);
    while duo.pair.client().in_use() < 3 {
        duo.run_for(Duration::from_secs(1));
    }
    let abort = |bundle: &mut Bundle, now: Time| bundle.member_mut(0).unwrap().abort(now);
    duo.pair.act_client(abort).unwrap();
    duo.run_for(Duration::from_secs(60));
    assert!(duo.received.len() > 2_700, "{} of 3000", duo.received.len());
    assert_eq!(duo.received.last(), Some(&2_999));
}

#[test]
fn what_waits_for_any_connection_is_bounded() {
    let config = BundleConfig { send_buffer: 5_000, ..automatic() };
    let mut duo = Duo::new(1, spacious(5.0, 40, 0.0), &config);
    let full = (0..100)
        .find_map(|n| duo.pair.act_client(|bundle, _| bundle.send(n, &[7; 900])).unwrap().err());
    assert!(matches!(full, Some(SendError::BufferFull { waiting: 4_000..=5_000 })), "{full:?}");
}

#[test]
fn what_waits_for_a_connection_that_ends_goes_by_the_others() {
    let config = BundleConfig {
        interleaving: Interleaving::ByPacket,
        reordering: Duration::from_secs(3),
        ..BundleConfig::default()
    };
    let mut duo = Duo::new(1, spacious(1.0, 40, 0.0), &config);
    duo.run_for(Duration::from_secs(3));
    duo.send(0..2_000, 900);
    duo.run_for(Duration::from_secs(2));
    let abort = |bundle: &mut Bundle, now: Time| bundle.member_mut(1).unwrap().abort(now);
    duo.pair.act_client(abort).unwrap();
    duo.run_for(Duration::from_secs(60));
    // Only what the connection itself had taken is gone.
    let taken = 600;
    assert!(duo.received.len() > 2_000 - taken, "{} of 2000", duo.received.len());
    assert_eq!(duo.received.last(), Some(&1_999));
    assert!(duo.received.is_sorted_by(|a, b| a < b));
    assert_eq!(duo.pair.client().members().count(), 3);
}

#[test]
fn a_bundle_whose_connections_all_ended_says_so() {
    let mut duo = Duo::new(1, spacious(5.0, 40, 0.0), &BundleConfig::default());
    duo.run_for(Duration::from_secs(3));
    for n in 0..4 {
        let abort = |bundle: &mut Bundle, now: Time| bundle.member_mut(n).unwrap().abort(now);
        duo.pair.act_client(abort).unwrap();
    }
    duo.run_for(Duration::from_secs(1));
    assert!(duo.is_closed);
    let late = duo.pair.act_client(|bundle, _| bundle.send(0, b"late")).unwrap();
    assert_eq!(late, Err(SendError::NotConnected));
}

#[test]
fn a_full_buffer_refuses_and_waits_for_no_other_connection() {
    let config = BundleConfig { send_buffer: 5_000, ..BundleConfig::default() };
    let mut duo = Duo::new(1, spacious(5.0, 40, 0.0), &config);
    let full = (0..100)
        .find_map(|_| duo.pair.act_client(|bundle, _| bundle.send(1, &[7; 900])).unwrap().err());
    assert!(matches!(full, Some(SendError::BufferFull { waiting: 4_000..=5_000 })), "{full:?}");
    assert_eq!(duo.pair.act_client(|bundle, _| bundle.send(2, &[7; 900])).unwrap(), Ok(()));
    let long = duo.pair.act_client(|bundle, _| bundle.send(2, &[7; 1_500])).unwrap();
    assert_eq!(long, Err(SendError::TooLarge { len: 1_500, limit: 1_420 }));
}

#[test]
fn who_does_not_read_holds_no_more_than_the_limit() {
    let limit = 50_000;
    let config = BundleConfig { reordering_buffer: limit, ..BundleConfig::default() };
    let config = BundleConfig {
        connection: Config { receive_buffer: 20_000, ..config.connection.clone() },
        ..config
    };
    let mut duo = Duo::new(1, spacious(5.0, 40, 0.0), &config);
    duo.server_reads = false;
    duo.send(0..600, 900);
    duo.run_for(Duration::from_secs(30));
    let read = |bundle: &mut Bundle, _| {
        let data: Vec<_> = std::iter::from_fn(|| bundle.receive()).collect();
        data.iter().map(Bytes::len).sum::<usize>()
    };
    let held = duo.pair.act_server(read).unwrap();
    // What the application had to read, what was being put in order, and what the connections held.
    assert!((limit..=2 * limit + 4 * 20_000).contains(&held), "{held} bytes");
}
