//! Who takes part: one line each.

use anabranch_peers::{Config, Peer, Stack};

/// A stack by name, and how to make an endpoint of it.
#[derive(Clone, Copy)]
pub(crate) struct Entrant {
    pub(crate) name: &'static str,
    pub(crate) peer: fn(&Config, u64) -> Box<dyn Peer>,
}

/// The first one's figures are what the others' are compared to.
pub(crate) const ENTRANTS: [Entrant; 4] = [
    Entrant { name: "anabranch", peer: |config, seed| Stack::Anabranch.peer(config, seed) },
    Entrant { name: "rtc-sctp", peer: |config, seed| Stack::RtcSctp.peer(config, seed) },
    Entrant { name: "sctp-proto", peer: |config, seed| Stack::SctpProto.peer(config, seed) },
    Entrant { name: "dcsctp", peer: |config, seed| Stack::Dcsctp.peer(config, seed) },
];
