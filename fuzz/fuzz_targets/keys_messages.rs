//! Messages about keys between two ends, altered, lost and made up.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::keys::messages(bytes));
