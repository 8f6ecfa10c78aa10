//! ns-2 on the same two paths.

use std::fs;
use std::io;
use std::process::Command;
use std::time::Duration;

use super::{DELAY, Filler, MBPS, MTU, Pace, QUEUE};
use crate::cpu;

/// What ns-2 is told; arguments: seconds, Mbit/s, delay in seconds, queue and MTU.
const SCRIPT: &str = include_str!("two-paths.tcl");

/// Bytes of a packet that are no payload: IPv4's header, SCTP's, and that of a DATA chunk.
const HEADERS: u16 = 20 + 12 + 16;

/// Runs ns-2's CMT for so long.
///
/// # Errors
///
/// ns-2 that is not installed, fails, or prints something else than a rate.
pub(super) fn run(simulated: Duration) -> io::Result<Pace> {
    let seconds = simulated.as_secs().to_string();
    let script = std::env::temp_dir().join(format!("two-paths-{}.tcl", std::process::id()));
    fs::write(&script, SCRIPT)?;
    let before = cpu::of_children()?;
    let packets = QUEUE.as_secs_f64() * (MBPS * 1_000_000) as f64 / 8.0 / f64::from(MTU);
    let output = Command::new("ns")
        .arg(&script)
        .args([seconds, MBPS.to_string(), DELAY.as_secs_f64().to_string()])
        .args([packets.round().to_string(), MTU.to_string()])
        .output();
    fs::remove_file(&script)?;
    let output = output.map_err(|error| {
        io::Error::new(error.kind(), format!("`ns`, ns-2's program (Debian: ns2): {error}"))
    })?;
    let printed = String::from_utf8_lossy(&output.stdout);
    let carried_mbps: f64 = printed.trim().parse().map_err(|_| {
        let errors = String::from_utf8_lossy(&output.stderr);
        io::Error::other(format!("ns-2 printed no rate: {printed}{errors}"))
    })?;
    let goodput_mbps = carried_mbps * f64::from(MTU - HEADERS) / f64::from(MTU);
    Ok(Pace { filler: Filler::Ns2, simulated, cpu: cpu::of_children()? - before, goodput_mbps })
}
