//! Congestion control: one half of it at either end of each direction.

mod ccid2;
mod ccid3;

use std::fmt;
use std::time::Duration;

use anabranch_sansio::{Time, Wakeup};

pub(crate) use ccid2::{Ccid2Receiver, Ccid2Sender};
pub(crate) use ccid3::{Ccid3Receiver, Ccid3Sender};

use crate::seq::Seq;
use crate::stats::CongestionStats;
use crate::tfrc::Arrival;
use crate::wire::{AckState, DropCode, LossInterval, OptionsBuf};

/// RFC 4340 section 3.4: "Each DCCP implementation thus defines a default round-trip time for use
/// when no estimate is available. This parameter should default to not less than 0.2 seconds".
pub(crate) const RTT_DEFAULT: Duration = Duration::from_millis(200);

/// A packet of ours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct SentPacket {
    pub(crate) seq: Seq,
    /// Bytes of data; none: it is of a type without.
    pub(crate) data: Option<usize>,
    /// Whether more data wait behind.
    pub(crate) is_waiting: bool,
    /// Whether it has an Acknowledgement Number.
    pub(crate) is_acknowledgement: bool,
}

/// What an acknowledgement says about our packets.
#[derive(Debug, Clone)]
pub(crate) struct Report {
    pub(crate) acknowledgement: Seq,
    /// Ack Vectors, the newest first: from the second number to the first.
    pub(crate) states: Vec<AckRange>,
    /// Data Dropped: the packets that were dropped.
    pub(crate) dropped: Vec<(Seq, DropCode)>,
    /// How long the acknowledgement waited, if that is said.
    pub(crate) elapsed: Option<Duration>,
    pub(crate) is_slow: bool,
    /// CCID 3: Loss Event Rate, packets per loss event.
    pub(crate) loss_event_rate: Option<u32>,
    /// CCID 3: Loss Intervals, the newest first, behind so many packets that are in none.
    pub(crate) loss_intervals: Option<(u8, Vec<LossInterval>)>,
    /// CCID 3: Receive Rate.
    pub(crate) receive_rate: Option<u32>,
}

/// Packets in a row with one state.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct AckRange {
    pub(crate) first: Seq,
    pub(crate) last: Seq,
    pub(crate) state: AckState,
}

impl Report {
    pub(crate) const fn new(acknowledgement: Seq) -> Self {
        Self {
            acknowledgement,
            states: Vec::new(),
            dropped: Vec::new(),
            elapsed: None,
            is_slow: false,
            loss_event_rate: None,
            loss_intervals: None,
            receive_rate: None,
        }
    }
}

/// The half of a CCID that sends data: HC-Sender.
pub(crate) trait HcSender: fmt::Debug + Send {
    /// Whether a data packet may go out now.
    fn may_send(&self, now: Time) -> bool;

    /// The peer takes numbers within this Sequence Window.
    fn on_sequence_window(&mut self, _packets: u64) {}

    /// When one may, if time alone decides.
    fn may_send_at(&self) -> Option<Time>;

    /// When to wake up for that.
    fn wakes_at(&self) -> Option<Time> {
        self.may_send_at()
    }

    /// CCVal of the next packet.
    fn ccval(&mut self, now: Time) -> u8;

    fn on_sent(&mut self, now: Time, sent: &SentPacket);

    fn on_report(&mut self, now: Time, report: &Report);

    /// A packet of the peer arrived: it may show that acknowledgements are lost.
    fn on_arrival(&mut self, arrival: &Arrival);

    /// The handshake took this long.
    fn on_rtt(&mut self, now: Time, rtt: Duration);

    fn rtt(&self) -> Option<Duration>;

    /// What Ack Ratio should be, if the CCID uses it.
    fn ack_ratio(&self) -> Option<u16>;

    /// Whether the peer's acknowledgements are to be acknowledged with the next data.
    fn wants_acknowledgement(&self) -> bool;

    /// How many packets may be under way.
    fn packets_in_flight_max(&self) -> u64;

    fn poll_timeout(&self) -> Option<Wakeup>;

    fn handle_timeout(&mut self, now: Time);

    fn stats(&self) -> CongestionStats;
}

/// The half of a CCID that receives data: HC-Receiver.
pub(crate) trait HcReceiver: fmt::Debug + Send {
    /// A packet arrived; `len`: its bytes of data.
    fn on_arrival(&mut self, now: Time, arrival: &Arrival, len: usize);

    /// Whether an acknowledgement is due.
    fn must_acknowledge(&self) -> bool;

    /// The peer's Ack Ratio has this value.
    fn on_ack_ratio(&mut self, ack_ratio: u64);

    /// Adds its options to an acknowledgement, which is then no longer due.
    fn write(&mut self, now: Time, context: &AckContext, options: &mut OptionsBuf);

    fn poll_timeout(&self) -> Option<Wakeup>;

    fn handle_timeout(&mut self, now: Time);
}

/// What an acknowledgement is made for.
#[derive(Debug, Clone, Copy)]
pub(crate) struct AckContext {
    /// When the packet came that is acknowledged.
    pub(crate) arrived_at: Time,
    /// Whether Loss Event Rates are asked for.
    pub(crate) with_loss_event_rate: bool,
}
