//! What a connection over DCCP records of what it does.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

use std::time::Duration;

use anabranch_netsim::{CLIENT, LinkConfig, Loss, Pair, Side};
use anabranch_sansio::{Machine as _, TraceRecord, TraceValue};
use anabranch_transport::{
    ConnectionId, DccpConfig, DccpTransport, Outgoing, PathReport, PayloadId, Reliability,
    StreamId, Transport as _,
};
use bytes::Bytes;

const MESSAGES: u64 = 200;
const LEN: u64 = 1_000;

/// The client's records of a transfer over two paths that lose a twentieth, and its name for the
/// connection.
fn transferred(tracing: bool) -> (Pair<DccpTransport>, ConnectionId, Vec<TraceRecord>) {
    let (delay, loss) = (Duration::from_millis(10), Loss::uniform(0.05));
    let link = LinkConfig { delay, loss, ..LinkConfig::default() };
    let mut pair = Pair::new(1, &[link.clone().into(), link.into()], |side, _, rng| {
        let config = DccpConfig { listen: side == Side::Server, ..DccpConfig::default() };
        DccpTransport::new(config, rng)
    });
    pair.client_mut().set_tracing(tracing);
    let paths: Vec<_> = pair.paths().iter().map(|path| path.addresses).collect();
    let id = pair.act_client(|client, now| client.connect(now, &paths)).unwrap().unwrap();
    pair.run_for(Duration::from_secs(1)).unwrap();
    for _ in 0..MESSAGES {
        let send = |client: &mut DccpTransport, now| {
            let payload = Bytes::from(vec![7; LEN as usize]);
            let message = Outgoing {
                reliability: Reliability::Reliable,
                ..Outgoing::new(StreamId(1), PayloadId(0), payload)
            };
            client.connection_mut(id).unwrap().send(now, message)
        };
        pair.sim.act(CLIENT, send).unwrap().unwrap();
        pair.run_for(Duration::from_millis(20)).unwrap();
    }
    pair.run_for(Duration::from_secs(5)).unwrap();
    let client = pair.client_mut();
    let records = std::iter::from_fn(|| client.poll_trace()).collect();
    (pair, id, records)
}

fn named<'a>(records: &'a [TraceRecord], name: &str) -> Vec<&'a TraceRecord> {
    records.iter().filter(|record| record.name == name).collect()
}

fn sum(records: &[&TraceRecord], name: &str) -> u64 {
    records.iter().map(|record| record.count(name).expect("a count")).sum()
}

#[test]
fn what_is_sent_lost_and_acknowledged_adds_up() {
    let (pair, id, records) = transferred(true);
    let stats = pair.client().connection(id).unwrap().stats();
    let total = |of: fn(&PathReport) -> u64| stats.paths.iter().map(of).sum::<u64>();
    let sent = named(&records, "dccp:data_sent");
    assert_eq!(sent.len() as u64, total(|path| path.chunks_sent));
    let again = TraceValue::Flag(true);
    let again = sent.iter().filter(|record| record.field("retransmission") == Some(&again));
    assert_eq!(again.count() as u64, total(|path| path.chunks_retransmitted));
    let lost = named(&records, "dccp:data_lost");
    assert_eq!(sum(&lost, "datagrams"), total(|path| path.chunks_lost));
    assert!(!lost.is_empty());
    let acknowledged = named(&records, "dccp:data_acknowledged");
    assert_eq!(sum(&acknowledged, "bytes"), MESSAGES * LEN, "all of it, and each part once");
}

#[test]
fn records_name_the_connection_its_path_and_the_member() {
    let (_, id, records) = transferred(true);
    for name in ["dccp:packet_sent", "dccp:packet_received", "dccp:congestion_updated"] {
        let mut paths = [0; 2];
        for record in named(&records, name) {
            assert_eq!(record.connection, Some(id.0), "{record:?}");
            assert!(record.field("member").is_some(), "{record:?}");
            paths[record.count("path").unwrap() as usize] += 1;
        }
        assert!(paths.iter().all(|records| *records > 10), "{name}: {paths:?}");
    }
    for (path, record) in named(&records, "dccp:path_updated").into_iter().enumerate() {
        assert_eq!(record.field("path"), Some(&TraceValue::Count(path as u64)));
    }
}

#[test]
fn nothing_is_recorded_that_nobody_asked_for() {
    assert_eq!(transferred(false).2, []);
}
