//! [`Frames`]: what became of every unit of media, as a table.

use std::collections::VecDeque;
use std::fmt;
use std::io;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use anabranch_media::ts::PACKET_LEN;
use anabranch_media::{Class, Unit};
use anabranch_sansio::Time;

use super::AFTER;
use super::stream::{StreamUnit, UnitKey};
use crate::records::{Cell, Column, Kind, Rows};

/// The columns of a row of frames: a unit of a media session, which is a layer of a picture, or
/// sound.
pub const FRAME_COLUMNS: [Column; 11] = [
    Column::required("flow", Kind::Text),
    Column::required("track", Kind::Whole),
    Column::required("frame", Kind::Whole),
    Column::required("layer", Kind::Whole),
    Column::required("class", Kind::Text),
    Column::required("bytes", Kind::Whole),
    Column::required("ready_s", Kind::Real),
    Column::required("deadline_s", Kind::Real),
    Column::optional("completed_s", Kind::Real),
    Column::optional("delay_s", Kind::Real),
    Column::required("outcome", Kind::Text),
];

/// All units of media sessions, a row for each once nothing can become of it any more.
pub(super) struct Frames {
    /// Gone with the first error, or when it is finished.
    rows: io::Result<Box<dyn Rows>>,
    waiting: VecDeque<Row>,
}

/// A unit on its way.
struct Row {
    flow: Arc<str>,
    offered: Offered,
    deadline: Time,
    completed: Option<Time>,
    was_late: bool,
}

/// A unit that is handed to a session.
pub(super) struct Offered {
    key: UnitKey,
    class: Class,
    bytes: u64,
    ready: Time,
}

impl Offered {
    pub(super) const fn unit(unit: &Unit) -> Self {
        let key = (unit.track, unit.frame, unit.layer);
        Self { key, class: unit.class, bytes: unit.bytes.len() as u64, ready: unit.at }
    }

    /// The same, ready at another time.
    pub(super) fn ready_at(self, ready: Time) -> Self {
        Self { ready, ..self }
    }

    /// One of a transport stream, whose last packet is ready.
    pub(super) const fn of_stream(unit: &StreamUnit, ready: Time) -> Self {
        let bytes = unit.packets * PACKET_LEN as u64;
        Self { key: unit.key, class: unit.class, bytes, ready }
    }
}

/// The units of one flow.
#[derive(Clone)]
pub(super) struct FlowFrames {
    flow: Arc<str>,
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
        Self { flow: flow.into(), latency, frames: Arc::clone(frames) }
    }

    /// A unit is ready to be sent.
    pub(super) fn on_ready(&self, offered: Offered) {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        frames.write_until(Some(offered.ready));
        let deadline = offered.ready + self.latency;
        let (completed, was_late) = (None, false);
        let flow = self.flow.clone();
        frames.waiting.push_back(Row { flow, offered, deadline, completed, was_late });
    }

    /// The last part of a unit came; `was_late`: some part of it came after its time.
    pub(super) fn on_complete(&self, key: UnitKey, at: Time, was_late: bool) {
        let mut frames = self.frames.lock().unwrap_or_else(PoisonError::into_inner);
        let is_it = |row: &&mut Row| row.offered.key == key && row.flow == self.flow;
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
    fn cells(&self) -> [Cell<'_>; FRAME_COLUMNS.len()] {
        let at = |time: Time| Cell::Real(time.as_secs_f64());
        let offered = &self.offered;
        let (track, frame, layer) = offered.key;
        let delay = self.completed.map(|at| at.saturating_since(offered.ready).as_secs_f64());
        let class = match offered.class {
            Class::KeyFrame => "key frame",
            Class::Reference => "reference",
            Class::Audio => "sound",
            Class::Data | Class::Tables => "data",
            Class::Disposable | Class::Padding => "disposable",
        };
        let outcome = match (self.completed, self.was_late) {
            (None, _) => "missing",
            (Some(_), true) => "late",
            (Some(_), false) => "in time",
        };
        [
            Cell::Text(&self.flow),
            Cell::whole(track.0),
            Cell::Whole(frame as i64),
            Cell::whole(layer.0),
            Cell::Text(class),
            Cell::Whole(offered.bytes as i64),
            at(offered.ready),
            at(self.deadline),
            self.completed.map_or(Cell::None, at),
            delay.map_or(Cell::None, Cell::Real),
            Cell::Text(outcome),
        ]
    }
}
