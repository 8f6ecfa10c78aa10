//! A peer that sends what it likes, and a user who does what it likes.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::sctp::peer(bytes));
