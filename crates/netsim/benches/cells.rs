//! What cells cost: five stations that always have more to send, in simulated seconds per second of
//! processor time. The target is 50 for 802.11g.

#![expect(clippy::print_stdout, reason = "a benchmark prints its table")]

use std::time::Duration;

use anabranch_netsim::{
    Carrier, Cell, Medium, MemberId, Packet, WifiConfig, WifiStandard, WimaxConfig,
};
use anabranch_sansio::{FourTuple, Rng, Time};
use rustix::time::{ClockId, clock_gettime};

/// Payload that fills an Ethernet packet.
const PAYLOAD: usize = 1_472;
/// Packets that each station has waiting.
const BACKLOG: u64 = 90;

fn main() {
    // Without this argument cargo only checks that it runs.
    let is_bench = std::env::args().any(|arg| arg == "--bench");
    let span = Duration::from_secs(if is_bench { 100 } else { 1 });
    println!("five stations that send, per second of processor time:");
    println!("{:<8} {:>18} {:>10} {:>8}", "cell", "simulated seconds", "packets", "Mbit/s");
    let media = [
        Medium::Wifi(WifiConfig::new(WifiStandard::A)),
        Medium::Wifi(WifiConfig::new(WifiStandard::G)),
        Medium::Wifi(WifiConfig::new(WifiStandard::N)),
        Medium::Wimax(WimaxConfig::default()),
    ];
    for medium in media {
        let before = cpu_time();
        let bytes = run(&medium, span);
        let spent = (cpu_time() - before).as_secs_f64();
        let mbps = bytes as f64 * 8.0 / span.as_secs_f64() / 1e6;
        let (pace, packets) = (span.as_secs_f64() / spent, bytes as f64 / 1_500.0 / spent);
        println!("{:<8} {pace:>18.0} {packets:>10.0} {mbps:>8.1}", medium.as_str());
    }
}

/// Processor time of this process, user and system.
fn cpu_time() -> Duration {
    let spent = clock_gettime(ClockId::ProcessCPUTime);
    Duration::new(spent.tv_sec.unsigned_abs(), spent.tv_nsec as u32)
}

/// Runs a cell and returns how many IP bytes arrived.
fn run(medium: &Medium, span: Duration) -> u64 {
    let mut cell = Cell::new(medium, Rng::from_u64(7));
    let stations: Vec<MemberId> = (0..5).map(|_| cell.add_sender(medium.link())).collect();
    let path = FourTuple::new(([10, 0, 0, 1], 5_000).into(), ([10, 0, 0, 2], 5_000).into());
    for station in &stations {
        for _ in 0..BACKLOG {
            let packet = Packet::new(path, Carrier::Udp, vec![0; PAYLOAD]);
            cell.handle_packet(Time::ZERO, *station, packet);
        }
    }
    let end = Time::ZERO + span;
    while let Some(now) = cell.poll_timeout().filter(|at| *at <= end) {
        while let Some((station, packet)) = cell.poll_packet(now) {
            // Its bytes are used again, as a simulation does.
            cell.handle_packet(now, station, packet);
        }
    }
    stations.iter().map(|station| cell.link(*station).stats().delivered.bytes).sum()
}
