//! [`Relay`]: the transport stream of a channel as it came, for players.

use std::collections::VecDeque;
use std::sync::{Mutex, MutexGuard, PoisonError};

use anabranch_media::ts::{PACKET_LEN, Packet, Pid, Role, Tables};
use bytes::{Bytes, BytesMut};
use tokio::sync::Notify;

/// Packets that are kept: 16 MB, ten seconds of 12 Mbit/s.
const PACKETS_MAX: usize = 85_000;

/// Packets that a player gets at once.
const CHUNK_PACKETS: usize = 348;

/// Different tables that a player gets first.
const TABLES_MAX: usize = 16;

/// Keeps the last seconds, once for all players. A player costs a position in it; one that is too
/// slow goes on at the last key frame.
#[derive(Debug, Default)]
pub(super) struct Relay {
    kept: Mutex<Kept>,
    came: Notify,
}

#[derive(Debug)]
struct Kept {
    /// Why nothing comes.
    obstacle: Option<Obstacle>,
    /// Counts how often another stream began.
    stream: u64,
    packets: VecDeque<Packet>,
    /// The number of the first one.
    start: u64,
    /// Numbers of the last key frame's first packet, and of the one before.
    entries: (Option<u64>, Option<u64>),
    tables: Tables,
    /// The last packet of each table.
    last_tables: Vec<Packet>,
    is_over: bool,
}

/// Why a channel has no packets.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Obstacle {
    /// Nothing comes of it; viewers are told so in these words.
    OffAir(&'static str),
    /// It comes as something else than a transport stream.
    NoStream,
}

impl Default for Kept {
    fn default() -> Self {
        Self {
            obstacle: Some(Obstacle::OffAir("nothing has come of it yet")),
            stream: 0,
            packets: VecDeque::new(),
            start: 0,
            entries: (None, None),
            tables: Tables::default(),
            last_tables: Vec::new(),
            is_over: false,
        }
    }
}

/// A player, and how far it is.
#[derive(Debug, Clone, Copy)]
pub(super) struct Reader {
    stream: u64,
    next: Option<u64>,
}

impl Relay {
    pub(super) fn push(&self, packets: &[Packet]) {
        let mut kept = self.kept();
        kept.obstacle = None;
        for packet in packets {
            kept.push(*packet);
        }
        drop(kept);
        self.came.notify_waiters();
    }

    /// A key frame begins at this packet.
    pub(super) fn set_entry(&self, number: u64) {
        self.kept().set_entry(number);
        self.came.notify_waiters();
    }

    /// Another stream begins.
    pub(super) fn begin(&self) {
        let mut kept = self.kept();
        let obstacle = kept.obstacle.take();
        *kept = Kept { obstacle, stream: kept.stream + 1, ..Kept::default() };
    }

    /// No packets come, until some do. What is no stream is none when it is off air, either.
    pub(super) fn stop(&self, obstacle: Obstacle) {
        let mut kept = self.kept();
        if kept.obstacle != Some(Obstacle::NoStream) {
            kept.obstacle = Some(obstacle);
        }
    }

    /// Why there are no packets, if so.
    pub(super) fn obstacle(&self) -> Option<Obstacle> {
        self.kept().obstacle.clone()
    }

    /// The channel is gone.
    pub(super) fn end(&self) {
        self.kept().is_over = true;
        self.came.notify_waiters();
    }

    /// A player that begins at the last key frame.
    pub(super) fn reader(&self) -> Reader {
        Reader { stream: self.kept().stream, next: None }
    }

    /// The next packets for a player; none at the end.
    pub(super) async fn read(&self, reader: &mut Reader) -> Option<Bytes> {
        loop {
            let came = self.came.notified();
            tokio::pin!(came);
            // What comes from here on is not missed.
            came.as_mut().enable();
            {
                let kept = self.kept();
                if kept.is_over {
                    return None;
                }
                if let Some(bytes) = kept.read(reader) {
                    return Some(bytes);
                }
            }
            came.await;
        }
    }

    /// What is kept stays sound even if someone panicked while holding it.
    fn kept(&self) -> MutexGuard<'_, Kept> {
        self.kept.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Kept {
    fn push(&mut self, packet: Packet) {
        self.tables.handle_packet(&packet);
        let pid = packet.pid();
        let is_map = self.tables.role(pid) == Role::Tables && !pid.is_reserved_for_tables();
        if packet.payload_unit_start() && (pid == Pid::PAT || is_map) {
            self.last_tables.retain(|table| table.pid() != pid);
            if self.last_tables.len() < TABLES_MAX {
                self.last_tables.push(packet);
            }
        }
        self.packets.push_back(packet);
        if self.packets.len() > PACKETS_MAX {
            self.packets.pop_front();
            self.start += 1;
        }
    }

    fn set_entry(&mut self, number: u64) {
        let (last, _) = self.entries;
        self.entries = (Some(number), last);
        // Who is a little behind still finds what was before the last key frame.
        while self.start < last.unwrap_or(0) && self.packets.pop_front().is_some() {
            self.start += 1;
        }
    }

    fn read(&self, reader: &mut Reader) -> Option<Bytes> {
        if reader.stream != self.stream {
            *reader = Reader { stream: self.stream, next: None };
        }
        let mut bytes = BytesMut::new();
        let next = match reader.next.filter(|next| *next >= self.start) {
            Some(next) => next,
            None => {
                let entry = self.entries.0.filter(|entry| *entry >= self.start)?;
                // The program association table, then what it names.
                for is_pat in [true, false] {
                    let tables = self.last_tables.iter();
                    tables
                        .filter(|table| (table.pid() == Pid::PAT) == is_pat)
                        .for_each(|table| bytes.extend_from_slice(table.bytes()));
                }
                entry
            }
        };
        let skip = usize::try_from(next - self.start).ok()?;
        bytes.reserve(CHUNK_PACKETS * PACKET_LEN);
        let packets = self.packets.iter().skip(skip).take(CHUNK_PACKETS);
        let count = packets.map(|packet| bytes.extend_from_slice(packet.bytes())).count();
        reader.next = Some(next + count as u64);
        (!bytes.is_empty()).then(|| bytes.freeze())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const STREAM: &[u8] = include_bytes!("../../../media/tests/fixtures/h264_aac.ts");

    fn packets() -> Vec<Packet> {
        let (packets, _) = STREAM.as_chunks::<PACKET_LEN>();
        packets.iter().filter_map(|bytes| Packet::new(*bytes)).collect()
    }

    #[tokio::test]
    async fn a_player_begins_with_the_tables_and_the_last_key_frame() {
        let (relay, packets) = (Relay::default(), packets());
        relay.push(&packets[..200]);
        relay.set_entry(100);
        let mut reader = relay.reader();
        let first = relay.read(&mut reader).await.unwrap();
        let (got, rest) = first.as_chunks::<PACKET_LEN>();
        assert_eq!((got.len(), rest.len()), (2 + 100, 0));
        let pids: Vec<_> = got.iter().filter_map(|it| Some(Packet::new(*it)?.pid())).collect();
        assert_eq!(pids[0], Pid::PAT);
        assert_eq!(&got[2], packets[100].bytes());
        relay.push(&packets[200..210]);
        let next = relay.read(&mut reader).await.unwrap();
        assert_eq!(
            next.as_ref(),
            packets[200..210].iter().flat_map(|it| *it.bytes()).collect::<Vec<_>>()
        );
        relay.end();
        assert_eq!(relay.read(&mut reader).await, None);
    }

    #[test]
    fn what_keeps_a_channel_from_players_is_known_until_packets_come() {
        let (relay, off_air) = (Relay::default(), Obstacle::OffAir("no camera"));
        assert!(matches!(relay.obstacle(), Some(Obstacle::OffAir(_))), "nothing has come yet");
        relay.push(&packets()[..1]);
        assert_eq!(relay.obstacle(), None);
        relay.stop(off_air.clone());
        relay.begin();
        assert_eq!(relay.obstacle(), Some(off_air.clone()), "another stream begins with a packet");
        relay.stop(Obstacle::NoStream);
        relay.stop(off_air);
        assert_eq!(relay.obstacle(), Some(Obstacle::NoStream));
    }

    #[tokio::test]
    async fn who_is_too_slow_goes_on_at_the_last_key_frame_and_memory_is_bounded() {
        let (relay, packets) = (Relay::default(), packets());
        relay.push(&packets[..10]);
        relay.set_entry(0);
        let mut slow = relay.reader();
        relay.read(&mut slow).await.unwrap();
        let mut pushed = 10;
        while pushed < 2 * PACKETS_MAX {
            relay.push(&packets);
            pushed += packets.len();
        }
        assert_eq!(relay.kept().packets.len(), PACKETS_MAX);
        relay.set_entry(pushed as u64 - 5);
        let bytes = relay.read(&mut slow).await.unwrap();
        assert_eq!(bytes.len(), (2 + 5) * PACKET_LEN);
    }
}
