//! Frames of sessions over DCCP, and a transport that takes them.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::transport::dccp(bytes));
