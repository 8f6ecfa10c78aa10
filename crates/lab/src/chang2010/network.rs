//! A call over two paths, and what happens to them.

use std::time::Duration;

use anabranch_call::Monitor;
use anabranch_netsim::{
    CLIENT, Carrier, DuplexConfig, HostId, Pair, PathConfig, SERVER, Side, SimulationError,
};
use anabranch_sansio::{FourTuple, Machine, Rng, Time};
use anabranch_tcp::Config as TcpConfig;

use super::call::{Call, End, Treatment, Watch};
use super::cell::{Cell, Handoff, Method, Place};
use super::log::Log;
use super::measure::{Cut, Ended, Outcome};
use super::reconnect::{Patience, Reconnecting};
use super::values::{START, Values};
use crate::host::Host;
use crate::recording::Recording;

/// The call goes on for so long before something is cut.
pub(super) const BEFORE: Duration = Duration::from_secs(6);
/// For what is late after the last frame.
pub(super) const AFTER: Duration = Duration::from_secs(2);
/// Cuts of a run by round trips, and from one to the next.
pub(super) const CUTS: u32 = 10;
pub(super) const BETWEEN: Duration = Duration::from_secs(5);
/// A path stays away for so long, if it comes back.
pub(super) const AWAY: Duration = Duration::from_millis(1_500);
/// The kernel's usual send buffer on small machines.
const TCP_BUFFER: usize = 256 << 10;

/// Either end of a call.
trait Caller: Machine {
    fn log(&self) -> &Log;

    /// This path will be gone soon.
    fn leave(&mut self, _path: usize) {}
}

impl Caller for Host<Call> {
    fn log(&self) -> &Log {
        &self.program.log
    }

    fn leave(&mut self, path: usize) {
        self.program.leave(&self.endpoint, path);
    }
}

impl Caller for Reconnecting {
    fn log(&self) -> &Log {
        &self.log
    }
}

/// Runs a cell.
pub(super) fn run(
    cell: &Cell,
    values: &Values,
    name: &str,
    recording: &mut Recording,
) -> Result<Outcome, SimulationError> {
    let plan = Plan::of(cell);
    match cell.method {
        Method::Usha => {
            let mut pair = pair(cell, values, |side, paths, rng| {
                reconnecting(side, paths, rng, cell, values, &plan)
            });
            pair.set_carrier(Carrier::Tcp);
            plan.run(cell, values, pair, name, recording)
        }
        Method::Sctp | Method::Timed(_) | Method::Unplanned | Method::Planned => {
            let mut pair =
                pair(cell, values, |side, paths, rng| end(side, paths, rng, cell, values, &plan));
            pair.set_carrier(Carrier::Sctp);
            plan.run(cell, values, pair, name, recording)
        }
    }
}

fn pair<M: Machine>(
    cell: &Cell,
    values: &Values,
    make: impl FnMut(Side, &[FourTuple], Rng) -> M,
) -> Pair<M> {
    let handoff = match cell.place {
        Place::Handoff(handoff) => handoff,
        Place::Rtt(_) => Handoff::WiredToWireless,
    };
    let mut paths = Vec::new();
    for (n, is_wireless) in handoff.are_wireless().into_iter().enumerate() {
        let links = DuplexConfig::from(values.link(cell.place, is_wireless));
        paths.push(PathConfig::nth(n, links).expect("there are two paths"));
    }
    Pair::with_paths(cell.seed, &paths, make).expect("standard paths make a pair")
}

fn end(
    side: Side,
    paths: &[FourTuple],
    mut rng: Rng,
    cell: &Cell,
    values: &Values,
    plan: &Plan,
) -> Host<Call> {
    // Both programs were started some time before the call.
    let first = START + values.check.mul_f64(rng.unit());
    let treatment = match cell.method {
        Method::Unplanned | Method::Planned => {
            let time = values.delay(cell.place) + values.patience;
            Treatment::Ours { voice: time, video: time * 2 }
        }
        Method::Sctp | Method::Timed(_) | Method::Usha => {
            let threshold = match cell.method {
                Method::Timed(ms) => Some(Duration::from_millis(ms.into())),
                Method::Sctp | Method::Usha | Method::Unplanned | Method::Planned => None,
            };
            let monitor = threshold.map(|threshold| {
                let mut rule = Monitor::new(threshold, values.check, first, 0);
                rule.heard(first, 1);
                Watch { rule, threshold, believes_sctp: values.believes_sctp }
            });
            Treatment::Papers { reliability: values.reliability(), monitor }
        }
    };
    let sources = values.sources(cell.place, plan.end);
    let end = End { config: values.association(cell.method), treatment, sources };
    match side {
        Side::Client => end.caller(paths, rng),
        Side::Server => end.called(paths, rng),
    }
}

fn reconnecting(
    side: Side,
    paths: &[FourTuple],
    mut rng: Rng,
    cell: &Cell,
    values: &Values,
    plan: &Plan,
) -> Reconnecting {
    let first = START + values.check.mul_f64(rng.unit());
    let patience = Patience { threshold: values.usha_threshold, every: values.check, first };
    let config = TcpConfig { send_buffer: TCP_BUFFER, nagle: false, ..TcpConfig::default() };
    let sources = values.sources(cell.place, plan.end);
    Reconnecting::new(side == Side::Client, paths, config, patience, sources, rng)
}

/// When what is cut, and when the call is over.
struct Plan {
    cuts: Vec<Time>,
    end: Time,
}

/// When whichever path is in use is cut, as often as this.
pub(super) fn cuts(seed: u64, count: u32) -> impl Iterator<Item = Time> {
    let mut rng = Rng::from_u64(seed);
    (0..count).map(move |n| any(START + BEFORE + BETWEEN * n, &mut rng))
}

/// Any moment of the second that begins here.
fn any(from: Time, rng: &mut Rng) -> Time {
    from + Duration::from_secs(1).mul_f64(rng.unit())
}

impl Plan {
    /// A cut comes at any moment of what goes on in seconds.
    fn of(cell: &Cell) -> Self {
        match cell.place {
            Place::Handoff(_) => {
                let cut = any(START + BEFORE, &mut Rng::from_u64(cell.seed));
                let more = match cell.method {
                    // Five errors count once timeouts of 1, 2, 4, 8, 16 and 32 s are over.
                    Method::Sctp => Duration::from_secs(90),
                    Method::Timed(ms) => Duration::from_millis(ms.into()) * 2 + BEFORE,
                    Method::Usha | Method::Unplanned | Method::Planned => BEFORE * 2,
                };
                Self { cuts: vec![cut], end: cut + more }
            }
            Place::Rtt(_) => {
                let cuts = cuts(cell.seed, CUTS).collect();
                Self { cuts, end: START + BEFORE + BETWEEN * CUTS }
            }
        }
    }

    fn run<M: Caller>(
        &self,
        cell: &Cell,
        values: &Values,
        mut pair: Pair<M>,
        name: &str,
        recording: &mut Recording,
    ) -> Result<Outcome, SimulationError> {
        pair.sim.limit_steps(values.steps_max);
        recording.begin(&name, &mut pair);
        let comes_back = self.cuts.len() > 1;
        let mut cuts = Vec::new();
        for at in &self.cuts {
            let is_planned = cell.method == Method::Planned;
            let notice = if is_planned { values.notice } else { Duration::ZERO };
            pair.sim.run_to(at.saturating_sub(notice))?;
            let path = pair.server().log().path_in_use();
            if is_planned {
                for host in [CLIENT, SERVER] {
                    pair.sim.act(host, |machine, _| machine.leave(path))?;
                }
                pair.sim.run_to(*at)?;
            }
            pair.cut(path);
            cuts.push(Cut { at: *at, left: at.saturating_sub(notice) });
            if comes_back {
                pair.sim.run_to(*at + AWAY)?;
                pair.restore(path);
            }
        }
        pair.sim.run_to(self.end + AFTER)?;
        let logs = [CLIENT, SERVER].map(|host: HostId| pair.sim.machine(host).log());
        let late_after = values.delay(cell.place) + values.patience;
        let last_frame = self.end;
        let ended = Ended { cell, logs, cuts: &cuts, late_after, last_frame };
        recording.units(|| ended.units(&values.sources(cell.place, self.end)));
        Ok(Outcome::of(&ended))
    }
}
