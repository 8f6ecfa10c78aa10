//! Bundles of DCCP connections over a network that loses packets, beside a stranger.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::dccp::bundle(bytes));
