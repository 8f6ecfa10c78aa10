//! [`Recording`]: what is recorded of a cell, where that is wanted.

use std::fmt;
use std::io::{self, Write};
use std::sync::{Arc, Mutex, PoisonError};

use anabranch_netsim::{CLIENT, Capture, CaptureScope, HostId, Pair, QlogFile, Simulation};
use anabranch_sansio::{Machine, TraceRecord};

use crate::records::{PacketRecords, TableFile, UnitRecord, write_units};

/// Where a file goes.
type Writer = Box<dyn Write + Send>;

/// What is recorded of a cell, and where that goes.
#[derive(Default)]
pub struct RecordTo {
    /// All packets, as they leave the links, as a pcapng file.
    pub capture: Option<Box<dyn Write + Send>>,
    /// What both ends do and why, as a qlog file, of `sender` and `receiver`.
    pub trace: Option<Box<dyn Write + Send>>,
    /// What became of every packet, as a table.
    pub packets: Option<TableFile>,
    /// What became of every unit that was sent, as a table.
    pub units: Option<TableFile>,
}

impl fmt::Debug for RecordTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { capture, trace, packets, units } = self;
        let mut shown = f.debug_struct("RecordTo");
        shown.field("capture", &capture.is_some()).field("trace", &trace.is_some());
        shown.field("packets", packets).field("units", units).finish()
    }
}

/// The files of a cell.
pub(crate) struct Recording {
    to: RecordTo,
    capture: Option<io::Result<Capture<Writer>>>,
    trace: Option<Arc<Mutex<Trace>>>,
    packets: Option<io::Result<PacketRecords>>,
    units: io::Result<()>,
}

/// The file is gone with its first error.
type Trace = io::Result<QlogFile<Writer>>;

impl Recording {
    pub(crate) const fn new(to: RecordTo) -> Self {
        Self { to, capture: None, trace: None, packets: None, units: Ok(()) }
    }

    /// Begins, before the first packet is sent.
    pub(crate) fn begin<M: Machine>(&mut self, cell: &impl fmt::Display, pair: &mut Pair<M>) {
        self.begin_in(cell, &mut pair.sim);
    }

    /// The same in a network of more than two hosts, of which the first sends.
    pub(crate) fn begin_in<M: Machine>(
        &mut self,
        cell: &impl fmt::Display,
        sim: &mut Simulation<M>,
    ) {
        let label = |host| Some(if host == CLIENT { "sender" } else { "receiver" });
        self.begin_among(cell, sim, label);
    }

    /// The same where there are more hosts than two: those are traced that have a label.
    pub(crate) fn begin_among<M: Machine>(
        &mut self,
        cell: &impl fmt::Display,
        sim: &mut Simulation<M>,
        label: impl Fn(HostId) -> Option<&'static str> + Send + 'static,
    ) {
        let title = cell.to_string();
        if let Some(writer) = self.to.capture.take() {
            self.capture = Some(sim.capture(CaptureScope::AllLinks, &title, writer));
        }
        if let Some(file) = self.to.packets.take() {
            self.packets = Some(PacketRecords::begin(sim.network_mut(), file));
        }
        if let Some(writer) = self.to.trace.take() {
            let trace = Arc::new(Mutex::new(QlogFile::new(writer, &title, None)));
            self.trace = Some(Arc::clone(&trace));
            sim.trace(move |host, record| {
                if let Some(label) = label(host) {
                    write(&trace, label, &record);
                }
            });
        }
    }

    /// What became of all units, where that is wanted.
    pub(crate) fn units(&mut self, all: impl FnOnce() -> Vec<UnitRecord>) {
        if let Some(file) = self.to.units.take() {
            self.units = write_units(all(), file);
        }
    }

    /// Ends it, and tells whether all could be written.
    pub(crate) fn end(self) -> io::Result<()> {
        if let Some(capture) = self.capture {
            capture?.finish()?.flush()?;
        }
        if let Some(packets) = self.packets {
            packets?.finish()?;
        }
        self.units?;
        let Some(trace) = self.trace else { return Ok(()) };
        let mut trace = trace.lock().unwrap_or_else(PoisonError::into_inner);
        match &mut *trace {
            Ok(file) => file.flush(),
            Err(error) => Err(std::mem::replace(error, io::ErrorKind::Other.into())),
        }
    }
}

fn write(trace: &Mutex<Trace>, label: &str, record: &TraceRecord) {
    let mut trace = trace.lock().unwrap_or_else(PoisonError::into_inner);
    if let Ok(file) = &mut *trace
        && let Err(error) = file.record(label, record)
    {
        *trace = Err(error);
    }
}

impl fmt::Debug for Recording {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Recording").finish_non_exhaustive()
    }
}
