use super::*;
use crate::testing::{drain, number, packet};

/// 125 IP bytes take 1 ms at 1 Mbit/s.
const LEN: usize = 125 - 28;

fn ms(ms: u64) -> Time {
    Time::from_millis(ms)
}

fn link(config: LinkConfig) -> Link {
    Link::new(config, Rng::from_u64(7))
}

fn slow(delay_ms: u64) -> LinkConfig {
    LinkConfig {
        rate: Some(Rate::mbps(1)),
        delay: Duration::from_millis(delay_ms),
        ..LinkConfig::default()
    }
}

fn offer(link: &mut Link, now: Time, numbers: std::ops::Range<u32>) {
    for n in numbers {
        link.handle_packet(now, packet(n, LEN));
    }
}

/// Polls at every timeout up to `end`: what comes out, and when.
fn run(link: &mut Link, end: Time) -> Vec<(u32, Time)> {
    let mut out = Vec::new();
    while let Some(at) = link.poll_timeout().filter(|at| *at <= end) {
        out.extend(drain(link, at).iter().map(|packet| (number(packet), at)));
    }
    out
}

#[test]
fn a_packet_takes_its_sending_time_and_the_delay() {
    let mut link = link(slow(10));
    offer(&mut link, ms(5), 0..3);
    assert_eq!(run(&mut link, Time::MAX), [(0, ms(16)), (1, ms(17)), (2, ms(18))]);
}

#[test]
fn an_unlimited_link_only_delays() {
    let config = LinkConfig { rate: None, ..slow(10) };
    let mut link = link(config);
    offer(&mut link, ms(5), 0..2);
    assert_eq!(run(&mut link, Time::MAX), [(0, ms(15)), (1, ms(15))]);
}

#[test]
fn a_link_that_is_polled_late_has_kept_its_rate() {
    let mut link = link(slow(0));
    offer(&mut link, ms(0), 0..10);
    assert_eq!(drain(&mut link, ms(6)).len(), 6);
    assert_eq!(drain(&mut link, ms(100)).len(), 4);
}

#[test]
fn the_queue_holds_its_limit_besides_the_packet_being_sent() {
    let mut link = link(LinkConfig { queue: QueueLimit::Packets(3), ..slow(0) });
    offer(&mut link, ms(0), 0..10);
    let stats = link.stats();
    assert_eq!((stats.sending.packets, stats.queued.packets), (1, 3));
    assert_eq!(stats.dropped.queue, Traffic { packets: 6, bytes: 6 * 125 });
    assert_eq!(run(&mut link, Time::MAX).len(), 4);
}

#[test]
fn a_new_rate_counts_from_its_instant_on_for_the_packet_being_sent_too() {
    let mut link = link(slow(0));
    link.handle_packet(ms(0), packet(0, 10 * 125 - 28));
    offer(&mut link, ms(0), 1..2);
    // 4 of 10 ms are done; the other 6 take 12 at half the rate, the next packet takes 2.
    link.reconfigure(ms(4), LinkConfig { rate: Some(Rate::kbps(500)), ..slow(0) });
    assert_eq!(run(&mut link, Time::MAX), [(0, ms(16)), (1, ms(18))]);
}

#[test]
fn rate_zero_holds_everything_until_the_rate_is_back() {
    let mut link = link(slow(0));
    offer(&mut link, ms(0), 0..2);
    link.reconfigure(Time::from_micros(500), LinkConfig { rate: Some(Rate::ZERO), ..slow(0) });
    assert_eq!(link.poll_timeout(), None);
    assert!(drain(&mut link, ms(1_000)).is_empty());
    link.reconfigure(ms(2_000), slow(0));
    let half = Time::from_micros(2_000_500);
    assert_eq!(run(&mut link, Time::MAX), [(0, half), (1, half + Duration::from_millis(1))]);
}

#[test]
fn lifting_the_rate_limit_sends_the_queue_at_once() {
    let mut link = link(slow(10));
    offer(&mut link, ms(0), 0..3);
    link.reconfigure(Time::from_micros(1_500), LinkConfig { rate: None, ..slow(10) });
    let rest = Time::from_micros(11_500);
    assert_eq!(run(&mut link, Time::MAX), [(0, ms(11)), (1, rest), (2, rest)]);
}

#[test]
fn a_shorter_delay_does_not_reorder() {
    let mut link = link(slow(100));
    offer(&mut link, ms(0), 0..1);
    assert!(drain(&mut link, ms(10)).is_empty());
    link.reconfigure(ms(10), slow(5));
    offer(&mut link, ms(10), 1..2);
    assert_eq!(run(&mut link, Time::MAX), [(0, ms(101)), (1, ms(101))]);
    offer(&mut link, ms(200), 2..3);
    assert_eq!(run(&mut link, Time::MAX), [(2, ms(206))]);
}

#[test]
fn jitter_is_uniform_and_keeps_the_order() {
    let jitter = Duration::from_millis(4);
    let config = LinkConfig { rate: None, jitter, ..slow(10) };
    let mut sparse = link(config);
    let mut extra = Vec::new();
    for n in 0..5_000 {
        let sent = ms(20 * u64::from(n));
        offer(&mut sparse, sent, n..n + 1);
        let [(_, at)] = run(&mut sparse, Time::MAX)[..] else { panic!("one in, one out") };
        extra.push((at - sent - Duration::from_millis(10)).as_nanos() as f64 / 4e6);
    }
    // The mean of a uniform variable is 1/2 and its variance 1/12.
    let mean = extra.iter().sum::<f64>() / 5_000.0;
    let variance = extra.iter().map(|x| (x - mean).powi(2)).sum::<f64>() / 5_000.0;
    assert!((mean - 0.5).abs() < 0.02 && (variance - 1.0 / 12.0).abs() < 0.005);
    assert!(extra.iter().all(|x| (0.0..=1.0).contains(x)));

    let mut dense = link(config);
    offer(&mut dense, ms(0), 0..1_000);
    let out = run(&mut dense, Time::MAX);
    assert!(out.is_sorted() && out.len() == 1_000);
}

#[test]
fn a_cut_loses_what_is_inside_and_what_comes_until_it_is_restored() {
    let mut link = link(slow(10));
    offer(&mut link, ms(0), 0..20);
    // At 12 ms two have arrived, ten travel or are being sent, and the rest waits.
    link.cut(ms(12));
    offer(&mut link, ms(13), 20..22);
    assert_eq!(drain(&mut link, ms(14)).len(), 2, "what has arrived stays");
    assert_eq!(link.poll_timeout(), None);
    assert_eq!(link.stats().dropped.cut.packets, 20);
    link.restore();
    offer(&mut link, ms(15), 22..23);
    assert_eq!(run(&mut link, Time::MAX), [(22, ms(26))]);
    assert_eq!(link.stats().in_flight(), Traffic::default());
}

#[test]
fn a_lost_packet_uses_its_share_of_the_rate() {
    let half = LinkConfig { loss: Loss::uniform(0.5), ..slow(0) };
    let mut link = link(half);
    offer(&mut link, ms(0), 0..500);
    for (number, at) in run(&mut link, Time::MAX) {
        assert_eq!(at, ms(u64::from(number) + 1));
    }
    let stats = link.stats();
    assert_eq!(stats.delivered.packets + stats.dropped.loss.packets, 500);
    assert!((200..300).contains(&stats.dropped.loss.packets));
}

#[test]
fn new_loss_meets_packets_on_the_wire() {
    let mut link = link(slow(100));
    offer(&mut link, ms(0), 0..5);
    link.reconfigure(ms(50), LinkConfig { loss: Loss::uniform(1.0), ..slow(100) });
    assert_eq!(run(&mut link, Time::MAX), []);
    assert_eq!(link.stats().dropped.loss.packets, 5);
}

#[test]
fn packets_beyond_the_mtu_are_dropped() {
    let mut link = link(LinkConfig { mtu: 1_500, ..LinkConfig::default() });
    link.handle_packet(ms(0), packet(0, 1_472));
    link.handle_packet(ms(0), packet(1, 1_473));
    assert_eq!(run(&mut link, Time::MAX), [(0, ms(0))]);
    assert_eq!(link.stats().dropped.mtu, Traffic { packets: 1, bytes: 1_501 });
}

#[test]
fn a_link_holds_no_more_than_its_bound() {
    let mut link = link(LinkConfig { rate: None, ..slow(1_000) });
    for n in 0..MAX_PACKETS_HELD as u32 + 5 {
        link.handle_packet(ms(0), packet(n, 4));
    }
    assert_eq!(link.stats().in_flight().packets, MAX_PACKETS_HELD as u64);
    assert_eq!(link.stats().dropped.queue.packets, 5);
}

#[test]
fn dropped_packets_can_be_polled_if_kept_and_the_oldest_are_forgotten() {
    let mut link = link(LinkConfig { queue: QueueLimit::Packets(0), ..slow(0) });
    offer(&mut link, ms(0), 0..2);
    assert_eq!(link.poll_dropped(), None, "not kept unless asked to");
    link.keep_dropped();
    offer(&mut link, ms(0), 2..MAX_DROPPED_KEPT as u32 + 3);
    assert_eq!(link.poll_dropped(), Some((DropCause::Queue, packet(3, LEN))));
}

#[test]
fn the_order_of_draws_does_not_depend_on_the_polls() {
    let config = LinkConfig { jitter: Duration::from_millis(3), ..LinkConfig::wifi() };
    let offered = |link: &mut Link, n: u32| link.handle_packet(ms(u64::from(n)), packet(n, 1_000));
    let mut eager = link(config);
    let mut out = Vec::new();
    for n in 0..2_000 {
        offered(&mut eager, n);
        out.extend(drain(&mut eager, ms(u64::from(n))));
    }
    out.extend(drain(&mut eager, Time::MAX));
    let mut lazy = link(config);
    (0..2_000).for_each(|n| offered(&mut lazy, n));
    assert_eq!(out, drain(&mut lazy, Time::MAX));
}
