//! How long a transfer takes, beside a Linux kernel's TCP.
//!
//! `tests/kernel/measure.sh` had the kernel 6.1 of Debian 12 (user-mode Linux) send 10 MB 32 times
//! in each of these cells; `tests/kernel/linux-6.1.csv` is what it printed. The links here are the
//! same: 50 Mbit/s and a queue of 200 packets, losses towards the receiver, all delay on the way
//! back.
//!
//! What still differs is known. Linux's slow start doubles the window each round trip, ours grows
//! it by a half where every second segment is acknowledged (RFC 5681, L = 1 SMSS). Its recovery
//! reduces the window gradually (RFC 6937), its tail losses are probed for (RFC 8985 section 7),
//! its segments carry timestamps, 12 of 1,460 bytes; and its CUBIC leaves slow start by the length
//! of trains of acknowledgments, too, where ours has HyStart++ (RFC 9406).

use std::time::Duration;

use anabranch_netsim::{LinkConfig, Loss, QueueLimit};
use anabranch_sansio::{Rate, Time};
use anabranch_tcp::{Config, CongestionControl};

use crate::harness::Duo;

/// The kernel's seconds, a row for each transfer.
const KERNEL: &str = include_str!("../kernel/linux-6.1.csv");
const BYTES: usize = 10_000_000;
/// The kernel's mean may be missed by so much of it.
const TOLERANCE: f64 = 0.15;

/// What the kernel was measured with.
#[derive(Debug, Clone, Copy)]
struct Cell {
    controller: (&'static str, CongestionControl),
    rtt_ms: u64,
    loss_percent: &'static str,
}

impl Cell {
    fn kernel_mean(self) -> f64 {
        let Self { controller: (name, _), rtt_ms, loss_percent } = self;
        let start = format!("{name},{rtt_ms},{loss_percent},");
        let rows = KERNEL.lines().filter_map(|row| row.strip_prefix(&start));
        let seconds: Vec<f64> = rows.map(|seconds| seconds.parse().expect("seconds")).collect();
        assert_eq!(seconds.len(), 32, "{start}");
        seconds.iter().sum::<f64>() / seconds.len() as f64
    }

    /// From the call until the sender hears that all is there.
    fn seconds(self, seed: u64) -> f64 {
        let loss = self.loss_percent.parse::<f64>().expect("percent") / 100.0;
        let forward = LinkConfig {
            rate: Some(Rate::mbps(50)),
            queue: QueueLimit::Packets(200),
            loss: Loss::uniform(loss),
            ..LinkConfig::default()
        };
        let rtt = Duration::from_millis(self.rtt_ms);
        let back = LinkConfig { delay: rtt, ..LinkConfig::default() };
        let config = Config {
            congestion_control: self.controller.1,
            send_buffer: BYTES,
            receive_buffer: 6 << 20,
            ..Config::linux()
        };
        let mut duo = Duo::over(seed, forward, back, config.clone(), config);
        duo.begin();
        let step = |duo: &mut Duo| duo.run_to(duo.pair.now() + Duration::from_millis(1), false);
        while !duo.pair.client().is_connected() {
            step(&mut duo);
        }
        duo.send(&vec![0; BYTES]).expect("room");
        duo.pair.act_client(|client, _| client.close()).expect("quiet");
        while duo.count < BYTES as u64 {
            step(&mut duo);
        }
        (duo.pair.now() + rtt - Time::ZERO).as_secs_f64()
    }
}

/// The mean over so many seeds is the kernel's.
fn check(rtt_ms: u64, loss_percent: &'static str, seeds: u64) {
    let cubic = CongestionControl::CubicRfc8312;
    for controller in [("reno", CongestionControl::Reno), ("cubic", cubic)] {
        let cell = Cell { controller, rtt_ms, loss_percent };
        let ours = (1..=seeds).map(|seed| cell.seconds(seed)).sum::<f64>() / seeds as f64;
        let kernel = cell.kernel_mean();
        let off = ours / kernel - 1.0;
        assert!(
            off.abs() < TOLERANCE,
            "{cell:?}: {ours:.3} s, the kernel {kernel:.3} s: {off:+.3}"
        );
    }
}

#[test]
fn a_transfer_without_loss_takes_as_long_as_the_kernels() {
    check(20, "0", 1);
    check(100, "0", 1);
}

#[test]
fn a_transfer_with_a_loss_in_a_thousand_takes_as_long_as_the_kernels() {
    check(20, "0.1", 32);
}

#[test]
fn a_long_transfer_with_a_loss_in_a_thousand_takes_as_long_as_the_kernels() {
    check(100, "0.1", 32);
}

#[test]
fn a_transfer_with_a_loss_in_a_hundred_takes_as_long_as_the_kernels() {
    check(20, "1", 8);
}

#[test]
fn a_long_transfer_with_a_loss_in_a_hundred_takes_as_long_as_the_kernels() {
    check(100, "1", 16);
}
