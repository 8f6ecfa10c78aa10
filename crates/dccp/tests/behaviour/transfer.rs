//! Data to and fro.

use std::time::Duration;

use anabranch_dccp::{Ccid, Config, Endpoint, EndpointConfig, Event, SendError};
use anabranch_netsim::{
    CLIENT, DuplexConfig, Hostility, LinkConfig, Loss, Probability, QueueLimit, SERVER,
};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};
use bytes::Bytes;

use crate::harness::{BOTH, Duo, PORTS, SERVICE, link};

/// Datagrams that tell their number.
fn numbered(n: u32) -> Bytes {
    let mut data = n.to_be_bytes().to_vec();
    data.resize(500, n as u8);
    data.into()
}

/// A link whose queue never overflows.
fn spacious() -> LinkConfig {
    LinkConfig { queue: QueueLimit::Packets(1_000), ..link(10.0, 20, 0.0) }
}

fn numbers(received: &[Bytes]) -> Vec<u32> {
    received.iter().map(|data| u32::from_be_bytes([data[0], data[1], data[2], data[3]])).collect()
}

#[test]
fn datagrams_arrive_whole_and_in_order_both_ways() {
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let config = Config::with_ccid(ccid);
        let mut duo = Duo::new(1, spacious(), &config);
        duo.connect(&config);
        for n in 0..300 {
            for host in BOTH {
                duo.act(host, |end, _| end.send(numbered(n))).unwrap();
            }
        }
        duo.run_for(Duration::from_secs(20));
        let expected: Vec<_> = (0..300).collect();
        for received in &duo.received {
            assert!(received.iter().zip(0..).all(|(data, n)| *data == numbered(n)));
            assert_eq!(numbers(received), expected, "{ccid:?}");
        }
    }
}

#[test]
fn lost_datagrams_stay_lost_and_no_other_ones() {
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let config = Config::with_ccid(ccid);
        let mut duo = Duo::new(2, link(10.0, 20, 0.05), &config);
        duo.connect(&config);
        for n in 0..400 {
            duo.act(CLIENT, |client, _| client.send(numbered(n))).unwrap();
        }
        duo.run_for(Duration::from_secs(60));
        let arrived = numbers(&duo.received[0]);
        assert!(arrived.is_sorted_by(|a, b| a < b), "{ccid:?}");
        assert!((360..400).contains(&arrived.len()), "{} of 400, {ccid:?}", arrived.len());
        let stats = [duo.stats(CLIENT), duo.stats(SERVER)];
        assert_eq!(
            (stats[0].datagrams_sent, stats[1].datagrams_received),
            (400, arrived.len() as u64)
        );
    }
}

#[test]
fn repeated_and_reordered_packets_are_delivered_once() {
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let config = Config::with_ccid(ccid);
        let mut duo = Duo::new(3, spacious(), &config);
        duo.connect(&config);
        let often = Probability::new(0.2).unwrap();
        let hostility = Hostility { duplicate: often, reorder: often, ..Hostility::default() };
        duo.pair.harass(0, hostility);
        for n in 0..400 {
            duo.act(CLIENT, |client, _| client.send(numbered(n))).unwrap();
        }
        duo.run_for(Duration::from_secs(60));
        let mut arrived = numbers(&duo.received[0]);
        arrived.sort_unstable();
        assert_eq!(arrived, (0..400).collect::<Vec<_>>(), "{ccid:?}");
        assert!(duo.stats(SERVER).duplicates > 20, "{:?}", duo.stats(SERVER));
    }
}

#[test]
fn an_ack_ratio_that_lost_acknowledgements_raise_is_the_receivers_at_once() {
    let acknowledgements = |loss| {
        let config = Config { send_buffer: 4 << 20, ..Config::with_ccid(Ccid::TcpLike) };
        let forward = LinkConfig { queue: QueueLimit::Packets(10_000), ..spacious() };
        let backward = LinkConfig { loss: Loss::uniform(loss), ..forward.clone() };
        let link = DuplexConfig { forward, backward };
        let mut duo = Duo::new(5, link, &config);
        duo.connect(&config);
        for n in 0..3_000 {
            duo.act(CLIENT, |client, _| client.send(numbered(n))).unwrap();
        }
        duo.run_for(Duration::from_secs(20));
        assert!(duo.received[0].len() > 2_900);
        duo.stats(SERVER).packets_sent
    };
    let [all, few] = [0.0, 0.1].map(acknowledgements);
    assert!((1_500..1_600).contains(&all), "each second packet is answered: {all}");
    assert!(3 * few < 2 * all, "{few} of {all}");
}

#[test]
fn damaged_packets_are_dropped_and_counted() {
    let config = Config::default();
    let mut duo = Duo::new(4, link(10.0, 20, 0.0), &config);
    duo.connect(&config);
    let corrupt = Probability::new(0.2).unwrap();
    duo.pair.harass(0, Hostility { corrupt, ..Hostility::default() });
    for n in 0..200 {
        duo.act(CLIENT, |client, _| client.send(numbered(n))).unwrap();
    }
    duo.run_for(Duration::from_secs(60));
    assert!(
        duo.received[0]
            .iter()
            .all(|data| *data == numbered(numbers(std::slice::from_ref(data))[0]))
    );
    assert!(duo.pair.server().stats().malformed > 20, "{:?}", duo.pair.server().stats());
}

#[test]
fn short_sequence_numbers_are_used_where_both_agree() {
    let short = Config { short_sequence_numbers: true, ..Config::default() };
    let sent = |server: &Config| {
        let mut duo = Duo::new(1, link(10.0, 20, 0.0), server);
        duo.connect(&short);
        let before = duo.pair.sim.stats(CLIENT).sent;
        duo.send(CLIENT, b"0123456789");
        duo.run_for(Duration::from_millis(15));
        assert_eq!(duo.received[0].len(), 1);
        duo.pair.sim.stats(CLIENT).sent.bytes - before.bytes
    };
    // IP, header and data; without, four bytes more of sequence number.
    assert_eq!([sent(&short), sent(&Config::default())], [20 + 12 + 10, 20 + 16 + 10]);
}

#[test]
fn a_full_send_buffer_says_when_there_is_room() {
    let config = Config { send_buffer: 10_000, ..Config::default() };
    let mut duo = Duo::new(1, link(1.0, 20, 0.0), &config);
    duo.connect(&config);
    let mut sent = 0;
    let refused = loop {
        match duo.act(CLIENT, |client, _| client.send(numbered(sent))) {
            Ok(()) => sent += 1,
            Err(error) => break error,
        }
    };
    assert!(matches!(refused, SendError::BufferFull { waiting: 9_000..=10_000 }), "{refused:?}");
    assert!(!duo.client_events.contains(&Event::Writable));
    duo.run_for(Duration::from_secs(1));
    assert!(duo.client_events.contains(&Event::Writable));
}

#[test]
fn the_oldest_datagram_can_be_dropped_for_a_newer_one() {
    let config = Config { send_buffer: 2_000, ..Config::default() };
    let mut duo = Duo::new(1, link(0.01, 20, 0.0), &config);
    duo.connect(&config);
    for n in 0..20 {
        duo.act(CLIENT, |client, _| {
            while client.send(numbered(n)).is_err() {
                client.drop_oldest();
            }
        });
    }
    duo.run_for(Duration::from_secs(20));
    let arrived = numbers(&duo.received[0]);
    assert_eq!((arrived.first(), arrived.last()), (Some(&0), Some(&19)));
    assert!(arrived.len() < 10, "{arrived:?}");
}

#[test]
fn a_full_receive_buffer_drops_data_and_slows_the_sender() {
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let config = Config { receive_buffer: 20_000, ..Config::with_ccid(ccid) };
        let mut duo = Duo::new(1, link(10.0, 20, 0.0), &config);
        duo.connect(&config);
        duo.server_reads = false;
        for n in 0..300 {
            duo.act(CLIENT, |client, _| client.send(numbered(n))).unwrap();
        }
        duo.run_for(Duration::from_secs(5));
        let stats = duo.stats(SERVER);
        assert!(stats.datagrams_received < 40 && stats.datagrams_dropped > 20, "{stats:?}");
        if ccid == Ccid::TcpLike {
            let sender = duo.stats(CLIENT).congestion;
            assert!(sender.window <= 3 && sender.congestion_events == 0, "{sender:?}");
        }
    }
}

#[test]
fn a_sender_learns_that_nobody_listens_any_more() {
    let config = Config::default();
    let mut duo = Duo::new(1, link(10.0, 20, 0.0), &config);
    duo.connect(&config);
    duo.act(SERVER, |server, _| server.stop_listening());
    for n in 0..10 {
        duo.act(CLIENT, |client, _| client.send(numbered(n))).unwrap();
    }
    duo.run_for(Duration::from_secs(1));
    assert!(duo.client_events.contains(&Event::PeerStoppedListening));
    let late = duo.act(CLIENT, |client, _| client.send(numbered(11)));
    assert_eq!(late, Err(SendError::NotListening));
    assert_eq!(duo.received[0].len(), 0);
    // The other direction goes on.
    duo.send(SERVER, b"still here");
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.received[1], ["still here"]);
}

#[test]
fn empty_datagrams_arrive() {
    let config = Config::default();
    let mut duo = Duo::new(1, link(10.0, 20, 0.0), &config);
    duo.connect(&config);
    duo.send(CLIENT, b"");
    duo.send(CLIENT, b"");
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.received[0], ["", ""]);
}

#[test]
fn parts_of_the_data_go_without_checksum_where_the_peer_agrees() {
    let partial = Config { checksum_coverage: 2, ..Config::default() };
    let damaged = |server: &Config| {
        let mut duo = Duo::new(1, link(10.0, 20, 0.0), server);
        duo.connect(&partial);
        // The last byte is beyond what is covered.
        duo.pair.sim.set_filter(|_, host, packet| {
            if host == CLIENT && packet.bytes.len() > 400 {
                *packet.bytes.last_mut().unwrap() ^= 1;
            }
            anabranch_netsim::Verdict::Pass
        });
        duo.act(CLIENT, |client, _| client.send(numbered(7))).unwrap();
        duo.run_for(Duration::from_secs(1));
        (duo.received[0].len(), duo.pair.server().stats().malformed)
    };
    let accepting = Config { minimum_checksum_coverage: 1, ..Config::default() };
    assert_eq!(damaged(&accepting), (1, 0));
    let strict = Config { minimum_checksum_coverage: 3, ..Config::default() };
    assert_eq!(damaged(&strict), (0, 1), "all data are covered then");
    assert_eq!(damaged(&Config::default()), (0, 1));
}

#[test]
fn a_data_checksum_finds_what_the_header_checksum_does_not_cover() {
    for ccid in [Ccid::TcpLike, Ccid::Tfrc] {
        let config = Config {
            checksum_coverage: 1,
            minimum_checksum_coverage: 1,
            data_checksum: true,
            ..Config::with_ccid(ccid)
        };
        let mut duo = Duo::new(1, link(10.0, 20, 0.0), &config);
        duo.connect(&config);
        for n in 0..30 {
            duo.act(CLIENT, |client, _| client.send(numbered(n))).unwrap();
        }
        let mut count = 0;
        duo.pair.sim.set_filter(move |_, host, packet| {
            if host == CLIENT && packet.bytes.len() > 400 {
                count += 1;
                if count == 10 {
                    *packet.bytes.last_mut().unwrap() ^= 1;
                }
            }
            anabranch_netsim::Verdict::Pass
        });
        duo.run_for(Duration::from_secs(5));
        let stats = duo.stats(SERVER);
        assert_eq!((stats.datagrams_received, stats.datagrams_dropped), (29, 1));
        // RFC 4340 section 11.7.2: the sender reacts as to a mark.
        let congestion = duo.stats(CLIENT).congestion;
        assert!(congestion.congestion_events == 1 || congestion.loss_event_rate > 0.0);
    }
}

#[test]
fn a_slow_receiver_is_heard() {
    let config = Config::with_ccid(Ccid::TcpLike);
    let mut duo = Duo::new(1, link(100.0, 20, 0.0), &config);
    duo.connect(&config);
    duo.act(SERVER, |server, _| server.set_slow(true));
    duo.saturate(1_000, Duration::from_secs(2));
    let slow = duo.stats(CLIENT).congestion.window;
    duo.act(SERVER, |server, _| server.set_slow(false));
    duo.saturate(1_000, Duration::from_secs(2));
    let free = duo.stats(CLIENT).congestion.window;
    assert!(slow <= 5 && free > 50, "{slow} and {free} packets");
}

/// Passes what one end sends to the other, at one point in time.
fn pass(from: &mut Endpoint, to: &mut Endpoint, now: Time) {
    let mut buf = Vec::new();
    while let Some(transmit) = from.poll_transmit(now, &mut buf) {
        let path = transmit.path.reversed();
        to.handle_datagram(now, Datagram { path, ecn: None, bytes: &buf });
        buf.clear();
    }
}

#[test]
fn what_comes_while_nobody_looks_is_told_once() {
    let end = |seed| Endpoint::new(EndpointConfig::default(), Rng::from_u64(seed));
    let (mut client, mut server, mut now) = (end(1), end(2), Time::ZERO);
    server.listen(PORTS.1, vec![SERVICE], Config::default());
    let path = FourTuple::new(([10, 0, 0, 1], 6_511).into(), ([10, 0, 0, 2], 6_511).into());
    let id = client.connect(now, path, PORTS, SERVICE, Config::default()).unwrap();
    for round in 0..100 {
        pass(&mut client, &mut server, now);
        pass(&mut server, &mut client, now);
        if round == 5 {
            let connection = client.connection_mut(id).unwrap();
            (0..50).for_each(|n| connection.send(numbered(n)).unwrap());
        }
        now += Duration::from_millis(50);
        client.handle_timeout(now);
        server.handle_timeout(now);
    }
    let events: Vec<_> = std::iter::from_fn(|| server.poll_event()).map(|(_, e)| e).collect();
    assert_eq!(events, [Event::Connected, Event::Readable]);
    let id = server.connections().next().unwrap();
    let server = server.connection_mut(id).unwrap();
    assert_eq!(std::iter::from_fn(|| server.receive()).count(), 50);
}
