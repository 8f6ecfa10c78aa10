//! [`Recording`]: the capture of a cell, where one is wanted.

use std::fmt;
use std::io::{self, Write};

use anabranch_netsim::{Capture, CaptureScope, Pair};
use anabranch_sansio::Machine;

/// Where a capture goes.
pub(crate) type CaptureWriter = Box<dyn Write + Send>;

/// The capture of a cell, where one is wanted: all packets, as they leave the links.
pub(crate) struct Recording {
    writer: Option<CaptureWriter>,
    capture: Option<io::Result<Capture<CaptureWriter>>>,
}

impl Recording {
    pub(crate) fn new(writer: Option<CaptureWriter>) -> Self {
        Self { writer, capture: None }
    }

    /// Begins, before the first packet is sent.
    pub(crate) fn begin<M: Machine>(&mut self, cell: &impl fmt::Display, pair: &mut Pair<M>) {
        if let Some(writer) = self.writer.take() {
            let comment = cell.to_string();
            self.capture = Some(pair.sim.capture(CaptureScope::AllLinks, &comment, writer));
        }
    }

    /// Ends it, and tells whether all could be written.
    pub(crate) fn end(self) -> io::Result<()> {
        match self.capture {
            Some(capture) => capture?.finish()?.flush(),
            None => Ok(()),
        }
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}
