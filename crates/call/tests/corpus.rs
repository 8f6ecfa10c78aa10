//! Replays the fuzzing corpus.

use std::io;

#[path = "../../../fuzz/src/call.rs"]
#[expect(unreachable_pub, reason = "the fuzz crate exports this module to its targets")]
mod checks;
#[path = "../../../fuzz/src/replay.rs"]
#[expect(unreachable_pub, reason = "the tests of several crates share it")]
mod replay;
#[path = "../../../fuzz/src/script.rs"]
mod script;

use replay::replay;

#[test]
fn scripts_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("call_control", checks::control)
}
