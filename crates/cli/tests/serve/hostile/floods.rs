//! Who sends junk, and begins what it does not go on with.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream, UdpSocket};
use std::time::Instant;

use anabranch_sansio::Rng;

use super::stops::udp_of;
use super::visitors::{Mutes, init};
use super::{House, held, metric, metrics, native_url, until};
use crate::limits::offer;

/// Datagrams of each kind.
const DATAGRAMS: usize = 10_000;

/// Associations and connections that are begun.
const CALLS: u16 = 64;
const REQUESTS: usize = 300;

#[test]
fn floods_of_datagrams_disturb_nobody_and_leave_nothing() {
    let mut house = House::new(&[]);
    let udp = udp_of(&native_url(&mut house.server));
    let socket = UdpSocket::bind("127.0.0.1:0").unwrap();
    let started = Instant::now();
    let mut rng = Rng::from_u64(7);
    let init = init(udp);
    let check = [&[0, 1, 0, 0, 0x21, 0x12, 0xa4, 0x42][..], &[7; 12]].concat();
    // A record of DTLS 1.2 with the head of a ClientHello.
    let client_hello = [&[22, 254, 253][..], &[0; 8], &[0, 60, 1], &[0; 59]].concat();
    for _ in 0..DATAGRAMS {
        let mut junk = [0; 64];
        junk.iter_mut().for_each(|byte| *byte = rng.next_u64() as u8);
        for datagram in [&junk[..], &init, &check, &client_hello] {
            // The system may have no room for so many.
            _ = socket.send_to(datagram, udp);
        }
    }
    house.watching.goes_on();
    let text = metrics(&house.server);
    for what in ["malformed", "check_refused", "dtls_stranger"] {
        let count = metric(&text, &format!("refused_datagrams_total{{what=\"{what}\"}}"));
        assert!(count > 0, "{what}: {text}");
    }
    let now = held(&house.server);
    assert_eq!((now.native, now.browsers), (1, 0), "none of it costs a state");
    house.settle(started, "floods of datagrams");
    house.end();
}

#[test]
fn handshakes_that_nothing_follows_disturb_nobody_and_leave_nothing() {
    let mut house = House::new(&[]);
    let udp = udp_of(&native_url(&mut house.server));
    let mutes = Mutes::call(udp, CALLS);
    let calls = usize::from(CALLS);
    until("all calls are answered", || mutes.established(), |count| *count == calls);
    let started = Instant::now();
    let answers: Vec<_> = (0..CALLS).map(|_| offer(&house.server, "")).collect();
    let taken = answers.iter().filter(|answer| answer.starts_with("HTTP/1.1 201")).count();
    assert_eq!(taken, 16, "as many as one address may begin");
    assert!(answers.iter().skip(16).all(|answer| answer.starts_with("HTTP/1.1 429")));
    house.watching.goes_on();
    house.settle(started, "handshakes");
    until("all calls are ended", || mutes.established(), |count| *count == 0);
    house.end();
}

#[test]
fn floods_of_requests_disturb_nobody_and_leave_nothing() {
    let mut house = House::new(&[]);
    let server: SocketAddr = house.server.host.parse().unwrap();
    let started = Instant::now();
    let half: Vec<_> = (0..REQUESTS).map(|_| begun(server, b"GET / HTTP/1.1\r\nHo")).collect();
    let body = b"POST /whep HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999\r\n\r\nv=0";
    let bodies: Vec<_> = (0..REQUESTS / 3).map(|_| begun(server, body)).collect();
    for _ in 0..REQUESTS {
        let mut junk = begun(server, &[0xff; 512]);
        // It is told that this is no HTTP, or cut off.
        _ = junk.read_to_end(&mut Vec::new());
        assert!(house.server.get("/api/viewers").starts_with("HTTP/1.1 401"));
    }
    house.watching.goes_on();
    house.settle(started, "half requests");
    drop((half, bodies));
    house.end();
}

fn begun(server: SocketAddr, bytes: &[u8]) -> TcpStream {
    let mut connection = TcpStream::connect(server).unwrap();
    connection.write_all(bytes).unwrap();
    connection
}
