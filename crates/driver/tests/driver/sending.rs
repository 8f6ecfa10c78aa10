//! Batches, markings and sends that fail.

use crate::probe::{Arrived, addr, datagram, echo, probe, soon, until};
use anabranch_driver::{Losses, RECEIVES_PER_TURN_MAX, TRANSMITS_PER_TURN_MAX};
use anabranch_sansio::{Ecn, FourTuple, Transmit};

#[tokio::test]
async fn segments_of_one_buffer_arrive_as_datagrams() {
    let (server, at) = probe(&["127.0.0.1:0"]);
    let (client, locals) = probe(&["127.0.0.1:0"]);
    let bytes: Vec<u8> = (0..10_500_u32).map(|nth| (nth / 1_000) as u8).collect();
    client.with(|machine, _| machine.send_segments(locals[0], at[0], &bytes, Some(1_000)));
    for expected in bytes.chunks(1_000) {
        assert_eq!(datagram(&server).await.1, expected);
    }
    until(|| client.stats().total.tx.datagrams == 11).await;
    let stats = client.stats();
    assert_eq!(stats.total.tx.bytes, 10_500);
    let calls = if stats.sockets[0].gso_segments == 1 { 11 } else { 1 };
    assert_eq!(stats.total.tx.calls, calls, "one call, where the kernel segments");
}

#[tokio::test]
async fn a_buffer_beyond_the_limits_of_the_kernel_is_sent_in_parts() {
    let (server, at) = probe(&["127.0.0.1:0"]);
    let (client, locals) = probe(&["127.0.0.1:0"]);
    // Too many segments for one call, and too many bytes for one.
    for (count, segment) in [(200, 10), (70, 1_400)] {
        let bytes: Vec<u8> = (0..count * segment).map(|nth| (nth / segment) as u8).collect();
        client.with(|machine, _| machine.send_segments(locals[0], at[0], &bytes, Some(segment)));
        for expected in bytes.chunks(segment) {
            assert_eq!(datagram(&server).await.1, expected);
        }
    }
    assert_eq!(client.stats().total.lost.sum(), 0);
}

#[tokio::test]
async fn more_than_a_turns_work_is_all_done() {
    let (server, at) = probe(&["127.0.0.1:0"]);
    let (client, locals) = probe(&["127.0.0.1:0"]);
    let count = 3 * TRANSMITS_PER_TURN_MAX.max(32 * RECEIVES_PER_TURN_MAX);
    client.with(|machine, _| {
        for nth in 0..count {
            machine.send(locals[0], at[0], &(nth as u32).to_be_bytes());
        }
    });
    for nth in 0..count {
        assert_eq!(datagram(&server).await.1, (nth as u32).to_be_bytes());
    }
}

#[tokio::test]
async fn ecn_marks_are_carried_both_ways() {
    let (server, at) = echo(&["127.0.0.1:0", "[::1]:0"]);
    let (client, locals) = probe(&["127.0.0.1:0", "[::1]:0"]);
    for (local, remote) in locals.into_iter().zip(at) {
        for ecn in [None, Some(Ecn::Ect0), Some(Ecn::Ect1), Some(Ecn::Ce)] {
            let path = FourTuple::new(local, remote);
            // Coalesced buffers have a mark, too: there the kernel has most to tell.
            let transmit = Transmit { ecn, segment_size: Some(6), ..Transmit::datagram(path) };
            let twice = b"markedmarked".to_vec();
            client.with(|machine, _| machine.outbox.push_back((transmit, twice)));
            for (handle, path) in [(&server, path.reversed()), (&client, path)] {
                let bytes = b"marked".to_vec();
                let expected = Arrived::Datagram { path, ecn, bytes };
                assert_eq!(soon(handle.next_event()).await, Some(expected.clone()));
                assert_eq!(soon(handle.next_event()).await, Some(expected));
            }
        }
    }
}

#[tokio::test]
async fn an_empty_datagram_is_a_datagram() {
    let (server, at) = echo(&["127.0.0.1:0"]);
    let (client, locals) = probe(&["127.0.0.1:0"]);
    client.with(|machine, _| machine.send(locals[0], at[0], b""));
    assert_eq!(datagram(&client).await.1, b"");
    assert_eq!(datagram(&server).await.1, b"");
}

/// Sends something impossible from a wildcard socket, then something possible, in one burst each;
/// returns what was lost. `local` has the port 0: that of the socket.
async fn lost_by(local: &str, remote: &str, bytes: &[u8], segment: Option<usize>) -> Losses {
    let (local, remote) = (addr(local), addr(remote));
    let (wildcard, loopback) =
        if local.is_ipv4() { ("0.0.0.0:0", "127.0.0.1:0") } else { ("[::]:0", "[::1]:0") };
    let (_server, at) = echo(&[loopback]);
    let (client, bound) = probe(&[wildcard]);
    let port = bound[0].port();
    client.with(|machine, _| {
        machine.send_segments((local.ip(), port).into(), remote, bytes, segment);
        let path = FourTuple::new((addr(loopback).ip(), port).into(), at[0]);
        let marked = Transmit { segment_size: Some(5), ..Transmit::datagram(path) };
        let marked = Transmit { ecn: Some(Ecn::Ect0), ..marked };
        machine.outbox.push_back((marked, b"helloworld".to_vec()));
    });
    for expected in [b"hello", b"world"] {
        let Some(Arrived::Datagram { bytes, ecn, .. }) = soon(client.next_event()).await else {
            panic!("the driver ended");
        };
        assert_eq!(bytes, expected);
        assert_eq!(ecn, Some(Ecn::Ect0), "a bad send must not end the marking of its socket");
    }
    let stats = client.stats();
    let (fresh, _) = probe(&[wildcard]);
    until(|| !fresh.stats().sockets.is_empty()).await;
    let offload = fresh.stats().sockets[0].gso_segments;
    assert_eq!(stats.sockets[0].gso_segments, offload, "a bad send must not slow down its socket");
    stats.total.lost
}

#[tokio::test]
async fn a_datagram_larger_than_the_mtu_is_a_loss() {
    let lost = lost_by("127.0.0.1:0", "127.0.0.1:9", &[0; 65_535], None).await;
    assert_eq!(lost, Losses { too_large: 1, ..Losses::default() });
}

#[tokio::test]
async fn a_forbidden_destination_is_a_loss() {
    let lost = lost_by("127.0.0.1:0", "255.255.255.255:9", b"broadcast", None).await;
    assert_eq!(lost, Losses { not_permitted: 1, ..Losses::default() });
}

#[tokio::test]
async fn a_path_that_makes_no_sense_is_a_loss() {
    for (local, remote) in
        [("127.0.0.1:0", "127.0.0.1:0"), ("127.0.0.1:0", "[::1]:9"), ("224.0.0.1:0", "127.0.0.1:9")]
    {
        let lost = lost_by(local, remote, b"x", None).await;
        assert_eq!(lost, Losses { bad_path: 1, ..Losses::default() }, "{local} -> {remote}");
    }
}

#[tokio::test]
async fn a_source_address_that_is_gone_is_a_loss_and_no_reason_to_give_up_offload() {
    for (local, remote) in [
        ("192.0.2.77:0", "127.0.0.1:9"),
        ("255.255.255.255:0", "127.0.0.1:9"),
        ("[2001:db8::1]:0", "[::1]:9"),
    ] {
        let lost = lost_by(local, remote, &[0; 35], Some(10)).await;
        assert_eq!(lost, Losses { unreachable: 4, ..Losses::default() }, "{local} -> {remote}");
    }
}
