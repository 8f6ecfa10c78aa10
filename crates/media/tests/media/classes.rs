//! The class of each picture against what ffprobe and the encoder say of it.

use std::collections::BTreeMap;
use std::time::Duration;

use anabranch_media::codec::h264::{NalHeader, nal_unit_type as t};
use anabranch_media::codec::nal;
use anabranch_media::ts::{PACKET_LEN, Packet, PesHeader, Reader};
use anabranch_media::{Class, Layer, Piece, Track};
use anabranch_sansio::Time;

use crate::world::{H264_AAC, TWO_PROGRAMS, fixture, paced, packets, send};

/// Class by presentation time.
fn pictures(pieces: &[Piece], track: u16) -> BTreeMap<u64, Class> {
    let first = |piece: &&Piece| {
        let header = &piece.header;
        header.track == Track(track) && header.index == 0 && header.class != Class::Tables
    };
    let pictures = pieces.iter().filter(first).map(|piece| {
        let packet = Packet::new(*piece.payload.first_chunk::<PACKET_LEN>().unwrap()).unwrap();
        let header = PesHeader::parse(packet.payload()).unwrap();
        (header.pts.unwrap(), piece.header.class)
    });
    pictures.collect()
}

/// Picture type by presentation time, as ffprobe says.
fn truth(name: &str) -> BTreeMap<u64, char> {
    let text = String::from_utf8(fixture(name)).unwrap();
    let line = |line: &str| {
        let (pts, kind) = line.split_once(',').unwrap();
        (pts.parse().unwrap(), kind.chars().next().unwrap())
    };
    text.lines().map(line).collect()
}

fn pieces(name: &str) -> Vec<Piece> {
    send(&paced(&packets(Reader::new(), &fixture(name)))).0.into_iter().map(|(_, p)| p).collect()
}

/// Checks key frames and disposables; returns (key frames, references, disposables).
fn compare(name: &str, track: u16, table: &str) -> (usize, usize, usize) {
    let pictures = pictures(&pieces(name), track);
    let truth = truth(table);
    assert_eq!(pictures.keys().collect::<Vec<_>>(), truth.keys().collect::<Vec<_>>());
    for (pts, class) in &pictures {
        let kind = truth[pts];
        assert_eq!(*class == Class::KeyFrame, kind == 'I', "{table} at {pts}: {class}, {kind}");
        assert!(*class != Class::Disposable || kind == 'B', "{table} at {pts}: {class}, {kind}");
    }
    let count = |class| pictures.values().filter(|found| **found == class).count();
    (count(Class::KeyFrame), count(Class::Reference), count(Class::Disposable))
}

#[test]
fn h264_pictures_are_classed_as_ffprobe_does() {
    let (key_frames, references, disposables) = compare(H264_AAC, 0x100, "h264.csv");
    assert_eq!((key_frames, key_frames + references + disposables), (3, 75));
    let b_pictures = truth("h264.csv").values().filter(|kind| **kind == 'B').count();
    assert!(disposables > 20 && disposables < b_pictures, "some B pictures are referred to");
}

#[test]
fn h265_pictures_are_classed_as_ffprobe_does() {
    let (key_frames, _, disposables) = compare(TWO_PROGRAMS, 0x100, "h265.csv");
    assert_eq!(key_frames, 2);
    assert!(disposables > 10, "{disposables}");
}

#[test]
fn mpeg2_pictures_are_classed_as_ffprobe_does() {
    let (key_frames, _, disposables) = compare(TWO_PROGRAMS, 0x102, "mpeg2.csv");
    let b_pictures = truth("mpeg2.csv").values().filter(|kind| **kind == 'B').count();
    assert_eq!((key_frames, disposables), (4, b_pictures));
}

#[test]
fn sound_tables_and_padding_are_classed_by_track() {
    let mut classes: BTreeMap<u16, Vec<Class>> = BTreeMap::new();
    for piece in pieces(TWO_PROGRAMS) {
        classes.entry(piece.header.track.0).or_default().push(piece.header.class);
    }
    for (track, class) in [
        (0x0, Class::Tables),
        (0x11, Class::Tables),
        (0x1000, Class::Tables),
        (0x1001, Class::Tables),
        (0x101, Class::Audio),
        (0x103, Class::Audio),
        (0x1fff, Class::Padding),
    ] {
        assert!(classes[&track].iter().all(|found| *found == class), "{track:#x}");
    }
}

/// A scalable stream in transport stream packets: one access unit of each in one PES packet.
fn scalable_stream() -> Vec<(Time, Packet)> {
    let stream = fixture("svc_layers.264");
    let mut units: Vec<Vec<u8>> = Vec::new();
    let mut in_slices = true;
    for unit in nal::units(&stream) {
        let kind = NalHeader::parse(unit).unwrap().nal_unit_type;
        let is_slice = [t::SLICE, t::IDR_SLICE, t::SLICE_EXTENSION].contains(&kind);
        if in_slices && !is_slice {
            units.push(Vec::new());
        }
        in_slices = is_slice;
        let access_unit = units.last_mut().unwrap();
        access_unit.extend_from_slice(&[0, 0, 1]);
        access_unit.extend_from_slice(unit);
    }
    let tables = packets(Reader::new(), &fixture(H264_AAC)).into_iter().take(3);
    let media = units.iter().enumerate().flat_map(|(i, unit)| pes_packets(i, unit));
    tables.chain(media).enumerate().map(|(i, p)| (Time::from_micros(100 * i as u64), p)).collect()
}

fn pes_packets(frame: usize, access_unit: &[u8]) -> Vec<Packet> {
    let header = [0, 0, 1, 0xe0, 0, 0, 0x80, 0, 0];
    let bytes = [&header, access_unit].concat();
    let packet = |(i, payload): (usize, &[u8])| {
        let start = if i == 0 { 0x40 } else { 0 };
        let mut packet = vec![0x47, start | 0x01, 0x00, 0x10 | (frame + i) as u8 & 0x0f];
        let stuffing = 184 - payload.len();
        if stuffing > 0 {
            packet[3] |= 0x20;
            packet.push(stuffing as u8 - 1);
            packet.resize(4 + stuffing, 0xff);
            if stuffing > 1 {
                packet[5] = 0;
            }
        }
        packet.extend_from_slice(payload);
        Packet::new(packet.try_into().unwrap()).unwrap()
    };
    bytes.chunks(184).enumerate().map(packet).collect()
}

#[test]
fn layers_of_a_scalable_stream_are_units_of_their_own() {
    let (sent, _) = send(&scalable_stream());
    let mut bytes: BTreeMap<Layer, usize> = BTreeMap::new();
    let mut layers: BTreeMap<u64, Vec<Layer>> = BTreeMap::new();
    for (_, piece) in sent.iter().filter(|(_, piece)| piece.header.track == Track(0x100)) {
        let header = &piece.header;
        *bytes.entry(header.layer).or_default() += piece.payload.len();
        if header.index == 0 {
            layers.entry(header.frame).or_default().push(header.layer);
        }
    }
    assert_eq!(layers.len(), 49);
    assert!(layers.values().all(|layers| layers[0] == Layer::BASE && layers.is_sorted()));
    // A layer that fits into the packet in which the one below it ends stays there.
    let with_all = layers.values().filter(|layers| layers.len() == 3).count();
    assert!(with_all > 30, "{with_all} pictures of 49 in three layers");
    assert!(bytes[&Layer(2)] > bytes[&Layer::BASE], "{bytes:?}");
}

/// Intra, dependency, quality and temporal layer of each slice.
type Slice = (bool, u8, u8, u8);

#[test]
fn nal_units_of_a_scalable_stream_agree_with_their_encoder() {
    let stream = fixture("svc_layers.264");
    let mut slices: Vec<Slice> = Vec::new();
    let mut prefix = None;
    for unit in nal::units(&stream) {
        let header = NalHeader::parse(unit).unwrap();
        let svc = match header.nal_unit_type {
            t::PREFIX => {
                prefix = header.svc;
                continue;
            }
            t::SLICE | t::IDR_SLICE => prefix.unwrap(),
            t::SLICE_EXTENSION => header.svc.unwrap(),
            _ => continue,
        };
        slices.push((svc.idr, svc.dependency_id, svc.quality_id, svc.temporal_id));
    }
    let table = String::from_utf8(fixture("svc_layers.csv")).unwrap();
    let rows = table.lines().skip(1).map(|line| {
        let fields: Vec<&str> = line.split(',').collect();
        let layer = |i: usize| fields[i].parse().unwrap();
        (fields[2].starts_with('I'), layer(3), layer(4), layer(5))
    });
    assert_eq!(slices, rows.collect::<Vec<Slice>>());
}

#[test]
fn a_class_is_known_within_the_first_packets_of_a_picture() {
    let source = paced(&packets(Reader::new(), &fixture(H264_AAC)));
    let slowed: Vec<_> =
        source.iter().enumerate().map(|(i, (_, p))| (Time::from_millis(i as u64), *p)).collect();
    // A packet each millisecond: what is not known within five is guessed.
    let (sent, _) = send(&slowed);
    let pieces: Vec<_> = sent.into_iter().map(|(_, piece)| piece).collect();
    let truth = truth("h264.csv");
    for (pts, class) in pictures(&pieces, 0x100) {
        assert_eq!(class == Class::KeyFrame, truth[&pts] == 'I', "at {pts}");
    }
    assert!(slowed.last().unwrap().0 > Time::ZERO + Duration::from_millis(500));
}
