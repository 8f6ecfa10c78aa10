//! A DTLS chunk from the network, and what is sealed as one.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::keys::chunk(bytes));
