//! Streams that ffmpeg made, through the packetizer and the playout.

use std::time::Duration;

use anabranch_sansio::Time;

use crate::codec::av1::{ObuHeader, TEMPORAL_DELIMITER};
use crate::playout::{Config, PathId, Playout};
use crate::ts::{Pacer, PesHeader, Reader};
use crate::{Packetizer, Piece};

use super::*;
use crate::decoding::VideoFormat;

const H264_AAC: &[u8] = include_bytes!("../../tests/fixtures/h264_aac.ts");
const TWO_PROGRAMS: &[u8] = include_bytes!("../../tests/fixtures/two_programs_cbr.ts");

const AV1: &[u8] = include_bytes!("../../tests/fixtures/av1.ts");
/// What its encoder made, with temporal delimiters.
const AV1_OBUS: &[u8] = include_bytes!("../../tests/fixtures/av1.obu");

/// 3 s at 25 pictures a second, less the last one: only the next one shows where a picture ends.
const PICTURES: u64 = 74;

const LATENCY: Duration = Duration::from_millis(100);

/// What a sender makes of a stream.
fn pieces(stream: &[u8]) -> Vec<(Time, Piece)> {
    let mut reader = Reader::new();
    reader.push(stream).unwrap();
    reader.finish().unwrap();
    let mut pacer = Pacer::by_clock();
    std::iter::from_fn(|| reader.poll_packet()).for_each(|packet| pacer.push(packet).unwrap());
    pacer.finish().unwrap();
    let mut packetizer = Packetizer::new(1);
    let mut pieces = Vec::new();
    while let Some((due, packet)) = pacer.poll_packet() {
        let at = Time::ZERO + due;
        packetizer.handle_packet(at, &packet);
        pieces.extend(std::iter::from_fn(|| packetizer.poll_piece()).map(|piece| (at, piece)));
    }
    packetizer.finish();
    let end = Time::from_secs(60);
    pieces.extend(std::iter::from_fn(|| packetizer.poll_piece()).map(|piece| (end, piece)));
    pieces
}

/// Temporal units without their delimiters.
fn temporal_units(mut obus: &[u8]) -> Vec<Vec<u8>> {
    let mut units: Vec<Vec<u8>> = Vec::new();
    while let Some(header) = ObuHeader::parse(obus) {
        let (obu, rest) = obus.split_at(header.len + header.size.unwrap());
        match units.last_mut().filter(|_| header.kind != TEMPORAL_DELIMITER) {
            Some(unit) => unit.extend(obu),
            None => units.push(Vec::new()),
        }
        obus = rest;
    }
    units
}

/// What a viewer gets of them.
fn watch(pieces: &[(Time, Piece)]) -> (Vec<AccessUnit>, BroadcastScreen) {
    let mut playout = Playout::new(Config::with_latency(LATENCY));
    let mut screen = BroadcastScreen::new();
    let mut units = Vec::new();
    let mut release = |playout: &mut Playout, until: Time, screen: &mut BroadcastScreen| {
        while let Some(wakeup) = playout.poll_timeout().filter(|wakeup| wakeup.at <= until) {
            while let Some(released) = playout.poll_release(wakeup.at) {
                screen.on_released(&released);
            }
            units.extend(std::iter::from_fn(|| screen.poll_unit()));
        }
    };
    for (at, piece) in pieces {
        let at = (*at).min(Time::from_secs(4));
        release(&mut playout, at, &mut screen);
        playout.handle_piece(at, Some(PathId(0)), piece);
    }
    release(&mut playout, Time::MAX, &mut screen);
    (units, screen)
}

fn packets(stream: &[u8]) -> impl Iterator<Item = Packet> {
    stream.as_chunks::<PACKET_LEN>().0.iter().filter_map(|bytes| Packet::new(*bytes))
}

/// What the PES packets of a track carry.
fn payload(stream: &[u8], pid: u16) -> Vec<u8> {
    let packets = packets(stream).filter(|packet| packet.pid().as_u16() == pid);
    let payloads = packets.map(|packet| {
        let payload = packet.payload();
        let header = PesHeader::parse(payload).filter(|_| packet.payload_unit_start());
        payload[header.map_or(0, |header| header.header_len)..].to_vec()
    });
    payloads.flatten().collect()
}

fn released(index: u64) -> Released {
    Released {
        presentation: None,
        position: 0,
        items: 1,
        skipped: 0,
        due: Time::ZERO,
        sent: Time::ZERO,
        track: Track(0x100),
        layer: crate::Layer::BASE,
        class: Class::Reference,
        frame: 0,
        index,
        last: false,
        bytes: Bytes::new(),
    }
}

fn of(units: &[AccessUnit], track: MediaTrack) -> Vec<&AccessUnit> {
    units.iter().filter(|unit| unit.track == track).collect()
}

#[test]
fn a_whole_broadcast_is_shown_in_decoding_order_and_step() {
    let (units, screen) = watch(&pieces(H264_AAC));
    let formats = screen.formats().unwrap();
    let (video, audio) = (formats.video.unwrap(), formats.audio.unwrap());
    assert_eq!(video.codec, "avc1.64000c");
    assert_eq!((audio.codec.as_str(), audio.sample_rate, audio.channels), ("mp4a.40.2", 48_000, 1));

    let pictures = of(&units, MediaTrack::Video);
    assert_eq!(screen.counts(), PictureCounts { shown: PICTURES, late: 0, lost: 0 });
    assert!(pictures[0].is_key() && pictures.iter().all(|unit| !unit.discontinuity));
    assert_eq!(pictures.iter().filter(|unit| unit.is_key()).count(), 3);
    // Shown each at its time, 40 ms apart, though decoded in another order.
    let mut times: Vec<_> = pictures.iter().map(|unit| unit.pts_us).collect();
    assert!(!times.is_sorted());
    times.sort_unstable();
    // The one that is missing at the end is not the last one to be shown.
    times.pop();
    assert!(times.windows(2).all(|pair| pair[1] - pair[0] == 40_000), "{times:?}");

    let sounds = of(&units, MediaTrack::Audio);
    assert!(sounds.len() > 138, "{} frames of 1024 samples in 3 s", sounds.len());
    let steps = sounds.windows(2).map(|pair| pair[1].pts_us - pair[0].pts_us);
    assert!(steps.clone().all(|step| (21_000..22_000).contains(&step)), "{:?}", steps.max());
}

#[test]
fn pictures_and_sound_are_what_the_stream_has_to_the_byte() {
    let (units, _) = watch(&pieces(H264_AAC));
    for (pid, track, is_all) in
        [(0x100, MediaTrack::Video, false), (0x101, MediaTrack::Audio, true)]
    {
        let units = of(&units, track);
        let shown: Vec<u8> = units.iter().flat_map(|unit| unit.layers[0].bytes.to_vec()).collect();
        let carried = payload(H264_AAC, pid);
        assert!(!is_all || shown.len() == carried.len());
        assert!(shown.len() > carried.len() * 9 / 10 && carried.starts_with(&shown), "{track:?}");
    }
}

#[test]
fn a_picture_whose_loss_the_continuity_counters_hide_is_not_shown() {
    let mut track = Elementary::new(Pid::new(0x100));
    let packets: Vec<Packet> = packets(H264_AAC)
        .filter(|packet| packet.pid().as_u16() == 0x100 && packet.has_payload())
        .collect();
    let start = packets.windows(18).position(|packets| {
        packets[0].payload_unit_start() && packets[1..].iter().all(|it| !it.payload_unit_start())
    });
    let start = start.expect("a picture of 18 packets");
    for (packet, index) in [(&packets[start], 0), (&packets[start + 17], 2)] {
        assert_eq!(track.push(packet, &released(index)), [None, None]);
    }
    assert!(!track.finish().unwrap().is_whole);
}

#[test]
fn picture_and_sound_share_one_clock() {
    let (units, _) = watch(&pieces(H264_AAC));
    let distances = units.iter().map(|unit| unit.play_at.as_micros() as i64 - unit.pts_us);
    // Whichever needs more time gets it for both, and nothing is given back within three seconds.
    let steps: Vec<_> = distances.collect();
    assert!(steps.is_sorted(), "{steps:?}");
    assert!(steps[steps.len() - 1] - steps[0] < 600_000, "{steps:?}");
}

#[test]
fn a_lost_piece_costs_its_picture_and_breaks_the_next() {
    let mut pieces = pieces(H264_AAC);
    let picture = |piece: &Piece| piece.header.track == Track(0x100);
    let hit = pieces.iter().position(|(_, piece)| picture(piece) && piece.header.frame == 30);
    pieces.remove(hit.unwrap());
    let (units, screen) = watch(&pieces);
    assert_eq!(screen.counts(), PictureCounts { shown: PICTURES - 1, late: 0, lost: 1 });
    let pictures = of(&units, MediaTrack::Video);
    let broken: Vec<_> = pictures.iter().filter(|unit| unit.discontinuity).collect();
    assert_eq!(broken.len(), 1);
    assert_eq!(broken[0].frame, 31);
    assert!(pictures.iter().all(|unit| unit.frame != 30));
}

#[test]
fn a_lost_picture_that_comes_late_counts_as_late_once_and_stays_lost() {
    let mut pieces = pieces(H264_AAC);
    pieces.retain(|(_, piece)| piece.header.track != Track(0x100) || piece.header.frame != 30);
    let (_, mut screen) = watch(&pieces);
    screen.on_arrival(Track(0x100), 30, Timeliness::Late);
    screen.on_arrival(Track(0x100), 30, Timeliness::Late);
    assert_eq!(screen.counts(), PictureCounts { shown: PICTURES - 1, late: 1, lost: 1 });
}

#[test]
fn sound_that_does_not_come_is_waited_for_a_second() {
    let mut pieces = pieces(H264_AAC);
    pieces.retain(|(_, piece)| piece.header.track != Track(0x101));
    let early = pieces.iter().take_while(|(at, _)| *at < Time::from_millis(900)).count();
    assert_eq!(watch(&pieces[..early]).1.formats(), None);
    let formats = watch(&pieces).1.formats().unwrap();
    assert!(formats.video.is_some() && formats.audio.is_none());
}

#[test]
fn sound_waits_longer_for_a_picture_that_has_no_key_frame_yet() {
    let mut pieces = pieces(H264_AAC);
    let is_picture = |piece: &Piece| piece.header.track == Track(0x100);
    pieces.retain(|(_, piece)| !is_picture(piece) || piece.header.frame % 25 != 0);
    let (units, screen) = watch(&pieces);
    assert!(of(&units, MediaTrack::Video).is_empty() && !units.is_empty());
    assert_eq!(screen.formats(), None);
}

#[test]
fn what_no_browser_plays_is_named_and_nothing_is_shown_of_it() {
    let (units, screen) = watch(&pieces(TWO_PROGRAMS));
    assert!(of(&units, MediaTrack::Video).is_empty());
    let formats = screen.formats().unwrap();
    assert_eq!((formats.video, formats.audio.unwrap().codec.as_str()), (None, "opus"));
    assert_eq!(screen.not_played(), [Codec::Mpeg2Video, Codec::H265, Codec::Ac3]);
    // Frames of 20 ms, one after the other.
    let times: Vec<_> = of(&units, MediaTrack::Audio).iter().map(|unit| unit.pts_us).collect();
    assert!(times.len() > 50, "{}", times.len());
    assert!(times.windows(2).all(|two| (19_990..=20_010).contains(&(two[1] - two[0]))));
}

#[test]
fn av1_is_shown_in_the_temporal_units_that_its_encoder_made() {
    let pieces = pieces(AV1);
    let keys = pieces.iter().filter(|(_, it)| it.header.class == Class::KeyFrame);
    let keys: BTreeSet<_> = keys.map(|(_, piece)| piece.header.frame).collect();
    assert_eq!(keys.len(), 2, "a viewer enters at key frames");
    let (units, screen) = watch(&pieces);
    let formats = screen.formats().unwrap();
    let video = formats.video.unwrap();
    assert_eq!((video.codec.as_str(), video.format), ("av01.0.00M.08", VideoFormat::Av1));
    let pictures = of(&units, MediaTrack::Video);
    let shown: Vec<_> = pictures.iter().map(|unit| unit.layers[0].bytes.to_vec()).collect();
    assert!(shown == temporal_units(AV1_OBUS));
    assert_eq!(screen.counts(), PictureCounts { shown: 50, late: 0, lost: 0 });
    assert!(pictures.iter().all(|unit| !unit.discontinuity));
    let keys: Vec<_> = pictures.iter().filter(|unit| unit.is_key()).map(|it| it.frame).collect();
    assert_eq!(keys, [0, 25]);
    // Frames that are not shown have neither a number nor a time.
    assert!(pictures.iter().zip(0..).all(|(unit, number)| unit.frame == number));
    let mut steps = pictures.windows(2).map(|two| two[1].pts_us - two[0].pts_us);
    assert!(steps.all(|step| step == 40_000));
}

#[test]
fn a_frame_that_is_not_shown_is_missed_by_the_next_that_is() {
    let mut pieces = pieces(AV1);
    // Of five frames after the key frame, the last one is shown.
    pieces.retain(|(_, piece)| piece.header.track != Track(0x100) || piece.header.frame != 2);
    let (units, screen) = watch(&pieces);
    assert_eq!(screen.counts().lost, 1);
    let pictures = of(&units, MediaTrack::Video);
    let broken: Vec<_> =
        pictures.iter().filter(|it| it.discontinuity).map(|it| it.pts_us).collect();
    assert_eq!(broken, [pictures[0].pts_us + 40_000]);
    let whole = temporal_units(AV1_OBUS);
    assert!(pictures[1].layers[0].bytes.len() < whole[1].len());
    assert_eq!(pictures[2].layers[0].bytes, whole[2]);
}
