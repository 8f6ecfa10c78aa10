//! Films over recorded links: what could be seen and heard with each tool.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Duration;

use anabranch_netsim::{DuplexConfig, LinkConfig, Trace};
use indicatif::ProgressBar;
use serde::Serialize;

use super::film::{Film, Screening, Shown};
use super::print;
use super::run::{self, Bench};
use super::scenario::ONE_WAY;
use super::tool::Entrant;
use crate::failure::Failure;
use crate::values;

const MBPS: [u32; 3] = [1, 2, 4];
const BUFFERS_MS: [u64; 2] = [200, 1_000];
/// Below this, pictures are not expected: a trace carries so much in the second after they were
/// sent.
const CARRIES_BPS: u64 = 500_000;
const WINDOW: Duration = Duration::from_secs(1);

/// A trace, a film's rate, and how long the receiver may wait.
#[derive(Debug, Clone)]
pub(super) struct TraceScenario {
    pub(super) name: String,
    trace: Trace,
    mbps: u32,
    buffer: Duration,
}

/// A scenario with one tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct TraceRow {
    scenario: String,
    tool: String,
    #[serde(flatten)]
    shown: Shown,
}

/// Every rate and buffer over every trace.
pub(super) fn all(files: &[PathBuf]) -> Result<Vec<TraceScenario>, Failure> {
    let mut all = Vec::new();
    for file in files {
        let trace = values::trace(file).map_err(Failure::failed)?;
        for mbps in MBPS {
            all.extend(BUFFERS_MS.map(|ms| TraceScenario::new(file, &trace, mbps, ms)));
        }
    }
    Ok(all)
}

impl TraceScenario {
    fn new(file: &Path, trace: &Trace, mbps: u32, buffer_ms: u64) -> Self {
        let file = file.file_name().unwrap_or(file.as_os_str()).to_string_lossy();
        Self {
            name: format!("{file}, {mbps} Mbit/s, buffer {buffer_ms} ms"),
            trace: trace.clone(),
            mbps,
            buffer: Duration::from_millis(buffer_ms),
        }
    }

    /// The film goes over the trace; what returns has all room.
    fn link(&self) -> DuplexConfig {
        let backward = LinkConfig { delay: ONE_WAY, ..LinkConfig::default() };
        let forward = LinkConfig { trace: Some(self.trace.clone()), ..backward.clone() };
        DuplexConfig { forward, backward }
    }

    fn carries(&self, at: Duration) -> bool {
        self.trace.bytes_between(at, at + WINDOW) * 8 >= CARRIES_BPS * WINDOW.as_secs()
    }
}

/// Runs every scenario with every tool, and prints what each run gave.
pub(super) async fn measure(
    tools: &[Entrant],
    scenarios: &[TraceScenario],
    seed: u64,
    span: Duration,
    progress: &ProgressBar,
) -> Result<Vec<TraceRow>, Failure> {
    let mut rows = Vec::new();
    for scenario in scenarios.iter().filter(|_| !tools.is_empty()) {
        print(progress, &head(scenario))?;
        let film = Arc::new(Film::encode(scenario.mbps, run::WARM_UP + span).await?);
        for tool in tools {
            progress.set_message(format!("{tool}, {}", scenario.name));
            let shown = run_one(*tool, scenario, &film, seed, span).await?;
            let (scenario, tool) = (scenario.name.clone(), tool.to_string());
            let row = TraceRow { scenario, tool, shown };
            print(progress, &line(&row))?;
            rows.push(row);
            progress.inc(1);
        }
        print(progress, "\n")?;
    }
    Ok(rows)
}

async fn run_one(
    tool: Entrant,
    scenario: &TraceScenario,
    film: &Arc<Film>,
    seed: u64,
    span: Duration,
) -> Result<Shown, Failure> {
    let screening = Screening::new(film.clone());
    let link = [scenario.link()];
    let mut bench = Bench::start(tool, &link, scenario.buffer, seed, screening).await?;
    bench.stream_for(run::WARM_UP, |_| Ok(())).await?;
    bench.begin();
    bench.stream_for(span, |_| Ok(())).await?;
    bench.listen_for(scenario.buffer + 2 * ONE_WAY + run::TOLERANCE).await?;
    let limit = ONE_WAY + scenario.buffer + run::TOLERANCE;
    let head_start = bench.head_start();
    let shown = bench.stream().judge(limit, |sent| scenario.carries(head_start + sent));
    bench.stop().await?;
    Ok(shown)
}

/// What stands above a scenario's runs.
fn head(scenario: &TraceScenario) -> String {
    let name = &scenario.name;
    format!("{name:<52}{:>12}{:>10}{:>10}\n", "pictures %", "sound %", "freeze s")
}

/// A run.
fn line(row: &TraceRow) -> String {
    let TraceRow { tool, shown, .. } = row;
    let Shown { pictures_percent, sound_percent, longest_freeze_s } = shown;
    format!("  {tool:<50}{pictures_percent:>12.1}{sound_percent:>10.1}{longest_freeze_s:>10.2}\n")
}

/// One line for each run.
pub(super) fn csv(rows: &[TraceRow]) -> String {
    let mut text = "scenario,tool,pictures_percent,sound_percent,longest_freeze_s\n".to_owned();
    for TraceRow { scenario, tool, shown } in rows {
        let Shown { pictures_percent, sound_percent, longest_freeze_s } = shown;
        let scenario = scenario.replace('"', "\"\"");
        let _ = writeln!(
            text,
            "\"{scenario}\",{tool},{pictures_percent:.3},{sound_percent:.3},{longest_freeze_s:.2}"
        );
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::lab::compare::tool::Tool;

    fn scenario() -> TraceScenario {
        // 1.2 Mbit/s in the first second, nothing in the next two.
        let times = (1..=100).map(|n| n * 10).chain([3_000]).collect();
        TraceScenario::new(Path::new("a/b.up"), &Trace::new(times).unwrap(), 2, 200)
    }

    #[test]
    fn a_trace_carries_where_half_a_megabit_leaves_within_a_second() {
        let scenario = scenario();
        assert_eq!(scenario.name, "b.up, 2 Mbit/s, buffer 200 ms");
        let ms = Duration::from_millis;
        let carries = [0, 500, 700, 2_000, 2_600, 3_000].map(|at| scenario.carries(ms(at)));
        assert_eq!(carries, [true, true, false, false, true, true]);
    }

    #[test]
    fn only_the_way_there_follows_the_trace() {
        let DuplexConfig { forward, backward } = scenario().link();
        assert!(forward.trace.is_some() && backward.trace.is_none());
        assert_eq!((forward.delay, backward.delay), (ONE_WAY, ONE_WAY));
    }

    #[test]
    fn every_run_is_a_line() {
        let shown = Shown { pictures_percent: 90.0, sound_percent: 99.5, longest_freeze_s: 0.4 };
        let row = |tool: Tool| TraceRow { scenario: "a, b".into(), tool: tool.to_string(), shown };
        let rows = [row(Tool::Anabranch), row(Tool::Srt)];
        assert_eq!(csv(&rows).lines().nth(2), Some("\"a, b\",srt,90.000,99.500,0.40"));
        assert!(line(&rows[1]).starts_with("  srt ") && line(&rows[1]).contains(" 90.0 "));
    }
}
