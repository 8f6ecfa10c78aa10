//! [`Framer`]: finds packets in bytes that come in any portions, with anything in between.

use thiserror::Error;

use super::packet::{PACKET_LEN, Packet, SYNC_BYTE};
use super::sniff::{Found, sniff};

/// Sync bytes in a row, a packet apart, that make us believe in a transport stream: one in 2^32
/// places of anything else has them.
const SYNC_RUN_FIRST: usize = 5;

/// The same where one is already known to be.
const SYNC_RUN: usize = 3;

/// From one packet to the next: alone; with four bytes of time in front of each (M2TS, AVCHD,
/// Blu-ray); with 16 bytes of Reed-Solomon code behind each (DVB).
const DISTANCES: [usize; 3] = [PACKET_LEN, PACKET_LEN + TIME_LEN, PACKET_LEN + 16];

const TIME_LEN: usize = 4;

/// Bytes without a transport stream in them after which we say so.
pub const PROBE_LIMIT: u64 = 64 * 1024;

/// Bytes of the beginning that are kept to say what the input is instead.
const HEAD_LEN: usize = 1024;

/// The input is no transport stream.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[error("the input is {found}, not an MPEG transport stream; {}", found.remedy())]
#[non_exhaustive]
pub struct NotMpegTs {
    /// What it looks like.
    pub found: Found,
}

/// What a [`Framer`] saw.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize))]
pub struct FramerStats {
    /// Packets found.
    pub packets: u64,
    /// Times that a packet did not begin where the last one ended.
    pub sync_losses: u64,
    /// Bytes that belong to no packet, an unfinished one at the end included; not the time or the
    /// code that each packet has beside it.
    pub skipped_bytes: u64,
}

/// Cuts a byte stream into packets, finds them again when bytes are missing or inserted.
#[derive(Debug, Default)]
pub struct Framer {
    pending: Vec<u8>,
    head: Vec<u8>,
    locked: bool,
    /// From one packet to the next, once there was one.
    distance: usize,
    /// Bytes of time or code that come before the next packet.
    between: usize,
    stats: FramerStats,
}

impl Framer {
    /// A framer that expects a packet to begin anywhere.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// What it saw so far.
    #[must_use]
    pub const fn stats(&self) -> FramerStats {
        self.stats
    }

    /// Takes bytes, gives each packet that is complete to `sink`.
    ///
    /// # Errors
    ///
    /// No packet in the first [`PROBE_LIMIT`] bytes. Later garbage is skipped and counted.
    pub fn push(&mut self, bytes: &[u8], mut sink: impl FnMut(Packet)) -> Result<(), NotMpegTs> {
        let room = HEAD_LEN.saturating_sub(self.head.len());
        self.head.extend_from_slice(bytes.get(..room).unwrap_or(bytes));
        let mut pending = std::mem::take(&mut self.pending);
        if pending.is_empty() {
            let used = self.scan(bytes, &mut sink);
            pending.extend_from_slice(bytes.get(used..).unwrap_or_default());
        } else {
            pending.extend_from_slice(bytes);
            let used = self.scan(&pending, &mut sink);
            pending.drain(..used);
        }
        self.pending = pending;
        if self.stats.packets == 0 && self.stats.skipped_bytes >= PROBE_LIMIT {
            return Err(self.not_mpeg_ts());
        }
        Ok(())
    }

    /// The input has ended: gives what is left to `sink`, counts the rest as skipped.
    ///
    /// # Errors
    ///
    /// There was no packet at all.
    pub fn finish(&mut self, mut sink: impl FnMut(Packet)) -> Result<(), NotMpegTs> {
        // Too few packets for a run of sync bytes: at the end these few must do.
        let pending = std::mem::take(&mut self.pending);
        if self.stats.packets == 0 {
            self.settle(likeliest_distance(&pending));
        }
        let rest = self.take_packets(&pending, &mut sink);
        self.stats.skipped_bytes += rest.len() as u64;
        self.locked = false;
        if self.stats.packets == 0 { Err(self.not_mpeg_ts()) } else { Ok(()) }
    }

    /// Gives all packets to `sink`; returns how many bytes need not be seen again.
    fn scan(&mut self, bytes: &[u8], sink: &mut impl FnMut(Packet)) -> usize {
        let mut rest = bytes;
        loop {
            if self.locked {
                rest = self.take_packets(rest, sink);
                if rest.len() < PACKET_LEN {
                    break;
                }
                self.stats.sync_losses += 1;
            }
            let known = std::slice::from_ref(&self.distance);
            let (skip, found) = match self.stats.packets {
                0 => hunt(rest, SYNC_RUN_FIRST, &DISTANCES),
                _ => hunt(rest, SYNC_RUN, known),
            };
            self.stats.skipped_bytes += skip as u64;
            rest = rest.get(skip..).unwrap_or_default();
            self.locked = found.is_some();
            match found {
                Some(distance) if self.stats.packets == 0 => self.settle(distance),
                Some(_) => self.between = 0,
                None => break,
            }
        }
        bytes.len() - rest.len()
    }

    /// Takes packets as long as each begins where the last one ended; returns what follows them.
    fn take_packets<'a>(&mut self, bytes: &'a [u8], sink: &mut impl FnMut(Packet)) -> &'a [u8] {
        let mut rest = self.pass_between(bytes);
        while let Some((first, after)) = rest.split_first_chunk::<PACKET_LEN>()
            && let Some(packet) = Packet::new(*first)
        {
            self.stats.packets += 1;
            sink(packet);
            self.between = self.distance - PACKET_LEN;
            rest = self.pass_between(after);
        }
        rest
    }

    /// Passes over what stands between two packets, as far as it is there.
    fn pass_between<'a>(&mut self, bytes: &'a [u8]) -> &'a [u8] {
        let passed = self.between.min(bytes.len());
        self.between -= passed;
        bytes.get(passed..).unwrap_or_default()
    }

    /// The first packets are so far from each other. A time in front of the first belongs to it.
    const fn settle(&mut self, distance: usize) {
        self.distance = distance;
        if distance == PACKET_LEN + TIME_LEN {
            self.stats.skipped_bytes = self.stats.skipped_bytes.saturating_sub(TIME_LEN as u64);
        }
    }

    fn not_mpeg_ts(&self) -> NotMpegTs {
        NotMpegTs { found: sniff(&self.head) }
    }
}

/// Looks for `sync_run` sync bytes at one of these distances: how many bytes to skip, and which
/// distance was found there. If none, there may still be one.
fn hunt(rest: &[u8], sync_run: usize, distances: &[usize]) -> (usize, Option<usize>) {
    for (at, _) in rest.iter().enumerate().filter(|(_, byte)| **byte == SYNC_BYTE) {
        let run = |distance: &usize| {
            let distance = *distance;
            (0..sync_run).map(move |nth| rest.get(at + nth * distance))
        };
        let is_found = |distance: &&usize| run(distance).all(|byte| byte == Some(&SYNC_BYTE));
        if let Some(distance) = distances.iter().find(is_found) {
            return (at, Some(*distance));
        }
        let may_be = |byte: Option<&u8>| byte.is_none_or(|byte| *byte == SYNC_BYTE);
        if distances.iter().any(|distance| run(distance).all(may_be)) {
            return (at, None);
        }
    }
    (rest.len(), None)
}

/// The distance at which most sync bytes follow each other from the beginning on.
fn likeliest_distance(bytes: &[u8]) -> usize {
    let run = |distance: &usize| {
        bytes.iter().step_by(*distance).take_while(|byte| **byte == SYNC_BYTE).count()
    };
    // Of equal ones the last is taken: packets alone.
    DISTANCES.into_iter().rev().max_by_key(run).unwrap_or(PACKET_LEN)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::packet::build::packet;
    use anabranch_sansio::Rng;

    fn stream(packets: usize) -> Vec<u8> {
        (0..packets)
            .flat_map(|i| *packet(0x100, i == 0, i as u8, &[i as u8; 184]).bytes())
            .collect()
    }

    fn frame(framer: &mut Framer, bytes: &[u8]) -> Vec<u8> {
        let mut out = Vec::new();
        framer.push(bytes, |packet| out.extend_from_slice(packet.bytes())).unwrap();
        out
    }

    #[test]
    fn portions_of_any_size_give_the_same_packets() {
        let bytes = stream(40);
        let mut rng = Rng::from_u64(1);
        for most in [1, 7, 188, 1_316, 5_000] {
            let mut framer = Framer::new();
            let (mut out, mut rest) = (Vec::new(), bytes.as_slice());
            while !rest.is_empty() {
                let n = (rng.range(1..most + 1) as usize).min(rest.len());
                out.extend(frame(&mut framer, &rest[..n]));
                rest = &rest[n..];
            }
            assert_eq!(out, bytes);
            assert_eq!(framer.stats(), FramerStats { packets: 40, ..FramerStats::default() });
        }
    }

    #[test]
    fn missing_and_inserted_bytes_cost_their_packet_and_are_counted() {
        let bytes = stream(20);
        let mut damaged = bytes.clone();
        damaged.splice(10 * PACKET_LEN..10 * PACKET_LEN, [0xaa; 50]);
        damaged.drain(5 * PACKET_LEN + 3..5 * PACKET_LEN + 20);
        let mut framer = Framer::new();
        let out = frame(&mut framer, &damaged);
        // Packet 5 lost bytes: it is taken with the first bytes of packet 6, which is then lost.
        assert_eq!(framer.stats().sync_losses, 2);
        assert_eq!(framer.stats().packets, 19);
        assert_eq!(out[7 * PACKET_LEN..], bytes[8 * PACKET_LEN..]);
        let total = framer.stats().packets * 188 + framer.stats().skipped_bytes;
        assert_eq!(total, damaged.len() as u64);
    }

    #[test]
    fn a_stream_that_starts_in_the_middle_of_a_packet_loses_that_one() {
        let bytes = stream(10);
        let mut framer = Framer::new();
        assert_eq!(frame(&mut framer, &bytes[100..]), bytes[PACKET_LEN..]);
        assert_eq!(framer.stats().skipped_bytes, 88);
    }

    #[test]
    fn two_packets_are_believed_at_the_end_and_half_a_packet_is_counted() {
        let bytes = stream(9);
        let mut framer = Framer::new();
        assert!(frame(&mut framer, &bytes[..2 * PACKET_LEN]).is_empty());
        let mut out = Vec::new();
        framer.finish(|packet| out.extend_from_slice(packet.bytes())).unwrap();
        assert_eq!(out, bytes[..2 * PACKET_LEN]);
        let mut framer = Framer::new();
        assert_eq!(frame(&mut framer, &bytes[..8 * PACKET_LEN + 94]), bytes[..8 * PACKET_LEN]);
        framer.finish(|_| ()).unwrap();
        assert_eq!(framer.stats().skipped_bytes, 94);
    }

    #[test]
    fn what_is_no_transport_stream_is_named() {
        let mut mp4 = vec![0; 2 * PROBE_LIMIT as usize];
        mp4[4..12].copy_from_slice(b"ftypisom");
        let error = Framer::new().push(&mp4, |_| ()).unwrap_err();
        assert_eq!(error, NotMpegTs { found: Found::Mp4 });
        assert_eq!(Framer::new().finish(|_| ()), Err(NotMpegTs { found: Found::Nothing }));
    }

    #[test]
    fn random_bytes_are_skipped_within_bounds() {
        let mut rng = Rng::from_u64(5);
        let mut framer = Framer::new();
        let mut garbage = vec![0; 4_096];
        framer.push(&stream(6), |_| ()).unwrap();
        for _ in 0..200 {
            rng.fill(&mut garbage);
            framer.push(&garbage, |_| ()).unwrap();
            let pending = framer.pending.len();
            assert!(pending <= SYNC_RUN_FIRST * PACKET_LEN, "{pending}");
        }
    }

    /// The packets with so many bytes before and behind each.
    fn padded(packets: usize, before: usize, behind: usize) -> Vec<u8> {
        let mut bytes = Vec::new();
        for packet in stream(packets).chunks(PACKET_LEN) {
            bytes.resize(bytes.len() + before, 0x11);
            bytes.extend_from_slice(packet);
            bytes.resize(bytes.len() + behind, 0x22);
        }
        bytes
    }

    #[test]
    fn packets_with_times_in_front_or_code_behind_are_read_without_them() {
        for (before, behind) in [(4, 0), (0, 16)] {
            for packets in [1, 2, 40] {
                let bytes = padded(packets, before, behind);
                for portion in [1, 7, 192, 5_000] {
                    let (mut framer, mut out) = (Framer::new(), Vec::new());
                    for bytes in bytes.chunks(portion) {
                        out.extend(frame(&mut framer, bytes));
                    }
                    framer.finish(|packet| out.extend_from_slice(packet.bytes())).unwrap();
                    assert_eq!(out, stream(packets), "{before} {behind} {packets} {portion}");
                    let skipped = framer.stats().skipped_bytes;
                    // A single packet does not tell what follows it.
                    assert_eq!(skipped, if packets == 1 { (before + behind) as u64 } else { 0 });
                }
            }
        }
    }

    #[test]
    fn packets_with_times_are_found_again_behind_missing_bytes() {
        let mut bytes = padded(20, 4, 0);
        bytes.drain(10 * 192 + 50..10 * 192 + 60);
        let mut framer = Framer::new();
        let out = frame(&mut framer, &bytes);
        assert_eq!((framer.stats().sync_losses, framer.stats().packets), (1, 19));
        assert_eq!(out[out.len() - 8 * PACKET_LEN..], stream(20)[12 * PACKET_LEN..]);
    }
}
