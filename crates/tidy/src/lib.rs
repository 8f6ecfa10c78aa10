//! The repository's own rules, as tests: what formatters and linters miss.
//!
//! Each module is a rule or a few of one kind: a pure function that finds faults in a text, a
//! test that it does, and a test that the repository has none.
#![cfg(test)]

mod addresses;
mod circles;
mod citations;
mod files;
mod functions;
mod fuzzing;
mod markers;
mod modules;
mod packages;
mod text;
