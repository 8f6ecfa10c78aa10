use std::net::IpAddr;

use anabranch_sansio::Rng;

use super::*;
use crate::wire::{
    AckRuns, AckState, Ccid3Option, DanglingMandatory, DropCode, DropRuns, ElapsedTime,
    FeatureNumber, FeatureOption, FeatureOptionKind, LossInterval, LossIntervals, OptionError,
    OptionType, OptionsBuf, PacketOption, SEQUENCE_NUMBERS,
};

fn ipv4() -> Protection {
    Protection::Header { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 2].into() }
}

fn protections() -> [Protection; 3] {
    let ipv6 = |last| IpAddr::from([0xfd00, 0, 0, 0, 0, 0, 0, last]);
    [ipv4(), Protection::Header { source: ipv6(1), destination: ipv6(2) }, Protection::Udp]
}

fn random_kind(rng: &mut Rng) -> Kind {
    let acknowledgement_number = SequenceNumber::new(rng.next_u64());
    let service_code = ServiceCode(rng.next_u32());
    match PacketType::ALL[rng.range(0..10) as usize] {
        PacketType::Request => Kind::Request { service_code },
        PacketType::Response => Kind::Response { acknowledgement_number, service_code },
        PacketType::Data => Kind::Data,
        PacketType::Ack => Kind::Ack { acknowledgement_number },
        PacketType::DataAck => Kind::DataAck { acknowledgement_number },
        PacketType::CloseReq => Kind::CloseReq { acknowledgement_number },
        PacketType::Close => Kind::Close { acknowledgement_number },
        PacketType::Reset => Kind::Reset {
            acknowledgement_number,
            code: ResetCode(rng.next_u32() as u8),
            details: [1, 2, rng.next_u32() as u8],
        },
        PacketType::Sync => Kind::Sync { acknowledgement_number },
        PacketType::SyncAck => Kind::SyncAck { acknowledgement_number },
    }
}

/// An Ack or a DataAck with its number cut down to what a short one carries.
fn low(kind: Kind) -> Kind {
    let low = |number: SequenceNumber| SequenceNumber::new(number.short().into());
    let Some(number) = kind.acknowledgement_number() else { return kind };
    let acknowledgement_number = low(number);
    if kind.packet_type() == PacketType::DataAck {
        Kind::DataAck { acknowledgement_number }
    } else {
        Kind::Ack { acknowledgement_number }
    }
}

fn random_bytes(rng: &mut Rng, len_max: u64) -> Vec<u8> {
    let mut bytes = vec![0; rng.range(0..len_max + 1) as usize];
    rng.fill(&mut bytes);
    bytes
}

/// Calls `check` with each option once, filled at random.
fn each_option(rng: &mut Rng, mut check: impl FnMut(&PacketOption<'_>)) {
    let bytes = random_bytes(rng, 253);
    let (mut acks, mut drops) = (AckRuns::default(), DropRuns::default());
    acks.push(AckState::Received, rng.range(1..300));
    acks.push(AckState::NotYetReceived, rng.range(1..300));
    drops.push(None, rng.range(1..300));
    drops.push(Some(DropCode::CORRUPT), rng.range(1..300));
    let elapsed = ElapsedTime(rng.next_u32() >> rng.range(0..32));
    let values = bytes.get(..6).unwrap_or_default();
    for kind in [
        FeatureOptionKind::ChangeL,
        FeatureOptionKind::ConfirmL,
        FeatureOptionKind::ChangeR,
        FeatureOptionKind::ConfirmR,
    ] {
        let feature = FeatureNumber(rng.next_u32() as u8);
        check(&PacketOption::Feature(FeatureOption { kind, feature, values }));
    }
    check(&PacketOption::SlowReceiver);
    check(&PacketOption::InitCookie(&bytes));
    check(&PacketOption::NdpCount(rng.range(0..SEQUENCE_NUMBERS) >> rng.range(0..48)));
    acks.vectors().for_each(|vector| check(&PacketOption::AckVector(vector)));
    drops.options().for_each(|dropped| check(&PacketOption::DataDropped(dropped)));
    check(&PacketOption::Timestamp(rng.next_u32()));
    check(&PacketOption::TimestampEcho { timestamp: rng.next_u32(), elapsed });
    check(&PacketOption::ElapsedTime(elapsed));
    check(&PacketOption::DataChecksum(rng.next_u32()));
    let interval = LossInterval { lossless_length: 7, loss_length: 1, data_length: 5 };
    let (mut intervals, mut buf) = (Vec::new(), Vec::new());
    let intervals = LossIntervals::new(2, [interval; 9], &mut intervals);
    for option in [
        Ccid3Option::LossEventRate(100),
        Ccid3Option::LossIntervals(intervals),
        Ccid3Option::ReceiveRate(rng.next_u32()),
    ] {
        check(&option.encode(&mut buf));
    }
}

#[test]
fn every_packet_survives_a_round_trip() {
    let mut rng = Rng::from_u64(1);
    for round in 0..2_000 {
        let protection = protections()[round % 3];
        let data = random_bytes(&mut rng, 40);
        let mut options = OptionsBuf::new();
        let nth = rng.range(0..16);
        let mut n = 0;
        each_option(&mut rng, |option| {
            if n % 16 == nth {
                assert!(options.push(option));
            }
            n += 1;
        });
        let kind = random_kind(&mut rng);
        let is_short = kind.packet_type().may_be_short() && rng.chance(0.5);
        let number = SequenceNumber::new(rng.next_u64());
        let packet = Packet {
            source_port: rng.next_u32() as u16,
            destination_port: rng.next_u32() as u16,
            ccval: (rng.next_u32() % 16) as u8,
            checksum_coverage: rng.range(0..2 + data.len() as u64 / 4).min(15) as u8,
            sequence_number: if is_short {
                SequenceNumber::new(number.short().into())
            } else {
                number
            },
            is_short,
            kind: if is_short { low(kind) } else { kind },
            options: options.as_options(),
            data: &data,
        };
        let mut bytes = vec![0xee];
        packet.encode(protection, &mut bytes);
        assert_eq!(bytes.len(), 1 + packet.header_len() + data.len());
        assert_eq!(Packet::decode(protection, &bytes[1..]), Ok(packet));
    }
}

#[test]
fn every_option_survives_a_round_trip() {
    for seed in 0..200 {
        each_option(&mut Rng::from_u64(seed), |option| {
            let mut written = OptionsBuf::new();
            assert!(written.push(option) && written.push_mandatory(option));
            assert_eq!(written.len() % 4, 0);
            let read: Vec<_> = written.as_options().iter().collect();
            let flags: Vec<_> = read.iter().map(|entry| entry.unwrap().is_mandatory).collect();
            assert_eq!(flags, [false, true]);
            assert!(read.iter().all(|entry| entry.unwrap().decode() == Ok(*option)));
        });
    }
}

#[test]
fn a_packet_that_is_cut_off_anywhere_is_refused() {
    let mut options = OptionsBuf::new();
    options.push(&PacketOption::InitCookie(b"cookie"));
    for ty in 0..10 {
        for is_short in [false, true] {
            let kind = (0..1_000)
                .map(|seed| random_kind(&mut Rng::from_u64(seed)))
                .find(|kind| kind.packet_type().code() == ty);
            let packet = Packet {
                source_port: 1,
                destination_port: 2,
                ccval: 3,
                checksum_coverage: 2,
                sequence_number: SequenceNumber::new(4),
                is_short,
                kind: kind.unwrap(),
                options: options.as_options(),
                data: b"data",
            };
            let mut bytes = Vec::new();
            packet.encode(Protection::Udp, &mut bytes);
            for len in 0..bytes.len() {
                assert!(
                    Packet::decode(Protection::Udp, &bytes[..len]).is_err(),
                    "{len}: {packet:?}"
                );
            }
        }
    }
}

#[test]
fn options_that_are_cut_off_anywhere_yield_no_other_ones() {
    each_option(&mut Rng::from_u64(3), |option| {
        let mut written = OptionsBuf::new();
        written.push(&PacketOption::SlowReceiver);
        written.push(option);
        let bytes = written.as_options().as_bytes();
        for len in 0..bytes.len() {
            let read: Vec<_> = Options::new(&bytes[..len]).iter().flatten().collect();
            let known = read.iter().filter_map(|entry| entry.decode().ok());
            assert!(known.zip([PacketOption::SlowReceiver, *option]).all(|(a, b)| a == b));
        }
    });
}

/// The packet of a Request as Linux sends one, with every check of step 1 broken in turn.
#[test]
fn what_is_no_packet_is_refused_with_the_reason() {
    let request =
        [0x9c, 0x40, 0x13, 0x89, 5, 0, 0, 0, 0x01, 0, 0, 0, 0, 0, 0, 9, 0x61, 0x6e, 0x61, 0x62];
    let changed = |at: usize, value: u8| {
        let mut bytes = request;
        bytes[at] = value;
        Packet::decode(Protection::Udp, &bytes).map(|packet| packet.kind)
    };
    let service_code = ServiceCode(0x616e_6162);
    assert_eq!(changed(0, 0), Ok(Kind::Request { service_code }));
    assert_eq!(changed(8, 10 << 1 | 1), Err(DecodeError::ReservedType { code: 10 }));
    let ty = PacketType::Request;
    assert_eq!(changed(8, 0), Err(DecodeError::ShortNumbers { ty }));
    let offset = |offset| Err(DecodeError::DataOffset { ty, offset, min: 20, len: 20 });
    assert_eq!(changed(4, 4), offset(16));
    assert_eq!(changed(4, 6), offset(24));
    assert_eq!(changed(5, 2), Err(DecodeError::Coverage { covered: 4, len: 0 }));
    assert_eq!(changed(8, 1 << 1 | 1), Err(DecodeError::TooShort { len: 20, min: 28 }));
    assert_eq!(
        Packet::decode(Protection::Udp, &request[..11]),
        Err(DecodeError::TooShort { len: 11, min: 12 })
    );
    assert_eq!(Packet::decode(ipv4(), &request), Err(DecodeError::Checksum));
}

#[test]
fn reserved_bits_are_not_looked_at() {
    let mut bytes = Vec::new();
    sync().encode(Protection::Udp, &mut bytes);
    bytes[8] |= 0xe0;
    bytes[9] = 0xff;
    bytes[16] = 0xff;
    bytes[17] = 0xff;
    assert_eq!(Packet::decode(Protection::Udp, &bytes), Ok(sync()));
}

fn sync() -> Packet<'static> {
    Packet {
        source_port: 1,
        destination_port: 2,
        ccval: 0,
        checksum_coverage: 0,
        sequence_number: SequenceNumber::new(1 << 40),
        is_short: false,
        kind: Kind::Sync { acknowledgement_number: SequenceNumber::new(1 << 41) },
        options: Options::default(),
        data: &[],
    }
}

#[test]
fn the_checksum_covers_addresses_header_and_as_much_data_as_it_says() {
    let packet = Packet { checksum_coverage: 2, data: b"abcdefg", kind: Kind::Data, ..sync() };
    let mut bytes = Vec::new();
    packet.encode(ipv4(), &mut bytes);
    let header_len = packet.header_len();
    for at in 0..bytes.len() {
        let mut damaged = bytes.clone();
        damaged[at] ^= 0x10;
        let is_read = Packet::decode(ipv4(), &damaged).is_ok();
        // Four bytes of data are covered, the rest is not.
        assert_eq!(is_read, at >= header_len + 4, "byte {at}");
    }
    let other =
        Protection::Header { source: [10, 0, 0, 1].into(), destination: [10, 0, 0, 3].into() };
    assert_eq!(Packet::decode(other, &bytes), Err(DecodeError::Checksum));
}

#[test]
fn in_udp_the_checksum_field_is_zero_and_is_not_looked_at() {
    let mut bytes = Vec::new();
    sync().encode(Protection::Udp, &mut bytes);
    assert_eq!(bytes[6..8], [0, 0]);
    bytes[6..8].copy_from_slice(&[0xab, 0xcd]);
    assert_eq!(Packet::decode(Protection::Udp, &bytes), Ok(sync()));
}

#[test]
fn more_coverage_than_there_are_data_covers_all() {
    let packet = Packet { checksum_coverage: 15, data: b"abc", kind: Kind::Data, ..sync() };
    let mut bytes = Vec::new();
    packet.encode(ipv4(), &mut bytes);
    let read = Packet::decode(ipv4(), &bytes).unwrap();
    assert_eq!((read.checksum_coverage, read.data), (0, &b"abc"[..]));
}

#[test]
fn a_mandatory_without_an_option_is_told() {
    let read =
        |bytes: &[u8]| Options::new(bytes).iter().map(|entry| entry.is_ok()).collect::<Vec<_>>();
    assert_eq!(read(&[2, 1]), [true, false]);
    assert_eq!(read(&[2, 1, 1, 2]), [true, false]);
    // One whose length makes no sense is none.
    assert_eq!(read(&[2, 1, 36, 9, 0, 0]), [true, false]);
    assert_eq!(read(&[1, 0, 2, 0]), [true], "Mandatory Padding is padding");
    let error = Options::new(&[1]).iter().next();
    assert_eq!(error, Some(Err(DanglingMandatory)));
}

#[test]
fn options_behind_a_senseless_length_are_not_read() {
    for len in [0, 1, 9] {
        let bytes = [2, 36, len, 2, 2, 0];
        let options = Options::new(&bytes);
        let types: Vec<_> = options.iter().map(|entry| entry.unwrap().ty).collect();
        assert_eq!(types, [OptionType::SLOW_RECEIVER], "length {len}");
    }
}

#[test]
fn unknown_options_and_wrong_lengths_are_told_apart() {
    let decode = |bytes: &[u8]| Options::new(bytes).iter().next().unwrap().unwrap().decode().err();
    assert_eq!(decode(&[45, 2]), Some(OptionError::Unknown { ty: OptionType(45) }));
    assert_eq!(decode(&[3]), Some(OptionError::Unknown { ty: OptionType(3) }));
    for wrong in [
        &[44_u8, 4, 0, 0][..],
        &[37, 2],
        &[37, 9, 0, 0, 0, 0, 0, 0, 0],
        &[41, 3, 0],
        &[42, 5, 0, 0, 0],
        &[42, 7, 0, 0, 0, 0, 0],
        &[43, 2],
        &[32, 2],
    ] {
        let error = decode(wrong).unwrap();
        assert!(matches!(error, OptionError::Length { .. }), "{wrong:?}");
    }
    let text = decode(&[44, 4, 0, 0]).unwrap().to_string();
    assert_eq!(text, "Data Checksum option with 2 bytes of data; 4 would be right");
}

#[test]
fn the_byte_encodings_of_the_rfc_are_written() {
    // RFC 4340 section 6.5.
    use FeatureOptionKind::{ChangeL, ChangeR, ConfirmL, ConfirmR};
    let cases: [(_, _, &[u8], &[u8]); 8] = [
        (ChangeL, 1, &[2, 3], &[32, 5, 1, 2, 3]),
        (ChangeL, 3, &[0, 0, 0, 0, 4, 0], &[32, 9, 3, 0, 0, 0, 0, 4, 0]),
        (ConfirmL, 1, &[2, 2, 3], &[33, 6, 1, 2, 2, 3]),
        (ConfirmL, 126, &[], &[33, 3, 126]),
        (ChangeR, 1, &[3, 2], &[34, 5, 1, 3, 2]),
        (ConfirmR, 1, &[2, 3, 2], &[35, 6, 1, 2, 3, 2]),
        (ConfirmR, 3, &[0, 0, 0, 0, 4, 0], &[35, 9, 3, 0, 0, 0, 0, 4, 0]),
        (ConfirmR, 126, &[], &[35, 3, 126]),
    ];
    for (kind, feature, values, expected) in cases {
        let mut options = OptionsBuf::new();
        let feature = FeatureNumber(feature);
        options.push(&PacketOption::Feature(FeatureOption { kind, feature, values }));
        assert_eq!(options.as_options().as_bytes()[..expected.len()], *expected);
    }
}

#[test]
fn options_that_do_not_fit_are_left_out() {
    let mut options = OptionsBuf::new();
    let mut pushed = 0;
    while options.push(&PacketOption::InitCookie(&[7; 253])) {
        pushed += 1;
    }
    assert_eq!((pushed, options.len()), (3, 768));
    assert!(options.push(&PacketOption::Timestamp(1)));
    assert!(!OptionsBuf::new().push(&PacketOption::InitCookie(&[7; 254])));
    let packet = Packet {
        kind: Kind::Response {
            acknowledgement_number: SequenceNumber::new(1),
            service_code: ServiceCode::NONE,
        },
        options: options.as_options(),
        ..sync()
    };
    let mut bytes = Vec::new();
    packet.encode(Protection::Udp, &mut bytes);
    assert_eq!(Packet::decode(Protection::Udp, &bytes), Ok(packet));
}

#[test]
fn regression_a_packet_with_as_many_options_as_its_header_holds_panicked() {
    let padding = [0; DATA_OFFSET_MAX - SHORT_LEN];
    let packet = Packet {
        source_port: 1,
        destination_port: 2,
        ccval: 0,
        checksum_coverage: 0,
        sequence_number: SequenceNumber::new(7),
        is_short: true,
        kind: Kind::Data,
        options: Options::new(&padding),
        data: b"data",
    };
    let mut bytes = Vec::new();
    packet.encode(Protection::Udp, &mut bytes);
    assert_eq!(Packet::decode(Protection::Udp, &bytes), Ok(packet));
}
