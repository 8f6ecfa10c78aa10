//! Packets are lost.

use std::time::Duration;

use anabranch_sansio::Rate;

use crate::harness::{Talk, link};

/// One path: a lost frame comes again with the next one, and once it is missed.
#[test]
fn at_5_percent_loss_under_a_tenth_of_a_percent_of_voice_is_concealed() {
    let (mut concealed, mut all) = (0, 0);
    for seed in 0..5 {
        let mut talk = Talk::begun(seed, &[link(Rate::mbps(5), 50, 0.05)]);
        talk.run_for(Duration::from_secs(60));
        for person in [&talk.client, &talk.server] {
            concealed += person.concealed.len() as u64;
            all += person.heard.len() as u64 + person.concealed.len() as u64;
            assert_eq!(person.late(Duration::from_millis(50 + 250)), 0);
        }
    }
    assert!(concealed * 1_000 < all, "{concealed} of {all}");
}

#[test]
fn with_a_second_path_voice_hears_nothing_of_10_percent_loss() {
    let (mut concealed, mut all) = (0, 0);
    for seed in 1..6 {
        let links = [link(Rate::mbps(5), 25, 0.1), link(Rate::mbps(5), 25, 0.1)];
        let mut talk = Talk::begun(seed, &links);
        talk.run_for(Duration::from_secs(30));
        for person in [&talk.client, &talk.server] {
            all += person.heard.len();
            concealed += person.concealed.len();
            assert_eq!(person.late(Duration::from_millis(25 + 250)), 0);
        }
    }
    assert!(concealed * 500 < all, "{concealed} of {all}");
}
