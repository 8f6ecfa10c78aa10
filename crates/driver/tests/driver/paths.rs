//! Which path a datagram is on: several addresses, wildcards, both families.

use crate::probe::{addr, datagram, echo, is_free, probe, until};
use anabranch_driver::local_towards;
use anabranch_sansio::FourTuple;
use std::net::SocketAddr;

#[tokio::test]
async fn two_local_addresses_towards_one_server_are_two_paths() {
    let (server, at) = echo(&["127.0.0.1:0"]);
    let (client, locals) = probe(&["127.0.0.1:0", "127.0.0.2:0"]);
    for local in &locals {
        client.with(|machine, _| machine.send(*local, at[0], b"hello"));
        let (path, bytes) = datagram(&client).await;
        assert_eq!(path, FourTuple::new(*local, at[0]));
        assert_eq!(bytes, b"hello");
        let (seen, _) = datagram(&server).await;
        assert_eq!(seen, path.reversed());
    }
}

#[tokio::test]
async fn a_wildcard_socket_sees_and_uses_the_real_local_address() {
    let (server, bound) = echo(&["0.0.0.0:0"]);
    let (client, locals) = probe(&["127.0.0.1:0"]);
    for ip in ["127.0.0.1", "127.0.0.5"] {
        let to: SocketAddr = (ip.parse::<std::net::IpAddr>().unwrap(), bound[0].port()).into();
        client.with(|machine, _| machine.send(locals[0], to, b"hello"));
        assert_eq!(datagram(&server).await.0, FourTuple::new(to, locals[0]));
        assert_eq!(datagram(&client).await.0.remote, to, "answered from the address asked");
    }
}

#[tokio::test]
async fn a_caller_on_a_wildcard_finds_its_address_by_the_routes() {
    let (server, at) = echo(&["127.0.0.1:0"]);
    let (client, bound) = probe(&["0.0.0.0:0"]);
    let local = local_towards(bound[0], at[0]).unwrap();
    assert_eq!(local, SocketAddr::from(([127, 0, 0, 1], bound[0].port())));
    client.with(|machine, _| machine.send(local, at[0], b"hello"));
    let (path, _) = datagram(&client).await;
    assert_eq!(path, FourTuple::new(local, at[0]));
    assert_eq!(datagram(&server).await.0, path.reversed());
}

#[tokio::test]
async fn ipv6_is_carried_and_wildcards_of_both_families_share_a_port() {
    let (server, bound) = echo(&["0.0.0.0:0"]);
    let port = bound[0].port();
    assert_eq!(server.bind(addr(&format!("[::]:{port}"))).unwrap().port(), port);
    let (client, locals) = probe(&["[::1]:0", "127.0.0.1:0"]);
    for (local, to) in [(locals[0], "[::1]"), (locals[1], "127.0.0.1")] {
        let to = addr(&format!("{to}:{port}"));
        client.with(|machine, _| machine.send(local, to, b"hello"));
        assert_eq!(datagram(&client).await.0, FourTuple::new(local, to));
        assert_eq!(datagram(&server).await.0, FourTuple::new(to, local));
    }
}

#[tokio::test]
async fn a_mapped_address_is_sent_to_as_ipv4() {
    let (_server, at) = echo(&["127.0.0.1:0"]);
    let (client, locals) = probe(&["[::ffff:127.0.0.1]:0"]);
    assert_eq!(locals[0].ip(), addr("127.0.0.1:0").ip(), "bound as IPv4");
    let mapped = |at: SocketAddr| addr(&format!("[::ffff:127.0.0.1]:{}", at.port()));
    client.with(|machine, _| machine.send(mapped(locals[0]), mapped(at[0]), b"hello"));
    assert_eq!(datagram(&client).await.0, FourTuple::new(locals[0], at[0]));
}

#[tokio::test]
async fn a_removed_address_is_closed_and_what_is_sent_from_it_is_counted() {
    let (client, locals) = probe(&["127.0.0.1:0", "127.0.0.2:0"]);
    let (_server, at) = echo(&["127.0.0.1:0"]);
    assert!(client.remove(locals[1]).await);
    assert!(!client.remove(locals[1]).await, "gone already");
    is_free(locals[1]).await;

    client.with(|machine, _| {
        machine.send(locals[1], at[0], b"from nowhere");
        machine.send(locals[0], at[0], b"hello");
    });
    let (path, bytes) = datagram(&client).await;
    assert_eq!((path.local, bytes.as_slice()), (locals[0], b"hello".as_slice()));
    until(|| client.stats().total.lost.no_socket == 1).await;
    assert_eq!(client.sockets().len(), 1);
}

#[tokio::test]
async fn an_address_can_come_while_the_driver_runs() {
    let (_server, at) = echo(&["127.0.0.1:0"]);
    let (client, _) = probe(&[]);
    let local = client.bind(addr("127.0.0.9:0")).unwrap();
    client.with(|machine, _| machine.send(local, at[0], b"hello"));
    assert_eq!(datagram(&client).await.0, FourTuple::new(local, at[0]));
}

#[tokio::test]
async fn what_a_removed_socket_carried_stays_in_the_totals() {
    let (_server, at) = echo(&["127.0.0.1:0"]);
    let (client, locals) = probe(&["127.0.0.1:0"]);
    client.with(|machine, _| machine.send(locals[0], at[0], b"hello"));
    datagram(&client).await;
    client.remove(locals[0]).await;
    until(|| client.stats().sockets.is_empty()).await;
    let total = client.stats().total;
    assert_eq!((total.tx.datagrams, total.tx.bytes), (1, 5));
    assert_eq!((total.rx.datagrams, total.rx.bytes), (1, 5));
}
