//! Two ends of a multipath connection of DCCP, and what a network does to it.

#![no_main]

use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| anabranch_fuzz::multipath::multipath(bytes));
