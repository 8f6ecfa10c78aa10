//! Random networks and random bytes: nothing twice, in order, not before its time, within memory.

use super::*;

#[test]
fn memory_stays_within_its_limit_and_the_least_important_goes_first() {
    let mut playout = Playout::new(Config { max_bytes: 40_000, ..Config::with_latency(LATENCY) });
    for position in 0..1_000 {
        let mut one = piece(position, 1, ms(position / 100));
        one.header.class = if position % 10 == 0 { Class::KeyFrame } else { Class::Disposable };
        playout.handle_piece(ms(position / 100), PATH, &one);
        assert!(playout.stats().queued_bytes <= 40_000);
    }
    let dropped = playout.stats().dropped_items;
    assert_eq!(dropped.disposable, 900, "all of the least important");
    assert_eq!(dropped.key_frame, 10, "and of the others what does not fit");
    let released = run_until(&mut playout, ms(1_000));
    assert_eq!(released.len() as u64, 1_000 - dropped.total());
}

#[test]
fn any_network_leaves_order_time_and_memory_intact() {
    for seed in 0..150 {
        let mut rng = Rng::from_u64(seed);
        let mut playout =
            Playout::new(Config { max_bytes: 60_000, ..Config::with_latency(LATENCY) });
        let (mut position, mut sent) = (0, 0);
        let mut network: Vec<(Time, Piece)> = Vec::new();
        for _ in 0..400 {
            sent += rng.range(0..3_000);
            let mut one = piece(position, rng.range(1..20) as u32, Time::from_micros(sent));
            one.header.class = Class::ALL[rng.range(0..7) as usize];
            one.header.runs[0].step = rng.range(0..3) as u32 * 12_800;
            position = one.header.runs[0].end() + rng.range(0..2);
            let slow = if rng.chance(0.1) { 200_000 } else { 20_000 };
            for _ in 0..[0, 1, 1, 1, 1, 1, 1, 1, 1, 2][rng.range(0..10) as usize] {
                let arrival = one.header.last_at() + Duration::from_micros(rng.range(5_000..slow));
                network.push((arrival, one.clone()));
            }
        }
        network.sort_by_key(|(arrival, _)| *arrival);
        let mut next = 0;
        for (now, one) in network {
            let path = rng.chance(0.9).then(|| PathId(rng.range(0..3) as u32));
            while let Some(wakeup) = playout.poll_timeout().filter(|wakeup| wakeup.at <= now) {
                next = check_releases(&mut playout, wakeup.at, next);
            }
            playout.handle_piece(now, path, &one);
            assert!(playout.stats().queued_bytes <= 60_000, "seed {seed}");
        }
        check_releases(&mut playout, Time::MAX, next);
        let stats = playout.stats();
        assert!(playout.is_empty() && stats.released_items > 500, "seed {seed}: {stats:?}");
    }
}

/// Returns the first position that may be released after these.
fn check_releases(playout: &mut Playout, now: Time, mut next: u64) -> u64 {
    while let Some(item) = playout.poll_release(now) {
        assert!(item.position >= next, "{} came after {next}", item.position);
        assert!(item.due <= now, "due {} and released {now}", item.due);
        for (i, packet) in item.bytes.chunks(PACKET_LEN).enumerate() {
            assert_eq!(packet[7], (item.position + i as u64) as u8, "the bytes of another item");
        }
        next = item.position + item.items;
    }
    next
}

#[test]
fn messages_of_random_bytes_are_counted_and_bounded() {
    let mut rng = Rng::from_u64(77);
    let mut playout = Playout::new(Config { max_bytes: 100_000, ..Config::with_latency(LATENCY) });
    let good = piece(5, 4, ms(30)).encode();
    for i in 0..20_000 {
        let mut message = good.clone();
        for _ in 0..rng.range(0..6) {
            message[rng.range(0..20) as usize] = rng.next_u32() as u8;
        }
        let now = Time::from_micros(i * 500);
        playout.handle_message(now, PATH, message.into());
        while playout.poll_release(now).is_some() {}
        assert!(playout.stats().queued_bytes <= 100_000);
    }
    let stats = playout.stats();
    assert!(stats.malformed > 1_000 && stats.pieces.total() > 100, "{stats:?}");
}

#[test]
fn after_a_position_and_a_time_from_nowhere_play_goes_on() {
    let mut playout = playout();
    playout.handle_piece(ms(200), PATH, &piece(1 << 47, 1, ms(200)));
    assert_eq!(drain(&mut playout, ms(300)).len(), 1);
    let mut released = 0;
    for i in 0..1_000 {
        let now = ms(301 + 10 * i);
        playout.handle_piece(now, PATH, &piece(i, 1, now));
        released += drain(&mut playout, now).len();
    }
    assert!(released > 600, "{released} of 1000 released");
    assert_eq!(playout.stats().resyncs, 1);
}
