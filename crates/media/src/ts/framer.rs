//! [`Framer`]: finds packets in bytes that come in any portions, with anything in between.

use serde::Serialize;
use thiserror::Error;

use super::packet::{PACKET_LEN, Packet, SYNC_BYTE};
use super::sniff::{Found, sniff};

/// Sync bytes in a row, a packet apart, that make us believe in a transport stream: one in 2^32
/// places of anything else has them.
const SYNC_RUN_FIRST: usize = 5;

/// The same where one is already known to be.
const SYNC_RUN: usize = 3;

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
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default, Serialize)]
pub struct FramerStats {
    /// Packets found.
    pub packets: u64,
    /// Times that a packet did not begin where the last one ended.
    pub sync_losses: u64,
    /// Bytes that belong to no packet, an unfinished one at the end included.
    pub skipped_bytes: u64,
}

/// Cuts a byte stream into packets, finds them again when bytes are missing or inserted.
#[derive(Debug, Default)]
pub struct Framer {
    pending: Vec<u8>,
    head: Vec<u8>,
    locked: bool,
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
            let (skip, found) = hunt(rest, self.sync_run());
            self.stats.skipped_bytes += skip as u64;
            rest = rest.get(skip..).unwrap_or_default();
            self.locked = found;
            if !found {
                break;
            }
        }
        bytes.len() - rest.len()
    }

    /// Takes packets as long as each begins where the last one ended; returns what follows them.
    fn take_packets<'a>(&mut self, bytes: &'a [u8], sink: &mut impl FnMut(Packet)) -> &'a [u8] {
        let mut rest = bytes;
        while let Some((first, after)) = rest.split_first_chunk::<PACKET_LEN>()
            && let Some(packet) = Packet::new(*first)
        {
            self.stats.packets += 1;
            sink(packet);
            rest = after;
        }
        rest
    }

    const fn sync_run(&self) -> usize {
        if self.stats.packets == 0 { SYNC_RUN_FIRST } else { SYNC_RUN }
    }

    fn not_mpeg_ts(&self) -> NotMpegTs {
        NotMpegTs { found: sniff(&self.head) }
    }
}

/// Looks for `sync_run` sync bytes, each a packet after the one before: how many bytes to skip, and
/// whether they were found there. If not, they may still come there.
fn hunt(rest: &[u8], sync_run: usize) -> (usize, bool) {
    for (at, _) in rest.iter().enumerate().filter(|(_, byte)| **byte == SYNC_BYTE) {
        let mut run = (0..sync_run).map(|i| rest.get(at + i * PACKET_LEN));
        if run.clone().all(|byte| byte == Some(&SYNC_BYTE)) {
            return (at, true);
        }
        if run.all(|byte| byte.is_none_or(|byte| *byte == SYNC_BYTE)) {
            return (at, false);
        }
    }
    (rest.len(), false)
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
            assert!(
                framer.pending.len() <= SYNC_RUN_FIRST * PACKET_LEN,
                "{}",
                framer.pending.len()
            );
        }
    }
}
