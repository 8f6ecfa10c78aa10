//! Replays the fuzzing corpora.

use std::io;

#[path = "../../../fuzz/src/television.rs"]
#[expect(unreachable_pub, reason = "the fuzz crate exports this module to its targets")]
mod checks;
#[path = "../../../fuzz/src/replay.rs"]
#[expect(unreachable_pub, reason = "the tests of several crates share it")]
mod replay;
#[path = "../../../fuzz/src/script.rs"]
mod script;

use replay::replay;

#[test]
fn what_viewers_say_in_the_corpus_passes_the_fuzz_target() -> io::Result<()> {
    replay("television_server", checks::server)
}

#[test]
fn what_servers_say_in_the_corpus_passes_the_fuzz_target() -> io::Result<()> {
    replay("television_viewer", checks::viewer)
}
