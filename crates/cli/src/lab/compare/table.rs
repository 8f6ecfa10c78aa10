//! What the measures look like: in the terminal, and as CSV.

use std::fmt::Write as _;

use serde::Serialize;

use super::connect::Connects;
use super::run::Measured;
use super::scenario::Scenario;
use super::stream::Received;
use super::tool::Entrant;

/// A scenario with one tool.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub(super) struct Row {
    scenario: String,
    tool: String,
    /// `None`: the tool cannot do that.
    #[serde(flatten)]
    measured: Option<Measured>,
}

impl Row {
    pub(super) fn new(scenario: &Scenario, tool: Entrant, measured: Option<Measured>) -> Self {
        Self { scenario: scenario.name.clone(), tool: tool.to_string(), measured }
    }
}

/// What stands above a scenario's runs.
pub(super) fn head(scenario: &Scenario) -> String {
    format!(
        "{:<34}{:>10}{:>9}{:>9}{:>9}{:>10}{:>9}{:>10}{:>8}\n",
        scenario.name,
        "in time %",
        "hole ms",
        "+p50 ms",
        "+p99 ms",
        "over %",
        "back %",
        "CPU s/GB",
        "MB"
    )
}

/// A run.
pub(super) fn line(row: &Row) -> String {
    let Some(measured) = &row.measured else {
        return format!("  {:<32}{:>10}\n", row.tool, "no bonding");
    };
    let Measured { received, overhead_percent: over, return_percent: back, .. } = measured;
    let Received { in_time_percent, longest_hole_ms: hole, added_p50_ms: p50, added_p99_ms: p99 } =
        received;
    let (cpu, memory) = (measured.cpu_s_per_gb, measured.peak_memory_mb);
    format!(
        "  {:<32}{in_time_percent:>10.3}{hole:>9.1}{p50:>9.0}{p99:>9.0}{over:>10.1}{back:>9.1}\
         {cpu:>10.1}{memory:>8.1}\n",
        row.tool
    )
}

/// How long a tool took to connect; all names have so many letters at most.
pub(super) fn connects(connects: &Connects, width: usize) -> String {
    let Connects { tool, attempts, failures, p50_ms, p90_ms } = connects;
    let ms = |value: &Option<f64>| value.map_or_else(|| "-".into(), |ms| format!("{ms:.0} ms"));
    let (p50, p90) = (ms(p50_ms), ms(p90_ms));
    format!(
        "{tool:<width$}  connects at 10 % loss in {p50} (p90 {p90}); \
         {failures} of {attempts} fail\n"
    )
}

/// One line for each run; what a tool cannot do has empty fields.
pub(super) fn csv(rows: &[Row]) -> String {
    let mut text = "scenario,tool,in_time_percent,longest_hole_ms,added_p50_ms,added_p99_ms,\
                    overhead_percent,return_percent,cpu_s_per_gb,peak_memory_mb\n"
        .to_owned();
    for row in rows {
        let _ = write!(text, "\"{}\",{}", row.scenario, row.tool);
        match &row.measured {
            Some(measured) => {
                let received = measured.received;
                for value in [
                    received.in_time_percent,
                    received.longest_hole_ms,
                    received.added_p50_ms,
                    received.added_p99_ms,
                    measured.overhead_percent,
                    measured.return_percent,
                    measured.cpu_s_per_gb,
                    measured.peak_memory_mb,
                ] {
                    let _ = write!(text, ",{value:.4}");
                }
            }
            None => text.push_str(&",".repeat(8)),
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::scenario;
    use super::*;
    use crate::lab::compare::tool::Tool;

    fn rows() -> Vec<Row> {
        let measured = Measured {
            received: Received {
                in_time_percent: 99.99,
                longest_hole_ms: 1.5,
                added_p50_ms: 200.0,
                added_p99_ms: 201.0,
            },
            overhead_percent: 12.0,
            return_percent: 1.0,
            cpu_s_per_gb: 9.0,
            peak_memory_mb: 12.3,
        };
        let all = scenario::all();
        let last = all.last().unwrap();
        let row = |tool, measured| Row::new(last, Entrant { tool, encrypted: false }, measured);
        vec![row(Tool::Anabranch, Some(measured)), row(Tool::Srt, None)]
    }

    #[test]
    fn every_line_has_as_many_fields_as_the_head() {
        let csv = csv(&rows());
        let fields = |line: &str| line.split(',').count();
        let mut lines = csv.lines();
        let head = lines.next().map(fields);
        assert_eq!(head, Some(10));
        // The scenario's name has commas.
        assert!(lines.all(|line| fields(line.rsplit_once('"').unwrap().1) == 10), "{csv}");
    }

    #[test]
    fn what_a_tool_cannot_do_is_said() {
        let text: String = rows().iter().map(line).collect();
        assert!(text.contains("99.990") && text.contains("no bonding"), "{text}");
    }
}
