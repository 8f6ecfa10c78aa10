//! [`Wimax`]: subscriber stations whose base station grants them slots of OFDMA frames.
//!
//! All clauses are those of IEEE 802.16-2009. A frame begins with the maps: which slots of the
//! downlink are whose, and which of the uplink. A station tells the base station what waits when it
//! is polled, or in the burst that it sends, and gets slots in the next frame. What is short goes
//! to rtPS first; within a service, shares are as [`Scheduling`](crate::Scheduling) has it.

mod flow;
mod layout;
mod share;
#[cfg(test)]
mod tests;

use anabranch_sansio::Time;

use super::End;
use crate::{Link, Packet, Service, WimaxConfig};
use flow::Flow;
use layout::{Layout, SLOT, SUBCHANNELS};
use share::shared;

/// The medium of a WiMAX cell.
#[derive(Debug)]
pub(super) struct Wimax {
    config: WimaxConfig,
    layout: Layout,
    flows: Vec<Flow>,
    /// Up to when everything is done.
    done_to: Time,
    /// What is due next, if anything.
    next: Option<(Time, Part)>,
}

/// A part of a frame, at its beginning.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Part {
    /// The maps are made, and the downlink is sent.
    Down,
    /// The stations send what was granted, or answer a poll.
    Up,
}

impl Wimax {
    pub(super) fn new(config: WimaxConfig) -> Self {
        let layout = Layout::new(&config);
        Self { config, layout, flows: Vec::new(), done_to: Time::ZERO, next: None }
    }

    /// Adds a link that sends at this end.
    pub(super) fn add(&mut self, end: End, service: Service) {
        self.flows.push(Flow::new(service, matches!(end, End::Station(_))));
    }

    /// A packet waits in the queue of a link.
    pub(super) fn on_packet(&mut self, now: Time, link: usize) {
        self.done_to = self.done_to.max(now);
        let part = if self.flows[link].is_up { Part::Up } else { Part::Down };
        self.wake(part);
    }

    /// A link was cut: the packet of which some was sent.
    pub(super) fn on_cut(&mut self, link: usize) -> Vec<Packet> {
        self.flows[link].clear().into_iter().collect()
    }

    pub(super) fn next_at(&self) -> Option<Time> {
        self.next.map(|(at, _)| at)
    }

    pub(super) fn act(&mut self, now: Time, links: &mut [Link]) {
        let Some((at, part)) = self.next.take_if(|(at, _)| *at <= now) else { return };
        self.done_to = at;
        match part {
            Part::Down => self.begin_frame(at, links),
            Part::Up => self.uplink(at, links),
        }
        for (number, link) in links.iter().enumerate() {
            let flow = &self.flows[number];
            let (is_up, waits) = (flow.is_up, flow.has_something(link));
            let (is_known, is_granted) = (flow.requested > 0, flow.granted > 0);
            if is_up && (waits || is_granted) {
                self.wake(Part::Up);
            }
            if is_known || (!is_up && waits) {
                self.wake(Part::Down);
            }
        }
    }

    /// Has the next part of this kind done, or an earlier one.
    fn wake(&mut self, part: Part) {
        let frame = self.config.frame().as_nanos() as u64;
        let offset = match part {
            Part::Down => 0,
            Part::Up => self.layout.up_begins().as_nanos() as u64,
        };
        // The first that begins behind what is done.
        let begun = (self.done_to.as_nanos() + frame - offset) / frame;
        let at = Time::from_nanos(begun * frame + offset);
        if self.next.is_none_or(|(next, _)| at < next) {
            self.next = Some((at, part));
        }
    }

    /// Makes the maps, and sends the downlink.
    fn begin_frame(&mut self, now: Time, links: &mut [Link]) {
        let polls = self.grant(now, links);
        let grants = self.flows.iter().filter(|flow| flow.granted > 0).count();
        let demands =
            self.demands(links, |flow, link| if flow.is_up { 0 } else { flow.backlog(link) });
        let bursts = demands.iter().filter(|slots| **slots > 0).count() as u32;
        let up_bursts = grants as u32 + polls;
        let slots = self.layout.down_slots(bursts, up_bursts);
        let begins = now + self.layout.maps(bursts, up_bursts);
        let mut before = 0;
        for (number, slots) in self.shares(now, slots, &demands).into_iter().enumerate() {
            // Slots lie beside each other in frequency first.
            let received = |sent: u32| begins + (before + sent).div_ceil(SUBCHANNELS) * SLOT;
            self.flows[number].send(now, slots, &mut links[number], received);
            before += slots;
        }
    }

    /// Grants slots of the uplink for what the base station knows of; returns how many polls there
    /// are beside.
    fn grant(&mut self, now: Time, links: &[Link]) -> u32 {
        let demands = self.demands(links, |flow, _| flow.requested);
        let polls = (0..self.flows.len()).filter(|number| self.is_asked(now, *number)).count();
        let polls = polls as u32;
        let slots = self.layout.up_slots().saturating_sub(polls);
        let shares = self.shares(now, slots, &demands);
        for (flow, granted) in self.flows.iter_mut().zip(shares) {
            flow.granted = granted;
            // Who gets too little asks again in its burst; who gets nothing is not forgotten.
            flow.requested = if granted > 0 { 0 } else { flow.requested };
        }
        polls
    }

    /// Section 6.3.5.2.2: rtPS gets "periodic unicast request opportunities", here in each frame;
    /// section 6.3.5.2.3: nrtPS gets them now and then, each link in a frame of its own.
    ///
    /// Who asked for slots already can ask for more in its burst.
    fn is_asked(&self, now: Time, number: usize) -> bool {
        let flow = &self.flows[number];
        if flow.requested > 0 || flow.granted > 0 {
            return false;
        }
        let frame = now.as_nanos() / self.config.frame().as_nanos() as u64;
        let turn = (frame + number as u64).is_multiple_of(self.config.nrtps_poll.max(1).into());
        flow.is_up && (flow.service == Service::Rtps || turn)
    }

    /// Stations send by their grants, and those that are polled say what waits.
    fn uplink(&mut self, now: Time, links: &mut [Link]) {
        let is_asked = |number: &usize| self.is_asked(now, *number);
        let asked: Vec<usize> = (0..self.flows.len()).filter(is_asked).collect();
        // Section 6.3.2.1.2: a request has six bytes, which a slot of any modulation holds.
        let mut before = asked.len() as u32;
        for number in asked {
            self.flows[number].requested = self.flows[number].backlog(&links[number]);
        }
        for (flow, link) in self.flows.iter_mut().zip(links) {
            let granted = std::mem::take(&mut flow.granted);
            if granted > 0 {
                let ends = now + self.layout.up_burst_ends(before, granted);
                flow.requested = flow.send(now, granted, link, |_| ends);
                before += granted;
            }
        }
    }

    /// The slots that each link needs for these bytes.
    fn demands(&self, links: &[Link], bytes: impl Fn(&Flow, &Link) -> usize) -> Vec<u32> {
        let flows = self.flows.iter().zip(links);
        flows.map(|(flow, link)| flow.slots_for(bytes(flow, link), link)).collect()
    }

    /// First for rtPS, then for nrtPS.
    fn shares(&self, now: Time, slots: u32, demands: &[u32]) -> Vec<u32> {
        let first = (now.as_nanos() / self.config.frame().as_nanos() as u64) as usize;
        let mut left = slots;
        let mut shares = vec![0; demands.len()];
        for service in [Service::Rtps, Service::Nrtps] {
            let of = |(flow, demand): (&Flow, &u32)| {
                if flow.service == service { *demand } else { 0 }
            };
            let asked: Vec<u32> = self.flows.iter().zip(demands).map(of).collect();
            for (share, more) in
                shares.iter_mut().zip(shared(self.config.scheduling, left, &asked, first))
            {
                *share += more;
                left -= more;
            }
        }
        shares
    }
}
