//! DCCP packets from the network, and an endpoint that takes them.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::dccp::connection(bytes));
