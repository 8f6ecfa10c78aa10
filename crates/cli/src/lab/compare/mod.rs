//! `anabranch lab compare`: our programs over SCTP and DCCP beside SRT's and RIST's, on the same
//! emulated links.

mod connect;
mod film;
mod process;
mod run;
mod scenario;
mod stream;
mod table;
mod tool;
mod traces;

use std::fs;
use std::path::PathBuf;
use std::time::Duration;

use clap::Args;
use indicatif::{ProgressBar, ProgressStyle};

use crate::failure::Failure;
use crate::output;
use connect::Connects;
use scenario::Scenario;
use table::Row;
use tool::{Entrant, Tool};

/// Sends the same stream with anabranch, over SCTP and DCCP, SRT and RIST over the same links
///
/// A transport stream of 10 Mbit/s goes by UDP into each tool's sender and by UDP out of its
/// receiver, in real time. Debian has the others as srt-tools and rist-tools; what is not installed
/// is left out. With --trace it is a film of 1, 2 and 4 Mbit/s (H.264 and AAC, made by ffmpeg) over
/// a recorded uplink, and the table tells what could be seen and heard. Stop other programs first:
/// delays and CPU time are those of this machine.
///
/// Example:
///   anabranch lab compare --only "10 %" --out results
#[derive(Debug, Args)]
#[command(verbatim_doc_comment)]
pub(crate) struct Compare {
    /// Seconds of stream in each run.
    #[arg(long, default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=3_600))]
    seconds: u32,
    /// Decides which packets are lost.
    #[arg(long, default_value_t = 1)]
    seed: u64,
    /// Only scenarios with this in their name.
    #[arg(long, default_value = "")]
    only: String,
    /// Only these tools: anabranch, dccp (anabranch over DCCP), srt, rist. May be repeated.
    #[arg(long)]
    tool: Vec<Tool>,
    /// Has all that can encrypt by one passphrase, with AES-128, instead of sending in the open.
    #[arg(long)]
    encrypted: bool,
    /// How often to connect at 10 % of loss; 0 leaves that out.
    #[arg(long, default_value_t = 20)]
    connects: u32,
    /// Instead of all that: films over this recorded link, as rate=trace:FILE in anabranch emulate.
    /// May be repeated.
    #[arg(long, value_name = "FILE")]
    trace: Vec<PathBuf>,
    /// Writes compare.csv and compare.json into this directory; with --trace, traces.csv and
    /// traces.json.
    #[arg(long, value_name = "DIR")]
    out: Option<PathBuf>,
}

impl Compare {
    pub(crate) async fn run(self) -> Result<(), Failure> {
        let tools = self.tools()?;
        if !self.trace.is_empty() {
            return self.show_traces(&tools).await;
        }
        let scenarios: Vec<_> = scenario::all()
            .into_iter()
            .filter(|scenario| scenario.name.contains(&self.only))
            .collect();
        let rows = self.measure(&tools, &scenarios).await?;
        let connects = self.connect(&tools).await?;
        let json = serde_json::json!({ "transfers": rows, "connects": connects });
        self.write("compare", &table::csv(&rows), &json)
    }

    async fn show_traces(&self, tools: &[Entrant]) -> Result<(), Failure> {
        let mut scenarios = traces::all(&self.trace)?;
        scenarios.retain(|scenario| scenario.name.contains(&self.only));
        let progress = progress(scenarios.len() * tools.len(), "runs")?;
        let span = Duration::from_secs(self.seconds.into());
        let rows = traces::measure(tools, &scenarios, self.seed, span, &progress).await?;
        progress.finish_and_clear();
        self.write("traces", &traces::csv(&rows), &serde_json::json!({ "films": rows }))
    }

    fn write(&self, name: &str, csv: &str, json: &serde_json::Value) -> Result<(), Failure> {
        let Some(out) = &self.out else { return Ok(()) };
        fs::create_dir_all(out)?;
        fs::write(out.join(name).with_extension("csv"), csv)?;
        fs::write(out.join(name).with_extension("json"), format!("{json:#}\n"))?;
        Ok(())
    }

    /// Those that are wanted and installed. Says which are not.
    fn tools(&self) -> Result<Vec<Entrant>, Failure> {
        let is_wanted = |tool: &Tool| self.tool.is_empty() || self.tool.contains(tool);
        let (found, absent): (Vec<_>, Vec<_>) =
            Tool::ALL.into_iter().filter(is_wanted).partition(|tool| tool.is_installed());
        for tool in absent {
            output::print(&format!("{tool} is left out: apt install {}\n", tool.package()))?;
        }
        let encrypted = self.encrypted;
        let (found, open): (Vec<_>, Vec<_>) =
            found.into_iter().partition(|tool| !encrypted || tool.encrypts());
        for tool in open {
            output::print(&format!("{tool} is left out: nothing encrypts there\n"))?;
        }
        Ok(found.into_iter().map(|tool| Entrant { tool, encrypted }).collect())
    }

    /// Runs every scenario with every tool, and prints what each run gave.
    async fn measure(
        &self,
        tools: &[Entrant],
        scenarios: &[Scenario],
    ) -> Result<Vec<Row>, Failure> {
        let span = Duration::from_secs(self.seconds.into());
        let progress = progress(scenarios.len() * tools.len(), "runs")?;
        let mut rows = Vec::new();
        for scenario in scenarios.iter().filter(|_| !tools.is_empty()) {
            print(&progress, &table::head(scenario))?;
            for tool in tools {
                progress.set_message(format!("{tool}, {}", scenario.name));
                let measured = run::run(*tool, scenario, self.seed, span).await?;
                let row = Row::new(scenario, *tool, measured);
                print(&progress, &table::line(&row))?;
                rows.push(row);
                progress.inc(1);
            }
            print(&progress, "\n")?;
        }
        progress.finish_and_clear();
        Ok(rows)
    }

    /// Connects with every tool, and prints how long that took.
    async fn connect(&self, tools: &[Entrant]) -> Result<Vec<Connects>, Failure> {
        let progress = progress(self.connects as usize * tools.len(), "connects")?;
        let width = tools.iter().map(|tool| tool.to_string().len()).max().unwrap_or_default();
        let mut all = Vec::new();
        for tool in tools.iter().filter(|_| self.connects > 0) {
            progress.set_message(tool.to_string());
            let connects = connect::measure(*tool, self.connects, self.seed, &progress).await?;
            print(&progress, &table::connects(&connects, width))?;
            all.push(connects);
        }
        progress.finish_and_clear();
        Ok(all)
    }
}

/// Hidden where stderr is no terminal.
fn progress(count: usize, what: &str) -> Result<ProgressBar, Failure> {
    let template = format!("{{pos}} of {{len}} {what} {{wide_bar}} {{eta}} left {{msg}}");
    let style = ProgressStyle::with_template(&template).map_err(Failure::failed)?;
    let progress = ProgressBar::new(count as u64).with_style(style);
    // The time goes on while a run does.
    progress.enable_steady_tick(Duration::from_secs(1));
    Ok(progress)
}

/// Prints above the progress.
fn print(progress: &ProgressBar, text: &str) -> Result<(), Failure> {
    Ok(progress.suspend(|| output::print(text))?)
}
