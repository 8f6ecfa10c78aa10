//! The format: round trips, and one broken rule at a time.

use super::*;

fn header() -> ClipHeader {
    ClipHeader {
        title: "A clip".into(),
        video: VideoFormat {
            codec: "vp09.00.40.08".into(),
            width: 64,
            height: 32,
            frame_rate_numerator: 25,
            frame_rate_denominator: 1,
            layers: 2,
        },
        audio: AudioFormat { codec: "opus".into(), sample_rate: 48_000, channels: 2 },
        attribution: Attribution {
            text: "© somebody".into(),
            url: "https://example.org".into(),
            license: "CC BY 3.0".into(),
            license_url: "https://creativecommons.org/licenses/by/3.0/".into(),
        },
        loop_duration_us: 80_000,
    }
}

fn video(frame: u64, layer: u8, class: Class) -> ClipUnit {
    ClipUnit {
        track: VIDEO_TRACK,
        layer: Layer(layer),
        class,
        frame,
        pts_us: frame * 40_000,
        duration_us: 40_000,
        bytes: Bytes::from(vec![frame as u8, layer]),
    }
}

fn audio(frame: u64) -> ClipUnit {
    ClipUnit {
        track: AUDIO_TRACK,
        layer: Layer::BASE,
        class: Class::Audio,
        frame,
        pts_us: frame * 20_000,
        duration_us: 20_000,
        bytes: Bytes::from_static(b"sound"),
    }
}

/// Two pictures of two layers and four frames of sound: one round.
fn units() -> Vec<ClipUnit> {
    vec![
        video(0, 0, Class::KeyFrame),
        video(0, 1, Class::Disposable),
        audio(0),
        audio(1),
        video(1, 0, Class::Reference),
        video(1, 1, Class::Disposable),
        audio(2),
        audio(3),
    ]
}

fn clip() -> Clip {
    Clip::new(header(), units()).unwrap()
}

fn broken(change: impl FnOnce(&mut ClipHeader, &mut Vec<ClipUnit>)) -> ClipError {
    let (mut header, mut units) = (header(), units());
    change(&mut header, &mut units);
    Clip::new(header, units).unwrap_err()
}

#[test]
fn what_is_written_is_read_again() {
    let file = Bytes::from(clip().encode());
    assert_eq!(Clip::decode(&file), Ok(clip()));
}

#[test]
fn every_shorter_file_is_truncated() {
    let file = Bytes::from(clip().encode());
    for len in 0..file.len() {
        let error = Clip::decode(&file.slice(..len)).unwrap_err();
        assert!(matches!(error, ClipError::Truncated { .. }), "{len} bytes: {error}");
    }
    let longer = Bytes::from([&file[..], &[0]].concat());
    assert_eq!(Clip::decode(&longer), Err(ClipError::TrailingBytes { count: 1 }));
}

#[test]
fn any_changed_byte_gives_a_clip_or_an_error() {
    let file = clip().encode();
    for place in 0..file.len() {
        for change in [0x01, 0x80, 0xff] {
            let mut file = file.clone();
            file[place] ^= change;
            let file = Bytes::from(file);
            if let Ok(clip) = Clip::decode(&file) {
                assert_eq!(clip.encode(), file, "byte {place}");
            }
        }
    }
}

#[test]
fn other_files_and_versions_are_told_apart() {
    let mut file = clip().encode();
    file[7] = 2;
    assert_eq!(Clip::decode(&file.clone().into()), Err(ClipError::TooNew { version: 2 }));
    file[7] = 0;
    assert_eq!(Clip::decode(&file.into()), Err(ClipError::WrongMagic));
    assert_eq!(Clip::decode(&Bytes::from_static(b"RIFF")), Err(ClipError::WrongMagic));
}

#[test]
fn a_count_beyond_the_file_reserves_no_memory_for_it() {
    let mut file = clip().encode();
    let units: usize = units().iter().map(|unit| 23 + unit.bytes.len()).sum();
    let count = file.len() - units - 4;
    file[count..count + 4].copy_from_slice(&(CLIP_UNITS_MAX as u32).to_be_bytes());
    let error = Clip::decode(&file.clone().into()).unwrap_err();
    assert!(matches!(error, ClipError::Truncated { what: "a unit's track", .. }), "{error}");
    file[count..count + 4].copy_from_slice(&(CLIP_UNITS_MAX as u32 + 1).to_be_bytes());
    let error = ClipError::TooManyUnits { count: CLIP_UNITS_MAX + 1 };
    assert_eq!(Clip::decode(&file.into()), Err(error));
}

#[test]
fn loop_goes_on_counting_frames_and_time() {
    let clip = clip();
    let mut looped = clip.looped();
    let three: Vec<_> = looped.by_ref().take(24).collect();
    assert_eq!(looped.round(), 2);
    assert_eq!(three[..8], units());
    for (first, third) in three[..8].iter().zip(&three[16..]) {
        assert_eq!(third.frame, first.frame + 2 * clip.frames(first.track));
        assert_eq!(third.pts_us, first.pts_us + 160_000);
        assert_eq!((third.class, &third.bytes), (first.class, &first.bytes));
    }
    assert!(three.is_sorted_by_key(|unit| unit.pts_us));
}

#[test]
fn a_sender_hands_units_over_with_the_time_at_which_they_came() {
    let at = Time::from_millis(540);
    let unit = video(1, 1, Class::Disposable).into_unit(at, 2);
    assert_eq!((unit.at, unit.pts_us, unit.frame), (at, 40_000, 1));
    assert!(unit.last_layer);
    assert!(!video(1, 0, Class::Reference).into_unit(at, 2).last_layer);
    assert_eq!((unit.track, unit.layer, unit.class), (VIDEO_TRACK, Layer(1), Class::Disposable));
}

#[test]
fn header_numbers_have_ranges() {
    let zero = broken(|header, _| header.video.width = 0);
    assert_eq!(zero, ClipError::OutOfRange { what: "width", value: 0, max: 65_535 });
    let layers = broken(|header, _| header.video.layers = 9);
    assert_eq!(layers, ClipError::OutOfRange { what: "number of layers", value: 9, max: 8 });
    let long = broken(|header, _| header.title = "x".repeat(1025));
    assert_eq!(long, ClipError::TextTooLong { what: "title", len: 1025 });
}

#[test]
fn texts_are_utf8() {
    let mut file = clip().encode();
    let title = file.windows(6).position(|window| window == b"A clip").unwrap();
    file[title] = 0xff;
    assert_eq!(Clip::decode(&file.into()), Err(ClipError::NotUtf8 { what: "title" }));
}

#[test]
fn units_suit_their_track() {
    let long = broken(|_, units| units[2].bytes = vec![0; CLIP_UNIT_BYTES_MAX + 1].into());
    assert_eq!(long, ClipError::UnitLength { unit: 2, len: CLIP_UNIT_BYTES_MAX + 1 });
    let empty = broken(|_, units| units[0].bytes = Bytes::new());
    assert_eq!(empty, ClipError::UnitLength { unit: 0, len: 0 });
    let track = broken(|_, units| units[3].track = Track(2));
    assert_eq!(track, ClipError::UnknownTrack { unit: 3, track: 2 });
    let sound = broken(|_, units| units[3].class = Class::Reference);
    assert_eq!(sound, ClipError::UnitClass { unit: 3, track: 1, layer: 0, class: 3 });
    let key = broken(|_, units| units[5].class = Class::KeyFrame);
    assert_eq!(key, ClipError::UnitClass { unit: 5, track: 0, layer: 1, class: 1 });
}

#[test]
fn units_follow_each_other() {
    let out_of_sequence = |unit, frame, layer, frame_before, layer_before| {
        ClipError::OutOfSequence { unit, frame, layer, frame_before, layer_before }
    };
    let layer = broken(|_, units| units[1].layer = Layer(2));
    assert_eq!(layer, out_of_sequence(1, 0, 2, 0, 0));
    let beyond = broken(|header, _| header.video.layers = 1);
    assert_eq!(beyond, out_of_sequence(1, 0, 1, 0, 0));
    let no_base = broken(|_, units| drop(units.remove(4)));
    assert_eq!(no_base, out_of_sequence(4, 1, 1, 0, 1));
    let sound = broken(|_, units| drop(units.remove(3)));
    assert_eq!(sound, out_of_sequence(5, 2, 0, 0, 0));
    let start = broken(|_, units| units[0].class = Class::Reference);
    assert_eq!(start, ClipError::WrongStart { unit: 0 });
    let silent = broken(|_, units| units.retain(|unit| unit.track == AUDIO_TRACK));
    assert_eq!(silent, ClipError::NoPicture);
}

#[test]
fn units_are_interleaved_by_time_last_some_and_end_within_the_round() {
    let back = broken(|_, units| units[4].pts_us = 10_000);
    let error = ClipError::TimeGoesBack { unit: 4, pts_us: 10_000, before_us: 20_000 };
    assert_eq!(back, error);
    let nothing = broken(|_, units| units[7].duration_us = 0);
    assert_eq!(nothing, ClipError::NoDuration { unit: 7 });
    let beyond = broken(|_, units| units[7].duration_us = 20_001);
    let error = ClipError::BeyondRound { unit: 7, end_us: 80_001, round_us: 80_000 };
    assert_eq!(beyond, error);
}
