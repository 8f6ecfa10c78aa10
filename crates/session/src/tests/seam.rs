//! A session runs over any transport.

use std::time::Duration;

use anabranch_netsim::{LinkConfig, Side};

use super::harness::{Caller, STREAM, Setup, link};
use crate::treatment::Preset;
use crate::{Disconnect, Event};

/// A message of 16 KiB is a datagram.
fn wide(loss: f64) -> LinkConfig {
    LinkConfig { mtu: u16::MAX, ..link(20, 25, loss) }
}

#[test]
fn a_transport_that_was_made_up_carries_a_stream_bit_for_bit() {
    for caller in [Caller::Sender, Caller::Receiver] {
        let setup = Setup::new(&[wide(0.05)], Preset::Reliable, 200);
        let mut studio = Setup { plain: true, caller, ..setup }.build();
        studio.transfer();
        assert!(studio.out == STREAM, "{caller:?}: {} of {}", studio.out.len(), STREAM.len());
        for side in [Side::Client, Side::Server] {
            let ended = studio.events(side).contains(&Event::Disconnected(Disconnect::Ended));
            assert!(ended, "{side:?}");
        }
    }
}

#[test]
fn over_a_transport_that_repeats_little_live_media_goes_on_without_what_was_lost() {
    let mut studio = Setup { plain: true, ..Setup::new(&[wide(0.05)], Preset::Live, 200) }.build();
    studio.transfer();
    let playout = studio.receiver().stats().playout;
    let packets = STREAM.len() as u64 / 188;
    assert!(playout.skipped_items > 0, "nothing was lost");
    assert!(playout.released_items * 10 > packets * 7, "{} came", playout.released_items);
}

#[test]
fn the_reason_for_leaving_passes_any_transport() {
    let mut studio = Setup { plain: true, ..Setup::new(&[wide(0.0)], Preset::Live, 200) }.build();
    studio.connect();
    studio.act_receiver(|receiver, now| receiver.leave(now, "there is no space left"));
    studio.run_for(Duration::from_secs(1));
    let last = studio.events(Side::Client).pop();
    let reason = "the peer left: there is no space left".to_owned();
    assert_eq!(last, Some(Event::Disconnected(Disconnect::Lost { reason })));
}
