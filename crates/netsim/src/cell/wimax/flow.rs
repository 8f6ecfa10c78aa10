//! [`Flow`]: a link's packets on their way into bursts.

use anabranch_sansio::Time;

use super::layout::slot_len;
use crate::{DropCause, Link, Packet, Service, WimaxConfig};

/// The generic MAC header and the CRC (IEEE 802.16-2009 section 6.3.2.1.1).
pub(super) const PDU_LEN: usize = 6 + 4;
/// The fragmentation subheader, with sequence numbers of 11 bits (section 6.3.2.2.1).
pub(super) const FRAGMENT_LEN: usize = 2;
/// The grant management subheader, which asks for more (section 6.3.2.2.2).
pub(super) const MORE_LEN: usize = 2;

/// A link's packets on their way into bursts: a packet is one MAC PDU, or several that each fill
/// what is left of a burst.
#[derive(Debug)]
pub(super) struct Flow {
    pub(super) service: Service,
    pub(super) is_up: bool,
    /// The packet of which some was sent.
    begun: Option<Begun>,
    /// What the base station knows of it, in bytes with their headers.
    pub(super) requested: usize,
    /// Slots of the uplink that it has in this frame.
    pub(super) granted: u32,
}

#[derive(Debug)]
struct Begun {
    packet: Packet,
    sent: usize,
    is_lost: bool,
}

impl Flow {
    pub(super) fn new(service: Service, is_up: bool) -> Self {
        Self { service, is_up, begun: None, requested: 0, granted: 0 }
    }

    pub(super) fn has_something(&self, link: &Link) -> bool {
        self.begun.is_some() || link.has_waiting()
    }

    /// All that waits, in bytes with their headers.
    pub(super) fn backlog(&self, link: &Link) -> usize {
        let rest = self.begun.as_ref().map(Begun::rest);
        let rest = rest.map_or(0, |rest| rest + PDU_LEN + FRAGMENT_LEN);
        let waiting = link.waiting();
        rest + waiting.bytes as usize + waiting.packets as usize * PDU_LEN
    }

    /// As many slots as so many bytes take.
    pub(super) fn slots_for(&self, bytes: usize, link: &Link) -> u32 {
        u32::try_from(bytes.div_ceil(Self::slot_len(link))).unwrap_or(u32::MAX)
    }

    fn slot_len(link: &Link) -> usize {
        slot_len(link.config().rate.unwrap_or(WimaxConfig::usual_rate()))
    }

    /// Fills a burst of so many slots at `now`; `received(n)` is when the first `n` of them have
    /// been. Returns what then still waits.
    pub(super) fn send(
        &mut self,
        now: Time,
        slots: u32,
        link: &mut Link,
        received: impl Fn(u32) -> Time,
    ) -> usize {
        let slot_len = Self::slot_len(link);
        let room = slots as usize * slot_len;
        // Who has more than fits asks for it in this burst.
        let asks = self.is_up && self.backlog(link) > room;
        let mut used = if asks { MORE_LEN } else { 0 };
        while let Some(len) = self.next_len(now, link, room.saturating_sub(used)) {
            used += len;
            let at = received(u32::try_from(used.div_ceil(slot_len)).unwrap_or(u32::MAX));
            self.finish(at, link);
        }
        self.backlog(link)
    }

    /// Puts the next MAC PDU into what is left of a burst; returns its length.
    fn next_len(&mut self, now: Time, link: &mut Link, room: usize) -> Option<usize> {
        let is_whole = self.begun.is_none();
        let rest = match &self.begun {
            Some(begun) => begun.rest(),
            None => link.waiting_len()?,
        };
        let header = PDU_LEN + if is_whole && rest + PDU_LEN <= room { 0 } else { FRAGMENT_LEN };
        let part = rest.min(room.checked_sub(header).filter(|part| *part > 0)?);
        if is_whole {
            let packet = link.take_waiting(now)?;
            self.begun = Some(Begun { packet, sent: 0, is_lost: false });
        }
        let begun = self.begun.as_mut()?;
        begun.sent += part;
        begun.is_lost |= link.loses_frame(now);
        Some(header + part)
    }

    /// Hands a packet on that was sent in whole.
    fn finish(&mut self, at: Time, link: &mut Link) {
        let Some(begun) = self.begun.take_if(|begun| begun.rest() == 0) else { return };
        if begun.is_lost {
            link.give_up(DropCause::Loss, begun.packet);
        } else {
            link.hand_on(at, begun.packet);
        }
    }

    /// The packet of which some was sent, when its link is cut.
    pub(super) fn clear(&mut self) -> Option<Packet> {
        self.requested = 0;
        self.granted = 0;
        self.begun.take().map(|begun| begun.packet)
    }
}

impl Begun {
    fn rest(&self) -> usize {
        self.packet.ip_len() - self.sent
    }
}
