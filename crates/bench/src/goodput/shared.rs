//! Two flows that share a bottleneck.

use std::io;
use std::time::Duration;

use anabranch_netsim::Loss;
use anabranch_sctp::CongestionControl;

use super::end::Transport;
use super::world::{Losses, World};
use super::{Plan, Row, bottleneck, median};

/// The link, in Mbit/s.
const LINK_MBPS: u64 = 50;

/// Two flows, by name and transport.
#[derive(Debug, Clone, Copy)]
pub(super) struct Shared([(&'static str, Transport); 2]);

/// The rows of the table.
pub(super) fn rows() -> [Shared; 4] {
    let media = ("media", Transport::Sctp(CongestionControl::Media));
    let bbr = ("BBR", Transport::Sctp(CongestionControl::Bbr));
    let cubic = ("CUBIC", Transport::Sctp(CongestionControl::Cubic));
    let tcp = ("a TCP CUBIC", Transport::Tcp);
    [Shared([media, tcp]), Shared([bbr, tcp]), Shared([cubic, tcp]), Shared([media, media])]
}

impl Shared {
    pub(super) fn name(&self) -> String {
        let [(first, _), (second, _)] = self.0;
        format!("{first} and {second} on one link")
    }

    pub(super) fn measure(&self, plan: Plan<'_>) -> io::Result<Row> {
        let runs = (1..=plan.seeds).map(|seed| self.run(seed, plan));
        let runs = runs.collect::<io::Result<Vec<_>>>()?;
        let share = |flow: usize| median(runs.iter().map(|run| run[flow]));
        let figures = vec![("% the first", share(0)), ("% the second", share(1))];
        Ok(Row { name: self.name(), figures })
    }

    /// How much of the link each flow gets.
    fn run(&self, seed: u64, plan: Plan<'_>) -> io::Result<[f64; 2]> {
        let transports = self.0.map(|(_, transport)| transport);
        let link = bottleneck(LINK_MBPS, Loss::None);
        let mut world = World::new(seed, Losses::OfData, link, &transports, plan.encrypted)?;
        let span = Duration::from_secs(plan.seconds);
        world.saturate(span)?;
        Ok([0, 1].map(|flow| 100.0 * world.goodput_mbps(flow, span) / LINK_MBPS as f64))
    }
}
