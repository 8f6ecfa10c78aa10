//! A configuration record, and a temporal unit, of AV1.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::codec::av1(bytes));
