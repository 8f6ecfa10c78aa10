//! Sessions over simulated networks, in virtual time.

mod dccp;
mod film;
mod harness;
mod layered;
mod media;
mod output;
mod peers;
mod plain;
mod seam;
mod standstill;
