use std::io::Cursor;

use anabranch_media::codec::Codec;
use anabranch_media::ts::{PACKET_LEN, Packet, PesHeader, Pid, Reader, Role, Tables};
use mp4_atom::{
    Edts, Elst, ElstEntry, Encode as _, Mfhd, Moof, Mvex, Stco, StszSamples, SttsEntry, Tfdt, Tfhd,
    Traf, Trun, TrunEntry, TrunSamples,
};

use super::*;

/// Three seconds of H.264 with B pictures and AAC.
const FILM: &[u8] = include_bytes!("../../../media/tests/fixtures/h264_aac.mp4");

/// When its pictures are shown, in 90 kHz.
const PICTURES: &str = include_str!("../../../media/tests/fixtures/h264.csv");

/// No film of these tests becomes more.
const STREAM_MAX: u64 = 4 << 20;

fn film(bytes: &[u8]) -> Result<Mp4<Cursor<Vec<u8>>>, String> {
    Mp4::open(Cursor::new(bytes.to_vec()))
}

fn stream_of(film: &mut Mp4<Cursor<Vec<u8>>>) -> io::Result<Vec<u8>> {
    let mut stream = Vec::new();
    film.take(STREAM_MAX).read_to_end(&mut stream)?;
    Ok(stream)
}

fn packets(stream: &[u8]) -> Vec<Packet> {
    let mut reader = Reader::new();
    reader.push(stream).unwrap();
    reader.finish().unwrap();
    let packets: Vec<_> = std::iter::from_fn(|| reader.poll_packet()).collect();
    assert_eq!(packets.len() * PACKET_LEN, stream.len());
    packets
}

/// The headers of a stream's units, in order.
fn headers(packets: &[Packet], pid: u16) -> Vec<PesHeader> {
    let starts = packets.iter().filter(|it| it.pid().as_u16() == pid && it.payload_unit_start());
    starts.map(|packet| PesHeader::parse(packet.payload()).unwrap()).collect()
}

/// Where the film describes itself: at its end.
fn moov_at() -> usize {
    FILM.windows(4).rposition(|four| four == b"moov").unwrap() - 4
}

/// The film with another description of itself.
fn with_moov(change: impl FnOnce(&mut Moov)) -> Vec<u8> {
    let mut moov = read_moov(&mut Cursor::new(FILM), FILM.len() as u64).unwrap();
    change(&mut moov);
    let mut changed = FILM[..moov_at()].to_vec();
    moov.encode(&mut changed).unwrap();
    changed
}

#[test]
fn a_film_becomes_a_transport_stream_with_its_tracks_and_times() {
    let packets = packets(&stream_of(&mut film(FILM).unwrap()).unwrap());
    let mut tables = Tables::default();
    packets.iter().for_each(|packet| tables.handle_packet(packet));
    assert!(tables.are_complete() && tables.damaged_sections() == 0);
    let role = |pid| tables.role(Pid::new(pid));
    let roles = [Role::Stream(Codec::H264), Role::Stream(Codec::Aac)];
    assert_eq!([role(0x100), role(0x101)], roles);

    let pictures = headers(&packets, 0x100);
    let mut shown: Vec<_> = pictures.iter().map(|it| it.pts.unwrap()).collect();
    shown.sort_unstable();
    let csv = PICTURES.lines().map(|line| line.split(',').next().unwrap().parse::<u64>().unwrap());
    let expected: Vec<_> = csv.collect();
    let since = |times: &[u64]| times.iter().map(|time| time - times[0]).collect::<Vec<_>>();
    assert_eq!(since(&shown), since(&expected));
    let decoded: Vec<_> = pictures.iter().map(|it| it.dts.or(it.pts).unwrap()).collect();
    assert!(decoded.is_sorted());
    assert!(pictures.iter().all(|it| it.dts.is_none_or(|dts| dts < it.pts.unwrap())));

    let sound = headers(&packets, 0x101);
    let ahead = shown[0] - sound[0].pts.unwrap();
    assert_eq!(ahead, 1_890, "the coder's 1,024 samples come before the first picture");
    assert_eq!(sound.len(), 142);
}

#[test]
fn the_clock_comes_in_time_and_every_packet_is_counted() {
    let packets = packets(&stream_of(&mut film(FILM).unwrap()).unwrap());
    let clocks: Vec<_> = packets.iter().filter_map(Packet::pcr).map(|pcr| pcr.ticks()).collect();
    assert!(clocks.windows(2).all(|two| two[0] < two[1] && two[1] - two[0] < 2_700_000));
    let first = headers(&packets, 0x100)[0];
    assert_eq!(first.dts.or(first.pts).unwrap() - clocks[0] / 300, LEAD_TICKS);
    for pid in [0, 0x1000, 0x100, 0x101] {
        let of_pid = packets.iter().filter(|it| it.pid().as_u16() == pid && it.has_payload());
        let counters: Vec<_> = of_pid.map(Packet::continuity_counter).collect();
        assert!(counters.windows(2).all(|two| two[1] == (two[0] + 1) % 16), "{pid}");
    }
}

/// A fifth of a second.
const LEAD_TICKS: u64 = 18_000;

#[test]
fn pictures_that_come_seldom_do_not_stop_the_clock() {
    let slow = with_moov(|moov| {
        let video = &mut moov.trak[0].mdia.minf.stbl;
        video.stts.entries.iter_mut().for_each(|run| run.sample_delta *= 100);
        video.ctts = None;
        moov.trak.truncate(1);
        moov.trak[0].edts = None;
    });
    let packets = packets(&stream_of(&mut film(&slow).unwrap()).unwrap());
    let clocks: Vec<_> = packets.iter().filter_map(Packet::pcr).map(|pcr| pcr.ticks()).collect();
    assert!(clocks.len() > 3_000, "a picture lasts four seconds, {} clocks", clocks.len());
    assert!(clocks.windows(2).all(|two| two[0] < two[1] && two[1] - two[0] <= 2_700_000));
}

#[test]
fn a_second_round_is_as_long_and_its_counters_go_on() {
    let mut film = film(FILM).unwrap();
    let first = stream_of(&mut film).unwrap();
    film.rewind().unwrap();
    let second = stream_of(&mut film).unwrap();
    assert_eq!(first.len(), second.len());
    let ends = |stream: &[u8], pid| {
        let packets = packets(stream);
        let counted = |it: &&Packet| it.pid().as_u16() == pid && it.has_payload();
        let counter = |it: &Packet| it.continuity_counter();
        let first = packets.iter().find(counted).map(counter).unwrap();
        (first, packets.iter().rfind(counted).map(counter).unwrap())
    };
    for pid in [0x100, 0x101] {
        assert_eq!((ends(&first, pid).1 + 1) % 16, ends(&second, pid).0);
    }
}

#[test]
fn what_cannot_be_carried_is_refused_with_the_way_out() {
    let cut = film(&FILM[..moov_at()]).unwrap_err();
    assert!(cut.contains("cut short"), "{cut}");
    let mut other = FILM.to_vec();
    let codec = FILM.windows(4).rposition(|four| four == b"avc1").unwrap();
    other[codec..codec + 4].copy_from_slice(b"zzzz");
    let error = film(&other).unwrap_err();
    let way_out = error.contains("no transport stream carries") && error.contains("ffmpeg -i FILE");
    assert!(way_out, "{error}");
    let nothing = with_moov(|moov| moov.trak.clear());
    assert!(film(&nothing).unwrap_err().contains("neither a picture nor sound"));
    let endless = with_moov(|moov| {
        moov.trak[0].mdia.minf.stbl.stts.entries[0].sample_delta = u32::MAX;
        moov.trak[0].edts = None;
    });
    let error = stream_of(&mut film(&endless).unwrap()).unwrap_err().to_string();
    assert!(error.contains("stands still"), "{error}");
}

#[test]
fn regression_sound_without_end_at_one_time_was_made_into_packets_without_end() {
    let endless = with_moov(|moov| {
        let sound = &mut moov.trak[1].mdia.minf.stbl;
        sound.stsz.samples = StszSamples::Identical { count: u32::MAX, size: 1 };
        sound.stsc.entries.truncate(1);
        sound.stsc.entries[0].samples_per_chunk = u32::MAX;
        sound.stts.entries = vec![SttsEntry { sample_count: u32::MAX, sample_delta: 0 }];
    });
    let error = stream_of(&mut film(&endless).unwrap()).unwrap_err().to_string();
    assert!(error.contains("time does not pass"), "{error}");
}

#[test]
fn damage_anywhere_ends_in_an_error_or_in_a_stream_and_never_in_a_panic() {
    let mut state = 1_u32;
    for at in (0..64).chain(moov_at()..FILM.len()) {
        let mut damaged = FILM.to_vec();
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        damaged[at] ^= (state >> 24) as u8 | 1;
        if let Ok(mut film) = film(&damaged) {
            _ = stream_of(&mut film);
        }
    }
    let cut = with_moov(|moov| {
        let places = &mut moov.trak[0].mdia.minf.stbl.stco.as_mut().unwrap().entries;
        *places.last_mut().unwrap() = FILM.len() as u32;
    });
    assert!(stream_of(&mut film(&cut).unwrap()).is_err(), "its last pictures are not there");
}

/// A box that says of itself that it has thirty million entries of no bytes each (ISO/IEC 14496-12
/// section 8.9.3, version 0).
fn groups_of_nothing() -> Vec<u8> {
    let mut sgpd = 24_u32.to_be_bytes().to_vec();
    sgpd.extend(b"sgpd\0\0\0\0none");
    sgpd.extend(30_000_000_u32.to_be_bytes());
    sgpd.extend([0; 4]);
    sgpd
}

/// The film with a further box within these, each in the one before.
fn with_box(nest: &[&[u8; 4]], more: &[u8]) -> Vec<u8> {
    let mut changed = FILM.to_vec();
    let mut at = moov_at();
    for kind in nest {
        at += changed[at..].windows(4).position(|four| four == *kind).unwrap();
        let size = u32::from_be_bytes(changed[at - 4..at].try_into().unwrap()) + more.len() as u32;
        changed[at - 4..at].copy_from_slice(&size.to_be_bytes());
    }
    changed.splice(at + 4..at + 4, more.iter().copied());
    changed
}

#[test]
fn regression_boxes_that_nobody_asks_for_were_made_as_large_as_they_said() {
    let expected = stream_of(&mut film(FILM).unwrap()).unwrap();
    let nests: [&[&[u8; 4]]; 3] =
        [&[b"moov"], &[b"moov", b"trak"], &[b"moov", b"trak", b"mdia", b"minf", b"stbl"]];
    for nest in nests {
        let hostile = with_box(nest, &groups_of_nothing());
        let kept = boxes::pruned(&hostile[moov_at() + 8..]).unwrap();
        assert!(!kept.windows(4).any(|four| four == b"sgpd"), "{nest:?}");
        assert!(stream_of(&mut film(&hostile).unwrap()).unwrap() == expected, "{nest:?}");
    }
}

#[test]
fn a_table_that_counts_more_than_its_box_holds_is_refused() {
    for kind in [b"stts", b"ctts", b"stsc", b"stsz", b"stco", b"stss", b"elst"] {
        let mut hostile = FILM.to_vec();
        let at = moov_at() + FILM[moov_at()..].windows(4).position(|four| four == kind).unwrap();
        let ahead = if kind == b"stsz" { 12 } else { 8 };
        hostile[at + ahead..at + ahead + 4].copy_from_slice(&[0x70, 0, 0, 0]);
        let error = film(&hostile).unwrap_err();
        assert!(error.contains("more entries than its box has room for"), "{error}");
    }
    let mut longer = FILM.to_vec();
    longer[moov_at()..moov_at() + 4].copy_from_slice(&[3, 0, 0, 0]);
    assert!(film(&longer).unwrap_err().contains("cut short"));
}

#[test]
fn a_picture_that_the_file_cannot_hold_costs_no_memory() {
    let large = with_moov(|moov| {
        let video = &mut moov.trak[0].mdia.minf.stbl;
        video.stsz.samples = StszSamples::Identical { count: 50, size: SAMPLE_BYTES_MAX };
    });
    let mut film = film(&large).unwrap();
    assert!(stream_of(&mut film).is_err());
    assert!(film.sample.capacity() < FILM.len());
}

/// The film with its description in front, and its samples described fragment by fragment of ten.
fn in_fragments() -> Vec<u8> {
    in_fragments_with(|_| ())
}

/// The same with another description of itself.
fn in_fragments_with(change: impl FnOnce(&mut Moov)) -> Vec<u8> {
    let mut moov = read_moov(&mut Cursor::new(FILM), FILM.len() as u64).unwrap();
    change(&mut moov);
    let mut moofs = Vec::new();
    for trak in &mut moov.trak {
        let tables = std::mem::take(&mut trak.mdia.minf.stbl);
        trak.mdia.minf.stbl.stsd = tables.stsd.clone();
        trak.mdia.minf.stbl.stco = Some(Stco::default());
        let mut samples = samples::Samples::default();
        let all: Vec<_> = std::iter::from_fn(|| samples.next(&tables).unwrap()).collect();
        for part in all.chunks(10) {
            moofs.push((trak.tkhd.track_id, part.to_vec()));
        }
    }
    moov.mvex = Some(Mvex::default());
    let mut bytes = FILM[..moov_at()].to_vec();
    moov.encode(&mut bytes).unwrap();
    for (nth, (track_id, part)) in moofs.into_iter().enumerate() {
        // A run for each sample: they lie anywhere.
        let run = |sample: &samples::Sample| Trun {
            data_offset: Some(i32::try_from(sample.offset).unwrap()),
            samples: vec![TrunEntry {
                size: Some(sample.size),
                flags: Some(if sample.is_sync { 0 } else { 0x1_0000 }),
                cts: Some(sample.delay),
                ..TrunEntry::default()
            }]
            .into(),
        };
        let duration = part.get(1).map_or(1_024, |second| second.dts - part[0].dts);
        let traf = Traf {
            tfhd: Tfhd {
                track_id,
                base_data_offset: Some(0),
                default_sample_duration: Some(u32::try_from(duration).unwrap()),
                ..Tfhd::default()
            },
            tfdt: Some(Tfdt { base_media_decode_time: part[0].dts.unsigned_abs() }),
            trun: part.iter().map(run).collect(),
            ..Traf::default()
        };
        let moof = Moof { mfhd: Mfhd { sequence_number: nth as u32 }, traf: vec![traf] };
        moof.encode(&mut bytes).unwrap();
    }
    bytes
}

#[test]
fn a_film_in_fragments_becomes_the_stream_that_it_is_in_one_piece() {
    let mut whole = film(FILM).unwrap();
    let mut fragments = film(&in_fragments()).unwrap();
    let stream = stream_of(&mut whole).unwrap();
    assert!(stream_of(&mut fragments).unwrap() == stream);
    whole.rewind().unwrap();
    fragments.rewind().unwrap();
    assert!(stream_of(&mut fragments).unwrap() == stream_of(&mut whole).unwrap(), "again");
}

#[test]
fn fragments_go_on_where_the_edit_list_ends_that_was_written_before_them() {
    let early = in_fragments_with(|moov| {
        for trak in &mut moov.trak {
            let list = trak.edts.as_mut().and_then(|edts| edts.elst.as_mut()).unwrap();
            list.entries.last_mut().unwrap().segment_duration = 40;
        }
    });
    let whole = stream_of(&mut film(&in_fragments()).unwrap()).unwrap();
    assert!(stream_of(&mut film(&early).unwrap()).unwrap() == whole);
}

#[test]
fn fragments_that_make_no_sense_end_in_an_error_or_in_a_stream() {
    let fragments = in_fragments();
    let mut state = 1_u32;
    for at in moov_at()..fragments.len() {
        let mut damaged = fragments.clone();
        state = state.wrapping_mul(1_664_525).wrapping_add(1_013_904_223);
        damaged[at] ^= (state >> 24) as u8 | 1;
        if at % 7 == 0
            && let Ok(mut film) = film(&damaged)
        {
            _ = stream_of(&mut film);
        }
    }
}

/// The film with its description in front, and one more fragment of its picture.
fn with_fragment(run: Trun, default_sample_size: u32) -> Vec<u8> {
    let mut bytes = in_fragments();
    let tfhd = Tfhd {
        track_id: read_moov(&mut Cursor::new(FILM), FILM.len() as u64).unwrap().trak[0]
            .tkhd
            .track_id,
        base_data_offset: Some(0),
        default_sample_size: Some(default_sample_size),
        ..Tfhd::default()
    };
    let traf = Traf { tfhd, trun: vec![run], ..Traf::default() };
    let moof = Moof { mfhd: Mfhd { sequence_number: 0 }, traf: vec![traf] };
    let at = bytes.windows(4).position(|four| four == b"moof").unwrap() - 4;
    let mut first = Vec::new();
    moof.encode(&mut first).unwrap();
    bytes.splice(at..at, first);
    bytes
}

#[test]
fn regression_a_run_of_a_fragment_was_made_as_long_as_it_said() {
    for size in [0, 1] {
        let samples = TrunSamples::Inherited { count: u32::MAX, first_flags: None };
        let hostile = with_fragment(Trun { data_offset: Some(0), samples }, size);
        let error = film(&hostile).unwrap_err();
        assert!(error.contains("more samples than the file has bytes"), "{error}");
    }
    let large = vec![TrunEntry { size: Some(u32::MAX), ..TrunEntry::default() }];
    let hostile = with_fragment(Trun { data_offset: Some(0), samples: large.into() }, 0);
    assert!(film(&hostile).unwrap_err().contains("than the file has bytes"));
}

#[test]
fn regression_boxes_of_a_fragment_that_nobody_asks_for_were_made_as_large_as_they_said() {
    let mut hostile = in_fragments();
    let expected = stream_of(&mut film(&hostile).unwrap()).unwrap();
    let (mut at, more) = (moov_at(), groups_of_nothing());
    for kind in [b"moof", b"traf"] {
        at += hostile[at..].windows(4).position(|four| four == kind).unwrap();
        let size = u32::from_be_bytes(hostile[at - 4..at].try_into().unwrap()) + more.len() as u32;
        hostile[at - 4..at].copy_from_slice(&size.to_be_bytes());
    }
    hostile.splice(at + 4..at + 4, more);
    assert!(stream_of(&mut film(&hostile).unwrap()).unwrap() == expected);
    let moof = hostile.windows(4).position(|four| four == b"moof").unwrap();
    hostile[moof - 4..moof].copy_from_slice(&[0x10, 0, 0, 0]);
    assert!(film(&hostile).unwrap_err().contains("more than 16 MiB"));
    hostile[moof - 4..moof].copy_from_slice(&[0, 0xf0, 0, 0]);
    assert!(film(&hostile).unwrap_err().contains("cut short"));
}

#[test]
fn a_track_begins_as_late_as_its_edit_list_says() {
    let ahead = |film: &[u8]| {
        let packets = packets(&stream_of(&mut self::film(film).unwrap()).unwrap());
        let first = |pid| headers(&packets, pid).iter().filter_map(|it| it.pts).min().unwrap();
        first(0x101) as i64 - first(0x100) as i64
    };
    let later = with_moov(|moov| {
        let half_a_second = u64::from(moov.mvhd.timescale) / 2;
        put_off(&mut moov.trak[1], half_a_second);
    });
    assert_eq!(ahead(&later) - ahead(FILM), 45_000);
}

/// The film, of which these stretches are shown one after the other; in milliseconds.
fn cut_to(parts: &[(u64, u64)]) -> Vec<u8> {
    with_moov(|moov| {
        let per_second = u64::from(moov.mvhd.timescale);
        for trak in &mut moov.trak {
            let timescale = u64::from(trak.mdia.mdhd.timescale);
            let list = trak.edts.as_mut().and_then(|edts| edts.elst.as_mut()).unwrap();
            // What the film without cuts begins with.
            let begin = list.entries.last().unwrap().media_time.unwrap();
            let entry = |(from, until): &(u64, u64)| ElstEntry {
                segment_duration: (until - from) * per_second / 1_000,
                media_time: Some(begin + from * timescale / 1_000),
                media_rate: 1.into(),
            };
            list.entries = parts.iter().map(entry).collect();
        }
    })
}

/// When pictures, or frames of sound, are shown, in milliseconds from the first picture on.
fn shown_at(film: &[u8], pid: u16) -> Vec<i64> {
    let packets = packets(&stream_of(&mut self::film(film).unwrap()).unwrap());
    let times = |pid| headers(&packets, pid).iter().filter_map(|it| it.pts).collect::<Vec<_>>();
    let mut first = times(0x100);
    first.sort_unstable();
    let mut shown = times(pid);
    shown.sort_unstable();
    shown.iter().map(|pts| (*pts as i64 - first[0] as i64) / 90).collect()
}

#[test]
fn what_an_edit_list_cuts_off_is_not_sent() {
    let film = cut_to(&[(1_000, 2_000)]);
    let pictures = shown_at(&film, 0x100);
    let second = (0..25).map(|nth| nth * 40).collect::<Vec<_>>();
    assert_eq!(pictures[..25], second);
    let sound = shown_at(&film, 0x101);
    let (first, last) = (sound[0], *sound.last().unwrap());
    assert!((-100..=-70).contains(&first), "its decoder warms up: {first}");
    assert!((970..1_000).contains(&last), "{last}");
}

#[test]
fn a_cut_between_key_pictures_begins_with_the_one_before() {
    let pictures = shown_at(&cut_to(&[(1_400, 2_000)]), 0x100);
    assert_eq!(pictures[..25], (0..25).map(|nth| nth * 40).collect::<Vec<_>>());
}

#[test]
fn stretches_follow_each_other_as_the_edit_list_says() {
    let film = cut_to(&[(2_000, 2_800), (0, 800)]);
    let pictures = shown_at(&film, 0x100);
    let missing = (0..40).map(|nth| nth * 40).find(|time| !pictures.contains(time));
    assert_eq!(missing, None, "{pictures:?}");
    let sound = shown_at(&film, 0x101);
    let longest = sound.windows(2).map(|two| two[1] - two[0]).max().unwrap();
    assert!(longest < 40, "a frame of sound is 21 ms long, a hole {longest}");
    let mut again = self::film(&film).unwrap();
    let first = stream_of(&mut again).unwrap();
    again.rewind().unwrap();
    assert_eq!(stream_of(&mut again).unwrap().len(), first.len());
}

#[test]
fn regression_a_part_without_a_length_before_others_was_the_whole_film_and_time_stood_still() {
    let with = cut_to(&[(1_000, 1_000), (0, 800)]);
    let without = cut_to(&[(0, 800)]);
    assert!(
        stream_of(&mut film(&with).unwrap()).unwrap()
            == stream_of(&mut film(&without).unwrap()).unwrap()
    );
}

#[test]
fn an_edit_list_that_shows_nothing_or_too_much_is_refused() {
    let beyond = cut_to(&[(10_000, 11_000)]);
    let end = film(&beyond).map(|mut film| stream_of(&mut film).map(|stream| stream.len()));
    assert!(end.is_err() || end.unwrap().is_ok(), "no panic, and an end");
    let many = cut_to(&[(0, 10); 65]);
    assert!(film(&many).unwrap_err().contains("more parts than any film"));
    let walk = with_moov(|moov| {
        let list = moov.trak[0].edts.as_mut().and_then(|edts| edts.elst.as_mut()).unwrap();
        list.entries[0].media_time = Some(i64::MAX as u64);
        let tables = &mut moov.trak[0].mdia.minf.stbl;
        tables.stsz.samples = StszSamples::Identical { count: u32::MAX, size: 0 };
        tables.stts.entries = vec![SttsEntry { sample_count: u32::MAX, sample_delta: 1 }];
        tables.ctts = None;
        tables.stsc.entries[0].samples_per_chunk = u32::MAX;
    });
    let error = film(&walk).map(|mut film| stream_of(&mut film).map(drop));
    assert!(!matches!(error, Ok(Ok(()))), "it ends soon, in words");
}

/// Lets a track begin so much later, in ticks of the film.
fn put_off(trak: &mut Trak, segment_duration: u64) {
    let edits = trak.edts.get_or_insert(Edts { elst: None });
    let list = edits.elst.get_or_insert_with(|| Elst { entries: Vec::new() });
    let media_rate = 1.into();
    list.entries.insert(0, ElstEntry { segment_duration, media_time: None, media_rate });
}

#[test]
fn regression_a_picture_at_the_end_of_all_time_overflowed_the_clock() {
    let never = with_moov(|moov| put_off(&mut moov.trak[0], u64::MAX));
    let error = stream_of(&mut film(&never).unwrap()).unwrap_err().to_string();
    assert!(error.contains("beyond all bounds"), "{error}");
}
