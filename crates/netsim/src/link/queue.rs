//! [`DropTail`]: the queue in front of a link.

use std::collections::VecDeque;

use anabranch_sansio::Time;

use super::QueueLimit;
use crate::{Packet, Traffic};

/// First in, first out; what finds no room is refused.
#[derive(Debug, Default)]
pub(super) struct DropTail {
    packets: VecDeque<Packet>,
    bytes: u64,
    most: Traffic,
    /// Bytes times the nanoseconds that they waited, up to `counted_to`.
    byte_nanos: u128,
    counted_to: Time,
}

impl DropTail {
    /// Gives the packet back if there is no room for it.
    pub(super) fn push(
        &mut self,
        now: Time,
        packet: Packet,
        limit: QueueLimit,
    ) -> Result<(), Packet> {
        let len = packet.ip_len() as u64;
        let has_room = match limit {
            QueueLimit::Packets(packets) => self.packets.len() < packets as usize,
            QueueLimit::Bytes(bytes) => self.bytes + len <= bytes,
        };
        if !has_room {
            return Err(packet);
        }
        self.count_to(now);
        self.bytes += len;
        self.packets.push_back(packet);
        self.most.bytes = self.most.bytes.max(self.bytes);
        self.most.packets = self.most.packets.max(self.packets.len() as u64);
        Ok(())
    }

    pub(super) fn pop(&mut self, now: Time) -> Option<Packet> {
        let mut packet = self.packets.pop_front()?;
        packet.journey.left_queue = now;
        self.count_to(now);
        self.bytes -= packet.ip_len() as u64;
        Some(packet)
    }

    pub(super) fn first(&self) -> Option<&Packet> {
        self.packets.front()
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    /// The most that ever waited, packets and bytes each for themselves.
    pub(super) fn most(&self) -> Traffic {
        self.most
    }

    /// How many bytes waited on average, from the beginning to `now`.
    pub(super) fn mean_bytes(&self, now: Time) -> f64 {
        let since = now.saturating_since(self.counted_to).as_nanos();
        let byte_nanos = self.byte_nanos + u128::from(self.bytes) * since;
        byte_nanos as f64 / (now.as_nanos().max(1) as f64)
    }

    fn count_to(&mut self, now: Time) {
        let span = now.saturating_since(self.counted_to).as_nanos();
        self.byte_nanos += u128::from(self.bytes) * span;
        self.counted_to = now;
    }

    pub(super) fn held(&self) -> Traffic {
        Traffic { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::packet;

    const T: Time = Time::ZERO;

    #[test]
    fn a_limit_in_packets_holds_exactly_that_many() {
        let mut queue = DropTail::default();
        let limit = QueueLimit::Packets(2);
        assert_eq!(queue.push(T, packet(1, 100), limit), Ok(()));
        assert_eq!(queue.push(T, packet(2, 60_000), limit), Ok(()));
        assert_eq!(queue.push(T, packet(3, 1), limit), Err(packet(3, 1)));
        assert_eq!(queue.pop(T), Some(packet(1, 100)));
        assert_eq!(queue.push(T, packet(4, 1), limit), Ok(()));
    }

    #[test]
    fn a_limit_in_bytes_counts_ip_bytes() {
        let mut queue = DropTail::default();
        let limit = QueueLimit::Bytes(2 * 128);
        assert_eq!(queue.push(T, packet(1, 100), limit), Ok(()));
        assert_eq!(queue.push(T, packet(2, 101), limit), Err(packet(2, 101)));
        assert_eq!(queue.push(T, packet(3, 100), limit), Ok(()));
        assert_eq!(queue.held(), Traffic { packets: 2, bytes: 256 });
    }

    #[test]
    fn no_room_at_all_refuses_everything() {
        let mut queue = DropTail::default();
        assert!(queue.push(T, packet(1, 0), QueueLimit::Packets(0)).is_err());
        assert!(queue.push(T, packet(1, 0), QueueLimit::Bytes(0)).is_err());
    }

    #[test]
    fn the_mean_counts_how_long_bytes_waited() {
        let mut queue = DropTail::default();
        let limit = QueueLimit::Packets(9);
        queue.push(Time::from_secs(1), packet(1, 72), limit).unwrap();
        queue.push(Time::from_secs(2), packet(2, 72), limit).unwrap();
        queue.pop(Time::from_secs(3));
        queue.pop(Time::from_secs(4));
        // 100 bytes for a second, 200 for one, 100 for one.
        assert!((queue.mean_bytes(Time::from_secs(4)) - 100.0).abs() < 1e-9);
        assert!((queue.mean_bytes(Time::from_secs(8)) - 50.0).abs() < 1e-9);
        assert_eq!(queue.most(), Traffic { packets: 2, bytes: 200 });
    }
}
