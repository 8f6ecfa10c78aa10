//! [`Frames`]: what became of every unit of media, as a table.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_media::{Class, Layer, Unit};
use anabranch_sansio::Time;
use bytes::Bytes;

use super::AFTER;
use crate::records::{Cell, Column, Kind, Rows};

/// The columns of a row of frames: a layer of a picture of a media session.
pub const FRAME_COLUMNS: [Column; 10] = [
    ("flow", Kind::Text),
    ("frame", Kind::Whole),
    ("layer", Kind::Whole),
    ("class", Kind::Text),
    ("bytes", Kind::Whole),
    ("ready_s", Kind::Real),
    ("deadline_s", Kind::Real),
    ("completed_s", Kind::Real),
    ("delay_s", Kind::Real),
    ("outcome", Kind::Text),
];

/// All units of media sessions, a row for each once nothing can become of it any more.
pub(super) struct Frames {
    /// Gone with the first error, or when it is finished.
    rows: io::Result<Box<dyn Rows>>,
    waiting: VecDeque<Row>,
}

/// A unit on its way.
struct Row {
    flow: Bytes,
    frame: u64,
    layer: Layer,
    class: Class,
    bytes: usize,
    ready: Time,
    deadline: Time,
    completed: Option<Time>,
    was_late: bool,
}

/// The units of one flow.
#[derive(Clone)]
pub(super) struct FlowFrames {
    flow: Bytes,
    latency: Duration,
    frames: Arc<Mutex<Frames>>,
}

impl Frames {
    pub(super) fn begin(rows: Box<dyn Rows>) -> Arc<Mutex<Self>> {
        Arc::new(Mutex::new(Self { rows: Ok(rows), waiting: VecDeque::new() }))
    }

    /// Ends it: then a file has its name.
    pub(super) fn finish(frames: &Mutex<Self>) -> io::Result<()> {
        let mut frames = frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.write_until(None);
        let ended = Err(io::Error::other("finished already"));
        std::mem::replace(&mut frames.rows, ended)?.finish()
    }

    /// Writes the rows of units whose time was over before `now`; without it, all.
    fn write_until(&mut self, now: Option<Time>) {
        let is_over = |row: &mut Row| now.is_none_or(|now| row.deadline + AFTER < now);
        while let Some(row) = self.waiting.pop_front_if(is_over) {
            let Ok(rows) = &mut self.rows else { return };
            if let Err(error) = rows.push(&row.cells()) {
                self.rows = Err(error);
            }
        }
    }
}

impl FlowFrames {
    pub(super) fn new(frames: &Arc<Mutex<Frames>>, flow: &str, latency: Duration) -> Self {
        let flow = Bytes::copy_from_slice(flow.as_bytes());
        Self { flow, latency, frames: Arc::clone(frames) }
    }

    /// A unit is ready to be sent.
    pub(super) fn on_ready(&self, unit: &Unit) {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.write_until(Some(unit.at));
        frames.waiting.push_back(Row {
            flow: self.flow.clone(),
            frame: unit.frame,
            layer: unit.layer,
            class: unit.class,
            bytes: unit.bytes.len(),
            ready: unit.at,
            deadline: unit.at + self.latency,
            completed: None,
            was_late: false,
        });
    }

    /// The last part of a unit came; `was_late`: some part of it came after its time.
    pub(super) fn on_complete(&self, frame: u64, layer: Layer, at: Time, was_late: bool) {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it =
            |row: &&mut Row| (row.frame, row.layer) == (frame, layer) && row.flow == self.flow;
        if let Some(row) = frames.waiting.iter_mut().find(is_it) {
            (row.completed, row.was_late) = (Some(at), was_late);
        }
    }
}

impl fmt::Debug for FlowFrames {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("FlowFrames").field("flow", &self.flow).finish_non_exhaustive()
    }
}

impl Row {
    fn cells(&self) -> [Cell; FRAME_COLUMNS.len()] {
        let text = |text: &'static str| Cell::Text(Bytes::from_static(text.as_bytes()));
        let at = |time: Time| Cell::Real(time.as_secs_f64());
        let delay = self.completed.map(|at| at.saturating_since(self.ready).as_secs_f64());
        let class = match self.class {
            Class::KeyFrame => "key frame",
            Class::Reference => "reference",
            Class::Disposable | Class::Tables | Class::Audio | Class::Data | Class::Padding => {
                "disposable"
            }
        };
        let outcome = match (self.completed, self.was_late) {
            (None, _) => "missing",
            (Some(_), true) => "late",
            (Some(_), false) => "in time",
        };
        [
            Cell::Text(self.flow.clone()),
            Cell::Whole(self.frame as i64),
            Cell::whole(self.layer.0),
            text(class),
            Cell::Whole(self.bytes as i64),
            at(self.ready),
            at(self.deadline),
            self.completed.map_or(Cell::None, at),
            delay.map_or(Cell::None, Cell::Real),
            text(outcome),
        ]
    }
}
