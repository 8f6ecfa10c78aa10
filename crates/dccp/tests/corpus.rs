//! Replays the fuzzing corpus.

use std::io;

#[path = "../../../fuzz/src/dccp.rs"]
#[expect(unreachable_pub, reason = "the fuzz crate exports this module to its targets")]
mod checks;
#[path = "../../../fuzz/src/multipath.rs"]
#[expect(unreachable_pub, reason = "the fuzz crate exports this module to its targets")]
mod multipath;
#[path = "../../../fuzz/src/replay.rs"]
#[expect(unreachable_pub, reason = "the tests of several crates share it")]
mod replay;

use replay::replay;

#[test]
fn connections_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("dccp_connection", checks::connection)
}

#[test]
fn packets_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("dccp_packet", checks::packet)
}

#[test]
fn multipath_connections_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("dccp_multipath", multipath::multipath)
}

#[test]
fn bundles_of_the_corpus_pass_the_fuzz_target() -> io::Result<()> {
    replay("dccp_bundle", checks::bundle)
}
