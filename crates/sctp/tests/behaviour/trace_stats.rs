//! Statistics and the trace tell what happened.

use std::time::Duration;

use anabranch_sctp::{
    AssociationConfig, Event, OutgoingMessage, Reliability, TraceEvent, TraceKind,
};
use anabranch_wire::{ChunkType, StreamId};

use crate::harness::{Duo, Side, good_link, link, numbered};
use crate::packets::{Wiretap, lose_first};

const SECOND: Duration = Duration::from_secs(1);

fn traced() -> AssociationConfig {
    AssociationConfig::default().with(|config| config.trace_events_max = 100_000)
}

fn trace(duo: &mut Duo, side: Side) -> Vec<TraceEvent> {
    duo.act(side, |association, _| std::iter::from_fn(|| association.poll_trace()).collect())
}

#[test]
fn counters_agree_with_what_was_on_the_wire() {
    let mut duo = Duo::connected(1, &[link(20, 10, 0.03), link(20, 20, 0.03)], traced());
    let before = [Side::Client, Side::Server].map(|side| duo.stats(side));
    let tap = Wiretap::on(&mut duo);
    for number in 0..300 {
        let message = numbered((number % 3) as u16, number, 2_000);
        let reliability = match number % 3 {
            0 => Reliability::Reliable,
            1 => Reliability::Lifetime(Duration::from_millis(200)),
            _ => Reliability::MaxRetransmissions(0),
        };
        duo.send(Side::Client, OutgoingMessage { reliability, ..message });
        duo.run_for(Duration::from_millis(20));
    }
    duo.run_for(10 * SECOND);
    let after = [Side::Client, Side::Server].map(|side| duo.stats(side));
    let sum = |stats: &anabranch_sctp::AssociationStats,
               of: fn(&anabranch_sctp::PathStats) -> u64| {
        stats.paths.iter().map(|path| of(&path.counters)).sum::<u64>()
    };
    for (index, side) in [Side::Client, Side::Server].into_iter().enumerate() {
        let change = |of| sum(&after[index], of) - sum(&before[index], of);
        let sent = tap.of_all(side);
        assert_eq!(change(|path| path.packets_sent), sent.len() as u64);
        let bytes: usize = sent.iter().map(|sent| sent.bytes.len()).sum();
        assert_eq!(change(|path| path.bytes_sent), bytes as u64);
        let data: usize = sent.iter().map(|sent| sent.data().len()).sum();
        assert_eq!(change(|path| path.chunks_sent), data as u64);
        let sacks = sent.iter().filter(|sent| sent.has(ChunkType::SACK)).count() as u64;
        assert_eq!(after[index].sacks_sent - before[index].sacks_sent, sacks);
        let forwards = sent.iter().filter(|sent| sent.has(ChunkType::FORWARD_TSN)).count() as u64;
        assert_eq!(after[index].forward_tsns_sent, forwards);
    }
    let [client, server] = after;
    assert_eq!(client.streams.messages_queued, 300);
    assert_eq!(server.messages_received, duo.messages(Side::Server).len() as u64);
    let payload: usize = duo.messages(Side::Server).iter().map(|m| m.payload.len()).sum();
    assert_eq!(server.bytes_received, payload as u64);
    let retransmitted = sum(&client, |path| path.chunks_retransmitted);
    assert_eq!(client.streams.chunks_retransmitted, retransmitted);
    assert_eq!(client.streams.chunks_sent + retransmitted, sum(&client, |path| path.chunks_sent));
    assert!(sum(&client, |path| path.chunks_lost) >= retransmitted);
}

#[test]
fn a_stream_s_counters_are_its_own() {
    let mut duo = Duo::connected(1, &[good_link()], AssociationConfig::default());
    duo.send(Side::Client, numbered(2, 0, 3_000));
    duo.run_for(SECOND);
    let stats = |duo: &Duo, stream| {
        duo.association(Side::Client).and_then(|a| a.stream_stats(StreamId(stream)))
    };
    let stream = stats(&duo, 2).expect("exists");
    assert_eq!((stream.messages_sent, stream.chunks_sent, stream.bytes_sent), (1, 3, 3_000));
    assert_eq!(stats(&duo, 1).map(|stream| stream.messages_queued), Some(0));
    assert_eq!(stats(&duo, 999), None);
}

#[test]
fn the_trace_tells_a_loss_and_its_repair_in_order() {
    let mut duo = Duo::connected(1, &[good_link()], traced());
    duo.run_for(SECOND);
    trace(&mut duo, Side::Client);
    lose_first(&mut duo, Side::Client, ChunkType::DATA, 1);
    (0..6).for_each(|number| duo.send(Side::Client, numbered(0, number, 1_300)));
    duo.run_for(SECOND);
    let lines = trace(&mut duo, Side::Client);
    assert!(lines.windows(2).all(|pair| pair[0].at <= pair[1].at), "in order");
    let position = |wanted: &dyn Fn(&TraceKind) -> bool| {
        lines.iter().position(|line| wanted(&line.kind)).expect("is told")
    };
    let sent = position(&|kind| matches!(kind, TraceKind::DataSent { retransmission: false, .. }));
    let lost = position(&|kind| matches!(kind, TraceKind::Lost { chunks: 1, timeout: false, .. }));
    let again = position(&|kind| matches!(kind, TraceKind::DataSent { retransmission: true, .. }));
    let smaller = position(&|kind| matches!(kind, TraceKind::Window { .. }));
    assert!(sent < lost && lost < again && smaller < again, "{sent} {lost} {smaller} {again}");
    let total: usize = lines
        .iter()
        .map(|line| if let TraceKind::Acknowledged { bytes, .. } = line.kind { bytes } else { 0 })
        .sum();
    assert_eq!(total, 6 * 1_316, "all is acknowledged once");
}

#[test]
fn abandoned_messages_are_traced_with_their_reason() {
    let mut duo = Duo::connected(1, &[good_link()], traced());
    duo.pair.cut(0);
    let with = |reliability| OutgoingMessage { reliability, ..numbered(1, 0, 100) };
    duo.send(Side::Client, with(Reliability::Lifetime(Duration::from_millis(50))));
    duo.send(Side::Client, with(Reliability::MaxRetransmissions(0)));
    duo.run_for(2 * SECOND);
    let reasons: Vec<_> = trace(&mut duo, Side::Client)
        .iter()
        .filter_map(|line| {
            let TraceKind::Abandoned { stream, expired } = line.kind else { return None };
            Some((stream.0, expired))
        })
        .collect();
    assert_eq!(reasons, [(1, true), (1, false)]);
}

#[test]
fn the_closing_event_carries_the_last_statistics() {
    let mut duo = Duo::connected(1, &[good_link()], AssociationConfig::default());
    duo.send(Side::Client, numbered(0, 0, 5_000));
    duo.run_for(SECOND);
    duo.act(Side::Client, anabranch_sctp::Association::shutdown);
    duo.run_until_closed(Side::Server);
    let Some(Event::Closed { stats, .. }) = duo.events(Side::Server).last() else {
        panic!("the last event")
    };
    assert_eq!((stats.messages_received, stats.bytes_received), (1, 5_000));
}

#[test]
fn without_a_trace_nothing_is_kept() {
    let mut duo = Duo::connected(1, &[good_link()], AssociationConfig::default());
    duo.send(Side::Client, numbered(0, 0, 5_000));
    duo.run_for(SECOND);
    assert!(trace(&mut duo, Side::Client).is_empty());
}
