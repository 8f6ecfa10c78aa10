//! Tables of cells: means over the seeds beside the paper's values, and one line for each cell.

use std::fmt::Write as _;

use serde::{Serialize, Serializer};

use super::cell::{Cell, Setup};
use super::measure::{Measured, Outcome};
use super::sensitivity::Variation;
use super::strategy::Strategy;
use crate::{Estimate, csv_lines};

/// A strategy at a rate and a loss, over all seeds.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Row {
    /// The strategy.
    pub strategy: Strategy,
    /// Rate of the links in Mbit/s.
    pub mbps: f64,
    /// Their loss.
    pub loss: f64,
    /// The mean one-way delay over all packets, in seconds.
    pub delay_s: Estimate,
    /// The smallest and the largest of any seed.
    pub delay_range_s: (f64, f64),
    /// The mean one-way delay over all seconds of the video, in seconds.
    pub delay_by_second_s: Estimate,
    /// The mean PSNR-Y in dB; none of a film, which is not scored.
    pub psnr_y_db: Option<Estimate>,
    /// Packets that the encoder handed over.
    pub packets: f64,
    /// Those that arrived.
    pub arrived: f64,
    /// Frames of the video.
    pub frames: f64,
    /// Frames that could not be decoded, of a film those that were not all there.
    pub frames_repeated: f64,
    /// Those of them that other pictures refer to; of a film alone.
    pub base_missing: Option<f64>,
    /// Packets that the links lost.
    pub lost_on_links: f64,
    /// Packets that their queues had no room for.
    pub refused_by_queues: f64,
    /// Packets of video that the receiver had no room for.
    pub discarded_by_receiver: f64,
    /// Packets of video that were sent again.
    pub retransmissions: f64,
    /// Retransmission timers that expired.
    pub timeouts: f64,
}

fn range(values: impl Iterator<Item = f64>) -> (f64, f64) {
    values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), value| {
        (least.min(value), most.max(value))
    })
}

/// Takes the seeds of each cell together. `results` are in the order of
/// [`cells`](super::cells): all seeds of a cell beside each other.
#[must_use]
pub fn rows(results: &[(Cell, Measured)]) -> Vec<Row> {
    let same = |a: &(Cell, Measured), b: &(Cell, Measured)| Cell { seed: b.0.seed, ..a.0 } == b.0;
    let groups = results.chunk_by(same).filter_map(|group| {
        let (cell, _) = group.first()?;
        let known = |value: fn(&Outcome) -> Option<f64>| {
            let values = group.iter().map(|(_, measured)| value(&measured.outcome));
            values.collect::<Option<Vec<_>>>().map(|values| Estimate::of(&values))
        };
        let over = |value: fn(&Outcome) -> f64| {
            Estimate::of(
                &group.iter().map(|(_, measured)| value(&measured.outcome)).collect::<Vec<_>>(),
            )
        };
        Some(Row {
            strategy: cell.strategy,
            mbps: cell.mbps,
            loss: cell.loss,
            delay_s: over(|outcome| outcome.delay_s),
            delay_range_s: range(group.iter().map(|(_, measured)| measured.outcome.delay_s)),
            delay_by_second_s: over(|outcome| outcome.delay_by_second_s),
            psnr_y_db: known(|outcome| outcome.psnr_y_db),
            packets: over(|outcome| outcome.packets as f64).mean,
            arrived: over(|outcome| outcome.arrived as f64).mean,
            frames: over(|it| (it.frames_full + it.frames_base + it.frames_repeated) as f64).mean,
            frames_repeated: over(|outcome| outcome.frames_repeated as f64).mean,
            base_missing: known(|it| it.base_missing.map(|count| count as f64)).map(|it| it.mean),
            lost_on_links: over(|outcome| outcome.lost_on_links as f64).mean,
            refused_by_queues: over(|outcome| outcome.refused_by_queues as f64).mean,
            discarded_by_receiver: over(|outcome| outcome.discarded_by_receiver as f64).mean,
            retransmissions: over(|outcome| outcome.retransmissions as f64).mean,
            timeouts: over(|outcome| outcome.timeouts as f64).mean,
        })
    });
    groups.collect()
}

impl Row {
    /// What a viewer sees, with its unit: of a film how many pictures are missing, and in brackets
    /// how many of these others refer to.
    pub(super) fn seen(&self) -> String {
        match self.psnr_y_db {
            Some(psnr_y_db) => format!("{psnr_y_db:.2} dB"),
            None => self.missing(),
        }
    }

    fn missing(&self) -> String {
        let base = self.base_missing.unwrap_or_default();
        format!("{:.1} ({base:.1})", self.frames_repeated)
    }
}

/// The paper's tables 2 to 5 with our values beside its own; ours alone where a parameter is not
/// the paper's.
#[must_use]
pub fn tables(setup: &Setup, rows: &[Row]) -> String {
    let mut text = setup.parameters.said().map(|said| said + "\n\n").unwrap_or_default();
    for said in setup.said_of_film() {
        text.push_str(&said);
        text.push_str("\n\n");
    }
    for (number, loss) in (2..).zip(setup.values().losses()) {
        let of_table: Vec<_> = rows.iter().filter(|row| row.loss.total_cmp(loss).is_eq()).collect();
        if !of_table.is_empty() {
            table(setup, number, *loss, &of_table, &mut text);
        }
    }
    text
}

fn table(setup: &Setup, number: u32, loss: f64, rows: &[&Row], text: &mut String) {
    let (rates, are_papers) = (setup.values().rates_mbps(), setup.parameters.are_papers());
    let title = if are_papers { format!("Table {number}: packet") } else { "Packet".to_owned() };
    // Writing to a string does not fail.
    let _ = writeln!(text, "{title} error rate {loss}, delay in s / {}", setup.seen_as());
    let _ = write!(text, "{:22}", "");
    for mbps in &rates {
        let _ = write!(text, "{:>28}", format!("{mbps} Mbit/s, measured"));
        if are_papers {
            let _ = write!(text, "{:>16}", "paper");
        }
    }
    text.push('\n');
    for of_strategy in rows.chunk_by(|a, b| a.strategy == b.strategy) {
        let Some(first) = of_strategy.first() else { continue };
        let _ = write!(text, "{:22}", first.strategy);
        for mbps in rates.iter().copied() {
            let row = of_strategy.iter().find(|row| row.mbps.total_cmp(&mbps).is_eq());
            let measured = row.map(|row| pair(row));
            let paper = setup.published(first.strategy, mbps, loss);
            let paper = paper.map(|(delay, psnr)| format!("{delay:.4} / {psnr:.2}"));
            let _ = write!(text, "{:>28}", measured.unwrap_or_default());
            if are_papers {
                let _ = write!(text, "{:>16}", paper.unwrap_or_default());
            }
        }
        text.push('\n');
    }
    text.push('\n');
}

/// From 1 s on, two digits say enough. Where nothing arrived, it took no time.
fn pair(row: &Row) -> String {
    let seen = row.psnr_y_db.map_or_else(|| row.missing(), |it| format!("{it:.2}"));
    if row.arrived == 0.0 {
        return format!("\u{2013} / {seen}");
    }
    let digits = if row.delay_s.mean < 1.0 { 4 } else { 2 };
    format!("{:.digits$} / {seen}", row.delay_s)
}

/// A line for each cell, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn cells_csv(setup: &Setup, results: &[(Cell, Measured)]) -> Result<Vec<u8>, csv::Error> {
    csv_lines(results.iter().map(|(cell, measured)| {
        (Place::from(cell), &measured.outcome, Origin::new(setup, cell), Changed::of(setup))
    }))
}

/// A line for each second of each cell, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn seconds_csv(setup: &Setup, results: &[(Cell, Measured)]) -> Result<Vec<u8>, csv::Error> {
    csv_lines(results.iter().flat_map(|(cell, measured)| {
        measured.seconds.iter().map(move |second| (Place::from(cell), second, Changed::of(setup)))
    }))
}

/// A line for each varied cell, with a header.
///
/// # Errors
/// Never, as memory takes all that is written.
pub fn variations_csv(varied: &[(Variation, Cell, Measured)]) -> Result<Vec<u8>, csv::Error> {
    csv_lines(varied.iter().map(|(variation, cell, measured)| {
        (Varied::from(*variation), Place::from(cell), &measured.outcome)
    }))
}

/// What a varied cell's line begins with.
#[derive(Debug, Serialize)]
struct Varied {
    variation: String,
}

impl From<Variation> for Varied {
    fn from(variation: Variation) -> Self {
        Self { variation: variation.to_string() }
    }
}

/// The last columns of a cell's line: all that gives the same again.
#[derive(Debug, Serialize)]
struct Origin {
    source: &'static str,
    frames: usize,
    version: &'static str,
    command: String,
}

impl Origin {
    fn new(setup: &Setup, cell: &Cell) -> Self {
        Self {
            source: setup.source.name(),
            frames: setup.video.frames(),
            version: env!("CARGO_PKG_VERSION"),
            command: setup.again(cell),
        }
    }
}

/// The last column of a line, if a parameter is not the paper's: which, as `--set` takes it.
#[derive(Debug, Serialize)]
struct Changed {
    #[serde(skip_serializing_if = "String::is_empty")]
    set: String,
}

impl Changed {
    fn of(setup: &Setup) -> Self {
        Self { set: setup.parameters.set_again() }
    }
}

/// A number without a point where it is whole.
fn plain<S: Serializer>(number: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(number)
}

/// The first columns of a line.
#[derive(Debug, Serialize)]
struct Place {
    strategy: String,
    #[serde(serialize_with = "plain")]
    mbps: f64,
    loss: f64,
    seed: u64,
}

impl From<&Cell> for Place {
    fn from(cell: &Cell) -> Self {
        let Cell { strategy, mbps, loss, seed } = *cell;
        Self { strategy: strategy.to_string(), mbps, loss, seed }
    }
}

#[cfg(test)]
pub(super) mod testing {
    use super::*;

    /// At 30 Mbit/s and 1 % of loss, with nothing told beyond the measures.
    pub(in super::super) fn row(strategy: Strategy, delay_s: f64, psnr_y_db: f64) -> Row {
        let exact = |mean| Estimate { mean, half_width: 0.0 };
        Row {
            strategy,
            mbps: 30.0,
            loss: 1e-2,
            delay_s: exact(delay_s),
            delay_range_s: (delay_s, delay_s),
            delay_by_second_s: exact(delay_s),
            psnr_y_db: Some(exact(psnr_y_db)),
            packets: 1_000.0,
            arrived: 1_000.0,
            frames: 25.0,
            frames_repeated: 0.0,
            base_missing: None,
            lost_on_links: 0.0,
            refused_by_queues: 0.0,
            discarded_by_receiver: 0.0,
            retransmissions: 0.0,
            timeouts: 0.0,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::super::cell::Source;
    use super::super::measure::Second;
    use super::super::strategy::RtpStrategy;
    use super::*;

    fn measured(delay_s: f64) -> Measured {
        let seconds = [0, 1].map(|second| Second {
            second,
            delay_s: (second == 0).then_some(delay_s),
            ..Second::default()
        });
        Measured {
            outcome: Outcome {
                packets: 10,
                arrived: 9,
                delay_s,
                delay_by_second_s: delay_s,
                psnr_y_db: Some(30.0),
                frames_full: 1,
                frames_base: 0,
                frames_repeated: 1,
                base_missing: None,
                lost_on_links: 1,
                refused_by_queues: 0,
                discarded_by_receiver: 4,
                retransmissions: 0,
                timeouts: 0,
                duration_s: 2,
            },
            seconds: seconds.to_vec(),
        }
    }

    fn two_seeds() -> [(Cell, Measured); 2] {
        let strategy = Strategy::Rtp(RtpStrategy::Single);
        let cell = |seed| Cell { strategy, mbps: 30.0, loss: 1e-2, seed };
        [(cell(1), measured(0.01)), (cell(2), measured(0.03))]
    }

    #[test]
    fn seeds_are_taken_together_and_stand_beside_the_papers_values() {
        let rows = rows(&two_seeds());
        assert_eq!(rows.len(), 1);
        assert!((rows[0].delay_s.mean - 0.02).abs() < 1e-12);
        let text = tables(&Setup::new(Source::Plain), &rows);
        assert!(text.contains("Table 5: packet error rate 0.01"), "{text}");
        assert!(
            text.contains("0.0200±0.1271 / 30.00") && text.contains("0.0094 / 24.77"),
            "{text}"
        );
    }

    #[test]
    fn every_cell_is_a_line_and_every_second_of_it_another() {
        let setup = Setup::new(Source::Plain).cut_after(3);
        let text = String::from_utf8(cells_csv(&setup, &two_seeds()).unwrap()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("strategy,mbps,loss,seed,packets,arrived,delay_s,"));
        assert!(lines[0].ends_with(",duration_s,source,frames,version,command"), "{}", lines[0]);
        let expected = format!(
            "RTP,30,0.01,2,10,9,0.03,0.03,30.0,1,0,1,1,0,4,0,0,2,plain,3,{},\"anabranch lab \
             ortiz2013 --cell 30,0.01,2 --strategy RTP --source plain --pictures 3 --capture --out \
             DIR\"",
            env!("CARGO_PKG_VERSION")
        );
        assert_eq!(lines[2], expected);
        let text = String::from_utf8(seconds_csv(&setup, &two_seeds()).unwrap()).unwrap();
        let lines: Vec<_> = text.lines().collect();
        assert!(lines[0].starts_with("strategy,mbps,loss,seed,second,eth0_mbps,eth0_discards,"));
        assert_eq!(lines[4], "RTP,30,0.01,2,1,0.0,0,0.0,0,,0.0,", "nothing came in this second");
    }
}
