//! Whatever a viewer says to a server.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::television::server(bytes));
