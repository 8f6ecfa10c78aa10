//! A transport stream on its way into pieces.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::media::transport_stream(bytes));
