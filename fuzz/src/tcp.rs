//! Checks of `anabranch-tcp`: whatever segments arrive and when, a connection comes to rest and
//! sends only what its peer can read.

use std::net::IpAddr;
use std::time::Duration;

use anabranch_sansio::{Datagram, FourTuple, Machine, Rng, Time};
use anabranch_tcp::{Config, Connection};
use bytes::Bytes;

/// Plays `bytes` as a script of segments and pauses against a connection. The first byte says
/// whether it is connected from the start, and whether its peer offers selective acknowledgments.
pub fn segments(bytes: &[u8]) {
    let mut script = Script(bytes);
    let start = script.byte();
    let mut play = Play::new(start & 2 == 0);
    if start & 1 == 0 {
        play.shake_hands();
    }
    while !script.0.is_empty() {
        play.step(&mut script);
        play.settle();
    }
}

/// Segments and timers that one step of the script may cause: windows and buffers are far smaller.
const EVENTS_MAX: u32 = 20_000;

/// A header without options.
const HEADER_LEN: usize = 20;

/// What is left of the input; where it ends, zeros follow.
struct Script<'a>(&'a [u8]);

impl<'a> Script<'a> {
    fn byte(&mut self) -> u8 {
        let Some((&byte, rest)) = self.0.split_first() else { return 0 };
        self.0 = rest;
        byte
    }

    fn bytes(&mut self, len: usize) -> &'a [u8] {
        let (head, rest) = self.0.split_at(len.min(self.0.len()));
        self.0 = rest;
        head
    }
}

/// The connection under test, and a peer of the same make that shakes hands and reads along.
struct Play {
    tested: Connection,
    peer: Connection,
    now: Time,
    /// The next number of the peer, and the last one of the connection under test plus one: what
    /// the script's numbers are counted from.
    sequence: u32,
    acknowledgment: u32,
}

impl Play {
    fn new(sack: bool) -> Self {
        let config = Config { receive_buffer: 20_000, send_buffer: 20_000, ..Config::default() };
        let path = path();
        Self {
            tested: Connection::listener(config.clone(), path.reversed(), Rng::from_u64(1)),
            peer: Connection::client(Config { sack, ..config }, path, Rng::from_u64(2)),
            now: Time::ZERO,
            sequence: 0,
            acknowledgment: 0,
        }
    }

    fn shake_hands(&mut self) {
        self.peer.connect(self.now);
        for _ in 0..3 {
            for segment in drain(&mut self.peer, self.now) {
                self.sequence = number_at(&segment, 4).wrapping_add(1);
                deliver(&mut self.tested, self.now, path().reversed(), &segment);
            }
            self.settle();
        }
    }

    fn step(&mut self, script: &mut Script<'_>) {
        match script.byte() {
            0 => self.now += Duration::from_millis(u64::from(script.byte())),
            1 => self.now += Duration::from_secs(u64::from(script.byte())),
            2 => {
                let data = vec![7; 16 * usize::from(script.byte())];
                // A full buffer refuses, and a closed connection too.
                let _ = self.tested.send(self.now, Bytes::from(data));
            }
            3 => while self.tested.receive(self.now).is_some() {},
            4 => self.tested.close(),
            5 => {
                let len = usize::from(script.byte());
                let bytes = script.bytes(len).to_vec();
                deliver(&mut self.tested, self.now, path().reversed(), &bytes);
            }
            _ => {
                let len = usize::from(script.byte());
                let segment = self.segment(script.bytes(len));
                deliver(&mut self.tested, self.now, path().reversed(), &segment);
            }
        }
    }

    /// Bytes of the script as a segment: ports and checksum are right, and its numbers are offsets
    /// from those of the connection, so that the window is one byte away.
    fn segment(&self, bytes: &[u8]) -> Vec<u8> {
        let mut segment = bytes.to_vec();
        if segment.len() < HEADER_LEN {
            return segment;
        }
        let [source, destination] = [path().local.port(), path().remote.port()];
        segment[0..2].copy_from_slice(&source.to_be_bytes());
        segment[2..4].copy_from_slice(&destination.to_be_bytes());
        for (at, base) in [(4, self.sequence), (8, self.acknowledgment)] {
            let number = number_at(&segment, at).wrapping_add(base);
            segment[at..at + 4].copy_from_slice(&number.to_be_bytes());
        }
        segment[16..18].fill(0);
        let sum = checksum(&segment);
        segment[16..18].copy_from_slice(&sum.to_be_bytes());
        segment
    }

    /// Takes all that the connection has to send and to say, and lets its timers expire that are
    /// due.
    fn settle(&mut self) {
        for _ in 0..EVENTS_MAX {
            let sent = drain(&mut self.tested, self.now);
            for segment in &sent {
                assert!(segment.len() >= HEADER_LEN, "a segment without a header");
                assert_eq!(checksum(segment), 0, "a segment with a wrong checksum");
                self.acknowledgment = number_at(segment, 4).wrapping_add(1);
                deliver(&mut self.peer, self.now, path(), segment);
            }
            while self.tested.poll_event().is_some() {}
            let due = self.tested.poll_timeout().filter(|wakeup| wakeup.at <= self.now);
            if due.is_some() {
                self.tested.handle_timeout(self.now);
            } else if sent.is_empty() {
                return;
            }
        }
        panic!("the connection does not come to rest");
    }
}

/// From the peer to the connection under test, as the peer sees it.
fn path() -> FourTuple {
    FourTuple::new(([10, 0, 0, 1], 1_000).into(), ([10, 0, 0, 2], 2_000).into())
}

fn deliver(connection: &mut Connection, now: Time, path: FourTuple, bytes: &[u8]) {
    connection.handle_datagram(now, Datagram { path, ecn: None, bytes });
}

fn drain(connection: &mut Connection, now: Time) -> Vec<Vec<u8>> {
    let mut sent = Vec::new();
    let mut buf = Vec::new();
    while connection.poll_transmit(now, &mut buf).is_some() {
        sent.push(std::mem::take(&mut buf));
        assert!(sent.len() < EVENTS_MAX as usize, "the connection never stops sending");
    }
    sent
}

fn number_at(segment: &[u8], at: usize) -> u32 {
    segment
        .get(at..at + 4)
        .map_or(0, |bytes| bytes.iter().fold(0, |number, byte| number << 8 | u32::from(*byte)))
}

/// RFC 9293 section 3.1: the checksum over pseudo-header and segment; 0 over one that has it.
fn checksum(segment: &[u8]) -> u16 {
    const TCP: u32 = 6;
    let words = |bytes: &[u8]| -> u32 {
        let word =
            |pair: &[u8]| u32::from(pair[0]) << 8 | u32::from(pair.get(1).copied().unwrap_or(0));
        bytes.chunks(2).map(word).sum()
    };
    let address = |ip: IpAddr| match ip {
        IpAddr::V4(ip) => words(&ip.octets()),
        IpAddr::V6(ip) => words(&ip.octets()),
    };
    let addresses = address(path().local.ip()) + address(path().remote.ip());
    let mut sum = words(segment) + addresses + TCP + segment.len() as u32;
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    !(sum as u16)
}
