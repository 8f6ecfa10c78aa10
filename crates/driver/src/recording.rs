//! [`Recording`]: what is recorded of a driver's run.

use crate::{Capture, Trace};

/// The files that a driver's run is recorded in, if any. Clones record to the same ones.
#[derive(Debug, Clone, Default)]
pub struct Recording {
    /// Every datagram that is sent and received.
    pub capture: Option<Capture>,
    /// What the machine does and why.
    pub trace: Option<Trace>,
}

impl Recording {
    /// The same files for one of several drivers, which they tell apart by their labels.
    #[must_use]
    pub fn labelled(&self, label: &str) -> Self {
        Self {
            capture: self.capture.as_ref().map(|capture| capture.labelled(label)),
            trace: self.trace.as_ref().map(|trace| trace.labelled(label)),
        }
    }
}
