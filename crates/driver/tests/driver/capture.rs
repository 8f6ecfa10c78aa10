//! What a capture records.

use std::time::Duration;

use anabranch_driver::{Capture, Captured, Driver, Recording, SocketSet};
use pcap_file::pcapng::blocks::enhanced_packet::EnhancedPacketOption;
use pcap_file::pcapng::blocks::interface_description::InterfaceDescriptionOption;
use pcap_file::pcapng::blocks::interface_statistics::InterfaceStatisticsOption;
use pcap_file::pcapng::{Block, PcapNgReader};

use crate::probe::{Probe, datagram, probe, until};

/// Bytes before the payload: IPv4 and UDP.
const HEADERS: usize = 28;

#[derive(Debug, PartialEq)]
struct Recorded {
    interface: u32,
    is_inbound: bool,
    payload: Vec<u8>,
}

#[tokio::test]
async fn batches_are_recorded_as_the_datagrams_they_hold_with_direction_and_interface() {
    let file = std::env::temp_dir().join(format!("anabranch-driver-{}", std::process::id()));
    let capture = Capture::create(&file, "a test").unwrap();
    let mut sockets = SocketSet::new();
    let first = sockets.bind("127.0.0.1:0".parse::<std::net::SocketAddr>().unwrap()).unwrap();
    let capture_of_client = Some(capture.labelled("client"));
    sockets.record(Recording { capture: capture_of_client, ..Recording::default() });
    let client = Driver::spawn(Probe::default(), sockets).unwrap();
    let later = client.bind("127.0.0.2:0".parse::<std::net::SocketAddr>().unwrap()).unwrap();
    let (server, at) = probe(&["127.0.0.1:0"]);

    let bytes: Vec<u8> = (0..3_500_u32).map(|nth| (nth / 1_000) as u8).collect();
    client.with(|machine, _| machine.send_segments(first, at[0], &bytes, Some(1_000)));
    for expected in bytes.chunks(1_000) {
        assert_eq!(datagram(&server).await.1, expected);
    }
    server.with(|machine, _| machine.send(at[0], later, b"back"));
    assert_eq!(datagram(&client).await.1, b"back");
    until(|| client.stats().total.tx.datagrams == 4).await;
    client.close();
    client.closed().await.unwrap();
    assert_eq!(capture.finish().unwrap(), Captured { written: 5, missed: 0 });

    let mut expected: Vec<_> = bytes.chunks(1_000).map(|chunk| recorded(0, false, chunk)).collect();
    expected.push(recorded(1, true, b"back"));
    let (names, found) = read(&std::fs::read(&file).unwrap());
    std::fs::remove_file(file).unwrap();
    assert_eq!(names, [format!("client {first}"), format!("client {later}")]);
    assert_eq!(found, expected);
}

fn recorded(interface: u32, is_inbound: bool, payload: &[u8]) -> Recorded {
    Recorded { interface, is_inbound, payload: payload.to_vec() }
}

/// The interfaces' names, and the packets.
fn read(file: &[u8]) -> (Vec<String>, Vec<Recorded>) {
    let mut reader = PcapNgReader::new(file).expect("a section");
    let (mut names, mut packets, mut seen) = (Vec::new(), Vec::new(), Vec::new());
    let mut before = Duration::from_secs(1_700_000_000);
    while let Some(block) = reader.next_block() {
        let block = block.expect("a block").0.into_owned();
        if let Block::InterfaceDescription(block) = block {
            let Some(InterfaceDescriptionOption::IfName(name)) = block.options.first() else {
                panic!("{block:?}");
            };
            names.push(name.to_string());
        } else if let Block::EnhancedPacket(block) = block {
            assert!(block.timestamp >= before, "{:?}", block.timestamp);
            before = block.timestamp;
            let is_inbound = block.options == [EnhancedPacketOption::Flags(1)];
            assert!(is_inbound || block.options == [EnhancedPacketOption::Flags(2)]);
            packets.push(recorded(block.interface_id, is_inbound, &block.data[HEADERS..]));
        } else if let Block::InterfaceStatistics(block) = block {
            seen.push(block.options);
        } else {
            panic!("{block:?}");
        }
    }
    let counts = |seen| {
        vec![InterfaceStatisticsOption::IsbIfRecv(seen), InterfaceStatisticsOption::IsbIfDrop(0)]
    };
    assert_eq!(seen, [counts(4), counts(1)]);
    (names, packets)
}
