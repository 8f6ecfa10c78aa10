//! A reader that takes its time for each message, as Huseynli 2023 has it (section 4): what waits
//! how long, in order of arrival and with what matters most first.
//!
//! Messages of 1310 bytes come at 9 Mbit/s, of a random level each, a third High, Normal and Low.
//! The reader's times are random (exponential), and the same in either order.

use std::time::Duration;

use anabranch_netsim::Side;
use anabranch_sansio::{Rng, Time};
use anabranch_sctp::{
    Association, AssociationConfig, CongestionControl, Level, OutgoingMessage, ReceiveOrder,
};

use crate::harness::{Duo, link, numbered};

const LEN: usize = 1_310;
const INTERVAL: Duration = Duration::from_nanos(8 * LEN as u64 * 1_000 / 9);
const MESSAGES: u32 = 12_000;

/// How long the messages of each level waited to be read.
type Waits = [Vec<Duration>; Level::ALL.len()];

struct Reader {
    duo: Duo,
    levels: Rng,
    times: Rng,
    /// The mean time that it takes for a message.
    takes: Duration,
    free_at: Time,
    waits: Waits,
}

/// Where levels decide, each has a stream of its own: within one, messages stay in order.
fn waits(order: ReceiveOrder, load: f64) -> Waits {
    let config = AssociationConfig::media().with(|config| {
        config.buffers.receive_order = order;
        config.window.congestion_control = CongestionControl::Fixed { window: 1 << 20 };
    });
    let mut duo = Duo::connected(1, &[link(20, 30, 0.0)], config);
    duo.reads = false;
    let free_at = duo.now();
    let (levels, times) = (Rng::from_u64(2), Rng::from_u64(3));
    let takes = INTERVAL.mul_f64(load);
    let mut reader = Reader { duo, levels, times, takes, free_at, waits: Waits::default() };
    for number in 0..MESSAGES {
        let level = Level::ALL[1 + reader.levels.range(0..3) as usize];
        let stream = if order == ReceiveOrder::Arrival { 0 } else { level.index() as u16 };
        let message = OutgoingMessage { level, ..numbered(stream, number, LEN) };
        reader.duo.send(Side::Client, message);
        reader.read_until(reader.duo.now() + INTERVAL);
    }
    reader.read_until(reader.duo.now() + Duration::from_secs(10));
    reader.waits
}

impl Reader {
    fn read_until(&mut self, end: Time) {
        loop {
            let now = self.duo.now();
            if now < self.free_at {
                self.duo.run_for(self.free_at.min(end).saturating_since(now));
            }
            let has_message =
                |duo: &Duo| duo.association(Side::Server).is_some_and(Association::has_message);
            let rest = end.saturating_since(self.duo.now());
            if self.duo.now() < self.free_at || !self.duo.run_until(rest, has_message) {
                return;
            }
            let now = self.duo.now();
            let message = self.duo.act(Side::Server, |association, _| association.receive());
            let message = message.expect("there is one");
            let wait = now.saturating_since(message.completed_at);
            self.waits[message.level.index()].push(wait);
            self.free_at = now + self.takes.mul_f64(-(1.0 - self.times.unit()).ln());
        }
    }
}

fn total(waits: &[Duration]) -> f64 {
    waits.iter().map(Duration::as_secs_f64).sum()
}

fn mean(waits: &[Duration]) -> f64 {
    total(waits) / waits.len() as f64
}

#[test]
fn near_full_load_what_matters_most_waits_a_fraction_and_all_together_wait_as_long() {
    let by_arrival = waits(ReceiveOrder::Arrival, 0.95);
    let by_level = waits(ReceiveOrder::PRIORITY, 0.95);
    let [_, high, normal, low] = [0, 1, 2, 3].map(|at| mean(&by_level[at]) / mean(&by_arrival[at]));
    assert!(high < 0.2 && normal < 0.6 && low > 1.0, "{high}, {normal}, {low}");
    // Huseynli 2023, equation 3: the total over all levels is the same.
    let [arrival, level] = [&by_arrival, &by_level].map(|waits| total(&waits.concat()));
    assert!((level / arrival - 1.0).abs() < 0.02, "{level} s beside {arrival} s");
    let counts = |waits: &Waits| waits.each_ref().map(Vec::len);
    assert_eq!(counts(&by_level), counts(&by_arrival));
    assert_eq!(by_level.concat().len(), MESSAGES as usize);
}

#[test]
fn what_matters_least_waits_for_what_is_older_and_the_bound_at_most() {
    for load in [0.8, 0.9, 0.99] {
        let longest = |order| waits(order, load).concat().into_iter().max().expect("some");
        let older = longest(ReceiveOrder::Arrival);
        let wait_max = Duration::from_millis(50);
        let most = longest(ReceiveOrder::Priority { wait_max });
        assert!(most <= wait_max + older, "{most:?}, {older:?} of it for what is older");
    }
}
