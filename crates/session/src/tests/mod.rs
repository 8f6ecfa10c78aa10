//! Sessions over simulated networks, in virtual time.

mod dccp;
mod harness;
mod layered;
mod media;
mod peers;
mod plain;
mod seam;
