//! H.264 and AAC as a transport stream of constant rate, of which a reader can do without much:
//! a key frame each two seconds, and every other picture one that nothing is predicted from.

use std::ops::Range;
use std::time::Duration;

use anabranch_media::ts::{PACKET_LEN, Packet};
use anabranch_sansio::{Rate, Rng};

use super::harness::{STREAM, Stream};

/// That of the whole stream.
pub(super) const RATE: Rate = Rate::mbps(6);

/// From a picture to the next.
pub(super) const PICTURE: Duration = Duration::from_millis(40);

const PICTURES_PER_GROUP: u64 = 50;
const KEY_LEN: u64 = 150_000;
const PREDICTED_LEN: u64 = 26_000;
const DISPOSABLE_LEN: u64 = 27_000;
const SOUND_LEN: u64 = 640;

const PMT_PID: u16 = 0x1000;
const VIDEO_PID: u16 = 0x100;
const SOUND_PID: u16 = 0x101;

/// What a picture is predicted from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Kind {
    /// Nothing.
    Key,
    /// The one before of those that are no B pictures.
    P,
    /// The two around it; nothing is predicted from it.
    B,
}

/// A stream of so many seconds.
pub(super) struct Film {
    pub(super) packets: Vec<Packet>,
    /// The pictures in the order in which they are decoded, and their packets.
    pub(super) pictures: Vec<(Kind, Range<u64>)>,
    /// The packets of sound.
    pub(super) sound: Vec<Range<u64>>,
}

impl Film {
    pub(super) fn new(seconds: u64) -> Self {
        let mut muxer = Muxer::default();
        let mut rng = Rng::from_u64(1);
        let (mut pictures, mut sound) = (Vec::new(), Vec::new());
        for number in 0..seconds * 25 {
            if number.is_multiple_of(3) {
                muxer.put_tables();
            }
            let (kind, nal, len) = match number % PICTURES_PER_GROUP {
                0 => (Kind::Key, [0x65, 0x88], KEY_LEN),
                n if n % 2 == 1 => (Kind::P, [0x41, 0x9a], PREDICTED_LEN),
                _ => (Kind::B, [0x01, 0x9e], DISPOSABLE_LEN),
            };
            let len = rng.range(len * 7 / 10..len * 13 / 10) as usize;
            let start = [&[0, 0, 0, 1][..], &nal].concat();
            pictures.push((kind, muxer.put_unit(VIDEO_PID, 0xe0, number, &start, len)));
            let start = [0xff, 0xf1, 0x4c, 0x80];
            sound.push(muxer.put_unit(SOUND_PID, 0xc0, number, &start, SOUND_LEN as usize));
        }
        Self { packets: muxer.packets, pictures, sound }
    }

    /// The share of all bytes that is B pictures.
    pub(super) fn disposable_share(&self) -> f64 {
        let of_b = self.pictures.iter().filter(|(kind, _)| *kind == Kind::B);
        let packets: u64 = of_b.map(|(_, packets)| packets.end - packets.start).sum();
        packets as f64 / self.packets.len() as f64
    }
}

/// A film of so many seconds in its own time.
pub(super) fn stream(seconds: u64) -> Stream {
    let due = |n: usize| RATE.time_for((n * PACKET_LEN) as u64);
    let packets = Film::new(seconds).packets.into_iter();
    Stream::mpeg_ts(packets.enumerate().map(|(n, packet)| (due(n), packet)).collect())
}

#[derive(Default)]
struct Muxer {
    packets: Vec<Packet>,
    counters: [u8; 4],
}

impl Muxer {
    /// Those of a real stream with the same tracks.
    fn put_tables(&mut self) {
        for (counter, pid) in [(0, 0), (1, PMT_PID)] {
            let found = STREAM
                .as_chunks::<PACKET_LEN>()
                .0
                .iter()
                .find(|bytes| u16::from_be_bytes([bytes[1], bytes[2]]) & 0x1fff == pid);
            self.put(counter, *found.expect("tables"));
        }
    }

    /// An access unit in a PES packet; its packets.
    fn put_unit(&mut self, pid: u16, id: u8, number: u64, start: &[u8], len: usize) -> Range<u64> {
        let first = self.packets.len() as u64;
        let pts = (number + 2) * 3_600;
        let pts = [
            0x21 | (pts >> 29 & 0x0e) as u8,
            (pts >> 22) as u8,
            (pts >> 14) as u8 | 1,
            (pts >> 7) as u8,
            (pts << 1) as u8 | 1,
        ];
        let mut unit = [&[0, 0, 1, id, 0, 0, 0x80, 0x80, 5][..], &pts, start].concat();
        unit.resize(unit.len() + len, 0x55);
        if id == 0xc0 {
            let len = (unit.len() - 6) as u16;
            unit[4..6].copy_from_slice(&len.to_be_bytes());
        }
        for (n, payload) in unit.chunks(PACKET_LEN - 4).enumerate() {
            let [high, low] = pid.to_be_bytes();
            let begins = if n == 0 { 0x40 } else { 0 };
            let mut packet = vec![0x47, begins | high, low, 0x10];
            let stuffing = PACKET_LEN - 4 - payload.len();
            if stuffing > 0 {
                packet[3] = 0x30;
                packet.push(stuffing as u8 - 1);
                packet.extend([0, 255].iter().take((stuffing - 1).min(1)));
                packet.resize(4 + stuffing, 0xff);
            }
            packet.extend(payload);
            let bytes = packet.try_into().expect("a packet's length");
            self.put(if id == 0xe0 { 2 } else { 3 }, bytes);
        }
        first..self.packets.len() as u64
    }

    fn put(&mut self, counter: usize, mut bytes: [u8; PACKET_LEN]) {
        bytes[3] = bytes[3] & 0xf0 | self.counters[counter];
        self.counters[counter] = (self.counters[counter] + 1) % 16;
        self.packets.push(Packet::new(bytes).expect("a packet"));
    }
}
