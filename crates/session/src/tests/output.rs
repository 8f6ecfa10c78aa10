//! An output that is slower than the stream.

use anabranch_sansio::Rate;

use super::harness::{STREAM, Setup, link};
use crate::treatment::Preset;

#[test]
fn where_nothing_is_given_up_a_slow_reader_gets_it_all_later() {
    let mut studio = Setup::new(&[link(30, 15, 0.01)], Preset::Reliable, 100).build();
    studio.output_rate = Some(Rate::kbps(150));
    studio.transfer();
    assert!(studio.out == STREAM, "{} of {}", studio.out.len(), STREAM.len());
}
