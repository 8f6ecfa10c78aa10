//! Replays the fuzzing corpus of the clip.

use std::io;

#[path = "../../../fuzz/src/clip.rs"]
#[expect(unreachable_pub, reason = "the fuzz crate exports this module to its targets")]
mod checks;
#[path = "../../../fuzz/src/replay.rs"]
#[expect(unreachable_pub, reason = "the tests of several crates share it")]
mod replay;

use replay::replay;

#[test]
fn clips_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("media_clip", checks::clip)
}

#[test]
fn tables_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("media_psnr_table", checks::psnr_table)
}

#[test]
fn arrivals_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("media_frame_assembler", checks::frame_assembler)
}
