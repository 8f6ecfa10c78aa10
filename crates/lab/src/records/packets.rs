//! [`PacketRecords`]: every packet of a network, a row for each piece of data and link.

use std::collections::BTreeMap;
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anabranch_netsim::{ElementId, Network, Observer, Packet, Sighting};
use anabranch_sansio::Time;
use bytes::Bytes;

use super::decode::{Contents, InUdp, Piece};
use super::file::TableFile;
use super::table::{Cell, Column, Kind, Rows, Table};

/// The columns of a row of packets, the last two where flows are told apart.
pub const PACKET_COLUMNS: [Column; 19] = [
    ("packet", Kind::Whole),
    ("sent_s", Kind::Real),
    ("queued_s", Kind::Real),
    ("left_s", Kind::Real),
    ("outcome", Kind::Text),
    ("link", Kind::Text),
    ("direction", Kind::Text),
    ("protocol", Kind::Text),
    ("ip_bytes", Kind::Whole),
    ("chunk", Kind::Text),
    ("stream", Kind::Whole),
    ("tsn", Kind::Whole),
    ("message", Kind::Whole),
    ("sequence", Kind::Whole),
    ("ssrc", Kind::Whole),
    ("payload_bytes", Kind::Whole),
    ("repeated", Kind::Truth),
    ("flow", Kind::Text),
    ("path", Kind::Whole),
];
const SHARED_COLUMNS: usize = 17;

/// What a direction's link is called behind the other's name.
const BACK: &str = " back";

/// Packets under way that something is known of; the oldest is forgotten first.
const REPEATING_MAX: usize = 1 << 16;
/// Associations and connections that are told apart; the first is forgotten first.
const NUMBERINGS_MAX: usize = 1 << 16;

/// Records all packets of a network from when it begins, each when it leaves a link or is dropped.
#[derive(Clone)]
pub struct PacketRecords(Arc<Mutex<Recorder>>);

/// Tells whose a packet is.
pub(crate) type Owners = Box<dyn Fn(&Packet) -> Option<Owner> + Send>;

/// Whose a packet is.
pub(crate) struct Owner {
    /// The flow's name.
    pub(crate) flow: Bytes,
    /// Which of its paths, from one.
    pub(crate) path: u8,
    /// What UDP carries there, if that is known.
    pub(crate) in_udp: Option<InUdp>,
}

struct Recorder {
    /// Gone with the first error, or when it is finished.
    rows: io::Result<Box<dyn Rows>>,
    links: BTreeMap<ElementId, Place>,
    sending: Sending,
    owners: Option<Owners>,
}

/// A link, as the table names it.
struct Place {
    link: Bytes,
    direction: &'static str,
}

/// What is sent for the first time and what again, in the order of sending.
#[derive(Default)]
struct Sending {
    /// The number behind the highest that was sent.
    next: BTreeMap<u64, u32>,
    /// Packets with something that was sent before: a bit for each piece.
    repeating: BTreeMap<u64, u128>,
}

impl PacketRecords {
    /// Begins, with all links that the network has by now.
    ///
    /// # Errors
    /// The file's.
    pub fn begin(network: &mut Network, file: TableFile) -> io::Result<Self> {
        let table = Table::new(&PACKET_COLUMNS[..SHARED_COLUMNS], file)?;
        Ok(Self::begin_among(network, Box::new(table), None))
    }

    /// The same where flows may be told apart.
    pub(crate) fn begin_among(
        network: &mut Network,
        rows: Box<dyn Rows>,
        owners: Option<Owners>,
    ) -> Self {
        let place = |name: &str| match name.strip_suffix(BACK) {
            Some(link) => {
                Place { link: Bytes::copy_from_slice(link.as_bytes()), direction: "backward" }
            }
            None => Place { link: Bytes::copy_from_slice(name.as_bytes()), direction: "forward" },
        };
        let links = network.links().map(|(id, name, _)| (id.into(), place(name))).collect();
        let recorder = Recorder { rows: Ok(rows), links, sending: Sending::default(), owners };
        let records = Self(Arc::new(Mutex::new(recorder)));
        network.add_observer(records.clone());
        records
    }

    /// Ends it: then a file has its name.
    ///
    /// # Errors
    /// The first that there was; then there is no file.
    pub fn finish(self) -> io::Result<()> {
        let ended = Err(io::Error::other("finished already"));
        std::mem::replace(&mut self.lock().rows, ended)?.finish()
    }

    fn lock(&self) -> MutexGuard<'_, Recorder> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl std::fmt::Debug for PacketRecords {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.debug_struct("PacketRecords").finish_non_exhaustive()
    }
}

impl Observer for PacketRecords {
    fn observe(&mut self, now: Time, sighting: Sighting<'_>) {
        let mut recorder = self.lock();
        match sighting {
            Sighting::Sent { packet, .. } => {
                let contents = recorder.contents(packet, recorder.owner(packet).as_ref());
                recorder.sending.on_sent(packet, &contents);
            }
            Sighting::Passed { element, packet } => {
                recorder.record(now, element, "delivered", packet);
            }
            Sighting::Dropped { element, cause, packet } => {
                recorder.record(now, element, cause.name(), packet);
                recorder.sending.on_gone(packet);
            }
            Sighting::Received { packet, .. } | Sighting::Unrouted { packet } => {
                recorder.sending.on_gone(packet);
            }
        }
    }
}

impl Sending {
    fn on_sent(&mut self, packet: &Packet, contents: &Contents) {
        let Some(numbering) = contents.numbering else { return };
        let mut repeated = 0;
        for (index, piece) in contents.pieces.iter().enumerate() {
            let Some((first, behind)) = piece.numbers() else { continue };
            let next = self.next.entry(numbering).or_insert(first);
            // RFC 9260 section 1.6 and RFC 9293 section 3.4 count modulo 2^32.
            if (first.wrapping_sub(*next) as i32) < 0 {
                repeated |= 1_u128.checked_shl(index as u32).unwrap_or_default();
            }
            if (behind.wrapping_sub(*next) as i32) > 0 {
                *next = behind;
            }
        }
        if repeated != 0 {
            self.repeating.insert(packet.journey.number, repeated);
        }
        if self.repeating.len() > REPEATING_MAX {
            self.repeating.pop_first();
        }
        if self.next.len() > NUMBERINGS_MAX {
            self.next.pop_first();
        }
    }

    fn on_gone(&mut self, packet: &Packet) {
        self.repeating.remove(&packet.journey.number);
    }

    fn is_repeated(&self, packet: &Packet, index: usize) -> bool {
        let repeated = self.repeating.get(&packet.journey.number).copied().unwrap_or_default();
        repeated.checked_shr(index as u32).unwrap_or_default() & 1 == 1
    }
}

impl Recorder {
    fn owner(&self, packet: &Packet) -> Option<Owner> {
        self.owners.as_ref().and_then(|owners| owners(packet))
    }

    fn contents(&self, packet: &Packet, owner: Option<&Owner>) -> Contents {
        Contents::of(packet, owner.and_then(|owner| owner.in_udp))
    }

    fn record(&mut self, now: Time, element: ElementId, outcome: &'static str, packet: &Packet) {
        let owner = self.owner(packet);
        let contents = self.contents(packet, owner.as_ref());
        let columns = if self.owners.is_some() { PACKET_COLUMNS.len() } else { SHARED_COLUMNS };
        let (Ok(rows), Some(place)) = (&mut self.rows, self.links.get(&element)) else { return };
        let empty = [Piece::default()];
        let pieces = if contents.pieces.is_empty() { &empty[..] } else { &contents.pieces };
        for (index, piece) in pieces.iter().enumerate() {
            let is_repeated = || self.sending.is_repeated(packet, index);
            let repeated = piece.numbers().map(|_| is_repeated());
            let mut row = row(now, place, outcome, packet, contents.protocol, piece, repeated);
            if let Some(Owner { flow, path, .. }) = &owner {
                let [.., name, number] = &mut row;
                (*name, *number) = (Cell::Text(flow.clone()), Cell::whole(*path));
            }
            if let Err(error) = rows.push(&row[..columns]) {
                self.rows = Err(error);
                return;
            }
        }
    }
}

fn row(
    now: Time,
    place: &Place,
    outcome: &'static str,
    packet: &Packet,
    protocol: &'static str,
    piece: &Piece,
    repeated: Option<bool>,
) -> [Cell; PACKET_COLUMNS.len()] {
    let text = |text: &'static str| Cell::Text(Bytes::from_static(text.as_bytes()));
    let number = |number: Option<u32>| number.map_or(Cell::None, Cell::whole);
    let journey = packet.journey;
    [
        Cell::Whole(journey.number as i64),
        Cell::Real(journey.entered.as_secs_f64()),
        Cell::Real(journey.queued().as_secs_f64()),
        Cell::Real(now.as_secs_f64()),
        text(outcome),
        Cell::Text(place.link.clone()),
        text(place.direction),
        text(protocol),
        Cell::Whole(packet.ip_len() as i64),
        piece.chunk.map_or(Cell::None, text),
        number(piece.stream.map(u32::from)),
        number(piece.tsn),
        number(piece.message),
        piece.sequence.map_or(Cell::None, |number| Cell::Whole(number as i64)),
        number(piece.ssrc),
        number(piece.payload),
        repeated.map_or(Cell::None, Cell::Truth),
        Cell::None,
        Cell::None,
    ]
}
