//! The committed clip and its score table: what the demo relies on.

use anabranch_media::clip::{
    AUDIO_TRACK, Clip, ClipUnit, FrameAssembler, Picture, Shown, VIDEO_TRACK, superframe,
};
use anabranch_media::psnr::{PsnrScore, PsnrTable};
use anabranch_media::{Class, Layer};
use anabranch_sansio::Rng;
use bytes::Bytes;

const CLIP: &[u8] = include_bytes!("../../../assets/clip/big-buck-bunny.anaclip");
const PSNR: &[u8] = include_bytes!("../../../assets/clip/big-buck-bunny.psnr");

const FRAMES: u64 = 132;
const KEY_INTERVAL: u64 = 12;
const BYTES_MAX: usize = 4_500_000;

/// As assets/clip/make/README.md reports them.
const BASE_DB: f64 = 33.195;
const FULL_DB: f64 = 39.362;

fn clip() -> Clip {
    Clip::decode(&Bytes::from_static(CLIP)).expect("the committed clip obeys its format")
}

fn table() -> PsnrTable {
    PsnrTable::decode(PSNR).expect("the committed table obeys its format")
}

fn video(clip: &Clip, layer: u8) -> Vec<&ClipUnit> {
    let of_layer = |unit: &&ClipUnit| unit.track == VIDEO_TRACK && unit.layer == Layer(layer);
    clip.units().iter().filter(of_layer).collect()
}

#[test]
fn clip_is_whole_small_and_attributed() {
    const { assert!(CLIP.len() <= BYTES_MAX) };
    let clip = clip();
    assert_eq!(clip.encode(), CLIP);
    assert_eq!((clip.frames(VIDEO_TRACK), clip.frames(AUDIO_TRACK)), (FRAMES, 2 * FRAMES));
    let header = clip.header();
    assert_eq!((header.video.width, header.video.height, header.video.layers), (1280, 720, 2));
    assert_eq!(header.video.fps(), 25.0);
    assert_eq!(header.loop_duration_us, 5_280_000);
    let owner = "(c) 2008 Blender Foundation, www.bigbuckbunny.org";
    assert_eq!(header.attribution.text, owner);
}

#[test]
fn pictures_have_two_layers_and_a_key_frame_every_half_second() {
    let clip = clip();
    let (base, enhancement) = (video(&clip, 0), video(&clip, 1));
    assert_eq!((base.len() as u64, enhancement.len() as u64), (FRAMES, FRAMES));
    for (frame, unit) in (0..).zip(base) {
        let is_key = frame % KEY_INTERVAL == 0;
        let class = if is_key { Class::KeyFrame } else { Class::Reference };
        assert_eq!((unit.frame, unit.class), (frame, class));
    }
    assert!(enhancement.iter().all(|unit| unit.class == Class::Disposable));
}

#[test]
fn sound_lasts_exactly_as_long_as_the_picture() {
    let clip = clip();
    for track in [VIDEO_TRACK, AUDIO_TRACK] {
        let last = clip.units().iter().rfind(|unit| unit.track == track).unwrap();
        let end_us = last.pts_us + u64::from(last.duration_us);
        assert_eq!(end_us, clip.header().loop_duration_us, "{track}");
    }
}

/// Nothing that is decoded later can depend on an enhancement: it fills no reference slot, and no
/// picture takes over entropy contexts or motion vectors from the one decoded before it.
#[test]
fn nothing_is_predicted_from_an_enhancement() {
    let clip = clip();
    for unit in video(&clip, 0) {
        let header = Vp9Header::parse(&unit.bytes);
        let is_key = unit.class == Class::KeyFrame;
        let refreshed = if is_key { 0xff } else { 0x01 };
        let expected = Vp9Header { is_key, shown: true, error_resilient: true, refreshed };
        assert_eq!(header, expected, "base {}", unit.frame);
    }
    for unit in video(&clip, 1) {
        let header = Vp9Header::parse(&unit.bytes);
        let expected =
            Vp9Header { is_key: false, shown: true, error_resilient: true, refreshed: 0 };
        assert_eq!(header, expected, "enhancement {}", unit.frame);
    }
}

/// A decoder looks for a superframe's index at the end of a chunk. No frame may end like one, and
/// the index of ours must give back both frames.
#[test]
fn superframes_are_found_from_their_end_and_single_frames_are_not_mistaken_for_them() {
    let clip = clip();
    for (base, enhancement) in video(&clip, 0).into_iter().zip(video(&clip, 1)) {
        assert_eq!(split_superframe(&base.bytes), None);
        assert_eq!(split_superframe(&enhancement.bytes), None);
        let chunk = superframe(&base.bytes, Some(&enhancement.bytes));
        assert_eq!(split_superframe(&chunk), Some((&base.bytes[..], &enhancement.bytes[..])));
    }
}

#[test]
fn whole_reception_scores_the_full_quality_and_base_alone_that_of_the_base() {
    for (drop_percent, expected_db, full) in [(0, FULL_DB, 264), (100, BASE_DB, 0)] {
        let (score, assembler) = play(drop_percent, 0);
        let mean_db = score.mean_db().unwrap();
        assert!((mean_db - expected_db).abs() < 0.001, "{mean_db}");
        assert_eq!((score.frames(), assembler.counts().shown), (264, 264));
        assert_eq!(assembler.counts().full, full);
    }
}

#[test]
fn losses_cost_quality_by_what_they_hit() {
    let mean_db = |enhancements, bases| play(enhancements, bases).0.mean_db().unwrap();
    let (some_enhancements, some_bases) = (mean_db(10, 0), mean_db(0, 10));
    assert!((38.0..FULL_DB).contains(&some_enhancements), "{some_enhancements}");
    assert!((20.0..some_enhancements - 2.0).contains(&some_bases), "{some_bases}");
}

#[test]
fn refinement_helps_every_picture() {
    let table = table();
    assert_eq!((table.frames(), table.layers()), (FRAMES, 2));
    for frame in 0..FRAMES {
        let (base, full) = (table.psnr(frame, at(frame, 0)), table.psnr(frame, at(frame, 1)));
        assert!(full > base + 5.0, "{frame}: {base} and {full} dB");
    }
}

#[test]
fn the_longer_a_picture_is_frozen_the_worse_it_fits() {
    let table = table();
    let mean_after = |frames_ago: u64| {
        let mut score = PsnrScore::default();
        for frame in frames_ago..FRAMES {
            score.add(&table, frame, at(frame - frames_ago, 1));
        }
        score.mean_db().unwrap()
    };
    let means = [0, 1, 2, 5, 12, 25].map(mean_after);
    assert!(means.is_sorted_by(|a, b| a > b), "{means:?}");
    for frame in 0..FRAMES {
        // In a moment of rest a neighbour may be coded better by a hair.
        let own = table.psnr(frame, at(frame, 1)) + 0.01;
        assert!((1..FRAMES).all(|ago| own > table.psnr(frame, at(frame + ago, 1))), "{frame}");
        assert!(table.psnr(frame, None) < 8.0, "{frame}: black");
    }
}

fn at(frame: u64, layer: u8) -> Option<Picture> {
    Some(Picture { frame, layer: Layer(layer) })
}

/// Plays two rounds of which a share of the enhancements and of the bases is lost.
fn play(lost_enhancements_percent: u32, lost_bases_percent: u32) -> (PsnrScore, FrameAssembler) {
    let (clip, table) = (clip(), table());
    let mut rng = Rng::from_u64(7);
    let mut assembler = FrameAssembler::new(2, 0);
    let mut score = PsnrScore::default();
    for unit in clip.looped().take(2 * clip.units().len()) {
        let percent =
            if unit.layer == Layer::BASE { lost_bases_percent } else { lost_enhancements_percent };
        let is_lost = rng.chance(f64::from(percent) / 100.0);
        if unit.track == VIDEO_TRACK && !is_lost {
            assembler.on_unit(unit.frame, unit.layer, unit.class);
        }
    }
    for frame in 0..2 * FRAMES {
        let shown = assembler.play();
        assert!(!matches!(shown, Shown::New(picture) if picture.frame != frame));
        score.add(&table, frame, shown.picture());
    }
    (score, assembler)
}

/// What the uncompressed header of a VP9 frame says about prediction.
#[derive(Debug, PartialEq)]
struct Vp9Header {
    is_key: bool,
    shown: bool,
    error_resilient: bool,
    /// Bit n: the frame is stored in reference slot n.
    refreshed: u8,
}

impl Vp9Header {
    /// VP9 bitstream specification, section 6.2, for profile 0.
    fn parse(frame: &[u8]) -> Self {
        let first = frame[0];
        assert_eq!(first >> 3, 0b1_0000, "frame_marker, profile 0, no show_existing_frame");
        let is_key = first & 0b100 == 0;
        let (shown, error_resilient) = (first & 0b10 != 0, first & 1 != 0);
        // A shown frame with error resilience has neither intra_only nor reset_frame_context.
        let refreshed = if is_key { 0xff } else { frame[1] };
        Self { is_key, shown, error_resilient, refreshed }
    }
}

/// Takes a chunk apart as VP9's annex B says, if it ends in an index of two frames.
fn split_superframe(chunk: &[u8]) -> Option<(&[u8], &[u8])> {
    let marker = *chunk.last()?;
    if marker & 0b1110_0111 != 0b1100_0001 {
        return None;
    }
    let length_bytes = usize::from(marker >> 3 & 3) + 1;
    let (frames, index) = chunk.split_at_checked(chunk.len() - 2 - 2 * length_bytes)?;
    if index[0] != marker {
        return None;
    }
    let length = |bytes: &[u8]| bytes.iter().rfold(0, |sum, byte| sum << 8 | usize::from(*byte));
    let (first, second) = index[1..1 + 2 * length_bytes].split_at(length_bytes);
    assert_eq!(length(first) + length(second), frames.len());
    Some(frames.split_at(length(first)))
}
