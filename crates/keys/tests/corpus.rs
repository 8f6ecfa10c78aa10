//! Replays the fuzzing corpora.

use std::io;

#[path = "../../../fuzz/src/keys.rs"]
#[expect(unreachable_pub, reason = "the fuzz crate exports this module to its targets")]
mod checks;
#[path = "../../../fuzz/src/replay.rs"]
#[expect(unreachable_pub, reason = "the tests of several crates share it")]
mod replay;

use replay::replay;

#[test]
fn chunks_in_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("keys_chunk", checks::chunk)
}

#[test]
fn messages_in_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("keys_messages", checks::messages)
}
