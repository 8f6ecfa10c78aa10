//! Whatever the other end of a call says, and those who call beside it.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::call::control(bytes));
