//! [`Statement`]: what the paper says its values show, and whether ours do.

use super::cell::{Carrier, Scenario};
use super::measure::Outcome;
use super::paper::Measure;
use super::table::{BAD_LOSSES_PERCENT, Row};
use super::variation::{BEYOND, Variation};
use crate::Estimate;

/// Something that the paper says, and what our runs say of it.
#[derive(Debug)]
pub struct Statement {
    /// Where the paper says so.
    pub place: &'static str,
    /// What it says.
    pub said: &'static str,
    /// What our runs say.
    pub verdict: Verdict,
    /// Our values.
    pub ours: String,
}

/// What our runs say of a statement.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// It holds beyond the intervals.
    Holds,
    /// It does not.
    Fails,
    /// The intervals overlap.
    Open,
}

impl Verdict {
    /// For people.
    #[must_use]
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::Holds => "holds",
            Self::Fails => "does not hold",
            Self::Open => "within the intervals",
        }
    }

    /// Whether this is more than that.
    fn more(this: Estimate, that: Estimate) -> Self {
        let margin = this.half_width + that.half_width;
        match this.mean - that.mean {
            difference if difference > margin => Self::Holds,
            difference if difference < -margin => Self::Fails,
            _ => Self::Open,
        }
    }

    /// The worst of several.
    fn all(verdicts: impl IntoIterator<Item = Self>) -> Self {
        verdicts.into_iter().fold(Self::Holds, |all, it| match (all, it) {
            (Self::Fails, _) | (_, Self::Fails) => Self::Fails,
            (Self::Open, _) | (_, Self::Open) => Self::Open,
            (Self::Holds, Self::Holds) => Self::Holds,
        })
    }
}

/// The paper's statements beside all that was run; those are left out for which too little was.
#[must_use]
pub fn statements(rows: &[Row], varied: &[(Variation, Row)]) -> Vec<Statement> {
    let of = Rows { rows, varied };
    let all = [
        of.more_connections_are_faster(),
        of.four_times(),
        of.four_times_beyond(),
        of.longer_frames(),
        of.core_is_slower(),
        of.delay_grows(),
        of.quality_grows(),
        of.drop_rate(),
        of.one_connection_is_too_slow(),
        of.quality_of_one(),
    ];
    all.into_iter().flatten().collect()
}

struct Rows<'a> {
    rows: &'a [Row],
    varied: &'a [(Variation, Row)],
}

impl Rows<'_> {
    fn value(
        &self,
        scenario: Scenario,
        frame_us: u32,
        connections: u32,
        measure: Measure,
    ) -> Option<Estimate> {
        let carrier = Carrier::Dccp(connections);
        let row = self.rows.iter().find(|row| row.is_at(scenario, frame_us, carrier))?;
        row.measure(measure)
    }

    fn values(
        &self,
        place: (Scenario, u32),
        connections: &[u32],
        measure: Measure,
    ) -> Option<Vec<Estimate>> {
        connections.iter().map(|n| self.value(place.0, place.1, *n, measure)).collect()
    }

    fn more_connections_are_faster(&self) -> Option<Statement> {
        let places = [(Scenario::BaseStation, 20_000), (Scenario::NodeC, 20_000)];
        let rates: Option<Vec<_>> = places
            .iter()
            .map(|place| self.values(*place, &[1, 2, 3, 4], Measure::Throughput))
            .collect();
        let rates = rates?;
        Some(Statement {
            place: "tables 3 and 4, 20 ms",
            said: "Each connection more carries more.",
            verdict: Verdict::all(rates.iter().map(|rates| rising(rates))),
            ours: joined(&rates.concat(), 0, "kbit/s"),
        })
    }

    fn four_times(&self) -> Option<Statement> {
        let place = (Scenario::BaseStation, 5_000);
        let rates = self.values(place, &[1, 4], Measure::Throughput)?;
        Some(Statement {
            place: "table 3, 5 ms",
            said: "Four connections carry four times what one carries.",
            verdict: Verdict::more(rates[1], rates[0].times(4.0 * TOLERANCE)),
            ours: joined(&rates, 0, "kbit/s"),
        })
    }

    fn four_times_beyond(&self) -> Option<Statement> {
        let with = self.varied.iter().filter(|(it, _)| it.set == BEYOND);
        let rates: Vec<_> = with.filter_map(|(_, row)| row.measure(Measure::Throughput)).collect();
        let (first, last) = (rates.first()?, rates.last()?);
        Some(Statement {
            place: "the same, 75 ms behind the base station",
            said: "Four connections carry four times what one carries.",
            verdict: Verdict::more(*last, first.times(4.0 * TOLERANCE)),
            ours: joined(&rates, 0, "kbit/s"),
        })
    }

    fn longer_frames(&self) -> Option<Statement> {
        let short = self.value(Scenario::BaseStation, 5_000, 1, Measure::Throughput)?;
        let long = self.value(Scenario::BaseStation, 20_000, 1, Measure::Throughput)?;
        Some(Statement {
            place: "section 4.1",
            said: "A frame of 20 ms carries more than one of 5 ms.",
            verdict: Verdict::more(long, short),
            ours: joined(&[short, long], 0, "kbit/s"),
        })
    }

    fn core_is_slower(&self) -> Option<Statement> {
        let places = [(Scenario::BaseStation, 20_000), (Scenario::NodeC, 20_000)];
        let [near, far] =
            places.map(|place| self.values(place, &[1, 2, 3, 4], Measure::Throughput));
        let (near, far) = (near?, far?);
        let verdicts = near.iter().zip(&far).map(|(near, far)| Verdict::more(*near, *far));
        Some(Statement {
            place: "section 4.2",
            said: "Through the core network less is carried than to the base station.",
            verdict: Verdict::all(verdicts),
            ours: joined(&far, 0, "kbit/s"),
        })
    }

    fn delay_grows(&self) -> Option<Statement> {
        let place = (Scenario::NodeC, 20_000);
        let delays = self.values(place, &[1, 4], Measure::Delay)?;
        Some(Statement {
            place: "table 5",
            said: "With four connections slices take longer than with one.",
            verdict: Verdict::more(delays[1], delays[0]),
            ours: joined(&delays, 4, "s"),
        })
    }

    fn quality_grows(&self) -> Option<Statement> {
        let places = [(Scenario::BaseStation, 5_000), (Scenario::NodeC, 20_000)];
        let psnr = places.map(|place| self.values(place, &[1, 4], Measure::Psnr));
        let [station, core] = psnr;
        let (station, core) = (station?, core?);
        let verdicts = [&station, &core].map(|psnr| Verdict::more(psnr[1], psnr[0]));
        Some(Statement {
            place: "table 6",
            said: "With four connections the picture is better than with one.",
            verdict: Verdict::all(verdicts),
            ours: joined(&[station, core].concat(), 2, "dB"),
        })
    }

    fn drop_rate(&self) -> Option<Statement> {
        let of = |percent: u32| {
            let rows = self.rows.iter().filter(move |row| {
                let cell = row.cell;
                (cell.scenario, cell.frame_us, cell.bad_loss_percent)
                    == (Scenario::BaseStation, 5_000, percent)
                    && !cell.carrier.is_ours()
            });
            rows.filter_map(|row| row.measure(Measure::Lost))
        };
        let worst: Vec<_> = of(*BAD_LOSSES_PERCENT.end()).collect();
        (!worst.is_empty()).then(|| Statement {
            place: "figure 2",
            said: "Losses hardly depend on the number of connections.",
            verdict: spread(&worst),
            ours: joined(&worst, 1, "%"),
        })
    }

    fn one_connection_is_too_slow(&self) -> Option<Statement> {
        let frames = [8_000, 12_500, 20_000];
        let periods: Option<Vec<_>> = frames
            .iter()
            .map(|us| self.value(Scenario::UserToUser, *us, 1, Measure::Period))
            .collect();
        let periods = periods?;
        let display = Estimate { mean: DISPLAY_S, half_width: 0.0 };
        Some(Statement {
            place: "table 7",
            said: "One connection takes longer than the video lasts, from user to user.",
            verdict: Verdict::all(periods.iter().map(|period| Verdict::more(*period, display))),
            ours: joined(&periods, 0, "s"),
        })
    }

    fn quality_of_one(&self) -> Option<Statement> {
        let place = (Scenario::UserToUser, 20_000);
        let psnr = self.values(place, &[1, 8], Measure::Psnr)?;
        Some(Statement {
            place: "table 10, 20 ms",
            said: "With one connection the picture is better than with eight.",
            verdict: Verdict::more(psnr[0], psnr[1]),
            ours: joined(&psnr, 2, "dB"),
        })
    }
}

/// How long the video lasts, in seconds.
const DISPLAY_S: f64 = 35.5;
/// A factor is met from so much of it on: the paper's own is 4.1.
const TOLERANCE: f64 = 0.9;

fn rising(values: &[Estimate]) -> Verdict {
    Verdict::all(values.windows(2).map(|pair| Verdict::more(pair[1], pair[0])))
}

/// Whether the intervals of all overlap.
fn spread(values: &[Estimate]) -> Verdict {
    let low = values.iter().map(|it| it.mean - it.half_width).fold(f64::MIN, f64::max);
    let high = values.iter().map(|it| it.mean + it.half_width).fold(f64::MAX, f64::min);
    if low <= high { Verdict::Holds } else { Verdict::Fails }
}

fn joined(values: &[Estimate], digits: usize, unit: &str) -> String {
    let values: Vec<_> = values.iter().map(|value| format!("{value:.digits$}")).collect();
    format!("{} {unit}", values.join(", "))
}

/// What a TCP beside the video gets, in kbit/s.
pub(super) fn tcp_beside(row: &Row) -> Option<Estimate> {
    row.estimate(|outcome: &Outcome| outcome.tcp_kbps)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_verdict_is_given_beyond_the_intervals_only() {
        let of = |mean, half_width| Estimate { mean, half_width };
        assert_eq!(Verdict::more(of(5.0, 1.0), of(2.0, 1.0)), Verdict::Holds);
        assert_eq!(Verdict::more(of(2.0, 1.0), of(5.0, 1.0)), Verdict::Fails);
        assert_eq!(Verdict::more(of(3.0, 1.0), of(2.0, 1.0)), Verdict::Open);
        assert_eq!(Verdict::all([Verdict::Holds, Verdict::Open]), Verdict::Open);
        assert_eq!(Verdict::all([Verdict::Open, Verdict::Fails]), Verdict::Fails);
        assert_eq!(spread(&[of(2.0, 1.0), of(3.0, 1.0)]), Verdict::Holds);
        assert_eq!(spread(&[of(2.0, 0.1), of(3.0, 0.1)]), Verdict::Fails);
    }
}
