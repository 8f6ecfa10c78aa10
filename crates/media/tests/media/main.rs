//! Whole transport streams through sender and receiver, and against other parsers.

#![expect(clippy::unwrap_used, reason = "a helper that fails ends its test, as an assertion does")]

mod classes;
mod corpus;
mod referee;
mod transfer;
mod world;
