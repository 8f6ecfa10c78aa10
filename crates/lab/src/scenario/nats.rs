//! The NATs of a scenario: which flows pass them.

use anabranch_netsim::written::{Fault, WrittenLink, WrittenNat};

use super::flow::Flow;
use super::route::Hop;

/// What makes no sense about NATs.
pub(super) fn check(
    nats: &[WrittenNat],
    links: &[WrittenLink],
    flows: &[Flow],
) -> Result<(), Fault> {
    for (number, nat) in nats.iter().enumerate() {
        let WrittenNat { link, place, .. } = nat;
        if !links.iter().any(|known| known.name == *link) {
            let known: Vec<&str> = links.iter().map(|link| link.name.as_str()).collect();
            let reason = format!("link: there is no link {link}; there is {}", known.join(", "));
            return Err(Fault::new(*place, reason));
        }
        if nats.iter().take(number).any(|earlier| earlier.link == *link) {
            let reason = format!("{link} has two NATs: give one, or a link for each");
            return Err(Fault::new(*place, reason));
        }
    }
    flows.iter().try_for_each(|flow| check_flow(nats, links, flow))
}

fn check_flow(nats: &[WrittenNat], links: &[WrittenLink], flow: &Flow) -> Result<(), Fault> {
    let name = &flow.name;
    let fault = |reason: String| Err(Fault::new(flow.place, reason));
    for hops in flow.ways() {
        let passed: Vec<&Hop> =
            hops.iter().filter(|hop| at(nats, links, **hop).is_some()).collect();
        let Some(first) = passed.first() else { continue };
        let link = &links[first.link].name;
        if passed.len() > 1 {
            return fault(format!("{name} passes {} NATs on one path: one is all", passed.len()));
        }
        if !first.forward {
            return fault(format!(
                "{name} comes from outside to the NAT at {link}, which lets in answers alone: let \
                 it lead from {} the other way",
                links[first.link].between.0
            ));
        }
        if !flow.kind.is_over_udp() {
            return fault(format!(
                "{name} passes the NAT at {link}, which knows UDP alone: give quic, udp, media, \
                 television, or sctp or dccp with carrier = \"udp\""
            ));
        }
    }
    Ok(())
}

/// The NAT that a hop passes, by its number.
pub(super) fn at(nats: &[WrittenNat], links: &[WrittenLink], hop: Hop) -> Option<usize> {
    nats.iter().position(|nat| nat.link == links[hop.link].name)
}
