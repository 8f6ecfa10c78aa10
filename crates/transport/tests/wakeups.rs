//! Who runs a transport over DCCP is not woken in vain: the simulator fails where a timer comes
//! back at once.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use anabranch_dccp::wire::{
    DropCode, DropRuns, Kind, OptionsBuf, Packet, PacketOption, Protection,
};
use anabranch_netsim::{CLIENT, LinkConfig, Pair, SERVER, Side, Verdict};
use anabranch_transport::{
    CloseReason, ConnectionId, DccpConfig, DccpTransport, Event, Outgoing, PathEvent, PathState,
    PayloadId, StreamId, Transport as _,
};

/// Both ends over a path with a round trip of 20 ms, and the client's connection.
fn connected() -> (Pair<DccpTransport>, ConnectionId) {
    let link = LinkConfig { delay: Duration::from_millis(10), ..LinkConfig::default() };
    let mut pair = Pair::new(1, &[link.into()], |side, _, rng| {
        let config = DccpConfig { listen: side == Side::Server, ..DccpConfig::default() };
        DccpTransport::new(config, rng)
    });
    let path = pair.paths()[0].addresses;
    let id = pair.act_client(|client, now| client.connect(now, &[path])).unwrap().unwrap();
    pair.run_for(Duration::from_secs(1)).unwrap();
    assert_eq!((pair.client().connections(), pair.server().connections()), (1, 1));
    (pair, id)
}

fn send(pair: &mut Pair<DccpTransport>, id: ConnectionId) {
    let message = Outgoing::new(StreamId(0), PayloadId(1), vec![7; 500].into());
    let send = |client: &mut DccpTransport, now| {
        client.connection_mut(id).unwrap().send(now, message.clone())
    };
    pair.act_client(send).unwrap().unwrap();
}

fn close_reason(events: Vec<(ConnectionId, Event)>) -> Option<CloseReason> {
    let reason =
        |(_, event)| if let Event::Closed { reason, .. } = event { Some(reason) } else { None };
    events.into_iter().find_map(reason)
}

#[test]
fn whose_peer_leaves_waits_for_no_answer_any_more() {
    let (mut pair, id) = connected();
    // From here on nothing of the client's arrives.
    pair.sim.drop_next(CLIENT, u32::MAX);
    send(&mut pair, id);
    let leave = |server: &mut DccpTransport, now| {
        server.connection_mut(ConnectionId(1)).unwrap().shutdown(now);
    };
    pair.act_server(leave).unwrap();
    pair.run_for(Duration::from_secs(20)).unwrap();
    assert_eq!(close_reason(pair.sim.take_events(CLIENT)), Some(CloseReason::Shutdown));
}

#[test]
fn a_connection_whose_peer_takes_no_data_is_given_up() {
    let (mut pair, id) = connected();
    let mut dropped = DropRuns::default();
    dropped.push(Some(DropCode::APPLICATION_NOT_LISTENING), 1);
    let mut options = OptionsBuf::new();
    dropped.options().for_each(|dropped| _ = options.push(&PacketOption::DataDropped(dropped)));
    pair.sim.set_filter(move |_, host, sent| {
        let bytes = std::mem::take(&mut sent.bytes);
        let mut packet = Packet::decode(Protection::Udp, &bytes).unwrap();
        if host == SERVER && matches!(packet.kind, Kind::Ack { .. } | Kind::DataAck { .. }) {
            packet.options = options.as_options();
        }
        packet.encode(Protection::Udp, &mut sent.bytes);
        Verdict::Pass
    });
    send(&mut pair, id);
    pair.run_for(Duration::from_secs(20)).unwrap();
    let given_up = |(_, event)| {
        let Event::Path(PathEvent::StateChanged { to, .. }) = event else { return false };
        to == PathState::PotentiallyFailed
    };
    assert!(pair.sim.take_events(CLIENT).into_iter().any(given_up));
}
