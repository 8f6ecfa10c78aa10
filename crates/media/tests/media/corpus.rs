//! Replays the fuzzing corpus of pieces, streams and playout.

use std::io;

#[expect(unreachable_pub, reason = "the fuzz targets reach it as a module of their crate")]
#[path = "../../../../fuzz/src/media.rs"]
mod checks;
#[path = "../../../../fuzz/src/codec.rs"]
#[expect(unreachable_pub, reason = "the fuzz crate exports this module to its targets")]
mod codecs;
#[path = "../../../../fuzz/src/replay.rs"]
#[expect(unreachable_pub, reason = "the tests of several crates share it")]
mod replay;

use replay::replay;

#[test]
fn pieces_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("media_piece", checks::piece)
}

#[test]
fn streams_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("media_transport_stream", checks::transport_stream)
}

#[test]
fn arrivals_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("media_playout", checks::playout)
}

#[test]
fn pictures_of_the_corpus_pass_the_fuzz_targets() -> io::Result<()> {
    replay("media_vp9", codecs::vp9)?;
    replay("media_av1", codecs::av1)
}
