//! Units that arrive in any order, too late or never.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::clip::frame_assembler(bytes));
