//! Waiting for what is late.

use super::*;

fn patient() -> Playout {
    let patience = Patience::UntilComplete;
    Playout::new(Config { patience, ..Config::with_latency(LATENCY) })
}

fn positions(released: &[Released]) -> Vec<u64> {
    released.iter().map(|released| released.position).collect()
}

#[test]
fn what_is_missing_holds_back_what_follows_until_it_comes() {
    let mut playout = patient();
    playout.begin(1, 0);
    for position in [1, 2] {
        playout.handle_piece(ms(20), PATH, &piece(position, 1, ms(10)));
    }
    assert!(drain(&mut playout, ms(5_000)).is_empty(), "position 0 is missing");
    assert_eq!(playout.poll_timeout(), None, "only an arrival helps");
    let late = playout.handle_piece(ms(6_000), PATH, &piece(0, 1, ms(0)));
    assert_eq!(late, Timeliness::InTime);
    assert_eq!(positions(&drain(&mut playout, ms(6_000))), [0, 1, 2]);
    let stats = playout.stats();
    assert_eq!((stats.skipped_items, stats.late.total(), stats.resyncs), (0, 0, 0));
}

#[test]
fn a_delay_of_seconds_at_the_start_costs_nothing() {
    let mut playout = patient();
    playout.begin(1, 0);
    playout.handle_piece(ms(1_500), PATH, &piece(0, 1, ms(0)));
    playout.handle_piece(ms(1_501), PATH, &piece(1, 1, ms(1_490)));
    assert_eq!(positions(&drain(&mut playout, ms(2_000))), [0, 1]);
    assert_eq!(playout.stats().resyncs, 1, "the clocks were compared anew");
}

#[test]
fn a_sender_that_goes_on_later_says_what_is_lost() {
    let mut playout = patient();
    playout.begin(1, 0);
    for position in [0, 2, 9, 10] {
        playout.handle_piece(ms(0), PATH, &piece(position, 1, ms(0)));
    }
    assert_eq!(positions(&drain(&mut playout, ms(500))), [0]);
    playout.begin(1, 8);
    assert_eq!(positions(&drain(&mut playout, ms(500))), [2], "8 may come, 1 will not");
    playout.handle_piece(ms(600), PATH, &piece(8, 1, ms(0)));
    assert_eq!(positions(&drain(&mut playout, ms(600))), [8, 9, 10]);
    assert_eq!(playout.stats().skipped_items, 6, "1 and 3 to 7");
}

#[test]
fn patience_ends_with_the_memory() {
    let config = Config { max_bytes: 20_000, ..Config::with_latency(LATENCY) };
    let mut playout = Playout::new(Config { patience: Patience::UntilComplete, ..config });
    playout.begin(1, 0);
    for position in 1..100 {
        playout.handle_piece(ms(position), PATH, &piece(position, 1, ms(position)));
    }
    assert!(playout.stats().dropped_items.total() > 0);
    assert_eq!(drain(&mut playout, ms(5_000))[0].skipped, 1, "position 0 is given up");
}

#[test]
fn the_rest_comes_at_once_and_over_gaps_when_the_source_has_ended() {
    let mut playout = patient();
    playout.begin(1, 0);
    for position in [0, 1, 5] {
        playout.handle_piece(ms(0), PATH, &piece(position, 1, ms(position)));
    }
    let rest: Vec<_> = std::iter::from_fn(|| playout.poll_rest()).collect();
    assert_eq!(positions(&rest), [0, 1, 5]);
    assert!(playout.is_empty());
}
