//! Messages that arrive at a receiver.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::media::playout(bytes));
