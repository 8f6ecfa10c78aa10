//! Packets as tests see them and build them.

use std::sync::{Arc, Mutex, MutexGuard};

use anabranch_netsim::{Sighting, Verdict};
use anabranch_sansio::{FourTuple, Time};
use anabranch_wire::{
    ChecksumField, ChecksumMode, Chunk, ChunkType, CommonHeader, Data, Packet, PacketWriter, Sack,
    VerificationTag,
};

use crate::harness::{Duo, Side};

/// A packet that somebody sent.
#[derive(Debug, Clone)]
pub(crate) struct Sent {
    pub(crate) at: Time,
    /// As its sender sees it.
    pub(crate) path: FourTuple,
    pub(crate) bytes: Vec<u8>,
}

impl Sent {
    /// A checksum of zero says that there is none (RFC 9653).
    pub(crate) fn packet(&self) -> Packet<'_> {
        let mode = match Packet::has_zero_checksum(&self.bytes) {
            true => ChecksumMode::Ignore,
            false => ChecksumMode::Verify,
        };
        Packet::decode(&self.bytes, mode).expect("what is sent can be read")
    }

    pub(crate) fn tag(&self) -> VerificationTag {
        self.packet().header.verification_tag
    }

    pub(crate) fn chunks(&self) -> Vec<Chunk<'_>> {
        self.packet().chunks().map(|chunk| chunk.expect("what is sent can be read")).collect()
    }

    pub(crate) fn types(&self) -> Vec<ChunkType> {
        self.chunks().iter().map(Chunk::ty).collect()
    }

    pub(crate) fn has(&self, ty: ChunkType) -> bool {
        self.types().contains(&ty)
    }

    pub(crate) fn data(&self) -> Vec<Data<'_>> {
        let data = |chunk| if let Chunk::Data(data) = chunk { Some(data) } else { None };
        self.chunks().into_iter().filter_map(data).collect()
    }

    pub(crate) fn sack(&self) -> Option<Sack<'_>> {
        let sack = |chunk| if let Chunk::Sack(sack) = chunk { Some(sack) } else { None };
        self.chunks().into_iter().find_map(sack)
    }
}

/// Writes a packet.
pub(crate) fn packet(
    ports: (u16, u16),
    verification_tag: VerificationTag,
    chunks: &[Chunk<'_>],
) -> Vec<u8> {
    let (source_port, destination_port) = ports;
    let header = CommonHeader { source_port, destination_port, verification_tag };
    let mut bytes = Vec::new();
    let mut writer = PacketWriter::new(&mut bytes, header);
    chunks.iter().for_each(|chunk| writer.push(chunk));
    writer.finish(ChecksumField::Fill);
    bytes
}

/// Writes a packet around bytes that need not be chunks.
pub(crate) fn packet_of_bytes(
    (source, destination): (u16, u16),
    tag: VerificationTag,
    chunks: &[u8],
) -> Vec<u8> {
    let mut bytes = Vec::new();
    bytes.extend(source.to_be_bytes());
    bytes.extend(destination.to_be_bytes());
    bytes.extend(tag.0.to_be_bytes());
    bytes.extend([0; 4]);
    bytes.extend(chunks);
    let checksum = crc32c(&bytes).to_le_bytes();
    bytes[8..12].copy_from_slice(&checksum);
    bytes
}

/// CRC32c bit by bit (RFC 9260 appendix A).
fn crc32c(bytes: &[u8]) -> u32 {
    let mut crc = u32::MAX;
    for byte in bytes {
        crc ^= u32::from(*byte);
        for _ in 0..8 {
            crc = if crc & 1 == 1 { (crc >> 1) ^ 0x82f6_3b78 } else { crc >> 1 };
        }
    }
    !crc
}

/// Sees every packet that either side of a pair sends, also those that get lost.
pub(crate) struct Wiretap(Arc<Mutex<Vec<(Side, Sent)>>>);

impl Wiretap {
    pub(crate) fn on(duo: &mut Duo) -> Self {
        let seen = Arc::new(Mutex::new(Vec::new()));
        let log = Arc::clone(&seen);
        let observe = move |at: Time, sighting: Sighting<'_>| {
            let Sighting::Sent { host, packet } = sighting else { return };
            let sent = Sent { at, path: packet.path, bytes: packet.bytes.clone() };
            let mut log = log.lock().expect("no other test panicked with it");
            log.push((side_of(host), sent));
        };
        duo.pair.sim.network_mut().add_observer(observe);
        Self(seen)
    }

    /// All packets of a side that hold such a chunk.
    pub(crate) fn of(&self, side: Side, ty: ChunkType) -> Vec<Sent> {
        let is_meant = |(from, sent): &&(Side, Sent)| *from == side && sent.has(ty);
        self.seen().iter().filter(is_meant).map(|(_, sent)| sent.clone()).collect()
    }

    /// All packets of a side.
    pub(crate) fn of_all(&self, side: Side) -> Vec<Sent> {
        let seen = self.seen();
        seen.iter().filter(|(from, _)| *from == side).map(|(_, sent)| sent.clone()).collect()
    }

    /// When a side sent such chunks, in milliseconds.
    pub(crate) fn times(&self, side: Side, ty: ChunkType) -> Vec<u64> {
        self.of(side, ty).iter().map(|sent| sent.at.as_millis()).collect()
    }

    /// Who sent which chunks, packet by packet.
    pub(crate) fn exchange(&self) -> Vec<(Side, Vec<ChunkType>)> {
        self.seen().iter().map(|(side, sent)| (*side, sent.types())).collect()
    }

    /// Forgets what was seen so far.
    pub(crate) fn clear(&self) {
        self.seen().clear();
    }

    fn seen(&self) -> MutexGuard<'_, Vec<(Side, Sent)>> {
        self.0.lock().expect("no other test panicked with it")
    }
}

/// Loses the packets that `is_lost` picks, from now on.
pub(crate) fn lose(duo: &mut Duo, mut is_lost: impl FnMut(Side, &Sent) -> bool + Send + 'static) {
    duo.pair.sim.set_filter(move |at, host, packet| {
        let sent = Sent { at, path: packet.path, bytes: packet.bytes.clone() };
        if is_lost(side_of(host), &sent) { Verdict::Drop } else { Verdict::Pass }
    });
}

/// Loses the first `count` packets of a side that hold such a chunk.
pub(crate) fn lose_first(duo: &mut Duo, side: Side, ty: ChunkType, count: u32) {
    let mut left = count;
    lose(duo, move |from, sent| {
        let is_lost = from == side && sent.has(ty) && left > 0;
        left -= u32::from(is_lost);
        is_lost
    });
}

fn side_of(host: anabranch_netsim::HostId) -> Side {
    if host == anabranch_netsim::CLIENT { Side::Client } else { Side::Server }
}
