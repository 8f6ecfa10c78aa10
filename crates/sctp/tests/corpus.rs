//! Replays the fuzzing corpus.

use std::io;

use anabranch_sansio::Rng;

#[path = "../../../fuzz/src/sctp.rs"]
#[expect(unreachable_pub, reason = "the fuzz crate exports this module to its targets")]
mod checks;
#[path = "../../../fuzz/src/replay.rs"]
#[expect(unreachable_pub, reason = "the tests of several crates share it")]
mod replay;

use replay::replay;

#[test]
fn scripts_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("sctp_peer", checks::peer)
}

#[test]
fn arrivals_of_the_corpus_are_read_once_and_in_order() -> io::Result<()> {
    replay("sctp_receive_queue", checks::receive_queue)
}

/// Scripts of all lengths that nobody wrote.
#[test]
fn arrivals_at_random_are_read_once_and_in_order() {
    for seed in 0..300 {
        let mut rng = Rng::from_u64(seed);
        let len = rng.range(0..600);
        let script: Vec<u8> = (0..len).map(|_| rng.next_u32() as u8).collect();
        checks::receive_queue(&script);
    }
}
