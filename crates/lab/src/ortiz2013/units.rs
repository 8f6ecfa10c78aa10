//! The units of a cell's video as a table: what each needed, and what became of it.

use std::io;
use std::time::Duration;

use anabranch_sansio::Time;

use super::cell::{Cell, Setup};
use super::measure::Arrivals;
use super::strategy::Strategy;
use crate::records::{Cell as Value, Column, Kind, Table, TableFile};
use crate::svc::{Layer, VideoPacket};

const COLUMNS: [Column; 10] = [
    Column::required("frame", Kind::Whole),
    Column::required("layer", Kind::Text),
    Column::required("bytes", Kind::Whole),
    Column::required("packets", Kind::Whole),
    Column::required("arrived", Kind::Whole),
    Column::optional("sent_s", Kind::Real),
    Column::optional("deadline_s", Kind::Real),
    Column::optional("completed_s", Kind::Real),
    Column::optional("delay_s", Kind::Real),
    Column::required("decodable", Kind::Truth),
];

/// A layer of a frame.
#[derive(Debug, Clone, Copy, Default)]
struct Unit {
    bytes: u32,
    packets: u32,
    arrived: u32,
    sent: Option<Time>,
    last: Option<Time>,
}

/// A row for each layer of each frame.
pub(super) fn write(
    cell: &Cell,
    setup: &Setup,
    arrivals: &Arrivals,
    file: TableFile,
) -> io::Result<()> {
    let mut table = Table::new(&COLUMNS, file)?;
    let sent: Vec<_> = setup.packets.iter().zip(arrivals).collect();
    for frame in sent.chunk_by(|(a, _), (b, _)| a.frame == b.frame) {
        let layers = [Layer::Base, Layer::Enhancement].map(|layer| unit(setup, layer, frame));
        let [base, enhancement] = layers;
        // The reference decoder gives no picture when a part of a layer is missing.
        let is_base = base.is_whole() && (enhancement.is_whole() || enhancement.arrived == 0);
        let decodable = [is_base, base.is_whole() && enhancement.is_whole()];
        let number = frame.first().map_or(0, |(packet, _)| packet.frame);
        let named = [Layer::Base, Layer::Enhancement].into_iter().zip(layers).zip(decodable);
        for ((layer, unit), is_decodable) in named.filter(|((_, unit), _)| unit.packets > 0) {
            table.push(&unit.row(number, layer, cell.lifetime(setup, layer), is_decodable))?;
        }
    }
    table.finish()
}

fn unit(setup: &Setup, of: Layer, frame: &[(&VideoPacket, &Option<Time>)]) -> Unit {
    let start = setup.values().start();
    let mut unit = Unit::default();
    for (packet, arrival) in frame.iter().filter(|(packet, _)| packet.layer == of) {
        unit.bytes += packet.len;
        unit.packets += 1;
        unit.sent.get_or_insert(packet.sent_at(start));
        unit.arrived += u32::from(arrival.is_some());
        unit.last = unit.last.max(**arrival);
    }
    unit
}

impl Unit {
    const fn is_whole(&self) -> bool {
        self.arrived == self.packets
    }

    fn row(
        &self,
        frame: usize,
        layer: Layer,
        lifetime: Option<Duration>,
        is_decodable: bool,
    ) -> [Value<'static>; COLUMNS.len()] {
        let at = |time: Option<Time>| time.map_or(Value::None, |at| Value::Real(at.as_secs_f64()));
        let completed = self.last.filter(|_| self.is_whole());
        let delay = completed.zip(self.sent).map(|(last, sent)| last.saturating_since(sent));
        let deadline = self.sent.zip(lifetime).map(|(sent, lifetime)| sent + lifetime);
        let layer = match layer {
            Layer::Base => "base",
            Layer::Enhancement => "enhancement",
        };
        [
            Value::Whole(frame as i64),
            Value::Text(layer),
            Value::whole(self.bytes),
            Value::whole(self.packets),
            Value::whole(self.arrived),
            at(self.sent),
            at(deadline),
            at(completed),
            delay.map_or(Value::None, |delay| Value::Real(delay.as_secs_f64())),
            Value::Truth(is_decodable),
        ]
    }
}

impl Cell {
    /// For how long a layer is sent; none where it is sent until it arrives, or once.
    fn lifetime(&self, setup: &Setup, layer: Layer) -> Option<Duration> {
        match (self.strategy == Strategy::OURS, layer) {
            (false, _) => None,
            (true, Layer::Base) => Some(setup.values().latency),
            (true, Layer::Enhancement) => Some(setup.values().lifetime),
        }
    }
}
