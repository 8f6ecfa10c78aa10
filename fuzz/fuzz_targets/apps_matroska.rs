//! A Matroska or WebM file that becomes a transport stream.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::apps::matroska(bytes));
