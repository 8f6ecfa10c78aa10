use anabranch_sansio::Rate;

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
    let mut sparse = link(config.clone());
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
fn packets_beyond_the_mtu_pass_if_they_may_be_fragmented() {
    let mut link = link(LinkConfig { mtu: 1_500, ..LinkConfig::default() });
    let packet = Packet { may_fragment: true, ..of_len(1, 1_501) };
    link.handle_packet(ms(0), packet);
    assert_eq!(run(&mut link, Time::MAX).len(), 1);
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
    let mut eager = link(config.clone());
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

/// A link that sends by this trace.
fn traced(milliseconds: &[u32]) -> LinkConfig {
    let trace = Some(Trace::new(milliseconds.to_vec()).unwrap());
    LinkConfig { trace, ..LinkConfig::default() }
}

/// A packet of so many IP bytes.
fn of_len(n: u32, ip_len: usize) -> Packet {
    packet(n, ip_len - 28)
}

#[test]
fn each_line_of_a_trace_carries_1500_bytes_and_equal_lines_several_packets() {
    let mut link = link(traced(&[2, 2, 5, 9]));
    for n in 0..6 {
        link.handle_packet(ms(0), of_len(n, 1_500));
    }
    let expected = [(0, 2), (1, 2), (2, 5), (3, 9), (4, 11), (5, 11)];
    assert_eq!(run(&mut link, Time::MAX), expected.map(|(n, at)| (n, ms(at))));
}

#[test]
fn short_packets_share_an_opportunity_and_a_long_one_goes_on_in_the_next() {
    let mut link = link(traced(&[2, 5, 9]));
    for (n, len) in [(0, 500), (1, 500), (2, 700), (3, 3_000)] {
        link.handle_packet(ms(0), of_len(n, len));
    }
    // Of the first opportunity 500 bytes are left, of the second 1,300, of the third none.
    let expected = [(0, 2), (1, 2), (2, 5), (3, 11)];
    assert_eq!(run(&mut link, Time::MAX), expected.map(|(n, at)| (n, ms(at))));
}

#[test]
fn an_opportunity_that_nothing_waits_for_is_lost() {
    let mut link = link(traced(&[2, 2, 5, 9]));
    link.handle_packet(ms(0), of_len(0, 100));
    assert_eq!(run(&mut link, ms(3)), [(0, ms(2))]);
    link.handle_packet(ms(5), of_len(1, 100));
    assert_eq!(run(&mut link, Time::MAX), [(1, ms(9))], "the one at 5 ms has passed");
}

#[test]
fn a_full_queue_is_sent_at_the_mean_rate_of_its_trace() {
    let config = traced(&[7, 7, 8, 40, 41, 100]);
    let mean = config.trace.as_ref().map(Trace::mean_rate);
    let mut link = link(config);
    for n in 0..1_000 {
        link.handle_packet(ms(0), of_len(n, 900));
    }
    let (_, last) = run(&mut link, Time::MAX)[999];
    let rate = Rate::bps((900_000.0 * 8.0 / (last - ms(0)).as_secs_f64()) as u64);
    assert_eq!(mean, Some(Rate::kbps(720)));
    assert_eq!((rate, link.stats().delivered.packets), (Rate::kbps(720), 1_000));
}

#[test]
fn a_packet_being_sent_goes_on_when_a_trace_comes_or_goes() {
    let mut link = link(traced(&[2, 4, 6]));
    link.handle_packet(ms(0), of_len(0, 4_500));
    // Two thirds are sent; 1,500 bytes take 12 ms at 1 Mbit/s.
    link.reconfigure(ms(5), slow(0));
    assert_eq!(link.poll_timeout(), Some(ms(17)));
    // Half of that is done by 11 ms; the new trace begins then, and its second line is at 14 ms.
    link.reconfigure(ms(11), traced(&[0, 3]));
    assert_eq!(run(&mut link, Time::MAX), [(0, ms(14))]);
}

#[test]
fn held_packets_are_their_share_uniform_in_time_and_overtaken() {
    let config = LinkConfig {
        reorder: Probability::saturating(0.3),
        hold_max: Duration::from_millis(10),
        ..slow(20)
    };
    let mut link = link(LinkConfig { rate: None, ..config });
    let mut holds = Vec::new();
    let mut out = Vec::new();
    for n in 0..10_000 {
        out.extend(run(&mut link, ms(u64::from(n))));
        offer(&mut link, ms(u64::from(n)), n..n + 1);
    }
    out.extend(run(&mut link, Time::MAX));
    for (n, at) in &out {
        holds.push(*at - ms(u64::from(*n) + 20));
    }
    holds.retain(|hold| !hold.is_zero());
    assert!((2_850..3_150).contains(&holds.len()), "{} of 10000 held", holds.len());
    let mean = holds.iter().sum::<Duration>() / holds.len() as u32;
    assert!((4_800..5_200).contains(&mean.as_micros()), "held for {mean:?} on average");
    assert!(holds.iter().all(|hold| *hold <= Duration::from_millis(10)));
    let overtaken = out.windows(2).filter(|pair| pair[1].0 < pair[0].0).count();
    assert!(overtaken > 1_500, "{overtaken} came after a later one");
    assert_eq!((out.len(), link.stats().in_flight()), (10_000, Traffic::default()));
}

#[test]
fn without_reordering_nothing_is_drawn_for_it() {
    let jitter = LinkConfig { jitter: Duration::from_millis(3), ..LinkConfig::wifi() };
    let hold = LinkConfig { hold_max: Duration::from_secs(1), ..jitter.clone() };
    let [a, b] = [jitter, hold].map(|config| {
        let mut link = link(config);
        offer(&mut link, ms(0), 0..500);
        run(&mut link, Time::MAX)
    });
    assert_eq!(a, b);
}

#[test]
fn what_a_cut_lost_holds_up_nothing_that_comes_after_it() {
    let mut link = link(slow(1_000));
    offer(&mut link, ms(0), 0..1);
    link.cut(ms(5));
    link.restore();
    link.reconfigure(ms(5), slow(10));
    offer(&mut link, ms(5), 1..2);
    assert_eq!(run(&mut link, Time::MAX), [(1, ms(16))]);
}
