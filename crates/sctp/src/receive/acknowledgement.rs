//! When what arrived is acknowledged, and by which SACK (RFC 9260 section 6.2).

use std::time::Duration;

use anabranch_sansio::Time;
use anabranch_wire::{Items, PacketWriter, Sack};

use super::{Receiver, SackTiming};

/// A SACK without gap blocks and duplicates.
const SACK_FIXED: usize = 16;

/// How long a SACK may wait for others.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Patience {
    /// 'SACK.Delay'.
    pub(crate) delay: Duration,
    /// Whether SACKs are spaced in time.
    pub(crate) is_spaced: bool,
    /// The round trip of the path that the SACK takes.
    pub(crate) srtt: Option<Duration>,
}

/// A SACK in a packet that may not go out.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct WrittenSack {
    /// The a_rwnd that it reports.
    window: usize,
    /// Whether it goes out even alone.
    pub(crate) is_due: bool,
}

impl Receiver {
    /// A packet with DATA or FORWARD TSN is done: decides when it is acknowledged.
    pub(crate) fn end_packet(&mut self, now: Time, patience: Patience) {
        let Patience { delay, is_spaced, srtt } = patience;
        self.tracker.space_sacks(is_spaced);
        self.tracker.end_packet();
        self.sack_timer = match self.tracker.timing() {
            SackTiming::Delayed => {
                let at = self.tracker.spaced_sack_at(now, srtt).unwrap_or(now + delay);
                let at = self.sack_timer.map_or(at, |timer| timer.min(at));
                if at <= now {
                    self.tracker.demand_sack();
                }
                Some(at).filter(|at| *at > now)
            }
            SackTiming::Immediate | SackTiming::None => None,
        };
    }

    /// When a delayed SACK is due.
    pub(crate) const fn sack_timer(&self) -> Option<Time> {
        self.sack_timer
    }

    /// Time has passed: the delay of a SACK may be over.
    pub(crate) fn on_time(&mut self, now: Time) {
        if self.sack_timer.take_if(|at| *at <= now).is_some() {
            self.tracker.demand_sack();
        }
    }

    /// The association ended: no SACK is due any more.
    pub(crate) const fn stop(&mut self) {
        self.sack_timer = None;
    }

    /// Writes a SACK, with as many gap blocks and duplicates as fit into a packet of `size_max`
    /// bytes; `None` if there is nothing to acknowledge, or no room.
    pub(crate) fn write_sack(
        &mut self,
        size_max: usize,
        writer: &mut PacketWriter<'_>,
    ) -> Option<WrittenSack> {
        let timing = self.tracker.timing();
        let room = size_max.saturating_sub(writer.len() + SACK_FIXED) / 4;
        if timing == SackTiming::None || room == 0 {
            return None;
        }
        self.tracker.gap_ack_blocks(room, &mut self.gap_blocks);
        let duplicates = self.tracker.duplicates();
        let shown = duplicates.len().min(room - self.gap_blocks.len());
        let window = self.window();
        writer.push(&Sack {
            cumulative_tsn_ack: self.tracker.cumulative_tsn(),
            a_rwnd: u32::try_from(window).unwrap_or(u32::MAX),
            gap_ack_blocks: Items::from_slice(&self.gap_blocks),
            duplicate_tsns: Items::from_slice(&self.tracker.duplicates()[..shown]),
            data_packets: self.tracker.data_packets(),
        });
        Some(WrittenSack { window, is_due: timing == SackTiming::Immediate })
    }

    /// The packet with a SACK goes out.
    pub(crate) fn on_sack_sent(&mut self, now: Time, sack: WrittenSack) {
        self.advertised = sack.window;
        self.tracker.on_sack_sent(now);
        self.sack_timer = None;
    }
}

#[cfg(test)]
mod tests {
    use anabranch_wire::{
        ChecksumField, ChecksumMode, Chunk, CommonHeader, Level, Mid, Packet, Ppid, StreamId, Tsn,
        VerificationTag,
    };

    use super::super::{Buffer, DataChunk, ReceiveOrder};
    use super::*;
    use crate::format::DataFormat;
    use crate::path_name::PathId;

    const DELAY: Duration = Duration::from_millis(200);
    const PATIENCE: Patience = Patience { delay: DELAY, is_spaced: false, srtt: None };

    fn receiver() -> Receiver {
        let buffer = Buffer {
            capacity: 10_000,
            message_size_max: 1_000,
            packet: 1_000,
            order: ReceiveOrder::Arrival,
        };
        Receiver::new(Tsn(1), 1, buffer, DataFormat::Data)
    }

    /// A packet with one message of 100 bytes arrives.
    fn arrive(receiver: &mut Receiver, now: Time, tsn: u32) {
        let data = DataChunk {
            tsn: Tsn(tsn),
            stream: StreamId(0),
            mid: Mid(tsn - 1),
            fsn: None,
            ppid: Ppid(0),
            unordered: false,
            beginning: true,
            ending: true,
            immediate: false,
            level: Level::Urgent,
            payload: &[7; 100],
        };
        receiver.on_data(now, PathId(0), &data);
        receiver.end_packet(now, PATIENCE);
    }

    /// Writes a packet with a SACK: what it reports, and whether it would go out alone.
    fn sack(receiver: &mut Receiver, now: Time, size_max: usize) -> Option<(u32, u32, u16, bool)> {
        let header = CommonHeader {
            source_port: 1,
            destination_port: 2,
            verification_tag: VerificationTag(3),
        };
        let mut buf = Vec::new();
        let mut writer = PacketWriter::new(&mut buf, header);
        let written = receiver.write_sack(size_max, &mut writer)?;
        writer.finish(ChecksumField::Zero);
        receiver.on_sack_sent(now, written);
        let packet = Packet::decode(&buf, ChecksumMode::Ignore).unwrap();
        let Some(Ok(Chunk::Sack(sack))) = packet.chunks().next() else { panic!("no SACK") };
        let blocks = sack.gap_ack_blocks.len() as u16;
        Some((sack.cumulative_tsn_ack.0, sack.a_rwnd, blocks, written.is_due))
    }

    #[test]
    fn the_first_packet_waits_for_a_second_or_for_the_delay() {
        let mut receiver = receiver();
        assert_eq!(sack(&mut receiver, Time::ZERO, 1_000), None, "nothing arrived");
        // Its very first packet is acknowledged at once.
        arrive(&mut receiver, Time::ZERO, 1);
        sack(&mut receiver, Time::ZERO, 1_000);
        arrive(&mut receiver, Time::ZERO, 2);
        assert_eq!(receiver.sack_timer(), Some(Time::ZERO + DELAY));
        assert_eq!(receiver.tracker.timing(), SackTiming::Delayed);
        receiver.on_time(Time::ZERO + DELAY);
        assert_eq!(receiver.sack_timer(), None);
        let due = sack(&mut receiver, Time::ZERO + DELAY, 1_000);
        assert_eq!(due, Some((2, 9_800, 0, true)));
        for tsn in 3..=4 {
            arrive(&mut receiver, Time::ZERO + DELAY, tsn);
        }
        assert_eq!(
            (receiver.sack_timer(), receiver.tracker.timing()),
            (None, SackTiming::Immediate)
        );
    }

    #[test]
    fn a_delayed_sack_goes_with_other_chunks_and_ends_the_delay() {
        let mut receiver = receiver();
        arrive(&mut receiver, Time::ZERO, 1);
        sack(&mut receiver, Time::ZERO, 1_000);
        arrive(&mut receiver, Time::ZERO, 2);
        assert_eq!(sack(&mut receiver, Time::ZERO, 1_000), Some((2, 9_800, 0, false)));
        assert_eq!((receiver.sack_timer(), receiver.tracker.timing()), (None, SackTiming::None));
    }

    #[test]
    fn a_sack_lists_the_gap_blocks_that_fit() {
        let mut receiver = receiver();
        for tsn in [1, 3, 5, 7, 9] {
            arrive(&mut receiver, Time::ZERO, tsn);
        }
        let two_blocks = CommonHeader::LEN + SACK_FIXED + 2 * 4;
        assert_eq!(sack(&mut receiver, Time::ZERO, two_blocks), Some((1, 9_500, 2, true)));
        assert_eq!(sack(&mut receiver, Time::ZERO, CommonHeader::LEN + SACK_FIXED), None);
    }
}
