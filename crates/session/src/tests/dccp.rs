//! A session over DCCP: what can be given up is sent once, and the rest until it arrives.

use std::time::Duration;

use anabranch_netsim::{Hostility, LinkConfig, Probability, QueueLimit, Side};
use anabranch_sansio::{Rate, Rng};
use anabranch_transport::{Connections, DccpConfig, PathEvent, PathState};

use super::harness::{Caller, STREAM, Setup, Stream, Studio, link};
use crate::treatment::{MediaClass, Preset};
use crate::{Disconnect, Event, RefusalCode, Sender, SenderConfig};

/// Over so many DCCP connections on each path.
fn setup(links: &[LinkConfig], preset: Preset, connections: usize) -> Setup {
    setup_with(links, preset, Connections::Fixed(connections))
}

fn setup_with(links: &[LinkConfig], preset: Preset, connections: Connections) -> Setup {
    let mut setup = Setup::new(links, preset, 500);
    for end in [&mut setup.sender, &mut setup.receiver] {
        end.dccp = Some(DccpConfig { connections, ..DccpConfig::default() });
    }
    setup
}

/// 20 Mbit/s with a round trip of 50 ms.
fn wide(loss: f64) -> LinkConfig {
    let queue = QueueLimit::lasting(Duration::from_millis(100), Rate::mbps(20));
    LinkConfig { queue, ..link(20, 25, loss) }
}

/// Pieces of media that were sent, those that the sender gave up, and those that arrived.
fn pieces(studio: &Studio) -> (u64, u64, u64) {
    let (sent, got) = (studio.sender().stats(), studio.receiver().stats());
    let media = MediaClass::ALL.into_iter().filter(|class| *class != MediaClass::Control);
    media.fold((0, 0, 0), |(all, lost, arrived), class| {
        let stream = sent.class(class).stream;
        let came = got.class(class);
        (all + stream.messages_sent, lost + stream.abandoned(), arrived + came.in_time + came.late)
    })
}

#[test]
fn a_stream_arrives_bit_for_bit_where_nothing_is_lost() {
    for caller in [Caller::Sender, Caller::Receiver] {
        let setup = setup(&[link(10, 20, 0.0)], Preset::Layered, 4);
        let mut studio = Setup { caller, ..setup }.build();
        studio.transfer();
        assert!(studio.out == STREAM, "{caller:?}: {} of {}", studio.out.len(), STREAM.len());
        for side in [Side::Client, Side::Server] {
            let last = studio.events(side).pop();
            assert_eq!(last, Some(Event::Disconnected(Disconnect::Ended)), "{side:?}");
        }
    }
}

#[test]
fn a_listener_takes_callers_over_sctp_and_dccp_at_one_port() {
    for over_dccp in [true, false] {
        let mut setup = setup(&[link(10, 20, 0.0)], Preset::Reliable, 2);
        setup.sender.dccp = setup.sender.dccp.filter(|_| over_dccp);
        let mut studio = setup.build();
        studio.transfer();
        assert!(studio.out == STREAM, "{over_dccp}: {} of {}", studio.out.len(), STREAM.len());
    }
}

#[test]
fn a_caller_over_dccp_is_refused_in_words_at_both_ends_by_a_listener_over_sctp_alone() {
    let mut setup = setup(&[link(10, 20, 0.0)], Preset::Reliable, 2);
    setup.receiver.dccp = None;
    let mut studio = setup.build();
    studio.call();
    studio.run_for(Duration::from_secs(1));
    let caller = studio.events(Side::Client);
    let refused = caller.iter().find_map(|event| {
        let Event::Refused(refusal) = event else { return None };
        Some(refusal)
    });
    let refusal = refused.expect("a refusal");
    assert_eq!(refusal.code, RefusalCode::Protocol);
    assert!(refusal.text.contains("let it listen with encryption=off"), "{refusal}");
    let listener = studio.events(Side::Server);
    let [Event::TurnedAway { refusal, .. }] = &listener[..] else { panic!("{listener:?}") };
    assert!(refusal.text.contains("it calls over DCCP"), "{refusal}");
}

#[test]
fn what_is_reliable_is_repeated_until_it_arrives() {
    for caller in [Caller::Sender, Caller::Receiver] {
        let links = [link(10, 20, 0.05), link(5, 40, 0.05)];
        let setup = setup(&links, Preset::Reliable, 2);
        let mut studio = Setup { caller, ..setup }.build();
        studio.transfer();
        assert!(studio.out == STREAM, "{caller:?}: {} of {}", studio.out.len(), STREAM.len());
        let again = MediaClass::ALL
            .map(|class| studio.sender().stats().class(class).stream.chunks_retransmitted);
        assert!(again.iter().sum::<u64>() > 0, "the paths lost nothing");
    }
}

#[test]
fn a_hostile_network_changes_no_bit_of_what_is_reliable() {
    let some = Probability::new(0.03).expect("a probability");
    let hold_max = Duration::from_millis(30);
    // What is corrupted, UDP's checksum keeps back, which the simulator does not have.
    let corrupt = Probability::NEVER;
    let hostility = Hostility { duplicate: some, reorder: some, hold_max, corrupt };
    for seed in 0..4 {
        let setup = setup(&[link(10, 20, 0.02), link(10, 45, 0.02)], Preset::Reliable, 3);
        let mut studio = Setup { seed, ..setup }.build();
        studio.pair.harass(0, hostility);
        studio.pair.harass(1, hostility);
        studio.transfer();
        assert!(studio.out == STREAM, "{seed}: {} of {}", studio.out.len(), STREAM.len());
    }
}

#[test]
fn a_sender_that_restarts_on_its_old_ports_takes_its_own_place() {
    let setup = setup(&[link(10, 20, 0.0)], Preset::Reliable, 2);
    let session = setup.sender.clone();
    let mut studio = setup.build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_secs(1));
    let treatments = Preset::Reliable.table();
    let config = SenderConfig { treatments, ..SenderConfig::mpeg_ts(session) };
    studio.replace_sender_by(Sender::new(config, Rng::from_u64(7)));
    studio.connect();
    studio.start_stream();
    studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
    studio.finish();
    assert!(studio.out.ends_with(STREAM), "the stream came whole again");
}

#[test]
fn what_the_report_says_was_lost_is_what_was_lost() {
    for loss in [0.0, 0.01, 0.05] {
        let setup = setup(&[wide(loss), wide(loss)], Preset::Layered, 8);
        let mut studio = Setup { stream: Stream::Broadcast(6), ..setup }.build();
        studio.transfer();
        let (sent, lost, arrived) = pieces(&studio);
        assert_eq!(sent - lost, arrived, "{loss}: {lost} of {sent} lost");
        let playout = studio.receiver().stats().playout;
        let packets = studio.sender().stats().packetizer.packets;
        assert_eq!(playout.released_items + playout.skipped_items, packets, "{loss}");
        let share = lost as f64 / sent as f64;
        assert!((share - loss).abs() <= 0.3 * loss, "{loss}: {lost} of {sent} lost");
    }
}

#[test]
fn what_is_lost_at_the_very_end_is_said_to_be_missing() {
    let setup = setup(&[wide(0.0)], Preset::Layered, 1);
    let mut studio = Setup { stream: Stream::Broadcast(2), ..setup }.build();
    studio.connect();
    studio.start_stream();
    // All is on its way, and the last of it is lost; what must arrive is repeated.
    studio.run_until(Duration::from_secs(10), Studio::stream_is_pushed);
    studio.pair.cut(0);
    studio.run_for(Duration::from_millis(20));
    studio.pair.restore(0);
    studio.finish();
    let playout = studio.receiver().stats().playout;
    let packets = studio.sender().stats().packetizer.packets;
    assert!(playout.skipped_items > 0, "{playout:?}");
    assert_eq!(playout.released_items + playout.skipped_items, packets);
    assert_eq!(studio.events(Side::Server).pop(), Some(Event::Disconnected(Disconnect::Ended)));
}

#[test]
fn a_goodbye_is_no_fault_of_a_path() {
    for caller in [Caller::Sender, Caller::Receiver] {
        let setup = setup(&[wide(0.0), wide(0.0)], Preset::Layered, 2);
        let mut studio = Setup { caller, stream: Stream::Broadcast(2), ..setup }.build();
        studio.transfer();
        let [sent, got] =
            [studio.sender().stats().connection, studio.receiver().stats().connection];
        for paths in [sent, got].map(|stats| stats.expect("there was one").paths) {
            assert_eq!(paths.len(), 2, "{caller:?}");
            for path in paths {
                let found = (path.state, path.chunks_lost);
                assert_eq!(found, (PathState::Active, 0), "{caller:?}: {path:?}");
            }
        }
    }
}

#[test]
fn a_path_that_is_cut_costs_a_fifth_of_a_second_at_most() {
    let setup = setup(&[wide(0.0), wide(0.0)], Preset::Layered, 4);
    let mut studio = Setup { stream: Stream::Broadcast(8), ..setup }.build();
    studio.connect();
    studio.run_for(Duration::from_millis(500));
    studio.start_stream();
    studio.run_for(Duration::from_secs(3));
    studio.pair.cut(0);
    studio.run_for(Duration::from_secs(2));
    studio.pair.restore(0);
    studio.run_until(Duration::from_secs(60), Studio::stream_is_pushed);
    studio.finish();
    let (first, last) = (studio.skips.first(), studio.skips.last());
    let (first, last) = first.zip(last).expect("what was under way was lost");
    let span = Duration::from_secs_f64((last.end - first.start) as f64 * 188.0 * 8.0 / 10e6);
    assert!(span <= Duration::from_millis(200), "{span:?}: {:?}", studio.skips);
    let (sent, lost, arrived) = pieces(&studio);
    assert_eq!(sent - lost, arrived, "{lost} of {sent} lost");
    let states: Vec<PathState> = states(&mut studio, 0);
    assert!(states.contains(&PathState::PotentiallyFailed), "{states:?}");
    assert_eq!(states.last(), Some(&PathState::Active), "{states:?}");
}

/// What became of a path, as the sender saw it.
fn states(studio: &mut Studio, id: u32) -> Vec<PathState> {
    let state = |event| {
        let Event::Path(PathEvent::StateChanged { path, to, .. }) = event else { return None };
        (path.0 == id).then_some(to)
    };
    studio.events(Side::Client).into_iter().filter_map(state).collect()
}

#[test]
fn nobody_at_the_other_end_is_said_in_words() {
    let mut studio = setup(&[link(10, 20, 0.0)], Preset::Layered, 4).build();
    studio.pair.cut(0);
    studio.call();
    studio.run_until(Duration::from_secs(30), |studio| !studio.sender().has_peer());
    let last = studio.events(Side::Client).pop();
    let Some(Event::Disconnected(Disconnect::Lost { reason })) = last else { panic!("{last:?}") };
    assert!(reason.starts_with("nobody answers there"), "{reason}");
}

#[test]
fn the_reason_for_leaving_reaches_the_other_end() {
    let mut studio = setup(&[link(10, 20, 0.0)], Preset::Layered, 4).build();
    studio.connect();
    studio.act_receiver(|receiver, now| receiver.leave(now, "there is no space left"));
    studio.run_for(Duration::from_secs(2));
    let last = studio.events(Side::Client).pop();
    let reason = "the peer left: there is no space left".to_owned();
    assert_eq!(last, Some(Event::Disconnected(Disconnect::Lost { reason })));
}

#[test]
fn a_peer_that_is_gone_is_noticed() {
    let mut studio = setup(&[link(10, 20, 0.0)], Preset::Layered, 4).build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_secs(1));
    studio.pair.cut(0);
    studio.run_until(Duration::from_secs(15), |studio| !studio.sender().has_peer());
    let last = studio.events(Side::Client).pop();
    let Some(Event::Disconnected(Disconnect::Lost { reason })) = last else { panic!("{last:?}") };
    assert_eq!(reason, "the peer stopped answering on every path");
}

/// What a stream of 10 Mbit/s comes to over a path that loses so much.
fn mbps(connections: Connections, caller: Caller, loss: f64, seed: u64) -> f64 {
    let setup = setup_with(&[wide(loss)], Preset::Reliable, connections);
    let mut studio = Setup { seed, caller, stream: Stream::Broadcast(12), ..setup }.build();
    studio.transfer();
    let bytes = studio.out.len() as f64;
    bytes * 8.0 / 1e6 / studio.pair.now().as_secs_f64()
}

/// Runs of which each has its own losses, and in how many of them connections must follow: losses
/// may come such that they seem to grow with the connections.
const RUNS: u64 = 12;
const RUNS_MIN: usize = 11;

#[test]
fn connections_follow_until_a_lossy_path_carries_the_stream_whoever_calls() {
    let check = |caller| {
        let one = mbps(Connections::Fixed(1), caller, 0.03, 1);
        let many = (0..RUNS).map(|seed| mbps(Connections::Auto, caller, 0.03, seed) / one);
        let many: Vec<f64> = many.collect();
        let followed = many.iter().filter(|times| **times > 1.6).count();
        assert!(followed >= RUNS_MIN, "{caller:?}: {many:?} times {one} Mbit/s");
    };
    std::thread::scope(|scope| {
        for caller in [Caller::Sender, Caller::Receiver] {
            scope.spawn(move || check(caller));
        }
    });
}

/// The end of the last quarter of a second of a stream of 10 Mbit/s that two paths thinned by much
/// more than they lose.
fn carried_after(caller: Caller, link: &LinkConfig, seed: u64) -> Duration {
    const QUARTER: Duration = Duration::from_millis(250);
    let links = [link.clone(), link.clone()];
    let setup = setup_with(&links, Preset::Layered, Connections::Auto);
    let mut studio = Setup { seed, caller, stream: Stream::Broadcast(4), ..setup }.build();
    studio.connect();
    studio.start_stream();
    studio.run_for(Duration::from_millis(4_600));
    let packets = (Rate::mbps(10).bytes_in(QUARTER) / 188) as usize;
    let mut missing = [0; 17];
    for packet in studio.skips.iter().flat_map(Clone::clone) {
        missing[packet as usize / packets] += 1;
    }
    let most = (link.loss.mean() + 0.1) * packets as f64;
    let last = missing.iter().rposition(|count| f64::from(*count) > most);
    QUARTER * last.map_or(0, |last| last as u32 + 1)
}

#[test]
fn lossy_paths_carry_the_stream_after_three_seconds_at_most_whoever_calls() {
    let check = |caller| {
        for loss in [0.01, 0.03, 0.05] {
            let after: Vec<Duration> =
                (0..3).map(|seed| carried_after(caller, &wide(loss), seed)).collect();
            let soon = after.iter().filter(|after| **after <= Duration::from_secs(2)).count();
            let worst = after.iter().max().copied();
            assert!(soon >= 2 && worst <= Some(Duration::from_secs(3)), "{caller:?}: {after:?}");
        }
    };
    std::thread::scope(|scope| {
        for caller in [Caller::Sender, Caller::Receiver] {
            scope.spawn(move || check(caller));
        }
    });
}

/// As where programs wait for a processor.
#[test]
fn paths_whose_round_trips_tremble_carry_the_stream_after_three_seconds_at_most() {
    let link = LinkConfig { jitter: Duration::from_millis(4), ..wide(0.01) };
    for seed in 0..3 {
        let after = carried_after(Caller::Sender, &link, seed);
        assert!(after <= Duration::from_secs(3), "seed {seed}: {after:?}");
    }
}
