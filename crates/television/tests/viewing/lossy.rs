//! A browser whose network loses packets and has little more room than its channel takes.

use std::collections::BTreeMap;

use anabranch_media::Class;
use anabranch_netsim::{LinkConfig, Loss};
use anabranch_sansio::Time;

use crate::broadcast::Programming;
use crate::harness::{SECOND, link};
use crate::lounge::{Got, Lounge};

/// 6.5 Mbit/s: a key frame of 120 kB every two seconds.
const SIX_MBPS: Programming = Programming { key: 120_000, base: 30_500, enhancement: 0 };

/// Pictures that came whole, of those that the server had since then, in percent.
fn whole_pictures(lounge: &Lounge, from: Time) -> u128 {
    let mut pictures = BTreeMap::<u64, (u64, Option<u64>)>::new();
    for (_, got) in &lounge.got {
        if let Got::Media(_, media) = got
            && let header = &media.header
            && header.class != Class::Audio
            && header.first_at() >= from
        {
            let (parts, of) = pictures.entry(header.frame).or_default();
            *parts += 1;
            *of = of.or(header.last.then_some(header.index + 1));
        }
    }
    let whole = pictures.values().filter(|(parts, of)| Some(*parts) == *of).count();
    let sent = (lounge.now() - from).as_millis() / 40;
    100 * whole as u128 / sent
}

/// Of 8 Mbit/s with a round trip of 50 ms.
fn network(loss: Loss) -> LinkConfig {
    LinkConfig { loss, ..link(8, 25, 0.0) }
}

#[test]
fn three_packets_of_a_hundred_lost_cost_a_browser_little_of_a_channel_that_just_fits() {
    let mut lounge = Lounge::new(1, network(Loss::uniform(0.03)));
    let channel = lounge.add(1, SIX_MBPS);
    lounge.run_for(2 * SECOND);
    lounge.zap(channel, 4 * SECOND).expect("a picture");
    lounge.run_for(3 * SECOND);
    let from = lounge.now();
    lounge.run_for(20 * SECOND);
    let share = whole_pictures(&lounge, from);
    assert!(share >= 95, "{share} %");
}

#[test]
fn regression_losses_in_bursts_left_a_browser_with_key_frames_for_long() {
    let mut lounge = Lounge::new(3, network(Loss::bursts(0.03, 3.0)));
    let channel = lounge.add(1, SIX_MBPS);
    lounge.run_for(2 * SECOND);
    lounge.zap(channel, 4 * SECOND).expect("a picture");
    lounge.run_for(2 * SECOND);
    let from = lounge.now();
    lounge.run_for(30 * SECOND);
    let share = whole_pictures(&lounge, from);
    assert!(share >= 90, "{share} %");
}
