//! Path schedulers that are written in Python.

use std::sync::Arc;

use anabranch_sctp::{
    Demand as Demanded, Outlook as Path, PathId, PathScheduler, PathSchedulerFactory,
};
use pyo3::intern;
use pyo3::prelude::*;

use super::Place;
use super::controller::{at, shown};

/// Asks a class for a scheduler for each association.
#[derive(Debug)]
pub(super) struct Factory {
    class: Py<PyAny>,
    place: Arc<Place>,
}

impl Factory {
    pub(super) const fn new(class: Py<PyAny>, place: Arc<Place>) -> Self {
        Self { class, place }
    }
}

impl PathSchedulerFactory for Factory {
    fn build(&self) -> Option<Box<dyn PathScheduler>> {
        let made = Python::attach(|py| {
            let made = self.class.bind(py).call0();
            made.map(Bound::unbind).map_err(|error| self.place.raised(py, "", error))
        });
        Some(Box::new(Scheduler { object: made.ok(), place: Arc::clone(&self.place) }))
    }
}

/// An object of Python's.
#[derive(Debug)]
struct Scheduler {
    /// None if it could not be made.
    object: Option<Py<PyAny>>,
    place: Arc<Place>,
}

impl PathScheduler for Scheduler {
    fn choose(&mut self, demand: &Demanded<'_>, outlooks: &[Path]) -> Option<PathId> {
        let object = self.object.as_ref().filter(|_| !self.place.is_over())?;
        Python::attach(|py| {
            let shown_paths: Vec<Outlook> = outlooks.iter().map(Outlook::of).collect();
            let told = (Demand::of(demand), shown_paths);
            let chosen = object.bind(py).call_method1(intern!(py, "choose"), told);
            let chosen = match chosen {
                Ok(chosen) if chosen.is_none() => return None,
                Ok(chosen) => chosen,
                Err(error) => {
                    self.place.raised(py, &format!(".choose{}", at(demand.now)), error);
                    return None;
                }
            };
            let open = || outlooks.iter().filter(|path| path.is_open).map(|path| path.id);
            let id = chosen.extract::<u32>().ok().map(PathId);
            if let Some(id) = id.filter(|id| open().any(|known| known == *id)) {
                return Some(id);
            }
            let known: Vec<String> = open().map(|id| id.0.to_string()).collect();
            self.place.nonsense(format_args!(
                ".choose returned {}{}: give the path of an outlook that is open ({}), or None to \
                 wait",
                shown(&chosen),
                at(demand.now),
                if known.is_empty() { "now none is".to_owned() } else { known.join(", ") }
            ));
            None
        })
    }
}

/// The message whose next packet looks for a path.
#[pyclass(frozen, get_all, module = "anabranch")]
#[derive(Debug)]
pub(crate) struct Demand {
    /// The time, in seconds of the simulation.
    now_s: f64,
    /// When the message is of no use any more, in seconds of the simulation; None if never.
    expires_s: Option<f64>,
    /// Bytes that the peer's window has room for.
    peer_window: usize,
    /// Bytes that wait to be sent and are as urgent as this message, itself included.
    backlog: usize,
}

/// What is known of a path that can carry data.
#[pyclass(frozen, get_all, module = "anabranch")]
#[derive(Debug)]
pub(crate) struct Outlook {
    /// Which path: what ``PathScheduler.choose`` returns.
    path: u32,
    /// Whether a packet may go out now.
    is_open: bool,
    /// The smoothed round-trip time in seconds; zero before the first sample.
    srtt_s: f64,
    /// How long it takes until a packet that goes this way next has arrived, in seconds.
    arrival_s: f64,
    /// How fast the path carries data, in bits per second.
    rate_bps: u64,
    /// Whether the rate doubles each round trip.
    slow_start: bool,
    /// The share of the window that is in flight; 1 is all of it.
    usage: f64,
    /// The congestion window in bytes.
    window: usize,
    /// The slow-start threshold in bytes; None before the first loss.
    ssthresh: Option<usize>,
    /// The share of DATA chunks that was lost, 0 to 1.
    loss_rate: f64,
}

impl Demand {
    fn of(demand: &Demanded<'_>) -> Self {
        Self {
            now_s: demand.now.as_secs_f64(),
            expires_s: demand.expires.map(|at| at.as_secs_f64()),
            peer_window: demand.peer_window,
            backlog: demand.backlog(),
        }
    }
}

impl Outlook {
    fn of(path: &Path) -> Self {
        Self {
            path: path.id.0,
            is_open: path.is_open,
            srtt_s: path.srtt.as_secs_f64(),
            arrival_s: path.arrival.as_secs_f64(),
            rate_bps: path.rate.as_bps(),
            slow_start: path.slow_start,
            usage: path.usage,
            window: path.window,
            ssthresh: (path.ssthresh != usize::MAX).then_some(path.ssthresh),
            loss_rate: path.loss_rate,
        }
    }
}
