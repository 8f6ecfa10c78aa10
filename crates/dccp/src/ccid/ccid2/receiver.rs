//! [`Ccid2Receiver`]: acknowledgements by Ack Ratio, RFC 4341 section 6.

use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};

use crate::ccid::{AckContext, HcReceiver};
use crate::seq::Seq;
use crate::tfrc::Arrival;
use crate::wire::{ElapsedTime, OptionsBuf, PacketOption};

/// RFC 4340 section 11.3: "any packet's acknowledgement is delayed by at most T seconds", and "The
/// default value of T should be 0.2 seconds".
const DELAY_MAX: Duration = Duration::from_millis(200);

/// The HC-Receiver of CCID 2. What has arrived is told by Ack Vectors, which are kept elsewhere.
#[derive(Debug)]
pub(crate) struct Ccid2Receiver {
    ack_ratio: u64,
    /// Data packets that no acknowledgement has answered.
    waiting: u64,
    is_due: bool,
    due_at: Option<Time>,
    greatest: Option<Seq>,
}

impl Ccid2Receiver {
    pub(crate) const fn new(ack_ratio: u64) -> Self {
        Self { ack_ratio, waiting: 0, is_due: false, due_at: None, greatest: None }
    }
}

impl HcReceiver for Ccid2Receiver {
    fn on_arrival(&mut self, now: Time, arrival: &Arrival, _len: usize) {
        let is_in_order = self.greatest.is_none_or(|greatest| arrival.seq == greatest + 1);
        self.greatest = self.greatest.max(Some(arrival.seq));
        if !arrival.is_data {
            return;
        }
        self.waiting += 1;
        // RFC 4340 section 11.3: "Receivers SHOULD send acknowledgements immediately on receiving
        // packets marked ECN Congestion Experienced or packets whose out-of-order sequence numbers
        // potentially indicate loss."
        self.is_due |= !is_in_order || arrival.is_marked || self.waiting >= self.ack_ratio;
        self.due_at.get_or_insert(now + DELAY_MAX);
    }

    fn must_acknowledge(&self) -> bool {
        self.is_due
    }

    fn on_ack_ratio(&mut self, ack_ratio: u64) {
        self.ack_ratio = ack_ratio;
    }

    fn write(&mut self, now: Time, context: &AckContext, options: &mut OptionsBuf) {
        let elapsed = ElapsedTime::from_duration(now - context.arrived_at);
        options.push(&PacketOption::ElapsedTime(elapsed));
        self.waiting = 0;
        self.is_due = false;
        self.due_at = None;
    }

    fn poll_timeout(&self) -> Option<Wakeup> {
        let at = self.due_at.filter(|_| !self.is_due)?;
        Some(Wakeup { at, why: "delayed acknowledgement" })
    }

    fn handle_timeout(&mut self, now: Time) {
        self.is_due |= self.due_at.is_some_and(|at| at <= now);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wire::SequenceNumber;

    fn arrival(n: u64) -> Arrival {
        let seq = Seq::first(SequenceNumber::new(n));
        Arrival { seq, is_data: true, counter: 0, is_marked: false, non_data_before: 0 }
    }

    /// After which of these packets an acknowledgement is due.
    fn due(receiver: &mut Ccid2Receiver, numbers: &[u64]) -> Vec<u64> {
        let context = AckContext { arrived_at: Time::ZERO, with_loss_event_rate: false };
        let mut due = Vec::new();
        for n in numbers {
            receiver.on_arrival(Time::ZERO, &arrival(*n), 1);
            if receiver.must_acknowledge() {
                due.push(*n);
                receiver.write(Time::ZERO, &context, &mut OptionsBuf::new());
            }
        }
        due
    }

    #[test]
    fn every_second_packet_is_acknowledged_or_as_the_ratio_says() {
        let mut receiver = Ccid2Receiver::new(2);
        assert_eq!(due(&mut receiver, &[1, 2, 3, 4, 5]), [2, 4]);
        receiver.on_ack_ratio(4);
        assert_eq!(due(&mut receiver, &[6, 7, 8, 9, 10, 11, 12]), [8, 12]);
    }

    #[test]
    fn gaps_and_marks_are_told_at_once() {
        let mut receiver = Ccid2Receiver::new(8);
        assert_eq!(due(&mut receiver, &[1, 2, 4, 5, 3, 6]), [4, 3]);
        receiver.on_arrival(Time::ZERO, &Arrival { is_marked: true, ..arrival(7) }, 1);
        assert!(receiver.must_acknowledge());
    }

    #[test]
    fn a_single_packet_waits_two_tenths_of_a_second() {
        let mut receiver = Ccid2Receiver::new(2);
        receiver.on_arrival(Time::from_secs(1), &arrival(1), 1);
        assert!(!receiver.must_acknowledge());
        let at = receiver.poll_timeout().unwrap().at;
        assert_eq!(at, Time::from_millis(1_200));
        receiver.handle_timeout(at);
        assert!(receiver.must_acknowledge());
    }

    #[test]
    fn packets_without_data_need_no_acknowledgement() {
        let mut receiver = Ccid2Receiver::new(1);
        receiver.on_arrival(Time::ZERO, &Arrival { is_data: false, ..arrival(1) }, 0);
        assert!(!receiver.must_acknowledge() && receiver.poll_timeout().is_none());
    }
}
