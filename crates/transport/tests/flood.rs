//! What strangers cost a listener over DCCP.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use anabranch_dccp::wire::{Kind, Options, Packet, Protection, SequenceNumber, ServiceCode};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};
use anabranch_transport::{DCCP_PORT, DccpConfig, DccpTransport, Event, Transport as _};

/// Requests of which each is from another address.
const FLOOD: u32 = 20_000;

fn carry(from: &mut DccpTransport, to: &mut DccpTransport, now: Time) -> usize {
    let (mut bytes, mut count) = (Vec::new(), 0);
    while let Some(transmit) = from.poll_transmit(now, &mut bytes) {
        for bytes in bytes.chunks(transmit.segment_size.unwrap_or(bytes.len())) {
            let path = transmit.path.reversed();
            to.handle_datagram(now, Datagram { path, ecn: None, bytes });
        }
        bytes.clear();
        count += 1;
    }
    count
}

#[test]
fn a_flood_of_requests_takes_no_place_of_those_who_mean_it() {
    let config = DccpConfig { listen: true, ..DccpConfig::default() };
    let mut listener = DccpTransport::new(config, Rng::from_u64(1));
    let local = ([10, 0, 0, 2], 9_000).into();
    let mut now = Time::from_secs(1);
    for n in 0..FLOOD {
        let [a, b, c, d] = (0x0b00_0000 + n).to_be_bytes();
        let request = Packet {
            source_port: 50_000,
            destination_port: DCCP_PORT,
            ccval: 0,
            checksum_coverage: 0,
            sequence_number: SequenceNumber::new(n.into()),
            is_short: false,
            kind: Kind::Request { service_code: ServiceCode(0x616e_6162) },
            options: Options::default(),
            data: &[],
        };
        let mut bytes = Vec::new();
        request.encode(Protection::Udp, &mut bytes);
        let path = FourTuple::new(local, ([a, b, c, d], 9_000).into());
        listener.handle_datagram(now, Datagram { path, ecn: None, bytes: &bytes });
    }
    let mut answers = Vec::new();
    while listener.poll_transmit(now, &mut answers).is_some() {}
    let strangers = listener.strangers();
    assert!((1..=1_024).contains(&strangers.calls_answered), "{strangers:?}");
    assert_eq!(listener.connections(), 0);
    // A second later somebody calls who answers.
    now = Time::from_secs(2);
    let mut caller = DccpTransport::new(DccpConfig::default(), Rng::from_u64(2));
    let path = FourTuple::new(([10, 0, 0, 1], 9_000).into(), local);
    caller.connect(now, &[path]).unwrap();
    while carry(&mut caller, &mut listener, now) + carry(&mut listener, &mut caller, now) > 0 {}
    let connected = |event: Option<(_, Event)>| matches!(event, Some((_, Event::Connected { .. })));
    assert!(connected(caller.poll_event()));
    assert_eq!(listener.connections(), 1);
}
