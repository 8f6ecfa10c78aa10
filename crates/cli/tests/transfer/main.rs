//! `anabranch send` and `recv` as their users meet them: two programs, real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod arguments;
mod capture;
mod certificates;
mod dccp;
mod files;
mod harness;
#[path = "../../../keys/tests/associations/issuer.rs"]
#[expect(dead_code, reason = "the tests of several crates share it")]
mod issuer;
mod live;
mod output;
mod paths;
mod peers;
mod terminal;
mod trace;
