//! An MP4 or QuickTime file that becomes a transport stream.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::apps::film(bytes));
