//! Checks of `anabranch-media`'s clip: what decodes obeys its rules, and an assembler accounts for
//! every picture whatever arrives.

use std::fmt::Display;

use anabranch_media::clip::{Clip, FrameAssembler, LATE_WINDOW_FRAMES, Picture, Shown};
use anabranch_media::psnr::{PSNR_MAX_DB, PsnrTable};
use anabranch_media::{Class, Layer};
use bytes::Bytes;

/// Checks `bytes` as a clip's file.
pub fn clip(bytes: &[u8]) {
    let file = Bytes::copy_from_slice(bytes);
    let Some(clip) = shown(Clip::decode(&file)) else { return };
    assert_eq!(clip.encode(), file);

    let rounds = 3;
    let units: Vec<_> = clip.looped().take(rounds * clip.units().len()).collect();
    assert!(units.is_sorted_by_key(|unit| unit.pts_us));
    let last = units.last().expect("a clip has at least one unit");
    assert!(last.pts_us < rounds as u64 * clip.header().loop_duration_us);
    for unit in &units {
        assert!(unit.frame < rounds as u64 * clip.frames(unit.track));
    }
}

/// Checks `bytes` as a table of scores.
pub fn psnr_table(bytes: &[u8]) {
    let Some(table) = shown(PsnrTable::decode(bytes)) else { return };
    for frame in [0, 1, table.frames(), u64::MAX] {
        for layer in [0, 1, u8::MAX] {
            let picture = Picture { frame: frame / 2, layer: Layer(layer) };
            let values = [table.psnr(frame, Some(picture)), table.psnr(frame, None)];
            assert!(values.iter().all(|value| (0.0..=PSNR_MAX_DB).contains(value)));
        }
    }
}

/// Takes the first byte as the number of layers, each further pair as a command: a unit of some
/// picture near the play time arrives, or a play time comes.
pub fn frame_assembler(bytes: &[u8]) {
    let Some((&layers, commands)) = bytes.split_first() else { return };
    let first = LATE_WINDOW_FRAMES + 10;
    let mut assembler = FrameAssembler::new(layers, first);
    let (commands, _) = commands.as_chunks::<2>();
    for &[what, distance] in commands {
        let counts = assembler.counts();
        let next = assembler.next_frame();
        if what & 0x80 != 0 {
            check_play(&mut assembler);
            assert_eq!(assembler.counts().played(), counts.played() + 1);
            continue;
        }
        let frame = next.saturating_add_signed(i64::from(distance.cast_signed()));
        let class = [Class::KeyFrame, Class::Reference, Class::Disposable][usize::from(what % 3)];
        assembler.on_unit(frame, Layer(what >> 4), class);
        assert_eq!(assembler.counts().played(), counts.played());
        assert_eq!(assembler.counts().shown, counts.shown);
    }
    assert_eq!(assembler.next_frame() - first, assembler.counts().played());
}

fn check_play(assembler: &mut FrameAssembler) {
    let (frame, before) = (assembler.next_frame(), assembler.counts());
    let shown = assembler.play();
    let after = assembler.counts();
    match shown {
        Shown::New(picture) => {
            assert_eq!((picture.frame, after.shown), (frame, before.shown + 1));
        }
        Shown::Frozen(picture) => {
            assert_eq!(after.shown, before.shown);
            assert_eq!(picture.is_some(), after.shown > 0);
            assert!(picture.is_none_or(|picture| picture.frame < frame));
        }
    }
}

/// Formats an error, as a user would see it.
fn shown<T, E: Display>(decoded: Result<T, E>) -> Option<T> {
    decoded.inspect_err(|error| assert!(!error.to_string().is_empty())).ok()
}
