//! What arrives in any order and any number of times at a receiver that is read rarely.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::sctp::receive_queue(bytes));
