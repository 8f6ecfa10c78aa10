//! A link in a cell: the cell's medium sends what waits in its queue.

use anabranch_sansio::{Rng, Time};

use super::{Link, LinkConfig};
use crate::{DropCause, Packet, Traffic};

impl Link {
    /// A link whose queue is emptied by the medium of a cell.
    pub(crate) fn in_cell(config: LinkConfig, rng: Rng) -> Self {
        Self { is_in_cell: true, ..Self::new(config, rng) }
    }

    /// Whether a packet waits in the queue.
    pub(crate) fn has_waiting(&self) -> bool {
        self.queue.len() > 0
    }

    /// What waits in the queue.
    pub(crate) fn waiting(&self) -> Traffic {
        self.queue.held()
    }

    /// The IP bytes of the first packet in the queue.
    pub(crate) fn waiting_len(&self) -> Option<usize> {
        self.queue.first().map(Packet::ip_len)
    }

    /// Takes the first packet out of the queue, to be sent. What becomes of it is told by
    /// [`hand_on`](Self::hand_on) or [`give_up`](Self::give_up).
    pub(crate) fn take_waiting(&mut self, now: Time) -> Option<Packet> {
        let packet = self.queue.pop(now)?;
        self.on_air.add(&packet);
        Some(packet)
    }

    /// Whether the next frame on the air is lost.
    pub(crate) fn loses_frame(&mut self, now: Time) -> bool {
        self.loss.loses_next(now)
    }

    /// A frame is sent again.
    pub(crate) fn count_repeated(&mut self) {
        self.stats.repeated += 1;
    }

    /// The medium has carried a packet by `at`: it travels on for the link's delay.
    pub(crate) fn hand_on(&mut self, at: Time, packet: Packet) {
        self.on_air.remove(&packet);
        self.travel(at, packet);
    }

    /// The medium will not carry a packet.
    pub(crate) fn give_up(&mut self, cause: DropCause, packet: Packet) {
        self.on_air.remove(&packet);
        self.drop_packet(cause, packet);
    }
}
