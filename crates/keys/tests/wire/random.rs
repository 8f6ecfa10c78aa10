//! Random histories over two paths of 10 and 200 ms that lose, repeat and reorder: what both ends
//! say arrives once and in order. `ANABRANCH_SEEDS=0..10000` runs as many.

use std::collections::BTreeMap;
use std::env;
use std::time::Duration;

use anabranch_sansio::Rng;
use anabranch_sctp::CloseReason;

use crate::pump::{CALLER, Delivery, LISTENER, LONG, Sent, Wire, encrypted, message};

const STREAMS: u64 = 5;

fn seeds() -> std::ops::Range<u64> {
    let given = env::var("ANABRANCH_SEEDS").ok();
    let given = given.as_deref().and_then(|range| range.split_once(".."));
    given.map_or(0..200, |(first, end)| first.parse().unwrap()..end.parse().unwrap())
}

/// Loses, repeats and delays at random.
fn hostile(mut rng: Rng) -> impl FnMut(&Sent, &mut Vec<Delivery>) {
    let (loss, repeats, late) = (0.08 * rng.unit(), 0.2 * rng.unit(), 0.3 * rng.unit());
    move |_, deliveries| {
        let Some(mut first) = deliveries.pop() else { return };
        if rng.chance(late) {
            first.at += Duration::from_millis(rng.range(0..120));
        }
        if rng.chance(repeats) {
            let extra = Duration::from_millis(rng.range(0..1_500));
            deliveries.push(Delivery { at: first.at + extra, ..first.clone() });
        }
        if !rng.chance(loss) {
            deliveries.push(first);
        }
    }
}

/// What one end said or heard, by stream.
type Words = BTreeMap<u8, Vec<Vec<u8>>>;

struct History {
    wire: Wire,
    rng: Rng,
    said: [Words; 2],
    heard: [Words; 2],
}

impl History {
    fn new(seed: u64) -> Self {
        let mut rng = Rng::from_u64(seed);
        let delays = [Duration::from_millis(10), Duration::from_millis(200)];
        let mut wire = Wire::new([encrypted(), encrypted()], &delays, seed);
        wire.remembers = false;
        wire.adversary = Box::new(hostile(rng.fork()));
        let [said, heard] = Default::default();
        Self { wire, rng, said, heard }
    }

    fn say(&mut self) {
        let end = self.rng.range(0..2) as usize;
        let (stream, len) = (self.rng.range(0..STREAMS) as u8, self.rng.range(2..6_000) as usize);
        let mut words = vec![stream; len];
        self.rng.fill(&mut words[1..]);
        self.wire.send(end, message(stream.into(), &words));
        self.said[end].entry(stream).or_default().push(words);
    }

    fn listen(&mut self) {
        for end in [CALLER, LISTENER] {
            let Some(id) = self.wire.ids[end] else { continue };
            if self.wire.ends[end].association(id).is_none() {
                continue;
            }
            for words in self.wire.received(end) {
                self.heard[end].entry(words[0]).or_default().push(words);
            }
        }
    }

    fn go_on(&mut self, time: Duration) {
        self.wire.run(time);
        self.listen();
    }

    fn is_all_heard(&self) -> bool {
        self.said[CALLER] == self.heard[LISTENER] && self.said[LISTENER] == self.heard[CALLER]
    }
}

#[test]
fn everything_arrives_once_and_in_order_whatever_the_network_does() {
    for seed in seeds() {
        let mut history = History::new(seed);
        let are_connected = history.wire.run_until(LONG, Wire::are_connected);
        assert!(are_connected, "seed {seed}: {:?}", history.wire.events);
        for _ in 0..history.rng.range(5..40) {
            history.say();
            let pause = Duration::from_millis(history.rng.range(0..80));
            history.go_on(pause);
        }
        let end = history.rng.range(0..2) as usize;
        // In order, in the midst of it or when all is over.
        if history.rng.chance(0.5) {
            history.go_on(Duration::from_secs(20));
        }
        let now = history.wire.now;
        history.wire.end(end).shutdown(now);
        for _ in 0..600 {
            history.go_on(Duration::from_millis(100));
        }
        assert!(history.is_all_heard(), "seed {seed}: {:?}", history.wire.events);
        for end in [CALLER, LISTENER] {
            let reason = history.wire.close_reason(end);
            assert_eq!(reason, Some(&CloseReason::Shutdown), "seed {seed}");
        }
    }
}
