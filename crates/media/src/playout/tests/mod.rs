//! What is released when, what is given up, and what is counted.

mod clock;
mod hostile;
mod order;
mod patience;

use anabranch_sansio::Rng;

use super::*;
use crate::ts::PACKET_LEN;

const LATENCY: Duration = Duration::from_millis(100);
const PATH: Option<PathId> = Some(PathId(0));

fn ms(millis: u64) -> Time {
    Time::from_millis(millis)
}

fn playout() -> Playout {
    Playout::new(Config::with_latency(LATENCY))
}

/// A piece of items in a row that all came to the sender at `at`; each is filled with the low byte
/// of its position.
fn piece(position: u64, items: u32, at: Time) -> Piece {
    let run = Run { position, count: items, at_us: at.as_micros(), step: 0 };
    let bytes = |i| [(position + u64::from(i)) as u8; PACKET_LEN];
    Piece {
        header: Header {
            presentation: None,
            session: 1,
            track: Track(0x100),
            layer: Layer::BASE,
            class: Class::Reference,
            frame: 0,
            index: 0,
            sequence: position,
            last: false,
            nulls: false,
            runs: vec![run],
        },
        payload: (0..items).flat_map(bytes).collect::<Vec<_>>().into(),
    }
}

fn drain(playout: &mut Playout, now: Time) -> Vec<Released> {
    std::iter::from_fn(|| playout.poll_release(now)).collect()
}

/// Releases at each wakeup up to `end`: (position, items, release time).
fn run_until(playout: &mut Playout, end: Time) -> Vec<(u64, u64, Time)> {
    let mut released = Vec::new();
    while let Some(wakeup) = playout.poll_timeout().filter(|wakeup| wakeup.at <= end) {
        let items = drain(playout, wakeup.at);
        assert!(!items.is_empty(), "woken at {} for nothing", wakeup.at);
        released.extend(items.iter().map(|r| (r.position, r.items, wakeup.at)));
    }
    released
}
