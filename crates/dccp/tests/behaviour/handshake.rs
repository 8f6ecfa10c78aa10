//! How a connection begins.

use std::time::Duration;

use anabranch_dccp::wire::{
    Kind, Options, Packet, PacketType, Protection, ResetCode, SequenceNumber, ServiceCode,
};
use anabranch_dccp::{
    Ccid, CloseReason, Config, ConnectError, Encapsulation, Endpoint, EndpointConfig, Event,
    SendError,
};
use anabranch_netsim::{CLIENT, SERVER};
use anabranch_sansio::{Datagram, FourTuple, Machine as _, Rng, Time};

use crate::harness::{BOTH, Duo, PORTS, SERVICE, endpoint_config, link};

fn duo() -> Duo {
    Duo::new(1, link(10.0, 100, 0.0), &Config::default())
}

fn millis(ms: u64) -> Duration {
    Duration::from_millis(ms)
}

#[test]
fn it_takes_one_and_a_half_round_trips() {
    let mut duo = duo();
    duo.begin(&Config::default());
    duo.run_for(millis(99));
    assert_eq!((&duo.client_events, &duo.server_events), (&vec![], &vec![]));
    duo.run_for(millis(3));
    assert_eq!((&duo.client_events, &duo.server_events), (&vec![Event::Connected], &vec![]));
    duo.run_for(millis(49));
    assert_eq!(duo.server_events, [Event::Connected]);
}

#[test]
fn a_lost_request_is_sent_again_after_a_second() {
    let mut duo = duo();
    duo.pair.sim.drop_next(CLIENT, 1);
    duo.begin(&Config::default());
    duo.run_for(millis(1_099));
    assert_eq!(duo.client_events, []);
    duo.run_for(millis(60));
    assert_eq!(duo.server_events, [Event::Connected]);
}

#[test]
fn a_lost_response_is_asked_for_again() {
    let mut duo = duo();
    duo.pair.sim.drop_next(SERVER, 1);
    duo.begin(&Config::default());
    duo.run_for(millis(1_160));
    assert_eq!(duo.server_events, [Event::Connected]);
    assert_eq!(duo.pair.server().connections().count(), 1);
}

#[test]
fn a_lost_acknowledgement_of_the_response_is_sent_again() {
    let mut duo = duo();
    duo.begin(&Config::default());
    duo.run_for(millis(60));
    duo.pair.sim.drop_next(CLIENT, 1);
    duo.run_for(millis(200));
    assert_eq!((duo.client_events.len(), duo.server_events.len()), (1, 0));
    // 200 ms after the first one.
    duo.run_for(millis(100));
    assert_eq!(duo.server_events, [Event::Connected]);
}

#[test]
fn a_full_datagram_goes_out_soon_though_cookies_leave_no_room_and_an_acknowledgement_is_lost() {
    for init_cookies in [false, true] {
        let endpoint = EndpointConfig { init_cookies, ..endpoint_config() };
        let mut duo = Duo::with(1, link(10.0, 100, 0.0), &endpoint, &Config::default());
        duo.begin(&Config::default());
        duo.run_for(millis(120));
        duo.pair.sim.drop_next(SERVER, 1);
        let data = vec![7; duo.act(CLIENT, |client, _| client.datagram_len_max())];
        duo.act(CLIENT, |client, _| client.send(data.clone().into())).unwrap();
        duo.run_for(millis(500));
        assert!(duo.received[0] == [data], "cookies: {init_cookies}");
    }
}

#[test]
fn a_client_that_says_nothing_is_acknowledged_though_one_acknowledgement_is_lost() {
    let mut duo = duo();
    duo.begin(&Config::default());
    duo.run_for(millis(120));
    duo.pair.sim.drop_next(SERVER, 1);
    duo.run_for(Duration::from_secs(600));
    assert_eq!(BOTH.map(|host| duo.closed(host)), [None, None]);
}

#[test]
fn data_of_a_client_complete_the_handshake() {
    let mut duo = duo();
    duo.begin(&Config::default());
    duo.run_for(millis(110));
    duo.send(CLIENT, b"hello");
    duo.run_for(millis(100));
    assert_eq!(duo.received[0], ["hello"]);
}

#[test]
fn nobody_answers_and_the_client_gives_up() {
    let mut duo = duo();
    duo.pair.cut(0);
    let config = Config { connect_timeout: Duration::from_secs(20), ..Config::default() };
    duo.begin(&config);
    duo.run_for(millis(19_999));
    assert_eq!(duo.client_events, []);
    duo.run_for(millis(2));
    assert_eq!(duo.closed(CLIENT), Some(CloseReason::TimedOut));
    assert_eq!(duo.pair.client().connections().count(), 0, "nothing is left of it");
}

#[test]
fn who_does_not_listen_refuses() {
    let mut duo = duo();
    duo.pair.server_mut().stop_listening(PORTS.1);
    duo.begin(&Config::default());
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.closed(CLIENT), Some(CloseReason::Reset(ResetCode::CONNECTION_REFUSED)));
}

#[test]
fn another_service_is_refused() {
    let mut duo = duo();
    duo.begin_as(ServiceCode(7), &Config::default());
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.closed(CLIENT), Some(CloseReason::Reset(ResetCode::BAD_SERVICE_CODE)));
    assert_eq!(duo.pair.server().stats().refused, 1);
}

#[test]
fn a_busy_server_refuses() {
    let busy = EndpointConfig { connections_max: 1, ..endpoint_config() };
    let mut duo = Duo::with(1, link(10.0, 100, 0.0), &busy, &Config::default());
    duo.connect(&Config::default());
    let path = duo.pair.paths()[0].addresses;
    let connect = |client: &mut Endpoint, now: Time| {
        client.connect(now, path, (40_001, PORTS.1), SERVICE, Config::default())
    };
    // The client's endpoint is of the same kind.
    let refused = duo.pair.act_client(connect).unwrap();
    assert_eq!(refused, Err(ConnectError::TooMany { limit: 1 }));
    duo.act(CLIENT, |client, now| client.abort(now));
    duo.run_for(Duration::from_secs(1));
    duo.pair.act_client(connect).unwrap().unwrap();
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.closed(CLIENT), Some(CloseReason::Aborted));
    let last = duo.client_events.last();
    assert_eq!(last, Some(&Event::Closed(CloseReason::Reset(ResetCode::TOO_BUSY))));
}

#[test]
fn ccids_are_what_both_want_and_the_server_prefers() {
    use Ccid::{TcpLike, Tfrc};
    let cases: [(&[Ccid], &[Ccid], u8); 6] = [
        (&[TcpLike, Tfrc], &[TcpLike, Tfrc], 2),
        (&[Tfrc, TcpLike], &[TcpLike, Tfrc], 2),
        (&[TcpLike, Tfrc], &[Tfrc, TcpLike], 3),
        (&[Tfrc], &[TcpLike, Tfrc], 3),
        (&[TcpLike, Tfrc], &[Tfrc], 3),
        (&[TcpLike], &[Tfrc, TcpLike], 2),
    ];
    let config = |ccids: &[Ccid]| Config {
        send_ccids: ccids.to_vec(),
        receive_ccids: ccids.to_vec(),
        ..Config::default()
    };
    for (client, server, agreed) in cases {
        let mut duo = Duo::new(1, link(10.0, 100, 0.0), &config(server));
        duo.connect(&config(client));
        for host in BOTH {
            duo.send(host, b"data");
        }
        duo.run_for(Duration::from_secs(1));
        for host in BOTH {
            assert_eq!(duo.stats(host).congestion.ccid, agreed, "{client:?} and {server:?}");
        }
        assert_eq!(duo.received.each_ref().map(Vec::len), [1, 1], "{client:?} and {server:?}");
    }
}

#[test]
fn without_a_common_ccid_there_is_no_connection() {
    let mut duo = Duo::new(1, link(10.0, 100, 0.0), &Config::with_ccid(Ccid::TcpLike));
    duo.begin(&Config::with_ccid(Ccid::Tfrc));
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.closed(CLIENT), Some(CloseReason::Reset(ResetCode::MANDATORY_ERROR)));
}

/// RFC 4341 section 4: a receiver of CCID 2 sends Ack Vectors.
#[test]
fn who_sends_no_ack_vectors_gets_no_ccid_2() {
    let end = |seed| Endpoint::new(EndpointConfig::default(), Rng::from_u64(seed));
    let (mut client, mut server) = (end(1), end(2));
    let config = Config::with_ccid(Ccid::TcpLike);
    server.listen(PORTS.1, vec![SERVICE], config.clone());
    let path = FourTuple::new(([10, 0, 0, 1], 9).into(), ([10, 0, 0, 2], 9).into());
    client.connect(Time::ZERO, path, PORTS, SERVICE, config).unwrap();
    carry(&mut client, &mut server, path.reversed());
    let mut response = Vec::new();
    assert!(server.poll_transmit(Time::ZERO, &mut response).is_some());
    // Confirm L of Send Ack Vector with the value 1 and its list; without any, it says that the
    // server knows no such feature (RFC 4340 section 6.6.7).
    let confirmed = response.windows(4).position(|bytes| matches!(bytes, [33, _, 6, 1]));
    let at = confirmed.expect("it is confirmed");
    let end = at + usize::from(response[at + 1]);
    response[at + 1] = 3;
    response[at + 3..end].fill(0);
    client.handle_datagram(Time::ZERO, Datagram { path, ecn: None, bytes: &response });
    carry(&mut client, &mut server, path.reversed());
    carry(&mut server, &mut client, path);
    let mut bytes = Vec::new();
    assert!(client.poll_transmit(Time::ZERO, &mut bytes).is_some());
    let reset = Packet::decode(Protection::Udp, &bytes).unwrap();
    let Kind::Reset { code, details, .. } = reset.kind else { panic!("{:?}", reset.kind) };
    assert_eq!((code, details), (ResetCode::OPTION_ERROR, [35, 6, 0]));
}

#[test]
fn each_direction_may_have_its_own_ccid() {
    let config = Config {
        send_ccids: vec![Ccid::Tfrc],
        receive_ccids: vec![Ccid::TcpLike],
        ..Config::default()
    };
    let mut duo = duo();
    duo.connect(&config);
    for host in BOTH {
        duo.send(host, b"data");
    }
    duo.run_for(Duration::from_secs(1));
    assert_eq!(BOTH.map(|host| duo.stats(host).congestion.ccid), [3, 2]);
    assert_eq!(duo.received.each_ref().map(Vec::len), [1, 1]);
}

#[test]
fn a_server_with_cookies_remembers_nothing_before_the_handshake_is_over() {
    let cookies = EndpointConfig { init_cookies: true, ..endpoint_config() };
    let mut duo = Duo::with(1, link(10.0, 100, 0.0), &cookies, &Config::default());
    duo.begin(&Config::with_ccid(Ccid::Tfrc));
    duo.run_for(millis(120));
    assert_eq!(duo.client_events, [Event::Connected]);
    assert_eq!(duo.pair.server().connections().count(), 0);
    // The cookie goes with every packet until one is acknowledged.
    duo.pair.sim.drop_next(CLIENT, 1);
    duo.send(CLIENT, b"hello");
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.server_events[0], Event::Connected);
    assert_eq!(duo.pair.server().stats().cookies_taken, 1);
    duo.send(CLIENT, b"again");
    duo.send(SERVER, b"answer");
    duo.run_for(Duration::from_secs(1));
    assert_eq!(
        (duo.received[0].last().unwrap(), &duo.received[1][..]),
        (&"again".into(), &["answer".into()][..])
    );
    assert_eq!(BOTH.map(|host| duo.stats(host).congestion.ccid), [3, 3]);
}

#[test]
fn a_forged_cookie_is_refused() {
    let cookies = EndpointConfig { init_cookies: true, ..endpoint_config() };
    let mut duo = Duo::with(1, link(10.0, 100, 0.0), &cookies, &Config::default());
    duo.begin(&Config::default());
    duo.run_for(millis(120));
    // Another server has another key.
    let mut other = Endpoint::new(cookies, Rng::from_u64(99));
    other.listen(PORTS.1, vec![SERVICE], Config::default());
    *duo.pair.server_mut() = other;
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.closed(CLIENT), Some(CloseReason::Reset(ResetCode::BAD_INIT_COOKIE)));
    assert_eq!(duo.pair.server().stats().cookies_refused, 1);
    assert_eq!(duo.pair.server().connections().count(), 0);
}

#[test]
fn a_flood_of_requests_leaves_no_state_where_there_are_cookies() {
    let cookies = EndpointConfig { init_cookies: true, ..endpoint_config() };
    let mut duo = Duo::with(1, link(10.0, 100, 0.0), &cookies, &Config::default());
    let path = duo.pair.paths()[0].addresses;
    for port in 1..500 {
        let connect = |client: &mut Endpoint, now: Time| {
            let id = client.connect(now, path, (port, PORTS.1), SERVICE, Config::default());
            id.unwrap()
        };
        let id = duo.pair.act_client(connect).unwrap();
        duo.pair.act_client(|client, _| client.forget(id)).unwrap();
    }
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.pair.server().stats().cookies_sent, 499);
    assert_eq!(duo.pair.server().connections().count(), 0);
}

#[test]
fn a_flood_of_requests_is_answered_to_a_limit_and_remembered_nowhere() {
    let cookies = EndpointConfig { init_cookies: true, ..EndpointConfig::default() };
    let mut server = Endpoint::new(cookies, Rng::from_u64(1));
    server.listen(PORTS.1, vec![SERVICE], Config::default());
    let (mut answers, mut bytes) = (0, Vec::new());
    for n in 0..20_000_u32 {
        // 20,000 in a second, each from another address.
        let now = Time::ZERO + Duration::from_micros(50) * n;
        let from = (0x0b00_0000 + n).to_be_bytes();
        let path = FourTuple::new(([10, 0, 0, 2], 9).into(), (from, 9).into());
        let request = Packet {
            source_port: PORTS.0,
            destination_port: PORTS.1,
            ccval: 0,
            checksum_coverage: 0,
            sequence_number: SequenceNumber::new(n.into()),
            is_short: false,
            kind: Kind::Request { service_code: SERVICE },
            options: Options::default(),
            data: b"",
        };
        bytes.clear();
        request.encode(Protection::Udp, &mut bytes);
        server.handle_datagram(now, Datagram { path, ecn: None, bytes: &bytes });
        bytes.clear();
        answers += u64::from(server.poll_transmit(now, &mut bytes).is_some());
    }
    // RFC 4340 section 8.1.4: "The Init Cookie option lets a DCCP server avoid having to hold any
    // state until the three-way connection setup handshake has completed". It may answer 1,024 at
    // once, and as many in a second.
    assert!((1_024..=2 * 1_024).contains(&answers), "{answers}");
    assert_eq!(server.stats().cookies_sent, answers);
    assert_eq!(server.stats().replies_suppressed, 20_000 - answers);
    assert_eq!(server.connections().count(), 0);
    assert_eq!(server.poll_timeout(), None);
}

#[test]
fn resets_hold_up_no_response() {
    let cookies = EndpointConfig { init_cookies: true, ..EndpointConfig::default() };
    let mut server = Endpoint::new(cookies, Rng::from_u64(1));
    server.listen(PORTS.1, vec![SERVICE], Config::default());
    let mut client = Endpoint::new(EndpointConfig::default(), Rng::from_u64(2));
    let path = FourTuple::new(([10, 0, 0, 1], 9).into(), ([10, 0, 0, 2], 9).into());
    // To a port where nobody listens, more often than answers may wait.
    for port in 1..=500 {
        let ports = (port, PORTS.1 + 1);
        client.connect(Time::ZERO, path, ports, SERVICE, Config::default()).unwrap();
    }
    carry(&mut client, &mut server, path.reversed());
    assert_eq!(server.stats().resets_sent + server.stats().replies_suppressed, 500);
    assert!(server.stats().replies_suppressed > 0);
    client.connect(Time::ZERO, path, PORTS, SERVICE, Config::default()).unwrap();
    carry(&mut client, &mut server, path.reversed());
    assert_eq!(server.stats().cookies_sent, 1);
    let mut bytes = Vec::new();
    assert!(server.poll_transmit(Time::ZERO, &mut bytes).is_some());
    let first = Packet::decode(Protection::Udp, &bytes).unwrap();
    assert_eq!(first.kind.packet_type(), PacketType::Response);
}

/// Takes to one end what the other sends; `path`: as the one has it.
fn carry(from: &mut Endpoint, to: &mut Endpoint, path: FourTuple) {
    let mut bytes = Vec::new();
    while from.poll_transmit(Time::ZERO, &mut bytes).is_some() {
        to.handle_datagram(Time::ZERO, Datagram { path, ecn: None, bytes: &bytes });
        bytes.clear();
    }
}

#[test]
fn it_works_in_udp() {
    let udp = EndpointConfig { encapsulation: Encapsulation::Udp, ..endpoint_config() };
    let mut duo = Duo::with(1, link(10.0, 100, 0.0), &udp, &Config::default());
    duo.connect(&Config::default());
    duo.send(CLIENT, b"hello");
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.received[0], ["hello"]);
}

#[test]
fn several_connections_share_two_udp_ports() {
    let udp = EndpointConfig { encapsulation: Encapsulation::Udp, ..endpoint_config() };
    let mut duo = Duo::with(1, link(10.0, 100, 0.0), &udp, &Config::default());
    let path = duo.pair.paths()[0].addresses;
    let connect = |port| {
        move |client: &mut Endpoint, now: Time| {
            client.connect(now, path, (port, PORTS.1), SERVICE, Config::default())
        }
    };
    for port in 0..10 {
        duo.pair.act_client(connect(port)).unwrap().unwrap();
    }
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.server_events, [Event::Connected; 10]);
    assert_eq!(duo.pair.act_client(connect(3)).unwrap(), Err(ConnectError::Exists));
}

/// RFC 6773 section 3.8: the UDP ports are part of what a connection is known by.
#[test]
fn what_comes_from_another_udp_port_is_of_no_connection() {
    let end = |seed| Endpoint::new(EndpointConfig::default(), Rng::from_u64(seed));
    let (mut client, mut server) = (end(1), end(2));
    server.listen(PORTS.1, vec![SERVICE], Config::default());
    let path = FourTuple::new(([10, 0, 0, 1], 9).into(), ([10, 0, 0, 2], 9).into());
    let other = FourTuple::new(([10, 0, 0, 1], 10).into(), path.remote);
    let id = client.connect(Time::ZERO, path, PORTS, SERVICE, Config::default()).unwrap();
    for _ in 0..4 {
        carry(&mut client, &mut server, path.reversed());
        carry(&mut server, &mut client, path);
    }
    let at_server = server.connections().next().unwrap();
    for (from, delivered) in [(other, 0), (path, 1)] {
        client.connection_mut(id).unwrap().send("data".into()).unwrap();
        carry(&mut client, &mut server, from.reversed());
        let stats = server.connection(at_server).unwrap().stats();
        assert_eq!(stats.datagrams_received, delivered, "from {from}");
        let mut answer = Vec::new();
        let answered = server.poll_transmit(Time::ZERO, &mut answer);
        if delivered == 0 {
            assert_eq!(answered.map(|it| it.path), Some(other.reversed()), "a Reset");
        }
    }
    assert_eq!((server.stats().unknown, server.stats().resets_sent), (1, 1));
    assert!(client.connection(id).unwrap().is_connected());
}

#[test]
fn what_cannot_begin_says_why() {
    let mut endpoint = Endpoint::new(EndpointConfig::default(), Rng::from_u64(1));
    let path = FourTuple::new(([10, 0, 0, 1], 9).into(), ([10, 0, 0, 2], 9).into());
    let mut connect = |service_code, config| {
        endpoint.connect(Time::ZERO, path, PORTS, service_code, config).unwrap_err()
    };
    let error = connect(ServiceCode::INVALID, Config::default());
    assert_eq!(error, ConnectError::ServiceCode);
    let error = connect(SERVICE, Config { send_ccids: Vec::new(), ..Config::default() });
    assert_eq!(error, ConnectError::NoCcid);
    let error = connect(SERVICE, Config { mtu: 90, ..Config::default() });
    assert_eq!(error.to_string(), "an MTU of 90 bytes leaves no room for data: 97 would");
}

#[test]
fn data_wait_for_a_connection() {
    let mut duo = duo();
    duo.begin(&Config::default());
    let early = duo.act(CLIENT, |client, _| client.send("early".into()));
    assert_eq!(early, Err(SendError::NotConnected));
    duo.run_for(Duration::from_secs(1));
    let limit = duo.act(CLIENT, |client, _| client.datagram_len_max());
    assert_eq!(limit, 1_500 - 20 - 48);
    let long = duo.act(CLIENT, |client, _| client.send(vec![0; limit + 1].into()));
    assert_eq!(long, Err(SendError::TooLarge { len: limit + 1, limit }));
}
