//! [`DropTail`]: the queue in front of a link.

use std::collections::VecDeque;

use super::QueueLimit;
use crate::{Packet, Traffic};

/// First in, first out; what finds no room is refused.
#[derive(Debug, Default)]
pub(super) struct DropTail {
    packets: VecDeque<Packet>,
    bytes: u64,
}

impl DropTail {
    /// Gives the packet back if there is no room for it.
    pub(super) fn push(&mut self, packet: Packet, limit: QueueLimit) -> Result<(), Packet> {
        let len = packet.ip_len() as u64;
        let has_room = match limit {
            QueueLimit::Packets(packets) => self.packets.len() < packets as usize,
            QueueLimit::Bytes(bytes) => self.bytes + len <= bytes,
        };
        if !has_room {
            return Err(packet);
        }
        self.bytes += len;
        self.packets.push_back(packet);
        Ok(())
    }

    pub(super) fn pop(&mut self) -> Option<Packet> {
        let packet = self.packets.pop_front()?;
        self.bytes -= packet.ip_len() as u64;
        Some(packet)
    }

    pub(super) fn len(&self) -> usize {
        self.packets.len()
    }

    pub(super) fn held(&self) -> Traffic {
        Traffic { packets: self.packets.len() as u64, bytes: self.bytes }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::packet;

    #[test]
    fn a_limit_in_packets_holds_exactly_that_many() {
        let mut queue = DropTail::default();
        let limit = QueueLimit::Packets(2);
        assert_eq!(queue.push(packet(1, 100), limit), Ok(()));
        assert_eq!(queue.push(packet(2, 60_000), limit), Ok(()));
        assert_eq!(queue.push(packet(3, 1), limit), Err(packet(3, 1)));
        assert_eq!(queue.pop(), Some(packet(1, 100)));
        assert_eq!(queue.push(packet(4, 1), limit), Ok(()));
    }

    #[test]
    fn a_limit_in_bytes_counts_ip_bytes() {
        let mut queue = DropTail::default();
        let limit = QueueLimit::Bytes(2 * 128);
        assert_eq!(queue.push(packet(1, 100), limit), Ok(()));
        assert_eq!(queue.push(packet(2, 101), limit), Err(packet(2, 101)));
        assert_eq!(queue.push(packet(3, 100), limit), Ok(()));
        assert_eq!(queue.held(), Traffic { packets: 2, bytes: 256 });
    }

    #[test]
    fn no_room_at_all_refuses_everything() {
        let mut queue = DropTail::default();
        assert!(queue.push(packet(1, 0), QueueLimit::Packets(0)).is_err());
        assert!(queue.push(packet(1, 0), QueueLimit::Bytes(0)).is_err());
    }
}
