//! [`Numbers`]: sequence numbers of both directions, and which of the peer's are valid.

use anabranch_sansio::Time;

use crate::seq::Seq;
use crate::wire::{Packet, PacketType, SequenceNumber};

/// The variables of RFC 4340 section 7.1.
#[derive(Debug)]
pub(super) struct Numbers {
    /// ISS.
    pub(super) first_sent: Seq,
    /// GSS.
    pub(super) greatest_sent: Seq,
    /// GAR.
    pub(super) greatest_acknowledged: Seq,
    /// What is known of the peer's, after its first packet.
    pub(super) peer: Option<PeerNumbers>,
}

/// The numbers of the peer.
#[derive(Debug, Clone, Copy)]
pub(super) struct PeerNumbers {
    /// ISR.
    pub(super) first: Seq,
    /// GSR.
    pub(super) greatest: Seq,
    /// S.OSR: the first one in the state OPEN.
    pub(super) first_open: Option<Seq>,
    /// When a valid packet last came.
    pub(super) heard_at: Time,
}

/// How wide the windows are: the values of both Sequence Window features.
#[derive(Debug, Clone, Copy)]
pub(super) struct Windows {
    /// W', of our feature: for acknowledgements.
    pub(super) local: u64,
    /// W, of the peer's feature: for its sequence numbers.
    pub(super) remote: u64,
}

impl Numbers {
    pub(super) fn new(first: SequenceNumber) -> Self {
        let first = Seq::first(first);
        Self {
            first_sent: first,
            // Nothing has been sent.
            greatest_sent: first - 1,
            greatest_acknowledged: first,
            peer: None,
        }
    }

    /// Whether AWL <= number <= AWH.
    pub(super) fn acknowledges_sent(&self, windows: Windows, number: Seq) -> bool {
        // RFC 4340 section 7.5.1: "AWL := max(GSS + 1 - W', ISS)."
        let low = (self.greatest_sent + 1 - windows.local).max(self.first_sent);
        (low..=self.greatest_sent).contains(&number)
    }

    /// RFC 4340 section 7.5.3. `is_active`: whether valid packets came of late.
    pub(super) fn are_valid(
        &self,
        windows: Windows,
        is_active: bool,
        ty: PacketType,
        seq: Seq,
        acknowledgement: Option<Seq>,
    ) -> bool {
        let Some(peer) = &self.peer else { return false };
        // RFC 4340 section 7.5.1: "SWL := max(GSR + 1 - floor(W/4), ISR)".
        let low = (peer.greatest + 1 - windows.remote / 4).max(peer.first);
        let high = peer.greatest + (3 * windows.remote).div_ceil(4);
        match ty {
            // "DCCP-Sync and DCCP-SyncAck Sequence Numbers are not strongly checked", but for
            // "active connections, where a connection is considered active if it has received valid
            // packets from the other endpoint within the last three round-trip times."
            PacketType::Sync | PacketType::SyncAck => {
                seq >= low
                    && (seq <= high || !is_active)
                    && acknowledgement.is_some_and(|ack| self.acknowledges_sent(windows, ack))
            }
            // "they cannot have Sequence Numbers less than or equal to GSR, or Acknowledgement
            // Numbers less than GAR."
            PacketType::CloseReq | PacketType::Close | PacketType::Reset => {
                (peer.greatest + 1..=high).contains(&seq)
                    && acknowledgement.is_some_and(|ack| {
                        (self.greatest_acknowledged..=self.greatest_sent).contains(&ack)
                    })
            }
            PacketType::Request
            | PacketType::Response
            | PacketType::Data
            | PacketType::Ack
            | PacketType::DataAck => {
                (low..=high).contains(&seq)
                    && acknowledgement.is_none_or(|ack| self.acknowledges_sent(windows, ack))
            }
        }
    }

    /// The place of a packet's number.
    pub(super) fn place(&self, packet: &Packet<'_>) -> Seq {
        let Some(peer) = &self.peer else { return Seq::first(packet.sequence_number) };
        Seq::nearest(packet.sequence_number, packet.is_short, peer.greatest)
    }

    /// The place of the number that a packet acknowledges.
    pub(super) fn acknowledged_place(&self, packet: &Packet<'_>) -> Option<Seq> {
        let number = packet.kind.acknowledgement_number()?;
        Some(Seq::nearest(number, packet.is_short, self.greatest_sent))
    }

    /// The first packet of the peer.
    pub(super) fn begin(&mut self, now: Time, first: Seq) {
        let peer = PeerNumbers { first, greatest: first, first_open: None, heard_at: now };
        self.peer = Some(peer);
    }

    /// A valid packet. `is_sync`: GAR is "on an acknowledgeable packet that was not a DCCP-Sync".
    pub(super) fn on_valid(
        &mut self,
        now: Time,
        seq: Seq,
        acknowledgement: Option<Seq>,
        is_sync: bool,
    ) {
        if let Some(peer) = &mut self.peer {
            peer.greatest = peer.greatest.max(seq);
            peer.heard_at = now;
        }
        if let Some(acknowledgement) = acknowledgement.filter(|_| !is_sync) {
            self.greatest_acknowledged = self.greatest_acknowledged.max(acknowledgement);
        }
    }

    /// The number of the next packet.
    pub(super) fn next(&mut self) -> Seq {
        self.greatest_sent = self.greatest_sent + 1;
        self.greatest_sent
    }

    /// GSR, or 0 before anything came.
    pub(super) fn greatest_received(&self) -> SequenceNumber {
        self.peer.map_or_else(SequenceNumber::default, |peer| peer.greatest.number())
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use PacketType::{
        Ack, Close, CloseReq, Data, DataAck, Request, Reset, Response, Sync, SyncAck,
    };

    const WINDOWS: Windows = Windows { local: 40, remote: 101 };

    fn place(number: u64) -> Seq {
        Seq::first(SequenceNumber::new(number))
    }

    /// ISS 1,000, GSS 2,000, GAR 1,990; ISR 5,000, GSR 6,000.
    fn numbers() -> Numbers {
        let mut numbers = Numbers::new(SequenceNumber::new(1_000));
        numbers.greatest_sent = place(2_000);
        numbers.begin(Time::ZERO, place(5_000));
        numbers.on_valid(Time::ZERO, place(6_000), Some(place(1_990)), false);
        numbers
    }

    /// The lowest and the highest number that are valid, by trying.
    fn range(is_valid: impl Fn(Seq) -> bool, around: u64) -> (u64, u64) {
        let numbers = (around - 900..around + 900).filter(|number| is_valid(place(*number)));
        let found: Vec<_> = numbers.collect();
        (found[0], found[found.len() - 1])
    }

    #[test]
    fn windows_lie_where_the_rfc_puts_them() {
        let numbers = numbers();
        let seqs = |ty, ack, is_active| {
            range(|seq| numbers.are_valid(WINDOWS, is_active, ty, seq, ack), 6_000)
        };
        let ack = Some(place(1_995));
        // floor(101 / 4) = 25, ceil(303 / 4) = 76.
        for ty in [Data, Request] {
            assert_eq!(seqs(ty, None, true), (5_976, 6_076), "{ty}");
        }
        for ty in [Ack, DataAck, Response, Sync, SyncAck] {
            assert_eq!(seqs(ty, ack, true), (5_976, 6_076), "{ty}");
        }
        for ty in [CloseReq, Close, Reset] {
            assert_eq!(seqs(ty, ack, true), (6_001, 6_076), "{ty}");
        }
        for ty in [Sync, SyncAck] {
            assert_eq!(seqs(ty, ack, false), (5_976, 6_899), "{ty}");
        }
        let acks =
            |ty| range(|ack| numbers.are_valid(WINDOWS, true, ty, place(6_001), Some(ack)), 2_000);
        for ty in [Ack, DataAck, Response, Sync, SyncAck] {
            assert_eq!(acks(ty), (1_961, 2_000), "{ty}");
        }
        for ty in [CloseReq, Close, Reset] {
            assert_eq!(acks(ty), (1_990, 2_000), "{ty}");
        }
    }

    #[test]
    fn nothing_before_the_first_number_is_valid() {
        let mut numbers = Numbers::new(SequenceNumber::new(1_000));
        assert_eq!(numbers.next(), place(1_000));
        numbers.begin(Time::ZERO, place(5_000));
        let is_valid =
            |seq, ack| numbers.are_valid(WINDOWS, true, Ack, place(seq), Some(place(ack)));
        assert!(is_valid(5_000, 1_000));
        assert!(!is_valid(4_999, 1_000) && !is_valid(5_000, 999) && !is_valid(5_000, 1_001));
    }

    #[test]
    fn windows_go_on_where_numbers_wrap() {
        let last = (1 << 48) - 1;
        let mut numbers = Numbers::new(SequenceNumber::new(last));
        numbers.begin(Time::ZERO, place(last));
        numbers.on_valid(Time::ZERO, place(last) + 50, None, false);
        let next = Seq::nearest(SequenceNumber::new(60), false, place(last) + 50);
        assert!(numbers.are_valid(WINDOWS, true, Data, next, None));
    }

    #[test]
    fn a_sync_does_not_move_what_was_acknowledged() {
        let mut numbers = numbers();
        numbers.on_valid(Time::ZERO, place(6_001), Some(place(1_999)), true);
        assert_eq!(numbers.greatest_acknowledged, place(1_990));
        assert_eq!(numbers.peer.unwrap().greatest, place(6_001));
    }
}
