//! DCCP connections that say to whom they belong.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anabranch_dccp::wire::{Kind, Packet, Protection};
use anabranch_netsim::{CLIENT, LinkConfig, Pair, QueueLimit, Side, Verdict};
use anabranch_sansio::Rate;
use anabranch_transport::{
    CloseReason, ConnectionId, Connections, DccpConfig, DccpTransport, Event, Outgoing, PayloadId,
    StreamId, Transport as _,
};

/// DCCP ports of the client's connections in the order of their calls, with what each has sent.
type Sent = Arc<Mutex<Vec<(u16, u32)>>>;

/// A path of so many milliseconds and Mbit/s.
fn link((delay_ms, mbps): (u64, u64)) -> LinkConfig {
    let (delay, rate) = (Duration::from_millis(delay_ms), Rate::mbps(mbps));
    let queue = QueueLimit::lasting(Duration::from_millis(100), rate);
    LinkConfig { delay, rate: Some(rate), queue, ..LinkConfig::default() }
}

/// Two connections over each of these paths, of which number `mute` loses so many of its first
/// packets of data; the client's connection, and what its DCCP connections send.
fn connected(
    links: &[(u64, u64)],
    (mute, losses): (usize, u32),
) -> (Pair<DccpTransport>, ConnectionId, Sent) {
    let links: Vec<_> = links.iter().map(|it| link(*it).into()).collect();
    let mut pair = Pair::new(1, &links, |side, _, rng| {
        let config = DccpConfig {
            listen: side == Side::Server,
            connections: Connections::Fixed(2),
            ..DccpConfig::default()
        };
        DccpTransport::new(config, rng)
    });
    let sent = Sent::default();
    let seen = Arc::clone(&sent);
    pair.sim.set_filter(move |_, host, packet| {
        let packet = Packet::decode(Protection::Udp, &packet.bytes).unwrap();
        if host != CLIENT {
            return Verdict::Pass;
        }
        let mut seen = seen.lock().unwrap();
        let port = packet.source_port;
        if matches!(packet.kind, Kind::Request { .. }) && seen.iter().all(|it| it.0 != port) {
            seen.push((port, 0));
        }
        let number = seen.iter().position(|it| it.0 == port).unwrap();
        seen[number].1 += u32::from(!packet.data.is_empty());
        let is_lost = number == mute && !packet.data.is_empty() && seen[number].1 <= losses;
        if is_lost { Verdict::Drop } else { Verdict::Pass }
    });
    let paths: Vec<_> = pair.paths().iter().map(|path| path.addresses).collect();
    let id = pair.act_client(|client, now| client.connect(now, &paths)).unwrap().unwrap();
    pair.run_for(Duration::from_millis(30)).unwrap();
    (pair, id, sent)
}

/// Sends messages that fill packets for so long; the bytes of them that were acknowledged.
fn carried(pair: &mut Pair<DccpTransport>, id: ConnectionId, span: Duration) -> u64 {
    let end = pair.now() + span;
    while pair.now() < end {
        let fill = |client: &mut DccpTransport, now| {
            let connection = client.connection_mut(id).unwrap();
            let whole = vec![7; connection.whole_message_max()];
            let message = Outgoing::new(StreamId(0), PayloadId(1), whole.into());
            while connection.send(now, message.clone()).is_ok() {}
        };
        pair.act_client(fill).unwrap();
        while let Some(message) =
            pair.act_server(|server, _| server.connection_mut(ConnectionId(1))?.receive()).unwrap()
        {
            drop(message);
        }
        pair.run_for(Duration::from_millis(5)).unwrap();
    }
    pair.client().connection(id).unwrap().bytes_acked()
}

#[test]
fn regression_a_connection_that_has_not_joined_holds_up_no_other() {
    const SPAN: Duration = Duration::from_secs(3);
    // The second connection of the faster path is the third of all.
    let (mut pair, id, _) = connected(&[(50, 10), (5, 1)], (2, 0));
    let all = carried(&mut pair, id, SPAN);
    let (mut pair, id, _) = connected(&[(50, 10), (5, 1)], (2, u32::MAX));
    let without = carried(&mut pair, id, SPAN);
    assert!(without * 10 > all * 9, "{without} bytes, and {all} where it has joined");
}

#[test]
fn regression_a_connection_whose_first_word_is_lost_says_it_again() {
    let (mut pair, id, sent) = connected(&[(5, 10)], (1, 1));
    carried(&mut pair, id, Duration::from_secs(2));
    let sent = sent.lock().unwrap();
    assert!(sent[1].1 > 100, "{sent:?}");
}

#[test]
fn a_call_whose_requests_are_lost_is_there_a_quarter_of_a_second_later_for_each() {
    for lost in 0..6_u32 {
        let mut pair = Pair::new(1, &[link((10, 20)).into()], |side, _, rng| {
            let listen = side == Side::Server;
            let connections = Connections::Fixed(1);
            DccpTransport::new(DccpConfig { listen, connections, ..DccpConfig::default() }, rng)
        });
        let requests = Arc::new(Mutex::new(0_u32));
        let seen = Arc::clone(&requests);
        pair.sim.set_filter(move |_, host, packet| {
            let packet = Packet::decode(Protection::Udp, &packet.bytes).unwrap();
            if host != CLIENT || !matches!(packet.kind, Kind::Request { .. }) {
                return Verdict::Pass;
            }
            let mut seen = seen.lock().unwrap();
            *seen += 1;
            if *seen <= lost { Verdict::Drop } else { Verdict::Pass }
        });
        let path = pair.paths()[0].addresses;
        pair.act_client(|client, now| client.connect(now, &[path])).unwrap().unwrap();
        pair.run_for(Duration::from_millis(250 * u64::from(lost) + 40)).unwrap();
        assert_eq!(pair.server().connections(), 1, "{lost} lost");
        pair.run_for(Duration::from_secs(20)).unwrap();
        assert_eq!((pair.client().connections(), pair.server().connections()), (1, 1));
        assert!(*requests.lock().unwrap() <= lost + 2, "no more is tried than is needed");
    }
}

#[test]
fn a_call_that_is_refused_ends_so_however_long_the_way_is() {
    for delay_ms in [10, 130, 300, 700] {
        let link = link((delay_ms, 20)).into();
        let mut pair =
            Pair::new(1, &[link], |_, _, rng| DccpTransport::new(DccpConfig::default(), rng));
        let path = pair.paths()[0].addresses;
        pair.act_client(|client, now| client.connect(now, &[path])).unwrap().unwrap();
        pair.run_for(Duration::from_secs(4)).unwrap();
        let reason =
            |(_, event)| if let Event::Closed { reason, .. } = event { Some(reason) } else { None };
        let reason = pair.sim.take_events(CLIENT).into_iter().find_map(reason);
        assert_eq!(reason, Some(CloseReason::ProtocolRefused), "{delay_ms} ms");
    }
}
