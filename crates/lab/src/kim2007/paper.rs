//! [`Statement`]: what the paper says of its figures, held against our rows. Its text has no
//! numbers, so shapes are compared.

use std::fmt::Write as _;

use super::carrier::Carrier;
use super::message::{INTERVAL, MESSAGES};
use super::scenario::Scenario;
use super::table::Row;
use crate::Estimate;

/// "Flat" is within this of the file's own time, in seconds.
const FLAT_S: f64 = 1.0;
/// Of what many streams gain over one, three gain this share at least where "the gain saturates".
const SATURATED: f64 = 0.75;
/// A gain below this is none, in seconds.
const GAIN_S: f64 = 0.5;
/// "About two times".
const TWICE: std::ops::RangeInclusive<f64> = 1.9..=2.1;

/// A statement of the paper, and whether our runs show it too.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Statement {
    /// The paper's figure; none for what is said of ours.
    pub figure: Option<u32>,
    /// What it says.
    pub says: &'static str,
    /// Whether our runs show it.
    pub holds: bool,
    /// The values that decide.
    pub evidence: String,
}

/// All statements that the rows are enough for.
#[must_use]
pub fn statements(rows: &[Row]) -> Vec<Statement> {
    let rows = Rows(rows);
    let all = [
        flat(rows),
        climb(rows),
        thirty(rows),
        udp_is_faster(rows),
        pr_above_udp(rows),
        lower_loss_is_faster(rows),
        saturated(rows),
        sctp_beats_tcp(rows),
        gap_grows_with_loss(rows),
        twice(rows),
        gap_grows_with_delay(rows),
        ours_is_flat(rows),
        ours_blocks_least(rows),
    ];
    all.into_iter().flatten().collect()
}

/// The statements as text; nothing where there are none.
#[must_use]
pub fn statements_table(statements: &[Statement]) -> String {
    if statements.is_empty() {
        return String::new();
    }
    let mut text = "What the paper says of its figures, and our runs\n".to_owned();
    for statement in statements {
        let Statement { figure, says, holds, evidence } = statement;
        let figure = figure.map_or("ours".to_owned(), |figure| figure.to_string());
        let verdict = if *holds { "shown" } else { "NOT SHOWN" };
        // Writing to a string does not fail.
        let _ = writeln!(text, "{figure:>4}  {verdict:10}{says}\n{:16}{evidence}", "");
    }
    text.push('\n');
    text
}

/// Looks values up.
#[derive(Clone, Copy)]
struct Rows<'a>(&'a [Row]);

impl Rows<'_> {
    fn find(self, scenario: Scenario, carrier: Carrier, loss: u32, point: u32) -> Option<Row> {
        let wanted = scenario.cell(carrier, loss, point, 0);
        self.0.iter().find(|row| super::Cell { seed: 0, ..row.cell } == wanted).copied()
    }

    fn completion(self, scenario: Scenario, carrier: Carrier, point: u32) -> Option<f64> {
        mean(self.find(scenario, carrier, 0, point)?.completion_s)
    }

    /// Completion of a carrier at every point of its figure; nothing where one is missing.
    fn completions(self, scenario: Scenario, carrier: Carrier) -> Option<Vec<f64>> {
        let points = scenario.points().iter();
        points.map(|point| self.completion(scenario, carrier, *point)).collect()
    }

    fn streams(self, loss: u32, streams: u32) -> Option<f64> {
        mean(self.find(Scenario::Streams, Carrier::Sctp, loss, streams)?.completion_s)
    }

    fn switching(self, carrier: Carrier) -> Option<Vec<f64>> {
        let points = Scenario::Switching.points().iter();
        points
            .map(|point| mean(self.find(Scenario::Switching, carrier, 0, *point)?.switching_s))
            .collect()
    }
}

fn mean(estimate: Option<Estimate>) -> Option<f64> {
    estimate.map(|estimate| estimate.mean)
}

/// What the file takes by its own clock, in seconds.
fn file_s() -> f64 {
    (INTERVAL * MESSAGES).as_secs_f64()
}

fn range(values: &[f64]) -> (f64, f64) {
    values.iter().fold((f64::INFINITY, 0.0), |(low, high), it| (low.min(*it), high.max(*it)))
}

fn is_flat(values: &[f64]) -> bool {
    values.iter().all(|value| (value - file_s()).abs() <= FLAT_S)
}

fn flat(rows: Rows<'_>) -> Option<Statement> {
    let udp = rows.completions(Scenario::Loss, Carrier::Udp)?;
    let pr = rows.completions(Scenario::Loss, Carrier::PrSctp)?;
    let ((udp_low, udp_high), (pr_low, pr_high)) = (range(&udp), range(&pr));
    Some(Statement {
        figure: Some(8),
        says: "UDP and PR-SCTP stay flat near 16 s at every loss",
        holds: is_flat(&udp) && is_flat(&pr),
        evidence: format!(
            "UDP {udp_low:.1} to {udp_high:.1} s, PR-SCTP {pr_low:.1} to {pr_high:.1} s; the file \
             takes {:.1} s",
            file_s()
        ),
    })
}

fn climb(rows: Rows<'_>) -> Option<Statement> {
    let at = |carrier, loss| rows.completion(Scenario::Loss, carrier, loss);
    let [tcp, sctp] = [Carrier::Tcp, Carrier::Sctp]
        .map(|carrier| Some([at(carrier, 0)?, at(carrier, 5)?, at(carrier, 10)?]));
    let (tcp, sctp) = (tcp?, sctp?);
    let climbs = |[none, some, most]: [f64; 3]| some > none + GAIN_S && most > some + GAIN_S;
    Some(Statement {
        figure: Some(8),
        says: "TCP and SCTP climb with loss",
        holds: climbs(tcp) && climbs(sctp),
        evidence: format!(
            "at 0, 5, 10 %: TCP {:.1}, {:.1}, {:.1} s; SCTP {:.1}, {:.1}, {:.1} s",
            tcp[0], tcp[1], tcp[2], sctp[0], sctp[1], sctp[2]
        ),
    })
}

fn thirty(rows: Rows<'_>) -> Option<Statement> {
    let tcp = rows.completion(Scenario::Loss, Carrier::Tcp, 10)?;
    let sctp = rows.completion(Scenario::Loss, Carrier::Sctp, 10)?;
    Some(Statement {
        figure: Some(8),
        says: "TCP and SCTP take 30 s and more at 10 %",
        holds: tcp >= 30.0 && sctp >= 30.0,
        evidence: format!("TCP {tcp:.1} s, SCTP {sctp:.1} s"),
    })
}

fn udp_is_faster(rows: Rows<'_>) -> Option<Statement> {
    let udp = rows.completions(Scenario::Loss, Carrier::Udp)?;
    let pr = rows.completions(Scenario::Loss, Carrier::PrSctp)?;
    let later = udp.iter().zip(&pr).map(|(udp, pr)| pr - udp);
    let (low, high) = later
        .fold((f64::INFINITY, f64::NEG_INFINITY), |(low, high), it| (low.min(it), high.max(it)));
    Some(Statement {
        figure: Some(8),
        says: "UDP is as fast as PR-SCTP or faster",
        holds: low >= -0.01,
        evidence: format!("PR-SCTP ends {low:.2} to {high:.2} s after UDP"),
    })
}

fn pr_above_udp(rows: Rows<'_>) -> Option<Statement> {
    let share = |carrier, loss| {
        mean(rows.find(Scenario::Loss, carrier, 0, loss)?.share_received).map(|it| it * 100.0)
    };
    let losses = Scenario::Loss.points().iter().filter(|loss| **loss > 0);
    let pairs: Option<Vec<_>> = losses
        .map(|loss| Some((share(Carrier::PrSctp, *loss)?, share(Carrier::Udp, *loss)?)))
        .collect();
    let pairs = pairs?;
    let (pr, udp) = *pairs.last()?;
    Some(Statement {
        figure: Some(9),
        says: "PR-SCTP delivers more than UDP at every loss above 0",
        holds: pairs.iter().all(|(pr, udp)| pr > udp),
        evidence: format!("at 10 %: PR-SCTP {pr:.1} %, UDP {udp:.1} %"),
    })
}

fn lower_loss_is_faster(rows: Rows<'_>) -> Option<Statement> {
    let of = |loss: &u32| -> Option<Vec<f64>> {
        let points = Scenario::Streams.points().iter();
        points.map(|streams| rows.streams(*loss, *streams)).collect()
    };
    let lines: Option<Vec<_>> = Scenario::Streams.losses().iter().map(of).collect();
    let lines = lines?;
    let is_below = |pair: &[Vec<f64>]| pair[0].iter().zip(&pair[1]).all(|(a, b)| *a <= b + 0.01);
    let single: Vec<_> = lines.iter().map(|line| format!("{:.1}", line[0])).collect();
    Some(Statement {
        figure: Some(10),
        says: "SCTP is faster at lower loss, with any number of streams",
        holds: lines.windows(2).all(is_below),
        evidence: format!("one stream at 1, 3, 5, 10 %: {} s", single.join(", ")),
    })
}

/// Where streams gain anything.
fn saturated(rows: Rows<'_>) -> Option<Statement> {
    let mut evidence = Vec::new();
    let mut holds = true;
    for loss in Scenario::Streams.losses() {
        let at = |streams| rows.streams(*loss, streams);
        let (one, three, ten) = (at(1)?, at(3)?, at(10)?);
        if one - ten < GAIN_S {
            continue;
        }
        holds &= one - three >= SATURATED * (one - ten);
        evidence.push(format!("at {loss} %: {one:.1}, {three:.1}, {ten:.1} s"));
    }
    Some(Statement {
        figure: Some(10),
        says: "the gain from streams saturates at 3",
        holds: holds && !evidence.is_empty(),
        evidence: match evidence.is_empty() {
            true => "streams gain nothing".to_owned(),
            false => format!("with 1, 3 and 10 streams {}", evidence.join("; ")),
        },
    })
}

/// TCP's and SCTP's completion at each loss above 0.
fn channels(rows: Rows<'_>) -> Option<Vec<(f64, f64)>> {
    let losses = Scenario::Channels.points().iter().filter(|loss| **loss > 0);
    let at = |carrier, loss: &u32| rows.completion(Scenario::Channels, carrier, *loss);
    losses.map(|loss| Some((at(Carrier::Tcp, loss)?, at(Carrier::Sctp, loss)?))).collect()
}

fn sctp_beats_tcp(rows: Rows<'_>) -> Option<Statement> {
    let pairs = channels(rows)?;
    let (tcp, sctp) = *pairs.last()?;
    Some(Statement {
        figure: Some(11),
        says: "SCTP with three streams is faster than TCP at every loss above 0",
        holds: pairs.iter().all(|(tcp, sctp)| tcp > sctp),
        evidence: format!("at 10 %: TCP {tcp:.1} s, SCTP {sctp:.1} s"),
    })
}

fn gap_grows_with_loss(rows: Rows<'_>) -> Option<Statement> {
    let gaps: Vec<_> = channels(rows)?.iter().map(|(tcp, sctp)| tcp - sctp).collect();
    let words: Vec<_> = gaps.iter().map(|gap| format!("{gap:.2}")).collect();
    Some(Statement {
        figure: Some(11),
        says: "the gap between TCP and SCTP grows with loss",
        holds: gaps.is_sorted(),
        evidence: format!("at 1, 3, 5, 10 %: {} s", words.join(", ")),
    })
}

fn twice(rows: Rows<'_>) -> Option<Statement> {
    let (tcp, sctp) = (rows.switching(Carrier::Tcp)?, rows.switching(Carrier::Sctp)?);
    let ratios: Vec<_> = tcp.iter().zip(&sctp).map(|(tcp, sctp)| tcp / sctp).collect();
    let (low, high) = range(&ratios);
    Some(Statement {
        figure: Some(12),
        says: "TCP takes about two times as long as SCTP to switch: two round trips against one",
        holds: ratios.iter().all(|ratio| TWICE.contains(ratio)),
        evidence: format!("{low:.3} to {high:.3} times"),
    })
}

fn gap_grows_with_delay(rows: Rows<'_>) -> Option<Statement> {
    let (tcp, sctp) = (rows.switching(Carrier::Tcp)?, rows.switching(Carrier::Sctp)?);
    let gaps: Vec<_> = tcp.iter().zip(&sctp).map(|(tcp, sctp)| (tcp - sctp) * 1e3).collect();
    let (low, high) = range(&gaps);
    Some(Statement {
        figure: Some(12),
        says: "the gap grows with the link's delay",
        holds: gaps.is_sorted(),
        evidence: format!("{low:.1} to {high:.1} ms"),
    })
}

fn ours_is_flat(rows: Rows<'_>) -> Option<Statement> {
    let reliable = rows.completions(Scenario::Loss, Carrier::Anabranch)?;
    let timed = rows.find(Scenario::Loss, Carrier::AnabranchPr, 0, 10)?;
    let share = mean(timed.share_received)? * 100.0;
    let (low, high) = range(&reliable);
    Some(Statement {
        figure: None,
        says: "Anabranch is reliable and flat; with lifetimes it loses less than PR-SCTP",
        holds: is_flat(&reliable)
            && share
                > mean(rows.find(Scenario::Loss, Carrier::PrSctp, 0, 10)?.share_received)? * 100.0,
        evidence: format!("{low:.1} to {high:.1} s; {share:.2} % received at 10 %"),
    })
}

fn ours_blocks_least(rows: Rows<'_>) -> Option<Statement> {
    let delay_ms = |carrier| {
        mean(rows.find(Scenario::Channels, carrier, 0, 10)?.delay_s).map(|delay| delay * 1e3)
    };
    let (tcp, sctp) = (delay_ms(Carrier::Tcp)?, delay_ms(Carrier::Sctp)?);
    let ours = delay_ms(Carrier::Anabranch)?;
    Some(Statement {
        figure: None,
        says: "three channels over Anabranch wait least for what was lost",
        holds: ours < tcp && ours < sctp,
        evidence: format!(
            "mean delivery delay at 10 %: TCP {tcp:.0}, SCTP {sctp:.0}, Anabranch {ours:.0} ms"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::testing::row;
    use super::*;

    fn of_figure(figure: u32, rows: &[Row]) -> Vec<Statement> {
        let all = statements(rows).into_iter();
        all.filter(|statement| statement.figure == Some(figure)).collect()
    }

    fn verdicts(figure: u32, rows: &[Row]) -> Vec<bool> {
        of_figure(figure, rows).iter().map(|statement| statement.holds).collect()
    }

    /// Figure 11 with what TCP loses to SCTP at 1, 3, 5 and 10 %.
    fn gaps(gaps: [f64; 4]) -> Vec<Row> {
        let lossy = Scenario::Channels.points().iter().filter(|loss| **loss > 0);
        let pair = |(loss, gap): (&u32, f64)| {
            [(Carrier::Tcp, 17.0 + gap), (Carrier::Sctp, 17.0)]
                .map(|(carrier, after)| row(Scenario::Channels, carrier, 0, *loss, after))
        };
        lossy.zip(gaps).flat_map(pair).collect()
    }

    #[test]
    fn a_gap_must_be_there_and_grow() {
        assert_eq!(verdicts(11, &gaps([0.1, 0.2, 2.0, 8.0])), [true, true]);
        assert_eq!(verdicts(11, &gaps([0.1, 0.2, 2.0, 1.0])), [true, false]);
        assert_eq!(verdicts(11, &gaps([-0.1, 0.2, 2.0, 8.0])), [false, true]);
        let missing = verdicts(11, &gaps([0.1, 0.2, 2.0, 8.0])[1..]);
        assert_eq!(missing, [false; 0], "a point is missing");
    }

    #[test]
    fn a_gain_is_saturated_when_three_streams_have_most_of_it() {
        let line = |three: f64| -> Vec<Row> {
            let losses = Scenario::Streams.losses().iter();
            losses
                .flat_map(|loss| {
                    [(1, 20.0), (3, three), (10, 16.0)].map(|(streams, after)| {
                        row(Scenario::Streams, Carrier::Sctp, *loss, streams, after)
                    })
                })
                .collect()
        };
        assert_eq!(verdicts(10, &line(16.5)), [true]);
        assert_eq!(verdicts(10, &line(18.0)), [false]);
    }

    #[test]
    fn what_is_not_shown_is_said_aloud() {
        let text = statements_table(&of_figure(11, &gaps([0.1, 0.2, 2.0, 1.0])));
        assert!(text.contains("11  shown     SCTP with three streams"), "{text}");
        assert!(text.contains("11  NOT SHOWN the gap"), "{text}");
        assert!(text.contains("0.10, 0.20, 2.00, 1.00 s"), "{text}");
        assert_eq!(statements_table(&[]), "");
    }
}
