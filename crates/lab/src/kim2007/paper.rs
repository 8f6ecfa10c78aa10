//! What the paper says of its figures, held against our rows. Its text has no numbers, so shapes
//! are compared.

use super::carrier::Carrier;
use super::message::{INTERVAL, MESSAGES};
use super::scenario::Scenario;
use super::table::Row;
use super::values::Values;
use crate::Estimate;
use crate::statement::{Statement, Verdict, exact, minus, plus, range, ratio, rises, words};

/// "Flat" is within this of the file's own time, in seconds.
const FLAT_S: f64 = 1.0;
/// Of what many streams gain over one, three gain this share at least where "the gain saturates".
const SATURATED: f64 = 0.75;
/// Times that differ by less are the same, in seconds.
const SAME_S: f64 = 0.01;
/// A gain below this is none, in seconds.
const GAIN_S: f64 = 0.5;
/// "About two times" is within this of two.
const TWICE: f64 = 0.1;

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

/// Looks values up.
#[derive(Clone, Copy)]
struct Rows<'a>(&'a [Row]);

impl Rows<'_> {
    fn find(self, scenario: Scenario, carrier: Carrier, loss: u32, point: u32) -> Option<Row> {
        let wanted = Values::default().cell(scenario, carrier, loss, point, 0);
        self.0.iter().find(|row| super::Cell { seed: 0, ..row.cell } == wanted).copied()
    }

    fn completion(self, scenario: Scenario, carrier: Carrier, point: u32) -> Option<Estimate> {
        self.find(scenario, carrier, 0, point)?.completion_s
    }

    /// Completion of a carrier at every point of its figure; nothing where one is missing.
    fn completions(self, scenario: Scenario, carrier: Carrier) -> Option<Vec<Estimate>> {
        let values = Values::default();
        let points = values.points(scenario).iter();
        points.map(|point| self.completion(scenario, carrier, *point)).collect()
    }

    fn streams(self, loss: u32, streams: u32) -> Option<Estimate> {
        self.find(Scenario::Streams, Carrier::Sctp, loss, streams)?.completion_s
    }

    fn switching(self, carrier: Carrier) -> Option<Vec<Estimate>> {
        let values = Values::default();
        let points = values.points(Scenario::Switching).iter();
        points
            .map(|point| self.find(Scenario::Switching, carrier, 0, *point)?.switching_s)
            .collect()
    }

    /// In per cent.
    fn share(self, carrier: Carrier, loss: u32) -> Option<Estimate> {
        let row = self.find(Scenario::Loss, carrier, 0, loss)?;
        row.share_received.map(|share| share.times(100.0))
    }
}

/// What the file takes by its own clock, in seconds.
fn file_s() -> f64 {
    (INTERVAL * MESSAGES).as_secs_f64()
}

fn is_flat(values: &[Estimate]) -> Verdict {
    Verdict::all(values.iter().map(|value| Verdict::is_near(*value, file_s(), FLAT_S)))
}

fn flat(rows: Rows<'_>) -> Option<Statement> {
    let udp = rows.completions(Scenario::Loss, Carrier::Udp)?;
    let pr = rows.completions(Scenario::Loss, Carrier::PrSctp)?;
    let ((udp_low, udp_high), (pr_low, pr_high)) = (range(&udp), range(&pr));
    Some(Statement {
        figure: Some(8),
        says: "UDP and PR-SCTP stay flat near 16 s at every loss",
        verdict: Verdict::all([is_flat(&udp), is_flat(&pr)]),
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
    let climbs = |[none, some, most]: [Estimate; 3]| {
        let steps = [(some, none), (most, some)];
        Verdict::all(steps.map(|(high, low)| Verdict::is_above(high, low, GAIN_S)))
    };
    Some(Statement {
        figure: Some(8),
        says: "TCP and SCTP climb with loss",
        verdict: Verdict::all([climbs(tcp), climbs(sctp)]),
        evidence: format!("at 0, 5, 10 %: TCP {} s; SCTP {} s", words(&tcp, 1), words(&sctp, 1)),
    })
}

fn thirty(rows: Rows<'_>) -> Option<Statement> {
    let tcp = rows.completion(Scenario::Loss, Carrier::Tcp, 10)?;
    let sctp = rows.completion(Scenario::Loss, Carrier::Sctp, 10)?;
    Some(Statement {
        figure: Some(8),
        says: "TCP and SCTP take 30 s and more at 10 %",
        verdict: Verdict::all([tcp, sctp].map(|it| Verdict::is_above(it, exact(30.0), 0.0))),
        evidence: format!("TCP {tcp:.1} s, SCTP {sctp:.1} s"),
    })
}

fn udp_is_faster(rows: Rows<'_>) -> Option<Statement> {
    let udp = rows.completions(Scenario::Loss, Carrier::Udp)?;
    let pr = rows.completions(Scenario::Loss, Carrier::PrSctp)?;
    let later: Vec<_> = udp.iter().zip(&pr).map(|(udp, pr)| minus(*pr, *udp)).collect();
    let (low, high) = range(&later);
    let is_later = |later: &Estimate| Verdict::is_above(*later, exact(0.0), -SAME_S);
    Some(Statement {
        figure: Some(8),
        says: "UDP is as fast as PR-SCTP or faster",
        verdict: Verdict::all(later.iter().map(is_later)),
        evidence: format!("PR-SCTP ends {low:.2} to {high:.2} s after UDP"),
    })
}

fn pr_above_udp(rows: Rows<'_>) -> Option<Statement> {
    let values = Values::default();
    let losses = values.points(Scenario::Loss).iter().filter(|loss| **loss > 0);
    let pairs: Option<Vec<_>> = losses
        .map(|loss| Some((rows.share(Carrier::PrSctp, *loss)?, rows.share(Carrier::Udp, *loss)?)))
        .collect();
    let pairs = pairs?;
    let (pr, udp) = *pairs.last()?;
    Some(Statement {
        figure: Some(9),
        says: "PR-SCTP delivers more than UDP at every loss above 0",
        verdict: Verdict::all(pairs.iter().map(|(pr, udp)| Verdict::is_above(*pr, *udp, 0.0))),
        evidence: format!("at 10 %: PR-SCTP {pr:.1} %, UDP {udp:.1} %"),
    })
}

fn lower_loss_is_faster(rows: Rows<'_>) -> Option<Statement> {
    let values = Values::default();
    let of = |loss: &u32| -> Option<Vec<Estimate>> {
        let points = values.points(Scenario::Streams).iter();
        points.map(|streams| rows.streams(*loss, *streams)).collect()
    };
    let lines: Option<Vec<_>> = values.losses(Scenario::Streams).iter().map(of).collect();
    let lines = lines?;
    let is_below = |pair: &[Vec<Estimate>]| {
        let points = pair[0].iter().zip(&pair[1]);
        Verdict::all(points.map(|(low, high)| Verdict::is_above(*high, *low, -SAME_S)))
    };
    let single: Vec<_> = lines.iter().filter_map(|line| line.first().copied()).collect();
    Some(Statement {
        figure: Some(10),
        says: "SCTP is faster at lower loss, with any number of streams",
        verdict: Verdict::all(lines.windows(2).map(is_below)),
        evidence: format!("one stream at 1, 3, 5, 10 %: {} s", words(&single, 1)),
    })
}

/// Where streams gain anything.
fn saturated(rows: Rows<'_>) -> Option<Statement> {
    let mut evidence = Vec::new();
    let mut verdicts = Vec::new();
    for loss in Values::default().losses(Scenario::Streams) {
        let at = |streams| rows.streams(*loss, streams);
        let (one, three, ten) = (at(1)?, at(3)?, at(10)?);
        if one.mean - ten.mean < GAIN_S {
            continue;
        }
        // one - three >= SATURATED * (one - ten), with each value once.
        let most = plus(one.times(1.0 - SATURATED), ten.times(SATURATED));
        verdicts.push(Verdict::is_above(most, three, 0.0));
        evidence.push(format!("at {loss} %: {} s", words(&[one, three, ten], 1)));
    }
    Some(Statement {
        figure: Some(10),
        says: "the gain from streams saturates at 3",
        verdict: if evidence.is_empty() { Verdict::NotShown } else { Verdict::all(verdicts) },
        evidence: match evidence.is_empty() {
            true => "streams gain nothing".to_owned(),
            false => format!("with 1, 3 and 10 streams {}", evidence.join("; ")),
        },
    })
}

/// TCP's and SCTP's completion at each loss above 0.
fn channels(rows: Rows<'_>) -> Option<Vec<(Estimate, Estimate)>> {
    let values = Values::default();
    let losses = values.points(Scenario::Channels).iter().filter(|loss| **loss > 0);
    let at = |carrier, loss: &u32| rows.completion(Scenario::Channels, carrier, *loss);
    losses.map(|loss| Some((at(Carrier::Tcp, loss)?, at(Carrier::Sctp, loss)?))).collect()
}

fn sctp_beats_tcp(rows: Rows<'_>) -> Option<Statement> {
    let pairs = channels(rows)?;
    let (tcp, sctp) = *pairs.last()?;
    Some(Statement {
        figure: Some(11),
        says: "SCTP with three streams is faster than TCP at every loss above 0",
        verdict: Verdict::all(pairs.iter().map(|(tcp, sctp)| Verdict::is_above(*tcp, *sctp, 0.0))),
        evidence: format!("at 10 %: TCP {tcp:.1} s, SCTP {sctp:.1} s"),
    })
}

fn gap_grows_with_loss(rows: Rows<'_>) -> Option<Statement> {
    let gaps: Vec<_> = channels(rows)?.iter().map(|(tcp, sctp)| minus(*tcp, *sctp)).collect();
    Some(Statement {
        figure: Some(11),
        says: "the gap between TCP and SCTP grows with loss",
        verdict: rises(&gaps),
        evidence: format!("at 1, 3, 5, 10 %: {} s", words(&gaps, 2)),
    })
}

fn twice(rows: Rows<'_>) -> Option<Statement> {
    let (tcp, sctp) = (rows.switching(Carrier::Tcp)?, rows.switching(Carrier::Sctp)?);
    let ratios: Vec<_> = tcp.iter().zip(&sctp).map(|(tcp, sctp)| ratio(*tcp, *sctp)).collect();
    let (low, high) = range(&ratios);
    Some(Statement {
        figure: Some(12),
        says: "TCP takes about two times as long as SCTP to switch: two round trips against one",
        verdict: Verdict::all(ratios.iter().map(|it| Verdict::is_near(*it, 2.0, TWICE))),
        evidence: format!("{low:.3} to {high:.3} times"),
    })
}

fn gap_grows_with_delay(rows: Rows<'_>) -> Option<Statement> {
    let (tcp, sctp) = (rows.switching(Carrier::Tcp)?, rows.switching(Carrier::Sctp)?);
    let pairs = tcp.iter().zip(&sctp);
    let gaps: Vec<_> = pairs.map(|(tcp, sctp)| minus(*tcp, *sctp).times(1e3)).collect();
    let (low, high) = range(&gaps);
    Some(Statement {
        figure: Some(12),
        says: "the gap grows with the link's delay",
        verdict: rises(&gaps),
        evidence: format!("{low:.1} to {high:.1} ms"),
    })
}

fn ours_is_flat(rows: Rows<'_>) -> Option<Statement> {
    let reliable = rows.completions(Scenario::Loss, Carrier::Anabranch)?;
    let share = rows.share(Carrier::AnabranchPr, 10)?;
    let of_pr = rows.share(Carrier::PrSctp, 10)?;
    let (low, high) = range(&reliable);
    Some(Statement {
        figure: None,
        says: "Anabranch is reliable and flat; with lifetimes it loses less than PR-SCTP",
        verdict: Verdict::all([is_flat(&reliable), Verdict::is_above(share, of_pr, 0.0)]),
        evidence: format!("{low:.1} to {high:.1} s; {share:.2} % received at 10 %"),
    })
}

fn ours_blocks_least(rows: Rows<'_>) -> Option<Statement> {
    let delay_ms = |carrier| {
        let row = rows.find(Scenario::Channels, carrier, 0, 10)?;
        row.delay_s.map(|delay| delay.times(1e3))
    };
    let (tcp, sctp) = (delay_ms(Carrier::Tcp)?, delay_ms(Carrier::Sctp)?);
    let ours = delay_ms(Carrier::Anabranch)?;
    Some(Statement {
        figure: None,
        says: "three channels over Anabranch wait least for what was lost",
        verdict: Verdict::all([tcp, sctp].map(|other| Verdict::is_above(other, ours, 0.0))),
        evidence: format!(
            "mean delivery delay at 10 %: TCP {tcp:.0}, SCTP {sctp:.0}, Anabranch {ours:.0} ms"
        ),
    })
}

#[cfg(test)]
mod tests {
    use super::super::table::testing::row;
    use super::*;
    use crate::statement::Verdict::{NotShown, Shown, Undecided};
    use crate::statement::statements_table;

    fn of_figure(figure: u32, rows: &[Row]) -> Vec<Statement> {
        let all = statements(rows).into_iter();
        all.filter(|statement| statement.figure == Some(figure)).collect()
    }

    fn verdicts(figure: u32, rows: &[Row]) -> Vec<Verdict> {
        of_figure(figure, rows).iter().map(|statement| statement.verdict).collect()
    }

    /// Figure 11 with what TCP loses to SCTP at 1, 3, 5 and 10 %.
    fn gaps(gaps: [f64; 4]) -> Vec<Row> {
        let values = Values::default();
        let lossy = values.points(Scenario::Channels).iter().filter(|loss| **loss > 0);
        let pair = |(loss, gap): (&u32, f64)| {
            [(Carrier::Tcp, 17.0 + gap), (Carrier::Sctp, 17.0)]
                .map(|(carrier, after)| row(Scenario::Channels, carrier, 0, *loss, after))
        };
        lossy.zip(gaps).flat_map(pair).collect()
    }

    #[test]
    fn a_gap_must_be_there_and_grow() {
        assert_eq!(verdicts(11, &gaps([0.1, 0.2, 2.0, 8.0])), [Shown, Shown]);
        assert_eq!(verdicts(11, &gaps([0.1, 0.2, 2.0, 1.0])), [Shown, NotShown]);
        assert_eq!(verdicts(11, &gaps([-0.1, 0.2, 2.0, 8.0])), [NotShown, Shown]);
        let missing = verdicts(11, &gaps([0.1, 0.2, 2.0, 8.0])[1..]);
        assert_eq!(missing, [], "a point is missing");
    }

    #[test]
    fn a_gain_is_saturated_when_three_streams_have_most_of_it() {
        let line = |three: f64| -> Vec<Row> {
            let values = Values::default();
            let losses = values.losses(Scenario::Streams).iter();
            losses
                .flat_map(|loss| {
                    [(1, 20.0), (3, three), (10, 16.0)].map(|(streams, after)| {
                        row(Scenario::Streams, Carrier::Sctp, *loss, streams, after)
                    })
                })
                .collect()
        };
        assert_eq!(verdicts(10, &line(16.5)), [Shown]);
        assert_eq!(verdicts(10, &line(18.0)), [NotShown]);
    }

    #[test]
    fn intervals_that_overlap_decide_nothing() {
        let mut rows = gaps([0.1, 0.2, 2.0, 8.0]);
        for row in &mut rows {
            row.completion_s = row.completion_s.map(|it| Estimate { half_width: 0.04, ..it });
        }
        assert_eq!(verdicts(11, &rows), [Shown, Undecided], "gaps of 0.1 and 0.2, each +-0.08");
        for row in &mut rows {
            row.completion_s = row.completion_s.map(|it| Estimate { half_width: 0.06, ..it });
        }
        assert_eq!(verdicts(11, &rows)[0], Undecided);
    }

    #[test]
    fn what_is_said_of_ours_is_not_the_papers() {
        let ours = Statement {
            figure: None,
            says: "ours is good",
            verdict: Shown,
            evidence: "much".to_owned(),
        };
        let text = statements_table(&[ours]);
        assert!(text.starts_with("What is said of ours\nours  SHOWN"), "{text}");
    }

    #[test]
    fn what_is_not_shown_is_said_aloud() {
        let text = statements_table(&of_figure(11, &gaps([0.1, 0.2, 2.0, 1.0])));
        assert!(text.contains("11  SHOWN     SCTP with three streams"), "{text}");
        assert!(text.contains("11  NOT SHOWN the gap"), "{text}");
        assert!(text.contains("0.10, 0.20, 2.00, 1.00 s"), "{text}");
        assert_eq!(statements_table(&[]), "");
    }
}
