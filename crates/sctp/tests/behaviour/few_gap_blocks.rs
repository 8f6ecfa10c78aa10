//! Peers that report a few gap blocks only, as dcSCTP does, which stops at twenty: what lies above
//! the last one is unknown, and neither lost nor reneged on.

use std::collections::BTreeSet;
use std::time::Duration;

use anabranch_sctp::{AssociationConfig, CongestionControl, LossDetection};

use crate::harness::numbered;
use crate::raw_peer::{RawPeer, WINDOW};

/// What dcSCTP reports at most.
const BLOCKS_MAX: usize = 20;

const SENT: u32 = 80;

/// A peer at a distance of 50 ms that got 80 chunks a moment ago.
fn peer_with_chunks(loss_detection: LossDetection) -> RawPeer {
    let config = AssociationConfig::default().with(|config| {
        config.window.congestion_control = CongestionControl::Fixed { window: 1 << 20 };
        config.window.max_burst = None;
        config.recovery.loss_detection = loss_detection;
    });
    let mut peer = RawPeer::at_distance(config, Duration::from_millis(50));
    for number in 0..SENT {
        peer.send(numbered(0, number, 1_000));
    }
    assert_eq!(peer.take_numbers().concat(), (1..=SENT).collect::<Vec<_>>());
    peer.run_for(Duration::from_millis(50));
    peer
}

/// Reports these chunks, each a block of its own, as far as the blocks suffice; returns what is
/// sent again within 20 ms.
fn report(peer: &mut RawPeer, arrived: impl Iterator<Item = u32>) -> BTreeSet<u32> {
    let blocks: Vec<_> = arrived.take(BLOCKS_MAX).map(|number| (number, number)).collect();
    peer.acknowledge(0, &blocks, WINDOW);
    peer.run_for(Duration::from_millis(20));
    peer.take_numbers().concat().into_iter().collect()
}

#[test]
fn what_lies_above_the_last_block_is_not_lost() {
    for detection in [LossDetection::Rfc9260, LossDetection::InTime] {
        let mut peer = peer_with_chunks(detection);
        let mut again = BTreeSet::new();
        // Every second chunk arrived, up to the last; the blocks end at chunk 40.
        for reported in [5, 10, 15, 20] {
            again.extend(report(&mut peer, (2..=SENT).step_by(2).take(reported)));
        }
        assert!(again.contains(&1) && again.contains(&19), "{detection:?}: {again:?}");
        let above: Vec<_> = again.range(41..).collect();
        assert!(above.is_empty(), "{detection:?}: {above:?} may well have arrived");
    }
}

#[test]
fn what_was_reported_and_falls_off_the_end_is_not_reneged_on() {
    for detection in [LossDetection::Rfc9260, LossDetection::InTime] {
        let mut peer = peer_with_chunks(detection);
        // Every fourth chunk arrived; then those between, which push the upper half out.
        report(&mut peer, (4..=SENT).step_by(4));
        for _ in 0..4 {
            report(&mut peer, (2..=SENT).step_by(2));
        }
        peer.acknowledge(40, &[], WINDOW);
        peer.run_for(Duration::from_millis(20));
        let again: BTreeSet<_> = peer.take_numbers().concat().into_iter().collect();
        let reneged: Vec<_> = again.iter().filter(|number| *number % 4 == 0).collect();
        assert!(reneged.is_empty(), "{detection:?}: {reneged:?} arrived");
    }
}
