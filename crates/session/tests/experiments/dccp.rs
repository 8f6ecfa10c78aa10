//! DCCP: connections follow what the paths lose, and a report says what was lost.

use std::time::Duration;

use anabranch_netsim::{Hostility, LinkConfig, Probability, Side};
use anabranch_sansio::Rate;
use anabranch_session::Event;
use anabranch_session::treatment::{MediaClass, Preset};
use anabranch_transport::{Connections, PathEvent, PathState};

use super::harness::{Caller, STREAM, Setup, Stream, Studio, link, wide};

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
fn a_hostile_network_changes_no_bit_of_what_is_reliable() {
    let some = Probability::new(0.03).expect("a probability");
    let hold_max = Duration::from_millis(30);
    // What is corrupted, UDP's checksum keeps back, which the simulator does not have.
    let corrupt = Probability::NEVER;
    let hostility = Hostility { duplicate: some, reorder: some, hold_max, corrupt };
    for seed in 0..4 {
        let setup = Setup::over_dccp(
            &[link(10, 20, 0.02), link(10, 45, 0.02)],
            Preset::Reliable,
            Connections::Fixed(3),
        );
        let mut studio = Setup { seed, ..setup }.build();
        studio.pair.harass(0, hostility);
        studio.pair.harass(1, hostility);
        studio.transfer();
        assert!(studio.out == STREAM, "{seed}: {} of {}", studio.out.len(), STREAM.len());
    }
}

#[test]
fn what_the_report_says_was_lost_is_what_was_lost() {
    for loss in [0.0, 0.01, 0.05] {
        let setup =
            Setup::over_dccp(&[wide(loss), wide(loss)], Preset::Layered, Connections::Fixed(8));
        let mut studio = Setup { stream: Stream::broadcast(6), ..setup }.build();
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
fn a_path_that_is_cut_costs_a_fifth_of_a_second_at_most() {
    let setup = Setup::over_dccp(&[wide(0.0), wide(0.0)], Preset::Layered, Connections::Fixed(4));
    let mut studio = Setup { stream: Stream::broadcast(8), ..setup }.build();
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

/// What a stream of 10 Mbit/s comes to over a path that loses so much.
fn mbps(connections: Connections, caller: Caller, loss: f64, seed: u64) -> f64 {
    let setup = Setup::over_dccp(&[wide(loss)], Preset::Reliable, connections);
    let mut studio = Setup { seed, caller, stream: Stream::broadcast(12), ..setup }.build();
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
    let setup = Setup::over_dccp(&links, Preset::Layered, Connections::Auto);
    let mut studio = Setup { seed, caller, stream: Stream::broadcast(4), ..setup }.build();
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
