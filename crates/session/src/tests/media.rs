//! Media arrives: complete where it must, in time where it can.

use std::time::Duration;

use anabranch_media::ts;
use anabranch_netsim::{Hostility, LinkConfig, Probability, Side};
use anabranch_sansio::{Machine as _, Rate};
use anabranch_transport::{PathEvent, PathState};

use super::harness::{Caller, STREAM, Setup, Studio, link};
use crate::treatment::{MediaClass, Preset, Reliability, Treatment};
use crate::{Bond, Disconnect, Event, Sender, SourceFormat};

#[test]
fn a_stream_over_two_lossy_paths_is_bit_identical_when_reliable() {
    for caller in [Caller::Sender, Caller::Receiver] {
        let links = [link(10, 20, 0.05), link(5, 40, 0.05)];
        let mut studio = Setup { caller, ..Setup::new(&links, Preset::Reliable, 60) }.build();
        studio.transfer();
        assert!(studio.out == STREAM, "{caller:?}: {} of {}", studio.out.len(), STREAM.len());
        let stats = studio.receiver().stats();
        assert_eq!((stats.playout.skipped_items, stats.playout.late.total()), (0, 0));
        assert_eq!(studio.receiver().items(), Some(STREAM.len() as u64 / 188));
        assert_ne!(retransmitted(&studio), 0, "the paths lost nothing");
        for side in [Side::Client, Side::Server] {
            let last = studio.events(side).pop();
            assert_eq!(last, Some(Event::Disconnected(Disconnect::Ended)), "{side:?}");
        }
    }
}

#[test]
fn both_ends_rest_for_less_time_with_a_second_path_and_before_there_is_a_peer() {
    let rests = |studio: &Studio| (studio.sender().rest(), studio.receiver().rest());
    let (short, long) = (Duration::from_millis(5), Duration::from_millis(8));
    let mut alone = Setup::new(&[link(10, 20, 0.0)], Preset::Live, 200).build();
    assert_eq!(rests(&alone), (short, short), "nobody to rest with");
    alone.connect();
    assert_eq!(rests(&alone), (long, long));
    let mut twofold =
        Setup::new(&[link(10, 20, 0.0), link(10, 20, 0.0)], Preset::Live, 200).build();
    twofold.connect();
    assert_eq!(rests(&twofold), (short, short));
}

/// A sender that gives nothing up has said its end, and the receiver has handed on all.
fn all_but_confirmed() -> Studio {
    let mut setup = Setup::new(&[link(10, 20, 0.0)], Preset::Reliable, 60);
    setup.receiver.confirms = true;
    let mut studio = setup.build();
    studio.connect();
    studio.start_stream();
    studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
    studio.act_sender(|sender, now| sender.finish(now));
    studio.run_until(Duration::from_secs(60), |studio| studio.receiver().is_to_confirm());
    studio.run_for(Duration::from_secs(1));
    assert!(studio.out == STREAM && studio.sender().is_connected(), "the sender waits");
    studio
}

#[test]
fn a_sender_that_gives_nothing_up_ends_when_all_is_written() {
    let mut studio = all_but_confirmed();
    studio.act_receiver(|receiver, now| receiver.confirm(now));
    assert!(!studio.receiver().is_to_confirm());
    studio.run_for(Duration::from_secs(1));
    for side in [Side::Client, Side::Server] {
        let last = studio.events(side).pop();
        assert_eq!(last, Some(Event::Disconnected(Disconnect::Ended)), "{side:?}");
    }
}

#[test]
fn regression_a_receiver_whose_disk_was_full_looked_to_the_sender_as_if_all_was_well() {
    let mut studio = all_but_confirmed();
    studio.act_receiver(|receiver, now| receiver.leave(now, "there is no space left"));
    studio.run_for(Duration::from_secs(1));
    let last = studio.events(Side::Client).pop();
    let reason = "the peer left: there is no space left".to_owned();
    assert_eq!(last, Some(Event::Disconnected(Disconnect::Lost { reason })));
}

#[test]
fn regression_packets_that_were_overtaken_were_reported_as_lost() {
    let never = Probability::default();
    let reorder = Probability::new(0.1).expect("a probability");
    let hold_max = Duration::from_millis(60);
    let hostility = Hostility { duplicate: never, reorder, hold_max, corrupt: never };
    let mut studio = Setup::new(&[link(20, 20, 0.0)], Preset::Live, 200).build();
    studio.connect();
    studio.pair.harass(0, hostility);
    studio.start_stream();
    studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
    studio.run_for(Duration::from_secs(1));
    let connection = studio.sender().stats().connection.expect("it stands");
    let path = &connection.paths[0];
    let (lost, missing) = (path.chunks_lost, path.chunks_missing());
    assert!(lost > 20 && missing * 5 < lost, "{missing} of {lost}");
}

#[test]
fn a_stream_over_a_perfect_path_is_bit_identical_with_every_preset() {
    for preset in Preset::ALL {
        let mut studio = Setup::new(&[link(20, 15, 0.0)], preset, 100).build();
        studio.transfer();
        assert!(studio.out == STREAM, "{preset}: {} of {}", studio.out.len(), STREAM.len());
        assert_eq!(studio.receiver().stats().playout.late.total(), 0, "{preset}");
    }
}

#[test]
fn live_media_never_blocks_and_what_is_missing_is_counted() {
    let mut studio = Setup::new(&[link(10, 25, 0.10)], Preset::Live, 120).build();
    studio.connect();
    studio.start_stream();
    let mut longest_pause = Duration::ZERO;
    let (mut last, mut had) = (studio.pair.now() + Duration::from_millis(200), 0);
    while !studio.stream_is_pushed() {
        studio.step();
        if studio.out.len() > had {
            had = studio.out.len();
            longest_pause = longest_pause.max(studio.pair.now() - last);
            last = studio.pair.now();
        }
    }
    studio.finish();
    assert!(longest_pause < Duration::from_millis(120), "a pause of {longest_pause:?}");
    let (sent, stats) = (studio.sender().stats(), studio.receiver().stats());
    let abandoned: u64 = sent.classes.iter().map(|class| class.stream.abandoned()).sum();
    assert!(abandoned > 0, "nothing had to be given up");
    let packets = STREAM.len() as u64 / 188;
    let playout = stats.playout;
    let at_the_end = packets - playout.released_items - playout.skipped_items;
    assert!(playout.skipped_items > 0 && at_the_end < 50, "{at_the_end} at the end");
    assert!(playout.released_items * 100 > packets * 90, "{} arrived", playout.released_items);
    assert_eq!(studio.out.len() as u64, playout.released_items * 188);
}

#[test]
fn cutting_the_primary_path_moves_data_to_the_other_one() {
    let links = [link(10, 10, 0.0), link(10, 30, 0.0)];
    let mut studio = Setup::new(&links, Preset::Layered, 400).build();
    studio.connect();
    studio.run_for(Duration::from_millis(500));
    studio.start_stream();
    studio.run_for(Duration::from_millis(1_000));
    studio.pair.cut(0);
    studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
    studio.finish();
    assert!(studio.out == STREAM, "{} of {}", studio.out.len(), STREAM.len());
    let events = studio.events(Side::Client);
    let failed = |event: &Event| {
        let Event::Path(PathEvent::StateChanged { path, to, .. }) = event else { return false };
        (path.0, *to) == (0, PathState::PotentiallyFailed)
    };
    assert!(events.iter().any(failed), "{events:?}");
    let moved = |event: &Event| {
        let Event::Path(PathEvent::DataPathChanged { from, to }) = event else { return false };
        (from.0, to.0) == (0, 1)
    };
    assert!(events.iter().any(moved), "{events:?}");
}

/// Neither link alone carries the stream's peaks in time.
#[test]
fn balance_carries_over_two_links_what_one_alone_could_not() {
    let delivered = |bond| {
        let rate = Some(Rate::kbps(300));
        let links = [10, 30].map(|delay_ms| LinkConfig { rate, ..link(1, delay_ms, 0.0) });
        let mut setup = Setup::new(&links, Preset::Layered, 400);
        setup.sender = setup.sender.with_bond(bond);
        let mut studio = setup.build();
        studio.transfer();
        studio.out.len()
    };
    let (balance, backup) = (delivered(Bond::Balance), delivered(Bond::Backup));
    assert!(balance == STREAM.len() && backup < balance, "{balance}, {backup} over one alone");
}

#[test]
fn a_path_that_dies_while_both_are_used_costs_nothing() {
    for (dies, bond) in [(0, Bond::Balance), (1, Bond::Balance), (0, Bond::Dup), (1, Bond::Dup)] {
        let links = [link(10, 10, 0.0), link(10, 10, 0.0)];
        let mut setup = Setup::new(&links, Preset::Layered, 200);
        setup.sender = setup.sender.with_bond(bond);
        let mut studio = setup.build();
        studio.connect();
        studio.run_for(Duration::from_millis(500));
        studio.start_stream();
        studio.run_for(Duration::from_millis(1_000));
        studio.pair.cut(dies);
        studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
        studio.finish();
        let whole = studio.out == STREAM;
        assert!(whole, "{bond}, path {dies}: {} of {}", studio.out.len(), STREAM.len());
    }
}

#[test]
fn each_class_has_its_stream_and_is_counted_alone() {
    let mut studio = Setup::new(&[link(20, 15, 0.0)], Preset::Layered, 100).build();
    studio.transfer();
    let (sent, got) = (studio.sender().stats(), studio.receiver().stats());
    for class in [MediaClass::Tables, MediaClass::KeyFrame, MediaClass::Audio] {
        let messages = sent.class(class).stream.messages_sent;
        assert!(messages > 0, "{class}");
        assert_eq!(got.class(class).in_time, messages, "{class}");
        assert_eq!(got.class(class).in_time_bytes, sent.class(class).stream.bytes_sent, "{class}");
    }
}

#[test]
fn treatments_change_while_media_flows() {
    let mut studio = Setup::new(&[link(20, 15, 0.0)], Preset::Layered, 100).build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_millis(700));
    let never = Treatment::new(Reliability::LifetimeMs(1), 7);
    studio.act_sender(|sender, now| {
        sender.set_treatment(now, MediaClass::Audio, never).expect("a treatment");
    });
    studio.run_for(Duration::from_millis(700));
    let abandoned = studio.sender().stats().class(MediaClass::Audio).stream.abandoned();
    assert!(abandoned > 0, "sound lives for 1 ms on a path of 15 ms");
    studio.act_sender(|sender, now| sender.set_treatments(now, Preset::Reliable.table()));
    studio.run_for(Duration::from_millis(200));
    let source = studio.receiver().source().expect("a source").clone();
    assert!(source.complete, "the receiver may wait from now on");
    assert_eq!(source.format, SourceFormat::MpegTs);
}

#[test]
fn the_larger_latency_of_both_ends_holds() {
    let mut setup = Setup::new(&[link(20, 15, 0.0)], Preset::Layered, 100);
    setup.receiver.latency = Duration::from_millis(300);
    let mut studio = setup.build();
    studio.connect();
    let agreed = Duration::from_millis(300);
    assert_eq!((studio.sender().latency(), studio.receiver().latency()), (agreed, agreed));
}

#[test]
fn the_ends_tell_each_other_what_they_measured() {
    let mut studio = Setup::new(&[link(10, 25, 0.02)], Preset::Layered, 200).build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_millis(2_500));
    let report = studio.sender().stats().report.expect("a report");
    assert!(report.pieces > 100 && report.released_bytes > 10_000, "{report:?}");
    let stats = studio.receiver().stats();
    let advice = stats.advice().expect("enough was measured");
    let rtt = Duration::from_micros(advice.link.rtt_us);
    assert!((50..80).contains(&rtt.as_millis()), "{rtt:?}");
    assert!(advice.latency > rtt && advice.latency < 5 * rtt, "{advice:?}");
}

fn retransmitted(studio: &Studio) -> u64 {
    let stats = studio.sender().stats();
    stats.classes.iter().map(|class| class.stream.chunks_retransmitted).sum()
}

#[test]
fn what_came_together_leaves_together_and_nobody_is_woken_for_its_rest() {
    let mut studio = Setup::new(&[link(20, 15, 0.0)], Preset::Layered, 200).build();
    studio.connect();
    let (packets, _) = STREAM.as_chunks::<{ ts::PACKET_LEN }>();
    let packets = packets.iter().take(40).map(|bytes| ts::Packet::new(*bytes).expect("a packet"));
    let is_held = |sender: &Sender| {
        sender.poll_timeout().is_some_and(|wakeup| wakeup.why.starts_with("packets held"))
    };
    let bytes = studio.act_sender(|sender, now| {
        for packet in packets {
            sender.push_packet(now, now, &packet).expect("open");
        }
        assert!(is_held(sender), "the last of a picture wait for more of it");
        sender.end_batch(now);
        assert!(!is_held(sender));
        sender.stats().packetizer.bytes.total()
    });
    assert_eq!(bytes, 40 * ts::PACKET_LEN as u64);
}
