//! What shares a piece, what it is called, and when it leaves.

use anabranch_sansio::Rng;

use super::*;
use crate::codec::Codec;
use crate::piece::{MAX_HEADER, MAX_MESSAGE};
use crate::ts::{NULL_PACKET, build};
use crate::{Class, Track};

const VIDEO: u16 = 0x100;
const AUDIO: u16 = 0x101;
const IDR: [u8; 6] = [0, 0, 0, 1, 0x65, 0x88];
const P_SLICE: [u8; 6] = [0, 0, 0, 1, 0x41, 0x9a];
const B_SLICE: [u8; 6] = [0, 0, 0, 1, 0x01, 0x9e];

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

/// A packetizer that knows an H.264 track and an AAC track; their tables already left.
fn packetizer() -> Packetizer {
    let mut packetizer = Packetizer::new(7);
    packetizer.handle_packet(ms(0), &build::pat(0, 0, &[(1, 0x1000)]));
    let streams = [(0x1b, VIDEO), (0x0f, AUDIO), (0xd1, 0x102)];
    packetizer.handle_packet(ms(0), &build::pmt(0x1000, 0, 0, 1, VIDEO, &streams));
    packetizer.finish();
    assert_eq!(drain(&mut packetizer).len(), 2);
    packetizer
}

fn drain(packetizer: &mut Packetizer) -> Vec<Piece> {
    std::iter::from_fn(|| packetizer.poll_piece()).collect()
}

fn picture(slice: &[u8]) -> Packet {
    build::packet(VIDEO, true, 0, &build::unbounded(0xe0, slice))
}

fn more(pid: u16) -> Packet {
    build::packet(pid, false, 0, &[0x55; 184])
}

fn sound(bytes: usize) -> Packet {
    build::packet(AUDIO, true, 0, &build::bounded(0xc0, &vec![0x55; bytes]))
}

/// Class, frame, index, last, items.
fn summary(pieces: &[Piece]) -> Vec<(Class, u64, u64, bool, u64)> {
    let line = |piece: &Piece| {
        let header = &piece.header;
        (header.class, header.frame, header.index, header.last, header.items())
    };
    pieces.iter().map(line).collect()
}

#[test]
fn packets_of_one_picture_share_a_piece_that_ends_where_the_next_begins() {
    let mut packetizer = packetizer();
    for packet in [picture(&IDR), more(VIDEO), more(VIDEO), picture(&P_SLICE), picture(&B_SLICE)] {
        packetizer.handle_packet(ms(1), &packet);
    }
    packetizer.finish();
    assert_eq!(
        summary(&drain(&mut packetizer)),
        [
            (Class::KeyFrame, 0, 0, true, 3),
            (Class::Reference, 1, 0, true, 1),
            (Class::Disposable, 2, 0, false, 1),
        ]
    );
}

#[test]
fn a_slow_picture_leaves_in_parts_each_held_five_milliseconds() {
    let mut packetizer = packetizer();
    packetizer.handle_packet(ms(10), &picture(&P_SLICE));
    assert_eq!(packetizer.poll_timeout().map(|wakeup| wakeup.at), Some(ms(15)));
    packetizer.handle_packet(ms(14), &more(VIDEO));
    assert!(packetizer.poll_piece().is_none());
    packetizer.handle_timeout(ms(15));
    packetizer.handle_packet(ms(16), &more(VIDEO));
    packetizer.handle_packet(ms(21), &more(VIDEO));
    assert_eq!(
        summary(&drain(&mut packetizer)),
        [(Class::Reference, 0, 0, false, 2), (Class::Reference, 0, 1, false, 1)]
    );
    assert_eq!(packetizer.poll_timeout().map(|wakeup| wakeup.at), Some(ms(26)));
}

#[test]
fn sound_leaves_with_the_last_byte_of_its_packet() {
    let mut packetizer = packetizer();
    packetizer.handle_packet(ms(1), &more(VIDEO));
    packetizer.handle_packet(ms(1), &sound(170));
    packetizer.handle_packet(
        ms(1),
        &build::packet(AUDIO, true, 1, &build::bounded(0xc0, &[0; 170])[..150]),
    );
    assert_eq!(summary(&drain(&mut packetizer)), [(Class::Audio, 0, 0, true, 1)]);
    packetizer.handle_packet(ms(2), &build::packet(AUDIO, false, 2, &[0; 34]));
    assert_eq!(summary(&drain(&mut packetizer)), [(Class::Audio, 1, 0, true, 2)]);
}

#[test]
fn tracks_do_not_share_pieces_and_keep_their_places() {
    let mut packetizer = packetizer();
    for packet in [picture(&IDR), more(VIDEO), sound(100), more(VIDEO), more(VIDEO)] {
        packetizer.handle_packet(ms(3), &packet);
    }
    packetizer.finish();
    let pieces = drain(&mut packetizer);
    let places: Vec<Vec<_>> = pieces
        .iter()
        .map(|piece| piece.header.runs.iter().map(|run| (run.position, run.count)).collect())
        .collect();
    assert_eq!(places, [vec![(4, 1)], vec![(2, 2), (5, 2)]]);
    assert!(pieces.iter().all(|piece| piece.header.first_at() == ms(3)));
}

#[test]
fn a_piece_never_exceeds_its_limit() {
    for limit in [PIECE_LEN_MIN, 1_324, 1_344, 5_000, MAX_MESSAGE] {
        let mut packetizer = packetizer();
        packetizer.set_piece_len_max(limit);
        let mut rng = Rng::from_u64(9);
        packetizer.handle_packet(ms(1), &picture(&IDR));
        for i in 0..2_000_u64 {
            let at = Time::from_micros(1_000 + i / 4 * rng.range(1..9));
            let pid = if rng.chance(0.8) { VIDEO } else { AUDIO };
            packetizer.handle_packet(at.max(ms(1)), &more(pid));
        }
        packetizer.finish();
        let pieces = drain(&mut packetizer);
        assert_eq!(pieces.iter().map(|piece| piece.header.items()).sum::<u64>(), 2_001);
        for piece in &pieces {
            let message = piece.encode();
            assert!(message.len() <= limit, "{} bytes of {limit}", message.len());
            assert_eq!(message.len() - piece.payload.len(), piece.header.encoded_len());
            assert!(piece.header.encoded_len() <= MAX_HEADER);
            assert_eq!(Piece::decode(message.into()).as_ref(), Ok(piece));
        }
    }
}

/// 1,324 bytes are one SCTP packet in an IP packet of 1,400 bytes, 1,444 in one of 1,500.
#[test]
fn a_piece_that_is_full_leaves_at_once() {
    for (limit, packets) in [(1_324, 6), (1_444, 7)] {
        let mut packetizer = packetizer();
        packetizer.set_piece_len_max(limit);
        packetizer.handle_packet(ms(1), &picture(&IDR));
        (2..packets).for_each(|_| packetizer.handle_packet(ms(1), &more(VIDEO)));
        assert!(packetizer.poll_piece().is_none(), "one more fits into {limit}");
        packetizer.handle_packet(ms(1), &more(VIDEO));
        assert_eq!(summary(&drain(&mut packetizer)), [(Class::KeyFrame, 0, 0, false, packets)]);
    }
}

#[test]
fn a_picture_that_does_not_say_what_it_is_gets_the_conservative_class() {
    let mut packetizer = packetizer();
    packetizer.handle_packet(ms(0), &picture(&[0, 0, 0, 1, 0x06, 5, 100]));
    packetizer.handle_timeout(ms(5));
    packetizer.handle_packet(ms(6), &build::packet(VIDEO, false, 1, &B_SLICE));
    packetizer.handle_packet(ms(7), &build::with_adaptation(VIDEO, true, 2, 0x40, None, &[0; 20]));
    packetizer.finish();
    assert_eq!(
        summary(&drain(&mut packetizer)),
        [
            (Class::Reference, 0, 0, false, 1),
            (Class::Reference, 0, 1, true, 1),
            (Class::KeyFrame, 1, 0, false, 1),
        ],
        "the second piece keeps the class of its unit; the third has random_access_indicator"
    );
}

#[test]
fn tables_leave_before_what_is_held_of_other_tracks() {
    let mut packetizer = packetizer();
    packetizer.handle_packet(ms(1), &picture(&IDR));
    packetizer.handle_packet(ms(1), &build::pat(1, 1, &[(1, 0x1000)]));
    packetizer.flush_tables();
    packetizer.handle_packet(ms(1), &more(VIDEO));
    let before = drain(&mut packetizer);
    packetizer.finish();
    let classes = [before, drain(&mut packetizer)].map(|pieces| summary(&pieces)[0].0);
    assert_eq!(classes, [Class::Tables, Class::KeyFrame]);
}

#[test]
fn null_packets_leave_without_their_bytes() {
    let mut packetizer = packetizer();
    let null = Packet::new(NULL_PACKET).unwrap();
    (0..50).for_each(|_| packetizer.handle_packet(ms(1), &null));
    let mut other = NULL_PACKET;
    other[100] = 0;
    packetizer.handle_packet(ms(1), &Packet::new(other).unwrap());
    packetizer.finish();
    let pieces = drain(&mut packetizer);
    assert_eq!(
        pieces
            .iter()
            .map(|p| (p.header.nulls, p.header.items(), p.payload.len()))
            .collect::<Vec<_>>(),
        [(true, 50, 0), (false, 1, 188)]
    );
    assert!(pieces.iter().all(|piece| piece.header.class == Class::Padding));
}

#[test]
fn sequences_count_by_track_and_class() {
    let mut packetizer = packetizer();
    for slice in [IDR, B_SLICE, P_SLICE, B_SLICE, IDR] {
        packetizer.handle_packet(ms(1), &picture(&slice));
        packetizer.handle_packet(ms(1), &sound(10));
    }
    packetizer.finish();
    let pieces = drain(&mut packetizer);
    let sequences = |class| {
        let of_class = pieces.iter().filter(|piece| piece.header.class == class);
        of_class.map(|piece| piece.header.sequence).collect::<Vec<_>>()
    };
    assert_eq!(sequences(Class::KeyFrame), [0, 1]);
    assert_eq!(sequences(Class::Disposable), [0, 1]);
    assert_eq!(sequences(Class::Reference), [0]);
    assert_eq!(sequences(Class::Audio), [0, 1, 2, 3, 4]);
}

#[test]
fn the_user_is_told_once_what_a_track_is() {
    let mut packetizer = packetizer();
    for _ in 0..3 {
        packetizer.handle_packet(ms(1), &picture(&IDR));
        packetizer.handle_packet(ms(1), &more(0x102));
        packetizer.handle_packet(ms(1), &more(0x1aa));
    }
    let notices: Vec<_> = std::iter::from_fn(|| packetizer.poll_notice()).collect();
    assert_eq!(
        notices,
        [
            Notice::Track { track: Track(VIDEO), codec: Codec::H264 },
            Notice::Unclassified { track: Track(0x102), codec: Codec::Other { stream_type: 0xd1 } },
            Notice::Unlisted { track: Track(0x1aa) },
        ]
    );
    assert_eq!(
        notices[1].to_string(),
        "track 0x0102 is stream type 0xd1, which we cannot tell apart: it is sent whole as data"
    );
}

#[test]
fn a_track_that_becomes_known_is_classed_from_its_next_unit_on() {
    let mut packetizer = Packetizer::new(7);
    packetizer.handle_packet(ms(1), &picture(&IDR));
    packetizer.handle_packet(ms(1), &build::pat(0, 0, &[(1, 0x1000)]));
    packetizer.handle_packet(ms(1), &build::pmt(0x1000, 0, 0, 1, VIDEO, &[(0x1b, VIDEO)]));
    packetizer.handle_packet(ms(1), &more(VIDEO));
    packetizer.handle_packet(ms(1), &picture(&IDR));
    packetizer.finish();
    let pieces = drain(&mut packetizer);
    let video: Vec<_> = pieces.into_iter().filter(|p| p.header.track == Track(VIDEO)).collect();
    assert_eq!(summary(&video), [(Class::Data, 0, 0, true, 2), (Class::KeyFrame, 1, 0, false, 1)]);
}

#[test]
fn damage_of_the_input_is_counted() {
    let mut packetizer = packetizer();
    for counter in [0, 1, 1, 4, 5] {
        packetizer.handle_packet(ms(1), &build::packet(VIDEO, false, counter, &[0; 184]));
    }
    let mut marked = *more(VIDEO).bytes();
    marked[1] |= 0x80;
    packetizer.handle_packet(ms(1), &Packet::new(marked).unwrap());
    assert_eq!(packetizer.stats().continuity_errors, 1);
    assert_eq!(packetizer.stats().damaged_packets, 1);
}

#[test]
fn any_packets_at_all_come_out_once_each_and_in_time() {
    for seed in 0..200 {
        let mut rng = Rng::from_u64(seed);
        let mut packetizer = Packetizer::new(1);
        let (mut now, mut taken, mut left) = (Time::ZERO, 0, 0);
        let mut positions = std::collections::BTreeSet::new();
        for _ in 0..300 {
            now += Duration::from_micros(rng.range(0..2_000));
            packetizer.handle_packet(now, &random_packet(&mut rng));
            taken += 1;
            let pieces = drain(&mut packetizer);
            for run in pieces.iter().flat_map(|piece| &piece.header.runs) {
                for i in 0..run.count {
                    assert!(positions.insert(run.position + u64::from(i)), "seed {seed}: twice");
                    assert!(now - run.time_of(i) <= HOLD + Duration::from_millis(2));
                    left += 1;
                }
            }
        }
        packetizer.finish();
        left += drain(&mut packetizer).iter().map(|piece| piece.header.items()).sum::<u64>();
        assert_eq!(taken, left, "seed {seed}");
    }
}

/// Random bytes, but of few PIDs, and with tables and start codes among them.
fn random_packet(rng: &mut Rng) -> Packet {
    let mut bytes = [0; 188];
    rng.fill(&mut bytes);
    match rng.range(0..8) {
        0 => return build::pat(rng.range(0..3) as u8, 0, &[(1, 0x1000), (2, 0x1001)]),
        1 => {
            let kinds = [0x1b, 0x24, 0x02, 0x10, 0x0f, 0x06, 0xd1];
            let streams = [0, 1, 2].map(|i| (kinds[rng.range(0..7) as usize], VIDEO + i));
            return build::pmt(0x1000, rng.range(0..32) as u8, 0, 1, VIDEO, &streams);
        }
        2 => return picture(&[IDR, P_SLICE, B_SLICE][rng.range(0..3) as usize]),
        3 => bytes[1] = 0x1f,
        _ => bytes[1] = bytes[1] & 0xe0 | 0x01,
    }
    bytes[0] = 0x47;
    bytes[2] &= 0x03;
    Packet::new(bytes).unwrap()
}

#[test]
fn a_stream_without_a_program_association_table_is_said_so_once() {
    let missing = |packetizer: &mut Packetizer| {
        std::iter::from_fn(|| packetizer.poll_notice()).filter(|it| *it == Notice::NoTables).count()
    };
    let mut live = Packetizer::new(7);
    for at in [0, 1_999, 2_000, 9_000] {
        live.handle_packet(ms(at), &picture(&IDR));
        assert_eq!(missing(&mut live), usize::from(at == 2_000), "{at} ms");
    }
    let mut short = Packetizer::new(7);
    short.handle_packet(ms(0), &picture(&IDR));
    short.finish();
    assert_eq!(missing(&mut short), 1, "nothing more can come");
    let mut told = packetizer();
    told.handle_packet(ms(5_000), &picture(&IDR));
    assert_eq!(missing(&mut told), 0);
}
