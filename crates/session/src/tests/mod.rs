//! Sessions over simulated networks, in virtual time, and each in milliseconds: what takes longer
//! is in `tests/experiments`.

mod dccp;
mod harness;
mod media;
mod mishaps;
mod output;
mod peers;
mod plain;
mod seam;
