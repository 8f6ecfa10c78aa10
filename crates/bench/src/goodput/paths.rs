//! One association over two paths at once.

use std::io;
use std::time::Duration;

use super::end::Transport;
use super::world::World;
use super::{Plan, Row, link, median};

/// Two paths, each by its rate in Mbit/s and its round-trip time in ms.
#[derive(Debug, Clone, Copy)]
pub(super) struct Paths([(u64, u64); 2]);

/// The rows of the table.
pub(super) const fn rows() -> [Paths; 3] {
    [Paths([(50, 50), (50, 50)]), Paths([(50, 50), (10, 50)]), Paths([(50, 20), (10, 200)])]
}

impl Paths {
    pub(super) fn name(&self) -> String {
        let [(first, first_ms), (second, second_ms)] = self.0;
        if first_ms == second_ms {
            format!("media, {first} and {second} Mbit/s at once")
        } else {
            format!("media, {first} ({first_ms} ms) and {second} ({second_ms} ms) Mbit/s")
        }
    }

    pub(super) fn measure(&self, plan: Plan<'_>) -> io::Result<Row> {
        let span = Duration::from_secs(plan.seconds);
        let runs = (1..=plan.seeds).map(|seed| {
            let links = self.0.map(|(mbps, ms)| link(mbps, Duration::from_millis(ms)));
            let mut world = World::of_paths(seed, &links, Transport::Balanced, plan.encrypted)?;
            world.saturate(span)?;
            Ok(world.goodput_mbps(0, span))
        });
        let goodput = median(runs.collect::<io::Result<Vec<_>>>()?);
        let better = self.0.map(|(mbps, _)| mbps as f64).into_iter().fold(0.0, f64::max);
        let figures = vec![("Mbit/s", goodput), ("of the better link", goodput / better)];
        Ok(Row { name: self.name(), figures })
    }
}
