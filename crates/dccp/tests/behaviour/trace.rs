//! What connections record of what they do.

use std::time::Duration;

use anabranch_dccp::{Ccid, Config};
use anabranch_netsim::CLIENT;
use anabranch_sansio::{Machine as _, TraceRecord, TraceValue};

use crate::harness::{Duo, link};

/// Two ends that agree on this congestion control, and the client's records from then on.
fn connected(ccid: Ccid) -> Duo {
    let config = Config { send_ccids: vec![ccid], receive_ccids: vec![ccid], ..Config::default() };
    let mut duo = Duo::new(1, link(10.0, 100, 0.0), &config);
    duo.connect(&config);
    assert_eq!(records(&mut duo), [], "nobody has asked for any");
    duo.pair.client_mut().set_tracing(true);
    duo
}

fn records(duo: &mut Duo) -> Vec<TraceRecord> {
    let client = duo.pair.client_mut();
    std::iter::from_fn(|| client.poll_trace()).collect()
}

fn named<'a>(records: &'a [TraceRecord], name: &str) -> Vec<&'a TraceRecord> {
    records.iter().filter(|record| record.name == name).collect()
}

fn sum(records: &[&TraceRecord], name: &str) -> u64 {
    records.iter().map(|record| record.count(name).expect("a count")).sum()
}

#[test]
fn every_packet_is_recorded_while_somebody_asks() {
    let mut duo = connected(Ccid::Tfrc);
    let before = duo.stats(CLIENT);
    (0..20).for_each(|_| duo.send(CLIENT, &[7; 1_000]));
    duo.run_for(Duration::from_secs(10));
    let (records, after) = (records(&mut duo), duo.stats(CLIENT));
    let sent = named(&records, "dccp:packet_sent");
    assert_eq!(sent.len() as u64, after.packets_sent - before.packets_sent);
    assert_eq!(sum(&sent, "data_bytes"), 20_000);
    assert!(sum(&sent, "bytes") > 20_000 + 12 * sent.len() as u64);
    let received = named(&records, "dccp:packet_received");
    assert_eq!(received.len() as u64, after.packets_received - before.packets_received);
    let is_ack = |record: &&TraceRecord| record.field("type") == Some(&TraceValue::Word("Ack"));
    assert!(received.iter().all(is_ack), "{received:?}");
    assert!(records.iter().all(|record| record.connection == Some(0)));
    duo.pair.client_mut().set_tracing(false);
    duo.send(CLIENT, &[7; 1_000]);
    duo.run_for(Duration::from_secs(1));
    assert_eq!(self::records(&mut duo), []);
}

#[test]
fn each_congestion_control_records_measures_of_its_own() {
    for (ccid, has, has_not) in [
        (Ccid::TcpLike, "window_packets", "allowed_bps"),
        (Ccid::Tfrc, "allowed_bps", "window_packets"),
    ] {
        let mut duo = connected(ccid);
        (0..20).for_each(|_| duo.send(CLIENT, &[7; 1_000]));
        duo.run_for(Duration::from_secs(10));
        let records = records(&mut duo);
        let updates = named(&records, "dccp:congestion_updated");
        assert!(updates.len() > 1, "{records:?}");
        assert!(updates.iter().all(|record| record.field(has).is_some()), "{updates:?}");
        assert!(updates.iter().all(|record| record.field(has_not).is_none()), "{updates:?}");
        let same = updates.windows(2).find(|pair| pair[0].fields == pair[1].fields);
        assert_eq!(same, None, "only what has changed is recorded");
    }
}

#[test]
fn states_and_timers_are_recorded_to_the_end() {
    let mut duo = connected(Ccid::Tfrc);
    duo.act(CLIENT, |client, now| client.close(now));
    duo.run_for(Duration::from_secs(300));
    assert_eq!(duo.pair.client().connections().count(), 0, "it is forgotten");
    let records = records(&mut duo);
    let states: Vec<_> = named(&records, "dccp:connection_state_updated")
        .into_iter()
        .map(|record| record.field("state").cloned())
        .collect();
    let expected = ["CLOSING", "TIMEWAIT", "CLOSED"].map(|state| Some(TraceValue::Word(state)));
    assert_eq!(states, expected);
    let timers = named(&records, "dccp:timer_expired");
    let last = timers.last().and_then(|record| record.field("timer"));
    assert_eq!(last, Some(&TraceValue::Word("TIMEWAIT")));
}
