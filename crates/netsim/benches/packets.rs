//! What the simulator itself costs: two paths of 30 Mbit/s in full use between two machines that do
//! nothing else. The targets are 500,000 packets and 100 simulated seconds per second of processor
//! time.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::time::Duration;

use anabranch_netsim::{CLIENT, LinkConfig, Loss, Pair, QueueLimit, SERVER, Side, SimulationError};
use anabranch_sansio::{Datagram, FourTuple, Machine, Rate, Time, Transmit, Wakeup};
use rustix::time::{ClockId, clock_gettime};

/// Payload that fills an Ethernet packet.
const PAYLOAD: usize = 1_472;

fn main() -> Result<(), SimulationError> {
    // Without this argument cargo only checks that it runs.
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let (rounds, span) =
        if is_bench { (7, Duration::from_secs(200)) } else { (1, Duration::from_secs(1)) };
    println!("two paths of 30 Mbit/s, both ends included, per second of processor time:");
    println!("   packets  simulated seconds");
    for _ in 0..rounds {
        let before = cpu_time();
        let packets = run(span)?;
        let spent = (cpu_time() - before).as_secs_f64();
        println!("{:10.0}  {:17.0}", packets as f64 / spent, span.as_secs_f64() / spent);
    }
    Ok(())
}

/// Processor time of this process, user and system.
fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), spent.tv_nsec as u32)
}

/// Runs one pair and returns how many packets its machines sent.
fn run(span: Duration) -> Result<u64, SimulationError> {
    let link = LinkConfig {
        rate: Some(Rate::mbps(30)),
        delay: Duration::from_millis(20),
        queue: QueueLimit::Packets(100),
        loss: Loss::uniform(0.001),
        ..LinkConfig::default()
    };
    let mut pair = Pair::new(7, &[link.clone().into(), link.into()], |side, paths, _| match side {
        Side::Client => Flood::source(paths),
        Side::Server => Flood::sink(),
    });
    pair.run_for(span)?;
    Ok(pair.sim.stats(CLIENT).sent.packets + pair.sim.stats(SERVER).sent.packets)
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
            return Some(Transmit::datagram(path));
        }
        self.due = self.due.checked_sub(1)?;
        buf.resize(PAYLOAD, 0);
        Some(Transmit::datagram(self.paths[self.due]))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.next.map(|at| Wakeup { at, why: "pace" })
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }
}
