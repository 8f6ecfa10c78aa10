//! Segments from the network, and a connection that takes them.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::tcp::segments(bytes));
