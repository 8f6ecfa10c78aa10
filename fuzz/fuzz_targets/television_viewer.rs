//! Whatever a server says to a viewer.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::television::viewer(bytes));
