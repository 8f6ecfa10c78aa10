//! What the driver and the kernel cost without any protocol: the floor under every measurement of
//! a protocol over loopback. Both ends run in this process; CPU time is that of the process.
//!
//! Loopback never segments: a GSO buffer crosses it whole. On a real interface the kernel or the
//! card cuts it up, which costs more.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::error::Error;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use anabranch_driver::{Clock, Driver, Handle, SocketSet};
use anabranch_sansio::{Datagram, FourTuple, Machine, Time, Transmit, Wakeup};
use rustix::time::{ClockId, clock_gettime};

/// As an SCTP packet in a path of 1,280 bytes.
const SEGMENT: usize = 1_200;
/// What one send call carries at most.
const SEGMENTS_MAX: usize = 54;
/// After this long without an acknowledgment the rest of the window is lost.
const GIVE_UP: Duration = Duration::from_millis(50);

fn main() -> Result<(), Box<dyn Error>> {
    // Without this argument cargo only checks that it runs.
    let megabytes = if std::env::args().any(|arg| arg == "--bench") { 1_000 } else { 1 };
    let runtime = tokio::runtime::Builder::new_multi_thread().enable_all().build()?;
    println!("segments/call  MB sent  CPU-s/GB  Mbit/s  datagrams/send  /receive  lost");
    for (segments, share) in [(SEGMENTS_MAX, 4), (16, 2), (4, 1), (1, 1)] {
        runtime.block_on(transfer(segments, share * megabytes))?;
    }
    println!();
    println!("timer            late by, µs: median    p99    max");
    let timers = megabytes.min(500) as usize;
    runtime.block_on(timers_of_the_driver(timers))?;
    runtime.block_on(timers_of_tokio(timers));
    Ok(())
}

async fn transfer(segments: usize, megabytes: u64) -> Result<(), Box<dyn Error>> {
    let bytes = megabytes * 1_000_000;
    let mut sockets = SocketSet::new();
    let at = sockets.bind("127.0.0.1:0".parse::<SocketAddr>()?)?;
    let receiver = Driver::spawn(Sink::default(), sockets)?;

    let mut sockets = SocketSet::new();
    let from = sockets.bind("127.0.0.1:0".parse::<SocketAddr>()?)?;
    // The kernel counts more than the payload, and a full buffer drops.
    let window = receiver.sockets().iter().map(|info| info.receive_buffer).sum::<usize>() / 8;
    let (cpu, start) = (cpu_time(), Instant::now());
    let source = Source::new(FourTuple::new(from, at), bytes, window as u64, segments);
    let sender = Driver::spawn(source, sockets)?;
    sender.next_event().await;
    let (cpu, wall) = (cpu_time() - cpu, start.elapsed());
    sender.close();
    sender.closed().await?;
    receiver.close();
    receiver.closed().await?;
    report(&sender, &receiver, segments, cpu, wall);
    Ok(())
}

fn report(
    sender: &Handle<Source>,
    receiver: &Handle<Sink>,
    segments: usize,
    cpu: Duration,
    wall: Duration,
) {
    let (tx, rx) = (sender.stats().total.tx, receiver.stats().total.rx);
    println!(
        "{segments:13}  {:7}  {:8.2}  {:6.0}  {:14.1}  {:8.1}  {:4}",
        tx.bytes / 1_000_000,
        cpu.as_secs_f64() * 1e9 / rx.bytes as f64,
        rx.bytes as f64 * 8e-6 / wall.as_secs_f64(),
        tx.datagrams as f64 / tx.calls as f64,
        rx.datagrams as f64 / rx.calls as f64,
        tx.datagrams - rx.datagrams,
    );
}

async fn timers_of_the_driver(count: usize) -> Result<(), Box<dyn Error>> {
    let handle = Driver::spawn(Alarm::default(), SocketSet::new())?;
    let mut late = Vec::new();
    for nth in 0..count {
        handle.with(|machine, now| machine.at = Some(now + delay(nth)));
        late.extend(handle.next_event().await);
    }
    print_lateness("driver", late);
    Ok(())
}

async fn timers_of_tokio(count: usize) {
    let clock = Clock::start();
    let mut late = Vec::new();
    for nth in 0..count {
        let at = clock.now() + delay(nth);
        tokio::time::sleep_until(clock.instant(at).into()).await;
        late.push(clock.now() - at);
    }
    print_lateness("tokio's sleep", late);
}

/// Between 0.5 and 1.5 ms, in no step with whole milliseconds.
fn delay(nth: usize) -> Duration {
    Duration::from_micros(500 + nth as u64 * 37 % 1_000)
}

fn print_lateness(name: &str, mut late: Vec<Duration>) {
    late.sort_unstable();
    let at = |share: usize| late.get(late.len() * share / 100).or(late.last());
    let micros = |share| at(share).map_or(0, Duration::as_micros);
    println!("{name:15} {:20} {:6} {:6}", micros(50), micros(99), micros(100));
}

/// CPU time of this process, user and system.
fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec as u64, spent.tv_nsec as u32)
}

/// Sends a number of bytes, a window ahead of what is acknowledged.
struct Source {
    path: FourTuple,
    left: u64,
    in_flight: u64,
    window: u64,
    segments: usize,
    give_up: Time,
    told: bool,
}

impl Source {
    fn new(path: FourTuple, left: u64, window: u64, segments: usize) -> Self {
        Self { path, left, in_flight: 0, window, segments, give_up: Time::MAX, told: false }
    }
}

impl Machine for Source {
    type Event = ();

    fn handle_datagram(&mut self, now: Time, datagram: Datagram<'_>) {
        let Ok(received) = datagram.bytes.try_into().map(u64::from_be_bytes) else { return };
        self.in_flight = self.in_flight.saturating_sub(received);
        self.give_up = now + GIVE_UP;
    }

    fn handle_timeout(&mut self, now: Time) {
        if now >= self.give_up {
            self.in_flight = 0;
            self.give_up = Time::MAX;
        }
    }

    fn poll_transmit(&mut self, now: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let burst = (self.segments * SEGMENT) as u64;
        if self.left == 0 || self.in_flight + burst > self.window {
            return None;
        }
        buf.resize(self.segments * SEGMENT, 0);
        self.left = self.left.saturating_sub(burst);
        self.in_flight += burst;
        self.give_up = now + GIVE_UP;
        Some(Transmit { segment_size: Some(SEGMENT), ..Transmit::datagram(self.path) })
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        (self.in_flight > 0).then_some(Wakeup { at: self.give_up, why: "give up" })
    }

    /// Tells once when all is sent and acknowledged.
    fn poll_event(&mut self) -> Option<()> {
        let done = self.left == 0 && self.in_flight == 0 && !self.told;
        self.told |= done;
        done.then_some(())
    }
}

/// Acknowledges once a turn how many bytes have come.
#[derive(Default)]
struct Sink {
    path: Option<FourTuple>,
    received: u64,
}

impl Machine for Sink {
    type Event = ();

    fn handle_datagram(&mut self, _: Time, datagram: Datagram<'_>) {
        self.path = Some(datagram.path);
        self.received += datagram.bytes.len() as u64;
    }

    fn handle_timeout(&mut self, _: Time) {}

    fn poll_transmit(&mut self, _: Time, buf: &mut Vec<u8>) -> Option<Transmit> {
        let path = self.path.take()?;
        buf.extend(std::mem::take(&mut self.received).to_be_bytes());
        Some(Transmit::datagram(path))
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        None
    }

    fn poll_event(&mut self) -> Option<()> {
        None
    }
}

/// Tells how late its timer was run.
#[derive(Default)]
struct Alarm {
    at: Option<Time>,
    late: Option<Duration>,
}

impl Machine for Alarm {
    type Event = Duration;

    fn handle_datagram(&mut self, _: Time, _: Datagram<'_>) {}

    fn handle_timeout(&mut self, now: Time) {
        if let Some(at) = self.at.take_if(|at| *at <= now) {
            self.late = Some(now - at);
        }
    }

    fn poll_transmit(&mut self, _: Time, _: &mut Vec<u8>) -> Option<Transmit> {
        None
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        self.at.map(|at| Wakeup { at, why: "alarm" })
    }

    fn poll_event(&mut self) -> Option<Duration> {
        self.late.take()
    }
}
