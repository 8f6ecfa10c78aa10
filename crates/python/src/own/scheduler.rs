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

/// See `_native.pyi`.
#[pyclass(frozen, get_all, module = "anabranch")]
#[derive(Debug)]
pub(crate) struct Demand {
    now_s: f64,
    expires_s: Option<f64>,
    peer_window: usize,
    backlog: usize,
}

/// See `_native.pyi`.
#[pyclass(frozen, get_all, module = "anabranch")]
#[derive(Debug)]
pub(crate) struct Outlook {
    path: u32,
    is_open: bool,
    srtt_s: f64,
    arrival_s: f64,
    rate_bps: u64,
    slow_start: bool,
    usage: f64,
    window: usize,
    ssthresh: Option<usize>,
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
