//! Where our values differ from the paper's, and what the runs show about why.

use super::super::paper::{FULL, published};
use super::super::strategy::{SctpStrategy, Strategy, Treatment};
use super::super::table::Row;
use super::sensitivity::VariedRow;

/// A delay differs when it is off by more than this share of the paper's, and by more than
/// [`DELAY_S`].
const DELAY_SHARE: f64 = 0.2;
/// Less does not show in a picture: an eighth of a frame's time.
const DELAY_S: f64 = 0.005;
/// What is missing from the whole video's PSNR-Y differs from this on.
const PSNR_Y_DB: f64 = 0.1;
/// A choice that was run in fewer cells than this explains none of them: of several choices one
/// comes close to a single value by chance.
const CELLS_MIN: usize = 3;

/// A value that differs, with what the runs of its cell show.
pub(super) struct Difference {
    pub(super) row: Row,
    pub(super) cause: Cause,
    pub(super) ours: String,
    pub(super) paper: String,
    pub(super) evidence: String,
}

/// What runs show about a difference. A cause is named only where runs without it meet the paper.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Cause {
    /// One parameter chosen otherwise meets the paper in all cells that it was run in.
    OtherChoice,
    /// The paper's other reading of "unreliable" meets it.
    OtherReading,
    /// The paper's value is between those of our seeds.
    Seed,
    UnexplainedDelay,
    UnexplainedPictures,
}

impl Cause {
    pub(super) const ALL: [Self; 5] = [
        Self::OtherChoice,
        Self::OtherReading,
        Self::Seed,
        Self::UnexplainedDelay,
        Self::UnexplainedPictures,
    ];

    pub(super) const fn title(self) -> &'static str {
        match self {
            Self::OtherChoice => "Met with one parameter chosen otherwise",
            Self::OtherReading => "Met with the paper's other reading",
            Self::Seed => "Delay: between our seeds",
            Self::UnexplainedDelay => "Delay: unexplained",
            Self::UnexplainedPictures => "Pictures: unexplained",
        }
    }

    pub(super) const fn explanation(self) -> &'static str {
        match self {
            Self::OtherChoice => {
                "With the same parameter our runs meet the paper in every cell of the strategy in \
                 which it was varied, three at least. What meets it in some cells and not in \
                 others is no explanation: see Sensitivity."
            }
            Self::OtherReading => {
                "The paper calls both no retransmission and one of them unreliable. Our runs of \
                 the other reading meet its values in every cell, three at least."
            }
            Self::Seed => {
                "Some of our seeds give more than the paper's value, others less. The paper gives \
                 one value without a spread, so nothing can be said against either."
            }
            Self::UnexplainedDelay => {
                "No run of ours meets the paper here. What was counted stands beside each cell; it \
                 describes our run and gives no reason."
            }
            Self::UnexplainedPictures => {
                "No run of ours meets the paper here. Its video is another one than ours, its \
                 receiver is ns-2's, and neither could be run: why is unexplained."
            }
        }
    }
}

/// All that differs, in the order of the tables: first the delay, then the picture of each cell.
pub(super) fn differences(
    rows: &[Row],
    varied: &[VariedRow],
    full_psnr_y_db: Option<f64>,
) -> Vec<Difference> {
    let runs = Runs { rows, varied, full_psnr_y_db };
    let of_row = |row: &Row| {
        let (delay_s, psnr_y_db) = published(row.strategy, row.mbps, row.loss)?;
        Some([runs.delay(row, delay_s), runs.pictures(row, FULL - psnr_y_db)])
    };
    rows.iter().filter_map(of_row).flatten().flatten().collect()
}

/// All that a difference is looked up in.
struct Runs<'a> {
    rows: &'a [Row],
    varied: &'a [VariedRow],
    full_psnr_y_db: Option<f64>,
}

impl Runs<'_> {
    fn delay(&self, row: &Row, paper_s: f64) -> Option<Difference> {
        if is_close(row, paper_s) {
            return None;
        }
        let (least_s, most_s) = row.delay_range_s;
        let other =
            self.other_reading_that_meets(row, |other, (paper_s, _)| is_close(other, paper_s));
        let (cause, evidence) = if let Some(it) = self.choice_that_meets(row) {
            let said = format!("{:.4} s with {}", it.row.delay_s, it.variation);
            (Cause::OtherChoice, said)
        } else if let Some(other) = other {
            (Cause::OtherReading, format!("{:.4} s as {}", other.delay_s, other.strategy))
        } else if least_s < paper_s && paper_s < most_s {
            (Cause::Seed, format!("{least_s:.4} to {most_s:.4} s by seed"))
        } else {
            (Cause::UnexplainedDelay, counts(row))
        };
        Some(Difference {
            row: *row,
            cause,
            ours: format!("{:.4} s", row.delay_s),
            paper: format!("{paper_s:.4} s"),
            evidence,
        })
    }

    fn pictures(&self, row: &Row, paper_missing_db: f64) -> Option<Difference> {
        let meets = |row: &Row, paper_db: f64| {
            self.missing_db(row).is_some_and(|ours| (ours - paper_db).abs() <= PSNR_Y_DB)
        };
        let missing_db = self.missing_db(row)?;
        if meets(row, paper_missing_db) {
            return None;
        }
        let other = self
            .other_reading_that_meets(row, |other, (_, paper_db)| meets(other, FULL - paper_db));
        let each = missing_db * row.frames / row.frames_repeated.max(1.0);
        let (cause, evidence) = match other {
            Some(other) => {
                let other_db = self.missing_db(other)?;
                let said = format!("{other_db:.2} dB missing as {}", other.strategy);
                (Cause::OtherReading, said)
            }
            None => {
                let said = format!(
                    "{:.0} packets never came, {:.0} pictures repeated at {each:.1} dB each",
                    row.packets - row.arrived,
                    row.frames_repeated,
                );
                (Cause::UnexplainedPictures, said)
            }
        };
        Some(Difference {
            row: *row,
            cause,
            ours: format!("{missing_db:.2} dB missing"),
            paper: format!("{paper_missing_db:.2} dB missing"),
            evidence,
        })
    }

    /// What is missing from the whole video's PSNR-Y.
    fn missing_db(&self, row: &Row) -> Option<f64> {
        Some(self.full_psnr_y_db? - row.psnr_y_db?.mean)
    }

    /// The cell with a choice that meets the paper wherever this strategy was run with it.
    fn choice_that_meets(&self, row: &Row) -> Option<&VariedRow> {
        let place = |row: &Row| (row.strategy, row.mbps.to_bits(), row.loss.to_bits());
        let of_cell = self.varied.iter().filter(|it| place(&it.row) == place(row));
        of_cell.into_iter().find(|candidate| {
            let same = |it: &&VariedRow| {
                (it.variation, it.row.strategy) == (candidate.variation, row.strategy)
            };
            let run: Vec<_> = self.varied.iter().filter(same).collect();
            run.len() >= CELLS_MIN && run.iter().all(|it| meets_paper(&it.row))
        })
    }

    /// The same cell with one retransmission instead of none, or the other way round, if that meets
    /// the paper's delay or PSNR-Y wherever both were run.
    fn other_reading_that_meets(
        &self,
        row: &Row,
        meets: impl Fn(&Row, (f64, f64)) -> bool,
    ) -> Option<&Row> {
        let other = other_reading(row.strategy)?;
        let same = self.rows.iter().filter(|it| it.strategy == row.strategy);
        let run: Vec<_> = same
            .filter_map(|it| {
                Some((self.run_beside(it, other)?, published(it.strategy, it.mbps, it.loss)?))
            })
            .collect();
        let explains = run.len() >= CELLS_MIN && run.iter().all(|(it, paper)| meets(it, *paper));
        self.run_beside(row, other).filter(|_| explains)
    }

    /// Another strategy in the same cell.
    fn run_beside(&self, row: &Row, strategy: Strategy) -> Option<&Row> {
        let place = (strategy, row.mbps.to_bits(), row.loss.to_bits());
        self.rows.iter().find(|it| (it.strategy, it.mbps.to_bits(), it.loss.to_bits()) == place)
    }
}

fn is_close(row: &Row, paper_s: f64) -> bool {
    (paper_s - row.delay_s.mean).abs() <= DELAY_S.max(DELAY_SHARE * paper_s)
}

fn meets_paper(row: &Row) -> bool {
    let paper = published(row.strategy, row.mbps, row.loss);
    paper.is_some_and(|(paper_s, _)| is_close(row, paper_s))
}

fn other_reading(strategy: Strategy) -> Option<Strategy> {
    let other = |treatment| match treatment {
        Treatment::Unreliable(max @ 0..=1) => Some(Treatment::Unreliable(1 - max)),
        Treatment::Mixed(max @ 0..=1) => Some(Treatment::Mixed(1 - max)),
        Treatment::Reliable | Treatment::Unreliable(_) | Treatment::Mixed(_) => None,
    };
    let Strategy::Sctp(strategy) = strategy else { return None };
    Some(Strategy::Sctp(match strategy {
        SctpStrategy::CmtMulti(treatment) => SctpStrategy::CmtMulti(other(treatment)?),
        SctpStrategy::Multi(treatment) => SctpStrategy::Multi(other(treatment)?),
        SctpStrategy::Single(treatment) => SctpStrategy::Single(other(treatment)?),
        SctpStrategy::Anabranch => return None,
    }))
}

fn counts(row: &Row) -> String {
    let Row { lost_on_links, refused_by_queues, retransmissions, timeouts, .. } = row;
    let discarded = match row.strategy {
        Strategy::Sctp(_) => {
            format!(" {:.0} discarded by the receiver,", row.discarded_by_receiver)
        }
        // Not counted there.
        Strategy::Tcp | Strategy::Rtp(_) => String::new(),
    };
    format!(
        "{lost_on_links:.0} lost, {refused_by_queues:.0} refused by queues,{discarded} \
         {retransmissions:.0} sent again, {timeouts:.1} timers"
    )
}

#[cfg(test)]
mod tests {
    use super::super::super::sensitivity::Variation;
    use super::super::super::table::testing::row;
    use super::*;

    const RELIABLE: Strategy = Strategy::Sctp(SctpStrategy::Multi(Treatment::Reliable));

    fn causes(rows: &[Row]) -> Vec<Cause> {
        differences(rows, &[], Some(34.5)).iter().map(|difference| difference.cause).collect()
    }

    #[test]
    fn what_is_close_to_the_paper_is_no_difference() {
        // The paper has 41.1406 s and nothing missing.
        assert_eq!(causes(&[row(RELIABLE, 34.0, 34.45)]), []);
        assert_eq!(causes(&[Row { mbps: 60.0, loss: 0.0, ..row(RELIABLE, 0.0105, 34.5) }]), []);
        assert_eq!(causes(&[row(Strategy::OURS, 34.0, 20.0)]), [], "it has no value of this");
    }

    #[test]
    fn a_choice_explains_only_if_it_meets_the_paper_in_all_of_its_cells() {
        // The paper has 41.1406, 20.3130 and 3.5188 s.
        let ours = row(RELIABLE, 22.0, 34.5);
        let run = |delays_s: [f64; 3]| {
            [30.0, 45.0, 60.0].into_iter().zip(delays_s).map(|(mbps, delay_s)| VariedRow {
                variation: Variation::OneRepairPerWindow,
                row: Row { mbps, ..row(RELIABLE, delay_s, 34.5) },
            })
        };
        let cause = |varied: &[VariedRow]| differences(&[ours], varied, Some(34.5))[0].cause;
        let all: Vec<_> = run([40.0, 20.0, 3.6]).collect();
        assert_eq!(cause(&all), Cause::OtherChoice);
        let not_all: Vec<_> = run([40.0, 20.0, 9.0]).collect();
        assert_eq!(cause(&not_all), Cause::UnexplainedDelay);
        assert_eq!(cause(&all[..1]), Cause::UnexplainedDelay, "a single cell, by chance");
        let found = differences(&[ours], &all, Some(34.5));
        assert!(found[0].evidence.contains("40.0000 s with one loss of a window"));
    }

    #[test]
    fn no_timer_is_blamed_and_nothing_else_that_no_run_takes_away() {
        // The paper has 0.0556 s here.
        let quick = Row { mbps: 60.0, loss: 1e-3, ..row(RELIABLE, 0.0076, 34.5) };
        for row in [quick, Row { timeouts: 3.0, lost_on_links: 50.0, ..quick }] {
            assert_eq!(causes(&[row]), [Cause::UnexplainedDelay]);
        }
        assert_eq!(causes(&[Row { delay_range_s: (0.007, 0.06), ..quick }]), [Cause::Seed]);
        assert_eq!(causes(&[row(RELIABLE, 41.0, 33.9)]), [Cause::UnexplainedPictures]);
    }

    #[test]
    fn the_other_reading_counts_if_it_meets_the_paper_in_all_of_its_cells() {
        let with = |max| Strategy::Sctp(SctpStrategy::Multi(Treatment::Unreliable(max)));
        let cells = |more_db: [f64; 3]| {
            let cell = |(mbps, more_db): (f64, f64)| {
                let none = Row { mbps, ..row(with(0), 0.0, 30.0) };
                let (delay_s, psnr_y_db) = published(with(0), mbps, none.loss).expect("a cell");
                let meets = row(with(1), delay_s, psnr_y_db + more_db - FULL + 34.5);
                [Row { delay_s: meets.delay_s, ..none }, Row { mbps, ..meets }]
            };
            [30.0, 45.0, 60.0].into_iter().zip(more_db).flat_map(cell).collect::<Vec<_>>()
        };
        let of_none = |rows: &[Row]| {
            let found = differences(rows, &[], Some(34.5));
            let of_none = found.iter().filter(|it| it.row.strategy == with(0));
            of_none.map(|it| it.cause).collect::<Vec<_>>()
        };
        assert_eq!(of_none(&cells([0.0; 3])), [Cause::OtherReading; 3]);
        assert_eq!(of_none(&cells([0.0, 0.0, 3.0])), [Cause::UnexplainedPictures; 3]);
        assert_eq!(of_none(&cells([0.0; 3])[..2]), [Cause::UnexplainedPictures], "by chance");
    }
}
