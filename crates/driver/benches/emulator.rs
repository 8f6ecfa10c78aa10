//! How exactly the emulator keeps its delay, at which rates, and what that costs. A sender with a
//! steady rate, the emulator and a receiver run in this process, on one clock.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::error::Error;
use std::net::SocketAddr;
use std::time::Duration;

use anabranch_driver::emulator::{EmulatedLink, Emulator, EmulatorConfig};
use anabranch_driver::{Clock, Driver, SocketSet};
use anabranch_netsim::LinkConfig;
use anabranch_sansio::{Datagram, FourTuple, Machine, Rate, Time, Transmit, Wakeup};
use rustix::time::{ClockId, clock_gettime};

/// The payload of a packet of 1,228 bytes.
const PAYLOAD: usize = 1_200;
const DELAY: Duration = Duration::from_millis(20);

fn main() -> Result<(), Box<dyn Error>> {
    // Without this argument cargo only checks that it runs.
    let seconds = if std::env::args().any(|arg| arg == "--bench") { 5.0 } else { 0.05 };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("a link of 20 ms; how much later than that packets arrive");
    println!("Mbit/s  packets    lost  µs: min  median    p99    max  emulator's lateness  CPU %");
    for mbps in [1, 10, 50, 200, 500] {
        runtime.block_on(run(Rate::mbps(mbps), seconds))?;
    }
    Ok(())
}

async fn run(rate: Rate, seconds: f64) -> Result<(), Box<dyn Error>> {
    let clock = Clock::start();
    let any: SocketAddr = "127.0.0.1:0".parse()?;
    let mut sockets = SocketSet::new();
    let target = sockets.bind(any)?;
    let receiver = Driver::spawn_with_clock(Receiver::default(), sockets, clock)?;
    let link = LinkConfig { delay: DELAY, ..LinkConfig::default() };
    let link =
        EmulatedLink { name: "link".to_owned(), listen: any, target, up: link.clone(), down: link };
    let emulator = Emulator::spawn(EmulatorConfig { links: vec![link], seed: 1 })?;

    let mut sockets = SocketSet::new();
    let local = sockets.bind(any)?;
    let path = FourTuple::new(local, emulator.listens_at("link")?);
    let packets = (rate.as_bps() as f64 * seconds / 8.0 / PAYLOAD as f64) as u64;
    let cpu = cpu_time();
    let source =
        Source { path, interval: rate.time_for(PAYLOAD as u64), next: Time::ZERO, packets };
    let sender = Driver::spawn_with_clock(source, sockets, clock)?;
    sender.next_event().await;
    tokio::time::sleep(10 * DELAY).await;
    let cpu = (cpu_time() - cpu).as_secs_f64() / seconds * 100.0;
    let late = receiver.with(|machine, _| std::mem::take(&mut machine.late));
    report(rate, packets, late, &emulator, cpu);
    Ok(())
}

fn report(rate: Rate, packets: u64, mut late: Vec<i64>, emulator: &Emulator, cpu: f64) {
    late.sort_unstable();
    let at = |share: usize| late.get(late.len() * share / 100).or(late.last());
    let micros = |share| at(share).map_or(0, |nanos| nanos / 1_000);
    let own = emulator.stats().iter().map(|link| link.lateness).next().unwrap_or_default();
    println!(
        "{:6}  {packets:7}  {:6}  {:7}  {:6}  {:5}  {:5}  mean {:4} max {:5}  {cpu:5.1}",
        rate.as_bps() / 1_000_000,
        packets - late.len() as u64,
        micros(0),
        micros(50),
        micros(99),
        micros(100),
        own.mean().as_micros(),
        own.max.as_micros(),
    );
}

/// CPU time of this process, user and system.
fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

/// Sends a packet an interval, with the time in it.
struct Source {
    path: FourTuple,
    interval: Duration,
    next: Time,
    packets: u64,
}

impl Machine for Source {
    type Event = ();

    fn handle_datagram(&mut self, _: Time, _: Datagram<'_>) {}

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        if self.packets == 0 || self.next > now {
            return None;
        }
        self.packets -= 1;
        self.next = if self.next == Time::ZERO { now } else { self.next } + self.interval;
        buf.extend(now.as_nanos().to_be_bytes());
        buf.resize(PAYLOAD, 0);
        Some(Transmit::datagram(self.path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        (self.packets > 0).then_some(Wakeup { at: self.next, why: "next packet" })
    }

    /// Tells when all is sent.
    fn poll_event(&mut self) -> Option<()> {
        (self.packets == 0).then_some(())
    }
}

/// Notes how much later than the delay packets arrive.
#[derive(Default)]
struct Receiver {
    late: Vec<i64>,
}

impl Machine for Receiver {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let Some(sent) = datagram.bytes.first_chunk() else { return };
        let due = Time::from_nanos(u64::from_be_bytes(*sent)) + DELAY;
        self.late.push(now.as_nanos() as i64 - due.as_nanos() as i64);
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        None
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        None
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }
}
