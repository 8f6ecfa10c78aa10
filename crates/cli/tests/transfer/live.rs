//! Live media: UDP in, UDP out.

use std::net::UdpSocket;
use std::time::Duration;

use crate::harness::{Place, Running, TWO_PROGRAMS, free_port, urls};

/// Long enough for any machine: a test that waits for it has failed.
const PATIENCE: Duration = Duration::from_secs(60);

/// Seven packets, as ffmpeg and OBS send them.
const DATAGRAM: usize = 7 * 188;

#[test]
fn udp_in_is_udp_out() {
    let output = UdpSocket::bind("127.0.0.1:0").unwrap();
    output.set_read_timeout(Some(PATIENCE)).unwrap();
    let to = format!("udp://{}", output.local_addr().unwrap());
    let entrance = free_port();
    let from = format!("udp://127.0.0.1:{entrance}");
    let (listener, caller) = urls("", "");
    let receiver = Running::start(&["recv", &listener, &to]);
    let mut sender = Running::start(&["send", &from, &caller]);
    sender.line_with("connected: ");

    let stream = std::fs::read(TWO_PROGRAMS).unwrap();
    let source = UdpSocket::bind("127.0.0.1:0").unwrap();
    let feed = stream.clone();
    let feeding = std::thread::spawn(move || {
        for datagram in feed.chunks(DATAGRAM) {
            source.send_to(datagram, ("127.0.0.1", entrance)).unwrap();
            std::thread::sleep(Duration::from_millis(1));
        }
    });
    let mut arrived = Vec::new();
    let mut buf = [0; 65_536];
    while arrived.len() < stream.len() {
        let len = output.recv(&mut buf).unwrap();
        assert!(len <= DATAGRAM && len.is_multiple_of(188), "a datagram of {len} bytes");
        arrived.extend_from_slice(&buf[..len]);
    }
    feeding.join().unwrap();
    assert!(arrived == stream, "{} bytes", arrived.len());
    sender.interrupt();
    sender.assert_success();
    receiver.assert_success();
}

#[test]
fn what_comes_by_udp_and_is_no_transport_stream_is_said_in_words() {
    let entrance = free_port();
    let from = format!("udp://127.0.0.1:{entrance}");
    let place = Place::new("no-ts");
    let (listener, caller) = urls("", "");
    let _receiver = Running::start(&["recv", &listener, &place.file("out.ts")]);
    let mut sender = Running::start(&["send", &from, &caller]);
    sender.line_with("connected: ");
    let source = UdpSocket::bind("127.0.0.1:0").unwrap();
    while sender.child.try_wait().unwrap().is_none() {
        // The last ones find the port closed.
        let _refused = source.send_to(&[b'x'; 1_000], ("127.0.0.1", entrance));
        std::thread::sleep(Duration::from_millis(1));
    }
    let (status, said) = sender.end();
    assert_eq!(status.code(), Some(2));
    assert!(said.contains("not an MPEG transport stream"), "{said}");
}
