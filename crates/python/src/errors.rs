//! The exceptions that the package raises, and [`Failure`]: what a callback did wrong.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, PoisonError};

use pyo3::create_exception;
use pyo3::exceptions::{PyException, PyRuntimeError, PyValueError};
use pyo3::prelude::*;

create_exception!(
    anabranch,
    ScenarioError,
    PyValueError,
    "A scenario makes no sense: says where, and what would be right."
);
create_exception!(
    anabranch,
    RunError,
    PyRuntimeError,
    "A run came to no end: its limit of events was reached, or a stack misbehaved."
);
create_exception!(
    anabranch,
    CallbackError,
    RunError,
    "A controller, a scheduler or a source raised, or returned what makes no sense.\n\n\
     The exception that it raised is the ``__cause__``."
);

pub(crate) fn add_to(module: &Bound<'_, PyModule>) -> PyResult<()> {
    let py = module.py();
    module.add("ScenarioError", py.get_type::<ScenarioError>())?;
    module.add("RunError", py.get_type::<RunError>())?;
    module.add("CallbackError", py.get_type::<CallbackError>())
}

/// Why a run is to end, told by a callback or by a signal. The first reason counts.
#[derive(Debug, Default)]
pub(crate) struct Failure {
    is_there: AtomicBool,
    told: Mutex<Option<Told>>,
}

#[derive(Debug)]
struct Told {
    reason: String,
    cause: Option<PyErr>,
}

impl Failure {
    /// Whether the run is to end. Cheap: asked after each event of the simulator.
    pub(crate) fn is_there(&self) -> bool {
        self.is_there.load(Ordering::Acquire)
    }

    /// Why it is to end, if it is.
    pub(crate) fn reason(&self) -> Option<String> {
        if !self.is_there() {
            return None;
        }
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.as_ref().map(|told| told.reason.clone())
    }

    /// Ends the run.
    pub(crate) fn tell(&self, reason: String, cause: Option<PyErr>) {
        let mut told = self.told.lock().unwrap_or_else(PoisonError::into_inner);
        told.get_or_insert(Told { reason, cause });
        self.is_there.store(true, Ordering::Release);
    }

    /// Ends the run for an exception in `what`.
    pub(crate) fn raised(&self, py: Python<'_>, what: &str, error: PyErr) {
        self.tell(format!("{what} raised {}", in_words(py, &error)), Some(error));
    }

    /// The exception for a run that `text` describes: the callback's own where that is none to be
    /// caught by the way, as Ctrl-C's.
    pub(crate) fn exception(&self, py: Python<'_>, text: String) -> PyErr {
        let told = self.told.lock().unwrap_or_else(PoisonError::into_inner).take();
        let Some(told) = told else { return RunError::new_err(text) };
        if let Some(cause) = &told.cause
            && !cause.is_instance_of::<PyException>(py)
        {
            return cause.clone_ref(py);
        }
        let error = CallbackError::new_err(text);
        error.set_cause(py, told.cause);
        error
    }
}

/// `ValueError: too large`.
fn in_words(py: Python<'_>, error: &PyErr) -> String {
    let kind = error
        .get_type(py)
        .name()
        .map_or_else(|_| "an exception".to_owned(), |name| name.to_string());
    match error.value(py).str().map(|text| text.to_string()) {
        Ok(text) if !text.is_empty() => format!("{kind}: {text}"),
        _ => kind,
    }
}
