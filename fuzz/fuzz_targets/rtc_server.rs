//! Whoever reaches the UDP port for browsers, or posts an offer.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::rtc::server(bytes));
