//! The lab as a Python package: what `anabranch._native` holds.
//!
//! What has a name in Python is documented in the same words twice: here for `help()`, which reads
//! the module, and in `python/anabranch/_native.pyi` for editors, which read only that.
//! `tests/test_help.py` compares them. Rust's side is thin: each run is one of `anabranch_lab`'s,
//! tables leave by Arrow's C interface, and objects of Python's stand behind the traits of the
//! stacks.

mod errors;
mod own;
mod papers;
mod results;
mod runs;
mod scenario;
mod table;

use pyo3::prelude::*;

/// What is written in Rust: scenarios, their runs, and the tables of what they gave.
#[pymodule]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<scenario::Scenario>()?;
    module.add_class::<results::Results>()?;
    module.add_class::<table::Table>()?;
    module.add_class::<own::FreshPath>()?;
    module.add_class::<own::Ack>()?;
    module.add_class::<own::LostChunk>()?;
    module.add_class::<own::SentData>()?;
    module.add_class::<own::Demand>()?;
    module.add_class::<own::Outlook>()?;
    module.add_function(wrap_pyfunction!(papers::cells, module)?)?;
    errors::add_to(module)
}
