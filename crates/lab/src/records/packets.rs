//! [`PacketRecords`]: every packet of a network, a row for each piece of data and link.

use std::collections::{BTreeMap, VecDeque};
use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use super::decode::{Contents, InUdp, Piece};
use super::file::TableFile;
use super::table::{Cell, Column, Kind, Rows, Table};
use anabranch_netsim::{ElementId, Network, Observer, Packet, Sighting};
use anabranch_sansio::Time;

/// The columns of a row of packets, the last two where flows are told apart.
pub const PACKET_COLUMNS: [Column; 19] = [
    Column::required("packet", Kind::Whole),
    Column::required("sent_s", Kind::Real),
    Column::required("queued_s", Kind::Real),
    Column::required("left_s", Kind::Real),
    Column::required("outcome", Kind::Text),
    Column::required("link", Kind::Text),
    Column::required("direction", Kind::Text),
    Column::required("protocol", Kind::Text),
    Column::required("ip_bytes", Kind::Whole),
    Column::optional("chunk", Kind::Text),
    Column::optional("stream", Kind::Whole),
    Column::optional("tsn", Kind::Whole),
    Column::optional("message", Kind::Whole),
    Column::optional("sequence", Kind::Whole),
    Column::optional("ssrc", Kind::Whole),
    Column::optional("payload_bytes", Kind::Whole),
    Column::optional("repeated", Kind::Truth),
    Column::optional("flow", Kind::Text),
    Column::optional("path", Kind::Whole),
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

/// Tells whose packets are.
pub(crate) struct Owners {
    /// The names of all flows.
    pub(crate) flows: Vec<String>,
    pub(crate) of: OwnerOf,
}

/// Whose a packet is.
type OwnerOf = Box<dyn Fn(&Packet) -> Option<Owner> + Send>;

/// Whose a packet is.
#[derive(Clone, Copy)]
pub(crate) struct Owner {
    /// Which of the flows.
    pub(crate) flow: usize,
    /// Which of its paths, from one.
    pub(crate) path: u8,
    /// What UDP carries there, if that is known.
    pub(crate) in_udp: Option<InUdp>,
}

struct Recorder {
    /// Gone with the first error, or when it is finished.
    rows: io::Result<Box<dyn Rows>>,
    links: Links,
    sending: Sending,
    owners: Option<Owners>,
    /// Of the packet that is looked at.
    contents: Contents,
}

/// The links, in the order of their ids.
struct Links(Vec<(ElementId, Place)>);

/// A link, as the table names it.
struct Place {
    link: String,
    direction: &'static str,
}

/// What is sent for the first time and what again, in the order of sending.
#[derive(Default)]
struct Sending {
    /// The number behind the highest that was sent.
    next: BTreeMap<u64, u32>,
    /// Packets under way with something that was sent before, by their numbers.
    repeating: VecDeque<Repeating>,
}

/// A packet with something that was sent before.
struct Repeating {
    packet: u64,
    /// A bit for each piece.
    pieces: u128,
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
            Some(link) => Place { link: link.to_owned(), direction: "backward" },
            None => Place { link: name.to_owned(), direction: "forward" },
        };
        let links = network.links().map(|(id, name, _)| (id.into(), place(name)));
        let links = Links::new(links.collect());
        let (sending, contents) = (Sending::default(), Contents::default());
        let recorder = Recorder { rows: Ok(rows), links, sending, owners, contents };
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
                recorder.on_sent(packet);
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
            let repeating = Repeating { packet: packet.journey.number, pieces: repeated };
            match self.position(packet) {
                Ok(position) => self.repeating[position] = repeating,
                Err(position) => self.repeating.insert(position, repeating),
            }
        }
        if self.repeating.len() > REPEATING_MAX {
            self.repeating.pop_front();
        }
        if self.next.len() > NUMBERINGS_MAX {
            self.next.pop_first();
        }
    }

    fn on_gone(&mut self, packet: &Packet) {
        if let Ok(position) = self.position(packet) {
            self.repeating.remove(position);
        }
    }

    /// Where it is among those that repeat something, or where it would be.
    fn position(&self, packet: &Packet) -> Result<usize, usize> {
        let number = packet.journey.number;
        if self.repeating.back().is_none_or(|last| last.packet < number) {
            return Err(self.repeating.len());
        }
        self.repeating.binary_search_by_key(&number, |repeating| repeating.packet)
    }

    fn is_repeated(&self, packet: &Packet, index: usize) -> bool {
        let Ok(position) = self.position(packet) else { return false };
        self.repeating[position].pieces.checked_shr(index as u32).unwrap_or_default() & 1 == 1
    }
}

impl Links {
    fn new(mut links: Vec<(ElementId, Place)>) -> Self {
        links.sort_unstable_by_key(|(id, _)| *id);
        Self(links)
    }

    fn get(&self, element: ElementId) -> Option<&Place> {
        let position = self.0.binary_search_by_key(&element, |(id, _)| *id).ok()?;
        self.0.get(position).map(|(_, place)| place)
    }
}

impl Recorder {
    /// Looks at a packet, and returns whose it is.
    fn look_at(&mut self, packet: &Packet) -> Option<Owner> {
        let owner = self.owners.as_ref().and_then(|owners| (owners.of)(packet));
        self.contents.fill(packet, owner.and_then(|owner| owner.in_udp));
        owner
    }

    fn on_sent(&mut self, packet: &Packet) {
        self.look_at(packet);
        self.sending.on_sent(packet, &self.contents);
    }

    fn record(&mut self, now: Time, element: ElementId, outcome: &'static str, packet: &Packet) {
        let owner = self.look_at(packet);
        let columns = if self.owners.is_some() { PACKET_COLUMNS.len() } else { SHARED_COLUMNS };
        let (Ok(rows), Some(place)) = (&mut self.rows, self.links.get(element)) else { return };
        let Contents { protocol, pieces, .. } = &self.contents;
        let empty = [Piece::default()];
        let pieces = if pieces.is_empty() { &empty[..] } else { pieces };
        for (index, piece) in pieces.iter().enumerate() {
            let is_repeated = || self.sending.is_repeated(packet, index);
            let repeated = piece.numbers().map(|_| is_repeated());
            let mut row = row(now, place, outcome, packet, protocol, piece, repeated);
            if let (Some(owner), Some(owners)) = (owner, &self.owners) {
                let [.., name, number] = &mut row;
                *name = owners.flows.get(owner.flow).map_or(Cell::None, |flow| Cell::Text(flow));
                *number = Cell::whole(owner.path);
            }
            if let Err(error) = rows.push(&row[..columns]) {
                self.rows = Err(error);
                return;
            }
        }
    }
}

fn row<'a>(
    now: Time,
    place: &'a Place,
    outcome: &'static str,
    packet: &Packet,
    protocol: &'static str,
    piece: &Piece,
    repeated: Option<bool>,
) -> [Cell<'a>; PACKET_COLUMNS.len()] {
    let number = |number: Option<u32>| number.map_or(Cell::None, Cell::whole);
    let journey = packet.journey;
    [
        Cell::Whole(journey.number as i64),
        Cell::Real(journey.entered.as_secs_f64()),
        Cell::Real(journey.queued().as_secs_f64()),
        Cell::Real(now.as_secs_f64()),
        Cell::Text(outcome),
        Cell::Text(&place.link),
        Cell::Text(place.direction),
        Cell::Text(protocol),
        Cell::Whole(packet.ip_len() as i64),
        piece.chunk.map_or(Cell::None, Cell::Text),
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
