//! What congestion control makes of simulated links, in virtual time: one table.
//!
//! Rates count IP bytes, goodput counts payload; a figure is the median over the seeds.

mod end;
mod live;
mod paths;
mod shared;
mod world;

use std::fmt::{self, Display, Formatter};
use std::io;
use std::time::Duration;

use anabranch_netsim::{LinkConfig, Loss, QueueLimit};
use anabranch_sansio::Rate;
use anabranch_sctp::CongestionControl;
use end::Transport;
use world::Losses;

/// The link of the rows on loss, in Mbit/s.
const LINK_MBPS: u64 = 100;

/// Its round-trip time, and that of most links here.
const RTT: Duration = Duration::from_millis(50);

/// Bytes of an IP packet.
const MTU: usize = 1_500;

/// Losses of the first rows, in percent.
const LOSSES: [f64; 4] = [0.0, 0.01, 0.1, 1.0];

/// What is measured.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Plan<'a> {
    /// Seconds of a run.
    pub(crate) seconds: u64,
    /// Runs per figure.
    pub(crate) seeds: u64,
    /// Only rows with this in their name.
    pub(crate) only: &'a str,
    /// Whether SCTP is encrypted.
    pub(crate) encrypted: bool,
}

/// The rows, each as it is done.
pub(crate) fn measure(
    plan: Plan<'_>,
    mut tell: impl FnMut(Row) -> io::Result<()>,
) -> io::Result<()> {
    for (name, control) in controllers() {
        for loss in LOSSES {
            let label = format!("{name}, loss {loss} %");
            if label.contains(plan.only) {
                tell(saturated(plan, label, control, loss)?)?;
            }
        }
    }
    for row in live::rows() {
        if row.name().contains(plan.only) {
            tell(row.measure(plan)?)?;
        }
    }
    for row in paths::rows() {
        if row.name().contains(plan.only) {
            tell(row.measure(plan)?)?;
        }
    }
    for row in shared::rows() {
        if row.name().contains(plan.only) {
            tell(row.measure(plan)?)?;
        }
    }
    Ok(())
}

fn controllers() -> [(&'static str, CongestionControl); 4] {
    [
        ("RFC 9260", CongestionControl::Rfc9260),
        ("CUBIC", CongestionControl::Cubic),
        ("BBR", CongestionControl::Bbr),
        ("media", CongestionControl::Media),
    ]
}

/// One line of the table.
#[derive(Debug)]
pub(crate) struct Row {
    name: String,
    figures: Vec<(&'static str, f64)>,
}

impl Display for Row {
    fn fmt(&self, f: &mut Formatter<'_>) -> fmt::Result {
        write!(f, "{:<42}", self.name)?;
        for (what, figure) in &self.figures {
            write!(f, "{figure:>9.3} {what}")?;
        }
        Ok(())
    }
}

/// A link of this rate with a drop-tail queue of one bandwidth-delay product.
fn link(mbps: u64, round_trip: Duration) -> LinkConfig {
    let rate = Rate::mbps(mbps);
    LinkConfig {
        rate: Some(rate),
        delay: round_trip / 2,
        queue: QueueLimit::lasting(round_trip, rate),
        ..LinkConfig::default()
    }
}

/// The link of most rows, which loses this much of what goes forward.
fn bottleneck(mbps: u64, loss: Loss) -> LinkConfig {
    LinkConfig { loss, ..link(mbps, RTT) }
}

/// How much of a link a sender fills that always has more.
fn saturated(
    plan: Plan<'_>,
    name: String,
    control: CongestionControl,
    loss_percent: f64,
) -> io::Result<Row> {
    // Between two losses the law's window takes its time.
    let seconds = if loss_percent == 0.01 { 10 * plan.seconds } else { plan.seconds };
    let link = bottleneck(LINK_MBPS, Loss::uniform(loss_percent / 100.0));
    let runs = (1..=plan.seeds).map(|seed| {
        let flows = [Transport::Sctp(control)];
        let mut world =
            world::World::new(seed, Losses::OfData, link.clone(), &flows, plan.encrypted)?;
        world.saturate(Duration::from_secs(seconds))?;
        Ok(world.goodput_mbps(0, Duration::from_secs(seconds)))
    });
    let goodput = median(runs.collect::<io::Result<Vec<_>>>()?);
    let mut figures = vec![("% of the link", 100.0 * goodput / LINK_MBPS as f64)];
    if control == CongestionControl::Rfc9260 && loss_percent > 0.0 {
        figures.push(("of its law", goodput / law_mbps(loss_percent / 100.0)));
    }
    Ok(Row { name, figures })
}

/// Reno's law, 1.31 MSS / (RTT sqrt p), in payload of full packets.
fn law_mbps(loss: f64) -> f64 {
    let law = 1.31 * end::PAYLOAD as f64 * 8.0 / (RTT.as_secs_f64() * loss.sqrt()) / 1e6;
    law.min(LINK_MBPS as f64 * end::PAYLOAD as f64 / MTU as f64)
}

/// The median of a figure over the seeds.
fn median(figures: impl IntoIterator<Item = f64>) -> f64 {
    let mut figures: Vec<_> = figures.into_iter().collect();
    figures.sort_by(f64::total_cmp);
    figures.get(figures.len() / 2).copied().unwrap_or(f64::NAN)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rows(encrypted: bool) -> Vec<Row> {
        let mut rows = Vec::new();
        let plan = Plan { seconds: 1, seeds: 1, only: "", encrypted };
        measure(plan, |row| {
            rows.push(row);
            Ok(())
        })
        .unwrap();
        rows
    }

    #[test]
    fn every_row_has_its_figures() {
        let rows = rows(false);
        let others = live::rows().len() + paths::rows().len() + shared::rows().len();
        assert_eq!(rows.len(), 4 * LOSSES.len() + others);
        let figures = || rows.iter().flat_map(|row| &row.figures);
        assert!(
            figures()
                .all(|(what, figure)| figure.is_finite() && *figure >= 0.0 && !what.is_empty())
        );
        assert!(rows.iter().all(|row| row.figures[0].1 > 0.0), "{rows:?}");
    }

    #[test]
    fn encryption_takes_its_bytes_of_a_full_link() {
        let goodput = |rows: Vec<Row>| {
            let row = rows.into_iter().find(|row| row.name == "media, loss 0 %").unwrap();
            row.figures[0].1
        };
        assert!(goodput(rows(true)) < goodput(rows(false)));
    }
}
