//! A playlist that channels are taken from.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::apps::playlist(bytes));
