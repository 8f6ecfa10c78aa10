//! Round trips, refusals and random bytes.

use anabranch_sansio::Rng;

use super::*;

fn sample() -> Piece {
    Piece {
        header: Header {
            presentation: None,
            session: 0xbeef,
            track: Track(0x100),
            layer: Layer(1),
            class: Class::Disposable,
            frame: 300,
            index: 2,
            sequence: 77,
            last: true,
            nulls: false,
            runs: vec![
                Run { position: 1_000, count: 2, at_us: 3_000_000, step: 256 },
                Run { position: 1_005, count: 1, at_us: 3_000_500, step: 0 },
            ],
        },
        payload: Bytes::from(vec![0x47; 3 * ts::PACKET_LEN]),
    }
}

fn bytes(piece: &Piece) -> Bytes {
    Bytes::from(piece.encode())
}

#[test]
fn a_piece_survives_the_round_trip_and_the_wire_bytes_are_fixed() {
    let piece = sample();
    let message = bytes(&piece);
    let header = [
        0x20, 0x85, 0xbe, 0xef, 0x01, 0x00, 0x01, 0x02, // fixed part, two runs
        0xac, 0x02, 0x02, 0x4d, // frame 300, index 2, sequence 77
        0xe8, 0x07, 0xc0, 0x8d, 0xb7, 0x01, 0x02, 0x80,
        0x02, // run at 1000, 3 s, 2 items, 1 us
        0x03, 0xf3, 0x03, 0x01, // 3 positions and 499 us later one item
    ];
    assert_eq!(message[..header.len()], header);
    assert_eq!(message.len(), header.len() + piece.payload.len());
    assert_eq!(Piece::decode(message), Ok(piece));
}

#[test]
fn null_packets_travel_without_their_bytes() {
    let mut piece = sample();
    piece.header.nulls = true;
    piece.header.class = Class::Padding;
    piece.payload = Bytes::new();
    assert_eq!(Piece::decode(bytes(&piece)), Ok(piece));
}

#[test]
fn each_broken_rule_has_its_error() {
    let good = bytes(&sample());
    let with = |at: usize, value: u8| {
        let mut bad = good.to_vec();
        bad[at] = value;
        Piece::decode(bad.into()).unwrap_err()
    };
    assert_eq!(with(0, 0x10), DecodeError::Version { found: 1 });
    assert_eq!(with(0, 0x2f), DecodeError::Format { found: 15 });
    assert_eq!(with(1, 0x07), DecodeError::Class { found: 7 });
    assert_eq!(with(1, 0x30), DecodeError::Flags { found: 0x30 });
    assert_eq!(with(7, 0), DecodeError::ItemCount { count: 0, limit: MAX_ITEMS });
    assert_eq!(Piece::decode(good.slice(..20)), Err(DecodeError::Truncated));
    let short = good.slice(..good.len() - 1);
    assert_eq!(Piece::decode(short), Err(DecodeError::PayloadLength { expected: 564, found: 563 }));
    let long = Bytes::from(vec![0; MAX_MESSAGE + 1]);
    assert!(matches!(Piece::decode(long), Err(DecodeError::TooLong { .. })));
}

/// The example of the document.
fn unit() -> Piece {
    let presentation = Presentation {
        pts_us: 4_160_000,
        references: References(515),
        last_layer: false,
        discontinuity: true,
    };
    Piece {
        header: Header {
            presentation: Some(presentation),
            session: 7,
            track: Track(0),
            layer: Layer::BASE,
            class: Class::KeyFrame,
            frame: 104,
            index: 1,
            sequence: 9,
            last: true,
            nulls: false,
            runs: vec![Run { position: 611, count: 1, at_us: 5_200_000, step: 0 }],
        },
        payload: Bytes::from_static(&[0x82, 0x49]),
    }
}

#[test]
fn a_part_of_a_unit_survives_the_round_trip_and_the_wire_bytes_are_fixed() {
    let message = bytes(&unit());
    let header = [
        0x21, 0x91, 0x00, 0x07, 0x00, 0x00, 0x00, 0x01, // fixed part, one run
        0x68, 0x01, 0x09, // frame 104, index 1, sequence 9
        0x83, 0x04, 0x80, 0xe8, 0xfb, 0x03, // 514 references before it, 4.16 s
        0xe3, 0x04, 0x80, 0xb1, 0xbd, 0x02, 0x01, // item 611, 5.2 s, 1 item
        0x82, 0x49, // the payload
    ];
    assert_eq!(message[..], header);
    assert_eq!(Piece::decode(message), Ok(unit()));
    let mut early = unit();
    early.header.presentation =
        Some(Presentation { pts_us: -40_000, last_layer: true, ..Presentation::default() });
    assert_eq!(Piece::decode(bytes(&early)), Ok(early));
}

#[test]
fn a_broken_rule_of_units_has_its_error() {
    let mut piece = unit();
    piece.header.index = MAX_UNIT_PIECES;
    let index = DecodeError::Index { index: MAX_UNIT_PIECES };
    assert_eq!(Piece::decode(bytes(&piece)), Err(index));
    piece = unit();
    piece.header.nulls = true;
    assert_eq!(Piece::decode(bytes(&piece)), Err(DecodeError::Flags { found: FLAG_NULLS }));
    piece = unit();
    piece.header.runs[0].count = 2;
    let count = DecodeError::ItemCount { count: 2, limit: 1 };
    assert_eq!(Piece::decode(bytes(&piece)), Err(count));
}

#[test]
fn positions_and_times_beyond_any_source_are_refused() {
    let mut piece = sample();
    piece.header.runs[1].position = 1 << 49;
    assert_eq!(Piece::decode(bytes(&piece)), Err(DecodeError::NumberTooLarge));
    piece = sample();
    piece.header.runs[0].at_us = u64::MAX;
    assert_eq!(Piece::decode(bytes(&piece)), Err(DecodeError::NumberTooLarge));
}

#[test]
fn random_bytes_never_panic_and_what_decodes_encodes_again() {
    let mut rng = Rng::from_u64(11);
    let good = [bytes(&sample()), bytes(&unit())];
    let mut decoded = 0;
    for n in 0..20_000 {
        let mut message = good[n % good.len()].to_vec();
        for _ in 0..rng.range(0..4) {
            let at = rng.range(0..40) as usize % message.len();
            message[at] = rng.next_u32() as u8;
        }
        message.truncate(message.len() - if rng.chance(0.2) { 1 } else { 0 });
        if let Ok(piece) = Piece::decode(message.into()) {
            assert_eq!(Piece::decode(bytes(&piece)), Ok(piece));
            decoded += 1;
        }
    }
    assert!(decoded > 2_000, "only {decoded} pieces were read");
}
