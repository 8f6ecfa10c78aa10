//! What our stack costs beside others, in one run on one machine: CPU time per GB, and memory.
//!
//!     cargo run --release -p anabranch-bench -- memory
//!     cargo run --release -p anabranch-bench -- udp --json
//!     cargo run --release -p anabranch-bench -- simulator
//!     cargo run --release -p anabranch-bench -- idle
//!     cargo run --release -p anabranch-bench -- goodput
//!     cargo run --release -p anabranch-bench -- starts --stream FILE.ts
//!     cargo run --release -p anabranch-bench -- receive-order
//!
//! Both ends are counted, in the kernel too. A figure is the best of several runs, so that what
//! else the machine does adds little; compare the ratios, not figures of different machines.

mod cpu;
mod dccp;
mod driven;
mod emulator;
mod encryption;
mod entrants;
mod goodput;
mod idle;
mod memory;
mod quic;
mod receive_order;
mod sealing;
mod simulator;
mod starts;
mod table;
mod udp;

use std::io::{self, Write};
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::Duration;

use anabranch_dccp::Ccid;
use anabranch_peers::Config;
use anabranch_sansio::Rate;
use clap::{Parser, ValueEnum};

use crate::entrants::ENTRANTS;
use crate::table::Table;

/// What our stack costs beside others: CPU time per gigabyte of payload, and memory.
#[derive(Debug, Parser)]
struct Arguments {
    /// Where the packets go.
    medium: Medium,
    /// Sizes of the messages, in KiB.
    #[arg(long, value_delimiter = ',', default_values_t = [1, 16, 64])]
    sizes: Vec<usize>,
    /// Sizes of the messages, in bytes, instead of those (memory and udp only).
    #[arg(long, value_delimiter = ',')]
    bytes: Vec<usize>,
    /// Payload per run, in MB (of a million bytes).
    #[arg(long, default_value_t = 50)]
    megabytes: u64,
    /// Runs of which the best counts.
    #[arg(long, default_value_t = 3)]
    runs: u32,
    /// Packets lost on the way to the receiver, in percent (memory only).
    #[arg(long, default_value_t = 0.0)]
    loss: f64,
    /// Bytes of a packet: of UDP payload.
    #[arg(long, default_value_t = 1191)]
    mtu: u16,
    /// The receive window, in KiB.
    #[arg(long, default_value_t = 1024)]
    window: u32,
    /// Payload handed over before its predecessors arrived, in KiB: what may be in flight. At
    /// least two messages.
    #[arg(long, default_value_t = 128)]
    ahead: u64,
    /// Packets in flight on our stack, whatever is lost, instead of congestion control.
    #[arg(long)]
    flight: Option<u32>,
    /// Only what has this in its name.
    #[arg(long, default_value = "")]
    only: String,
    /// Seconds to simulate, or of each run (simulator, goodput and emulator).
    #[arg(long, default_value_t = 60)]
    seconds: u64,
    /// Runs of which the median counts (goodput), or the mean (emulator).
    #[arg(long, default_value_t = 5)]
    seeds: u64,
    /// Beside our stack ns-2's, whose program `ns` must be installed (simulator only).
    #[arg(long)]
    ns2: bool,
    /// Has our stack encrypt (goodput and starts only).
    #[arg(long)]
    encrypted: bool,
    /// The table as JSON.
    #[arg(long)]
    json: bool,
    /// A transport stream that is sent (starts only).
    #[arg(long, required_if_eq("medium", "starts"))]
    stream: Option<PathBuf>,
    /// Its rate, in Mbit/s (starts only).
    #[arg(long, default_value_t = 10.0)]
    mbps: f64,
    /// The first seed (starts only).
    #[arg(long, default_value_t = 1)]
    first: u64,
    /// Instead of the rows, a link that follows this trace in Mahimahi's format, for as many
    /// seconds as are to be simulated; can be given several times (starts only).
    #[arg(long)]
    trace: Vec<PathBuf>,
    /// Each start, too (starts only).
    #[arg(long)]
    each: bool,
}

#[derive(Debug, Clone, Copy, ValueEnum)]
enum Medium {
    /// From one end to the other within a thread: the stack alone.
    Memory,
    /// UDP sockets over loopback: the stack and the kernel.
    Udp,
    /// None: how fast the simulator runs with our stack on two paths.
    Simulator,
    /// Nowhere: the memory that an association holds while it rests.
    Idle,
    /// None: what each congestion controller makes of simulated links.
    Goodput,
    /// None: what comes in time of a live stream from its first packet on, over many starts.
    Starts,
    /// UDP sockets through the live emulator: whether quinn there gets what quinn-proto gets in the
    /// simulator.
    Emulator,
    /// Within a thread: what the receiver pays for reading what matters most first.
    ReceiveOrder,
}

/// One transfer to measure.
#[derive(Debug, Clone, Copy)]
struct Workload {
    /// Bytes of a message.
    message: usize,
    /// How many of them.
    messages: u64,
    /// How many are handed over before their predecessors arrived.
    ahead: u64,
    /// The probability that a packet towards the receiver is lost.
    loss: f64,
    /// What every stack is told.
    config: Config,
}

/// What a transfer took.
#[derive(Debug, Clone, Copy)]
struct Outcome {
    cpu: Duration,
    /// The mean, where packets can be counted.
    packets_in_flight: Option<f64>,
}

impl Workload {
    fn gigabytes(&self) -> f64 {
        (self.message as u64 * self.messages) as f64 / 1e9
    }
}

fn main() -> ExitCode {
    let arguments = Arguments::parse();
    match run(&arguments) {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            // Nobody is left to tell if standard error is gone too.
            writeln!(io::stderr(), "{error}").ok();
            ExitCode::FAILURE
        }
    }
}

fn run(arguments: &Arguments) -> io::Result<()> {
    match arguments.medium {
        Medium::Memory | Medium::Udp => compete(arguments),
        Medium::Simulator => {
            let span = Duration::from_secs(arguments.seconds);
            simulator::measure(span, arguments.ns2, |row| writeln!(io::stdout(), "{row}"))
        }
        Medium::Goodput => {
            let Arguments { seconds, seeds, ref only, encrypted, .. } = *arguments;
            let plan = goodput::Plan { seconds, seeds, only, encrypted };
            goodput::measure(plan, |row| writeln!(io::stdout(), "{row}"))
        }
        Medium::Starts => {
            let rate = Rate::bps((arguments.mbps * 1e6) as u64);
            let Arguments { seconds, seeds: starts, first, each, ref only, encrypted, .. } =
                *arguments;
            let traces = &arguments.trace;
            let plan = starts::Plan { seconds, starts, first, only, rate, each, encrypted, traces };
            let stream = arguments.stream.as_deref().unwrap_or("".as_ref());
            starts::measure(stream, plan, |line| writeln!(io::stdout(), "{line}"))
        }
        Medium::Emulator => {
            let span = Duration::from_secs(arguments.seconds);
            emulator::measure(span, arguments.seeds, |row| writeln!(io::stdout(), "{row}"))
        }
        Medium::ReceiveOrder => {
            let Arguments { ref sizes, megabytes, runs, .. } = *arguments;
            let plan = receive_order::Plan {
                sizes: sizes.iter().map(|kib| kib << 10).collect(),
                bytes: megabytes as usize * 1_000_000,
                waiting: [1_000, 1_000_000],
                runs,
            };
            receive_order::measure(&plan, |line| writeln!(io::stdout(), "{line}"))
        }
        Medium::Idle => writeln!(io::stdout(), "{}", idle::measure()?),
    }
}

/// Our stack beside others.
fn compete(arguments: &Arguments) -> io::Result<()> {
    let mut table = Table::new(arguments);
    for size in arguments.message_sizes() {
        let workload = arguments.workload(size);
        for (name, measure) in contest(arguments.medium, &arguments.only) {
            let outcomes = (0..arguments.runs).map(|run| measure(&workload, run.into()));
            let outcomes = outcomes.collect::<io::Result<Vec<_>>>()?;
            if let Some(best) = outcomes.into_iter().min_by_key(|outcome| outcome.cpu) {
                table.add(
                    &name,
                    size,
                    best.cpu.as_secs_f64() / workload.gigabytes(),
                    best.packets_in_flight,
                );
            }
        }
    }
    let shown = if arguments.json { table.to_json()? } else { table.to_string() };
    writeln!(io::stdout(), "{shown}")
}

/// Runs a workload with a seed.
type Measure = Box<dyn Fn(&Workload, u64) -> io::Result<Outcome>>;

/// Who takes part on a medium.
fn contest(medium: Medium, only: &str) -> Vec<(String, Measure)> {
    let mut contest: Vec<(String, Measure)> = Vec::new();
    for entrant in ENTRANTS {
        let measure: Measure = if let Medium::Udp = medium {
            Box::new(move |workload, seed| udp::measure(entrant, workload, seed))
        } else {
            Box::new(move |workload, seed| memory::measure(entrant, workload, seed))
        };
        contest.push((entrant.name.to_owned(), measure));
    }
    if let Medium::Udp = medium {
        let driven = |encrypted| -> Measure {
            Box::new(move |workload, seed| driven::measure(workload, encrypted, seed))
        };
        let cipher: Measure = Box::new(|workload, _| sealing::measure(workload));
        let over_dccp = |ccid| -> Measure {
            Box::new(move |workload, seed| dccp::measure(workload, ccid, seed))
        };
        let ours = [
            ("anabranch, GSO", driven(false)),
            ("anabranch, GSO, encrypted", driven(true)),
            ("anabranch DCCP, CCID 2, GSO", over_dccp(Ccid::TcpLike)),
            ("anabranch DCCP, CCID 3, GSO", over_dccp(Ccid::Tfrc)),
            ("AES-128-GCM alone", cipher),
        ];
        contest.splice(0..0, ours.map(|(name, measure)| (name.to_owned(), measure)));
        let quic = |gso| -> Measure { Box::new(move |workload, _| quic::measure(workload, gso)) };
        contest.push(("quinn".to_owned(), quic(true)));
        contest.push(("quinn, no GSO".to_owned(), quic(false)));
    }
    contest.retain(|(name, _)| name.contains(only));
    contest
}

impl Arguments {
    /// Bytes of the messages.
    fn message_sizes(&self) -> Vec<usize> {
        if self.bytes.is_empty() {
            return self.sizes.iter().map(|kib| kib << 10).collect();
        }
        self.bytes.iter().map(|bytes| (*bytes).max(1)).collect()
    }

    fn workload(&self, message: usize) -> Workload {
        Workload {
            message,
            messages: (self.megabytes * 1_000_000).div_ceil(message as u64),
            ahead: (self.ahead * 1024 / message as u64).max(2),
            loss: self.loss / 100.0,
            config: Config {
                mtu: self.mtu,
                receive_window: self.window * 1024,
                fixed_window: self.flight.map(|packets| packets * u32::from(self.mtu)),
                ..Config::default()
            },
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn arguments(line: &str) -> Arguments {
        Arguments::parse_from(format!("bench {line} --megabytes 1 --runs 1 --sizes 16").split(' '))
    }

    #[test]
    fn everyone_finishes_in_memory_with_and_without_loss() {
        for line in ["memory", "memory --loss 1"] {
            let arguments = arguments(line);
            for (name, measure) in contest(arguments.medium, "") {
                let outcome = measure(&arguments.workload(16 << 10), 1).unwrap();
                assert!(outcome.cpu > Duration::ZERO, "{name}");
                assert!(outcome.packets_in_flight > Some(1.0), "{name}");
            }
        }
    }

    #[test]
    fn everyone_finishes_over_udp() {
        let arguments = arguments("udp");
        for (name, measure) in contest(arguments.medium, "") {
            let outcome = measure(&arguments.workload(16 << 10), 1).unwrap();
            assert!(outcome.cpu > Duration::ZERO, "{name}");
        }
    }

    #[test]
    fn idle_associations_can_be_counted() {
        assert!(idle::measure().unwrap().to_string().contains("mean of 4000"));
    }

    #[test]
    fn sizes_in_bytes_stand_in_place_of_those_in_kib() {
        let sizes = |line: &str| Arguments::parse_from(line.split(' ')).message_sizes();
        assert_eq!(sizes("bench udp"), [1_024, 16_384, 65_536]);
        assert_eq!(sizes("bench udp --bytes 1172,100"), [1_172, 100]);
    }

    #[test]
    fn ratios_are_to_the_first_row_of_a_column() {
        let mut table = Table::new(&arguments("memory"));
        table.add("first", 1 << 10, 2.0, Some(40.0));
        table.add("second", 1 << 10, 3.0, None);
        table.add("first", 16 << 10, 1.0, None);
        table.add("second", 16 << 10, 4.0, None);
        let shown = table.to_string();
        let rows: Vec<Vec<_>> = shown.lines().map(|l| l.split_whitespace().collect()).collect();
        assert_eq!(rows[3], ["first", "2.00", "(1.00)", "40", "1.00", "(1.00)"]);
        assert_eq!(rows[4], ["second", "3.00", "(1.50)", "4.00", "(4.00)"]);
        assert!(table.to_json().unwrap().contains("\"cpu_seconds_per_gb\": 3.0"));
    }
}
