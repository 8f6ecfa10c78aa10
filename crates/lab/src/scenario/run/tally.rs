//! [`Tally`]: which flow used how much of which link.

use std::net::IpAddr;

use anabranch_netsim::{ElementId, Observer, Sighting};
use anabranch_sansio::Time;

use super::network::Net;
use crate::scenario::Scenario;
use crate::scenario::flow::Flow;
use crate::scenario::route::Hop;

/// Counts the bytes that came out of each link, for each flow.
pub(super) struct Tally {
    /// Both directions of each link, sorted; the numbers as of [`slot`].
    elements: Vec<(ElementId, usize)>,
    /// For each direction of a link the bytes of each flow.
    bytes: Vec<Vec<u64>>,
}

/// The number of one direction of a link.
const fn slot(hop: Hop) -> usize {
    2 * hop.link + if hop.forward { 0 } else { 1 }
}

impl Tally {
    pub(super) fn new(net: &Net, scenario: &Scenario) -> Self {
        let links = 0..scenario.links.len();
        let hops = links.flat_map(|link| [true, false].map(|forward| Hop { link, forward }));
        let mut elements: Vec<_> = hops.map(|hop| (net.element(hop), slot(hop))).collect();
        elements.sort_unstable();
        let bytes = vec![vec![0; scenario.flows.len()]; elements.len()];
        Self { elements, bytes }
    }

    /// What share of its busiest link each flow has, from 0 to 1.
    pub(super) fn shares(&self, flows: &[Flow]) -> Vec<f64> {
        let flows = flows.iter().enumerate();
        flows.map(|(number, flow)| self.share(number, flow)).collect()
    }

    fn share(&self, number: usize, flow: &Flow) -> f64 {
        let used = flow.paths.iter().flatten().map(|hop| &self.bytes[slot(*hop)]);
        let busiest = used.max_by_key(|bytes| bytes.iter().sum::<u64>());
        busiest
            .map_or(0.0, |bytes| bytes[number] as f64 / (bytes.iter().sum::<u64>().max(1) as f64))
    }
}

impl Observer for Tally {
    fn observe(&mut self, _now: Time, sighting: Sighting<'_>) {
        let Sighting::Passed { element, packet } = sighting else { return };
        let place = self.elements.binary_search_by_key(&element, |(element, _)| *element);
        let Some((_, slot)) = place.ok().and_then(|place| self.elements.get(place)) else { return };
        let IpAddr::V4(address) = packet.path.local.ip() else { return };
        let [_, flow, ..] = address.octets();
        if let Some(bytes) = self.bytes[*slot].get_mut(usize::from(flow)) {
            *bytes += packet.ip_len() as u64;
        }
    }
}
