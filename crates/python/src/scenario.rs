//! [`Scenario`]: a file of hosts, links, events and flows, and its runs.

use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use anabranch_lab::scenario::{Example, Files, Scenario as Written, schema};
use pyo3::exceptions::{PyTypeError, PyValueError};
use pyo3::prelude::*;
use pyo3::types::{PyBool, PyDict, PyFloat, PyInt, PyString, PyType};

use crate::errors::ScenarioError;
use crate::own::Parts;
use crate::results::Results;
use crate::runs::Plan;

/// Seeds are whole numbers below this one.
const SEED_END: u64 = 1 << 63;

/// Hosts, links, events and flows. docs/scenarios.md of the project has every key.
#[pyclass(frozen, module = "anabranch")]
#[derive(Debug)]
pub(crate) struct Scenario {
    /// What messages call it: its file's name.
    name: String,
    /// What the files that it names are looked for beside.
    path: PathBuf,
    text: String,
    given: Vec<(String, String)>,
    written: Arc<Written>,
}

#[pymethods]
impl Scenario {
    /// Reads a scenario from a file in TOML.
    ///
    /// ``set`` gives keys other values than the file does, as ``{"wifi.loss": "1%"}``, or
    /// ``{"duration": "5s"}``. Raises ScenarioError, or OSError if the file cannot be read.
    /// Files that it names, films and recorded links, are looked for from its own folder.
    #[classmethod]
    #[pyo3(signature = (path, set = None))]
    fn load(
        _class: &Bound<'_, PyType>,
        path: PathBuf,
        set: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let name = path.display().to_string();
        let text = fs::read_to_string(&path).map_err(|error| {
            // Python has a class for each kind of this, FileNotFoundError and others.
            let kind = PyErr::from(std::io::Error::from(error.kind()));
            Python::attach(|py| {
                let class = kind.get_type(py);
                let code = error.raw_os_error().unwrap_or_default();
                PyErr::from_type(class, (code, error.to_string(), name.clone()))
            })
        })?;
        // In another process the working directory may be another one.
        let path = std::path::absolute(&path).unwrap_or(path);
        Self::read(name, path, text, given(set)?)
    }

    /// Reads a scenario from text; messages call it ``name``.
    ///
    /// Files that it names are looked for from the working directory.
    #[classmethod]
    #[pyo3(signature = (text, set = None, *, name = "scenario"))]
    fn parse(
        _class: &Bound<'_, PyType>,
        text: String,
        set: Option<&Bound<'_, PyDict>>,
        name: &str,
    ) -> PyResult<Self> {
        Self::read(name.to_owned(), PathBuf::new(), text, given(set)?)
    }

    /// One to start from: ``dumbbell``, ``two-paths``, ``handoff``, ``cellular`` or ``dccp``.
    #[classmethod]
    #[pyo3(signature = (name, set = None))]
    fn example(
        _class: &Bound<'_, PyType>,
        name: &str,
        set: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Self> {
        let example: Example = name.parse().map_err(PyValueError::new_err)?;
        Self::read(name.to_owned(), PathBuf::new(), example.text().to_owned(), given(set)?)
    }

    /// A JSON schema of scenarios, for editors.
    #[staticmethod]
    fn schema() -> String {
        schema()
    }

    /// The same, where these keys have other values.
    #[pyo3(name = "set")]
    fn with(&self, set: &Bound<'_, PyDict>) -> PyResult<Self> {
        let more = given(Some(set))?;
        let is_kept = |(key, _): &&(String, String)| more.iter().all(|(other, _)| other != key);
        let kept: Vec<_> = self.given.iter().filter(is_kept).cloned().collect();
        let (name, path) = (self.name.clone(), self.path.clone());
        Self::read(name, path, self.text.clone(), [kept, more].concat())
    }

    /// The file.
    #[getter]
    fn text(&self) -> &str {
        &self.text
    }

    /// How long it runs, in seconds of the simulation.
    #[getter]
    fn duration_s(&self) -> f64 {
        self.written.duration().as_secs_f64()
    }

    /// The seeds that it asks for.
    #[getter]
    fn seeds(&self) -> Vec<u64> {
        self.written.seeds().collect()
    }

    /// Runs it with each of these seeds, the scenario's own where none are given.
    ///
    /// Runs go on at once on all cores, or on ``jobs`` threads, and hold no lock of Python's;
    /// Ctrl-C ends them. The same seed gives the same results to the last digit.
    ///
    /// ``packets`` and ``frames`` keep what became of every packet and of every unit of media
    /// (``Results.packets``, ``Results.frames``): about 100 bytes of memory each.
    ///
    /// The rest is by the names of flows. ``controllers`` has, for flows over SCTP and media
    /// sessions, what makes a congestion controller of a FreshPath, as a class derived from
    /// Controller; ``schedulers`` what makes a PathScheduler; ``sources``, for flows over SCTP
    /// and UDP, functions that take a seed and return an iterable of messages: pairs of seconds
    /// from the flow's start, never decreasing, and bytes. With any of these, runs go on one
    /// after the other in the calling thread. Raises CallbackError where one of them raises or
    /// returns what makes no sense.
    ///
    /// ``labels`` are put in front of each row of each table. Raises RunError if a run does not
    /// end within the scenario's ``steps_max``.
    #[pyo3(signature = (
        seeds = None, *, jobs = None, packets = false, frames = false, controllers = None,
        schedulers = None, sources = None, labels = None,
    ))]
    #[expect(clippy::too_many_arguments, reason = "keywords, in Python")]
    fn run(
        &self,
        py: Python<'_>,
        seeds: Option<&Bound<'_, PyAny>>,
        jobs: Option<usize>,
        packets: bool,
        frames: bool,
        controllers: Option<&Bound<'_, PyDict>>,
        schedulers: Option<&Bound<'_, PyDict>>,
        sources: Option<&Bound<'_, PyDict>>,
        labels: Option<&Bound<'_, PyDict>>,
    ) -> PyResult<Results> {
        let plan = Plan {
            name: self.name.clone(),
            written: Arc::clone(&self.written),
            seeds: self.seeds_of(seeds)?,
            point: given(labels)?,
            packets,
            frames,
        };
        let parts = Parts::of(controllers, schedulers, sources)?;
        match jobs {
            Some(0) => Err(PyValueError::new_err("jobs is 0: give at least 1")),
            _ if parts.is_empty() => plan.run_at_once(py, jobs),
            _ => plan.run_with(py, &parts),
        }
    }

    fn __repr__(&self) -> String {
        format!("<anabranch.Scenario {}, {} s>", self.name, self.duration_s())
    }

    #[expect(clippy::type_complexity, reason = "what pickle wants")]
    fn __reduce__<'py>(
        slf: &Bound<'py, Self>,
    ) -> PyResult<(Bound<'py, PyAny>, (String, PathBuf, String, Vec<(String, String)>))> {
        let this = slf.get();
        let arguments =
            (this.name.clone(), this.path.clone(), this.text.clone(), this.given.clone());
        Ok((slf.get_type().getattr("_restore")?, arguments))
    }

    #[staticmethod]
    fn _restore(
        name: String,
        path: PathBuf,
        text: String,
        given: Vec<(String, String)>,
    ) -> PyResult<Self> {
        Self::read(name, path, text, given)
    }
}

impl Scenario {
    fn read(
        name: String,
        path: PathBuf,
        text: String,
        given: Vec<(String, String)>,
    ) -> PyResult<Self> {
        let written = Written::read(&text, &given, &Files::beside(&path))
            .map_err(|fault| ScenarioError::new_err(format!("{name}: {fault}")))?;
        Ok(Self { name, path, text, given, written: Arc::new(written) })
    }

    fn seeds_of(&self, seeds: Option<&Bound<'_, PyAny>>) -> PyResult<Vec<u64>> {
        let Some(seeds) = seeds else { return Ok(self.written.seeds().collect()) };
        let wrong = |what: String| {
            PyValueError::new_err(format!("{what}: give whole numbers from 0, such as range(30)"))
        };
        let each = seeds.try_iter().map_err(|_| wrong(format!("seeds is {seeds}")))?;
        let seed = |seed: PyResult<Bound<'_, PyAny>>| {
            let seed = seed?;
            let number = seed.extract::<u64>().ok().filter(|number| *number < SEED_END);
            number.ok_or_else(|| wrong(format!("seed {seed}")))
        };
        let seeds: Vec<u64> = each.map(seed).collect::<PyResult<_>>()?;
        if seeds.is_empty() { Err(wrong("there is no seed".to_owned())) } else { Ok(seeds) }
    }
}

/// Keys and values as the file would have them.
pub(crate) fn given(set: Option<&Bound<'_, PyDict>>) -> PyResult<Vec<(String, String)>> {
    let Some(set) = set else { return Ok(Vec::new()) };
    let one = |(key, value): (Bound<'_, PyAny>, Bound<'_, PyAny>)| {
        let key: String = key
            .extract()
            .map_err(|_| PyTypeError::new_err(format!("the key {key} is no text: give strings")))?;
        Ok((key.clone(), value_text(&key, &value)?))
    };
    set.iter().map(one).collect()
}

fn value_text(key: &str, value: &Bound<'_, PyAny>) -> PyResult<String> {
    if let Ok(truth) = value.cast::<PyBool>() {
        return Ok(truth.is_true().to_string());
    }
    let is_plain = value.is_instance_of::<PyString>()
        || value.is_instance_of::<PyInt>()
        || value.is_instance_of::<PyFloat>();
    if is_plain {
        return Ok(value.str()?.to_string());
    }
    let kind = value.get_type().name()?;
    Err(PyTypeError::new_err(format!("{key} is a {kind}: give text or a number, as in \"20ms\"")))
}
