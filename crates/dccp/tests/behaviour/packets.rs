//! Every packet type and every option, read by tshark.

use std::path::PathBuf;
use std::time::Duration;

use anabranch_dccp::wire::{
    AckRuns, AckState, Ccid3Option, DropCode, DropRuns, ElapsedTime, FeatureNumber, FeatureOption,
    FeatureOptionKind, Kind, LossInterval, LossIntervals, Options, OptionsBuf, Packet,
    PacketOption, PacketType, Protection, ResetCode, SequenceNumber, ServiceCode, crc32c,
};
use anabranch_interop::{Examination, examine_dccp};
use anabranch_netsim::{self as netsim, CaptureScope, Carrier, LinkConfig, Simulation};
use anabranch_sansio::{Datagram, FourTuple, Machine, Time, Transmit, Wakeup};

/// Takes what it gets.
struct Sink;

impl Machine for Sink {
    type Event = ();

    fn handle_datagram(&mut self, _now: Time, _datagram: Datagram<'_>) {}

    fn handle_timeout(&mut self, _now: Time) {}

    fn poll_transmit(&mut self, _now: Time, _buf: &mut Vec<u8>) -> Option<Transmit> {
        None
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        None
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

fn paths() -> [FourTuple; 2] {
    let ipv6 = ([0xfd00, 0, 0, 0, 0, 0, 0, 1], [0xfd00, 0, 0, 0, 0, 0, 0, 2]);
    [
        FourTuple::new(([10, 0, 0, 1], 5_000).into(), ([10, 0, 0, 2], 5_001).into()),
        FourTuple::new((ipv6.0, 5_000).into(), (ipv6.1, 5_001).into()),
    ]
}

/// Has tshark read what `packets` gives, straight on IPv4 and on IPv6.
fn examined(name: &str, packets: impl Fn(&mut dyn FnMut(&Packet<'_>))) -> Examination {
    examined_bytes(name, |protection, send| {
        packets(&mut |packet| {
            let mut bytes = Vec::new();
            packet.encode(protection, &mut bytes);
            send(bytes);
        });
    })
}

fn examined_bytes(
    name: &str,
    packets: impl Fn(Protection, &mut dyn FnMut(Vec<u8>)),
) -> Examination {
    let mut sim = Simulation::new(1);
    let ends = paths().map(|path| (path.local.ip(), path.remote.ip()));
    sim.add_host("client", &ends.map(|(near, _)| near), Sink).expect("a new address");
    sim.add_host("server", &ends.map(|(_, far)| far), Sink).expect("a new address");
    for (name, ends) in ["ipv4", "ipv6"].into_iter().zip(ends) {
        sim.network_mut().connect(name, ends, LinkConfig::default()).expect("two addresses");
    }
    let capture = sim.capture(CaptureScope::AllLinks, name, Vec::new()).expect("memory");
    for path in paths() {
        packets(Protection::header(path), &mut |bytes| {
            sim.inject(netsim::Packet::new(path, Carrier::Dccp, bytes));
        });
    }
    sim.run_for(Duration::from_secs(1)).expect("machines that behave");
    let file = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.pcapng"));
    std::fs::write(&file, capture.finish().expect("memory")).expect("the target folder");
    examine_dccp(&file).expect("tshark reads it")
}

fn packet<'a>(kind: Kind, options: Options<'a>, data: &'a [u8]) -> Packet<'a> {
    Packet {
        source_port: 5_000,
        destination_port: 5_001,
        ccval: 0,
        checksum_coverage: 0,
        sequence_number: SequenceNumber::new(0x0102_0304_0506),
        is_short: false,
        kind,
        options,
        data,
    }
}

fn kind(ty: PacketType) -> Kind {
    let acknowledgement_number = SequenceNumber::new(0xa1a2_a3a4_a5a6);
    let service_code = ServiceCode(0x616e_6162);
    match ty {
        PacketType::Request => Kind::Request { service_code },
        PacketType::Response => Kind::Response { acknowledgement_number, service_code },
        PacketType::Data => Kind::Data,
        PacketType::Ack => Kind::Ack { acknowledgement_number },
        PacketType::DataAck => Kind::DataAck { acknowledgement_number },
        PacketType::CloseReq => Kind::CloseReq { acknowledgement_number },
        PacketType::Close => Kind::Close { acknowledgement_number },
        PacketType::Reset => Kind::Reset {
            acknowledgement_number,
            code: ResetCode::OPTION_ERROR,
            details: [44, 0, 0],
        },
        PacketType::Sync => Kind::Sync { acknowledgement_number },
        PacketType::SyncAck => Kind::SyncAck { acknowledgement_number },
    }
}

#[test]
fn tshark_reads_every_packet_type_with_long_and_short_numbers() {
    let found = examined("dccp-types", |send| {
        for ty in PacketType::ALL {
            for is_short in [false, true] {
                send(&Packet { is_short, ..packet(kind(ty), Options::default(), b"odd") });
            }
        }
    });
    assert_eq!(found.faults, []);
    assert_eq!(found.packets, 40);
}

#[test]
fn tshark_reads_partial_coverage() {
    let found = examined("dccp-coverage", |send| {
        for checksum_coverage in 0..=3 {
            send(&Packet { checksum_coverage, ..packet(Kind::Data, Options::default(), &[7; 11]) });
        }
    });
    assert_eq!((found.faults, found.packets), (Vec::new(), 8));
}

fn feature(kind: FeatureOptionKind, feature: FeatureNumber, values: &[u8]) -> PacketOption<'_> {
    PacketOption::Feature(FeatureOption { kind, feature, values })
}

/// Calls `send` with a packet for each option.
fn each_option(send: &mut dyn FnMut(&Packet<'_>)) {
    let (mut acks, mut drops) = (AckRuns::default(), DropRuns::default());
    acks.push(AckState::Received, 70);
    acks.push(AckState::NotYetReceived, 2);
    drops.push(None, 1);
    drops.push(Some(DropCode::RECEIVE_BUFFER), 2);
    let elapsed = [0, 7, 70_000].map(ElapsedTime);
    let interval = LossInterval { lossless_length: 10, loss_length: 1, data_length: 10 };
    let (mut bytes, mut bufs) = (Vec::new(), [Vec::new(), Vec::new(), Vec::new()]);
    let intervals = LossIntervals::new(2, [interval; 9], &mut bytes);
    let [rate, list, received] = &mut bufs;
    let mut options = vec![
        PacketOption::SlowReceiver,
        feature(FeatureOptionKind::ChangeL, FeatureNumber::CCID, &[2, 3]),
        feature(FeatureOptionKind::ConfirmL, FeatureNumber::CCID, &[2, 2, 3]),
        feature(FeatureOptionKind::ChangeR, FeatureNumber::SEND_ACK_VECTOR, &[1]),
        feature(FeatureOptionKind::ConfirmR, FeatureNumber::SEQUENCE_WINDOW, &[0, 0, 0, 0, 4, 0]),
        PacketOption::InitCookie(b"cookie"),
        PacketOption::NdpCount(3),
        PacketOption::Timestamp(7),
        PacketOption::DataChecksum(crc32c(b"data")),
        Ccid3Option::LossEventRate(100).encode(rate),
        Ccid3Option::LossIntervals(intervals).encode(list),
        Ccid3Option::ReceiveRate(64_000).encode(received),
    ];
    options.extend(acks.vectors().map(PacketOption::AckVector));
    options.extend(drops.options().map(PacketOption::DataDropped));
    options.extend(elapsed.map(|elapsed| PacketOption::TimestampEcho { timestamp: 7, elapsed }));
    options.extend(elapsed.map(PacketOption::ElapsedTime));
    for option in options {
        let mut written = OptionsBuf::new();
        written.push_mandatory(&option);
        written.push(&option);
        send(&packet(kind(PacketType::DataAck), written.as_options(), b"data"));
    }
}

#[test]
fn tshark_reads_every_option() {
    let found = examined("dccp-options", each_option);
    assert_eq!(found.faults, []);
    let written = [0, 1, 2, 32, 33, 34, 35, 36, 37, 38, 40, 41, 42, 43, 44, 192, 193, 194];
    assert!(found.chunks.keys().copied().eq(written), "each of them, and no other: {found:?}");
}

/// Otherwise the other tests here say nothing.
#[test]
fn tshark_finds_a_wrong_checksum_and_a_wrong_option() {
    let found = examined_bytes("dccp-damage", |protection, send| {
        let mut options = OptionsBuf::new();
        options.push(&PacketOption::Timestamp(7));
        let packet = packet(Kind::Data, options.as_options(), b"data");
        let mut bytes = Vec::new();
        packet.encode(protection, &mut bytes);
        // The option's length.
        bytes[17] = 3;
        send(bytes);
    });
    assert_eq!(found.packets, 2);
    assert!(found.faults.len() > 2, "{found:?}");
    assert!(found.faults.iter().any(|fault| fault.what == "its checksum is wrong"), "{found:?}");
}
