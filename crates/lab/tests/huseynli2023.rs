//! Cells of the third paper's figures.

use anabranch_lab::huseynli2023::{
    Cell, LastHop, LevelOutcome, Method, Outcome, Source, Values, Variation, variations,
};
use anabranch_lab::{Parameters, RecordTo};

const I: usize = 1;
const P: usize = 2;
const B: usize = 3;

fn cell(source: Source, last_hop: LastHop, method: Method) -> Cell {
    Cell { source, last_hop, variation: Variation::AsRun, method, seed: 1 }
}

/// A shorter stream.
fn run(cell: &Cell, set: &str) -> Outcome {
    let set = format!("duration=10s{set}");
    let parameters = Parameters::<Values>::read([set.as_str()]).expect("there are such parameters");
    cell.run_recorded(&parameters, RecordTo::default()).expect("the machines behave")
}

#[test]
fn every_chunk_is_read_and_all_methods_wait_as_long_in_all() {
    for source in Source::ALL {
        for last_hop in LastHop::ALL {
            let outcomes = Method::ALL
                .map(|method| run(&cell(source, last_hop, method), ",our-transport=yes"));
            let [sctp, list, ours] = &outcomes;
            for (method, outcome) in Method::ALL.iter().zip(&outcomes) {
                assert_eq!(outcome.received, outcome.sent, "{source}, {last_hop}, {method}");
            }
            for method in [list, ours] {
                let ratio = method.total_queue_s / sctp.total_queue_s;
                assert!((ratio - 1.0).abs() < 0.02, "{source}, {last_hop}: {ratio}");
                let wait = |outcome: &Outcome, level: usize| outcome.levels[level].queue_ms;
                assert!(wait(method, I) < wait(sctp, I), "{source}, {last_hop}");
                assert!(wait(method, B) > wait(sctp, B), "{source}, {last_hop}");
            }
        }
    }
}

/// P does not fall to a tenth beside I: that is the law of queues, not ours.
#[test]
fn i_and_p_wait_what_levels_alone_would_have_them_wait() {
    for method in [Method::SctpPq, Method::Anabranch] {
        let outcome = run(&cell(Source::Constant, LastHop::Wired, method), "");
        for level in [I, P] {
            let LevelOutcome { queue_ms, strict_ms, .. } = outcome.levels[level];
            assert!((queue_ms / strict_ms - 1.0).abs() < 0.02, "{method}: {queue_ms}, {strict_ms}");
        }
    }
    let sctp = run(&cell(Source::Constant, LastHop::Wired, Method::Sctp), "");
    let LevelOutcome { queue_ms, strict_ms, .. } = sctp.levels[I];
    assert!(strict_ms < queue_ms / 2.0, "who reads by arrival does not: {queue_ms}, {strict_ms}");
}

#[test]
fn the_list_gives_up_the_order_that_ours_keeps() {
    let [sctp, list, ours] = Method::ALL.map(|method| {
        run(&cell(Source::Pictures, LastHop::Wired, method), ",loss=2%,our-transport=yes")
    });
    assert_eq!((sctp.out_of_order, ours.out_of_order), (0, 0));
    assert!(list.out_of_order > 0);
    for outcome in [sctp, list, ours] {
        assert!(outcome.lost_on_links > 0 && outcome.levels[0].chunks > 0, "some were sent again");
        assert_eq!(outcome.received, outcome.sent, "reliable");
    }
}

#[test]
fn a_seed_repeats_its_cell_to_the_last_digit() {
    let one = cell(Source::Constant, LastHop::Wireless, Method::Anabranch);
    assert_eq!(run(&one, ""), run(&one, ""));
    assert_ne!(run(&one, ""), run(&Cell { seed: 2, ..one }, ""));
}

#[test]
fn a_program_that_reads_all_at_once_leaves_nothing_waiting_longer() {
    let outcome = run(&cell(Source::Pictures, LastHop::Wired, Method::Sctp), ",read-every=25ms");
    let longest = outcome.levels.iter().map(|level| level.queue_max_ms).fold(0.0, f64::max);
    assert!((24.0..=25.1).contains(&longest), "{longest} ms");
}

#[test]
fn every_variation_is_one_of_the_wired_network() {
    assert!(variations(1).iter().all(|cell| cell.last_hop == LastHop::Wired));
}

/// The paper's list is O(n): what it goes past grows with what waits.
#[test]
fn the_list_goes_past_what_waits_and_ours_past_nothing() {
    let of = |method, set| {
        let outcome = run(&cell(Source::Constant, LastHop::Wired, method), set);
        outcome.levels.map(|level| level.passed)
    };
    for method in [Method::Sctp, Method::Anabranch] {
        assert_eq!(of(method, ",load=105"), [0.0; 4], "{method}");
    }
    let (below, above) = (of(Method::SctpPq, ",load=80"), of(Method::SctpPq, ",load=105"));
    assert!(below[I] < below[P] && below[P] < below[B], "{below:?}");
    assert!(above[B] > 10.0 * below[B], "{above:?} beside {below:?}");
}
