//! [`Watch`]: what becomes of each slice on its way.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use anabranch_dccp::wire as dccp;
use anabranch_netsim::{Carrier, DropCause, Observer, Packet as IpPacket, Sighting};
use anabranch_sansio::{FourTuple, Time};
use anabranch_wire::{self as sctp, ChecksumMode, Chunk};

use super::measure::SliceRecord;
use super::network::{Flow, PORTS};

/// What a bundle puts before each datagram: its name and the datagram's number.
pub(super) const HEADER_LEN: usize = 12;

/// What is noted of a run.
#[derive(Debug)]
pub(super) struct Watched {
    flow: Flow,
    pub(super) slices: Vec<SliceRecord>,
    /// Packets of the video that the radio lost, and that queues had no room for.
    pub(super) lost_on_air: u64,
    pub(super) refused_by_queues: u64,
    /// Packets of its feedback that were lost on either way.
    pub(super) feedback_lost: u64,
    pub(super) feedback_sent: u64,
}

/// The same, where the network can tell of it.
#[derive(Clone)]
pub(super) struct Watch(Arc<Mutex<Watched>>);

impl Watch {
    pub(super) fn new(flow: Flow, slices: usize) -> Self {
        Self(Arc::new(Mutex::new(Watched {
            flow,
            slices: vec![SliceRecord::default(); slices],
            lost_on_air: 0,
            refused_by_queues: 0,
            feedback_lost: 0,
            feedback_sent: 0,
        })))
    }

    pub(super) fn lock(&self) -> MutexGuard<'_, Watched> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Observer for Watch {
    fn observe(&mut self, now: Time, sighting: Sighting<'_>) {
        self.lock().note(now, sighting);
    }
}

impl Watched {
    fn note(&mut self, now: Time, sighting: Sighting<'_>) {
        match sighting {
            Sighting::Sent { host, packet } if host == self.flow.sender => {
                match packet.carrier {
                    Carrier::Dccp => {
                        if let Some((number, connection)) = numbered(packet) {
                            let cell = self.cell_of(packet);
                            self.left(now, number, connection + cell);
                        }
                    }
                    // One association in the place of all connections.
                    Carrier::Sctp => {
                        let cell = self.cell_of(packet);
                        numbers(packet).into_iter().for_each(|it| self.left(now, it, cell));
                    }
                    Carrier::Tcp | Carrier::Udp => {}
                }
            }
            Sighting::Sent { host, .. } if host == self.flow.receiver => self.feedback_sent += 1,
            Sighting::Received { host, packet } if host == self.flow.receiver => {
                if let Some((number, _)) = numbered(packet) {
                    self.arrived(now, number);
                }
            }
            Sighting::Dropped { cause, packet, .. } => self.dropped(cause, packet),
            Sighting::Sent { .. }
            | Sighting::Received { .. }
            | Sighting::Passed { .. }
            | Sighting::Unrouted { .. } => {}
        }
    }

    /// By which cell of the sender's, counted from zero.
    fn cell_of(&self, packet: &IpPacket) -> u16 {
        let is_it = |path: &FourTuple| path.local.ip() == packet.path.local.ip();
        let cells = (0..).zip(self.flow.paths());
        cells.filter(|(_, path)| is_it(path)).map(|(cell, _)| cell).next().unwrap_or_default()
    }

    /// Sent for the first time, or again.
    fn left(&mut self, now: Time, number: usize, connection: u16) {
        if let Some(slice) = self.slices.get_mut(number) {
            slice.connection = connection;
            slice.sent.get_or_insert(now);
        }
    }

    pub(super) fn arrived(&mut self, now: Time, number: usize) {
        if let Some(slice) = self.slices.get_mut(number) {
            slice.arrived.get_or_insert(now);
        }
    }

    fn dropped(&mut self, cause: DropCause, packet: &IpPacket) {
        let source = packet.path.local.ip();
        if source == self.flow.path.remote.ip() {
            self.feedback_lost += 1;
        } else if self.flow.paths().any(|path| path.local.ip() == source) {
            if cause == DropCause::Queue {
                self.refused_by_queues += 1;
            } else {
                self.lost_on_air += 1;
            }
        }
    }
}

/// The number of the slice that a DCCP packet carries, and of its connection.
fn numbered(packet: &IpPacket) -> Option<(usize, u16)> {
    let protection = dccp::Protection::header(packet.path);
    let read = dccp::Packet::decode(protection, &packet.bytes).ok()?;
    let connection = read.source_port.wrapping_sub(PORTS.0);
    Some((number_of(read.data)?, connection))
}

/// The numbers of the slices that begin in an SCTP packet.
fn numbers(packet: &IpPacket) -> Vec<usize> {
    let Ok(read) = sctp::Packet::decode(&packet.bytes, ChecksumMode::Ignore) else {
        return Vec::new();
    };
    let number = |chunk| {
        let Ok(Chunk::Data(data)) = chunk else { return None };
        if data.beginning { number_of(data.payload) } else { None }
    };
    read.chunks().filter_map(number).collect()
}

/// The number that a bundle puts before each slice, and so do we with SCTP.
pub(super) fn number_of(payload: &[u8]) -> Option<usize> {
    let (header, _) = payload.split_first_chunk::<HEADER_LEN>()?;
    let (_, number) = header.split_last_chunk::<8>()?;
    usize::try_from(u64::from_be_bytes(*number)).ok()
}
