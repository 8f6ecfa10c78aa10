//! `anabranch lab trace`: a run explained by the file that `--trace` wrote.

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::BufReader;
use std::path::PathBuf;
use std::time::Duration;

use anabranch_lab::trace::{Event, Intervals, read};
use anabranch_netsim::settings;
use clap::Args;

use crate::failure::Failure;
use crate::output;

/// The shortest interval.
const EVERY_MIN: Duration = Duration::from_millis(1);

/// Tells interval by interval what a run did that was recorded with --trace.
#[derive(Debug, Args)]
#[command(after_help = "\
Example:
  anabranch send in.ts anabranch://studio.example:9000 --trace sent.qlog
  anabranch lab trace sent.qlog --every 500ms --svg sent.svg")]
pub(crate) struct Trace {
    /// The file.
    file: PathBuf,
    /// The length of an interval, such as 100ms.
    #[arg(long, value_name = "TIME", value_parser = settings::time, default_value = "1s")]
    every: Duration,
    /// One machine of several in the file, such as sender; or one of its connections, by the
    /// group_id of its records.
    #[arg(long, value_name = "NAME")]
    group: Option<String>,
    /// Draws a figure of the run.
    #[arg(long, value_name = "FILE")]
    svg: Option<PathBuf>,
}

impl Trace {
    pub(crate) fn run(&self) -> Result<(), Failure> {
        if self.every < EVERY_MIN {
            return Err(Failure::usage("--every is too short: give 1ms or more"));
        }
        let runs = self.runs()?;
        let (machine, intervals) = match runs.iter().collect::<Vec<_>>()[..] {
            [run] => run,
            [] => return Err(Failure::failed(format!("{}: {}", self.name(), self.nothing()))),
            [..] => {
                let names = runs.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                let text = format!("{} is of {names}: choose one by --group", self.name());
                return Err(Failure::usage(text));
            }
        };
        output::print(&intervals.to_string())?;
        if let Some(svg) = &self.svg {
            let title = format!("{} {machine}", self.name());
            let figure = intervals.figure(title.trim_end()).map_err(Failure::failed)?;
            fs::write(svg, figure).map_err(|error| {
                Failure::failed(format!("cannot write {}: {error}", svg.display()))
            })?;
        }
        Ok(())
    }

    /// What each machine of the file did, if it is to be told.
    fn runs(&self) -> Result<BTreeMap<String, Intervals>, Failure> {
        let file = File::open(&self.file)
            .map_err(|error| Failure::usage(format!("cannot read {}: {error}", self.name())))?;
        let mut runs: BTreeMap<String, Intervals> = BTreeMap::new();
        let take = |event: Event| {
            let machine = machine_of(&event.group_id);
            let wanted = self.group.as_deref();
            if wanted.is_some_and(|group| group != event.group_id && group != machine) {
                return;
            }
            let run = runs.entry(machine.to_owned()).or_insert_with(|| Intervals::new(self.every));
            run.add(&event);
        };
        read(BufReader::new(file), take)
            .map_err(|error| Failure::failed(format!("{}: {error}", self.name())))?;
        Ok(runs)
    }

    fn name(&self) -> String {
        self.file.display().to_string()
    }

    fn nothing(&self) -> String {
        match &self.group {
            Some(group) => format!("there is no record of {group}"),
            None => "there is no record in it".to_owned(),
        }
    }
}

/// The machine of a group: what stands in front of the number of a connection.
fn machine_of(group: &str) -> &str {
    let (machine, last) = group.rsplit_once(' ').unwrap_or(("", group));
    let is_number = last.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { machine } else { group }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn connections_belong_to_their_machine() {
        for (group, machine) in
            [("", ""), ("0", ""), ("sender", "sender"), ("sender 12", "sender"), ("a b", "a b")]
        {
            assert_eq!(machine_of(group), machine, "{group}");
        }
    }
}
