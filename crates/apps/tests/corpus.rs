//! Replays the fuzzing corpus.

use std::io;

#[path = "../../../fuzz/src/apps.rs"]
#[expect(unreachable_pub, reason = "the fuzz crate exports this module to its targets")]
mod checks;
#[path = "../../../fuzz/src/replay.rs"]
#[expect(unreachable_pub, reason = "the tests of several crates share it")]
mod replay;

use replay::replay;

#[test]
fn films_of_the_corpus_pass_the_fuzz_targets() -> io::Result<()> {
    replay("apps_mp4", checks::film)?;
    replay("apps_matroska", checks::matroska)
}

#[test]
fn lists_of_channels_of_the_corpus_pass_the_fuzz_targets() -> io::Result<()> {
    replay("apps_playlist", checks::playlist)?;
    replay("apps_channels", checks::channels)
}
