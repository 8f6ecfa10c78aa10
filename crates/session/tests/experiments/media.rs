//! What holds of many seeds: reliable media arrives unchanged, and what matters least makes room.

use std::time::Duration;

use anabranch_netsim::{Hostility, LinkConfig, Probability, QueueLimit};
use anabranch_sansio::Rate;
use anabranch_session::Bond;
use anabranch_session::treatment::{MediaClass, Preset};

use super::harness::{Caller, STREAM, Setup, Stream, Studio, link, wide};

#[test]
fn a_hostile_network_changes_no_bit_of_what_is_reliable() {
    let some = Probability::new(0.03).expect("a probability");
    let hold_max = Duration::from_millis(30);
    let hostility = Hostility { duplicate: some, reorder: some, hold_max, corrupt: some };
    for seed in 0..20 {
        for caller in [Caller::Sender, Caller::Receiver] {
            let links = [link(10, 20, 0.1), link(10, 45, 0.1)];
            let setup = Setup::new(&links, Preset::Reliable, 60);
            let mut studio = Setup { seed, caller, ..setup }.build();
            studio.pair.harass(0, hostility);
            studio.pair.harass(1, hostility);
            studio.transfer();
            assert!(studio.out == STREAM, "seed {seed}, {caller:?}: {}", studio.out.len());
        }
    }
}

#[test]
fn backup_takes_over_from_a_link_that_is_cut_and_gives_back_with_nothing_lost() {
    for seed in 1..=2 {
        let mut setup = Setup::new(&[wide(0.0), wide(0.0)], Preset::Layered, 200);
        setup.sender = setup.sender.with_bond(Bond::Backup);
        let mut studio = Setup { seed, stream: Stream::broadcast(16), ..setup }.build();
        studio.connect();
        studio.run_for(Duration::from_millis(1_200));
        studio.start_stream();
        studio.run_for(Duration::from_secs(4));
        studio.pair.cut(0);
        studio.run_for(Duration::from_secs(8));
        studio.pair.restore(0);
        studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
        studio.finish();
        let (sent, playout) = (studio.sender().stats(), studio.receiver().stats().playout);
        let missing = sent.packetizer.packets - playout.released_items;
        assert_eq!((missing, playout.late.total()), (0, 0), "seed {seed}");
    }
}

#[test]
fn more_than_the_path_carries_costs_the_least_important_first() {
    // Queues that are as long as the latency, and longer, must not make everything late.
    for queue_ms in [100, 200, 500] {
        let studios: Vec<Studio> = (1..=6).map(|seed| overloaded(seed, queue_ms)).collect();
        let least = given_up(&studios, MediaClass::Disposable);
        assert!(least > 0.2, "{queue_ms} ms: {least:.3} of what has to make room");
        for class in [MediaClass::Tables, MediaClass::KeyFrame, MediaClass::Audio] {
            let important = given_up(&studios, class);
            assert!(important < 0.05, "{queue_ms} ms: {important:.3} of {class}");
        }
        let reference = given_up(&studios, MediaClass::Reference);
        assert!(least > 2.0 * reference, "{queue_ms} ms: reference {reference:.3}, {least:.3}");
    }
}

/// After a transfer over a path that carries three quarters of the stream.
fn overloaded(seed: u64, queue_ms: u64) -> Studio {
    let setup = Setup::new(&[link(1, 15, 0.0)], Preset::Layered, 200);
    let mut studio = Setup { seed, ..setup }.build();
    // Of the 0.4 Mbit/s that the stream has.
    let rate = Rate::kbps(300);
    let queue = QueueLimit::lasting(Duration::from_millis(queue_ms), rate);
    studio.pair.reconfigure(0, LinkConfig { rate: Some(rate), queue, ..link(1, 15, 0.0) });
    studio.transfer();
    studio
}

/// What SRT brings there in the same time is 98.97 %.
#[test]
fn a_packet_that_comes_too_late_takes_no_other_along() {
    let (mut sent, mut in_time) = (0, 0);
    for seed in 1..=3 {
        let setup = Setup::new(&[link(20, 25, 0.1)], Preset::Layered, 100);
        let mut studio = Setup { seed, stream: Stream::broadcast(10), ..setup }.build();
        studio.transfer();
        sent += studio.sender().stats().packetizer.packets;
        in_time += studio.receiver().stats().playout.released_items;
    }
    let share = in_time as f64 / sent as f64;
    assert!(share > 0.995, "{:.3} % in time", 100.0 * share);
}

#[test]
fn long_pieces_are_for_links_where_each_arrives() {
    let packets_per_piece = |loss, latency_ms| {
        let setup = Setup::new(&[link(20, 25, loss)], Preset::Layered, latency_ms);
        let mut studio = Setup { stream: Stream::broadcast(4), ..setup }.build();
        studio.transfer();
        let stats = studio.sender().stats().packetizer;
        stats.packets as f64 / stats.pieces.total() as f64
    };
    let (none, little, much) =
        (packets_per_piece(0.0, 250), packets_per_piece(0.0, 100), packets_per_piece(0.1, 250));
    // The first second knows of no loss.
    let limits = none > 12.0 && little <= 7.0 && much <= 9.0;
    assert!(limits, "{none}, {little}, {much}");
}

/// The share of a class's messages and pictures that was abandoned or left out, over all transfers.
fn given_up(studios: &[Studio], class: MediaClass) -> f64 {
    let classes = studios.iter().map(|studio| *studio.sender().stats().class(class));
    let (given_up, offered) = classes.fold((0, 0), |(given_up, offered), class| {
        let stream = class.stream;
        let offered = offered + stream.messages_queued + class.left_out;
        (given_up + stream.abandoned() + class.left_out, offered)
    });
    given_up as f64 / offered as f64
}
