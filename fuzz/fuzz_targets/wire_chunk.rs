//! One chunk of a chosen type.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::wire::chunk(bytes));
