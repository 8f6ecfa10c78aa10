//! Replays the fuzzing corpus of pieces, streams and playout.

use std::path::Path;

#[expect(unreachable_pub, reason = "the fuzz targets reach it as a module of their crate")]
#[path = "../../../../fuzz/src/media.rs"]
mod checks;

#[test]
fn pieces_of_the_corpus_pass_the_fuzz_target() {
    replay("media_piece", checks::piece);
}

#[test]
fn streams_of_the_corpus_pass_the_fuzz_target() {
    replay("media_transport_stream", checks::transport_stream);
}

#[test]
fn arrivals_of_the_corpus_pass_the_fuzz_target() {
    replay("media_playout", checks::playout);
}

#[track_caller]
fn replay(target: &str, check: impl Fn(&[u8])) {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/corpus").join(target);
    let files: Vec<_> = std::fs::read_dir(&folder).unwrap().map(|entry| entry.unwrap()).collect();
    assert!(!files.is_empty(), "{} is empty", folder.display());
    for file in files {
        check(&std::fs::read(file.path()).unwrap());
    }
}
