//! How long a tool takes to connect over a link that loses packets.

use std::time::Duration;

use anabranch_netsim::{DuplexConfig, LinkConfig, Loss};
use indicatif::ProgressBar;
use serde::Serialize;

use super::run::Bench;
use super::scenario;
use super::stream::{Meter, millis};
use super::tool::Entrant;
use crate::failure::Failure;

/// The loss, in both directions.
const LOSS: f64 = 0.1;
const BUFFER: Duration = Duration::from_millis(200);
/// Without media until then, it has failed.
const PATIENCE: Duration = Duration::from_secs(5);

/// What a tool's attempts came to.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Connects {
    pub(super) tool: String,
    pub(super) attempts: u32,
    pub(super) failures: u32,
    /// From the start of the sender to the first packet out, less buffer and link: the median, and
    /// 9 of 10 of those that did not fail.
    pub(super) p50_ms: Option<f64>,
    pub(super) p90_ms: Option<f64>,
}

/// Connects so many times, each with a seed of its own.
pub(super) async fn measure(
    tool: Entrant,
    attempts: u32,
    seed: u64,
    progress: &ProgressBar,
) -> Result<Connects, Failure> {
    let one_way = scenario::ONE_WAY;
    let link = LinkConfig { delay: one_way, loss: Loss::uniform(LOSS), ..LinkConfig::default() };
    let mut times = Vec::new();
    let links = [DuplexConfig::from(link)];
    for seed in (seed..).take(attempts as usize) {
        let mut bench = Bench::start(tool, &links, BUFFER, seed, Meter::default()).await?;
        if let Some(first) = bench.first_packet(PATIENCE).await? {
            times.push(millis(first.saturating_sub(BUFFER + one_way)));
        }
        bench.stop().await?;
        progress.inc(1);
    }
    times.sort_by(f64::total_cmp);
    let at = |share: f64| times.get((times.len() as f64 * share) as usize).copied();
    Ok(Connects {
        tool: tool.to_string(),
        attempts,
        failures: attempts - times.len() as u32,
        p50_ms: at(0.5),
        p90_ms: at(0.9),
    })
}
