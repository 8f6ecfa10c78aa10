//! Order, time and loss on a network that behaves.

use super::*;

#[test]
fn items_leave_with_the_spacing_they_came_with() {
    let mut playout = playout();
    // 20 ms on the way, then 35 ms, then 20 ms; the spacing at the sender is 10 ms.
    for (position, arrival) in [(0, 20), (1, 45), (2, 50)] {
        playout.handle_piece(ms(arrival), PATH, &piece(position, 1, ms(10 * position)));
    }
    assert_eq!(
        run_until(&mut playout, ms(1_000)),
        [(0, 1, ms(120)), (1, 1, ms(130)), (2, 1, ms(140))]
    );
}

#[test]
fn the_items_of_a_run_leave_one_by_one() {
    let mut playout = playout();
    let mut spaced = piece(0, 3, ms(0));
    spaced.header.runs[0].step = 1_000 * 256;
    playout.handle_piece(ms(2), PATH, &spaced);
    // Counted from the newest item, which is the nearest to the time of sending.
    assert_eq!(
        run_until(&mut playout, ms(1_000)),
        [(0, 1, ms(100)), (1, 1, ms(101)), (2, 1, ms(102))]
    );
}

#[test]
fn pieces_that_overtook_each_other_leave_in_order() {
    let mut playout = playout();
    for position in [3, 1, 0, 2] {
        playout.handle_piece(ms(20), PATH, &piece(position, 1, ms(position)));
    }
    let positions: Vec<_> = run_until(&mut playout, ms(1_000)).iter().map(|r| r.0).collect();
    assert_eq!(positions, [0, 1, 2, 3]);
    assert_eq!(playout.stats().skipped_items, 0);
}

#[test]
fn what_is_missing_is_given_up_when_the_next_item_is_due() {
    let mut playout = playout();
    playout.handle_piece(ms(0), PATH, &piece(0, 1, ms(0)));
    playout.handle_piece(ms(20), PATH, &piece(5, 1, ms(20)));
    assert_eq!(run_until(&mut playout, ms(119)), [(0, 1, ms(100))]);
    let released = drain(&mut playout, ms(120));
    assert_eq!((released[0].position, released[0].skipped), (5, 4));
    playout.handle_piece(ms(121), PATH, &piece(2, 1, ms(10)));
    assert!(playout.is_empty(), "too late");
    let stats = playout.stats();
    assert_eq!((stats.skipped_items, stats.late.reference), (4, 1));
}

#[test]
fn an_item_a_little_late_is_released_at_once_if_nothing_after_it_was() {
    let mut playout = playout();
    playout.handle_piece(ms(0), PATH, &piece(0, 1, ms(0)));
    drain(&mut playout, ms(100));
    playout.handle_piece(ms(111), PATH, &piece(1, 1, ms(10)));
    assert_eq!(drain(&mut playout, ms(111)).len(), 1, "1 ms late");
    playout.handle_piece(ms(124), PATH, &piece(2, 1, ms(20)));
    assert!(playout.is_empty(), "4 ms late");
    assert_eq!(playout.stats().late.total(), 1);
}

#[test]
fn the_late_part_of_a_piece_goes_and_the_rest_stays() {
    let mut playout = playout();
    playout.handle_piece(ms(0), PATH, &piece(0, 1, ms(0)));
    drain(&mut playout, ms(100));
    let mut spaced = piece(1, 4, ms(10));
    spaced.header.runs[0].step = 10_000 * 256;
    playout.handle_piece(ms(125), PATH, &spaced);
    let released = run_until(&mut playout, ms(1_000));
    assert_eq!(released, [(3, 1, ms(130)), (4, 1, ms(140))]);
    let stats = playout.stats();
    assert_eq!((stats.skipped_items, stats.late.reference, stats.released_items), (2, 1, 3));
}

#[test]
fn bytes_of_a_piece_cut_into_releases_are_the_right_ones() {
    let mut playout = playout();
    let mut two_runs = piece(0, 6, ms(0));
    two_runs.header.runs = vec![
        Run { count: 2, ..two_runs.header.runs[0] },
        Run { position: 10, count: 4, at_us: 1_000, step: 256_000 },
    ];
    playout.handle_piece(ms(4), PATH, &two_runs);
    let mut out = Vec::new();
    while let Some(wakeup) = playout.poll_timeout() {
        out.extend(drain(&mut playout, wakeup.at).iter().flat_map(|r| r.bytes.to_vec()));
    }
    assert_eq!(out, two_runs.payload);
}

#[test]
fn null_packets_come_back_as_they_were() {
    let mut playout = playout();
    let mut nulls = piece(0, 100, ms(0));
    (nulls.header.nulls, nulls.payload) = (true, Bytes::new());
    playout.handle_piece(ms(0), PATH, &nulls);
    let released = drain(&mut playout, ms(100));
    let out: Vec<u8> = released.iter().flat_map(|r| r.bytes.to_vec()).collect();
    assert_eq!(out, crate::ts::NULL_PACKET.repeat(100));
    assert_eq!(playout.stats().released_bytes, 18_800);
}

#[test]
fn a_piece_that_comes_twice_counts_once() {
    let mut playout = playout();
    for _ in 0..2 {
        playout.handle_piece(ms(0), PATH, &piece(0, 3, ms(0)));
    }
    assert_eq!(run_until(&mut playout, ms(1_000)), [(0, 3, ms(100))]);
    let stats = playout.stats();
    assert_eq!((stats.duplicate_items, stats.pieces.total(), stats.late.total()), (3, 1, 0));
}

#[test]
fn losses_are_told_by_class() {
    let mut playout = playout();
    let mut position = 0;
    let mut feed = |class, sequence, comes: bool| {
        let mut one = piece(position, 1, ms(position));
        (one.header.class, one.header.sequence) = (class, sequence);
        if comes {
            playout.handle_piece(ms(position), PATH, &one);
        }
        position += 1;
    };
    for i in 0..10 {
        feed(Class::Disposable, i, i % 3 == 0);
        feed(Class::KeyFrame, i, i != 4);
        feed(Class::Audio, i, true);
    }
    let missing = playout.stats().missing;
    assert_eq!((missing.disposable, missing.key_frame, missing.audio), (6, 1, 0));
}

#[test]
fn the_time_that_was_left_is_told() {
    let mut playout = playout();
    for (position, delay) in [(0, 20), (1, 50), (2, 110), (3, 140)] {
        let sent = ms(10 * position);
        playout.handle_piece(sent + Duration::from_millis(delay), PATH, &piece(position, 1, sent));
    }
    let left = [0.25, 0.5, 0.75, 1.0].map(|share| playout.spare().quantile(share).as_micros());
    for (is, exact) in left.into_iter().zip([0, 10_000, 70_000, 100_000]) {
        assert!(is.abs_diff(exact) <= exact / 100, "{is} us instead of {exact}");
    }
}

#[test]
fn a_sender_that_starts_again_is_followed_and_its_old_session_ends() {
    let mut playout = playout();
    playout.handle_piece(ms(5_000), PATH, &piece(900, 1, ms(4_000)));
    let mut fresh = piece(0, 1, ms(3));
    fresh.header.session = 2;
    playout.handle_piece(ms(5_010), PATH, &fresh);
    playout.handle_piece(ms(5_011), PATH, &piece(901, 1, ms(4_010)));
    assert_eq!(run_until(&mut playout, ms(9_000)), [(0, 1, ms(5_110))]);
    let stats = playout.stats();
    assert_eq!((stats.sessions, stats.stray, stats.dropped_items.reference), (2, 1, 1));
}

#[test]
fn a_unit_ends_with_the_last_items_of_its_last_piece() {
    let mut playout = playout();
    let mut last = piece(0, 1, ms(0));
    last.header.last = true;
    last.header.runs.push(Run { position: 2, count: 2, at_us: 0, step: 0 });
    last.payload = [0; 3 * PACKET_LEN].to_vec().into();
    playout.handle_piece(ms(10), PATH, &last);
    playout.handle_piece(ms(10), PATH, &piece(1, 1, ms(0)));
    let ends: Vec<_> =
        drain(&mut playout, ms(500)).iter().map(|it| (it.position, it.last)).collect();
    assert_eq!(ends, [(0, false), (1, false), (2, true)]);
}
