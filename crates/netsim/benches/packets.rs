//! What the simulator itself costs: packets through two links between two machines that do nothing
//! else. The target is 500,000 packets per second of processor time.

use std::time::Duration;

use anabranch_netsim::{CLIENT, LinkConfig, Loss, Pair, QueueLimit, SERVER, Side};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rate, Time, Transmit, Wakeup};
use divan::Bencher;
use divan::counter::ItemsCount;

/// Simulated time per run.
const SPAN: Duration = Duration::from_secs(10);
/// Payload that fills an Ethernet packet.
const PAYLOAD: usize = 1_472;

fn main() {
    divan::main();
}

/// Two paths of 30 Mbit/s in full use, as two media flows with acknowledgements would use them.
#[divan::bench]
fn two_paths_in_full_use(bencher: Bencher<'_, '_>) {
    let rate = Rate::mbps(30);
    let link = LinkConfig {
        rate: Some(rate),
        delay: Duration::from_millis(20),
        queue: QueueLimit::Packets(100),
        loss: Loss::uniform(0.001),
        ..LinkConfig::default()
    };
    let packets = run(link);
    bencher.counter(ItemsCount::new(packets)).bench(|| run(link));
}

/// Runs one pair and returns how many packets the links were offered.
fn run(link: LinkConfig) -> u64 {
    let mut pair = Pair::new(7, &[link.into(), link.into()], |side, paths, _| match side {
        Side::Client => Flood::source(paths),
        Side::Server => Flood::sink(),
    });
    let Ok(()) = pair.run_for(SPAN) else { panic!("the machines behave") };
    pair.sim.stats(CLIENT).sent.packets + pair.sim.stats(SERVER).sent.packets
}

/// Sends a full packet per path and interval, or answers every second packet with a short one.
struct Flood {
    paths: Vec<FourTuple>,
    interval: Duration,
    next: Option<Time>,
    due: usize,
    unanswered: u32,
    answer: Option<FourTuple>,
}

impl Flood {
    fn source(paths: &[FourTuple]) -> Self {
        let interval = Rate::mbps(30).time_for(PAYLOAD as u64 + 28);
        Self { paths: paths.to_vec(), interval, next: Some(Time::ZERO), ..Self::sink() }
    }

    fn sink() -> Self {
        let (paths, interval) = (Vec::new(), Duration::MAX);
        Self { paths, interval, next: None, due: 0, unanswered: 0, answer: None }
    }
}

impl Machine for Flood {
    type Event = ();

    fn handle_datagram(&mut self, _: Time, datagram: Datagram<'_>) {
        self.unanswered += 1;
        if self.next.is_none() && self.unanswered == 2 {
            self.unanswered = 0;
            self.answer = Some(datagram.path);
        }
    }

    fn handle_timeout(&mut self, now: Time) {
        if let Some(next) = self.next.filter(|next| *next <= now) {
            self.next = Some(next + self.interval);
            self.due = self.paths.len();
        }
    }

    fn poll_transmit(&mut self, _: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        if let Some(path) = self.answer.take() {
            buf.resize(20, 0);
            return Some(Transmit { path, ecn: None, segment_size: None });
        }
        self.due = self.due.checked_sub(1)?;
        buf.resize(PAYLOAD, 0);
        Some(Transmit { path: self.paths[self.due], ecn: None, segment_size: None })
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.next.map(|at| Wakeup { at, why: "pace" })
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }
}
