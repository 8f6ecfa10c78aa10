//! `anabranch send` and `recv` as their users meet them: two programs, real sockets.
#![expect(clippy::unwrap_used, reason = "a test that cannot go on has failed")]

mod arguments;
mod capture;
mod dccp;
mod files;
mod harness;
mod live;
mod paths;
mod peers;
mod terminal;
mod trace;
