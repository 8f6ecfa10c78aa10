//! Packets out of window, forged ones, and how both ends find together again.

use std::sync::{Arc, Mutex};
use std::time::Duration;

use anabranch_dccp::wire::{
    FeatureNumber, FeatureOption, FeatureOptionKind, Kind, OptionType, Options, OptionsBuf, Packet,
    PacketOption, Protection, ResetCode, SequenceNumber,
};
use anabranch_dccp::{CloseReason, Config, Endpoint, Event};
use anabranch_netsim::{self as netsim, CLIENT, Carrier, SERVER, Verdict};
use anabranch_sansio::{Machine as _, Rng};

use crate::harness::{Duo, PORTS, endpoint_config, link};

/// The last packet that each end sent.
type Seen = Arc<Mutex<[Option<(SequenceNumber, Option<SequenceNumber>)>; 2]>>;

fn connected() -> (Duo, Seen) {
    let mut duo = Duo::new(1, link(10.0, 100, 0.0), &Config::default());
    let seen = Seen::default();
    let watching = Arc::clone(&seen);
    duo.pair.sim.set_filter(move |_, host, packet| {
        let protection = Protection::header(packet.path);
        let packet = Packet::decode(protection, &packet.bytes).expect("a packet");
        let numbers = (packet.sequence_number, packet.kind.acknowledgement_number());
        watching.lock().expect("one thread")[usize::from(host == SERVER)] = Some(numbers);
        Verdict::Pass
    });
    duo.connect(&Config::default());
    duo.send(CLIENT, b"one");
    duo.send(CLIENT, b"two");
    duo.run_for(Duration::from_secs(2));
    (duo, seen)
}

/// The last number of the client, and of the server.
fn last(seen: &Seen) -> [SequenceNumber; 2] {
    let seen = seen.lock().expect("one thread");
    seen.map(|numbers| numbers.expect("a packet").0)
}

/// Sends a packet to the server as if the client had.
fn forge(duo: &mut Duo, sequence_number: SequenceNumber, kind: Kind, options: Options<'_>) {
    let path = duo.pair.paths()[0].addresses;
    let packet = Packet {
        source_port: PORTS.0,
        destination_port: PORTS.1,
        ccval: 0,
        checksum_coverage: 0,
        sequence_number,
        is_short: false,
        kind,
        options,
        data: if matches!(kind, Kind::Data) { b"forged" } else { b"" },
    };
    let mut bytes = Vec::new();
    packet.encode(Protection::header(path), &mut bytes);
    duo.pair.sim.inject(netsim::Packet::new(path, Carrier::Dccp, bytes));
    duo.run_for(Duration::from_secs(1));
}

#[test]
fn a_burst_of_losses_beyond_the_window_is_recovered_by_a_sync() {
    let (mut duo, _) = connected();
    // The client sends more than the server's window while nothing gets through.
    duo.pair.cut(0);
    for _ in 0..200 {
        duo.act(CLIENT, |client, _| client.send("lost".into())).unwrap();
        duo.run_for(Duration::from_secs(70));
        if duo.stats(CLIENT).packets_sent > 120 {
            break;
        }
    }
    assert!(duo.stats(CLIENT).packets_sent > 120, "{:?}", duo.stats(CLIENT));
    duo.pair.restore(0);
    duo.run_for(Duration::from_secs(70));
    duo.send(CLIENT, b"found");
    duo.run_for(Duration::from_secs(140));
    assert!(duo.stats(SERVER).syncs_sent > 0, "{:?}", duo.stats(SERVER));
    duo.send(CLIENT, b"again");
    duo.run_for(Duration::from_secs(140));
    assert_eq!(duo.received[0].last().unwrap(), "again");
}

#[test]
fn data_out_of_window_are_not_delivered_and_harm_nothing() {
    let (mut duo, seen) = connected();
    let far = last(&seen)[0].plus(1 << 20);
    duo.pair.server_mut().set_tracing(true);
    forge(&mut duo, far, Kind::Data, Options::default());
    assert_eq!(duo.received[0].len(), 2);
    assert_eq!(duo.stats(SERVER).syncs_sent, 1);
    let server = duo.pair.server_mut();
    let mut records = std::iter::from_fn(|| server.poll_trace());
    assert!(records.any(|record| record.name == "dccp:packet_invalid"));
    duo.send(CLIENT, b"three");
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.received[0].last().unwrap(), "three");
}

#[test]
fn syncs_are_limited_to_eight_a_second() {
    let (mut duo, seen) = connected();
    let path = duo.pair.paths()[0].addresses;
    for n in 0..100 {
        let packet = Packet {
            source_port: PORTS.0,
            destination_port: PORTS.1,
            ccval: 0,
            checksum_coverage: 0,
            sequence_number: last(&seen)[0].plus((1 << 20) + n),
            is_short: false,
            kind: Kind::Data,
            options: Options::default(),
            data: b"forged",
        };
        let mut bytes = Vec::new();
        packet.encode(Protection::header(path), &mut bytes);
        duo.pair.sim.inject(netsim::Packet::new(path, Carrier::Dccp, bytes));
    }
    duo.run_for(Duration::from_millis(900));
    assert_eq!((duo.stats(SERVER).syncs_sent, duo.stats(SERVER).packets_invalid), (8, 100));
}

#[test]
fn a_forged_reset_is_answered_by_a_sync_and_ends_nothing() {
    let (mut duo, seen) = connected();
    let [client, server] = last(&seen);
    let reset = |acknowledgement_number| Kind::Reset {
        acknowledgement_number,
        code: ResetCode::CLOSED,
        details: [0; 3],
    };
    // The numbers of a packet that has been here, and one far off.
    forge(&mut duo, client, reset(server), Options::default());
    forge(&mut duo, client.plus(1 << 30), reset(server), Options::default());
    forge(&mut duo, client.plus(1), reset(server.plus(1 << 30)), Options::default());
    assert_eq!((duo.closed(SERVER), duo.stats(SERVER).syncs_sent), (None, 3));
    duo.send(CLIENT, b"three");
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.received[0].last().unwrap(), "three");
}

#[test]
fn a_forged_sync_moves_no_window() {
    let (mut duo, seen) = connected();
    let [client, server] = last(&seen);
    let sync = |acknowledgement_number| Kind::Sync { acknowledgement_number };
    forge(&mut duo, client.plus(1 << 30), sync(server.plus(1 << 30)), Options::default());
    duo.send(CLIENT, b"three");
    duo.run_for(Duration::from_secs(1));
    assert_eq!(duo.received[0].last().unwrap(), "three");
    assert_eq!(duo.stats(SERVER).syncs_sent, 0, "it is not even answered");
}

#[test]
fn a_server_answers_a_close_request_by_a_sync() {
    let (mut duo, seen) = connected();
    let [client, server] = last(&seen);
    let kind = Kind::CloseReq { acknowledgement_number: server };
    forge(&mut duo, client.plus(1), kind, Options::default());
    assert_eq!((duo.closed(SERVER), duo.stats(SERVER).syncs_sent), (None, 1));
}

#[test]
fn an_unknown_mandatory_option_ends_the_connection() {
    let (mut duo, seen) = connected();
    let [client, server] = last(&seen);
    let mut options = OptionsBuf::new();
    let ty = OptionType(250);
    options.push_mandatory(&PacketOption::Ccid { ty, data: &[1, 2] });
    let kind = Kind::Ack { acknowledgement_number: server };
    forge(&mut duo, client.plus(1), kind, options.as_options());
    assert_eq!(duo.closed(SERVER), Some(CloseReason::Broken(ResetCode::MANDATORY_ERROR)));
}

#[test]
fn options_that_could_end_a_connection_do_nothing_on_data_packets() {
    let (mut duo, seen) = connected();
    let mut options = OptionsBuf::new();
    let ty = OptionType(250);
    options.push_mandatory(&PacketOption::Ccid { ty, data: &[1, 2] });
    forge(&mut duo, last(&seen)[0].plus(1), Kind::Data, options.as_options());
    assert_eq!(duo.closed(SERVER), None);
    assert_eq!(duo.received[0].last().unwrap(), "forged");
}

#[test]
fn a_client_that_forgot_everything_connects_anew() {
    // RFC 4340 section 7.5.6, the last example.
    let (mut duo, _) = connected();
    *duo.pair.client_mut() = Endpoint::new(endpoint_config(), Rng::from_u64(9));
    duo.client_events.clear();
    duo.server_events.clear();
    duo.begin(&Config::default());
    duo.run_for(Duration::from_secs(3));
    assert_eq!(duo.client_events, [Event::Connected]);
    let reset = CloseReason::Reset(ResetCode::PACKET_ERROR);
    assert_eq!(duo.server_events, [Event::Closed(reset), Event::Connected]);
}

#[test]
fn feature_negotiation_that_never_ends_costs_little() {
    let (mut duo, seen) = connected();
    let [client, server] = last(&seen);
    for n in 1..200 {
        let mut options = OptionsBuf::new();
        for feature in 100..120 {
            let change = FeatureOption {
                kind: FeatureOptionKind::ChangeL,
                feature: FeatureNumber(feature),
                values: &[1],
            };
            options.push(&PacketOption::Feature(change));
        }
        let kind = Kind::Ack { acknowledgement_number: server };
        let path = duo.pair.paths()[0].addresses;
        let packet = Packet {
            source_port: PORTS.0,
            destination_port: PORTS.1,
            ccval: 0,
            checksum_coverage: 0,
            sequence_number: client.plus(n),
            is_short: false,
            kind,
            options: options.as_options(),
            data: &[],
        };
        let mut bytes = Vec::new();
        packet.encode(Protection::header(path), &mut bytes);
        duo.pair.sim.inject(netsim::Packet::new(path, Carrier::Dccp, bytes));
    }
    let before = duo.stats(SERVER).packets_sent;
    duo.run_for(Duration::from_secs(10));
    assert!(duo.stats(SERVER).packets_sent - before <= 400, "one answer for one packet at most");
    assert_eq!(duo.closed(SERVER), None);
}
