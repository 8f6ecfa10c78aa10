//! Parts of flows that are written in Python: controllers, path schedulers, sources.

mod controller;
mod scheduler;
mod source;

use std::fmt;
use std::sync::Arc;

use anabranch_lab::scenario::{OwnError, Scenario};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::errors::Failure;

pub(crate) use controller::{Ack, FreshPath, LostChunk, SentData};
pub(crate) use scheduler::{Demand, Outlook};

/// What somebody brings along, by the flow that it is for.
#[derive(Debug)]
pub(crate) struct Parts {
    controllers: Vec<(String, Py<PyAny>)>,
    schedulers: Vec<(String, Py<PyAny>)>,
    sources: Vec<(String, Py<PyAny>)>,
}

/// Where an object of Python's works, and whom it tells what goes wrong.
#[derive(Debug)]
struct Place {
    /// `flow file: Aimd`.
    what: String,
    failure: Arc<Failure>,
}

impl Parts {
    pub(crate) fn of(
        controllers: Option<&Bound<'_, PyDict>>,
        schedulers: Option<&Bound<'_, PyDict>>,
        sources: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        Ok(Self {
            controllers: by_flow("controllers", controllers)?,
            schedulers: by_flow("schedulers", schedulers)?,
            sources: by_flow("sources", sources)?,
        })
    }

    pub(crate) const fn is_empty(&self) -> bool {
        self.controllers.is_empty() && self.schedulers.is_empty() && self.sources.is_empty()
    }

    /// Has a scenario's flows use them.
    pub(crate) fn put_into(
        &self,
        py: Python<'_>,
        scenario: &mut Scenario,
        failure: &Arc<Failure>,
    ) -> PyResult<()> {
        let place = |flow: &str, part: &Py<PyAny>| Place::new(py, flow, part, failure);
        for (flow, class) in &self.controllers {
            let factory = controller::Factory::new(class.clone_ref(py), place(flow, class));
            scenario.set_controller(flow, Arc::new(factory)).map_err(unfit)?;
        }
        for (flow, class) in &self.schedulers {
            let factory = scheduler::Factory::new(class.clone_ref(py), place(flow, class));
            scenario.set_path_scheduler(flow, Arc::new(factory)).map_err(unfit)?;
        }
        for (flow, class) in &self.sources {
            let factory = source::Factory::new(class.clone_ref(py), place(flow, class));
            scenario.set_source(flow, Arc::new(factory)).map_err(unfit)?;
        }
        Ok(())
    }
}

fn by_flow(what: &str, given: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, Py<PyAny>)>> {
    let Some(given) = given else { return Ok(Vec::new()) };
    let one = |(flow, part): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let Ok(name) = flow.extract::<String>() else {
            let words = format!("{what}: the key {flow} is no flow: give its name");
            return Err(PyTypeError::new_err(words));
        };
        if part.is_callable() {
            return Ok((name, part.unbind()));
        }
        Err(PyTypeError::new_err(format!(
            "{what}: {name} has {part}, which cannot be called: give a class, or a function that \
             makes one"
        )))
    };
    given.iter().map(one).collect()
}

fn unfit(error: OwnError) -> PyErr {
    PyValueError::new_err(error.to_string())
}

impl Place {
    fn new(py: Python<'_>, flow: &str, part: &Py<PyAny>, failure: &Arc<Failure>) -> Arc<Self> {
        let name = part.bind(py).getattr("__qualname__").and_then(|name| name.extract::<String>());
        let name = name.unwrap_or_else(|_| part.to_string());
        Arc::new(Self { what: format!("flow {flow}: {name}"), failure: Arc::clone(failure) })
    }

    /// An exception ends the run.
    fn raised(&self, py: Python<'_>, call: &str, error: PyErr) {
        self.failure.raised(py, &format!("{}{call}", self.what), error);
    }

    /// An answer that makes no sense ends the run.
    fn nonsense(&self, words: impl fmt::Display) {
        self.failure.tell(format!("{}{words}", self.what), None);
    }

    /// Whether the run is at its end anyway.
    fn is_over(&self) -> bool {
        self.failure.is_there()
    }
}
