//! A packet from the network, with all it may hold.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::wire::packet(bytes));
