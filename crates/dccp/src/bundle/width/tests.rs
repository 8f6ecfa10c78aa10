//! Links that are reckoned, not run.

use super::*;

/// Connections over a link: what each would bring, what all can, and the loss event rate.
struct Link {
    each: f64,
    capacity: f64,
    loss: fn(usize) -> f64,
    /// Whether the link has a queue that delays what is too much.
    has_queue: bool,
}

const PACKET: f64 = 1_000.0;
const RTT: f64 = 0.05;

/// The number of connections in each second, where data waits or not.
fn run(link: &Link, is_limited: bool, seconds: usize) -> Vec<usize> {
    run_beside(link, is_limited, seconds, 0.0)
}

/// The same where others delay every other packet by so many seconds.
fn run_beside(link: &Link, is_limited: bool, seconds: usize, others: f64) -> Vec<usize> {
    let mut width = Width::new(Time::ZERO);
    let (mut now, mut bytes, mut lost) = (Time::ZERO, 0.0, 0.0);
    let mut widths = Vec::new();
    for step in 0..seconds * 10 {
        let wanted = link.each * width.target() as f64;
        let sent = wanted.min(link.capacity) / 10.0;
        bytes += sent;
        lost += sent / PACKET * (link.loss)(width.target());
        let surplus = (wanted / link.capacity - 1.0).clamp(0.0, 1.0);
        let delay = if link.has_queue { surplus * RTT } else { 0.0 };
        let look = Look {
            connections: width.target(),
            rtt: Some(Duration::from_secs_f64(RTT + delay + others * (step % 2) as f64)),
            loss_event_rate: (link.loss)(width.target()),
            loss_events: lost as u64,
            bytes: bytes as u64,
            packets: (bytes / PACKET) as u64,
            is_limited,
            allowed_rate: None,
        };
        width.look(now, &look);
        now += LOOK_INTERVAL;
        if step % 10 == 9 {
            widths.push(width.target());
        }
    }
    widths
}

const LOSSY: Link = Link { each: 1e5, capacity: 1e6, loss: |_| 0.02, has_queue: true };

#[test]
fn there_are_more_until_the_link_is_full() {
    let widths = run(&LOSSY, true, 60);
    assert!(widths[2] >= 8, "{widths:?}");
    assert!(widths[20..].iter().all(|width| (8..=14).contains(width)), "{widths:?}");
}

#[test]
fn where_others_come_and_go_in_a_queue_there_are_more_step_by_step() {
    let widths = run_beside(&LOSSY, true, 60, 0.006);
    assert!(widths.is_sorted_by(|a, b| b <= &(a * 2)), "{widths:?}");
    assert!(widths[1] == 1 && widths[8] >= 8, "{widths:?}");
}

#[test]
fn nothing_that_waits_is_no_reason_for_more() {
    assert_eq!(run(&LOSSY, false, 30), [1; 30]);
}

#[test]
fn data_that_waits_for_the_first_time_begins_a_new_span() {
    let mut width = Width::new(Time::ZERO);
    let more_at = (0_u64..).find(|step| {
        let look = Look {
            connections: width.target(),
            rtt: Some(Duration::from_secs_f64(RTT + 0.003 * (step % 2) as f64)),
            loss_event_rate: 0.01,
            loss_events: step / 10,
            bytes: step * 10_000,
            packets: step * 10,
            // Three seconds into a span that takes four and a quarter, as the next one does.
            is_limited: *step > 30,
            allowed_rate: None,
        };
        width.look(Time::ZERO + LOOK_INTERVAL * *step as u32, &look);
        width.target() > 1
    });
    assert!(more_at.is_some_and(|step| step < 80), "{more_at:?}");
}

#[test]
fn where_nothing_is_lost_one_is_enough() {
    assert_eq!(run(&Link { loss: |_| 0.0, ..LOSSY }, true, 30), [1; 30]);
}

#[test]
fn what_brings_no_rate_goes_again_and_is_tried_rarely() {
    let full = Link { each: 1e6, loss: |_| 0.02, has_queue: false, ..LOSSY };
    let widths = run(&full, true, 400).split_off(30);
    let tries: Vec<usize> =
        (1..widths.len()).filter(|n| widths[n - 1] == 1 && widths[*n] > 1).collect();
    let gaps: Vec<usize> = tries.windows(2).map(|pair| pair[1] - pair[0]).collect();
    assert!(gaps.iter().all(|gap| *gap > 60) && gaps.len() >= 2, "{gaps:?} {widths:?}");
    let many = widths.iter().filter(|width| **width > 1).count();
    assert!(many < 40, "{widths:?}");
}

#[test]
fn losses_that_grow_with_connections_are_no_channels() {
    let grow = |n: usize| 0.01 * (n * n) as f64;
    let widths = run(&Link { loss: grow, has_queue: false, ..LOSSY }, true, 60);
    assert!(widths.iter().all(|width| *width <= 4), "{widths:?}");
    assert!(widths[10..].iter().all(|width| *width <= 2), "{widths:?}");
}

/// The first connection counts with an interval that was reckoned from its rate (RFC 5348 section
/// 6.3.1), so that it takes one loss in twenty for one in a hundred.
#[test]
fn regression_a_first_connection_that_seemed_to_lose_little_was_gone_back_to() {
    let mut width = Width::new(Time::ZERO);
    let (mut now, mut bytes) = (Time::ZERO, 0);
    for _ in 0..150 {
        bytes += 10_000 * width.target() as u64;
        let look = Look {
            connections: width.target(),
            rtt: Some(Duration::from_millis(50)),
            loss_event_rate: if width.target() == 1 { 0.007 } else { 0.06 },
            loss_events: bytes / 20_000,
            bytes,
            packets: bytes / 1_000,
            is_limited: true,
            allowed_rate: None,
        };
        width.look(now, &look);
        now += LOOK_INTERVAL;
    }
    assert_eq!(width.target(), CONNECTIONS_MAX);
}

#[test]
fn there_are_never_more_than_the_limit() {
    let wide = Link { capacity: 1e9, ..LOSSY };
    assert_eq!(run(&wide, true, 60).iter().max(), Some(&CONNECTIONS_MAX));
}

#[test]
fn those_that_come_late_count_once_they_are_there() {
    let mut width = Width::new(Time::ZERO);
    let (mut now, mut bytes) = (Time::ZERO, 0);
    let (mut there, mut wanted_since) = (1, Time::ZERO);
    for _ in 0..200 {
        // As where their Requests are lost.
        if width.target() <= there {
            (there, wanted_since) = (width.target(), now);
        } else if now - wanted_since > Duration::from_millis(1_500) {
            there = width.target();
        }
        bytes += 10_000 * there as u64;
        let look = Look {
            connections: there,
            rtt: Some(Duration::from_millis(50)),
            loss_event_rate: 0.02,
            loss_events: bytes / 50_000,
            bytes,
            packets: bytes / 1_000,
            is_limited: true,
            allowed_rate: None,
        };
        width.look(now, &look);
        now += LOOK_INTERVAL;
    }
    assert_eq!(width.target(), CONNECTIONS_MAX);
}

#[test]
fn those_that_do_not_come_are_not_waited_for() {
    let mut width = Width::new(Time::ZERO);
    let mut now = Time::ZERO;
    for n in 0..200 {
        let look = Look {
            connections: 1,
            rtt: Some(Duration::from_millis(50)),
            loss_event_rate: 0.02,
            loss_events: n * 2 / 5,
            bytes: n * 20_000,
            packets: n * 20,
            is_limited: true,
            allowed_rate: None,
        };
        width.look(now, &look);
        now += LOOK_INTERVAL;
        assert!(width.target() <= 4, "{}", width.target());
    }
}
