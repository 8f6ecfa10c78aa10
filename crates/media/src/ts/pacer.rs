//! [`Pacer`]: when each packet of a file is due, as if the file were live.

use std::collections::VecDeque;
use std::time::Duration;

use anabranch_sansio::Rate;
use thiserror::Error;

use super::packet::{PACKET_LEN, Packet, Pcr, Pid};

/// Packets that wait for the next clock reference: 12 MB, at 100 Mbit/s a second.
const PENDING_MAX: usize = 65_536;

/// A step of more is a jump of the clock: ISO/IEC 13818-1 section 2.7.2 wants a reference every
/// 0.1 s.
const STEP_MAX_TICKS: i64 = Pcr::HZ as i64;

/// Why a file cannot be paced.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum PaceError {
    /// Fewer than two clock references in a row in what was read.
    #[error(
        "the stream cannot be sent in real time: {packets} packets have {references} clock \
         references (PCR), two in a row are needed; ffmpeg -i INPUT -c copy -f mpegts \
         OUTPUT.ts writes them"
    )]
    NoClock {
        /// Packets read.
        packets: u64,
        /// References found.
        references: u64,
    },
    /// A bitrate of zero.
    #[error("a bitrate of zero never sends anything")]
    NoRate,
}

/// Gives each packet of a transport stream its time, from the clock references in it.
///
/// The packets between two references are spread evenly (ISO/IEC 13818-1 section 2.4.2.2 defines
/// their arrival so). Where the clock jumps, as where files were joined or one is sent again, time
/// goes on at the last rate. The clock is that of the first PID with a reference.
#[derive(Debug)]
pub struct Pacer {
    mode: Mode,
    ready: VecDeque<(Duration, Packet)>,
}

#[derive(Debug)]
enum Mode {
    Clock(ByClock),
    Bitrate { rate: Rate, packets: u64 },
}

impl Pacer {
    /// A pacer that follows the clock references.
    #[must_use]
    pub fn by_clock() -> Self {
        Self { mode: Mode::Clock(ByClock::default()), ready: VecDeque::new() }
    }

    /// A pacer at a constant rate.
    ///
    /// # Errors
    ///
    /// A rate of zero.
    pub fn by_bitrate(rate: Rate) -> Result<Self, PaceError> {
        if rate == Rate::ZERO {
            return Err(PaceError::NoRate);
        }
        Ok(Self { mode: Mode::Bitrate { rate, packets: 0 }, ready: VecDeque::new() })
    }

    /// Takes the next packet. Drain [`Pacer::poll_packet`] after it.
    ///
    /// # Errors
    ///
    /// No clock was found in as many packets as may wait for one.
    pub fn push(&mut self, packet: Packet) -> Result<(), PaceError> {
        match &mut self.mode {
            Mode::Clock(clock) => clock.push(packet, &mut self.ready),
            Mode::Bitrate { rate, packets } => {
                self.ready.push_back((rate.time_for(*packets * PACKET_LEN as u64), packet));
                *packets += 1;
                Ok(())
            }
        }
    }

    /// The file has ended: gives the last packets their times.
    ///
    /// # Errors
    ///
    /// No clock was found in all of the file.
    pub fn finish(&mut self) -> Result<(), PaceError> {
        match &mut self.mode {
            Mode::Clock(clock) => clock.finish(&mut self.ready),
            Mode::Bitrate { .. } => Ok(()),
        }
    }

    /// The next packet, and when it is due after the first one.
    #[must_use]
    pub fn poll_packet(&mut self) -> Option<(Duration, Packet)> {
        self.ready.pop_front()
    }
}

#[derive(Debug, Default)]
struct ByClock {
    pid: Option<Pid>,
    /// The last reference, its place among the pending packets.
    anchor: Option<(Pcr, usize)>,
    /// The last ticks per packet that were known.
    rate: Option<Spread>,
    /// Packets without a time; those before the anchor came before the first reference.
    pending: Vec<Packet>,
    /// When the first pending packet is due: 27 MHz ticks since the start.
    next_ticks: u64,
    packets: u64,
    references: u64,
}

/// So many ticks for so many packets.
#[derive(Debug, Clone, Copy)]
struct Spread {
    ticks: u64,
    packets: u64,
}

impl Spread {
    fn ticks_of(self, packets: usize) -> u64 {
        let ticks = u128::from(self.ticks) * packets as u128 / u128::from(self.packets.max(1));
        u64::try_from(ticks).unwrap_or(u64::MAX)
    }
}

impl ByClock {
    fn push(
        &mut self,
        packet: Packet,
        ready: &mut VecDeque<(Duration, Packet)>,
    ) -> Result<(), PaceError> {
        self.packets += 1;
        if let Some(pcr) = self.reference(&packet) {
            self.on_reference(pcr, packet.discontinuity(), ready);
        }
        self.pending.push(packet);
        if self.pending.len() < PENDING_MAX {
            return Ok(());
        }
        // The clock fell silent: go on at its last rate, with whichever clock comes next.
        self.finish(ready)?;
        (self.anchor, self.pid) = (None, None);
        Ok(())
    }

    fn finish(&mut self, ready: &mut VecDeque<(Duration, Packet)>) -> Result<(), PaceError> {
        let Some(rate) = self.rate else {
            return Err(PaceError::NoClock { packets: self.packets, references: self.references });
        };
        self.release(self.pending.len(), rate, ready);
        Ok(())
    }

    fn reference(&mut self, packet: &Packet) -> Option<Pcr> {
        if packet.transport_error() {
            return None;
        }
        let pcr = packet.pcr()?;
        (*self.pid.get_or_insert(packet.pid()) == packet.pid()).then_some(pcr)
    }

    fn on_reference(
        &mut self,
        pcr: Pcr,
        discontinuity: bool,
        ready: &mut VecDeque<(Duration, Packet)>,
    ) {
        self.references += 1;
        let here = self.pending.len();
        let step = self.anchor.map(|(last, place)| (pcr.ticks_since(last), here - place));
        if let Some((ticks @ 1..=STEP_MAX_TICKS, packets)) = step
            && !discontinuity
        {
            self.rate = Some(Spread { ticks: ticks.unsigned_abs(), packets: packets as u64 });
        }
        match self.rate {
            Some(rate) => {
                self.release(here, rate, ready);
                self.anchor = Some((pcr, 0));
            }
            None => self.anchor = Some((pcr, here)),
        }
    }

    /// Gives the first `count` pending packets their times.
    fn release(&mut self, count: usize, rate: Spread, ready: &mut VecDeque<(Duration, Packet)>) {
        let start = self.next_ticks;
        let timed = self
            .pending
            .drain(..count)
            .enumerate()
            .map(|(i, packet)| (Pcr::duration(start.saturating_add(rate.ticks_of(i))), packet));
        ready.extend(timed);
        self.next_ticks = start.saturating_add(rate.ticks_of(count));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ts::packet::build::{packet, with_adaptation};

    fn reference(ticks: u64) -> Packet {
        with_adaptation(0x100, false, 0, 0, Some(Pcr::from_ticks(ticks)), &[1; 100])
    }

    fn media() -> Packet {
        packet(0x101, false, 0, &[2; 184])
    }

    fn times(packets: impl IntoIterator<Item = Packet>) -> Result<Vec<u64>, PaceError> {
        let mut pacer = Pacer::by_clock();
        for packet in packets {
            pacer.push(packet)?;
        }
        pacer.finish()?;
        let due = std::iter::from_fn(|| pacer.poll_packet()).map(|(due, _)| due);
        Ok(due.map(|due| due.as_micros() as u64).collect())
    }

    const MS: u64 = 27_000;

    #[test]
    fn packets_between_references_are_spread_evenly() {
        let stream =
            [media(), reference(0), media(), reference(10 * MS), media(), media(), media()]
                .into_iter()
                .chain([reference(18 * MS), media()]);
        // 5 ms a packet up to the second reference, then 2 ms.
        assert_eq!(
            times(stream),
            Ok(vec![0, 5_000, 10_000, 15_000, 17_000, 19_000, 21_000, 23_000, 25_000])
        );
    }

    #[test]
    fn the_wrap_of_the_clock_is_no_jump() {
        let stream = [reference(Pcr::MODULUS - 5 * MS), media(), reference(5 * MS), media()];
        assert_eq!(times(stream), Ok(vec![0, 5_000, 10_000, 15_000]));
    }

    #[test]
    fn time_goes_on_at_the_last_rate_where_the_clock_jumps() {
        let jumps = [
            reference(50_000 * MS),
            with_adaptation(0x100, false, 0, 0x80, Some(Pcr::from_ticks(30 * MS)), &[1; 9]),
            reference(1),
        ];
        for jump in jumps {
            let next = Pcr::from_ticks(jump.pcr().unwrap().ticks() + 4 * MS);
            let stream = [reference(10 * MS), media(), reference(20 * MS), media(), jump, media()]
                .into_iter()
                .chain([reference(next.ticks())]);
            assert_eq!(times(stream), Ok(vec![0, 5_000, 10_000, 15_000, 20_000, 22_000, 24_000]));
        }
    }

    #[test]
    fn a_file_sent_again_goes_on_where_it_ended() {
        let file = [reference(0), media(), reference(10 * MS), media()];
        let twice = times(file.into_iter().chain(file)).unwrap();
        assert_eq!(twice, [0, 5_000, 10_000, 15_000, 20_000, 25_000, 30_000, 35_000]);
    }

    #[test]
    fn a_stream_without_a_clock_is_refused_and_sent_at_a_given_rate() {
        let silent = [reference(0), media(), media()];
        assert_eq!(times(silent), Err(PaceError::NoClock { packets: 3, references: 1 }));
        let mut pacer = Pacer::by_bitrate(Rate::bps(188 * 8 * 100)).unwrap();
        silent.iter().for_each(|packet| pacer.push(*packet).unwrap());
        let due: Vec<_> = std::iter::from_fn(|| pacer.poll_packet()).map(|(due, _)| due).collect();
        assert_eq!(due, [0, 10, 20].map(Duration::from_millis));
        assert_eq!(Pacer::by_bitrate(Rate::ZERO).unwrap_err(), PaceError::NoRate);
    }

    #[test]
    fn a_clock_that_falls_silent_is_replaced_within_bounds() {
        let mut pacer = Pacer::by_clock();
        for packet in [reference(0), reference(MS)] {
            pacer.push(packet).unwrap();
        }
        let mut due = Duration::ZERO;
        for i in 0..3 * PENDING_MAX {
            pacer.push(media()).unwrap();
            while let Some((at, _)) = pacer.poll_packet() {
                assert!(at >= due, "packet {i}");
                due = at;
            }
        }
        assert!(due >= Duration::from_millis(PENDING_MAX as u64));
        let mut silent = Pacer::by_clock();
        let error = (0..PENDING_MAX).find_map(|_| silent.push(media()).err());
        assert_eq!(error, Some(PaceError::NoClock { packets: PENDING_MAX as u64, references: 0 }));
    }
}
